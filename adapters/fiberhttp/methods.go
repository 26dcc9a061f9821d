package fiberhttp

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/web"
)

// addFixed keeps paths such as /api/listings/search to their own methods: for
// every other one, the router would read the last step as the parameter of
// /api/listings/:id.
func (s *Server) addFixed(surface web.Surface) {
	routes, methods := surface.Routes, map[string][]string{}
	for _, r := range routes {
		for _, path := range surface.Paths(r) {
			methods[path] = append(methods[path], r.Method)
			if r.Method == fiber.MethodGet {
				methods[path] = append(methods[path], fiber.MethodHead)
			}
		}
	}
	for path, own := range methods {
		if strings.Contains(path, ":") || !slices.ContainsFunc(routes, func(r web.Route) bool {
			return r.Path != path && fiber.RoutePatternMatch(path, r.Path)
		}) {
			continue
		}
		allow := strings.Join(own, ", ")
		for _, m := range fiber.DefaultMethods {
			if !slices.Contains(own, m) {
				s.app.Add(m, path, func(c *fiber.Ctx) error {
					c.Set(fiber.HeaderAllow, allow)
					return fiber.ErrMethodNotAllowed
				})
			}
		}
	}
}

// anyMethod lets requests with a method that the router has never heard of
// walk the same way as the others, instead of its own answer in plain text:
// no route has TRACE either.
func anyMethod(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(c *fasthttp.RequestCtx) {
		if !slices.Contains(fiber.DefaultMethods, string(c.Method())) {
			c.Request.Header.SetMethod(fiber.MethodTrace)
		}
		next(c)
	}
}
