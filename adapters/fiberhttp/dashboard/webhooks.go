package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// told says in a few words when there is an event of the type.
var told = map[string]string{
	"job.created":                "a job becomes public",
	"job.updated":                "a public job changes, or becomes public again",
	"job.closed":                 "a job stops being public",
	"application.submitted":      "somebody applies; for those who may see it",
	"application.status_changed": "an application moves on; for those who may see it",
}

// hookForm is where an endpoint is made or changed.
type hookForm struct {
	Action, URL string
	Events      []string
}

// eventChoice is a type of event to choose or not.
type eventChoice struct {
	Type, When string
	Chosen     bool
}

// Choices are all types of events.
func (f hookForm) Choices() []eventChoice {
	var out []eventChoice
	for _, kind := range integrations.EventTypes() {
		out = append(out, eventChoice{kind, told[kind], slices.Contains(f.Events, kind)})
	}
	return out
}

// The forms on the page of an endpoint that can be refused.
const (
	statusForm = "status"
	testForm   = "test"
	replayForm = "replay"
	logForm    = "log"
	secretForm = "secret"
)

const (
	deliveriesShown = 20
	// What is sent by a button is mostly answered at once: the page waits that long,
	// so that it can show the answer.
	patience = 2 * time.Second
	glance   = 50 * time.Millisecond
	// sinceForm is how a browser sends a moment.
	sinceForm = "2006-01-02T15:04"
)

// hookView is an endpoint with a page of its log, and its secret where that is
// shown once.
type hookView struct {
	App          integrations.App
	Hook         integrations.Endpoint
	Form         hookForm
	Path         string
	Log          []logged
	Status       string // of the deliveries shown, empty for all
	Newer, Older string
	Secret, Said string
	Since        string
	Type         string // of the test event
	Problem      *pages.Problem
}

// Filters are the ways to look at the log.
func (v hookView) Filters() []string { return []string{"", "pending", "succeeded", "failed"} }

func hookPath(c *fiber.Ctx) integrations.WebhookPath {
	return integrations.WebhookPath{AppID: c.Params("id"), ID: c.Params("webhookId")}
}

// said is what a page says after a redirect from one of its forms.
var said = map[string]string{
	"again": "This was done before, and what is shown once was shown then. If you did not keep it, make a new one.",
	"saved": "Saved.", "paused": "Paused. What happens until you resume it is not sent, then either.", "resumed": "Active. New events are sent from now on.", "sent": "The test event was sent. The log says what came of it.",
	"replayed": "It is sent once more.", "none": "Nothing has failed for good since then. What is pending is tried again by itself, or at once by Replay in its row.", "all": "What failed since then is sent once more.",
}

func (d *dashboard) showHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return d.showHookAs(ctx, c, who, hookPath(c), hookView{Said: said[c.Query("said")]})
}

func (d *dashboard) showHookAs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, p integrations.WebhookPath, v hookView) (err error) {
	if v.App, err = d.module.MyApp(ctx, who.Actor(), p.AppID); err != nil {
		return d.absent(c, who, err)
	}
	if v.Hook, err = d.module.MyWebhook(ctx, who.Actor(), p); err != nil {
		return d.absent(c, who, err)
	}
	v.Path = "/developers/apps/" + v.App.ID + "/webhooks/" + v.Hook.ID
	if v.Problem.In(settingsForm) == nil {
		v.Form.URL, v.Form.Events = v.Hook.URL, v.Hook.Events
	}
	v.Form.Action = v.Path
	if v.Since == "" {
		v.Since = time.Now().UTC().Add(-24 * time.Hour).Format(sinceForm)
	}
	r := page.Request{Number: 1, Size: deliveriesShown}
	if cursor, ok := id.Canonical(c.Query("cursor")); ok {
		r.Cursor = cursor
	}
	if status := c.Query("status"); slices.Contains(v.Filters(), status) {
		v.Status = status
	}
	found, err := d.module.MyDeliveries(ctx, who.Actor(), p, integrations.DeliveryStatus(v.Status), r)
	if err != nil {
		return d.absent(c, who, err)
	}
	open := c.Query("open")
	for _, delivery := range found.Items {
		v.Log = append(v.Log, logged{Delivery: delivery, Open: delivery.ID == open})
	}
	if r.Cursor != "" {
		v.Newer = v.Path + "?status=" + v.Status + "#log"
	}
	if found.NextCursor != "" {
		v.Older = v.Path + "?status=" + v.Status + "&cursor=" + found.NextCursor + "#log"
	}
	return d.frame.Show(c, v.Problem.Status(), hookPage, who, v)
}

