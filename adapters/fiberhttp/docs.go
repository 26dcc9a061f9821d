package fiberhttp

import (
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/swaggest/swgui/v5emb"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
)

// addDocs serves each surface's document and a page to read it and try it,
// whole from this binary.
func (s *Server) addDocs() error {
	for _, surface := range s.surfaces {
		document, err := web.OpenAPI(surface, s.o.PublicURL, s.o.Version)
		if err != nil {
			return err
		}
		s.app.Get("/openapi/"+surface.Name+".json", func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, jsonType)
			return c.Send(document)
		})
	}
	// The page starts itself with a script of its own; it may load and call
	// nothing but this server.
	const policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for i, surface := range s.surfaces {
		at := "/docs/" + surface.Name
		if i == len(s.surfaces)-1 { // the last, whose pattern takes all that is left
			at = "/docs"
		}
		page := adaptor.HTTPHandler(v5emb.New(surface.Title, "/openapi/"+surface.Name+".json", at))
		serve := func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentSecurityPolicy, policy)
			return page(c)
		}
		s.app.Get(at, serve)
		s.app.Get(at+"/*", serve)
	}
	return nil
}
