// Package guides serves the developer guides. Tests run the code of the guides.
package guides

import (
	"bytes"
	"embed"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
)

//go:embed *.md html
var files embed.FS

var page = pages.Parse(files, "html/guide.html")

// order is the order of the guides in the navigation.
var order = []string{"quick-start", "webhooks", "pages", "limits", "errors", "oauth", "mcp", "accounts", "changelog"}

// guide is the data of a page. Its body is trusted HTML.
type guide struct {
	Name, Title string
	Body        template.HTML
	All         []guide
}

// sourceURL is the URL of the service in the Markdown files. Pages show the public URL instead.
const sourceURL = "http://localhost:8080"

// Add registers the guides below /docs/guides.
func Add(app *fiber.App, renderer *pages.Renderer, publicURL string) error {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))

	var all []guide
	for _, name := range order {
		source, err := files.ReadFile(name + ".md")
		if err != nil {
			return err
		}

		source = bytes.ReplaceAll(source, []byte(sourceURL), []byte(publicURL))

		var body bytes.Buffer
		if err := markdown.Convert(source, &body); err != nil {
			return err
		}

		title, _, _ := strings.Cut(strings.TrimPrefix(string(source), "# "), "\n")
		all = append(all, guide{Name: name, Title: title, Body: template.HTML(body.String())}) //nolint:gosec // trusted source
	}

	app.Get("/docs/guides", func(c *fiber.Ctx) error { return c.Redirect(path.Join("/docs/guides", order[0]), fiber.StatusFound) })

	app.Get("/docs/guides/:name", renderer.Guard, func(c *fiber.Ctx) error {
		i := slices.Index(order, c.Params("name"))
		if i < 0 {
			return fiber.ErrNotFound
		}

		view := all[i]
		view.All = all

		return renderer.Render(c, fiber.StatusOK, page, nil, view)
	})

	return nil
}
