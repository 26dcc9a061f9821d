package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/mail"
)

// warnKind is the kind of job that tells an owner of an endpoint that fails.
const warnKind = "integrations.warn"

// warning is an endpoint as it stood when its owner was to be told.
type warning struct {
	Endpoint string    `json:"endpoint"`
	URL      string    `json:"url"`
	Disabled bool      `json:"disabled"`
	Since    time.Time `json:"since"`
}

// warn tells the owner of an endpoint that nothing reaches it, or that nothing is
// sent to it any more.
func (s *Service) warn(ctx context.Context, key string, w warning) error {
	e, err := s.Webhooks.Lock(ctx, w.Endpoint)
	if err != nil {
		return unlessGone(err)
	}
	a, err := s.Apps.ByID(ctx, e.AppID)
	if err != nil {
		return unlessGone(err)
	}
	people, err := s.Owners.ByIDs(ctx, []string{e.OwnerID})
	p, there := people[e.OwnerID]
	if err != nil || !there || p.Email == "" {
		return err
	}
	subject := "A webhook of " + a.Name + " does not arrive"
	text := "Since " + w.Since.UTC().Format("2 January 2006, 15:04 MST") + " no attempt to reach this webhook has succeeded. We keep trying, and stop when that has gone on for five days."
	if w.Disabled {
		subject = "A webhook of " + a.Name + " was disabled"
		text = "This webhook did not take what we sent, or said that it is gone, so nothing is sent to it any more. When the receiver works again, set the webhook's status to active and replay what failed."
	}
	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID: "webhook-" + key, To: mail.Address{Name: p.Name, Email: p.Email}, Greeting: p.Name, Home: s.PublicURL,
		Subject: subject, Body: []mail.Block{{Text: text}, {Code: w.URL}, {Link: &mail.Link{Label: "Look at the webhook", URL: s.PublicURL + "/developers/apps/" + e.AppID + "/webhooks/" + e.ID}}},
	})
}

// unlessGone is no error where there is nothing left to speak of.
func unlessGone(err error) error {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}
