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
	// CORSOrigins are the origins whose pages may use the portal API. APIs with an
	// Authenticator allow every origin.
	CORSOrigins []string
	// BodyMemory bounds the bytes of all request bodies in memory, zero for
	// DefaultBodyMemory.
	BodyMemory int64
	// NewID returns the ids of requests that have none.
	NewID id.Source
	Log   *slog.Logger
	// DisableMetrics omits /metrics, which is served at another address.
	DisableMetrics bool
	// Metrics is the registry of the process, to which the server adds its metrics.
	Metrics *prometheus.Registry
	// Trace creates a span for each request. Nil disables tracing.
	Trace trace.Tracer
	// APIs are the route tables. A path belongs to the first API that covers it, or to
	// the last API.
	APIs []web.API
	// Site serves the site for clinicians and employers. Without it only pages of jobs and
	// for developers are served.
	Site bool
	// Brand is the name and the appearance of the service on pages.
	Brand pages.Brand
	// EmbedOrigins are the origins whose pages may show the jobs of an employer in a frame.
	EmbedOrigins []string
	// Mounts are the handlers of HTTP transports.
	Mounts []Mount
}

// DefaultBodyMemory bounds the bytes of all request bodies in memory.
const DefaultBodyMemory = 192 << 20

// headTimeout is the time for the head of a request.
const headTimeout = 5 * time.Second

// Server is the HTTP server.
type Server struct {
	app        *fiber.App
	services   adapters.Services
	admission  web.Admission
	apis       []web.API
	options    Options
	metrics    *metrics
	cache      *responseCache
	causes     causeLog
	probe      probe
	bodyMemory bodyMemory
	forms      []string // the paths whose forms readForm reads
	uploads    []string // the paths whose forms readUpload reads
	renderer   *pages.Renderer
	// isDraining is set while the process waits for clients to use other instances.
	isDraining atomic.Bool
	// sawUntrustedProxy is set after a request of an untrusted proxy.
	sawUntrustedProxy atomic.Bool
}

// New returns a server that does not listen yet.
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
		// Bodies have longer timeouts, which readBody sets.
		ReadTimeout:    headTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    75 * time.Second, // above that of common load balancers (60 s), which must close first
		ReadBufferSize: 16 << 10,         // the maximum size of a head; larger ones are a 431
		Concurrency:    10_000,
		ErrorHandler:   s.handleError,
	})
	s.app.Use(s.handleRequest)

	if len(options.CORSOrigins) > 0 {
		s.app.Use(s.allowOrigins())
	}

	for _, m := range s.options.Mounts {
		s.app.Use(m.Prefix, s.mountHandler(m))
	}

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

	s.app.Use(s.readForm)

	if err := s.addServerRoutes(); err != nil {
		return nil, err
	}

	if err := s.checkMounts(); err != nil {
		return nil, err
	}

	for _, r := range s.ServerRoutes() {
		if r.Method == fiber.MethodPost {
			s.forms = append(s.forms, r.Path)
			if r.Auth == pages.UploadSession {
				s.uploads = append(s.uploads, r.Path)
			}
		}
	}

	s.app.Server().HeaderReceived = withoutBody

	// Forms are read from the body only: a link must not be able to fill in a form.
	s.app.Server().FormValueFunc = func(c *fasthttp.RequestCtx, name string) []byte { return c.PostArgs().Peek(name) }
	s.app.Server().Handler = mapUnknownMethods(s.app.Server().Handler)

	return s, nil
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

// apiOf returns the API to which a path belongs, see Options.APIs.
func (s *Server) apiOf(path string) web.API {
	for _, api := range s.apis {
		if api.Covers(path) {
			return api
		}
	}

	return s.apis[len(s.apis)-1]
}

// addServerRoutes adds the routes that are in no API.
func (s *Server) addServerRoutes() error {
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return sendJSON(c, 200, map[string]string{"status": "ok"}) })
	s.app.Get("/readyz", s.ready)

	if !s.options.DisableMetrics {
		metrics := adaptor.HTTPHandler(promhttp.HandlerFor(s.options.Metrics, promhttp.HandlerOpts{}))
		s.app.Get("/metrics", func(c *fiber.Ctx) error {
			if !isLocal(c) {
				return fiber.ErrNotFound
			}

			return metrics(c)
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
	// Auth is the kind of authentication, from the name of the route: pages.Session,
	// pages.UploadSession, "client" or "none".
	Auth string
}

// ServerRoutes returns the routes that are in no API, sorted by path and method.
func (s *Server) ServerRoutes() []ServerRoute {
	isInAPI := map[string]bool{} // by path
	for _, api := range s.apis {
		for _, r := range api.Routes {
			for _, path := range api.Paths(r) {
				isInAPI[path] = true
			}
		}
	}

	var routes []ServerRoute
	for _, r := range s.app.GetRoutes(true) {
		if !isInAPI[r.Path] && r.Method != fiber.MethodHead && r.Method != fiber.MethodOptions {
			routes = append(routes, ServerRoute{Method: r.Method, Path: r.Path, Auth: cmp.Or(r.Name, "none")})
		}
	}

	slices.SortFunc(routes, func(a, b ServerRoute) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})

	return routes
}
