package fiberhttp

import (
	"bytes"
	"embed"
	"html/template"
	"maps"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// plainPolicy is for pages without any script.
const plainPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// sendHTML sends a page with the Content-Security-Policy.
func sendHTML(c *fiber.Ctx, policy string, page *template.Template, data any) error {
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentSecurityPolicy, policy)
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Send(b.Bytes())
}

var problemPage = template.Must(template.New("problem").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title><link rel="stylesheet" href="/account/page.css"></head>
<body><main><h1>{{.Title}}</h1><p><code>{{.Code}}</code></p><p>{{.Text}}</p><p><a href="/docs/developer">The developer interface</a></p></main></body>
</html>
`))

// addProblems serves the pages that explain the codes of errors.
func (s *Server) addProblems() {
	problems := map[string]web.Problem{}
	for _, api := range s.apis {
		maps.Copy(problems, api.Problems)
	}
	s.app.Get("/problems/:code", func(c *fiber.Ctx) error {
		code := c.Params("code")
		known, ok := problems[code]
		if !ok {
			return fiber.ErrNotFound
		}
		return sendHTML(c, plainPolicy, problemPage, struct{ Code, Title, Text string }{code, known.Title, known.Text})
	})
}

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
