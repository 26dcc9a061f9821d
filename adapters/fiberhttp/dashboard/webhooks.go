package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/modules/integrations"
)

// eventTexts maps each event type to a description of when it is sent.
var eventTexts = map[string]string{
	"job.created":                "a job becomes public",
	"job.updated":                "a public job changes, or becomes public again",
	"job.closed":                 "a job stops being public",
	"application.submitted":      "a candidate applies; only applications that you can see",
	"application.status_changed": "the status of an application changes; only applications that you can see",
}

// webhookForm is the form that creates or changes an endpoint.
type webhookForm struct {
	Action, URL string
	Events      []string
}

// eventChoice is a checkbox for an event type.
type eventChoice struct {
	Type, When string
	Chosen     bool
}

// Choices returns all event types.
func (f webhookForm) Choices() []eventChoice {
	var out []eventChoice
	for _, kind := range integrations.EventTypes() {
		out = append(out, eventChoice{Type: kind, When: eventTexts[kind], Chosen: slices.Contains(f.Events, kind)})
	}

	return out
}

// The forms on the page of an endpoint that can have problems.
const (
	statusForm = "status"
	testForm   = "test"
	replayForm = "replay"
	logForm    = "log"
	secretForm = "secret"
)

const (
	deliveriesPageSize = 20
	// maxWait is the time for which a page waits for the response to a test or a replay, to show
	// it. Most receivers respond at once.
	maxWait = 2 * time.Second
	// pollInterval is the time between two checks whether the response has arrived.
	pollInterval = 50 * time.Millisecond
	// sinceLayout is the format of datetime-local fields.
	sinceLayout = "2006-01-02T15:04"
)

// webhookView is the page of a webhook endpoint with its log. After the endpoint is created, or
// its secret is rotated, the page shows the secret once.
type webhookView struct {
	App  integrations.App
	Hook integrations.Endpoint
	Form webhookForm
	Path string // of this page
	Log  []loggedDelivery
	// Status is the filter of the log, empty for all deliveries.
	Status string
	// Newer and Older are the paths of the other pages of the log, empty for none.
	Newer, Older string
	// Secret is the signing secret, set in the response to the form that created it.
	Secret string
	// Notice is a message above the page.
	Notice string
	// Since is the value of the field in the form that replays failed deliveries.
	Since string
	// Type is the type of the last test event.
	Type    string
	Problem *pages.Problem
}

// Filters returns the status filters of the log.
func (v webhookView) Filters() []string { return []string{"", "pending", "succeeded", "failed"} }

// webhookPath returns the ids of the application and the webhook in the path of the request.
func webhookPath(c *fiber.Ctx) integrations.WebhookPath {
	return integrations.WebhookPath{AppID: c.Params("id"), ID: c.Params("webhookId")}
}

// notices maps the query parameter notice, with which forms redirect, to messages.
var notices = map[string]string{
	"key-deleted": "The key is deleted. Calls with it fail.",
	"again":       "This was done before, and the secret was shown then. If you did not keep it, create a new one.",
	"saved":       "Saved.",
	"paused":      "Paused. Events that happen while it is paused are never sent.",
	"resumed":     "Active. New events are sent from now on.",
	"sent":        "The test event was sent. The log shows the response.",
	"replayed":    "It is sent once more.",
	"none":        "Nothing has failed for good since then. Pending deliveries are retried automatically, or at once with Replay in their row.",
	"all":         "What failed since then is sent once more.",
	"deleted":     "The webhook and its log are deleted.",
}

func (d *dashboard) showWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return d.renderWebhook(ctx, c, viewer, webhookPath(c), webhookView{Notice: notices[c.Query("notice")]})
}

// renderWebhook reads the webhook with a page of its log and renders its page.
func (d *dashboard) renderWebhook(
	ctx context.Context,
	c *fiber.Ctx,
	viewer *pages.Viewer,
	p integrations.WebhookPath,
	v webhookView,
) (err error) {
	if v.App, err = d.integrations.MyApp(ctx, viewer.Actor(), p.AppID); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	if v.Hook, err = d.integrations.MyWebhook(ctx, viewer.Actor(), p); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	v.Path = "/developers/apps/" + v.App.ID + "/webhooks/" + v.Hook.ID
	if v.Problem.ForForm(settingsForm) == nil {
		v.Form.URL, v.Form.Events = v.Hook.URL, v.Hook.Events
	}

	v.Form.Action = v.Path
	if v.Since == "" {
		v.Since = time.Now().UTC().Add(-24 * time.Hour).Format(sinceLayout)
	}

	r := pages.PageRequest(c, deliveriesPageSize)
	if status := c.Query("status"); slices.Contains(v.Filters(), status) {
		v.Status = status
	}

	found, err := d.integrations.MyDeliveries(ctx, viewer.Actor(), p, integrations.DeliveryStatus(v.Status), r)
	if err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	open := c.Query("open")
	for _, delivery := range found.Items {
		v.Log = append(v.Log, loggedDelivery{Delivery: delivery, Open: delivery.ID == open})
	}

	if r.Cursor != "" {
		v.Newer = v.Path + "?status=" + v.Status + "#log"
	}

	if found.NextCursor != "" {
		v.Older = v.Path + "?status=" + v.Status + "&cursor=" + found.NextCursor + "#log"
	}

	return d.renderer.Render(c, v.Problem.Status(), webhookPage, viewer, v)
}

