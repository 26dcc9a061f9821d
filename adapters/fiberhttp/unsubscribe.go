package fiberhttp

import (
	"bytes"
	"context"
	"errors"
	"html/template"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/fault"
)

// The link that ends the digests works without signing in, without cookies and
// without a script. A GET only asks: scanners of mail follow links. The POST is
// the page's button, or a mail program's own (RFC 8058), whose body says no more
// than that it is one.

var unsubscribePage = template.Must(template.New("unsubscribe").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} – locum</title>
<link rel="stylesheet" href="/account/page.css">
</head>
<body>
<main>
<h1>locum</h1>
<h2>{{.Title}}</h2>
<p>{{.Text}}</p>
{{if .Token}}<form method="post" action="/unsubscribe?token={{.Token}}">
  <button>End the mails</button>
</form>
{{end}}</main>
</body>
</html>
`))

type unsubscribeView struct{ Title, Text, Token string }

// mostToken bounds what may be a token.
const mostToken = 2_048

func (s *Server) addUnsubscribe() {
	s.app.Get("/unsubscribe", func(c *fiber.Ctx) error {
		token := c.Query("token")
		if token == "" || len(token) > mostToken {
			return page(c, fiber.StatusBadRequest, noLink)
		}
		return page(c, fiber.StatusOK, unsubscribeView{
			Title: "End the mails about new jobs?", Text: "Your saved searches stay, and new matches still stand among your notifications.", Token: token,
		})
	})
	s.app.Post("/unsubscribe", func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
		defer cancel()
		token := c.Query("token")
		if len(token) > mostToken {
			return page(c, fiber.StatusBadRequest, noLink)
		}
		switch err := s.services.Seekers.Unsubscribe(ctx, token); {
		case errors.Is(err, fault.ErrUnauthorized):
			return page(c, fiber.StatusBadRequest, noLink)
		case err != nil:
			return err
		}
		return page(c, fiber.StatusOK, unsubscribeView{Title: "Done", Text: "You get no more mails about new jobs. You can turn them on again with each search that you save."})
	})
}

var noLink = unsubscribeView{Title: "This link does not work", Text: "It may be too old, or not whole. Please use the one in the newest mail."}

func page(c *fiber.Ctx, status int, v unsubscribeView) error {
	var b bytes.Buffer
	if err := unsubscribePage.Execute(&b, v); err != nil {
		return err
	}
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	return c.Status(status).Send(b.Bytes())
}
