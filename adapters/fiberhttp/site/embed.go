package site

import (
	"context"
	_ "embed"
	"fmt"
	"path"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
)

// widget is the script with which other sites show the jobs of an employer.
//
//go:embed widget.js
var widget []byte

var embedPage = pages.Parse(files, "html/embed.html", "html/results.html")

// addEmbedding registers the page with the jobs of an employer that other websites show in a frame, and the script with
// which they add the frame. If the configuration allows no other website to show it, the routes do not exist.
func (s *Site) addEmbedding(app *fiber.App) {
	if !s.renderer.CanEmbed() {
		return
	}

	app.Get("/widget.js", func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMETextJavaScriptCharsetUTF8)
		c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
		return c.Send(widget)
	})

	s.renderer.Public(app, "/employers/:slug/embed", func(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
		s.renderer.AllowFrames(c)

		// All users get the page for guests, even users who are signed in.
		var guest *pages.Viewer

		return s.serve(c, guest, func() error { return s.embed(ctx, c) })
	})
}

// embed answers with the first of the employer's jobs, for a frame in another website.
func (s *Site) embed(ctx context.Context, c *fiber.Ctx) error {
	const firstPage = "" // no cursor

	var guest *pages.Viewer

	v, err := s.newEmployerView(ctx, c.Params("slug"), firstPage, guest)
	if err != nil {
		return s.renderMissing(c, guest, err, "Employer not found")
	}

	if err := s.renderer.RenderEmbedded(c, embedPage, v); err != nil {
		return err
	}

	s.renderer.SetCaching(c)

	return nil
}

// widgetElement returns the HTML element with which a website shows the jobs of the employer, empty if no other website
// may show them. The end of employerPath is the slug of the employer.
func (s *Site) widgetElement(employerPath string) string {
	if !s.renderer.CanEmbed() {
		return ""
	}

	return fmt.Sprintf(`<script src="%s/widget.js" data-employer="%s" async></script>`, s.publicURL, path.Base(employerPath))
}
