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

// metrics are the metrics of the server. Labels have route templates, never ids or
// addresses.
type metrics struct {
	requests    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	unavailable *prometheus.CounterVec
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

	s.metrics.requests.WithLabelValues(knownMethod(c.Method()), route, strconv.Itoa(status)).Inc()
	s.metrics.seconds.WithLabelValues(knownMethod(c.Method()), route).Observe(took.Seconds())

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

// knownMethod returns the method as a label, "other" for unknown ones.
func knownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	}

	return "other"
}

// probe is the latest readiness check. Its result is reused for a second, because a check
// writes to the database.
type probe struct {
	mu        sync.Mutex
	checkedAt time.Time
	status    int
	checks    map[string]string
}

// ready handles GET /readyz: the state of each adapter by name.
func (s *Server) ready(c *fiber.Ctx) error {
	p := &s.probe
	p.mu.Lock()
	defer p.mu.Unlock()

	if time.Since(p.checkedAt) >= time.Second {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()

		p.status, p.checks = s.check(ctx)
		p.checkedAt = time.Now()
	}

	status, checks := p.status, maps.Clone(p.checks)
	if s.hasUntrustedProxy() {
		checks["trusted_proxies"] = "degraded"
	}

	if s.isDraining.Load() {
		status = fiber.StatusServiceUnavailable
		checks["server"] = "stopping"
	}

	return sendJSON(c, status, map[string]any{"ready": status == fiber.StatusOK, "adapters": checks})
}

// check returns the state of each adapter by name: ok, degraded or down. The status is 503 if
// one is down.
func (s *Server) check(ctx context.Context) (status int, checks map[string]string) {
	status, checks = fiber.StatusOK, map[string]string{}
	for name, health := range s.services.Health(ctx) {
		switch {
		case health.Err == nil:
			checks[name] = "ok"
			continue
		case health.Degraded:
			checks[name] = "degraded"
		default:
			status = fiber.StatusServiceUnavailable
			checks[name] = "down"
		}

		if s.causes.allows("readiness: "+name, time.Now()) {
			s.options.Log.Warn("readiness check failed", "adapter", name, "state", checks[name], "error", health.Err)
		}
	}

	return status, checks
}
