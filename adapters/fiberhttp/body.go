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

// fasthttp reads only the heads of requests: the request line and the header section. This file
// reads the bodies, after the checks of the route, so that rejected requests use no memory.

const (
	// bodyTimeout is the time for a body of a route that accepts up to web.DefaultBody.
	bodyTimeout = 15 * time.Second
	// largeBodyTimeout is the time for a body of a route that accepts more.
	largeBodyTimeout = time.Minute
	// initialBuffer is the capacity of a body's buffer before it grows.
	initialBuffer = 4 << 10
	// maxFormBody is the maximum size of a form without files.
	maxFormBody = 64 << 10
	// maxTrailer bounds the trailer section of a chunked body: the lines after its last chunk.
	maxTrailer = 4 << 10
)

// framing describes how the body of a request is delimited (RFC 9112 §6): by its length, or by
// chunks. It also records whether the body has been read, and which memory it uses.
type framing struct {
	length    int64 // value of Content-Length; 0 for a chunked body
	isChunked bool  // the body consists of chunks, and ends with one of length 0
	expects   bool  // the client expects a response 100 Continue before it sends the body
	isUnread  bool  // the body, or a part of it, is still to be read from the connection
	usage     bodyUsage
}

// parseFraming reads the framing from the header section as the client sent it. It reports false
// for a header section that two parsers may understand differently, because a proxy and this server
// could then disagree about where the request ends (RFC 9112 §5.1, §5.2 and §6.1):
//
//   - a name that is not a token, which includes folded lines, because they begin with a space;
//   - a Content-Length beside a Transfer-Encoding;
//   - a transfer coding other than chunked (fasthttp would accept identity).
//
// fasthttp has already checked the values of the other headers.
func parseFraming(header []byte) (f *framing, isClear bool) {
	f = &framing{}

	hasLength := false
	for len(header) > 0 {
		var line []byte
		line, header, _ = bytes.Cut(header, []byte("\n"))

		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			continue // the blank line at the end
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

			f.length = n
			hasLength = true
		case bytes.EqualFold(name, []byte(fiber.HeaderTransferEncoding)):
			if !bytes.EqualFold(bytes.TrimSpace(value), []byte("chunked")) {
				return nil, false
			}

			f.isChunked = true
		case bytes.EqualFold(name, []byte(fiber.HeaderExpect)):
			f.expects = bytes.EqualFold(bytes.TrimSpace(value), []byte("100-continue"))
		}
	}

	f.isUnread = f.isChunked || f.length > 0
	hasBoth := f.isChunked && hasLength

	return f, !hasBoth
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
// reads it later. For this it changes the parsed headers, so that fasthttp sees a request of
// length 0 that does not wait for 100 Continue. RawHeaders still returns the original headers. fasthttp
// calls withoutBody as its HeaderReceived hook, whose result could change limits for the request.
func withoutBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	const chunkedLength = -1 // the length that fasthttp reports for a chunked body

	length := h.ContentLength()
	if length > 0 || length == chunkedLength {
		h.SetContentLength(0)
	}

	h.Del(fiber.HeaderExpect)

	return fasthttp.RequestConfig{}
}

