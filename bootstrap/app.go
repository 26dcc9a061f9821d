// Package bootstrap puts the house together: it reads the configuration, opens
// an adapter for every socket, makes the modules, joins them, and runs the
// role that it was asked for.
package bootstrap

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/modules/billing"
)

// version is set at link time.
var version = "dev"

// role is what a process does.
type role struct {
	name   string
	serves bool // answers HTTP; a process that does not executes the tasks of a shared queue
}

// startWithin bounds a start: a database may be on its way up.
const startWithin = time.Minute

// stopWithin bounds a shutdown: requests and reactions in flight may finish.
const stopWithin = 20 * time.Second

// app is a process in its role.
type app struct {
	fx *fx.App
	// Addr is where the server listens, once started.
	addr    net.Addr
	server  *fiberhttp.Server // nil in a process that serves nothing
	storage *storage
	works   bool // executes tasks
	// transports serve beside the server.
	transports []transport
}

// newApp wires a process. The list is flat: what a constructor needs is what
// its parameters say.
func newApp(ctx context.Context, c *config.Config, s *registry, r role, log *slog.Logger) *app {
	a := &app{}
	a.fx = fx.New(
		fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
		fx.StartTimeout(startWithin),
		fx.StopTimeout(stopWithin+5*time.Second),
		fx.Supply(c, s, r, log, a, starting{ctx}),
		fx.Provide(
			prometheus.NewRegistry,
			provideDeps,
			provideStorage,
			portsOfStorage,
			provideLimiter,
			provideQueue,
			provideMailer,
			provideFiles,
			providePayments,
			provideTracer,
			newKeyRing,
			newIdentity,
			newEngine,
			newListings,
			newHiring,
			newSeekers,
			newBilling,
			newIntegrations,
			newServices,
			newAddedModules,
			subscriptions,
			handlersOf,
			periodsOf,
			newTaskMetrics,
			newRunner,
			newRelay,
			newWork,
		),
		fx.Invoke(assignWork, registerMetrics, warnOfSilence, runWork, resolveSearches, runServer, serveMetrics, endWork),
	)
	return a
}

// Start opens everything and begins to work; the error is fit for a person.
func (a *app) Start(ctx context.Context) error {
	if err := a.fx.Err(); err != nil {
		return dig.RootCause(err)
	}
	return a.fx.Start(ctx)
}

// Stop ends the work at hand and closes everything.
func (a *app) Stop(ctx context.Context) error { return a.fx.Stop(ctx) }

// drain makes the server unready and lets it and the transports answer for the time.
func (a *app) drain(d time.Duration) {
	if a.server != nil {
		a.server.Drain()
		for _, t := range a.transports {
			if drainer, ok := t.Transport.(adapters.Drainer); ok {
				drainer.Drain()
			}
		}
		time.Sleep(d)
	}
}

// starting is the context of a start, with which adapters are opened.
type starting struct {
	context.Context //nolint:containedctx // constructors of fx take no context
}

// provideDeps opens the tracer and returns the dependencies of the other adapters.
func provideDeps(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, numbers *prometheus.Registry, log *slog.Logger) (adapters.Deps, error) {
	d := newDeps(c, log)
	d.Metrics = adapterMetrics{numbers, log}
	t, err := openTracer(ctx, c, s, d)
	if err != nil {
		return d, err
	}
	closeAtStop(lc, t)
	d.Tracer = t
	return d, nil
}

func provideStorage(lc fx.Lifecycle, ctx starting, c *config.Config, r role, s *registry, d adapters.Deps) (*storage, error) {
	opened, err := openStorage(ctx, c, s, d)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			opened.logModules(d.Log)
			if r.serves {
				if err := opened.each(c, func(db *database) error {
					if db.Claim == nil {
						return nil
					}
					return db.Claim(ctx)
				}); err != nil {
					return err
				}
			}
			if err := fitSchemas(ctx, c, opened, d.Log); err != nil {
				return err
			}
			return s.checkMigrations(ctx, c, opened.databases[0])
		},
		OnStop: func(context.Context) error { return opened.close() },
	})
	return opened, nil
}

func portsOfStorage(s *storage) adapters.Storage { return s.Storage }

