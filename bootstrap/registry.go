package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	netmail "net/mail"
	"reflect"
	"regexp"
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
	"github.com/locumhq/locum/adapters/s3store"
	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/adapters/stripepay"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/metrics"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/migrations"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/listings/search"
)

// An adapter connects the program to a database, a mail server or another system. The interface of
// the program that it implements is its port.
//
// An opener opens an adapter for a URL, which is the value of a setting such as queue.url. The scheme
// of the URL chooses the opener. The context ends when the start is complete, at a signal or at a
// timeout: it bounds the opening, not the life of the adapter. An error for an invalid URL should
// state what is expected. The program adds the name of the setting, and where its value was read.
type (
	// StorageOpener opens the storage of the modules in deps.Modules. It may leave the
	// structs of other modules empty.
	StorageOpener func(ctx context.Context, url string, deps adapters.Deps) (adapters.Storage, error)
	// LimiterOpener opens a Limiter.
	LimiterOpener func(ctx context.Context, url string, deps adapters.Deps) (limit.Limiter, error)
	// QueueOpener opens a Queue.
	QueueOpener func(ctx context.Context, url string, deps adapters.Deps) (task.Queue, error)
	// MailerOpener opens a Mailer that sends from the given address.
	MailerOpener func(ctx context.Context, url string, from mail.Address, deps adapters.Deps) (mail.Mailer, error)
	// FilesOpener opens a store of files.
	FilesOpener func(ctx context.Context, url string, deps adapters.Deps) (files.Store, error)
	// PaymentsOpener opens a payment provider.
	PaymentsOpener func(ctx context.Context, url string, deps adapters.Deps) (billing.Payments, error)
	// SearchOpener opens a search index. If empty is set, it opens a new index. That replaces the
	// existing one as soon as a position (the number of the last change that it contains) is
	// stored in it.
	SearchOpener func(ctx context.Context, url string, empty bool, deps adapters.Deps) (search.Index, error)
	// TracerOpener opens a Tracer.
	TracerOpener func(ctx context.Context, url string, deps adapters.Deps) (trace.Tracer, error)
	// TransportOpener opens a Transport. Its errors are reported with its name.
	TransportOpener func(ctx context.Context, s adapters.Services, deps adapters.Deps) (adapters.Transport, error)
)

// Option registers an adapter or adds a module.
type Option func(*registry)

// registry holds the openers of each port by scheme, and the added modules.
type registry struct {
	storage       map[string]StorageOpener
	moduleStorage map[string]map[string]StorageOpener // by module and scheme
	limiter       map[string]LimiterOpener
	queue         map[string]QueueOpener
	mailer        map[string]MailerOpener
	files         map[string]FilesOpener
	payments      map[string]PaymentsOpener
	search        map[string]SearchOpener
	tracer        map[string]TracerOpener
	transport     map[string]TransportOpener // by name
	modules       []Module

	overriding bool // adapters may be replaced (see Override)
	// err contains the invalid registrations. The first opening reports them.
	err error
}

// WithStorage makes database.url, and database.MODULE_url, accept the scheme.
func WithStorage(scheme string, open StorageOpener) Option {
	return func(r *registry) { register(r, &r.storage, "storage", scheme, open) }
}

// WithModuleStorage makes database.MODULE_url of one module accept the scheme.
// The module is identity, listings, hiring, jobseeker, billing or integrations;
// the opener returns a storage in which the struct of that module is set.
func WithModuleStorage(module, scheme string, open StorageOpener) Option {
	return func(r *registry) {
		openers, exists := r.moduleStorage[module]
		if !exists {
			r.refusef("WithModuleStorage: there is no module %q; want one of %s", module, strings.Join(migrations.Modules(), ", "))
			return
		}

		register(r, &openers, module+" storage", scheme, open)
	}
}

// WithLimiter makes limiter.url accept the scheme.
func WithLimiter(scheme string, open LimiterOpener) Option {
	return func(r *registry) { register(r, &r.limiter, "limiter", scheme, open) }
}

// WithQueue makes queue.url accept the scheme. `locum serve` executes the tasks of a
// queue whose Embedded is true, and `locum worker` those of others.
func WithQueue(scheme string, open QueueOpener) Option {
	return func(r *registry) { register(r, &r.queue, "queue", scheme, open) }
}

