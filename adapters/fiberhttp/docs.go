package fiberhttp

import (
	"bytes"
	"embed"
	"html/template"
	"path"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/swaggest/swgui/v5emb"

	"github.com/locumhq/locum/adapters/web"
)

//go:embed docs
var docsFiles embed.FS

var docsPage = template.Must(template.ParseFS(docsFiles, "docs/page.html"))

// addDocs serves each surface's document and a page to read it and try it,
// whole from this binary.
func (s *Server) addDocs() error {
	for _, surface := range s.surfaces {
		// Building a document takes as long as the rest of a start.
		document := sync.OnceValues(func() ([]byte, error) { return web.OpenAPI(surface, s.o.PublicURL) })
		s.app.Get("/openapi/"+surface.Name+".json", func(c *fiber.Ctx) error {
			content, err := document()
			if err != nil {
				return err
			}
			c.Set(fiber.HeaderContentType, web.JSONType)
			return c.Send(content)
		})
	}
	for i, surface := range s.surfaces {
		at := "/docs/" + surface.Name
		if i == len(s.surfaces)-1 { // the last, whose pattern takes all that is left
			at = "/docs"
		}
		var page bytes.Buffer
		if err := docsPage.Execute(&page, map[string]string{"Title": surface.Title, "At": at, "Document": "/openapi/" + surface.Name + ".json"}); err != nil {
			return err
		}
		s.app.Get(at, docsGuard, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
			return c.Send(page.Bytes())
		})
		swagger := adaptor.HTTPHandler(v5emb.New("", "", at)) // its files alone
		s.app.Get(at+"/*", docsGuard, func(c *fiber.Ctx) error {
			if c.Params("*") == "" {
				return c.Redirect(at) // and not to the library's own page
			}
			file, err := docsFiles.ReadFile("docs/" + c.Params("*"))
			if err != nil || c.Params("*") == "page.html" {
				if err := swagger(c); err != nil || c.Response().StatusCode() != fiber.StatusNotFound {
					return err
				}
				c.Response().ResetBody() // what the library says of it
				return web.ErrNoRoute
			}
			c.Type(path.Ext(c.Path()), "utf-8")
			return c.Send(file)
		})
	}
	return nil
}

// docsGuard lets the pages load and call nothing but this server. Their opener
// policy is that of the page which asks for consent, so that the window with that
// knows which page to go back to.
func docsGuard(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	return c.Next()
}
