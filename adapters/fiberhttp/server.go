// Package fiberhttp implements the HTTP server with Fiber.
package fiberhttp

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/trace"
)

// Options configure the server.
type Options struct {
	// PublicURL is the URL of the service for users, without a slash at the end.
	PublicURL string
	// TrustedProxies are the networks of the proxies whose X-Forwarded-For is used.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose pages may use the portal API, the API of the service's own
	// clients. APIs with an Authenticator allow every origin.
	CORSOrigins []string
	// BodyMemory bounds the bytes of all request bodies in memory, zero for
	// DefaultBodyMemory.
	BodyMemory int64
	// NewID creates the request ID for a request without a valid header X-Request-Id.
	NewID id.Source
	Log   *slog.Logger
	// DisableMetrics omits /metrics, which is served at another address.
	DisableMetrics bool
	// Metrics is the registry of the process. The server adds its metrics to it.
	Metrics *prometheus.Registry
	// Trace creates a span for each request. Nil disables tracing.
	Trace trace.Tracer
	// APIs are the APIs that the server serves; there must be at least one. A path belongs to the first
	// API that covers it. A path that no API covers belongs to the last one, which decides the
	// format of its errors.
	APIs []web.API
	// Site serves the site for clinicians and employers. Without it, the server serves only the
	// pages of jobs and the pages for developers.
	Site bool
	// Brand is the name and the appearance of the service on pages.
	Brand pages.Brand
	// EmbedOrigins are the origins whose pages may show the jobs of an employer in a frame.
	EmbedOrigins []string
	// Mounts are net/http handlers for paths outside of the APIs, such as /mcp.
	Mounts []Mount
}

// DefaultBodyMemory bounds the bytes of all request bodies in memory.
const DefaultBodyMemory = 192 << 20

const (
	// headTimeout is the time for the head of a request: the request line and the header section.
	headTimeout = 5 * time.Second
	// maxHead is the maximum size of a head in bytes. Larger ones get a 431.
	maxHead = 16 << 10
	// idleTimeout is the time after which an idle connection closes. It is longer than the idle
	// timeout of common load balancers (60 s): if this server closed first, a load balancer could
	// send a request on a connection that is just closing.
	idleTimeout = 75 * time.Second
	// maxConns bounds the open connections of all clients.
	maxConns = 10_000
)

// Server is the HTTP server.
type Server struct {
	app        *fiber.App
	services   adapters.Services
	admission  web.Admission // runs the operations of API routes after their checks
	apis       []web.API     // Options.APIs
	options    Options
	metrics    *metrics
	cache      *responseCache  // public responses to guests
	causes     causeLog        // limits the log lines about unavailable dependencies
	probe      probe           // the latest result of GET /readyz
	bodyMemory bodyMemory      // bounds the request bodies in memory
	forms      []string        // route patterns of forms, whose bodies readForm reads
	uploads    []string        // the part of forms that may contain files, whose bodies readUpload reads
	renderer   *pages.Renderer // renders pages
	// isDraining is set while the process waits for clients to use other instances.
	isDraining atomic.Bool
	// sawUntrustedProxy is set after a request that an untrusted proxy has forwarded.
	sawUntrustedProxy atomic.Bool
}

// New returns a server that does not listen yet. It returns an error if the path of a mount is not
// valid or belongs to a route.
func New(services adapters.Services, options Options) (*Server, error) {
	s := &Server{
		services: services,
		admission: web.Admission{
			Identity:    services.Identity,
			Limiter:     services.Limiter,
			Idempotency: services.Idempotency,
			Tracer:      options.Trace,
		},
		apis:       options.APIs,
		options:    options,
		metrics:    newMetrics(options.Metrics),
		cache:      newResponseCache(),
		causes:     causeLog{lastByCause: map[string]time.Time{}},
		bodyMemory: bodyMemory{limit: cmp.Or(options.BodyMemory, DefaultBodyMemory), largeBodies: map[string]int{}},
	}
	s.app = fiber.New(fiber.Config{
		DisableStartupMessage: true,
		Immutable:             true, // otherwise Fiber reuses the memory of strings that handlers keep
		StrictRouting:         true,
		CaseSensitive:         true,
		ReadTimeout:           headTimeout, // readBody sets a longer one for bodies
		WriteTimeout:          writeTimeout,
		IdleTimeout:           idleTimeout,
		ReadBufferSize:        maxHead,
		Concurrency:           maxConns,
		ErrorHandler:          s.handleError,
	})

	// Fiber runs middleware and routes in the order in which they are added.
	s.app.Use(s.handleRequest)

	if len(options.CORSOrigins) > 0 {
		s.app.Use(s.allowOrigins())
	}

	for _, m := range s.options.Mounts {
		s.app.Use(m.Prefix, s.mountHandler(m))
	}

	s.addAPIRoutes()

	s.app.Use(s.readForm) // for the server routes; the bodies of APIs are read by their handlers

	if err := s.addServerRoutes(); err != nil {
		return nil, err
	}

	if err := s.checkMounts(); err != nil {
		return nil, err
	}

	s.findForms()

	s.app.Server().HeaderReceived = withoutBody

	// Forms are read from the body only: a link must not be able to fill in a form.
	s.app.Server().FormValueFunc = func(c *fasthttp.RequestCtx, name string) []byte { return c.PostArgs().Peek(name) }
	s.app.Server().Handler = mapUnknownMethods(s.app.Server().Handler)

	return s, nil
}

