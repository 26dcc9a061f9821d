package pages

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// An embedded page is a page, such as the jobs of an employer, that another site shows in a frame.

// CanEmbed reports whether other sites may show embedded pages.
func (r *Renderer) CanEmbed() bool { return len(r.embedOrigins) > 0 }

// AllowFrames lets the pages of Options.EmbedOrigins show the response in a frame. It must not be
// called for a page with forms of signed-in users: another site could show such a form invisibly, and
// make users click on it (clickjacking).
func (r *Renderer) AllowFrames(c *fiber.Ctx) {
	ancestors := "frame-ancestors " + strings.Join(r.embedOrigins, " ")
	c.Set(fiber.HeaderContentSecurityPolicy, strings.Replace(contentSecurityPolicy, "frame-ancestors 'none'", ancestors, 1))
	c.Response().Header.Del(fiber.HeaderXFrameOptions)
}

// RenderEmbedded renders a page for a frame: without navigation, without script, and with
// links that open in a new tab.
func (r *Renderer) RenderEmbedded(c *fiber.Ctx, page *template.Template, view any) error {
	var b bytes.Buffer
	if err := page.ExecuteTemplate(&b, "embed.html", Page{Path: c.Path(), Brand: r.brand, View: view}); err != nil {
		return err
	}

	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)

	return c.Send(b.Bytes())
}
