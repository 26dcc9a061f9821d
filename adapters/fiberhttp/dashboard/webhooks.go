package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
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

// webhookForm is the data of the form that creates or changes a webhook.
type webhookForm struct {
	Action string   // the path to which the form is sent
	URL    string   // the receiver of the events
	Events []string // the chosen event types
}

// eventChoice is a checkbox for an event type.
type eventChoice struct {
	Type   string
	When   string // when events of this type are sent
	Chosen bool
}

// Choices returns a checkbox for each event type.
func (f webhookForm) Choices() []eventChoice {
	return web.Each(integrations.EventTypes(), func(eventType string) eventChoice {
		return eventChoice{Type: eventType, When: eventTexts[eventType], Chosen: slices.Contains(f.Events, eventType)}
	})
}

// The names of the forms on the page of a webhook that can have problems. The form with the URL and
// the events has the name settingsForm, like the one on the page of an application.
const (
	statusForm = "status"
	testForm   = "test"
	replayForm = "replay" // replays the deliveries that have failed since a time
	logForm    = "log"    // replays one delivery of the log
	secretForm = "secret"
)

const (
	// deliveriesPageSize is the number of deliveries on a page of the log.
	deliveriesPageSize = 20
	// maxWait is the time for which a page waits for the response to a test or a replay, to show
	// it. Most receivers respond at once.
	maxWait = 2 * time.Second
	// pollInterval is the time between two checks whether the response has arrived.
	pollInterval = 50 * time.Millisecond
	// sinceLayout is the format of datetime-local fields.
	sinceLayout = "2006-01-02T15:04"
)

// webhookView is the data of the page of a webhook with its log. The log lists the deliveries: the
// events that were sent, or are to be sent, to the URL of the webhook. After the webhook is created, or
// its secret is replaced, the page shows the secret once.
type webhookView struct {
	App  integrations.App
	Hook integrations.Endpoint
	Form webhookForm // for the settings
	Path string      // of this page
	Log  []loggedDelivery
	// Status is the filter of the log, empty for all deliveries.
	Status string
	// Newer is the path of the first page of the log. It is empty if this is the first page. Older
	// is the path of the next page. It is empty if this is the last page.
	Newer, Older string
	// Secret is the signing secret, set in the response to the form that created it.
	Secret string
	// Notice is a message above the page.
	Notice string
	// Since is the time in the form that replays failed deliveries.
	Since string
	// Type is the event type that was chosen in the form for a test event.
	Type string
	// Problem is the problem of the form that was sent before. It is nil if there is none.
	Problem *pages.Problem
}

// Filters returns the status filters of the log.
func (v webhookView) Filters() []string { return []string{"", "pending", "succeeded", "failed"} }

// webhookPath returns the ids of the application and the webhook in the path of the request.
func webhookPath(c *fiber.Ctx) integrations.WebhookPath {
	return integrations.WebhookPath{AppID: c.Params("id"), ID: c.Params("webhookId")}
}

// notices maps the values of the query parameter notice to messages. A form redirects to the page
// with this parameter. A form with a new secret that is sent twice redirects with "again" (see
// once.go).
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

// showWebhook handles the request for the page of a webhook.
func (d *dashboard) showWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return d.renderWebhook(ctx, c, viewer, webhookPath(c), webhookView{Notice: notices[c.Query("notice")]})
}

// renderWebhook reads the webhook with a part of its log and renders its page. v has the fields that a
// form has set: a notice, a secret, or a problem with the values that the user has entered.
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
	v.Form.Action = v.Path

	// A form with a problem keeps the values that the user has entered.
	if v.Problem.ForForm(settingsForm) == nil {
		v.Form.URL = v.Hook.URL
		v.Form.Events = v.Hook.Events
	}

	if v.Since == "" {
		v.Since = time.Now().UTC().Add(-24 * time.Hour).Format(sinceLayout)
	}

	if err := d.readLog(ctx, c, viewer, p, &v); err != nil {
		return d.renderNotFound(c, viewer, err)
	}

	return d.renderer.Render(c, v.Problem.Status(), webhookPage, viewer, v)
}

