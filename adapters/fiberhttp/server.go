// Package fiberhttp serves the house over HTTP with Fiber.
package fiberhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
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
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/trace"
	"github.com/locumhq/locum/modules/integrations"
)

// Options are what the server needs beside the services.
type Options struct {
	PublicURL      string
	TrustedProxies []netip.Prefix
	NewID          id.Source
	Log            *slog.Logger
	Version        string
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

// call is what the frame knows of a request in its locals.
const (
	requestIDKey = "locum.request_id"
	framedKey    = "locum.framed"
)

// frame is around every request: it names it, guards it, times it and keeps a
// panic from ending more than it.
func (s *Server) frame(c *fiber.Ctx) (err error) {
	start := time.Now()
	requestID := c.Get(fiber.HeaderXRequestID)
	if !sensibleRequestID(requestID) {
		requestID = s.o.NewID()
	}
	c.Locals(requestIDKey, requestID)
	c.Locals(framedKey, true)
	c.Set(fiber.HeaderXRequestID, requestID)
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	if strings.HasPrefix(s.o.PublicURL, "https:") {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=31536000")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			s.o.Log.Error("panic in a request", "request_id", requestID, "panic", fmt.Sprint(p), "stack", stack())
		}
		if err != nil {
			err = s.answerError(c, err)
		}
		s.left(c)
		s.observe(c, requestID, time.Since(start))
	}()
	if smuggled(c) {
		c.Response().SetConnectionClose()
		return web.ErrMalformed
	}
	if err := s.enter(c); err != nil {
		return err
	}
	if surface := s.surfaceOf(c.Path()); surface.Gate != nil && c.Method() == fiber.MethodOptions {
		return allowed(c, surface)
	}
	return c.Next()
}

// smuggled reports a message whose length two readers may judge differently
// (RFC 9112 §6.1): fasthttp alone would read it by Transfer-Encoding.
func smuggled(c *fiber.Ctx) bool {
	var length, coding bool
	for line := range strings.SplitSeq(string(c.Request().Header.RawHeaders()), "\n") {
		name, _, _ := strings.Cut(line, ":")
		length = length || strings.EqualFold(name, fiber.HeaderContentLength)
		coding = coding || strings.EqualFold(name, fiber.HeaderTransferEncoding)
	}
	return length && coding
}

func sensibleRequestID(s string) bool {
	if len(s) < 8 || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.", r) {
			return false
		}
	}
	return true
}

// handler is the walk of every request of the table: limit by address,
// authenticate, authorize, bind, run, answer.
func (s *Server) handler(surface web.Surface, r web.Route) fiber.Handler {
	timeout := r.Timeout
	if timeout == 0 {
		timeout = web.DefaultTimeout
	}
	status := r.Status
	if status == 0 {
		status = fiber.StatusOK
	}
	return func(c *fiber.Ctx) error {
		err := s.cached(c, r, func() error { return s.walk(c, surface, r, status, timeout) })
		if err == nil {
			fresh(c, surface)
		}
		if err == nil && r.Seen != nil && c.Method() == fiber.MethodGet {
			actor, _ := c.Locals(actorKey).(auth.Actor)
			call := s.callOf(c)
			call.Actor = actor
			r.Seen(call, func(name string) string { return c.Params(name) })
		}
		return err
	}
}

