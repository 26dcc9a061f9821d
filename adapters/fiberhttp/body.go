package fiberhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

const (
	// bodyTimeout is the time for a body of up to web.DefaultBody.
	bodyTimeout = 15 * time.Second
	// largeBodyTimeout is the time for a body over web.DefaultBody.
	largeBodyTimeout = time.Minute
	// initialBuffer is the capacity of a body's buffer before it grows.
	initialBuffer = 4 << 10
	// maxFormBody is the maximum size of a form without files.
	maxFormBody = 64 << 10
	// maxTrailer bounds the trailer section of a chunked body.
	maxTrailer = 4 << 10
)

// framing describes how the body of a request is delimited (RFC 9112 §6): by its length, or by chunks. It also says
// whether the body has been read, and which memory it uses.
type framing struct {
	length   int64 // value of Content-Length
	chunked  bool  // the body has chunks, and ends with one of length 0
	expects  bool  // the client waits for 100 Continue
	isUnread bool  // bytes of the body are still in the connection
	usage    bodyUsage
}

// parseFraming reads the framing from the header section as the client sent it. It reports false
// for a header section that two parsers may read differently (RFC 9112 §5.1, §5.2 and §6.1):
//
//   - a name that is not a token, which includes folded lines, because they begin with a space;
//   - a Content-Length beside a Transfer-Encoding;
//   - a transfer coding other than chunked (fasthttp would accept identity).
//
// fasthttp has checked the other values.
func parseFraming(header []byte) (*framing, bool) {
	f := &framing{}

	hasLength := false
	for len(header) > 0 {
		var line []byte
		line, header, _ = bytes.Cut(header, []byte("\n"))

		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			continue
		}

		name, value, _ := bytes.Cut(line, []byte(":"))
		if !isToken(name) {
			return nil, false
		}

		switch {
		case bytes.EqualFold(name, []byte(fiber.HeaderContentLength)):
			n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil || n < 0 {
				return nil, false
			}

			f.length, hasLength = n, true
		case bytes.EqualFold(name, []byte(fiber.HeaderTransferEncoding)):
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				return nil, false
			}

			f.chunked = true
		case bytes.EqualFold(name, []byte(fiber.HeaderExpect)):
			f.expects = bytes.EqualFold(bytes.TrimSpace(value), []byte("100-continue"))
		}
	}

	f.isUnread = f.chunked || f.length > 0
	isAmbiguous := f.chunked && hasLength

	return f, !isAmbiguous
}

// isToken reports whether a header name is a token (RFC 9110 §5.6.2).
func isToken(name []byte) bool {
	for _, c := range name {
		isDigit := '0' <= c && c <= '9'
		isLetter := 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		isSymbol := strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0

		if !isDigit && !isLetter && !isSymbol {
			return false
		}
	}

	return len(name) > 0
}

// withoutBody makes fasthttp leave the body in the connection, from which readBody
// reads it: fasthttp then sees a request of length 0 that does not wait for 100 Continue.
// RawHeaders still has the original headers.
func withoutBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	const chunked = -1 // the length that fasthttp reports for a chunked body

	length := h.ContentLength()
	if length > 0 || length == chunked {
		h.SetContentLength(0)
	}

	h.Del(fiber.HeaderExpect)

	return fasthttp.RequestConfig{}
}

// readBody reads the body of the request, of at most limit bytes, and makes it
// available as Request().Body(). It does nothing if the body was read before. Large
// bodies are limited per client, which is the id of the user or the address of a guest.
func (s *Server) readBody(c *fiber.Ctx, client string, limit int) error {
	f := stateOf(c).framing
	if !f.isUnread {
		return nil
	}

	if f.length > int64(limit) {
		return web.ErrTooLarge
	}

	peer, ok := c.Context().Conn().(*conn)
	if !ok { // all connections are of the listener that wraps them
		return fault.ErrInternal
	}

	f.usage.class = bodyClassOf(limit)

	mayBeLarge := f.length > web.DefaultBody || f.chunked && limit > web.DefaultBody
	if mayBeLarge && !s.bodyMemory.beginLarge(&f.usage, client) {
		return fault.ErrRateLimit.WithRetryAfter(time.Second)
	}

	if f.expects {
		if _, err := io.WriteString(peer, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return web.ErrMalformed.WithCause(err)
		}
	}

	timeout := bodyTimeout
	if limit > web.DefaultBody {
		timeout = largeBodyTimeout
	}

	if err := peer.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return web.ErrMalformed.WithCause(err)
	}

	body, err := s.receive(peer, f, limit)
	if err != nil {
		return err
	}

	f.isUnread = false

	c.Request().SetBodyRaw(body)

	return nil
}

