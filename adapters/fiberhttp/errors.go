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

// A fault is an error with a kind, a code and a message for the client. A fault of the kinds
// Internal (status 500) and Unavailable (503) also has a cause, which clients do not see.

// handleError sends the response to a request that failed. It also handles the errors of
// fasthttp, such as a header section over the limit, for which handleRequest is not called.
func (s *Server) handleError(c *fiber.Ctx, err error) error {
	isRejectedByFasthttp := stateOf(c) == nil
	if isRejectedByFasthttp {
		newState(c)
		s.setSecurityHeaders(c)
		c.Set(fiber.HeaderXRequestID, s.options.NewID())
	}

	s.reportFault(err, c.GetRespHeader(fiber.HeaderXRequestID), c.Method(), c.Path())

	// A request that was rejected before its authentication is authenticated now, because all
	// responses of an API have the headers of its Authenticator. The error of the authentication is
	// ignored: the response reports why the request was rejected.
	_ = s.authenticateOnce(c)
	if err := s.sendFault(c, faultOf(err)); err != nil {
		return err
	}

	if isRejectedByFasthttp {
		s.finishAuthenticated(c) // otherwise handleRequest calls it
	}

	return nil
}

// sendFault sends the fault as a page to browsers, and in the format of the API otherwise.
func (s *Server) sendFault(c *fiber.Ctx, f *fault.Error) error {
	api := s.apiOf(c.Path())

	response := api.RenderError(f, c.Path(), c.GetRespHeader(fiber.HeaderXRequestID))
	if response.Status == fiber.StatusMethodNotAllowed && api.Authenticator != nil {
		// The router has set Allow from its routes. OPTIONS is missing there, because
		// handlePreflight handles it without a route.
		c.Append(fiber.HeaderAllow, fiber.MethodOptions)
	}

	for name, value := range response.Headers {
		isSpecificChallenge := name == fiber.HeaderWWWAuthenticate && c.GetRespHeader(name) != ""
		if isSpecificChallenge {
			continue // keep the challenge that the Authenticator has set: it is more specific
		}

		c.Set(name, value)
	}

	if response.Status == fiber.StatusNotFound && isPageRequest(c) {
		s.renderer.ExpectPage(c) // no handler of a page has done so
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
	var (
		fiberError   *fiber.Error
		headTooLarge *fasthttp.ErrSmallBuffer // the head of the request exceeds the read buffer
	)

	switch {
	case errors.As(err, &headTooLarge):
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

// logInterval is the time between two log lines with the same cause.
const logInterval = time.Second

// causeLog limits the log lines of each cause to one per logInterval. A cause is a short text such
// as "request: timeout".
type causeLog struct {
	mu sync.Mutex
	// lastByCause has the times of the last log lines. It does not grow without bound, because the
	// set of causes is small and fixed.
	lastByCause map[string]time.Time
}

// allows reports whether the cause may be logged now. The caller must then log it.
func (c *causeLog) allows(cause string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if last, isLogged := c.lastByCause[cause]; isLogged && now.Sub(last) < logInterval {
		return false
	}

	c.lastByCause[cause] = now

	return true
}