// walk is what a request goes through when its answer is not known already.
func (s *Server) walk(c *fiber.Ctx, surface web.Surface, r web.Route, status int, timeout time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ctx, end := s.o.Trace.Start(ctx, r.Method+" "+r.Path, c.Get("traceparent"))
	defer func() { end(err) }()
	c.SetUserContext(ctx)
	call := s.callOf(c)
	if err := s.take(ctx, r.Limit, c); err != nil {
		return err
	}
	if r.Auth != web.None {
		actor, err := s.authenticate(ctx, c, r)
		if err != nil {
			return err
		}
		call.Actor = actor
		c.Locals(actorKey, actor)
	}
	if r.Scope != "" && !call.Caller.May(r.Scope) {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="locum", error="insufficient_scope", scope="`+string(r.Scope)+`"`)
		return web.ErrScope
	}
	if len(c.Request().Body()) > r.BodyLimit() {
		return web.ErrTooLarge
	}
	if c.Get(fiber.HeaderContentEncoding) != "" {
		return fault.InvalidField("Content-Encoding", "is not supported; send the body as it is")
	}
	return s.once(ctx, c, surface, r, ownerOf(call), func() error {
		out, err := r.Op.Handle(ctx, call, &web.Request{
			Path:   func(name string) string { return c.Params(name) },
			Query:  func(name string) []string { return queryValues(c, name) },
			Header: func(name string) string { return c.Get(name) },
			Cookie: func(name string) string { return c.Cookies(name) },
			Body:   c.Request().Body(),
		})
		if err != nil {
			return err
		}
		if h, ok := out.(interface{ Headers() map[string]string }); ok {
			for name, value := range h.Headers() {
				c.Set(name, value)
			}
		}
		if either, ok := out.(interface{ Answer() any }); ok {
			out = either.Answer()
		}
		if table, ok := out.(web.CSV); ok {
			c.Status(status).Set(fiber.HeaderContentType, csvfile.MediaType)
			c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+table.Name+`"`)
			return c.SendStream(paced{table.Body, c.Context().Conn()}, int(table.Size))
		}
		if file, ok := out.(web.File); ok {
			c.Status(status).Set(fiber.HeaderContentType, file.MediaType)
			c.Set(fiber.HeaderContentDisposition, file.Disposition())
			c.Set(fiber.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")
			return c.SendStream(paced{file.Body, c.Context().Conn()}, int(file.Size))
		}
		if err := sendJSON(c, status, out); err != nil {
			return err
		}
		locate(c, r, c.Response().Body())
		return nil
	})
}

// callOf is what is known of a request before its caller is.
func (s *Server) callOf(c *fiber.Ctx) web.Call {
	call := web.Call{IP: s.clientIP(c), UserAgent: clip(c.Get(fiber.HeaderUserAgent), 512), RequestID: c.GetRespHeader(fiber.HeaderXRequestID), URL: c.OriginalURL()}
	call.Caller, _ = c.Locals(callerKey).(integrations.Caller)
	return call
}

// writeWithin is how long a client may take for an answer, or for the next
// piece of one that is sent as it is read.
const writeWithin = 30 * time.Second

// paced gives every piece of a download a time of its own: one limit for the
// whole would cut off who has a long table and a slow line.
type paced struct {
	io.ReadCloser
	conn net.Conn
}

// Read implements io.Reader.
func (p paced) Read(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return 0, err
	}
	return p.ReadCloser.Read(b)
}

// pieceBytes is how much of a download goes out at once. fasthttp of itself
// sends 4 KiB, and a system call for each is half of the time that a long table
// takes.
const pieceBytes = 64 << 10

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (paced) SupportsBodyWriteTo() bool { return true }

