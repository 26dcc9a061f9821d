package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	netmail "net/mail"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/asynqtasks"
	"github.com/locumhq/locum/adapters/filestore"
	"github.com/locumhq/locum/adapters/gomail"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/adapters/localtasks"
	"github.com/locumhq/locum/adapters/oteltrace"
	"github.com/locumhq/locum/adapters/redislimit"
	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/listings/search"
)

// What an adapter brings: a function that opens it for a URL of its scheme.
// An error should say what to write instead; the key and the source of the
// value are added to it. An adapter that implements io.Closer is closed at the
// end, and one with Ping(context.Context) error takes part in /readyz.
type (
	// StorageOpener opens a Storage.
	StorageOpener func(ctx context.Context, url string, d adapters.Deps) (adapters.Storage, error)
	// LimiterOpener opens a Limiter.
	LimiterOpener func(ctx context.Context, url string, d adapters.Deps) (limit.Limiter, error)
	// QueueOpener opens a Queue.
	QueueOpener func(ctx context.Context, url string, d adapters.Deps) (task.Queue, error)
	// MailerOpener opens a Mailer that writes in the name of from.
	MailerOpener func(ctx context.Context, url string, from mail.Address, d adapters.Deps) (mail.Mailer, error)
	// FilesOpener opens a store of files.
	FilesOpener func(ctx context.Context, url string, d adapters.Deps) (files.Store, error)
	// PaymentsOpener opens who takes the money.
	PaymentsOpener func(ctx context.Context, url string, d adapters.Deps) (billing.Payments, error)
	// SearchOpener opens a search index. If empty is set it opens a new one, which
	// takes the place of the present one as soon as it has a position.
	SearchOpener func(ctx context.Context, url string, empty bool, d adapters.Deps) (search.Index, error)
	// TracerOpener opens a Tracer.
	TracerOpener func(ctx context.Context, url string, d adapters.Deps) (trace.Tracer, error)
)

// Option plugs something into the service.
type Option func(*sockets)

// sockets are the openers by scheme.
type sockets struct {
	storage  map[string]StorageOpener
	limiter  map[string]LimiterOpener
	queue    map[string]QueueOpener
	mailer   map[string]MailerOpener
	files    map[string]FilesOpener
	payments map[string]PaymentsOpener
	search   map[string]SearchOpener
	tracer   map[string]TracerOpener
}

// WithStorage makes database.url accept the scheme.
func WithStorage(scheme string, open StorageOpener) Option {
	return func(s *sockets) { s.storage[scheme] = open }
}

// WithLimiter makes limiter.url accept the scheme.
func WithLimiter(scheme string, open LimiterOpener) Option {
	return func(s *sockets) { s.limiter[scheme] = open }
}

// WithQueue makes queue.url accept the scheme. A queue of another scheme than
// embedded: is worked off by `locum worker`.
func WithQueue(scheme string, open QueueOpener) Option {
	return func(s *sockets) { s.queue[scheme] = open }
}

// WithMailer makes mail.url accept the scheme.
func WithMailer(scheme string, open MailerOpener) Option {
	return func(s *sockets) { s.mailer[scheme] = open }
}

// WithFiles makes files.url accept the scheme. Processes that share a database
// share their files as well.
func WithFiles(scheme string, open FilesOpener) Option {
	return func(s *sockets) { s.files[scheme] = open }
}

// WithPayments makes payments.url accept the scheme.
func WithPayments(scheme string, open PaymentsOpener) Option {
	return func(s *sockets) { s.payments[scheme] = open }
}

// WithSearch makes search.url accept the scheme.
func WithSearch(scheme string, open SearchOpener) Option {
	return func(s *sockets) { s.search[scheme] = open }
}

// WithTracer makes tracing.url accept the scheme.
func WithTracer(scheme string, open TracerOpener) Option {
	return func(s *sockets) { s.tracer[scheme] = open }
}

func newSockets(options []Option) *sockets {
	s := &sockets{storage: map[string]StorageOpener{}, limiter: map[string]LimiterOpener{}, queue: map[string]QueueOpener{}, mailer: map[string]MailerOpener{}, files: map[string]FilesOpener{}, payments: map[string]PaymentsOpener{}, search: map[string]SearchOpener{}, tracer: map[string]TracerOpener{}}
	for _, plug := range append(builtIn(), options...) {
		plug(s)
	}
	return s
}

