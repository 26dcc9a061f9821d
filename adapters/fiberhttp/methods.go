package fiberhttp

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/web"
)

// rejectOtherMethods answers 405 for other methods of paths such as /api/listings/search:
// the router would match them with /api/listings/:id.
func (s *Server) rejectOtherMethods(api web.API) {
	routes, methods := api.Routes, map[string][]string{}
	for _, r := range routes {
		for _, path := range api.Paths(r) {
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

// mapUnknownMethods replaces methods that the router does not know by TRACE, which no route
// has, so that they get a 405 in the format of the API instead of plain text.
func mapUnknownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(c *fasthttp.RequestCtx) {
		if !slices.Contains(fiber.DefaultMethods, string(c.Method())) {
			c.Request.Header.SetMethod(fiber.MethodTrace)
		}
		next(c)
	}
}
