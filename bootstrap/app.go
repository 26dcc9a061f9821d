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
	serves bool // serves HTTP; other processes (workers) execute the tasks of a shared queue
	// isCommand is set for a command that uses the services once and ends.
	isCommand bool
	// clock and newID replace the system's clock and ids, unless they are nil.
	clock clock.Clock
	newID id.Source
}

// startTimeout bounds the start of a process, including the wait for a database that is still
// starting.
const startTimeout = time.Minute

// stopTimeout bounds the shutdown, including the wait for requests and tasks in progress.
const stopTimeout = 20 * time.Second

// app is a running process.
type app struct {
	fx *fx.App
	// addr is the address of the server, set by Start.
	addr    net.Addr
	server  *fiberhttp.Server // nil in a process that does not serve
	storage *storage
	works   bool // the process executes tasks
	// transports are the transports that the process serves in addition to HTTP.
	transports []transport
}

// newApp assembles a process for the role.
func newApp(ctx context.Context, cfg *config.Config, s *registry, r role, log *slog.Logger) *app {
	return wire(ctx, cfg, s, r, log,
		fx.Invoke(assignWork, registerMetrics, warnUnreachable, runWork, resolveSearches, runServer, serveMetrics, endWork))
}

// wire assembles the dependencies of use. fx calls only the constructors that are needed, in
// the order that follows from their parameters, so the order of this list has no meaning.
func wire(ctx context.Context, cfg *config.Config, s *registry, r role, log *slog.Logger, use fx.Option) *app {
	a := &app{}
	a.fx = fx.New(
		fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
		fx.StartTimeout(startTimeout),
		fx.StopTimeout(stopTimeout+5*time.Second),
		fx.Supply(cfg, s, r, log, a, startContext{ctx}),
		fx.Provide(
			prometheus.NewRegistry,
			provideDeps,
			func(cfg *config.Config, s *registry, deps adapters.Deps) opening {
				return opening{config: cfg, registry: s, deps: deps}
			},
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
			newHandlers,
			newPeriods,
			newTaskMetrics,
			newRunner,
			newRelay,
			newWork,
		),
		use,
	)

	return a
}

// Start opens all adapters and starts the process. Its error is a message for operators.
func (a *app) Start(ctx context.Context) error {
	if err := a.fx.Err(); err != nil {
		return dig.RootCause(err)
	}

	return a.fx.Start(ctx)
}

// Stop completes the work in progress and closes all adapters.
func (a *app) Stop(ctx context.Context) error { return a.fx.Stop(ctx) }

// drain makes the process unready, so that load balancers use other instances, and continues to
// serve for the configured time.
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

// startContext is the context in which adapters are opened. It ends with the start.
type startContext struct {
	context.Context //nolint:containedctx // constructors of fx take no context
}

// provideDeps opens the tracer and returns the dependencies of the other adapters.
func provideDeps(
	lc fx.Lifecycle,
	ctx startContext,
	cfg *config.Config,
	s *registry,
	r role,
	numbers *prometheus.Registry,
	log *slog.Logger,
) (adapters.Deps, error) {
	deps := newDeps(cfg, log)

	deps.Metrics = adapterMetrics{numbers, log}
	if r.clock != nil { // a command that creates data of the past
		deps.Clock, deps.NewID = r.clock, r.newID
	}

	tracer, err := openTracer(ctx, opening{config: cfg, registry: s, deps: deps})
	if err != nil {
		return deps, err
	}

	closeAtStop(lc, tracer)

	deps.Tracer = tracer

	return deps, nil
}

// provideStorage opens the storage, with the system's clock and ids, and registers what happens
// to it at the start and at the stop. A command only checks the storage; a process also prepares
// the schemas.
func provideStorage(lc fx.Lifecycle, ctx startContext, cfg *config.Config, r role, s *registry, deps adapters.Deps) (*storage, error) {
	deps.Clock, deps.NewID = clock.System{}, newID

	opened, err := openStorage(ctx, cfg, s, deps)
	if err != nil {
		return nil, err
	}

	lc.Append(fx.StopHook(opened.close))
	lc.Append(fx.StartHook(func(ctx context.Context) error {
		if r.isCommand {
			return opened.check(ctx, cfg)
		}

		opened.logModules(deps.Log)

		// Claim the databases that only one process may serve from, such as SQLite files.
		if r.serves {
			claim := func(db *database) error {
				if db.Claim == nil {
					return nil
				}

				return db.Claim(ctx)
			}
			if err := opened.each(cfg, claim); err != nil {
				return err
			}
		}

		if err := prepareSchemas(ctx, cfg, opened, deps.Log); err != nil {
			return err
		}

		return s.checkMigrations(ctx, cfg, opened.databases[0])
	}))

	return opened, nil
}

// portsOfStorage returns the repositories of the modules.
func portsOfStorage(store *storage) adapters.Storage { return store.Storage }

// provide returns a constructor that opens the adapter of a port.
func provide[Port any](openPort func(context.Context, opening) (Port, error)) any {
	return func(lc fx.Lifecycle, ctx startContext, o opening) (Port, error) {
		p, err := openPort(ctx, o)
		closeAtStop(lc, p)
		return p, err
	}
}

