package integrations

import (
	"context"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/mail"
)

// warnKind is the kind of the tasks that notify the owner of a failing endpoint.
const warnKind = "integrations.warn"

// warning is the payload of such a task: the state of the endpoint when the task was added.
type warning struct {
	Endpoint string    `json:"endpoint"`
	URL      string    `json:"url"`
	Disabled bool      `json:"disabled"`
	Since    time.Time `json:"since"`
}

// warn notifies the owner of an endpoint that deliveries fail, or that the endpoint
// was disabled.
func (s *Service) warn(ctx context.Context, w warning) error {
	endpoint, err := s.Webhooks.Get(ctx, AnyOwner, w.Endpoint)
	if err != nil {
		return fault.IfNotFound(err, nil)
	}

	app, err := s.findApp(ctx, endpoint.AppID)
	if err != nil {
		return fault.IfNotFound(err, nil)
	}

	recipients, err := s.Accounts.ListByIDs(ctx, []string{endpoint.OwnerID})
	if err != nil {
		return err
	}

	owner := recipients[endpoint.OwnerID]
	if owner.Email == "" { // the account was deleted
		return nil
	}

	// The id is the same for all attempts of the task, so that the owner gets the e-mail once.
	mailID := "webhook-" + w.Endpoint + "-" + strconv.FormatInt(w.Since.UnixMicro(), 36)
	subject := "A webhook of " + app.Name + " is not being delivered"

	text := "Since " + w.Since.UTC().
		Format("2 January 2006, 15:04 MST") +
		" no attempt to reach this webhook has succeeded. We keep trying, and stop when that has gone on for five days."
	if w.Disabled {
		mailID += "-disabled"
		subject = "A webhook of " + app.Name + " was disabled"
		text = "This webhook did not take what we sent, or said that it is gone, so nothing is sent to it any more. When the receiver works again, set the webhook's status to active and replay what failed."
	}

	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID:       mailID,
		To:       mail.Address{Name: owner.Name, Email: owner.Email},
		Greeting: owner.Name,
		Home:     s.PublicURL,
		Subject:  subject,
		Body: []mail.Block{
			{Text: text},
			{Code: w.URL},
			{Link: &mail.Link{Label: "Look at the webhook", URL: s.PublicURL + "/developers/apps/" + endpoint.AppID + "/webhooks/" + endpoint.ID}},
		},
	})
}
