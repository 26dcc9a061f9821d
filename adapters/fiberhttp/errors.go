package fiberhttp

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/fault"
)

// answerError writes the surface's form of an error. It also serves what
// fasthttp itself refuses, before any route.
func (s *Server) answerError(c *fiber.Ctx, err error) error {
	if c.Locals(framedKey) == nil { // fasthttp has refused it
		s.harden(c)
	}
	if c.GetRespHeader(fiber.HeaderXRequestID) == "" {
		c.Set(fiber.HeaderXRequestID, s.o.NewID())
	}
	f := s.faultOf(err)
	if f.Kind == fault.Internal {
		s.o.Log.Error("request failed", "request_id", c.GetRespHeader(fiber.HeaderXRequestID),
			"method", c.Method(), "path", c.Path(), "error", err)
	}
	if f.Kind == fault.Unavailable {
		s.reportUnavailable(f)
	}
	_ = s.enter(c) // what fasthttp refuses has not come to the gate, and its answer has the same headers
	surface := s.surfaceOf(c.Path())
	status, kind, body := said(c, surface, f)
	if status == fiber.StatusMethodNotAllowed && surface.Gate != nil {
		c.Append(fiber.HeaderAllow, fiber.MethodOptions) // which the router knows nothing of
	}
	if f.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	if status == fiber.StatusUnauthorized && c.GetRespHeader(fiber.HeaderWWWAuthenticate) == "" {
		c.Set(fiber.HeaderWWWAuthenticate, `Bearer realm="locum"`)
	}
	if page, err := pages.Trouble(c, status, f); err != nil {
		return err
	} else if !page {
		if err := sendJSON(c, status, body); err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, kind)
	}
	if c.Locals(framedKey) == nil {
		s.left(c)
	}
	return nil
}

func (s *Server) faultOf(err error) *fault.Error {
	var fe *fiber.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &small):
		return web.ErrHeadersTooLarge
	case errors.As(err, &fe):
		switch fe.Code {
		case fiber.StatusNotFound:
			return web.ErrNoRoute
		case fiber.StatusMethodNotAllowed:
			return web.ErrMethodNotAllowed
		case fiber.StatusRequestEntityTooLarge:
			return web.ErrTooLarge
		case fiber.StatusRequestHeaderFieldsTooLarge:
			return web.ErrHeadersTooLarge
		case fiber.StatusRequestTimeout:
			return web.ErrRequestTimeout
		default:
			return web.ErrMalformed
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.ErrUnavailable.WithCause(err).WithReason("request: timeout").WithRetryAfter(time.Second)
	}
	return fault.Of(err)
}
