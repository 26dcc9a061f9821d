// Package guides shows developers how to build on the service, one page for each
// thing to do. What a page has them paste is run by a test.
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

// order is how the guides are listed.
var order = []string{"quick-start", "webhooks", "pages", "limits", "errors", "oauth", "mcp", "accounts", "changelog"}

// guide is a page. Its body is ours, so that nothing in it is escaped.
type guide struct {
	Name, Title string
	Body        template.HTML
	All         []guide
}

// example is where the service is in the guides' sources, which are shown with
// where it really is.
const example = "http://localhost:8080"

// Add serves the guides below /docs/guides.
func Add(app *fiber.App, frame *pages.Frame, publicURL string) error {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	var all []guide
	for _, name := range order {
		source, err := files.ReadFile(name + ".md")
		if err != nil {
			return err
		}
		source = bytes.ReplaceAll(source, []byte(example), []byte(publicURL))
		var body bytes.Buffer
		if err := markdown.Convert(source, &body); err != nil {
			return err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(source), "# "), "\n")
		all = append(all, guide{Name: name, Title: title, Body: template.HTML(body.String())}) //nolint:gosec // written by us
	}
	app.Get("/docs/guides", func(c *fiber.Ctx) error { return c.Redirect(path.Join("/docs/guides", order[0]), fiber.StatusFound) })
	app.Get("/docs/guides/:name", frame.Guard, func(c *fiber.Ctx) error {
		i := slices.Index(order, c.Params("name"))
		if i < 0 {
			return fiber.ErrNotFound
		}
		view := all[i]
		view.All = all
		return frame.Show(c, fiber.StatusOK, page, nil, view)
	})
	return nil
}
