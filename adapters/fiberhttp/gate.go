package fiberhttp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/integrations"
)

const (
	enteredKey = "locum.entered"
	callerKey  = "locum.caller"
)

// enter brings a request to the gate of its surface, once.
func (s *Server) enter(c *fiber.Ctx) error {
	surface := s.surfaceOf(c.Path())
	if surface.Gate == nil || c.Locals(enteredKey) != nil {
		return nil
	}
	c.Locals(enteredKey, true)
	ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
	defer cancel()
	caller, headers, err := surface.Gate.Enter(ctx, web.Entry{
		Authorization: texts(c.Request().Header.PeekAll(fiber.HeaderAuthorization)), APIKey: texts(c.Request().Header.PeekAll("X-API-Key")),
		Address: web.LimitKey(s.clientIP(c)), Asking: c.Method() == fiber.MethodOptions,
	})
	for name, value := range headers {
		c.Set(name, value)
	}
	if caller.App.ID != "" {
		c.Locals(callerKey, caller)
	}
	return err
}

// left tells the gate what its caller was answered.
func (s *Server) left(c *fiber.Ctx) {
	if caller, ok := c.Locals(callerKey).(integrations.Caller); ok {
		s.surfaceOf(c.Path()).Gate.Left(caller, c.Response().StatusCode())
	}
}

// allowed answers a browser's question for what other pages may send here.
func allowed(c *fiber.Ctx, surface web.Surface) error {
	var methods []string
	for _, r := range surface.Routes {
		for _, path := range surface.Paths(r) {
			if fiber.RoutePatternMatch(c.Path(), path) && !slices.Contains(methods, r.Method) {
				methods = append(methods, r.Method)
				if r.Method == fiber.MethodGet {
					methods = append(methods, fiber.MethodHead)
				}
			}
		}
	}
	if len(methods) == 0 {
		return fiber.ErrNotFound
	}
	allow := strings.Join(append(methods, fiber.MethodOptions), ", ")
	c.Set(fiber.HeaderAllow, allow)
	c.Set(fiber.HeaderAccessControlAllowMethods, allow)
	c.Set(fiber.HeaderAccessControlAllowHeaders, "Authorization, X-API-Key, Content-Type, Idempotency-Key, If-None-Match, X-Request-ID")
	c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	return c.SendStatus(fiber.StatusNoContent)
}

// fresh lets a success be kept by who got it. The tag is weak: the same things
// may be written in other bytes one day.
func fresh(c *fiber.Ctx, surface web.Surface) {
	if surface.Fresh.CacheControl == "" || c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead || c.Response().StatusCode() != fiber.StatusOK {
		return
	}
	sum := sha256.Sum256(c.Response().Body())
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	c.Set(fiber.HeaderETag, tag)
	c.Set(fiber.HeaderCacheControl, surface.Fresh.CacheControl)
	c.Set(fiber.HeaderVary, surface.Fresh.Vary)
	if matches(c.Get(fiber.HeaderIfNoneMatch), tag) {
		c.Status(fiber.StatusNotModified)
		c.Response().ResetBody()
		c.Response().Header.Del(fiber.HeaderContentType)
	}
}

// matches compares weakly (RFC 9110 §8.8.3.2).
func matches(sent, tag string) bool {
	for one := range strings.SplitSeq(sent, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