// WriteTo implements io.WriterTo.
func (p paced) WriteTo(w io.Writer) (n int64, err error) {
	piece := make([]byte, pieceBytes)
	for {
		read, err := p.Read(piece)
		if read > 0 {
			written, err := w.Write(piece[:read])
			if n += int64(written); err != nil {
				return n, err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
	}
}

const actorKey = "locum.actor"

func (s *Server) authenticate(ctx context.Context, c *fiber.Ctx, r web.Route) (auth.Actor, error) {
	header := c.Get(fiber.HeaderAuthorization)
	if header == "" {
		if r.Auth == web.Optional {
			return auth.Actor{}, nil
		}
		return auth.Actor{}, fault.ErrUnauthorized
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return auth.Actor{}, fault.ErrUnauthorized
	}
	actor, err := s.services.Identity.Authenticate(ctx, strings.TrimSpace(token))
	if err != nil {
		return auth.Actor{}, err
	}
	switch {
	case r.Who == web.Seeker && !actor.Seeker,
		r.Who == web.Employer && actor.OrganizationID == "",
		r.Who == web.EmployerSide && actor.Role == auth.Jobseeker,
		r.Permission != "" && !actor.May(r.Permission):
		return auth.Actor{}, fault.ErrForbidden
	}
	return actor, nil
}

func queryValues(c *fiber.Ctx, name string) []string {
	raw := c.Context().QueryArgs().PeekMulti(name)
	out := make([]string, len(raw))
	for i, v := range raw {
		out[i] = string(v)
	}
	return out
}

const jsonType = "application/json; charset=utf-8"

func sendJSON(c *fiber.Ctx, status int, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.Status(status).Set(fiber.HeaderContentType, jsonType)
	return c.Send(encoded)
}

// answerError writes the surface's form of an error. It also serves what
// fasthttp itself refuses, before any route.
func (s *Server) answerError(c *fiber.Ctx, err error) error {
	if c.GetRespHeader(fiber.HeaderXRequestID) == "" {
		c.Set(fiber.HeaderXRequestID, s.o.NewID())
	}
	f := s.faultOf(err)
	if errors.Is(err, fiber.ErrRequestEntityTooLarge) { // its body is still on the way
		linger(c)
	}
	if f.Kind == fault.Internal {
		s.o.Log.Error("request failed", "request_id", c.GetRespHeader(fiber.HeaderXRequestID),
			"method", c.Method(), "path", c.Path(), "error", err)
	}
	_ = s.enter(c) // what fasthttp refuses has not come to the gate, and its answer has the same headers
	surface := s.surfaceOf(c.Path())
	status, kind, body := said(c, surface, f)
	if status == fiber.StatusMethodNotAllowed && surface.Gate != nil {
		c.Append(fiber.HeaderAllow, fiber.MethodOptions) // which the router knows nothing of
	}
	if f.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	if status == fiber.StatusUnauthorized && c.GetRespHeader(fiber.HeaderWWWAuthenticate) == "" {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="locum"`)
	}
	if err := sendJSON(c, status, body); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, kind)
	if c.Locals(framedKey) == nil {
		s.left(c)
	}
	return nil
}

func (s *Server) faultOf(err error) *fault.Error {
	var fe *fiber.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return web.ErrTooLarge
	case errors.As(err, &small):
		return web.ErrHeadersTooLarge
	case errors.As(err, &fe):
		switch fe.Code {
		case fiber.StatusNotFound:
			return web.ErrNoRoute
		case fiber.StatusMethodNotAllowed:
			return web.ErrMethodNotAllowed
		case fiber.StatusRequestEntityTooLarge:
			return web.ErrTooLarge
		case fiber.StatusRequestHeaderFieldsTooLarge:
			return web.ErrHeadersTooLarge
		case fiber.StatusRequestTimeout:
			return web.ErrRequestTimeout
		default:
			return web.ErrMalformed
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.ErrUnavailable.WithCause(err).WithRetryAfter(time.Second)
	}
	return fault.Of(err)
}

func (s *Server) surfaceOf(path string) web.Surface {
	for _, surface := range s.surfaces {
		if surface.Under(path) {
			return surface
		}
	}
	return s.surfaces[len(s.surfaces)-1]
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
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

func (s *Server) ready(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	status, checks := fiber.StatusOK, map[string]string{}
	for name, health := range s.services.Health(ctx) {
		switch {
		case health.Err != nil:
			status = fiber.StatusServiceUnavailable
			checks[name] = "down"
			s.o.Log.Warn("not ready", "adapter", name, "error", health.Err)
		case health.Degraded:
			checks[name] = "degraded"
		default:
			checks[name] = "ok"
		}
	}
	return sendJSON(c, status, map[string]any{"ready": status == fiber.StatusOK, "adapters": checks})
}
