package fiberhttp

import (
	"context"
	"errors"
	"html/template"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// The unsubscribe links in mails work without a session, cookies and scripts. GET only
// shows a confirmation, because mail scanners follow links. POST is sent by the button of
// the page or by one-click unsubscribe (RFC 8058).

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
{{if .Token}}<form method="post" action="/unsubscribe?{{.Kind}}={{.Token}}">
  <button>End the mails</button>
</form>
{{end}}</main>
</body>
</html>
`))

type unsubscribeView struct{ Title, Text, Kind, Token string }

// maxToken is the maximum length of a token.
const maxToken = 2_048

// subscription is a kind of mail that can be unsubscribed from.
type subscription struct {
	confirm, done unsubscribeView
	end           func(ctx context.Context, token string) error
}

func (s *Server) addUnsubscribe() {
	kinds := map[string]subscription{
		"token": {
			confirm: unsubscribeView{Title: "End the mails about new jobs?", Text: "Your saved searches are kept, and you still get notifications of new matches on the site."},
			done:    unsubscribeView{Title: "Done", Text: "You will not get any more mails about new jobs. To turn them on again, save a search with e-mail alerts."},
			end:     func(ctx context.Context, token string) error { return s.services.Seekers.Unsubscribe(ctx, token) },
		},
		"invitations": {
			confirm: unsubscribeView{Title: "End the invitations?", Text: "Organizations will no longer be able to send invitations to this address."},
			done:    unsubscribeView{Title: "Done", Text: "You will not get any more invitations at this address."},
			end:     s.services.Identity.OptOut,
		},
	}
	// requested returns the kind and the token of the link.
	requested := func(c *fiber.Ctx) (kind, token string, ok bool) {
		for kind := range kinds {
			if token := c.Query(kind); token != "" {
				return kind, token, len(token) <= maxToken
			}
		}
		return "", "", false
	}
	s.app.Get("/unsubscribe", func(c *fiber.Ctx) error {
		kind, token, ok := requested(c)
		if !ok {
			return page(c, fiber.StatusBadRequest, invalidLink)
		}
		view := kinds[kind].confirm
		view.Kind, view.Token = kind, token
		return page(c, fiber.StatusOK, view)
	})
	s.app.Post("/unsubscribe", func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
		defer cancel()
		kind, token, ok := requested(c)
		if !ok {
			return page(c, fiber.StatusBadRequest, invalidLink)
		}
		switch err := kinds[kind].end(ctx, token); {
		case errors.Is(err, fault.ErrUnauthorized):
			return page(c, fiber.StatusBadRequest, invalidLink)
		case err != nil:
			return err
		}
		return page(c, fiber.StatusOK, kinds[kind].done)
	})
}

var invalidLink = unsubscribeView{Title: "This link does not work", Text: "It may have expired or be incomplete. Please use the link in the newest mail."}

func page(c *fiber.Ctx, status int, v unsubscribeView) error {
	return sendHTML(c.Status(status), "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'", unsubscribePage, v)
}