func provideLimiter(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, d adapters.Deps) (limit.Limiter, error) {
	l, err := openLimiter(ctx, c, s, d)
	closeAtStop(lc, l)
	return l, err
}

func provideQueue(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, d adapters.Deps) (task.Queue, error) {
	q, err := openQueue(ctx, c, s, d)
	closeAtStop(lc, q)
	return q, err
}

func provideMailer(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, d adapters.Deps, t trace.Tracer) (mail.Mailer, error) {
	m, err := openMailer(ctx, c, s, d)
	closeAtStop(lc, m)
	return tracedMailer{m, t}, err
}

// tracedMailer makes a span of each message.
type tracedMailer struct {
	mail.Mailer
	tracer trace.Tracer
}

// Send implements mail.Mailer.
func (m tracedMailer) Send(ctx context.Context, message mail.Message) (err error) {
	ctx, end := m.tracer.Start(ctx, "mail", "")
	defer func() { end(err) }()
	return m.Mailer.Send(ctx, message)
}

// Ping asks the mailer itself, if it has an answer.
func (m tracedMailer) Ping(ctx context.Context) error { return pingOf(m.Mailer)(ctx) }

func provideFiles(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, d adapters.Deps) (files.Store, error) {
	store, err := openFiles(ctx, c, s, d)
	closeAtStop(lc, store)
	return store, err
}

func providePayments(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, d adapters.Deps) (billing.Payments, error) {
	p, err := openPayments(ctx, c, s, d)
	closeAtStop(lc, p)
	return p, err
}

func provideTracer(d adapters.Deps) trace.Tracer { return d.Tracer }

func closeAtStop(lc fx.Lifecycle, adapter any) {
	if closer, ok := adapter.(io.Closer); ok {
		lc.Append(fx.Hook{OnStop: func(context.Context) error { return closer.Close() }})
	}
}

func runServer(lc fx.Lifecycle, ctx starting, a *app, r role, c *config.Config, registered *registry, services adapters.Services, added addedModules, d adapters.Deps, numbers *prometheus.Registry, t trace.Tracer, log *slog.Logger) error {
	if !r.serves {
		return nil
	}
	proxies, err := c.HTTP.Proxies()
	if err != nil {
		return c.Err("http.trusted_proxies", err.Error())
	}
	if strings.HasPrefix(c.HTTP.PublicURL, "https:") && len(proxies) == 0 {
		log.Warn("http.public_url is https and http.trusted_proxies is empty; all clients behind the proxy count as one address")
	}
	if a.transports, err = openTransports(ctx, c, registered, services, d); err != nil {
		return err
	}
	tables := surfaces(services, c.HTTP.PublicURL)
	if err := added.addRoutes(tables); err != nil {
		return err
	}
	server, err := fiberhttp.New(services, fiberhttp.Options{
		PublicURL: c.HTTP.PublicURL, TrustedProxies: proxies, NewID: newID, Log: log,
		BodyMemory: int64(c.Limits.BodyMemory) << 20, MetricsElsewhere: c.HTTP.MetricsAddr != "", Metrics: numbers, Trace: t,
		Surfaces: tables, Mounts: slices.Concat(mountsOf(a.transports), added.mounts()),
	})
	if err != nil {
		return err
	}
	a.server = server
	counting, stopCounting := context.WithCancel(context.Background())
	var counted sync.WaitGroup
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.HTTP.Addr)
			if err != nil {
				return c.Err("http.addr", err.Error())
			}
			if err := startTransports(ctx, a.transports); err != nil {
				return errors.Join(err, l.Close())
			}
			a.addr = l.Addr()
			counted.Go(func() {
				services.Listings.CountViews(counting, func(err error) { log.Warn("views wait to be counted", "error", err) })
			})
			counted.Go(func() {
				services.Integrations.CountCalls(counting, func(err error) { log.Warn("calls wait to be counted", "error", err) })
			})
			go func() {
				if err := server.Serve(l); err != nil {
					log.Error("the server stopped", "error", err)
				}
			}()
			return nil
		},
		OnStop: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, stopWithin)
			defer cancel()
			others := make(chan error, 1)
			go func() { others <- shutdownTransports(ctx, a.transports) }()
			err := errors.Join(server.Shutdown(ctx), <-others)
			stopCounting()
			counted.Wait()
			return err
		},
	})
	return nil
}
