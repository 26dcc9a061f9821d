package fiberhttp

import (
	"cmp"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// handleError sends the response to a request that failed. It also handles the errors of
// fasthttp, such as a header section over the limit, which occur before handleRequest.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	isBeforeRouting := stateOf(c) == nil
	if isBeforeRouting {
		newState(c)
		s.setSecurityHeaders(c)
		c.Set(fiber.HeaderXRequestID, s.options.NewID())
	}

	s.reportFault(err, c.GetRespHeader(fiber.HeaderXRequestID), c.Method(), c.Path())

	// Requests that were rejected before authentication get the headers of the API, too. The
	// response reports why they were rejected, so an error of the authentication is ignored.
	_ = s.authenticateOnce(c)
	if err := s.sendFault(c, faultOf(err)); err != nil {
		return err
	}

	if isBeforeRouting {
		s.finishAuthenticated(c)
	}

	return nil
}

// sendFault sends the fault as a page to browsers, and in the format of the API otherwise.
func (s *Server) sendFault(c *fiber.Ctx, f *fault.Error) error {
	api := s.apiOf(c.Path())

	response := api.RenderError(f, c.Path(), c.GetRespHeader(fiber.HeaderXRequestID))
	if response.Status == fiber.StatusMethodNotAllowed && api.Authenticator != nil {
		c.Append(fiber.HeaderAllow, fiber.MethodOptions) // the router does not handle OPTIONS
	}

	for name, value := range response.Headers {
		if name == fiber.HeaderWWWAuthenticate && c.GetRespHeader(name) != "" {
			continue // the Authenticator has set a challenge that says more
		}

		c.Set(name, value)
	}

	if response.Status == fiber.StatusNotFound && isPageRequest(c) {
		s.renderer.ExpectPage(c)
	}

	isPage, err := pages.RenderError(c, response.Status, f)
	if isPage || err != nil {
		return err
	}

	return c.Status(response.Status).Send(response.Body)
}

// isPageRequest reports whether a browser requests a page, and not a part of an API.
func isPageRequest(c *fiber.Ctx) bool {
	acceptsHTML := strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML)
	return c.Method() == fiber.MethodGet && acceptsHTML && !strings.HasPrefix(c.Path(), "/api/")
}

// faultByStatus maps the statuses of Fiber's errors to faults.
var faultByStatus = map[int]*fault.Error{
	fiber.StatusNotFound:                    web.ErrNoRoute,
	fiber.StatusMethodNotAllowed:            web.ErrMethodNotAllowed,
	fiber.StatusRequestTimeout:              web.ErrRequestTimeout,
	fiber.StatusRequestEntityTooLarge:       web.ErrTooLarge,
	fiber.StatusRequestHeaderFieldsTooLarge: web.ErrHeadersTooLarge,
}

// faultOf returns the fault for an error of a handler, of Fiber or of fasthttp.
func faultOf(err error) *fault.Error {
	var fiberError *fiber.Error

	var smallBuffer *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &smallBuffer):
		return web.ErrHeadersTooLarge
	case errors.As(err, &fiberError):
		return cmp.Or(faultByStatus[fiberError.Code], web.ErrMalformed)
	}

	return web.FaultOf(err)
}

// reportFault logs the cause of a 500 or 503, which the response does not contain. It also
// counts 503s by cause.
func (s *Server) reportFault(err error, requestID, method, path string) {
	switch f := faultOf(err); f.Kind {
	case fault.Internal:
		s.options.Log.Error("request failed", "request_id", requestID, "method", method, "path", path, "error", err)
	case fault.Unavailable:
		cause := cmp.Or(f.Reason, "unknown")
		s.metrics.unavailable.WithLabelValues(cause).Inc()

		if s.causes.allows(cause, time.Now()) {
			s.options.Log.Warn("service unavailable", "cause", cause, "error", f.Unwrap())
		}
	}
}

// causeLog limits log lines to one per cause and second.
type causeLog struct {
	mu          sync.Mutex
	lastByCause map[string]time.Time
}

// allows reports whether the cause may be logged now. lastByCause does not grow without
// bound, because the set of causes is small and fixed.
func (c *causeLog) allows(cause string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if last, logged := c.lastByCause[cause]; logged && now.Sub(last) < time.Second {
		return false
	}

	c.lastByCause[cause] = now

	return true
}
