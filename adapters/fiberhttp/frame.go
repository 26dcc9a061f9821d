package fiberhttp

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// What the frame knows of a request is in its locals.
const (
	requestIDKey = "locum.request_id"
	framedKey    = "locum.framed"
)

// harden sets what every answer has for browsers and those between.
func (s *Server) harden(c *fiber.Ctx) {
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
	if strings.HasPrefix(s.o.PublicURL, "https:") {
		c.Set(fiber.HeaderStrictTransportSecurity, "max-age=31536000")
	}
}

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
	s.harden(c)
	defer func() {
		if p := recover(); p != nil {
			err = web.PanicError(p)
		}
		if err != nil {
			err = s.answerError(c, err)
		}
		s.left(c)
		s.finishBody(c)
		s.observe(c, requestID, time.Since(start))
	}()
	framing, ok := parseFraming(c.Request().Header.RawHeaders())
	if !ok {
		c.Response().SetConnectionClose()
		return web.ErrMalformed
	}
	c.Locals(framingKey, framing)
	if s.isDraining.Load() {
		c.Response().SetConnectionClose()
	}
	if err := s.enter(c); err != nil {
		return err
	}
	if surface := s.surfaceOf(c.Path()); surface.Gate != nil && c.Method() == fiber.MethodOptions {
		return allowed(c, surface)
	}
	return c.Next()
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
