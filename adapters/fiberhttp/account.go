package fiberhttp

import (
	"embed"

	"github.com/gofiber/fiber/v2"
)

//go:embed account
var accountFiles embed.FS

// addAccountPages serves the pages that mails link to. They call the portal API.
func (s *Server) addAccountPages() {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	serve := func(file, contentType string) fiber.Handler {
		body, _ := accountFiles.ReadFile("account/" + file) // embedded, so that it cannot fail
		return func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentSecurityPolicy, policy)
			c.Set(fiber.HeaderContentType, contentType)
			return c.Send(body)
		}
	}
	for _, page := range []string{"/verify-email", "/reset-password", "/accept-invitation", "/forgot-password", "/undo-email-change"} {
		s.app.Get(page, serve("page.html", fiber.MIMETextHTMLCharsetUTF8))
	}
	s.app.Get("/account/page.css", serve("page.css", "text/css; charset=utf-8"))
	s.app.Get("/account/page.js", serve("page.js", "text/javascript; charset=utf-8"))
}