// WithMailer makes mail.url accept the scheme.
func WithMailer(scheme string, open MailerOpener) Option {
	return func(r *registry) { register(r, &r.mailer, "mailer", scheme, open) }
}

// WithFiles makes files.url accept the scheme. Processes that share a database
// share their files as well.
func WithFiles(scheme string, open FilesOpener) Option {
	return func(r *registry) { register(r, &r.files, "files", scheme, open) }
}

// WithPayments makes payments.url accept the scheme.
func WithPayments(scheme string, open PaymentsOpener) Option {
	return func(r *registry) { register(r, &r.payments, "payments", scheme, open) }
}

// WithSearch makes search.url accept the scheme.
func WithSearch(scheme string, open SearchOpener) Option {
	return func(r *registry) { register(r, &r.search, "search", scheme, open) }
}

// WithTracer makes tracing.url accept the scheme.
func WithTracer(scheme string, open TracerOpener) Option {
	return func(r *registry) { register(r, &r.tracer, "tracer", scheme, open) }
}

// WithTransport adds a transport, which every process that serves opens. Errors, the log
// and /readyz contain the name, which consists of letters, digits and dashes.
func WithTransport(name string, open TransportOpener) Option {
	return func(r *registry) {
		if !transportName.MatchString(name) {
			r.refusef("the transport has the name %q; want letters, digits and dashes", name)
			return
		}

		register(r, &r.transport, "transport", name, open)
	}
}

// transportName matches a scheme without plus signs and dots.
var transportName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Override allows the options to replace adapters, including built-in ones, that are registered
// for the same scheme or name. Without Override that is an error.
func Override(options ...Option) Option {
	return func(r *registry) {
		wasOverriding := r.overriding // by an Override around this one

		r.overriding = true
		for _, option := range options {
			option(r)
		}

		r.overriding = wasOverriding
	}
}

// refusef adds the reason why a registration is refused.
func (r *registry) refusef(format string, args ...any) {
	r.err = errors.Join(r.err, fmt.Errorf(format, args...))
}

// register adds an opener for the scheme. port is the name of the port in messages, such as "mailer".
//
// An invalid scheme, a nil opener or a scheme that is already taken is an error. Options cannot return errors,
// so register collects the error in r.err and stores the opener nevertheless. The opener is never called:
// with an error in r.err, every later opening of an adapter fails and returns all collected errors.
func register[Opener any](r *registry, openers *map[string]Opener, port, scheme string, open Opener) {
	_, exists := (*openers)[scheme]
	switch {
	case !schemePattern.MatchString(scheme):
		r.refusef("the %s adapter has the scheme %q; want letters, digits, plus, minus and dots", port, scheme)
	case reflect.ValueOf(open).IsNil():
		r.refusef("the %s adapter for %s: has no opener", port, scheme)
	case exists && !r.overriding:
		r.refusef("there is a %s adapter for %s: already; bootstrap.Override replaces it", port, scheme)
	}

	if *openers == nil {
		*openers = map[string]Opener{}
	}

	(*openers)[scheme] = open
}

// schemePattern matches the scheme of a URL (RFC 3986 §3.1) in lower case.
var schemePattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// newRegistry applies the options after the built-in ones.
func newRegistry(options []Option) *registry {
	r := &registry{moduleStorage: map[string]map[string]StorageOpener{}}
	for _, module := range migrations.Modules() {
		r.moduleStorage[module] = map[string]StorageOpener{}
	}

	for _, option := range append(builtIn(), options...) {
		option(r)
	}

	return r
}

