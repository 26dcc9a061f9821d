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

// loggedDelivery is a delivery in the log of its endpoint. Open shows its details.
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

type attemptView struct{ integrations.Attempt }

// attemptErrors are the messages for the classes of errors.
var attemptErrors = map[string]string{
	"bad_address":     "The address is not one that can be called.",
	"refused_address": "This is not an address on the public internet. The operator of the service can allow others with webhooks.allow_private_networks.",
	"dns":             "The name of the server was not found.",
	"tls":             "The certificate was not accepted.",
	"timeout":         "There was no answer within 15 seconds.",
	"connection":      "The server refused or closed the connection.",
	"not_signed":      "The delivery could not be signed because of an error on our side.",
}

// Outcome describes the result of the attempt.
func (t attemptView) Outcome() string {
	switch {
	case t.Error == "":
		return "Taken, with status " + strconv.Itoa(t.ResponseStatus)
	case t.ResponseStatus >= 300 && t.ResponseStatus < 400:
		return "Answered with status " + strconv.Itoa(t.ResponseStatus) + "; redirects are not followed"
	case t.ResponseStatus == 401, t.ResponseStatus == 403:
		return "Answered with status " + strconv.Itoa(t.ResponseStatus) + ": does it have the present secret?"
	case t.Error == "status":
		return "Answered with status " + strconv.Itoa(t.ResponseStatus)
	}
	return cmp.Or(attemptErrors[t.Error], t.Error)
}

func (d *dashboard) testHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := integrations.TestInput{Type: c.FormValue("type")}
	delivery, err := d.module.TestWebhook(ctx, who.Actor(), hookPath(c), in)
	if err == nil {
		err = d.waitForAttempt(ctx, who, hookPath(c), delivery)
	}
	return d.finishHookForm(ctx, c, who, err, "said=sent&open="+delivery.ID+"#log", hookView{Type: in.Type, Problem: pages.FormProblem(err, testForm)})
}

// deliveryView is a delivery with its request.
type deliveryView struct {
	App     integrations.App
	Hook    integrations.Endpoint
	Path    string // of the endpoint
	Headers []string
	Body    string
	Notice  string
	Problem *pages.Problem
	loggedDelivery
}

func (d *dashboard) showDelivery(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return d.showDeliveryAs(ctx, c, who, deliveryView{Notice: notices[c.Query("said")]})
}

func (d *dashboard) showDeliveryAs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, v deliveryView) (err error) {
	p := hookPath(c)
	if v.App, err = d.module.MyApp(ctx, who.Actor(), p.AppID); err != nil {
		return d.renderNotFound(c, who, err)
	}
	if v.Hook, err = d.module.MyWebhook(ctx, who.Actor(), p); err != nil {
		return d.renderNotFound(c, who, err)
	}
	sent, err := d.module.MyDelivery(ctx, who.Actor(), p, c.Params("deliveryId"))
	if err != nil {
		return d.renderNotFound(c, who, err)
	}
	v.Path, v.Headers, v.Body, v.loggedDelivery = "/developers/apps/"+v.App.ID+"/webhooks/"+v.Hook.ID, sent.Headers, sent.Body, loggedDelivery{Delivery: sent.Delivery}
	return d.renderer.Render(c, v.Problem.Status(), deliveryPage, who, v)
}

// waitForAttempt waits up to maxWait for the next attempt of the delivery.
func (d *dashboard) waitForAttempt(ctx context.Context, who *pages.Viewer, p integrations.WebhookPath, asked integrations.Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollInterval):
		}
		found, err := d.module.MyDelivery(ctx, who.Actor(), p, asked.ID)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || found.Attempt > asked.Attempt {
			return err
		}
	}
}

// replayDelivery redirects to the page of the button: that of the delivery, or its row in
// the log.
func (d *dashboard) replayDelivery(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	p := hookPath(c)
	delivery, err := d.module.ReplayDelivery(ctx, who.Actor(), p, c.Params("deliveryId"))
	if err == nil {
		err = d.waitForAttempt(ctx, who, p, delivery)
	}
	if c.FormValue("on") == "its page" {
		if err == nil {
			return c.Redirect("/developers/apps/"+p.AppID+"/webhooks/"+p.ID+"/deliveries/"+delivery.ID+"?said=replayed", fiber.StatusSeeOther)
		}
		if problem := pages.FormProblem(err, replayForm); problem != nil {
			return d.showDeliveryAs(ctx, c, who, deliveryView{Problem: problem})
		}
		return d.renderNotFound(c, who, err)
	}
	return d.finishHookForm(ctx, c, who, err, "said=replayed&open="+delivery.ID+"#log", hookView{Problem: pages.FormProblem(err, logForm)})
}

func (d *dashboard) replayFailed(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	given := c.FormValue("since")
	since, err := time.Parse(sinceLayout, given)
	if err != nil {
		if since, err = time.Parse(sinceLayout+":05", given); err != nil {
			err = fault.InvalidField("since", "must be a date and a time, such as 2026-11-21T09:30")
		}
	}
	n := 0
	if err == nil {
		n, err = d.module.ReplayFailed(ctx, who.Actor(), hookPath(c), since)
	} else if _, absent := d.module.MyWebhook(ctx, who.Actor(), hookPath(c)); absent != nil {
		err = absent
	}
	to := "said=all#log"
	if n == 0 {
		to = "said=none#log"
	}
	return d.finishHookForm(ctx, c, who, err, to, hookView{Since: given, Problem: pages.FormProblem(err, replayForm)})
}

// Milliseconds returns the duration of the attempt.
func (t attemptView) Milliseconds() int { return int(t.DurationMs) }
