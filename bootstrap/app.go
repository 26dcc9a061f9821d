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

// version is the version of the program. The linker sets it for a release.
var version = "dev"

// role is what a process does: it serves, works or executes one command.
type role struct {
	name   string
	serves bool // serves HTTP; other processes (workers) execute the tasks of a shared queue
	// isCommand is set for a command that uses the services once and ends.
	isCommand bool
	// clock and newID replace the system's clock and the source of ids, unless they are nil. A
	// command that creates data of the past sets them.
	clock clock.Clock
	newID id.Source
}

// startTimeout bounds the start of a process, including the wait for a database that is still
// starting.
const startTimeout = time.Minute

const (
	// stopTimeout bounds the shutdown of the servers, including the wait for requests in progress.
	stopTimeout = 20 * time.Second
	// appStopTimeout bounds the stop of the whole process. After the servers, it closes the adapters.
	appStopTimeout = stopTimeout + 5*time.Second
)

// app is a running process.
type app struct {
	fx *fx.App
	// addr is the address of the server, set by Start.
	addr    net.Addr
	server  *fiberhttp.Server // nil in a process that does not serve
	storage *storage          // nil in a process that executes only one command
	works   bool              // the process executes tasks
	// transports are the transports that the process serves in addition to HTTP.
	transports []transport
}

// newApp assembles a process that serves or works. fx, a library for dependency injection, calls the invoked functions in
// the given order. Each of them registers functions for the start and the stop of the process. Those for the start are
// called in the same order, and those for the stop in the reverse order.
func newApp(ctx context.Context, cfg *config.Config, registered *registry, r role, log *slog.Logger) *app {
	return wire(ctx, cfg, registered, r, log,
		fx.Invoke(assignWork, registerMetrics, warnUnreachable, runWork, resolveSearches, runServer, serveMetrics, endWork))
}

// wire assembles the dependencies of use, which invokes functions or sets variables. fx calls only the constructors that
// are needed. Their order follows from their parameters, so the order of the list below has no meaning. The app reports
// an error of a constructor when it is started.
func wire(ctx context.Context, cfg *config.Config, registered *registry, r role, log *slog.Logger, use fx.Option) *app {
	a := &app{}
	a.fx = fx.New(
		fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger }),
		fx.StartTimeout(startTimeout),
		fx.StopTimeout(appStopTimeout),
		fx.Supply(cfg, registered, r, log, a, startContext{ctx}),
		fx.Provide(
			prometheus.NewRegistry,
			provideDeps,
			func(cfg *config.Config, registered *registry, deps adapters.Deps) opening {
				return opening{config: cfg, registry: registered, deps: deps}
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
			newPeriodicTasks,
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
		return dig.RootCause(err) // without the names of the constructors that depend on the failed one
	}

	return a.fx.Start(ctx)
}

// Stop completes the work in progress and closes all adapters.
func (a *app) Stop(ctx context.Context) error { return a.fx.Stop(ctx) }

// drain makes the process unready, so that load balancers use other instances, and continues to
// serve for the configured time.
func (a *app) drain(d time.Duration) {
	if a.server == nil {
		return
	}

	a.server.Drain()

	for _, t := range a.transports {
		if drainer, ok := t.Transport.(adapters.Drainer); ok {
			drainer.Drain()
		}
	}

	time.Sleep(d)
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
	registered *registry,
	r role,
	promRegistry *prometheus.Registry,
	log *slog.Logger,
) (adapters.Deps, error) {
	deps := newDeps(cfg, log)

	deps.Metrics = adapterMetrics{registry: promRegistry, log: log}
	if r.clock != nil { // a command that creates data of the past
		deps.Clock, deps.NewID = r.clock, r.newID
	}

	tracer, err := openTracer(ctx, opening{config: cfg, registry: registered, deps: deps})
	if err != nil {
		return deps, err
	}

	closeAtStop(lc, tracer)

	deps.Tracer = tracer

	return deps, nil
}

// provideStorage opens the storage, and registers what happens to it at the start and at the stop.
// A command only checks the storage; a process also prepares the schemas.
func provideStorage(
	lc fx.Lifecycle,
	ctx startContext,
	cfg *config.Config,
	r role,
	registered *registry,
	deps adapters.Deps,
) (*storage, error) {
	// The storage itself uses the present time, also for a command that creates data of the past.
	deps.Clock, deps.NewID = clock.System{}, newID

	store, err := openStorage(ctx, cfg, registered, deps)
	if err != nil {
		return nil, err
	}

	lc.Append(fx.StopHook(store.close))
	lc.Append(fx.StartHook(func(ctx context.Context) error {
		if r.isCommand {
			return store.check(ctx, cfg)
		}

		store.logModules(deps.Log)

		if r.serves {
			if err := store.claim(ctx, cfg); err != nil {
				return err
			}
		}

		if err := prepareSchemas(ctx, cfg, store, deps.Log); err != nil {
			return err
		}

		ofIdentity := store.databases[0] // which also stores the tables of added modules

		return registered.checkMigrations(ctx, cfg, ofIdentity)
	}))

	return store, nil
}

