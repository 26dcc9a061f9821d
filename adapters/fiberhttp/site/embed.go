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

// addEmbedding registers the jobs of an employer for frames on other sites, and the script
// that adds the frame. Without origins that may show it, the routes do not exist.
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

		// The frame shows the same to everyone: it has neither a session nor forms.
		return s.serve(c, nil, func() error { return s.embed(ctx, c) })
	})
}

// embed answers with the employer's jobs for a frame in another website. It is the same for all
// viewers.
func (s *Site) embed(ctx context.Context, c *fiber.Ctx) error {
	v, err := s.newEmployerView(ctx, c.Params("slug"), "", nil)
	if err != nil {
		return s.renderMissing(c, nil, err, "Employer not found")
	}

	if err := s.renderer.RenderEmbedded(c, embedPage, v); err != nil {
		return err
	}

	s.renderer.SetCaching(c)

	return nil
}

// widgetElement returns the script element for the page of an employer, empty if no other
// site may show it.
func (s *Site) widgetElement(employerPath string) string {
	if !s.renderer.CanEmbed() {
		return ""
	}

	return fmt.Sprintf(`<script src="%s/widget.js" data-employer="%s" async></script>`, s.publicURL, path.Base(employerPath))
}
