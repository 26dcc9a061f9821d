package fiberhttp

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// ServerRoute is a route that is in no API: a page, an endpoint of OAuth, or an endpoint
// for operators.
type ServerRoute struct {
	Method, Path string
	// Auth is the kind of authentication, from the name of the route: "page session",
	// "client" or "none".
	Auth string
}

// ServerRoutes returns the routes sorted by path.
func (s *Server) ServerRoutes() []ServerRoute {
	tabled := map[string]bool{}
	for _, api := range s.apis {
		for _, r := range api.Routes {
			for _, path := range api.Paths(r) {
				tabled[path] = true
			}
		}
	}
	var out []ServerRoute
	for _, r := range s.app.GetRoutes(true) {
		if !tabled[r.Path] && r.Method != fiber.MethodHead && r.Method != fiber.MethodOptions {
			out = append(out, ServerRoute{r.Method, r.Path, cmp.Or(r.Name, "none")})
		}
	}
	slices.SortFunc(out, func(a, b ServerRoute) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return out
}
