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

// addDocs serves the OpenAPI document of each API with a Swagger UI, from files that are
// embedded in the binary.
func (s *Server) addDocs() error {
	for _, api := range s.apis {
		// Building a document takes as long as the rest of a start.
		document := sync.OnceValues(func() ([]byte, error) { return web.OpenAPI(api, s.o.PublicURL) })
		s.app.Get("/openapi/"+api.Name+".json", func(c *fiber.Ctx) error {
			content, err := document()
			if err != nil {
				return err
			}
			c.Set(fiber.HeaderContentType, web.JSONType)
			return c.Send(content)
		})
	}
	for i, api := range s.apis {
		at := "/docs/" + api.Name
		if i == len(s.apis)-1 { // the last: its pattern matches all other paths
			at = "/docs"
		}
		var page bytes.Buffer
		if err := docsPage.Execute(&page, map[string]string{"Title": api.Title, "At": at, "Document": "/openapi/" + api.Name + ".json"}); err != nil {
			return err
		}
		s.app.Get(at, setDocsPolicy, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
			return c.Send(page.Bytes())
		})
		swagger := adaptor.HTTPHandler(v5emb.New("", "", at)) // only its files
		s.app.Get(at+"/*", setDocsPolicy, func(c *fiber.Ctx) error {
			if c.Params("*") == "" {
				return c.Redirect(at) // instead of the page of the library
			}
			file, err := docsFiles.ReadFile("docs/" + c.Params("*"))
			if err != nil || c.Params("*") == "page.html" {
				if err := swagger(c); err != nil || c.Response().StatusCode() != fiber.StatusNotFound {
					return err
				}
				c.Response().ResetBody() // the error page of the library
				return web.ErrNoRoute
			}
			c.Type(path.Ext(c.Path()), "utf-8")
			return c.Send(file)
		})
	}
	return nil
}

// setDocsPolicy restricts the pages to resources of this server. The opener policy is that
// of the consent page, so that the window of the consent can call back its opener.
func setDocsPolicy(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	c.Set("Cross-Origin-Opener-Policy", "same-origin")
	return c.Next()
}