// readLog fills in the page of the log that the query selects: the deliveries with the status
// "status", after the delivery "cursor". The delivery "open" shows its details. Unknown statuses are
// ignored.
func (d *dashboard) readLog(
	ctx context.Context,
	c *fiber.Ctx,
	viewer *pages.Viewer,
	p integrations.WebhookPath,
	v *webhookView,
) error {
	if status := c.Query("status"); slices.Contains(v.Filters(), status) {
		v.Status = status
	}

	request := pages.PageRequest(c, deliveriesPageSize)

	deliveries, err := d.integrations.MyDeliveries(ctx, viewer.Actor(), p, integrations.DeliveryStatus(v.Status), request)
	if err != nil {
		return err
	}

	openID := c.Query("open")
	for _, delivery := range deliveries.Items {
		v.Log = append(v.Log, loggedDelivery{Delivery: delivery, Open: delivery.ID == openID})
	}

	if isFirstPage := request.Cursor == ""; !isFirstPage {
		v.Newer = v.Path + "?status=" + v.Status + "#log"
	}

	if isLastPage := deliveries.NextCursor == ""; !isLastPage {
		v.Older = v.Path + "?status=" + v.Status + "&cursor=" + deliveries.NextCursor + "#log"
	}

	return nil
}

// redirectToWebhook redirects to the page of the webhook. query is the query of its URL, and may be
// followed by a fragment.
func redirectToWebhook(c *fiber.Ctx, query string) error {
	p := webhookPath(c)
	return c.Redirect("/developers/apps/"+p.AppID+"/webhooks/"+p.ID+"?"+query, fiber.StatusSeeOther)
}

// renderWebhookProblem renders the page of the webhook after a form has failed with err. The caller has
// set v.Problem to pages.FormProblem(err, form). For an error that the user cannot correct, v.Problem
// is nil. Then renderWebhookProblem renders the page for 404, or returns the error.
func (d *dashboard) renderWebhookProblem(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, err error, v webhookView) error {
	if v.Problem == nil {
		return d.renderNotFound(c, viewer, err)
	}

	return d.renderWebhook(ctx, c, viewer, webhookPath(c), v)
}

// createWebhook adds a webhook to the application and shows its signing secret once.
func (d *dashboard) createWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	in := integrations.WebhookInput{URL: c.FormValue("url"), Events: formValues(c, "events")}
	withInput := appView{Hook: webhookForm{URL: in.URL, Events: in.Events}} // to show the values again

	actor, err := d.renderer.Confirm(ctx, c, viewer)
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, webhooksForm, withInput)
	}

	endpoint, secret, err := d.integrations.CreateWebhook(ctx, actor, c.Params("id"), in)
	if err != nil {
		return d.finishAppForm(ctx, c, viewer, err, webhooksForm, withInput)
	}

	setContentLocation(c, "/developers/apps/"+endpoint.AppID+"/webhooks/"+endpoint.ID)

	return d.renderWebhook(ctx, c, viewer, integrations.WebhookPath{AppID: endpoint.AppID, ID: endpoint.ID}, webhookView{
		Secret: secret,
		Notice: "The webhook is created. Keep its secret now, then send a test event.",
	})
}

// changeWebhook changes the URL and the event types of the webhook.
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

// deleteWebhook deletes the webhook with its log. A webhook that is already deleted is not an error.
func (d *dashboard) deleteWebhook(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	err := d.integrations.DeleteWebhook(ctx, viewer.Actor(), webhookPath(c))
	if err != nil && !errors.Is(err, integrations.ErrWebhookNotFound) {
		return d.renderNotFound(c, viewer, err)
	}

	return c.Redirect("/developers/apps/"+c.Params("id")+"?notice=deleted", fiber.StatusSeeOther)
}
