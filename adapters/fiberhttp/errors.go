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

// handleError renders an error in the format of the API. It also renders the errors of
// fasthttp, which occur before routing.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	if c.Locals(middlewareKey) == nil { // an error of fasthttp
		s.setSecurityHeaders(c)
	}
	if c.GetRespHeader(fiber.HeaderXRequestID) == "" {
		c.Set(fiber.HeaderXRequestID, s.options.NewID())
	}
	f := faultOf(err)
	s.reportFault(err, c.GetRespHeader(fiber.HeaderXRequestID), c.Method(), c.Path())
	_ = s.authenticate(c) // sets the API's headers on requests that fasthttp rejects
	api := s.apiOf(c.Path())
	answer := api.RenderError(f, c.Path(), c.GetRespHeader(fiber.HeaderXRequestID))
	if answer.Status == fiber.StatusMethodNotAllowed && api.Authenticator != nil {
		c.Append(fiber.HeaderAllow, fiber.MethodOptions) // the router does not handle OPTIONS
	}
	if c.GetRespHeader(fiber.HeaderWWWAuthenticate) != "" {
		delete(answer.Headers, fiber.HeaderWWWAuthenticate)
	}
	for name, value := range answer.Headers {
		c.Set(name, value)
	}
	if answer.Status == fiber.StatusNotFound && isPageRequest(c) {
		s.renderer.ExpectPage(c)
	}
	if page, err := pages.RenderError(c, answer.Status, f); page || err != nil {
		return err
	}
	if err := c.Status(answer.Status).Send(answer.Body); err != nil {
		return err
	}
	if c.Locals(middlewareKey) == nil {
		s.finishAuthenticated(c)
	}
	return nil
}

// isPageRequest reports whether a browser requests a page, and not a part of an API.
func isPageRequest(c *fiber.Ctx) bool {
	return c.Method() == fiber.MethodGet && strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML) && !strings.HasPrefix(c.Path(), "/api/")
}

// faultByStatus maps the statuses of Fiber's errors to faults.
var faultByStatus = map[int]*fault.Error{
	fiber.StatusNotFound:                    web.ErrNoRoute,
	fiber.StatusMethodNotAllowed:            web.ErrMethodNotAllowed,
	fiber.StatusRequestTimeout:              web.ErrRequestTimeout,
	fiber.StatusRequestEntityTooLarge:       web.ErrTooLarge,
	fiber.StatusRequestHeaderFieldsTooLarge: web.ErrHeadersTooLarge,
}

func faultOf(err error) *fault.Error {
	var fe *fiber.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		return web.ErrHeadersTooLarge
	case errors.As(err, &fe):
		return cmp.Or(faultByStatus[fe.Code], web.ErrMalformed)
	}
	return web.FaultOf(err)
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
