package fiberhttp

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// setSecurityHeaders sets the security headers of every response.
func (s *Server) setSecurityHeaders(c *fiber.Ctx) {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")

	if strings.HasPrefix(s.options.PublicURL, "https:") {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=31536000")
	}
}

// handleRequest is the outermost middleware: it sets the request id and security headers,
// authenticates, recovers panics, and logs and measures the request.
func (s *Server) handleRequest(c *fiber.Ctx) (err error) {
	start := time.Now()

	requestID := c.Get(fiber.HeaderXRequestID)
	if !isValidRequestID(requestID) {
		requestID = s.options.NewID()
	}

	state := newState(c)
	c.Set(fiber.HeaderXRequestID, requestID)
	s.setSecurityHeaders(c)

	// These steps follow every request, even after a panic of a handler. The response to an error
	// is sent first, because the other steps use the final status.
	defer func() {
		if p := recover(); p != nil {
			err = web.PanicError(p)
		}

		if err != nil {
			err = s.handleError(c, err)
		}

		s.finishAuthenticated(c)
		s.finishBody(c)
		s.observe(c, requestID, time.Since(start))
	}()

	framing, isClear := parseFraming(c.Request().Header.RawHeaders())
	if !isClear {
		c.Response().SetConnectionClose() // the end of the body is unknown, and so is the beginning of the next request
		return web.ErrMalformed
	}

	state.framing = framing

	if s.isDraining.Load() {
		c.Response().SetConnectionClose() // the client's next connection reaches another instance
	}

	if err := s.authenticateOnce(c); err != nil {
		return err
	}

	// APIs with an Authenticator allow every origin. Other APIs have the middleware of
	// allowOrigins, which handles preflight requests itself.
	if api := s.apiOf(c.Path()); api.Authenticator != nil && c.Method() == fiber.MethodOptions {
		return handlePreflight(c, api)
	}

	return c.Next()
}

// isValidRequestID reports whether the request ID that a client has sent can be written to logs and
// pages: it has 8 to 64 letters, digits, hyphens, underscores and dots.
func isValidRequestID(requestID string) bool {
	const (
		minLength  = 8
		maxLength  = 64
		validChars = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_."
	)

	hasValidLength := len(requestID) >= minLength && len(requestID) <= maxLength
	hasOnlyValidChars := strings.Trim(requestID, validChars) == ""

	return hasValidLength && hasOnlyValidChars
}
