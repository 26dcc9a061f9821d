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
		// Building a document takes as long as all the rest of the start, so it is built on the
		// first request for it.
		document := sync.OnceValues(func() ([]byte, error) { return web.OpenAPI(api, s.options.PublicURL) })
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
		docsPath := "/docs/" + api.Name
		if i == len(s.apis)-1 { // registered last, because /docs/* matches the other pages too
			docsPath = "/docs"
		}

		var page bytes.Buffer

		data := map[string]string{"Title": api.Title, "At": docsPath, "Document": "/openapi/" + api.Name + ".json"}
		if err := docsPage.Execute(&page, data); err != nil {
			return err
		}

		s.app.Get(docsPath, setDocsPolicy, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
			return c.Send(page.Bytes())
		})

		swagger := adaptor.HTTPHandler(v5emb.New("", "", docsPath)) // only the library's assets are used
		s.app.Get(docsPath+"/*", setDocsPolicy, func(c *fiber.Ctx) error {
			if c.Params("*") == "" {
				return c.Redirect(docsPath) // our page in place of the library's
			}

			file, err := docsFiles.ReadFile("docs/" + c.Params("*"))
			if err != nil || c.Params("*") == "page.html" {
				if err := swagger(c); err != nil || c.Response().StatusCode() != fiber.StatusNotFound {
					return err
				}

				c.Response().ResetBody() // discards the library's error page

				return web.ErrNoRoute
			}

			c.Type(path.Ext(c.Path()), "utf-8")

			return c.Send(file)
		})
	}

	return nil
}

// setDocsPolicy restricts the pages to resources of this server. The opener policy is the
// same as on the consent page, so that the consent window can call back its opener.
func setDocsPolicy(c *fiber.Ctx) error {
	c.Set(
		fiber.HeaderContentSecurityPolicy,
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	)
	c.Set("Cross-Origin-Opener-Policy", "same-origin")

	return c.Next()
}
