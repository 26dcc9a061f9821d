// Package fiberhttp serves the house over HTTP with Fiber.
package fiberhttp

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/trace"
)

// Options are what the server needs beside the services.
type Options struct {
	PublicURL      string
	TrustedProxies []netip.Prefix
	// BodyMemory bounds the bytes of all request bodies in memory, zero for
	// DefaultBodyMemory.
	BodyMemory int64
	NewID      id.Source
	Log        *slog.Logger
	// MetricsElsewhere keeps /metrics off this server because it has an
	// address of its own.
	MetricsElsewhere bool
	// Metrics are the numbers of the process; the server adds its own.
	Metrics *prometheus.Registry
	// Trace makes a span of each request, nil for none.
	Trace trace.Tracer
	// Surfaces are the route tables. A surface answers what is below its prefix and
	// below that of no surface before it; the last one answers everything else.
	Surfaces []web.Surface
	// Mounts are what transports serve beside them.
	Mounts []Mount
}

// DefaultBodyMemory bounds the bytes of all request bodies in memory.
const DefaultBodyMemory = 256 << 20

// headTimeout is the time for the head of a request.
const headTimeout = 5 * time.Second

// Server is the HTTP server.
type Server struct {
	app       *fiber.App
	services  adapters.Services
	admission web.Admission
	surfaces  []web.Surface
	o         Options
	metrics   *metrics
	cache     *answerCache
	causes    causeLog
	probe     probe
	bodies    bodyMemory
	forms     []string // the paths that readForm reads
	// isDraining is set while the process waits for its clients to leave.
	isDraining atomic.Bool
	// sawProxy is set when a proxy that is not trusted was seen.
	sawProxy atomic.Bool
}

// New builds the server; it does not listen yet.
func New(services adapters.Services, o Options) (*Server, error) {
	s := &Server{services: services, surfaces: o.Surfaces, o: o, metrics: newMetrics(o.Metrics), cache: newAnswerCache()}
	s.admission = web.Admission{Identity: services.Identity, Limiter: services.Limiter, Idempotency: services.Idempotency, Tracer: o.Trace}
	s.bodies.limit, s.bodies.large = cmp.Or(o.BodyMemory, DefaultBodyMemory), map[string]int{}
	s.app = fiber.New(fiber.Config{
		DisableStartupMessage: true,
		Immutable:             true, // Fiber lends request memory; what a handler keeps would change
		StrictRouting:         true,
		CaseSensitive:         true,
		ReadTimeout:           headTimeout,
		WriteTimeout:          writeWithin,
		IdleTimeout:           75 * time.Second,
		ReadBufferSize:        16 << 10,
		Concurrency:           10_000,
		ErrorHandler:          s.answerError,
	})
	s.app.Use(s.frame)
	for _, m := range s.o.Mounts {
		s.app.Use(m.Prefix, s.mounted(m))
	}
	for _, surface := range s.surfaces {
		s.addFixed(surface)
		for _, r := range surface.Routes {
			for _, path := range surface.Paths(r) {
				s.app.Add(r.Method, path, s.handler(surface, r))
				if r.Method == fiber.MethodGet {
					s.app.Add(fiber.MethodHead, path, s.handler(surface, r))
				}
			}
		}
	}
	s.app.Use(s.readForm)
	if err := s.addOwn(); err != nil {
		return nil, err
	}
	if err := s.checkMounts(); err != nil {
		return nil, err
	}
	for _, r := range s.OwnRoutes() {
		if r.Method == fiber.MethodPost {
			s.forms = append(s.forms, r.Path)
		}
	}
	s.app.Server().HeaderReceived = withoutBody
	// A form is what was posted: who made the link to a page may not fill it in.
	s.app.Server().FormValueFunc = func(c *fasthttp.RequestCtx, name string) []byte { return c.PostArgs().Peek(name) }
	s.app.Server().Handler = anyMethod(s.app.Server().Handler)
	return s, nil
}

// Serve answers on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error {
	return s.app.Listener(newListener(l, s.trusted, s.o.NewID))
}

// Drain makes the server unready and closes connections after their next response,
// so that clients and load balancers go elsewhere before Shutdown.
func (s *Server) Drain() { s.isDraining.Store(true) }

// Shutdown stops accepting and gives requests in flight until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error { return s.app.ShutdownWithContext(ctx) }

func (s *Server) surfaceOf(path string) web.Surface {
	for _, surface := range s.surfaces {
		if surface.Under(path) {
			return surface
		}
	}
	return s.surfaces[len(s.surfaces)-1]
}

// addOwn adds what belongs to the server itself.
func (s *Server) addOwn() error {
	s.app.Get("/", func(c *fiber.Ctx) error { return c.Redirect("/docs", fiber.StatusFound) })
	s.app.Get("/healthz", func(c *fiber.Ctx) error { return sendJSON(c, 200, map[string]string{"status": "ok"}) })
	s.app.Get("/readyz", s.ready)
	if !s.o.MetricsElsewhere {
		metrics := adaptor.HTTPHandler(promhttp.HandlerFor(s.o.Metrics, promhttp.HandlerOpts{}))
		s.app.Get("/metrics", func(c *fiber.Ctx) error {
			if !isLocal(c) {
				return fiber.ErrNotFound
			}
			return metrics(c)
		})
	}
	s.addAccountPages()
	s.addUnsubscribe()
	s.addProblems()
	s.addJobPage()
	if err := s.addPages(); err != nil {
		return err
	}
	return s.addDocs()
}
