package dashboard

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

// loggedDelivery is a delivery in the log of its webhook. If Open is set, its details are
// expanded.
type loggedDelivery struct {
	integrations.Delivery
	Open bool
}

// NewestAttempts returns the attempts, the newest first.
func (l loggedDelivery) NewestAttempts() []attemptView {
	out := web.Each(l.Attempts, func(a integrations.Attempt) attemptView { return attemptView{a} })
	slices.Reverse(out)
	return out
}

// attemptView is an attempt of a delivery.
type attemptView struct{ integrations.Attempt }

// Milliseconds returns the duration of the attempt.
func (t attemptView) Milliseconds() int { return int(t.DurationMs) }

// attemptErrors are the messages for the error codes of attempts.
var attemptErrors = map[string]string{
	"bad_address":     "The URL is not valid.",
	"refused_address": "This is not an address on the public internet. The operator of the service can allow private addresses with webhooks.allow_private_networks.",
	"dns":             "The name of the server was not found.",
	"tls":             "The certificate was not accepted.",
	"timeout":         "There was no response within 15 seconds.",
	"connection":      "The server refused or closed the connection.",
	"not_signed":      "The delivery could not be signed because of an error on our side.",
}

// Outcome describes the result of the attempt.
func (t attemptView) Outcome() string {
	switch {
	case t.Error == "":
		return "Accepted with status " + strconv.Itoa(t.ResponseStatus)
	case t.ResponseStatus >= 300 && t.ResponseStatus < 400:
		return "Answered with status " + strconv.Itoa(t.ResponseStatus) + "; redirects are not followed"
	case t.ResponseStatus == 401, t.ResponseStatus == 403:
		return "Answered with status " + strconv.Itoa(t.ResponseStatus) + "; check that the receiver uses the current secret"
	case t.Error == "status":
		return "Answered with status " + strconv.Itoa(t.ResponseStatus)
	}
	return cmp.Or(attemptErrors[t.Error], "The attempt failed.")
}

// sendTestEvent sends an event of the chosen type to the webhook and waits for its result.
func (d *dashboard) sendTestEvent(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := integrations.TestInput{Type: c.FormValue("type")}
	delivery, err := d.integrations.TestWebhook(ctx, viewer.Actor(), webhookPath(c), in)
	if err == nil {
		err = d.waitForAttempt(ctx, viewer, webhookPath(c), delivery)
	}
	return d.finishWebhookForm(
		ctx,
		c,
		viewer,
		err,
		"notice=sent&open="+delivery.ID+"#log",
		webhookView{Type: in.Type, Problem: pages.FormProblem(err, testForm)},
	)
}

// deliveryView is a delivery with its request.
type deliveryView struct {
	App     integrations.App
	Hook    integrations.Endpoint
	Path    string // of the webhook
	Headers []string
	Body    string
	Notice  string
	Problem *pages.Problem
	loggedDelivery
}

func (d *dashboard) showDelivery(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return d.renderDelivery(ctx, c, viewer, deliveryView{Notice: notices[c.Query("notice")]})
}

// renderDelivery reads the delivery and renders its page.
func (d *dashboard) renderDelivery(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v deliveryView) (err error) {
	p := webhookPath(c)
	if v.App, err = d.integrations.MyApp(ctx, viewer.Actor(), p.AppID); err != nil {
		return d.renderNotFound(c, viewer, err)
	}
	if v.Hook, err = d.integrations.MyWebhook(ctx, viewer.Actor(), p); err != nil {
		return d.renderNotFound(c, viewer, err)
	}
	sent, err := d.integrations.MyDelivery(ctx, viewer.Actor(), p, c.Params("deliveryId"))
	if err != nil {
		return d.renderNotFound(c, viewer, err)
	}
	v.Path = "/developers/apps/" + v.App.ID + "/webhooks/" + v.Hook.ID
	v.Headers, v.Body, v.loggedDelivery = sent.Headers, sent.Body, loggedDelivery{Delivery: sent.Delivery}
	return d.renderer.Render(c, v.Problem.Status(), deliveryPage, viewer, v)
}

// waitForAttempt waits up to maxWait until the delivery has a new attempt. If there is none, it
// returns nil, and the page shows the delivery as pending.
func (d *dashboard) waitForAttempt(
	ctx context.Context,
	viewer *pages.Viewer,
	p integrations.WebhookPath,
	before integrations.Delivery,
) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollInterval):
		}
		found, err := d.integrations.MyDelivery(ctx, viewer.Actor(), p, before.ID)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || found.Attempt > before.Attempt {
			return err
		}
	}
}

// replayDelivery sends the delivery again. It redirects to the page with the button, which is
// either the page of the delivery or the log.
func (d *dashboard) replayDelivery(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	p := webhookPath(c)
	delivery, err := d.integrations.ReplayDelivery(ctx, viewer.Actor(), p, c.Params("deliveryId"))
	if err == nil {
		err = d.waitForAttempt(ctx, viewer, p, delivery)
	}
	if c.FormValue("from") == "delivery" {
		if err == nil {
			return c.Redirect(
				"/developers/apps/"+p.AppID+"/webhooks/"+p.ID+"/deliveries/"+delivery.ID+"?notice=replayed",
				fiber.StatusSeeOther,
			)
		}
		if problem := pages.FormProblem(err, replayForm); problem != nil {
			return d.renderDelivery(ctx, c, viewer, deliveryView{Problem: problem})
		}
		return d.renderNotFound(c, viewer, err)
	}
	return d.finishWebhookForm(
		ctx,
		c,
		viewer,
		err,
		"notice=replayed&open="+delivery.ID+"#log",
		webhookView{Problem: pages.FormProblem(err, logForm)},
	)
}

// replayFailed sends all deliveries again that have failed since a time.
func (d *dashboard) replayFailed(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	given := c.FormValue("since")
	since, err := time.Parse(sinceLayout, given)
	if err != nil {
		if since, err = time.Parse(sinceLayout+":05", given); err != nil {
			err = fault.InvalidField("since", "must be a date and a time, such as 2026-11-21T09:30")
		}
	}
	n := 0
	if err == nil {
		n, err = d.integrations.ReplayFailed(ctx, viewer.Actor(), webhookPath(c), since)
	} else if _, findErr := d.integrations.MyWebhook(ctx, viewer.Actor(), webhookPath(c)); findErr != nil {
		err = findErr // "not found" for another user's webhook takes precedence over an invalid date
	}
	result := "notice=all#log"
	if n == 0 {
		result = "notice=none#log"
	}
	return d.finishWebhookForm(ctx, c, viewer, err, result, webhookView{Since: given, Problem: pages.FormProblem(err, replayForm)})
}