// builtIn returns the options for the adapters that come with the program.
func builtIn() []Option {
	options := []Option{
		WithStorage("sqlite", gormdb.Open),
		WithStorage("postgres", gormdb.Open),
		WithStorage("postgresql", gormdb.Open),
		WithStorage("mysql", gormdb.Open),
		WithLimiter("memory", func(_ context.Context, _ string, deps adapters.Deps) (limit.Limiter, error) {
			return locallimit.New(deps.Clock), nil
		}),
		WithQueue("embedded", func(_ context.Context, _ string, _ adapters.Deps) (task.Queue, error) {
			return localtasks.New(), nil
		}),
		WithMailer("file", func(_ context.Context, url string, from mail.Address, deps adapters.Deps) (mail.Mailer, error) {
			return gomail.NewFiles(strings.TrimPrefix(url, "file:"), from, deps.Clock, deps.Log)
		}),
		WithFiles("file", func(_ context.Context, url string, _ adapters.Deps) (files.Store, error) {
			return filestore.Open(strings.TrimPrefix(url, "file:"))
		}),
		WithFiles("s3", func(_ context.Context, url string, _ adapters.Deps) (files.Store, error) { return s3store.Open(url) }),
		WithPayments("sandbox", func(_ context.Context, _ string, deps adapters.Deps) (billing.Payments, error) {
			return sandboxpay.New(deps.Clock), nil
		}),
		WithPayments("stripe", func(_ context.Context, url string, deps adapters.Deps) (billing.Payments, error) {
			return stripepay.Open(url, stripepay.Options{
				SecretKey:      deps.Payments.SecretKey,
				PublishableKey: deps.Payments.PublishableKey,
				WebhookSecrets: deps.Payments.WebhookSecrets,
				ReturnURL:      deps.PublicURL,
				Clock:          deps.Clock,
			})
		}),
		WithSearch("embedded", embeddedSearch),
		WithTracer("off", func(context.Context, string, adapters.Deps) (trace.Tracer, error) { return trace.Off{}, nil }),
		WithTracer("otlp+http", openOTLP),
		WithTracer("otlp+https", openOTLP),
		WithMailer("smtp", openSMTP),
		WithMailer("smtps", openSMTP),
		WithTransport(mcpTransport, openMCP),
	}
	for _, scheme := range redisSchemes {
		options = append(options, WithLimiter(scheme, openRedisLimiter), WithQueue(scheme, openRedisQueue))
	}

	return options
}

// openRedisLimiter opens a limiter that counts in Redis, and in this process while Redis is unavailable.
func openRedisLimiter(_ context.Context, url string, deps adapters.Deps) (limit.Limiter, error) {
	return redislimit.Open(url, locallimit.New(deps.Clock), deps.Log)
}

// openRedisQueue opens a queue in Redis, which processes can share.
func openRedisQueue(_ context.Context, url string, deps adapters.Deps) (task.Queue, error) {
	return asynqtasks.Open(url, deps.Log)
}

// openSMTP opens a mailer that sends from the address with a mail server.
func openSMTP(_ context.Context, url string, fromAddress mail.Address, deps adapters.Deps) (mail.Mailer, error) {
	return gomail.NewSMTP(url, fromAddress, deps.Clock)
}

// openOTLP opens a tracer that sends spans to an OpenTelemetry collector.
func openOTLP(_ context.Context, url string, deps adapters.Deps) (trace.Tracer, error) {
	return oteltrace.Open(url, deps.Log)
}

// opening holds the parameters with which adapters are opened.
type opening struct {
	config   *config.Config
	registry *registry
	deps     adapters.Deps
}

// open opens the adapter for a URL with the opener of its scheme. openers maps schemes to the openers of one
// port. key is the name of the setting that has the URL, such as "queue.url". It is used in errors.
func open[Opener ~func(context.Context, string, adapters.Deps) (Port, error), Port any](
	ctx context.Context,
	o opening,
	key, url string,
	openers map[string]Opener,
) (Port, error) {
	return openWith(ctx, o, key, url, openers, func(open Opener) (Port, error) { return open(ctx, url, o.deps) })
}

// openWith opens the adapter for a URL as open does. The difference is that openWith does not know the
// parameters of the opener. The function call passes them: that of mailers, for example, also passes the
// address of the sender.
func openWith[Opener, Port any](
	ctx context.Context,
	o opening,
	key, url string,
	openers map[string]Opener,
	call func(Opener) (Port, error),
) (port Port, err error) {
	// Report the registrations that were refused, which could not return an error themselves.
	if o.registry.err != nil {
		return port, o.registry.err
	}

	scheme := schemeOf(url)

	opener, isRegistered := openers[scheme]
	if !isRegistered {
		schemes := strings.Join(slices.Sorted(maps.Keys(openers)), ":, ") + ":"
		return port, o.config.Err(key, fmt.Sprintf("no adapter for %q; want one of %s", scheme+":", schemes))
	}

	port, err = runUntilDone(ctx, "the adapter was not opened", func() (Port, error) { return call(opener) })
	switch {
	case err != nil:
		return port, o.config.Err(key, err.Error())
	case isNil(&port):
		return port, o.config.Err(key, fmt.Sprintf("the adapter for %q returned nil", scheme+":"))
	}

	return port, nil
}

