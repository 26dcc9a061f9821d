// Package bootstrap assembles the service: it reads the configuration, opens an adapter
// for each port, creates and connects the modules, and runs the role of the process.
package bootstrap

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/trace"
)

// version is set at link time.
var version = "dev"

// role is the role of a process.
type role struct {
	name   string
	serves bool // serves HTTP; a process that does not executes the tasks of a shared queue
	// isCommand is true for a command that uses services once, beside the processes.
	isCommand bool
	// clock and newID are those of the services, nil for those of the system.
	clock clock.Clock
	newID id.Source
}

// startTimeout bounds a start, which waits for a database that is starting.
const startTimeout = time.Minute

// stopTimeout bounds a shutdown, which waits for requests and tasks in progress.
const stopTimeout = 20 * time.Second

// app is a running process.
type app struct {
	fx *fx.App
	// addr is the address of the server, set by Start.
	addr    net.Addr
	server  *fiberhttp.Server // nil in a process that does not serve
	storage *storage
	works   bool // whether it executes tasks
	// transports are served beside the server.
	transports []transport
}

// newApp wires a process.
func newApp(ctx context.Context, c *config.Config, s *registry, r role, log *slog.Logger) *app {
	return wire(ctx, c, s, r, log, fx.Invoke(assignWork, registerMetrics, warnUnreachable, runWork, resolveSearches, runServer, serveMetrics, endWork))
}

// wire wires what use needs: fx calls the constructors of its dependencies alone. The
// list is flat: the parameters of a constructor are its dependencies.
func wire(ctx context.Context, c *config.Config, s *registry, r role, log *slog.Logger, use fx.Option) *app {
	a := &app{}
	a.fx = fx.New(
		fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
		fx.StartTimeout(startTimeout),
		fx.StopTimeout(stopTimeout+5*time.Second),
		fx.Supply(c, s, r, log, a, starting{ctx}),
		fx.Provide(
			prometheus.NewRegistry,
			provideDeps,
			func(c *config.Config, s *registry, d adapters.Deps) opening { return opening{c, s, d} },
			provideStorage,
			portsOfStorage,
			provide(openLimiter),
			provide(openQueue),
			provideMailer,
			provide(openFiles),
			provide(openPayments),
			provideTracer,
			newKeyRing,
			newIdentity,
			newEngine,
			newListings,
			newHiring,
			newSeekers,
			newBilling,
			newIntegrations,
			newHealthChecks,
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
		use,
	)
	return a
}

// Start opens all adapters and starts the process. Its error is fit for operators.
func (a *app) Start(ctx context.Context) error {
	if err := a.fx.Err(); err != nil {
		return dig.RootCause(err)
	}
	return a.fx.Start(ctx)
}

// Stop completes the work in progress and closes all adapters.
func (a *app) Stop(ctx context.Context) error { return a.fx.Stop(ctx) }

// drain makes the server unready; the server and the transports respond for the
// configured time.
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

// starting is the context of a start, in which adapters are opened.
type starting struct {
	context.Context //nolint:containedctx // constructors of fx take no context
}

// provideDeps opens the tracer and returns the dependencies of the other adapters.
func provideDeps(lc fx.Lifecycle, ctx starting, c *config.Config, s *registry, r role, numbers *prometheus.Registry, log *slog.Logger) (adapters.Deps, error) {
	d := newDeps(c, log)
	d.Metrics = adapterMetrics{numbers, log}
	if r.clock != nil {
		d.Clock, d.NewID = r.clock, r.newID
	}
	t, err := openTracer(ctx, opening{c, s, d})
	if err != nil {
		return d, err
	}
	closeAtStop(lc, t)
	d.Tracer = t
	return d, nil
}

func provideStorage(lc fx.Lifecycle, ctx starting, c *config.Config, r role, s *registry, d adapters.Deps) (*storage, error) {
	d.Clock, d.NewID = clock.System{}, newID
	opened, err := openStorage(ctx, c, s, d)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(opened.close))
	lc.Append(fx.StartHook(func(ctx context.Context) error {
		if r.isCommand {
			return opened.check(ctx, c)
		}
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
	}))
	return opened, nil
}

func portsOfStorage(s *storage) adapters.Storage { return s.Storage }

// provide returns a constructor that opens the adapter of a port.
func provide[Port any](openPort func(context.Context, opening) (Port, error)) any {
	return func(lc fx.Lifecycle, ctx starting, o opening) (Port, error) {
		p, err := openPort(ctx, o)
		closeAtStop(lc, p)
		return p, err
	}
}

func provideMailer(lc fx.Lifecycle, ctx starting, r role, o opening) (mail.Mailer, error) {
	if r.isCommand {
		return lazyMailer(func() (mail.Mailer, error) { return openMailer(ctx, o) }), nil
	}
	m, err := openMailer(ctx, o)
	closeAtStop(lc, m)
	return tracedMailer{m, o.deps.Tracer}, err
}

// lazyMailer opens the mailer of a command, which mostly sends nothing, for a message.
type lazyMailer func() (mail.Mailer, error)

// Send implements mail.Mailer.
func (open lazyMailer) Send(ctx context.Context, message mail.Message) error {
	m, err := open()
	if err != nil {
		return err
	}
	return m.Send(ctx, message)
}

// tracedMailer records a span for each message.
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

// Ping calls the mailer's Ping if it has one.
func (m tracedMailer) Ping(ctx context.Context) error { return pingOf(m.Mailer)(ctx) }

func provideTracer(d adapters.Deps) trace.Tracer { return d.Tracer }

func closeAtStop(lc fx.Lifecycle, adapter any) {
	if closer, ok := adapter.(io.Closer); ok {
		lc.Append(fx.StopHook(closer.Close))
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
	tables := apis(services, c.HTTP.PublicURL)
	if err := added.addRoutes(tables); err != nil {
		return err
	}
	brand, err := brandOf(c.Site)
	if err != nil {
		return err
	}
	server, err := fiberhttp.New(services, fiberhttp.Options{
		PublicURL: c.HTTP.PublicURL, TrustedProxies: proxies, CORSOrigins: c.HTTP.CORSOrigins, NewID: newID, Log: log,
		BodyMemory: int64(c.Limits.BodyMemory) << 20, DisableMetrics: c.HTTP.MetricsAddr != "", Metrics: numbers, Trace: t,
		APIs: tables, Mounts: slices.Concat(mountsOf(a.transports), added.mounts()), Site: c.Site.Enabled, Brand: brand, EmbedOrigins: c.Site.EmbedOrigins,
	})
	if err != nil {
		return err
	}
	a.server = server
	background(lc, func(ctx context.Context) {
		services.Listings.CountViews(ctx, func(err error) { log.Warn("failed to flush view counters; will retry", "error", err) })
	})
	background(lc, func(ctx context.Context) {
		services.Integrations.CountCalls(ctx, func(err error) { log.Warn("failed to flush call counters; will retry", "error", err) })
	})
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
			go func() {
				if err := server.Serve(l); err != nil {
					log.Error("server failed", "error", err)
				}
			}()
			return nil
		},
		OnStop: func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, stopTimeout)
			defer cancel()
			others := make(chan error, 1)
			go func() { others <- shutdownTransports(ctx, a.transports) }()
			return errors.Join(server.Shutdown(ctx), <-others)
		},
	})
	return nil
}