// readForm is the middleware that reads the body for routes outside of the route tables: the
// pages and the endpoints of OAuth, whose handlers read forms.
func (s *Server) readForm(c *fiber.Ctx) error {
	if len(c.Request().Header.PeekAll(fiber.HeaderContentEncoding)) > 0 {
		return c.Next() // leave the body unread: fasthttp would decompress it without a limit
	}

	matches := func(path string) bool { return fiber.RoutePatternMatch(c.Path(), path) }

	if !stateOf(c).framing.isUnread {
		return c.Next()
	}

	switch {
	case slices.ContainsFunc(s.uploads, matches):
		return s.readUpload(c)
	case slices.ContainsFunc(s.forms, matches):
		if err := s.readBody(c, s.clientIP(c), maxFormBody); err != nil {
			return err
		}
	}

	return c.Next()
}

// readUpload reads the body of a form with files, which only signed-in users may send.
func (s *Server) readUpload(c *fiber.Ctx) error {
	ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
	defer cancel()

	viewer, err := s.renderer.Viewer(ctx, c)
	if fault.KindOf(err) == fault.Unauthenticated {
		return c.Next() // leave the body unread: the handler redirects to the sign-in page
	}

	if err != nil {
		return err
	}

	err = s.readBody(c, viewer.Actor().UserID, pages.MaxUploadBody)
	if errors.Is(err, web.ErrTooLarge) {
		pages.MarkUploadTooLarge(c)
		return c.Next()
	}

	if err != nil {
		return err
	}

	if err := pages.ReadUpload(c); err != nil {
		return err
	}

	return c.Next()
}

// receive reads a body from the connection. The buffer grows with the received data, so that a
// client cannot allocate memory by announcing a large body.
func (s *Server) receive(peer *conn, f *framing, limit int) ([]byte, error) {
	r := io.LimitReader(peer.in, f.length)
	if f.chunked {
		r = httputil.NewChunkedReader(peer.in)
	}

	var body []byte
	for {
		if len(body) == cap(body) {
			// Double the buffer. One byte over the limit shows that a chunked body is too large.
			capacity := min(max(initialBuffer, 2*cap(body)), limit+1)
			if !f.chunked {
				capacity = min(capacity, int(f.length))
			}

			if !s.bodyMemory.acquire(&f.usage, capacity-cap(body)) {
				return nil, fault.ErrUnavailable.WithReason("request bodies: memory limit").WithRetryAfter(time.Second)
			}

			body = append(make([]byte, 0, capacity), body...)
		}

		n, err := r.Read(body[len(body):cap(body)])

		body = body[:len(body)+n]
		switch {
		case len(body) > limit:
			return nil, web.ErrTooLarge
		case !f.chunked && int64(len(body)) == f.length:
			return body, nil
		case errors.Is(err, io.EOF) && f.chunked:
			return body, readTrailer(peer)
		case err != nil:
			return nil, readFault(err)
		}
	}
}

// readTrailer reads the lines after the last chunk up to the blank one. Their
// fields are ignored.
func readTrailer(peer *conn) error {
	for read := 0; read < maxTrailer; {
		line, err := peer.in.ReadSlice('\n')
		if err != nil {
			return readFault(err)
		}

		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return nil
		}

		read += len(line)
	}

	return web.ErrMalformed
}

// readFault returns the fault for an error of the connection: a timeout, or a malformed body.
func readFault(err error) error {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return web.ErrRequestTimeout.WithCause(err)
	}

	return web.ErrMalformed.WithCause(err)
}

// finishBody ends the accounting of the request's body. If the body was not read but has
// arrived already, finishBody discards it, so that the next request can follow on the
// connection. If the rest of the body has yet to arrive, the connection closes after the response.
func (s *Server) finishBody(c *fiber.Ctx) {
	f := stateOf(c).framing
	if f == nil {
		return
	}

	s.bodyMemory.release(&f.usage)

	if !f.isUnread {
		return
	}

	peer, ok := c.Context().Conn().(*conn)

	hasArrived := ok && !f.chunked && !f.expects && f.length <= int64(peer.in.Buffered())
	if hasArrived {
		_, err := peer.in.Discard(int(f.length))
		f.isUnread = err != nil
		return
	}

	c.Response().SetConnectionClose()

	if ok {
		peer.lingers.Store(true)
	}
}