// redirectToWebhook redirects to the page of the webhook with the query parameters.
func redirectToWebhook(c *fiber.Ctx, params string) error {
	p := webhookPath(c)
	return c.Redirect("/developers/apps/"+p.AppID+"/webhooks/"+p.ID+"?"+params, fiber.StatusSeeOther)
}

// renderWebhookProblem renders the page of the webhook with the problem of a form. Without a
// problem in the view it renders the page for 404, or returns the error.
func (d *dashboard) renderWebhookProblem(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, err error, v webhookView) error {
	if v.Problem == nil {
		return d.renderNotFound(c, viewer, err)
	}

	return d.renderWebhook(ctx, c, viewer, webhookPath(c), v)
}

// createWebhook adds a webhook to the application and shows its signing secret once.
func (d *dashboard) createWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := integrations.WebhookInput{URL: c.FormValue("url"), Events: formValues(c, "events")}
	sent := appView{Hook: webhookForm{URL: in.URL, Events: in.Events}}

	actor, err := d.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, webhooksForm, sent)
	}

	e, secret, err := d.integrations.CreateWebhook(ctx, actor, c.Params("id"), in)
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, webhooksForm, sent)
	}

	setContentLocation(c, "/developers/apps/"+e.AppID+"/webhooks/"+e.ID)

	return d.renderWebhook(ctx, c, viewer, integrations.WebhookPath{AppID: e.AppID, ID: e.ID}, webhookView{
		Secret: secret,
		Notice: "The webhook is created. Keep its secret now, then send a test event.",
	})
}

func (d *dashboard) changeWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	url, events := c.FormValue("url"), formValues(c, "events")

	_, err := d.integrations.ChangeWebhook(ctx, viewer.Actor(), webhookPath(c), integrations.WebhookChange{URL: &url, Events: &events})
	if err != nil {
		return d.renderWebhookProblem(ctx, c, viewer, err, webhookView{
			Form:    webhookForm{URL: url, Events: events},
			Problem: pages.FormProblem(err, settingsForm),
		})
	}

	return redirectToWebhook(c, "notice=saved")
}

// setWebhookStatus pauses or resumes the webhook.
func (d *dashboard) setWebhookStatus(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	status := c.FormValue("status")

	_, err := d.integrations.ChangeWebhook(ctx, viewer.Actor(), webhookPath(c), integrations.WebhookChange{Status: &status})
	if err != nil {
		return d.renderWebhookProblem(ctx, c, viewer, err, webhookView{Problem: pages.FormProblem(err, statusForm)})
	}

	if status == string(integrations.EndpointPaused) {
		return redirectToWebhook(c, "notice=paused")
	}

	return redirectToWebhook(c, "notice=resumed")
}

// rotateWebhookSecret replaces the signing secret and shows the new one once.
func (d *dashboard) rotateWebhookSecret(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	p := webhookPath(c)

	actor, err := d.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return d.renderWebhookProblem(ctx, c, viewer, err, webhookView{Problem: pages.FormProblem(err, secretForm)})
	}

	secret, err := d.integrations.RotateWebhookSecret(ctx, actor, p)
	if err != nil {
		return d.renderWebhookProblem(ctx, c, viewer, err, webhookView{Problem: pages.FormProblem(err, secretForm)})
	}

	setContentLocation(c, "/developers/apps/"+p.AppID+"/webhooks/"+p.ID)

	return d.renderWebhook(ctx, c, viewer, p, webhookView{
		Secret: secret,
		Notice: "For 24 hours deliveries are signed with both the old and this secret.",
	})
}

func (d *dashboard) deleteWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	// Deleting a webhook that is already deleted succeeds.
	err := d.integrations.DeleteWebhook(ctx, viewer.Actor(), webhookPath(c))
	if err != nil && !errors.Is(err, integrations.ErrWebhookNotFound) {
		return d.renderNotFound(c, viewer, err)
	}

	return c.Redirect("/developers/apps/"+c.Params("id")+"?notice=deleted", fiber.StatusSeeOther)
}