// findForms sets forms and uploads from the server routes, which have been added.
func (s *Server) findForms() {
	for _, r := range s.ServerRoutes() {
		if r.Method != fiber.MethodPost {
			continue
		}

		s.forms = append(s.forms, r.Path)
		if r.Auth == pages.UploadSession {
			s.uploads = append(s.uploads, r.Path)
		}
	}
}

// addAPIRoutes adds the routes of all APIs, below the prefix and the aliases of each API.
func (s *Server) addAPIRoutes() {
	for _, api := range s.apis {
		s.rejectOtherMethods(api)

		for _, r := range api.Routes {
			for _, path := range api.Paths(r) {
				for _, method := range methodsOf(r) {
					s.app.Add(method, path, s.handler(api, r))
				}
			}
		}
	}
}

// Serve accepts connections on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	return s.app.Listener(newListener(l, s.isTrustedProxy, s.options.NewID))
}

// Drain makes the server unready and closes connections after their next response,
// so that clients and load balancers use other instances before Shutdown.
func (s *Server) Drain() { s.isDraining.Store(true) }

// Shutdown stops accepting connections and waits for requests in flight until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error { return s.app.ShutdownWithContext(ctx) }

// apiOf returns the API to which a path belongs: the first one that covers it, or the last one.
func (s *Server) apiOf(path string) web.API {
	for _, api := range s.apis {
		if api.Covers(path) {
			return api
		}
	}

	return s.apis[len(s.apis)-1]
}

// addServerRoutes adds the routes that belong to no API: those for operators, pages, OAuth and the
// documentation.
func (s *Server) addServerRoutes() error {
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return sendJSON(c, 200, map[string]string{"status": "ok"}) })
	s.app.Get("/readyz", s.ready)

	if !s.options.DisableMetrics {
		sendMetrics := adaptor.HTTPHandler(promhttp.HandlerFor(s.options.Metrics, promhttp.HandlerOpts{}))
		s.app.Get("/metrics", func(c *fiber.Ctx) error {
			// Metrics on the public address are for processes on this machine only.
			if !isLocal(c) {
				return fiber.ErrNotFound
			}

			return sendMetrics(c)
		})
	}

	if err := s.addPages(); err != nil {
		return err
	}

	return s.addDocs()
}

// ServerRoute is a route that is in no API: a page, an endpoint of OAuth, or an endpoint
// for operators.
type ServerRoute struct {
	Method, Path string
	// Auth is the kind of authentication: pages.Session or pages.UploadSession for a browser session,
	// "client" for the credentials of an OAuth client, or "none". It is the name of the Fiber route.
	Auth string
}

// ServerRoutes returns the routes that are in no API, sorted by path and method.
func (s *Server) ServerRoutes() []ServerRoute {
	isInAPI := map[string]bool{} // by the path of a route
	for _, api := range s.apis {
		for _, r := range api.Routes {
			for _, path := range api.Paths(r) {
				isInAPI[path] = true
			}
		}
	}

	var routes []ServerRoute

	const withoutMiddleware = true
	for _, r := range s.app.GetRoutes(withoutMiddleware) {
		// Fiber adds a HEAD route to each GET route.
		isImplicit := r.Method == fiber.MethodHead || r.Method == fiber.MethodOptions
		if !isInAPI[r.Path] && !isImplicit {
			routes = append(routes, ServerRoute{Method: r.Method, Path: r.Path, Auth: cmp.Or(r.Name, "none")})
		}
	}

	slices.SortFunc(routes, func(a, b ServerRoute) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})

	return routes
}