// afterHook leads back to the endpoint, or says at the form there why it did not
// work.
func (d *dashboard) afterHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, err error, to string, v hookView) error {
	p := hookPath(c)
	if err == nil {
		return c.Redirect("/developers/apps/"+p.AppID+"/webhooks/"+p.ID+"?"+to, fiber.StatusSeeOther)
	}
	if v.Problem == nil {
		return d.absent(c, who, err)
	}
	return d.showHookAs(ctx, c, who, p, v)
}

func (d *dashboard) createHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	in := integrations.WebhookInput{URL: c.FormValue("url"), Events: values(c, "events")}
	var e integrations.Endpoint
	var secret string
	by, err := d.frame.Confirm(ctx, c, who)
	if err == nil {
		e, secret, err = d.module.CreateWebhook(ctx, by, c.Params("id"), in)
	}
	if err != nil {
		return d.after(ctx, c, who, err, hooksForm, appView{Hook: hookForm{URL: in.URL, Events: in.Events}})
	}
	made(c, "/developers/apps/"+e.AppID+"/webhooks/"+e.ID)
	return d.showHookAs(ctx, c, who, integrations.WebhookPath{AppID: e.AppID, ID: e.ID}, hookView{Secret: secret, Said: "The webhook is made. Keep its secret now, then send a test event."})
}

func (d *dashboard) changeHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	url, events := c.FormValue("url"), values(c, "events")
	_, err := d.module.ChangeWebhook(ctx, who.Actor(), hookPath(c), integrations.WebhookChange{URL: &url, Events: &events})
	return d.afterHook(ctx, c, who, err, "said=saved", hookView{Form: hookForm{URL: url, Events: events}, Problem: pages.Refused(err, settingsForm)})
}

func (d *dashboard) pauseHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	status, to := c.FormValue("status"), "said=resumed"
	if status == string(integrations.EndpointPaused) {
		to = "said=paused"
	}
	_, err := d.module.ChangeWebhook(ctx, who.Actor(), hookPath(c), integrations.WebhookChange{Status: &status})
	return d.afterHook(ctx, c, who, err, to, hookView{Problem: pages.Refused(err, statusForm)})
}

func (d *dashboard) rotateHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	var secret string
	by, err := d.frame.Confirm(ctx, c, who)
	if err == nil {
		secret, err = d.module.RotateWebhookSecret(ctx, by, hookPath(c))
	}
	if err != nil {
		return d.afterHook(ctx, c, who, err, "", hookView{Problem: pages.Refused(err, secretForm)})
	}
	p := hookPath(c)
	made(c, "/developers/apps/"+p.AppID+"/webhooks/"+p.ID)
	return d.showHookAs(ctx, c, who, p, hookView{Secret: secret, Said: "For 24 hours the old secret signs beside this one, so that you can change over at your leisure."})
}

func (d *dashboard) removeHook(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	// What has ended already is as it was wanted.
	if err := d.module.DeleteWebhook(ctx, who.Actor(), hookPath(c)); err != nil && !errors.Is(err, integrations.ErrWebhookNotFound) {
		return d.absent(c, who, err)
	}
	return c.Redirect("/developers/apps/"+c.Params("id")+"#webhooks", fiber.StatusSeeOther)
}
