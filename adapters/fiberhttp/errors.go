package fiberhttp

import (
	"errors"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
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
	f := faultOf(err)
	s.reportFault(err, c.GetRespHeader(fiber.HeaderXRequestID), c.Method(), c.Path())
	_ = s.enter(c) // what fasthttp refuses has not come to the gate, and its answer has the same headers
	surface := s.surfaceOf(c.Path())
	answer := surface.Refuse(f, c.Path(), c.GetRespHeader(fiber.HeaderXRequestID))
	if answer.Status == fiber.StatusMethodNotAllowed && surface.Gate != nil {
		c.Append(fiber.HeaderAllow, fiber.MethodOptions) // which the router knows nothing of
	}
	if c.GetRespHeader(fiber.HeaderWWWAuthenticate) != "" {
		delete(answer.Headers, fiber.HeaderWWWAuthenticate)
	}
	for name, value := range answer.Headers {
		c.Set(name, value)
	}
	if page, err := pages.Trouble(c, answer.Status, f); page || err != nil {
		return err
	}
	if err := c.Status(answer.Status).Send(answer.Body); err != nil {
		return err
	}
	if c.Locals(framedKey) == nil {
		s.left(c)
	}
	return nil
}

func faultOf(err error) *fault.Error {
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
	}
	return web.FaultOf(err)
}
