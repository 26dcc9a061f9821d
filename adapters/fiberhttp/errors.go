package fiberhttp

import (
	"errors"

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
		c.Set(fiber.HeaderXRequestID, s.o.NewID())
	}
	f := faultOf(err)
	s.reportFault(err, c.GetRespHeader(fiber.HeaderXRequestID), c.Method(), c.Path())
	_ = s.authenticate(c) // requests that fasthttp rejects are not authenticated yet
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
