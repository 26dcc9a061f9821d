package fiberhttp

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of the server. The label for the route has its template, such as
// /api/listings/:id, so that labels never contain ids or addresses.
type metrics struct {
	requests    *prometheus.CounterVec   // by method, route and status
	seconds     *prometheus.HistogramVec // by method and route
	unavailable *prometheus.CounterVec   // responses 503 by cause
}

// newMetrics adds the metrics of the server to the registry.
func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "locum_http_requests_total", Help: "Requests."},
			[]string{"method", "route", "status"},
		),
		seconds: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name:    "locum_http_request_seconds",
				Help:    "Time from the head of the request to the response.",
				Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
			},
			[]string{"method", "route"},
		),
		unavailable: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "locum_unavailable_total", Help: "Responses with status 503 by cause."},
			[]string{"cause"},
		),
	}
	registry.MustRegister(m.requests, m.seconds, m.unavailable)

	return m
}

// quietRoutes are the routes that monitoring requests every few seconds. They are logged at
// debug level.
var quietRoutes = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// observe counts and logs a request after its response. Requests for which no route exists have
// the label "unknown".
func (s *Server) observe(c *fiber.Ctx, requestID string, took time.Duration) {
	route := c.Route().Path
	status := c.Response().StatusCode()

	// For a path without a route, Fiber reports the route "/" of the middleware, or none.
	isMiddleware := route == "/" && c.Path() != "/"
	isMissing := route == "" && status == fiber.StatusNotFound

	if isMiddleware || isMissing {
		route = "unknown"
	}

	method := methodLabel(c.Method())
	s.metrics.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	s.metrics.seconds.WithLabelValues(method, route).Observe(took.Seconds())

	level := slog.LevelInfo
	switch {
	case status >= 500 && route == "/readyz" && s.isDraining.Load(): // expected during the shutdown
	case status >= 500:
		level = slog.LevelError
	case quietRoutes[route]:
		level = slog.LevelDebug
	}

	attrs := []slog.Attr{
		slog.String("request_id", requestID), slog.String("method", c.Method()), slog.String("route", route),
		slog.Int("status", status), slog.Float64("ms", float64(took.Microseconds())/1000),
	}
	if actor := stateOf(c).actor; !actor.Guest() {
		attrs = append(attrs, slog.String("actor", actor.UserID))
		if actor.OrganizationID != "" {
			attrs = append(attrs, slog.String("organization", actor.OrganizationID))
		}
	}

	s.options.Log.LogAttrs(c.UserContext(), level, "request", attrs...)
}

// methodLabel returns the method as the label of a metric. It is "other" for unknown methods, which
// clients could otherwise use to create any number of labels.
func methodLabel(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	}

	return "other"
}

// An adapter is the implementation of a dependency, such as the database or the mail server.

const (
	// probeTTL is how long the result of a readiness check is reused. A check writes to the
	// database, and many monitors may request /readyz.
	probeTTL = time.Second
	// probeTimeout is the time for a readiness check.
	probeTimeout = time.Second
)

// probe is the result of the latest readiness check.
type probe struct {
	mu        sync.Mutex
	checkedAt time.Time
	status    int               // of the response
	states    map[string]string // of the adapters by name
}

// ready handles GET /readyz: whether the server is ready, and the state of each adapter by name.
func (s *Server) ready(c *fiber.Ctx) error {
	p := &s.probe
	p.mu.Lock()
	defer p.mu.Unlock()

	if time.Since(p.checkedAt) >= probeTTL {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()

		p.status, p.states = s.checkAdapters(ctx)
		p.checkedAt = time.Now()
	}

	// Add the states of the server itself, which can change between two checks.
	status, states := p.status, maps.Clone(p.states)
	if s.hasUntrustedProxy() {
		states["trusted_proxies"] = "degraded"
	}

	if s.isDraining.Load() {
		status = fiber.StatusServiceUnavailable
		states["server"] = "stopping"
	}

	return sendJSON(c, status, map[string]any{"ready": status == fiber.StatusOK, "adapters": states})
}

// checkAdapters returns the state of each adapter by name: ok, degraded or down. An adapter is
// degraded, not down, if the service works without it. The status is 503 if one is down. Failed
// checks are logged.
func (s *Server) checkAdapters(ctx context.Context) (status int, states map[string]string) {
	status, states = fiber.StatusOK, map[string]string{}
	for name, health := range s.services.Health(ctx) {
		switch {
		case health.Err == nil:
			states[name] = "ok"
			continue
		case health.Degraded:
			states[name] = "degraded"
		default:
			status = fiber.StatusServiceUnavailable
			states[name] = "down"
		}

		if s.causes.allows("readiness: "+name, time.Now()) {
			s.options.Log.Warn("readiness check failed", "adapter", name, "state", states[name], "error", health.Err)
		}
	}

	return status, states
}
