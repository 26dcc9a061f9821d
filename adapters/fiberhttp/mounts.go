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

// Mount is a net/http handler that serves a path and everything below it, such as the MCP server
// at /mcp. adapters.HTTPTransport documents the requests that the handler gets.
type Mount struct {
	// Prefix is the path, such as /mcp.
	Prefix string
	// Name is the name of the transport, for `locum routes`.
	Name string
	// Handler handles the requests. It must not use a request after it has returned.
	Handler http.Handler
}

// mountTimeout bounds a request to a mount, its body included.
const mountTimeout = 30 * time.Second

// mountPrefix matches literal paths. A path cannot have a pattern such as :id or *, a segment . or
// .., or a slash at its end.
var mountPrefix = regexp.MustCompile(`^(/\.?[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// covers reports whether the mount serves the path.
func (m Mount) covers(path string) bool {
	remainder, hasPrefix := strings.CutPrefix(path, m.Prefix)
	return hasPrefix && (remainder == "" || remainder[0] == '/')
}

// checkMounts returns an error if the path of a mount is not valid, or belongs to a route or
// another mount.
func (s *Server) checkMounts() error {
	for i, m := range s.options.Mounts {
		checkedMounts := s.options.Mounts[:i]
		if err := s.checkMount(m, checkedMounts); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}

	return nil
}

// checkMount returns an error if the path of m is not valid, or belongs to one of the other mounts
// or to a route.
func (s *Server) checkMount(m Mount, others []Mount) error {
	if !mountPrefix.MatchString(m.Prefix) {
		return fmt.Errorf("the path %q is not one like /mcp", m.Prefix)
	}

	for _, other := range others {
		if m.covers(other.Prefix) || other.covers(m.Prefix) {
			return fmt.Errorf("the path %s overlaps %s of %s", m.Prefix, other.Prefix, other.Name)
		}
	}

	for _, api := range s.apis {
		// An API with an Authenticator authenticates all requests below its prefix, so the requests of
		// the mount would need credentials of that API.
		if api.Authenticator != nil && api.Covers(m.Prefix) {
			return fmt.Errorf("the path %s is below %s", m.Prefix, api.Prefix)
		}
	}

	const withoutMiddleware = true
	for _, r := range s.app.GetRoutes(withoutMiddleware) {
		if m.covers(r.Path) || fiber.RoutePatternMatch(m.Prefix, r.Path) {
			return fmt.Errorf("the path %s overlaps the route %s %s", m.Prefix, r.Method, r.Path)
		}
	}

	return nil
}

// mountHandler returns the Fiber handler that passes requests to a mount.
//
// The handler of a mount reports the causes of its errors 500 and 503 by web.ReportFault, and the
// server logs and counts them. For a 503 without a report, the name of the mount is the cause.
func (s *Server) mountHandler(m Mount) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if !m.covers(c.Path()) {
			return c.Next() // Fiber also matches /mcp-other with the prefix /mcp
		}

		ctx, cancel := context.WithTimeout(context.Background(), mountTimeout)
		defer cancel()

		requestID := c.GetRespHeader(fiber.HeaderXRequestID)
		method := c.Method()
		path := c.Path()

		var isReported atomic.Bool

		ctx = web.WithFaultReport(ctx, func(err error) {
			isReported.Store(true)
			s.reportFault(err, requestID, method, path)
		})

		request, err := s.mountRequest(ctx, c)
		if err != nil {
			return err
		}

		response := &mountResponse{header: http.Header{}}
		m.Handler.ServeHTTP(response, request)

		_ = request.Body.Close() // never fails

		if response.status == http.StatusServiceUnavailable && !isReported.Load() {
			s.reportFault(fault.ErrUnavailable.WithReason(m.Name), requestID, method, path)
		}

		return response.send(c)
	}
}

// mountRequest returns the request as a request of net/http. Its values are copies, because the
// server reuses the memory of a request. Its body is read from the connection when the handler
// reads it.
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

	r.Header.Del(fiber.HeaderHost) // net/http has it in Request.Host only
	r.Header.Set(fiber.HeaderXRequestID, c.GetRespHeader(fiber.HeaderXRequestID))

	// withoutBody has set Content-Length to 0. The framing has the length that the client sent.
	r.Header.Del(fiber.HeaderContentLength)

	if f := stateOf(c).framing; f.isUnread {
		r.ContentLength = f.length
		if f.isChunked {
			r.ContentLength = -1 // unknown, in net/http
		}

		r.Body = &mountBody{read: func() ([]byte, error) {
			err := s.readBody(c, client, web.DefaultBody)
			return c.Request().Body(), err
		}}
	}

	return r.WithContext(ctx), nil
}

// mountBody is a request body that is read from the connection on the first Read, so that
// the handler can authenticate the client before.
type mountBody struct {
	read    func() ([]byte, error) // reads the whole body from the connection
	content *bytes.Reader          // the body, nil before the first Read
	err     error                  // the error of all further reads: read has failed, or Close was called
}

// Read reads the whole body on the first call, and then returns its bytes. The error of a body
// over the limit is also a *http.MaxBytesError, which handlers of net/http expect.
func (b *mountBody) Read(p []byte) (int, error) {
	isFirstRead := b.content == nil && b.err == nil
	if isFirstRead {
		var content []byte

		content, b.err = b.read()
		if errors.Is(b.err, web.ErrTooLarge) {
			b.err = errors.Join(b.err, &http.MaxBytesError{Limit: web.DefaultBody})
		}

		b.content = bytes.NewReader(content)
	}

	if b.err != nil {
		return 0, b.err
	}

	return b.content.Read(p)
}

// Close implements io.Closer. Later reads fail.
func (b *mountBody) Close() error {
	b.err = errors.Join(b.err, io.ErrClosedPipe)
	return nil
}

// mountResponse is the http.ResponseWriter of a mount. It buffers the response, which is sent when
// the handler has returned.
type mountResponse struct {
	header http.Header
	status int // 0 until the handler writes a status or a body
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *mountResponse) Header() http.Header { return r.header }

// WriteHeader sets the status of the response. As in net/http, only the first call has an effect.
// Informational statuses (1xx) are ignored, because the response is sent as a whole.
func (r *mountResponse) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
}

// Write appends to the body. The status is 200 unless the handler has set another one before.
func (r *mountResponse) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// framingHeaders are the headers of responses that the server writes itself.
var framingHeaders = []string{fiber.HeaderConnection, fiber.HeaderContentLength, fiber.HeaderTransferEncoding}

// send copies the buffered response to the response of Fiber. Its headers replace those that the
// server has set before, such as Cache-Control. A body without a Content-Type gets the one that
// net/http would detect.
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
