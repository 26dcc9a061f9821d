package fiberhttp

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// handler returns the handler of a route.
func (s *Server) handler(api web.API, route web.Route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		var call web.Call

		err := s.serveCached(c, route, func() (err error) {
			call, err = s.execute(c, api, route)
			return err
		})
		if err != nil {
			return err
		}

		applyCachePolicy(c, api)

		if route.OnRead != nil && c.Method() == fiber.MethodGet {
			// A response from the cache was not executed, so that call is empty.
			isFromCache := call.IP == ""
			if isFromCache {
				call = s.incoming(c).Call()
			}

			route.OnRead(call, func(name string) string { return pathValue(c, name) })
		}

		return nil
	}
}

// execute executes the operation of a route and sends the response. The body is read only when the admission of the
// request, such as its rate limit, calls ReadBody.
func (s *Server) execute(c *fiber.Ctx, api web.API, r web.Route) (web.Call, error) {
	in := s.incoming(c)
	in.ReadBody = func(client string, limit int) ([]byte, error) {
		err := s.readBody(c, client, limit)
		return c.Request().Body(), err
	}

	call, response, err := s.admission.Execute(context.Background(), api, r, in)

	stateOf(c).actor = call.Actor
	for name, value := range response.Headers {
		c.Set(name, value)
	}

	if err != nil {
		return call, err
	}

	c.Status(response.Status)

	if response.Stream != nil {
		return call, c.SendStream(deadlineReader{response.Stream, c.Context().Conn()}, int(response.Size))
	}

	return call, c.Send(response.Body)
}

// incoming returns the request without its body.
func (s *Server) incoming(c *fiber.Ctx) web.Incoming {
	in := web.Incoming{
		Request: web.Request{
			Path:   func(name string) string { return pathValue(c, name) },
			Query:  func(name string) []string { return copyTexts(c.Context().QueryArgs().PeekMulti(name)) },
			Header: func(name string) string { return c.Get(name) },
			Cookie: func(name string) string { return c.Cookies(name) },
		},
		Headers:   func(name string) []string { return copyTexts(c.Request().Header.PeekAll(name)) },
		Address:   s.clientIP(c),
		URL:       c.OriginalURL(),
		URLPath:   c.Path(),
		RequestID: c.GetRespHeader(fiber.HeaderXRequestID),
	}
	if caller := stateOf(c).caller; caller != nil {
		in.Caller = *caller
	}

	return in
}

// pathValue returns the decoded parameter of the path. A value with an invalid escape is
// returned as it is; no resource has such an id.
func pathValue(c *fiber.Ctx, name string) string {
	raw := c.Params(name)

	value, err := url.PathUnescape(raw)
	if err != nil {
		return raw
	}

	return value
}

// copyTexts copies values of the request, whose memory the server reuses.
func copyTexts(raw [][]byte) []string {
	return web.Each(raw, func(v []byte) string { return string(v) })
}
