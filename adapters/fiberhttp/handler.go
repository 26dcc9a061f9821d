package fiberhttp

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// handler returns the Fiber handler of a route of an API. It answers from the cache if possible, and
// otherwise executes the operation of the route.
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

		// A Fiber route for GET also serves HEAD, which does not count as a read.
		if route.OnRead != nil && c.Method() == fiber.MethodGet {
			// execute was not called for a response from the cache, so call is still empty.
			isFromCache := call.IP == ""
			if isFromCache {
				call = s.incoming(c).Call()
			}

			route.OnRead(call, func(name string) string { return pathValue(c, name) })
		}

		return nil
	}
}

// execute executes the operation of a route and writes the response to c. It returns the call: the
// user, the client address and other data of the request that the operation got.
//
// The body of the request is not read yet. web.Admission first checks the request, for example its
// rate limit, and then reads the body by ReadBody.
func (s *Server) execute(c *fiber.Ctx, api web.API, r web.Route) (web.Call, error) {
	request := s.incoming(c)
	request.ReadBody = func(client string, limit int) ([]byte, error) {
		err := s.readBody(c, client, limit)
		return c.Request().Body(), err
	}

	call, response, err := s.admission.Execute(context.Background(), api, r, request)

	stateOf(c).actor = call.Actor

	// A response to an error has headers too, such as the headers of the rate limit.
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

// incoming returns the request in the form that package web reads, without its body.
func (s *Server) incoming(c *fiber.Ctx) web.Incoming {
	request := web.Incoming{
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
		request.Caller = *caller
	}

	return request
}

// pathValue returns the decoded parameter of the path. A value with an invalid escape is
// returned as it is: no resource has such an id, so that the response becomes a 404.
func pathValue(c *fiber.Ctx, name string) string {
	raw := c.Params(name)

	value, err := url.PathUnescape(raw)
	if err != nil {
		return raw
	}

	return value
}

// copyTexts returns the values as strings. Strings are copies, which is necessary because fasthttp
// reuses the memory of a request.
func copyTexts(values [][]byte) []string {
	return web.Each(values, func(value []byte) string { return string(value) })
}