// schemeOf returns what is before the first colon, which selects the adapter.
func schemeOf(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	return scheme
}

// isNil reports whether a port is nil, or an interface that contains a nil pointer. A port that is a
// struct, such as the storage, is not nil.
func isNil[Port any](port *Port) bool {
	value := reflect.ValueOf(port).Elem()
	if value.Kind() != reflect.Interface {
		return false
	}

	adapter := value.Elem()

	return value.IsNil() || adapter.Kind() == reflect.Pointer && adapter.IsNil()
}

// runUntilDone returns the result of run. If ctx ends first, it returns the error of ctx with the
// message failure, so that an adapter that ignores its context cannot block the process.
func runUntilDone[T any](ctx context.Context, failure string, run func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}

	done := make(chan result, 1) // buffered, so that the goroutine ends without a receiver
	go func() {
		value, err := run()
		done <- result{value, err}
	}()

	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%s: %w", failure, context.Cause(ctx))
	}
}

func openLimiter(ctx context.Context, o opening) (limit.Limiter, error) {
	return open(ctx, o, "limiter.url", o.config.Limiter.URL, o.registry.limiter)
}

func openQueue(ctx context.Context, o opening) (task.Queue, error) {
	return open(ctx, o, "queue.url", o.config.Queue.URL, o.registry.queue)
}

// openMailer opens the configured mailer with the configured sender.
func openMailer(ctx context.Context, o opening) (mail.Mailer, error) {
	fromAddress, err := netmail.ParseAddress(o.config.Mail.From)
	if err != nil {
		return nil, o.config.Err("mail.from", "want an address like locum <no-reply@example.org>")
	}

	return openWith(ctx, o, "mail.url", o.config.Mail.URL, o.registry.mailer, func(open MailerOpener) (mail.Mailer, error) {
		return open(ctx, o.config.Mail.URL, mail.Address{Name: fromAddress.Name, Email: fromAddress.Address}, o.deps)
	})
}

func openFiles(ctx context.Context, o opening) (files.Store, error) {
	return open(ctx, o, "files.url", o.config.Files.URL, o.registry.files)
}

// openPayments opens the configured payments. Only their adapter receives the keys of the
// payment provider.
func openPayments(ctx context.Context, o opening) (billing.Payments, error) {
	settings := o.config.Payments
	o.deps.Payments = adapters.PaymentSettings{
		SecretKey:      settings.StripeKey,
		PublishableKey: settings.PublishableKey,
		WebhookSecrets: settings.WebhookSecrets,
	}

	return open(ctx, o, "payments.url", settings.URL, o.registry.payments)
}

// openSearch opens the configured index, or a new index in place of it if empty is set.
func openSearch(ctx context.Context, o opening, empty bool) (search.Index, error) {
	return openWith(ctx, o, "search.url", o.config.Search.URL, o.registry.search, func(open SearchOpener) (search.Index, error) {
		return open(ctx, o.config.Search.URL, empty, o.deps)
	})
}

func openTracer(ctx context.Context, o opening) (trace.Tracer, error) {
	return open(ctx, o, "tracing.url", o.config.Tracing.URL, o.registry.tracer)
}

// redisSchemes are the schemes for one Redis server, a cluster, or servers behind
// sentinels, each with TLS or without.
var redisSchemes = []string{"redis", "rediss", "redis-cluster", "rediss-cluster", "redis-sentinel", "rediss-sentinel"}

// newDeps returns the dependencies of adapters. They record no traces and no metrics; a process
// replaces Tracer and Metrics.
func newDeps(cfg *config.Config, log *slog.Logger) adapters.Deps {
	return adapters.Deps{
		Clock:      clock.System{},
		NewID:      newID,
		Log:        log,
		Tracer:     trace.Off{},
		Metrics:    metrics.Discard{},
		PublicURL:  cfg.HTTP.PublicURL,
		DataFolder: cfg.DataFolder,
		Database:   adapters.DatabaseSettings{MaxConnections: cfg.Database.MaxConnections},
	}
}
