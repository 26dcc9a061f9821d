package fiberhttp

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// OwnRoute is a route that stands in no surface's table: a page, an endpoint of
// OAuth, or one for who runs the server.
type OwnRoute struct {
	Method, Path string
	// Auth is whom it lets in, the name of the route: "page session", "client" or
	// "none".
	Auth string
}

// OwnRoutes lists them by their paths.
func (s *Server) OwnRoutes() []OwnRoute {
	tabled := map[string]bool{}
	for _, surface := range s.surfaces {
		for _, r := range surface.Routes {
			for _, path := range surface.Paths(r) {
				tabled[path] = true
			}
		}
	}
	var out []OwnRoute
	for _, r := range s.app.GetRoutes(true) {
		if !tabled[r.Path] && r.Method != fiber.MethodHead && r.Method != fiber.MethodOptions {
			out = append(out, OwnRoute{r.Method, r.Path, cmp.Or(r.Name, "none")})
		}
	}
	slices.SortFunc(out, func(a, b OwnRoute) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return out
}
