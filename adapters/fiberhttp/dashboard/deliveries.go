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

// A delivery is an event that is sent to a webhook. If an attempt fails, the delivery is attempted again
// later. A replay sends a delivery once more, whether it has succeeded or failed.

// loggedDelivery is a delivery in the log of its webhook.
type loggedDelivery struct {
	integrations.Delivery
	Open bool // the page shows the details of the delivery
}

// NewestAttempts returns the attempts of the delivery, the newest first.
func (l loggedDelivery) NewestAttempts() []attemptView {
	attempts := web.Each(l.Attempts, func(a integrations.Attempt) attemptView { return attemptView{a} })
	slices.Reverse(attempts)
	return attempts
}

// attemptView is an attempt of a delivery.
type attemptView struct{ integrations.Attempt }

// Milliseconds returns the duration of the attempt as an int, which the template can format.
func (t attemptView) Milliseconds() int { return int(t.DurationMs) }

// attemptErrors maps the error codes of attempts to messages.
var attemptErrors = map[string]string{
	"bad_address": "The URL is not valid.",
	"refused_address": "This is not an address on the public internet. " +
		"The operator of the service can allow private addresses with webhooks.allow_private_networks.",
	"dns":        "The name of the server was not found.",
	"tls":        "The certificate was not accepted.",
	"timeout":    "There was no response within 15 seconds.",
	"connection": "The server refused or closed the connection.",
	"not_signed": "The delivery could not be signed because of an error on our side.",
}

// Outcome describes the result of the attempt. ResponseStatus is 0 if the receiver has not responded.
func (t attemptView) Outcome() string {
	status := strconv.Itoa(t.ResponseStatus)
	isRedirect := t.ResponseStatus >= 300 && t.ResponseStatus < 400

	switch {
	case t.Error == "":
		return "Accepted with status " + status
	case isRedirect:
		return "Answered with status " + status + "; redirects are not followed"
	case t.ResponseStatus == fiber.StatusUnauthorized, t.ResponseStatus == fiber.StatusForbidden:
		return "Answered with status " + status + "; check that the receiver uses the current secret"
	case t.Error == "status":
		return "Answered with status " + status
	}

	return cmp.Or(attemptErrors[t.Error], "The attempt failed.")
}

// sendTestEvent sends an event of the chosen type to the webhook and waits for its result.
func (d *dashboard) sendTestEvent(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := integrations.TestInput{Type: c.FormValue("type")}

	delivery, err := d.integrations.TestWebhook(ctx, viewer.Actor(), webhookPath(c), in)
	if err != nil {
		v := webhookView{Type: in.Type, Problem: pages.FormProblem(err, testForm)}
		return d.renderWebhookProblem(ctx, c, viewer, err, v)
	}

	if err := d.waitForAttempt(ctx, viewer, webhookPath(c), delivery); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	return redirectToWebhook(c, "notice=sent&open="+delivery.ID+"#log")
}

// deliveryView is the data of the page of a delivery.
type deliveryView struct {
	App     integrations.App
	Hook    integrations.Endpoint
	Path    string   // of the page of the webhook
	Headers []string // of the request as it was sent
	Body    string   // of the request as it was sent
	Notice  string
	Problem *pages.Problem // of the form that replays the delivery
	loggedDelivery
}

// showDelivery handles the request for the page of a delivery.
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
	v.Headers = sent.Headers
	v.Body = sent.Body
	v.loggedDelivery = loggedDelivery{Delivery: sent.Delivery}

	return d.renderer.Render(c, v.Problem.Status(), deliveryPage, viewer, v)
}

// waitForAttempt waits up to maxWait until the delivery has one more attempt than before, so that the
// page can show its result. Without a new attempt it also returns nil, and the page shows the delivery
// as pending.
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

		current, err := d.integrations.MyDelivery(ctx, viewer.Actor(), p, before.ID)
		if ctx.Err() != nil {
			return nil // the time limit has passed, which is not an error
		}

		isAttempted := err == nil && current.Attempt > before.Attempt
		if err != nil || isAttempted {
			return err
		}
	}
}

// replayDelivery sends the delivery again. It redirects to the page with the button, which is
// either the page of the delivery or the log.
func (d *dashboard) replayDelivery(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	p := webhookPath(c)
	isDeliveryPage := c.FormValue("from") == "delivery"

	delivery, err := d.integrations.ReplayDelivery(ctx, viewer.Actor(), p, c.Params("deliveryId"))
	if err != nil && isDeliveryPage {
		problem := pages.FormProblem(err, replayForm)
		if problem == nil {
			return d.renderNotFound(c, viewer, err)
		}

		return d.renderDelivery(ctx, c, viewer, deliveryView{Problem: problem})
	}

	if err != nil {
		return d.renderWebhookProblem(ctx, c, viewer, err, webhookView{Problem: pages.FormProblem(err, logForm)})
	}

	if err := d.waitForAttempt(ctx, viewer, p, delivery); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	if isDeliveryPage {
		path := "/developers/apps/" + p.AppID + "/webhooks/" + p.ID + "/deliveries/" + delivery.ID
		return c.Redirect(path+"?notice=replayed", fiber.StatusSeeOther)
	}

	return redirectToWebhook(c, "notice=replayed&open="+delivery.ID+"#log")
}

// replayFailed replays all deliveries that have failed since the time in the form.
func (d *dashboard) replayFailed(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	count, err := d.replayFailedSince(ctx, c, viewer)
	if err != nil {
		v := webhookView{Since: c.FormValue("since"), Problem: pages.FormProblem(err, replayForm)}
		return d.renderWebhookProblem(ctx, c, viewer, err, v)
	}

	if count == 0 {
		return redirectToWebhook(c, "notice=none#log")
	}

	return redirectToWebhook(c, "notice=all#log")
}

// replayFailedSince replays the deliveries that failed since the time in the form, and returns
// their number.
func (d *dashboard) replayFailedSince(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (int, error) {
	since, invalid := parseSince(c.FormValue("since"))
	if invalid == nil {
		return d.integrations.ReplayFailed(ctx, viewer.Actor(), webhookPath(c), since)
	}

	// "Not found" for another user's webhook takes precedence over an invalid time.
	if _, err := d.integrations.MyWebhook(ctx, viewer.Actor(), webhookPath(c)); err != nil {
		return 0, err
	}

	return 0, invalid
}

// parseSince parses the value of a datetime-local field, with or without seconds.
func parseSince(text string) (time.Time, error) {
	for _, layout := range []string{sinceLayout, sinceLayout + ":05"} {
		if since, err := time.Parse(layout, text); err == nil {
			return since, nil
		}
	}

	return time.Time{}, fault.InvalidField("since", "must be a date and a time, such as 2026-11-21T09:30")
}
