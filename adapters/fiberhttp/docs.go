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

// addDocs serves the OpenAPI document of each API at /openapi/NAME.json, and a page with Swagger UI
// at /docs/NAME. The page of the last API is at /docs. All files are embedded in the binary.
func (s *Server) addDocs() error {
	for _, api := range s.apis {
		s.addOpenAPIDocument(api)
	}

	for i, api := range s.apis {
		docsPath := "/docs/" + api.Name

		isLast := i == len(s.apis)-1
		if isLast {
			docsPath = "/docs" // it is registered last, because /docs/* matches the other pages too
		}

		if err := s.addDocsPage(api, docsPath); err != nil {
			return err
		}
	}

	return nil
}

// openAPIPath returns the path of the OpenAPI document of an API.
func openAPIPath(api web.API) string { return "/openapi/" + api.Name + ".json" }

// addOpenAPIDocument serves the OpenAPI document of an API. Building a document takes as long as all
// the rest of the start, so it is built on the first request for it.
func (s *Server) addOpenAPIDocument(api web.API) {
	document := sync.OnceValues(func() ([]byte, error) { return web.OpenAPI(api, s.options.PublicURL) })
	s.app.Get(openAPIPath(api), func(c *fiber.Ctx) error {
		content, err := document()
		if err != nil {
			return err
		}

		c.Set(fiber.HeaderContentType, web.JSONType)

		return c.Send(content)
	})
}

// addDocsPage serves the page with Swagger UI for an API at docsPath, and its assets below.
func (s *Server) addDocsPage(api web.API, docsPath string) error {
	var page bytes.Buffer

	data := map[string]string{"Title": api.Title, "At": docsPath, "Document": openAPIPath(api)}
	if err := docsPage.Execute(&page, data); err != nil {
		return err
	}

	s.app.Get(docsPath, setDocsPolicy, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
		return c.Send(page.Bytes())
	})

	swagger := adaptor.HTTPHandler(v5emb.New("", "", docsPath)) // only the library's assets are used
	s.app.Get(docsPath+"/*", setDocsPolicy, func(c *fiber.Ctx) error {
		name := c.Params("*")
		if name == "" {
			return c.Redirect(docsPath) // the library has its own page here
		}

		// Assets that are not ours belong to the library. Our template page.html is not an asset.
		file, err := docsFiles.ReadFile("docs/" + name)
		if err != nil || name == "page.html" {
			if err := swagger(c); err != nil || c.Response().StatusCode() != fiber.StatusNotFound {
				return err
			}

			c.Response().ResetBody() // discards the library's error page

			return web.ErrNoRoute
		}

		c.Type(path.Ext(c.Path()), "utf-8")

		return c.Send(file)
	})

	return nil
}

// setDocsPolicy is the middleware of the documentation. It restricts pages to resources of this
// server. The opener policy is the same as on the OAuth consent page, which Swagger UI opens in a
// window. With different policies, that window could not return the result to its opener.
func setDocsPolicy(c *fiber.Ctx) error {
	c.Set(
		fiber.HeaderContentSecurityPolicy,
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	)
	c.Set("Cross-Origin-Opener-Policy", "same-origin")

	return c.Next()
}