// portsOfStorage returns the repositories of the modules.
func portsOfStorage(store *storage) adapters.Storage { return store.Storage }

// provide returns a constructor for fx that opens an adapter with openPort. A port is an interface of
// the program that adapters implement, such as task.Queue.
func provide[Port any](openPort func(context.Context, opening) (Port, error)) any {
	return func(lc fx.Lifecycle, ctx startContext, o opening) (Port, error) {
		adapter, err := openPort(ctx, o)
		closeAtStop(lc, adapter)
		return adapter, err
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

// lazyMailer opens a mailer when a message is sent, because most commands send none.
type lazyMailer func() (mail.Mailer, error)

// Send implements mail.Mailer. It opens a mailer for each message.
func (open lazyMailer) Send(ctx context.Context, message mail.Message) error {
	mailer, err := open()
	if err != nil {
		return err
	}

	return mailer.Send(ctx, message)
}

// processMailer is the mailer of a process. It adds a span of the trace for each message, and the
// templates with which mail.Deliver renders the text of e-mails.
type processMailer struct {
	mail.Mailer
	tracer    trace.Tracer
	templates *mail.Templates
}

// Templates returns the templates for mail.Deliver.
func (m processMailer) Templates() *mail.Templates { return m.templates }

// Send implements mail.Mailer. The span ends when the mailer has accepted the message or has failed.
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
	promRegistry *prometheus.Registry,
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

	apis := newAPIs(services, cfg.HTTP.PublicURL)
	if err := added.addRoutes(apis); err != nil {
		return err
	}

	brand, err := brandOf(cfg.Site)
	if err != nil {
		return err
	}

	a.server, err = fiberhttp.New(services, fiberhttp.Options{
		PublicURL:      cfg.HTTP.PublicURL,
		TrustedProxies: proxies,
		CORSOrigins:    cfg.HTTP.CORSOrigins,
		NewID:          newID,
		Log:            log,
		BodyMemory:     int64(cfg.Limits.BodyMemory) << 20, // from MiB to bytes
		DisableMetrics: cfg.HTTP.MetricsAddr != "",         // serveMetrics serves them there
		Metrics:        promRegistry,
		Trace:          tracer,
		APIs:           apis,
		Mounts:         slices.Concat(transportMounts(a.transports), added.mounts()),
		Site:           cfg.Site.Enabled,
		Brand:          brand,
		EmbedOrigins:   cfg.Site.EmbedOrigins,
	})
	if err != nil {
		return err
	}

	// Views of listings and calls of the API are counted in memory. These loops store the counts until
	// the server has stopped.
	runInBackground(lc, func(ctx context.Context) {
		services.Listings.CountViews(ctx, func(err error) { log.Warn("failed to flush view counters; will retry", "error", err) })
	})
	runInBackground(lc, func(ctx context.Context) {
		services.Integrations.CountCalls(ctx, func(err error) { log.Warn("failed to flush call counters; will retry", "error", err) })
	})

	lc.Append(fx.Hook{
		OnStart: func(ctx context.Context) error { return a.startServers(ctx, cfg, log) },
		OnStop:  a.shutdownServers,
	})

	return nil
}

// startServers starts the transports, and serves HTTP in the background.
func (a *app) startServers(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.HTTP.Addr)
	if err != nil {
		return cfg.Err("http.addr", err.Error())
	}

	if err := startTransports(ctx, a.transports); err != nil {
		return errors.Join(err, listener.Close())
	}

	a.addr = listener.Addr()
	go func() {
		if err := a.server.Serve(listener); err != nil {
			log.Error("server failed", "error", err)
		}
	}()

	return nil
}

// shutdownServers shuts down the HTTP server and the transports concurrently, within stopTimeout.
func (a *app) shutdownServers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()

	ofTransports := make(chan error, 1)
	go func() { ofTransports <- shutdownTransports(ctx, a.transports) }()

	return errors.Join(a.server.Shutdown(ctx), <-ofTransports)
}
