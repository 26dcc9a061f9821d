// Package guides serves the guides for developers, which are Markdown files in this package. Tests
// run the examples in the guides.
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

// names are the names of the guides, in the order of the navigation. The text of a guide is in
// NAME.md, and its page is /docs/guides/NAME.
var names = []string{"quick-start", "webhooks", "pages", "limits", "errors", "oauth", "mcp", "accounts", "changelog"}

// guide is the data of the page of a guide.
type guide struct {
	Name, Title string
	Body        template.HTML // trusted, because its source is part of the program
	All         []guide       // all guides, for the navigation
}

// sourceURL is the URL of the service in the Markdown files. Pages show the public URL instead.
const sourceURL = "http://localhost:8080"

// Add registers the guides below /docs/guides.
func Add(app *fiber.App, renderer *pages.Renderer, publicURL string) error {
	guides, err := convertGuides(publicURL)
	if err != nil {
		return err
	}

	app.Get("/docs/guides", func(c *fiber.Ctx) error { return c.Redirect(path.Join("/docs/guides", names[0]), fiber.StatusFound) })

	app.Get("/docs/guides/:name", renderer.Guard, func(c *fiber.Ctx) error {
		i := slices.Index(names, c.Params("name"))
		if i < 0 {
			return fiber.ErrNotFound
		}

		view := guides[i]
		view.All = guides

		return renderer.Render(c, fiber.StatusOK, page, nil, view)
	})

	return nil
}

// convertGuides converts the Markdown files to HTML. The guides have the order of names.
func convertGuides(publicURL string) ([]guide, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))

	var guides []guide
	for _, name := range names {
		source, err := files.ReadFile(name + ".md")
		if err != nil {
			return nil, err
		}

		source = bytes.ReplaceAll(source, []byte(sourceURL), []byte(publicURL))

		var body bytes.Buffer
		if err := markdown.Convert(source, &body); err != nil {
			return nil, err
		}

		// The first line of a guide is its title, as a heading.
		title, _, _ := strings.Cut(strings.TrimPrefix(string(source), "# "), "\n")
		guides = append(guides, guide{Name: name, Title: title, Body: template.HTML(body.String())}) //nolint:gosec // trusted source
	}

	return guides, nil
}
