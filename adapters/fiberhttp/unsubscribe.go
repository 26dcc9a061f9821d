package fiberhttp

import (
	"context"
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// The unsubscribe links in e-mails work without a session, cookies and scripts. GET only
// shows a confirmation, because e-mail scanners open links. POST is sent by the button of
// that page, or by an e-mail client with one-click unsubscribe (RFC 8058).

// maxUnsubscribeToken is the maximum length of the token in a link.
const maxUnsubscribeToken = 2_048

// subscription is a kind of e-mail that recipients can unsubscribe from.
type subscription struct {
	// confirm is the page that asks for a confirmation by a button. done is the page afterwards.
	confirm, done pages.Message
	// unsubscribe ends the e-mails to the recipient whom the token identifies. It returns
	// fault.ErrUnauthorized for a token that is not valid.
	unsubscribe func(ctx context.Context, token string) error
}

var invalidUnsubscribeLink = pages.Message{
	Title: "This link does not work",
	Text:  "It may have expired or be incomplete. Please use the link in the newest e-mail.",
}

// subscriptions returns the kinds of e-mails. The keys are the names of the query parameter that has
// the token in the links of the kind.
func (s *Server) subscriptions() map[string]subscription {
	return map[string]subscription{
		"token": { // saved searches of an account
			confirm: pages.Message{
				Title: "Stop the e-mails about new jobs?",
				Text:  "Your saved searches are kept, and you still get notifications of new matches on the site.",
			},
			done: pages.Message{
				Title: "Done",
				Text:  "You will not get any more e-mails about new jobs. To turn them on again, turn on the e-mails of a saved search.",
				Next:  pages.Link{Path: "/account/searches", Text: "Your saved searches"},
			},
			unsubscribe: func(ctx context.Context, token string) error { return s.services.Seekers.Unsubscribe(ctx, token) },
		},
		"alerts": { // job alerts of a recipient without an account
			confirm: pages.Message{
				Title: "End your job alerts?",
				Text:  "You will not get any more e-mails about new jobs. Your alerts and your address are deleted.",
			},
			done: pages.Message{
				Title: "Done",
				Text:  "Your job alerts and your address are deleted.",
				Next:  pages.Link{Path: "/jobs", Text: "Search for jobs"},
			},
			unsubscribe: func(ctx context.Context, token string) error { return s.services.Seekers.EndAlerts(ctx, token) },
		},
		"invitations": { // invitations to the team of an organization
			confirm: pages.Message{
				Title: "End the invitations?",
				Text:  "Organizations will no longer be able to send invitations to this address.",
			},
			done:        pages.Message{Title: "Done", Text: "You will not get any more invitations at this address."},
			unsubscribe: func(ctx context.Context, token string) error { return s.services.Identity.OptOut(ctx, token) },
		},
	}
}

// addUnsubscribe registers the page and the form at /unsubscribe.
func (s *Server) addUnsubscribe(renderer *pages.Renderer) {
	kinds := s.subscriptions()

	// parseLink returns the kind of e-mails and the token in the query. It reports false for a link
	// without a token, or with one that is too long.
	parseLink := func(c *fiber.Ctx) (kind, token string, ok bool) {
		for kind := range kinds {
			if token := c.Query(kind); token != "" {
				return kind, token, len(token) <= maxUnsubscribeToken
			}
		}

		return "", "", false
	}

	renderer.Public(s.app, "/unsubscribe", func(_ context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
		kind, token, ok := parseLink(c)
		if !ok {
			return renderer.RenderMessage(c, fiber.StatusBadRequest, invalidUnsubscribeLink)
		}

		view := kinds[kind].confirm
		view.Button = "Stop the e-mails"
		view.Action = "/unsubscribe?" + kind + "=" + url.QueryEscape(token)

		return renderer.RenderMessage(c, fiber.StatusOK, view)
	})

	// E-mail clients send this form, too. SetHeaders accepts requests of any origin.
	s.app.Post("/unsubscribe", renderer.SetHeaders, func(c *fiber.Ctx) error {
		ctx, cancel := context.WithTimeout(context.Background(), web.DefaultTimeout)
		defer cancel()

		kind, token, ok := parseLink(c)
		if !ok {
			return renderer.RenderMessage(c, fiber.StatusBadRequest, invalidUnsubscribeLink)
		}

		switch err := kinds[kind].unsubscribe(ctx, token); {
		case errors.Is(err, fault.ErrUnauthorized):
			return renderer.RenderMessage(c, fiber.StatusBadRequest, invalidUnsubscribeLink)
		case err != nil:
			return err
		}

		return renderer.RenderMessage(c, fiber.StatusOK, kinds[kind].done)
	})
}
