package dashboard

import (
	"context"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// logged is a delivery in the log of its endpoint.
type logged struct {
	integrations.Delivery
	Open bool
}

// Tried are its attempts, the newest first.
func (l logged) Tried() []tried {
	out := make([]tried, 0, len(l.Attempts))
	for i := len(l.Attempts) - 1; i >= 0; i-- {
		out = append(out, tried{l.Attempts[i]})
	}
	return out
}

type tried struct{ integrations.Attempt }

// wrong is what the classes of errors mean.
var wrong = map[string]string{
	"bad_address":     "The address is not one that can be called.",
	"refused_address": "The name leads to an address that is not on the public internet.",
	"dns":             "The name of the server was not found.",
	"tls":             "The certificate was not accepted.",
	"timeout":         "There was no answer within 15 seconds.",
	"connection":      "The server did not take the connection, or dropped it.",
	"not_signed":      "It could not be signed. This is our fault, and we know of it.",
}

// Outcome says in words what came of the attempt.
func (t tried) Outcome() string {
	switch {
	case t.Error == "":
		return "Taken, with status " + strconv.Itoa(t.ResponseStatus)
	case t.ResponseStatus >= 300 && t.ResponseStatus < 400:
		return "Answered with status " + strconv.Itoa(t.ResponseStatus) + "; redirects are not followed"
	case t.Error == "status":
		return "Answered with status " + strconv.Itoa(t.ResponseStatus)
	}
	if words, known := wrong[t.Error]; known {
		return words
	}
	return t.Error
}

func (d *dashboard) testHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := integrations.TestInput{Type: c.FormValue("type")}
	delivery, err := d.module.TestWebhook(ctx, who.Actor(), hookPath(c), in)
	if err == nil {
		err = d.await(ctx, who, hookPath(c), delivery.ID)
	}
	return d.afterHook(ctx, c, who, err, "said=sent&open="+delivery.ID+"#log", hookView{Type: in.Type, Problem: pages.Refused(err, testForm)})
}

// await waits for the first attempt of what was sent to the endpoint just now,
// but not for long.
func (d *dashboard) await(ctx context.Context, who *pages.Viewer, p integrations.WebhookPath, deliveryID string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(glance):
		}
		found, err := d.module.MyDeliveries(ctx, who.Actor(), p, "", page.Request{Number: 1, Size: 1})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || len(found.Items) == 0 || found.Items[0].ID != deliveryID || len(found.Items[0].Attempts) > 0 {
			return err
		}
	}
}

func (d *dashboard) replayDelivery(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	delivery, err := d.module.ReplayDelivery(ctx, who.Actor(), hookPath(c), c.Params("deliveryId"))
	return d.afterHook(ctx, c, who, err, "said=replayed&open="+delivery.ID+"#log", hookView{Problem: pages.Refused(err, logForm)})
}

func (d *dashboard) replayFailed(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	given := c.FormValue("since")
	since, err := time.Parse(sinceForm, given)
	if err != nil {
		if since, err = time.Parse(sinceForm+":05", given); err != nil {
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
	return d.afterHook(ctx, c, who, err, to, hookView{Since: given, Problem: pages.Refused(err, replayForm)})
}

// Milliseconds is how long the attempt took.
func (t tried) Milliseconds() int { return int(t.DurationMs) }