func builtIn() []Option {
	options := []Option{
		WithStorage("sqlite", gormdb.Open),
		WithStorage("postgres", gormdb.Open),
		WithStorage("postgresql", gormdb.Open),
		WithLimiter("memory", func(_ context.Context, _ string, d adapters.Deps) (limit.Limiter, error) {
			return locallimit.New(d.Clock), nil
		}),
		WithQueue("embedded", func(_ context.Context, _ string, _ adapters.Deps) (task.Queue, error) {
			return localtasks.New(), nil
		}),
		WithMailer("file", func(_ context.Context, url string, from mail.Address, d adapters.Deps) (mail.Mailer, error) {
			return gomail.NewFiles(strings.TrimPrefix(url, "file:"), from, d.Clock, d.Log)
		}),
		WithFiles("file", func(_ context.Context, url string, _ adapters.Deps) (files.Store, error) {
			return filestore.Open(strings.TrimPrefix(url, "file:"))
		}),
		WithPayments("sandbox", func(_ context.Context, _ string, d adapters.Deps) (billing.Payments, error) {
			return sandboxpay.New(d.Clock), nil
		}),
		WithSearch("embedded", embeddedSearch),
		WithTracer("off", func(context.Context, string, adapters.Deps) (trace.Tracer, error) { return trace.Off{}, nil }),
		WithTracer("otlp+http", overOTLP),
		WithTracer("otlp+https", overOTLP),
		WithMailer("smtp", overSMTP),
		WithMailer("smtps", overSMTP),
	}
	for _, scheme := range redisSchemes {
		options = append(options, WithLimiter(scheme, func(_ context.Context, url string, d adapters.Deps) (limit.Limiter, error) {
			return redislimit.Open(url, locallimit.New(d.Clock), d.Log)
		}), WithQueue(scheme, func(_ context.Context, url string, d adapters.Deps) (task.Queue, error) {
			return asynqtasks.Open(url, d.Log)
		}))
	}
	return options
}

func overSMTP(_ context.Context, url string, from mail.Address, d adapters.Deps) (mail.Mailer, error) {
	return gomail.NewSMTP(url, from, d.Clock)
}

func overOTLP(_ context.Context, url string, d adapters.Deps) (trace.Tracer, error) {
	return oteltrace.Open(url, d.Log)
}

// open finds the opener of a URL's scheme and runs it.
func open[Opener, Port any](c *config.Config, key, url string, openers map[string]Opener, run func(Opener) (Port, error)) (Port, error) {
	scheme, _, _ := strings.Cut(url, ":")
	opener, ok := openers[scheme]
	if !ok {
		var none Port
		return none, c.Err(key, fmt.Sprintf("no adapter for %q; want one of %s", scheme+":", strings.Join(slices.Sorted(maps.Keys(openers)), ":, ")+":"))
	}
	port, err := run(opener)
	if err != nil {
		return port, c.Err(key, err.Error())
	}
	return port, nil
}

func openStorage(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (adapters.Storage, error) {
	storage, err := open(c, "database.url", c.Database.URL, s.storage, func(o StorageOpener) (adapters.Storage, error) {
		return o(ctx, c.Database.URL, d)
	})
	if err != nil {
		return storage, err
	}
	if names := adapters.Missing(storage); len(names) > 0 {
		return storage, errors.Join(c.Err("database.url", "the storage adapter does not provide "+strings.Join(names, ", ")), closeStorage(storage))
	}
	storage.Identity.Tx = idempotency.Transactions(storage.Identity.Tx, storage.Identity.Idempotency)
	return storage, nil
}

func openLimiter(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (limit.Limiter, error) {
	return open(c, "limiter.url", c.Limiter.URL, s.limiter, func(o LimiterOpener) (limit.Limiter, error) {
		return o(ctx, c.Limiter.URL, d)
	})
}

func openQueue(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (task.Queue, error) {
	return open(c, "queue.url", c.Queue.URL, s.queue, func(o QueueOpener) (task.Queue, error) {
		return o(ctx, c.Queue.URL, d)
	})
}

func openMailer(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (mail.Mailer, error) {
	from, err := netmail.ParseAddress(c.Mail.From)
	if err != nil {
		return nil, c.Err("mail.from", "want an address like locum <no-reply@example.org>")
	}
	return open(c, "mail.url", c.Mail.URL, s.mailer, func(o MailerOpener) (mail.Mailer, error) {
		return o(ctx, c.Mail.URL, mail.Address{Name: from.Name, Email: from.Address}, d)
	})
}

func openFiles(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (files.Store, error) {
	return open(c, "files.url", c.Files.URL, s.files, func(o FilesOpener) (files.Store, error) {
		return o(ctx, c.Files.URL, d)
	})
}

func openPayments(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (billing.Payments, error) {
	return open(c, "payments.url", c.Payments.URL, s.payments, func(o PaymentsOpener) (billing.Payments, error) {
		return o(ctx, c.Payments.URL, d)
	})
}

func openSearch(ctx context.Context, c *config.Config, s *sockets, empty bool, d adapters.Deps) (search.Index, error) {
	return open(c, "search.url", c.Search.URL, s.search, func(o SearchOpener) (search.Index, error) {
		return o(ctx, c.Search.URL, empty, d)
	})
}

func openTracer(ctx context.Context, c *config.Config, s *sockets, d adapters.Deps) (trace.Tracer, error) {
	return open(c, "tracing.url", c.Tracing.URL, s.tracer, func(o TracerOpener) (trace.Tracer, error) {
		return o(ctx, c.Tracing.URL, d)
	})
}

// redisSchemes are the forms of an address of Redis: one server, a cluster, or
// behind sentinels, each with TLS or without.
var redisSchemes = []string{"redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel"}

func newDeps(log *slog.Logger) adapters.Deps {
	return adapters.Deps{Clock: clock.System{}, NewID: newID, Log: log}
}

// closeStorage closes a storage that may lack Close.
func closeStorage(s adapters.Storage) error {
	if s.Identity.Close == nil {
		return nil
	}
	return s.Identity.Close()
}
