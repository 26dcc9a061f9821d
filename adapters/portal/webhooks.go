package portal

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// sendsLimit is appended to the summary of operations that send deliveries.
var sendsLimit = fmt.Sprintf(". An account has %d test events and replays a minute", integrations.SendsAMinute)

// webhookRoutes returns the routes of the webhooks of an app. A webhook is a URL to which events are sent. A delivery is
// one event that is sent to one webhook, in one or more attempts. A replay sends a delivery again. The deliveries of
// a webhook are its log.
func webhookRoutes(i *identity.Service, s *integrations.Service) []web.Route {
	const (
		tag  = "Developers"
		list = "/api/developers/apps/:id/webhooks" // the path of all webhooks of an app
		one  = list + "/:webhookId"                // the path of one of them
	)

	return []web.Route{
		{
			Method:  http.MethodPost,
			Path:    list,
			Auth:    web.Required,
			Status:  201,
			Remote:  true,
			Errors:  []int{403, 404, 409, 429},
			Tag:     tag,
			Summary: "Create a webhook. Its signing secret is shown only once" + needsConfirmation,
			Op: confirmedOp(i,
				func(ctx context.Context, actor auth.Actor, in NewWebhookInput) (web.Reply[newWebhookView], error) {
					e, secret, err := s.CreateWebhook(ctx, actor, in.ID, in.WebhookInput)
					return web.OK(newWebhookView{viewWebhook(e), secret}, "Webhook created successfully"), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    list,
			Auth:    web.Required,
			Tag:     tag,
			Summary: "List the webhooks of an app, at most 20, newest first",
			Op: getByID(
				s.MyWebhooks,
				func(endpoints []integrations.Endpoint) webhooksView {
					return webhooksView{web.Each(endpoints, viewWebhook)}
				},
			),
		},
		{
			Method:  http.MethodGet,
			Path:    one,
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Get one of the webhooks of an app",
			Op:      answerWith(s.MyWebhook, viewOneWebhook, ""),
		},
		{
			Method:  http.MethodPut,
			Path:    one,
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Change a webhook; absent members stay unchanged. The status active also enables a disabled webhook for new events; with paused, pending deliveries fail and can be replayed",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in WebhookChange) (web.Reply[oneWebhookView], error) {
					e, err := s.ChangeWebhook(ctx, c.Actor, in.WebhookPath, in.WebhookChange)
					return web.OK(viewOneWebhook(e), "Webhook updated successfully"), err
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    one,
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Delete a webhook and its log; no further events are sent",
			Op:      perform(s.DeleteWebhook, "Webhook deleted successfully"),
		},
		{
			Method:  http.MethodPost,
			Path:    one + "/secret",
			Auth:    web.Required,
			Remote:  true,
			Errors:  []int{403, 404, 429},
			Tag:     tag,
			Summary: "Replace the signing secret of a webhook. The new secret is shown only once; for 24 hours deliveries are signed with both secrets" + needsConfirmation,
			Op: confirmedOp(i,
				func(ctx context.Context, actor auth.Actor, in NewWebhookSecretInput) (web.Reply[webhookSecretView], error) {
					secret, err := s.RotateWebhookSecret(ctx, actor, in.WebhookPath)
					return web.OK(webhookSecretView{secret}, "Both secrets sign for 24 hours"), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    one + "/test",
			Auth:    web.Required,
			Status:  202,
			Errors:  []int{404, 409, 429},
			Tag:     tag,
			Summary: "Send a test event, whose data has the member test" + sendsLimit,
			Op: web.Op(
				func(ctx context.Context, c web.Call, in TestWebhookInput) (web.Reply[oneDeliveryView], error) {
					d, err := s.TestWebhook(ctx, c.Actor, in.WebhookPath, in.TestInput)
					return web.OK(oneDeliveryView{viewDelivery(d)}, ""), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    one + "/deliveries",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "List the deliveries of the last 30 days, newest first",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in DeliveriesInput) (web.Reply[deliveriesView], error) {
					r, err := s.MyDeliveries(ctx, c.Actor, in.WebhookPath, integrations.DeliveryStatus(in.Status), in.Request())
					return web.OK(deliveriesView{web.Each(r.Items, viewDelivery), paged(r, in.Paging)}, ""), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    one + "/deliveries/:deliveryId/replay",
			Auth:    web.Required,
			Status:  202,
			Errors:  []int{404, 409, 429},
			Tag:     tag,
			Summary: "Replay a delivery. The event keeps its id, and the delivery its earlier attempts" + sendsLimit,
			Op: web.Op(
				func(ctx context.Context, c web.Call, in DeliveryPath) (web.Reply[oneDeliveryView], error) {
					d, err := s.ReplayDelivery(ctx, c.Actor, in.WebhookPath, in.DeliveryID)
					return web.OK(oneDeliveryView{viewDelivery(d)}, ""), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    one + "/replay",
			Auth:    web.Required,
			Status:  202,
			Errors:  []int{404, 409, 429},
			Tag:     tag,
			Summary: "Replay the deliveries that have failed permanently since a time, at most the first 1,000" + sendsLimit,
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ReplayInput) (web.Reply[replayedView], error) {
					const atEndOfDay = false // a date without a time is the start of that day

					since, err := listings.ParseMoment(in.Since, atEndOfDay)
					if err != nil {
						return web.Reply[replayedView]{}, fault.InvalidField("since", err.Error())
					}

					n, err := s.ReplayFailed(ctx, c.Actor, in.WebhookPath, since)

					return web.OK(replayedView{n}, ""), err
				}),
		},
	}
}

// NewWebhookInput is the input of the operation that creates a webhook.
type NewWebhookInput struct {
	IDPath
	Confirmation
	integrations.WebhookInput
}

// NewWebhookSecretInput is the input of the operation that replaces the signing secret of a webhook.
type NewWebhookSecretInput struct {
	integrations.WebhookPath
	Confirmation
}

// WebhookChange is the input of the operation that changes a webhook.
type WebhookChange struct {
	integrations.WebhookPath
	integrations.WebhookChange
}

// TestWebhookInput is the input of the operation that sends a test event. It selects the type of the event. The default
// is the first type to which the webhook subscribes.
type TestWebhookInput struct {
	integrations.WebhookPath
	integrations.TestInput
}

// DeliveriesInput selects a page of a webhook's log.
type DeliveriesInput struct {
	integrations.WebhookPath
	PageInput
	Status string `query:"status" validate:"omitempty,oneof=pending succeeded failed" sample:"failed"`
}

// DeliveryPath identifies a delivery of a webhook.
type DeliveryPath struct {
	integrations.WebhookPath
	DeliveryID string `path:"deliveryId"`
}

// ReplayInput selects the failed deliveries to replay.
type ReplayInput struct {
	integrations.WebhookPath
	Since string `json:"since" validate:"required" sample:"2026-11-20T09:00:00Z"`
}

type webhookView struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	// Status is active, paused, or disabled by the service.
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
}

func viewWebhook(e integrations.Endpoint) webhookView {
	return webhookView{ID: e.ID, URL: e.URL, Events: e.Events, Status: string(e.Status), CreatedAt: e.CreatedAt}
}

type oneWebhookView struct {
	Webhook webhookView `json:"webhook"`
}

func viewOneWebhook(e integrations.Endpoint) oneWebhookView { return oneWebhookView{viewWebhook(e)} }

type newWebhookView struct {
	Webhook webhookView `json:"webhook"`
	// Secret is returned only once.
	Secret string `json:"secret"`
}

type webhooksView struct {
	Webhooks []webhookView `json:"webhooks"`
}

type webhookSecretView struct {
	Secret string `json:"secret"`
}

// deliveryView is a delivery in the log of a webhook. NextAttemptAt is null unless the delivery is pending.
type deliveryView struct {
	ID            string        `json:"id"`
	EventID       string        `json:"eventId"`
	Type          string        `json:"type"`
	Status        string        `json:"status"`
	Attempts      []attemptView `json:"attempts"`
	NextAttemptAt *time.Time    `json:"nextAttemptAt"`
	CreatedAt     time.Time     `json:"createdAt"`
}

// attemptView is an attempt of a delivery. ResponseStatus is null if the receiver has not responded, and Error is null for
// a successful attempt.
type attemptView struct {
	At             time.Time `json:"at"`
	ResponseStatus *int      `json:"responseStatus"`
	// Error is status, timeout, dns, connection, tls, refused_address or another
	// class of failure.
	Error      *string `json:"error"`
	DurationMs int64   `json:"durationMs"`
	// Response is the beginning of the receiver's response.
	Response string `json:"response"`
}

func viewAttempt(a integrations.Attempt) attemptView {
	return attemptView{
		At:             a.At,
		ResponseStatus: optional(a.ResponseStatus),
		Error:          optional(a.Error),
		DurationMs:     a.DurationMs,
		Response:       a.Answer,
	}
}

func viewDelivery(d integrations.Delivery) deliveryView {
	return deliveryView{
		ID:            d.ID,
		EventID:       d.EventID,
		Type:          d.Type,
		Status:        string(d.Status),
		Attempts:      web.Each(d.Attempts, viewAttempt),
		NextAttemptAt: d.NextAt,
		CreatedAt:     d.CreatedAt,
	}
}

type oneDeliveryView struct {
	Delivery deliveryView `json:"delivery"`
}

type deliveriesView struct {
	Deliveries []deliveryView `json:"deliveries"`
	Paged
}

type replayedView struct {
	// Count is the number of deliveries that are sent again.
	Count int `json:"count"`
}
