// Package fiberhttp serves the house over HTTP with Fiber.
package fiberhttp

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/developer"
	"github.com/locumhq/locum/adapters/fiberhttp/portal"
	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/trace"
)

// Options are what the server needs beside the services.
type Options struct {
	PublicURL      string
	TrustedProxies []netip.Prefix
	NewID          id.Source
	Log            *slog.Logger
	// MetricsElsewhere keeps /metrics off this server because it has an
	// address of its own.
	MetricsElsewhere bool
	// Metrics are the numbers of the process; the server adds its own.
	Metrics *prometheus.Registry
	// Trace makes a span of each request, nil for none.
	Trace trace.Tracer
	// Extra are more surfaces, for tests of the frame.
	Extra []web.Surface
}

// Server is the HTTP server.
type Server struct {
	app      *fiber.App
	services adapters.Services
	surfaces []web.Surface
	o        Options
	metrics  *metrics
	cache    *answerCache
}

// New builds the server; it does not listen yet.
func New(services adapters.Services, o Options) (*Server, error) {
	if o.Trace == nil {
		o.Trace = trace.Off{}
	}
	s := &Server{services: services, o: o, metrics: newMetrics(o.Metrics), cache: newAnswerCache()}
	// More particular prefixes first: the portal owns what is left.
	s.surfaces = append(slices.Clone(o.Extra), developer.Surface(services, o.PublicURL), portal.Surface(services))
	s.app = fiber.New(fiber.Config{
		DisableStartupMessage: true,
		Immutable:             true, // Fiber lends request memory; what a handler keeps would change
		StrictRouting:         true,
		CaseSensitive:         true,
		ReadTimeout:           15 * time.Second,
		WriteTimeout:          writeWithin,
		IdleTimeout:           75 * time.Second,
		ReadBufferSize:        16 << 10,
		Concurrency:           10_000,
		ErrorHandler:          s.answerError,
	})
	s.app.Use(s.frame)
	for _, surface := range s.surfaces {
		s.addFixed(surface)
		for _, r := range surface.Routes {
			if r.Limit.Max > 0 {
				r.Limit.Name = r.Method + " " + r.Path
			}
			for _, path := range surface.Paths(r) {
				s.app.Add(r.Method, path, s.handler(surface, r))
				if r.Method == fiber.MethodGet {
					s.app.Add(fiber.MethodHead, path, s.handler(surface, r))
				}
			}
		}
	}
	if err := s.addOwn(); err != nil {
		return nil, err
	}
	s.app.Server().HeaderReceived = s.bodyBound()
	// A form is what was posted: who made the link to a page may not fill it in.
	s.app.Server().FormValueFunc = func(c *fasthttp.RequestCtx, name string) []byte { return c.PostArgs().Peek(name) }
	s.app.Server().Handler = anyMethod(s.app.Server().Handler)
	return s, nil
}

// bodyBound says how much of a body is read into memory before its route, or
// anybody's right to send it, is looked at: what the largest route at that path
// takes, and as much again as lets the refusal of a larger one arrive.
func (s *Server) bodyBound() func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
	const slack = 1 << 20
	large := map[string]int{} // by the beginning of the path
	for _, surface := range s.surfaces {
		for _, r := range surface.Routes {
			for _, path := range surface.Paths(r) {
				if prefix, _, _ := strings.Cut(path, ":"); r.BodyLimit() > web.DefaultBody {
					large[prefix] = max(large[prefix], r.BodyLimit())
				}
			}
		}
	}
	return func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		most := web.DefaultBody
		for prefix, size := range large {
			if bytes.HasPrefix(h.RequestURI(), []byte(prefix)) {
				most = max(most, size)
			}
		}
		return fasthttp.RequestConfig{MaxRequestBodySize: most + slack}
	}
}

// Serve answers on the listener until Shutdown.
func (s *Server) Serve(l net.Listener) error { return s.app.Listener(lingerListener{l}) }

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
		s.app.Get("/metrics", adaptor.HTTPHandler(promhttp.HandlerFor(s.o.Metrics, promhttp.HandlerOpts{})))
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
