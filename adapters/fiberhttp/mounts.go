package fiberhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// Mount is a handler for a path and everything below it. adapters.HTTPTransport documents
// its requests.
type Mount struct {
	// Prefix is the path, such as /mcp.
	Prefix string
	// Name is the name of the transport, for `locum routes`.
	Name    string
	Handler http.Handler // it may use the request until it returns
}

// mountTimeout bounds a request to a mount, its body included.
const mountTimeout = 30 * time.Second

// mountPrefix matches paths without patterns, dot segments and a trailing slash.
var mountPrefix = regexp.MustCompile(`^(/\.?[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// covers reports whether the mount serves the path.
func (m Mount) covers(path string) bool {
	remainder, hasPrefix := strings.CutPrefix(path, m.Prefix)
	return hasPrefix && (remainder == "" || remainder[0] == '/')
}

// checkMounts returns an error if a route or another mount serves the path of a mount.
func (s *Server) checkMounts() error {
	for i, m := range s.options.Mounts {
		if err := s.checkMount(m, s.options.Mounts[:i]); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}

	return nil
}

// checkMount returns an error if the path of m is not valid, or belongs to another mount or a
// route.
func (s *Server) checkMount(m Mount, before []Mount) error {
	if !mountPrefix.MatchString(m.Prefix) {
		return fmt.Errorf("the path %q is not one like /mcp", m.Prefix)
	}

	for _, other := range before {
		if m.covers(other.Prefix) || other.covers(m.Prefix) {
			return fmt.Errorf("the path %s overlaps %s of %s", m.Prefix, other.Prefix, other.Name)
		}
	}

	for _, api := range s.apis {
		if api.Authenticator != nil && api.Covers(m.Prefix) { // handleRequest would authenticate its requests
			return fmt.Errorf("the path %s is below %s", m.Prefix, api.Prefix)
		}
	}

	for _, r := range s.app.GetRoutes(true) {
		if m.covers(r.Path) || fiber.RoutePatternMatch(m.Prefix, r.Path) {
			return fmt.Errorf("the path %s overlaps the route %s %s", m.Prefix, r.Method, r.Path)
		}
	}

	return nil
}

// mountHandler returns the handler of the requests of a mount. The mount reports the causes of
// errors by web.ReportFault. For a 503 that it does not report, the cause is the name of the mount.
func (s *Server) mountHandler(m Mount) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if !m.covers(c.Path()) {
			return c.Next()
		}

		ctx, cancel := context.WithTimeout(context.Background(), mountTimeout)
		defer cancel()

		id := c.GetRespHeader(fiber.HeaderXRequestID)
		method := c.Method()
		path := c.Path()
		var reported atomic.Bool
		ctx = web.WithFaultReport(ctx, func(err error) {
			reported.Store(true)
			s.reportFault(err, id, method, path)
		})

		request, err := s.mountRequest(ctx, c)
		if err != nil {
			return err
		}

		response := &mountResponse{header: http.Header{}}
		m.Handler.ServeHTTP(response, request)

		_ = request.Body.Close() // never fails

		if response.status == http.StatusServiceUnavailable && !reported.Load() {
			s.reportFault(fault.ErrUnavailable.WithReason(m.Name), id, method, path)
		}

		return response.send(c)
	}
}

// mountRequest copies the request, since the server reuses its memory.
func (s *Server) mountRequest(ctx context.Context, c *fiber.Ctx) (*http.Request, error) {
	target, err := url.ParseRequestURI(c.OriginalURL())
	if err != nil {
		return nil, web.ErrMalformed.WithCause(err)
	}

	client := s.clientIP(c)

	r := &http.Request{
		Method:     c.Method(),
		URL:        target,
		RequestURI: c.OriginalURL(),
		Host:       string(c.Request().Host()),
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     http.Header{},
		RemoteAddr: net.JoinHostPort(client, "0"), // behind a proxy, the port of the client is not known
		Body:       http.NoBody,
	}
	for name, value := range c.Request().Header.All() {
		r.Header.Add(string(name), string(value))
	}

	r.Header.Del(fiber.HeaderHost)
	r.Header.Set(fiber.HeaderXRequestID, c.GetRespHeader(fiber.HeaderXRequestID))
	r.Header.Del(fiber.HeaderContentLength) // it is 0 until the body is read; see Server.withoutBody

	if f := stateOf(c).framing; f.isUnread {
		r.ContentLength = f.length
		if f.chunked {
			r.ContentLength = -1
		}

		r.Body = &mountBody{read: func() ([]byte, error) {
			err := s.readBody(c, client, web.DefaultBody)
			return c.Request().Body(), err
		}}
	}

	return r.WithContext(ctx), nil
}

// mountBody is a request body that is read from the connection on the first Read, so that
// the handler can authenticate before.
type mountBody struct {
	read func() ([]byte, error)
	body *bytes.Reader
	err  error
}

// Read implements io.Reader.
func (b *mountBody) Read(p []byte) (int, error) {
	if b.body == nil && b.err == nil {
		var content []byte

		content, b.err = b.read()
		if errors.Is(b.err, web.ErrTooLarge) {
			b.err = errors.Join(b.err, &http.MaxBytesError{Limit: web.DefaultBody})
		}

		b.body = bytes.NewReader(content)
	}

	if b.err != nil {
		return 0, b.err
	}

	return b.body.Read(p)
}

// Close implements io.Closer. Later reads fail.
func (b *mountBody) Close() error {
	b.err = errors.Join(b.err, io.ErrClosedPipe)
	return nil
}

// mountResponse buffers a response. It is sent when the handler returns.
type mountResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *mountResponse) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter. The first status counts. Informational ones (1xx)
// are dropped, because the response is sent as a whole.
func (r *mountResponse) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *mountResponse) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// framingHeaders are the headers of responses that the server writes itself.
var framingHeaders = []string{fiber.HeaderConnection, fiber.HeaderContentLength, fiber.HeaderTransferEncoding}

// send copies the recorded response to the response of Fiber. Headers with the same name are replaced.
func (r *mountResponse) send(c *fiber.Ctx) error {
	if r.body.Len() > 0 && r.header.Get(fiber.HeaderContentType) == "" {
		r.header.Set(fiber.HeaderContentType, http.DetectContentType(r.body.Bytes()))
	}

	for name, values := range r.header {
		if slices.Contains(framingHeaders, name) {
			continue
		}

		c.Response().Header.Del(name)

		for _, value := range values {
			c.Response().Header.Add(name, value)
		}
	}

	c.Status(max(r.status, http.StatusOK)) // a handler that writes nothing has succeeded

	return c.Send(r.body.Bytes())
}