// readBody reads the body of the request, of at most limit bytes, and makes it
// available as Request().Body(). It does nothing if the body was read before.
//
// client is the id of the user or the address of a guest. The number of large bodies that a client
// sends at the same time is limited.
func (s *Server) readBody(c *fiber.Ctx, client string, limit int) error {
	f := stateOf(c).framing
	if !f.isUnread {
		return nil
	}

	if f.length > int64(limit) {
		return web.ErrTooLarge
	}

	peer, ok := c.Context().Conn().(*conn)
	if !ok {
		return fault.ErrInternal // cannot happen: the listener wraps every connection in a conn
	}

	f.usage.class = bodyClassOf(limit) // how much memory the body may use, by the limit of its route

	// The length of a chunked body is not known in advance.
	mayBeLarge := f.length > web.DefaultBody || f.isChunked && limit > web.DefaultBody
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

// readForm is the middleware that reads the body for routes that belong to no API: the
// pages and the endpoints of OAuth, whose handlers read forms.
func (s *Server) readForm(c *fiber.Ctx) error {
	hasBody := stateOf(c).framing.isUnread
	isEncoded := len(c.Request().Header.PeekAll(fiber.HeaderContentEncoding)) > 0

	if !hasBody || isEncoded {
		return c.Next() // an encoded body stays unread: fasthttp would decompress it without a limit
	}

	matches := func(pattern string) bool { return fiber.RoutePatternMatch(c.Path(), pattern) }

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
		return c.Next() // the body stays unread: the handler redirects to the sign-in page
	}

	if err != nil {
		return err
	}

	err = s.readBody(c, viewer.Actor().UserID, pages.MaxUploadBody)
	if errors.Is(err, web.ErrTooLarge) {
		pages.MarkUploadTooLarge(c) // the handler shows the form with a message
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

// receive reads a body of at most limit bytes from the connection. The buffer grows with the
// received data, so that a client cannot allocate memory by announcing a large body.
func (s *Server) receive(peer *conn, f *framing, limit int) ([]byte, error) {
	r := io.LimitReader(peer.buffered, f.length)
	if f.isChunked {
		r = httputil.NewChunkedReader(peer.buffered)
	}

	var body []byte
	for {
		isFull := len(body) == cap(body)
		if isFull {
			capacity := nextCapacity(cap(body), f, limit)
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
		case !f.isChunked && int64(len(body)) == f.length:
			return body, nil
		case errors.Is(err, io.EOF) && f.isChunked:
			return body, readTrailer(peer)
		case err != nil:
			return nil, readFault(err)
		}
	}
}

// nextCapacity returns the capacity of a body's buffer after the current one: twice as much, but
// not more than the body can have. A chunked body has no known length. Its buffer has place for
// one byte over the limit, which shows that the body is too large.
func nextCapacity(current int, f *framing, limit int) int {
	maxCapacity := limit + 1
	if !f.isChunked {
		maxCapacity = int(f.length) // readBody has checked that it is within the limit
	}

	return min(max(initialBuffer, 2*current), maxCapacity)
}

// readTrailer reads the lines after the last chunk of a body, up to the blank line. Their fields are
// ignored.
func readTrailer(peer *conn) error {
	for read := 0; read < maxTrailer; {
		line, err := peer.buffered.ReadSlice('\n')
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

// readFault returns the error of the response for an error of the connection: a timeout, or a
// malformed body.
func readFault(err error) error {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return web.ErrRequestTimeout.WithCause(err)
	}

	return web.ErrMalformed.WithCause(err)
}

// finishBody ends the accounting of the request's body after the response.
//
// A body that was not read is still in the connection, before the next request. If all of it has
// arrived, finishBody discards it, and the connection can serve the next request. Otherwise the
// connection closes after the response.
func (s *Server) finishBody(c *fiber.Ctx) {
	f := stateOf(c).framing
	if f == nil {
		return // the header section was rejected, and the connection closes
	}

	s.bodyMemory.release(&f.usage)

	if !f.isUnread {
		return
	}

	peer, ok := c.Context().Conn().(*conn)

	// The end of a chunked body is not known, and a client that expects 100 Continue has not sent its body.
	//
	// If all of a body is in the buffer of the connection, no part of it was read before: initialBuffer is not smaller
	// than readBufferSize, so that reading such a body fails only at its beginning, or when the buffer is empty.
	hasKnownEnd := ok && !f.isChunked && !f.expects

	hasArrived := hasKnownEnd && f.length <= int64(peer.buffered.Buffered())
	if hasArrived {
		_, err := peer.buffered.Discard(int(f.length))
		f.isUnread = err != nil
		return
	}

	// Before the connection is closed, what arrives of the body is discarded: unread data would make the
	// operating system reset the connection, and the client could lose the response.
	c.Response().SetConnectionClose()

	if ok {
		peer.mustDiscard.Store(true)
	}
}