// provideMailer opens the mailer. A command opens it only when it sends its first mail, so that
// a command which sends none succeeds without a mail server.
func provideMailer(lc fx.Lifecycle, ctx startContext, r role, o opening) (mail.Mailer, error) {
	if r.isCommand {
		return lazyMailer(func() (mail.Mailer, error) { return openMailer(ctx, o) }), nil
	}

	templates, err := mailTemplates(o.config)
	if err != nil {
		return nil, err
	}

	mailer, err := openMailer(ctx, o)
	closeAtStop(lc, mailer)

	return processMailer{Mailer: mailer, tracer: o.deps.Tracer, templates: templates}, err
}

// mailTemplates returns the templates of e-mails, with the name of the site.
func mailTemplates(c *config.Config) (*mail.Templates, error) {
	if c.Mail.Templates == "" {
		return mail.NewTemplates(c.Site.Name), nil
	}

	templates, err := mail.ReadTemplates(c.Mail.Templates, c.Site.Name)
	if err != nil {
		return nil, c.Err("mail.templates", err.Error())
	}

	return templates, nil
}

// lazyMailer opens the mailer for the first message, because most commands send none.
type lazyMailer func() (mail.Mailer, error)

// Send implements mail.Mailer.
func (open lazyMailer) Send(ctx context.Context, message mail.Message) error {
	mailer, err := open()
	if err != nil {
		return err
	}

	return mailer.Send(ctx, message)
}

// processMailer records a span for each message, and has the templates of letters.
type processMailer struct {
	mail.Mailer
	tracer    trace.Tracer
	templates *mail.Templates
}

// Templates returns the templates that mail.Deliver renders letters with.
func (m processMailer) Templates() *mail.Templates { return m.templates }

// Send implements mail.Mailer.
func (m processMailer) Send(ctx context.Context, message mail.Message) (err error) {
	ctx, end := m.tracer.Start(ctx, "mail", "")
	defer func() { end(err) }()
	return m.Mailer.Send(ctx, message)
}

// Ping calls the mailer's Ping if it has one.
func (m processMailer) Ping(ctx context.Context) error { return pingOf(m.Mailer)(ctx) }

// provideTracer returns the tracer, which provideDeps has opened.
func provideTracer(deps adapters.Deps) trace.Tracer { return deps.Tracer }

// closeAtStop closes the adapter when the process stops, if the adapter can be closed.
func closeAtStop(lc fx.Lifecycle, adapter any) {
	if closer, ok := adapter.(io.Closer); ok {
		lc.Append(fx.StopHook(closer.Close))
	}
}

// runServer creates the server of a process that serves, and registers its start and its stop.
func runServer(
	lc fx.Lifecycle,
	ctx startContext,
	a *app,
	r role,
	cfg *config.Config,
	registered *registry,
	services adapters.Services,
	added addedModules,
	deps adapters.Deps,
	numbers *prometheus.Registry,
	tracer trace.Tracer,
	log *slog.Logger,
) error {
	if !r.serves {
		return nil
	}

	proxies, err := cfg.HTTP.Proxies()
	if err != nil {
		return cfg.Err("http.trusted_proxies", err.Error())
	}

	if strings.HasPrefix(cfg.HTTP.PublicURL, "https:") && len(proxies) == 0 {
		log.Warn("http.public_url is https and http.trusted_proxies is empty; all clients behind the proxy count as one address")
	}

	if a.transports, err = openTransports(ctx, cfg, registered, services, deps); err != nil {
		return err
	}

	tables := routeTables(services, cfg.HTTP.PublicURL)
	if err := added.addRoutes(tables); err != nil {
		return err
	}

	brand, err := brandOf(cfg.Site)
	if err != nil {
		return err
	}

	server, err := fiberhttp.New(services, fiberhttp.Options{
		PublicURL:      cfg.HTTP.PublicURL,
		TrustedProxies: proxies,
		CORSOrigins:    cfg.HTTP.CORSOrigins,
		NewID:          newID,
		Log:            log,
		BodyMemory:     int64(cfg.Limits.BodyMemory) << 20,
		DisableMetrics: cfg.HTTP.MetricsAddr != "",
		Metrics:        numbers,
		Trace:          tracer,
		APIs:           tables,
		Mounts:         slices.Concat(transportMounts(a.transports), added.mounts()),
		Site:           cfg.Site.Enabled,
		Brand:          brand,
		EmbedOrigins:   cfg.Site.EmbedOrigins,
	})
	if err != nil {
		return err
	}

	a.server = server

	runInBackground(lc, func(ctx context.Context) {
		services.Listings.CountViews(ctx, func(err error) { log.Warn("failed to flush view counters; will retry", "error", err) })
	})
	runInBackground(lc, func(ctx context.Context) {
		services.Integrations.CountCalls(ctx, func(err error) { log.Warn("failed to flush call counters; will retry", "error", err) })
	})
	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Addr)
			if err != nil {
				return cfg.Err("http.addr", err.Error())
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
