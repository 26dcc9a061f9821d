package integrations

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// replayedAtOnce is how many deliveries one call replays.
const replayedAtOnce = 1_000

// MyDeliveries lists what was sent to an endpoint of the caller's in the last 30
// days, the newest first, those with the status alone unless it is empty.
func (s *Service) MyDeliveries(ctx context.Context, by auth.Actor, p WebhookPath, status DeliveryStatus, r page.Request) (page.Result[Delivery], error) {
	if err := r.CheckID(); err != nil {
		return page.Result[Delivery]{}, err
	}
	if status != "" && !slices.Contains([]DeliveryStatus{Pending, Succeeded, Failed}, status) {
		return page.Result[Delivery]{}, fault.InvalidField("status", "must be one of: pending, succeeded, failed")
	}
	e, err := s.MyWebhook(ctx, by, p)
	if err != nil {
		return page.Result[Delivery]{}, err
	}
	return s.Webhooks.Log(ctx, by.UserID, e.ID, status, r)
}

// ReplayDelivery sends a delivery again, in whatever state, with all its attempts
// before it. The event keeps its id.
func (s *Service) ReplayDelivery(ctx context.Context, by auth.Actor, p WebhookPath, deliveryID string) (d Delivery, err error) {
	deliveryID, ok := id.Canonical(deliveryID)
	err = s.whileActive(ctx, by, p, func(ctx context.Context, e Endpoint, now time.Time) error {
		if !ok {
			return ErrDeliveryNotFound
		}
		if d, err = s.Webhooks.Replay(ctx, by.UserID, e.ID, deliveryID, now); err != nil {
			return err
		}
		return s.Jobs.Add(ctx, lookAt(e.ID, d.ID+":replay:"+s.NewID(), now))
	})
	return d, err
}

// ReplayFailed sends again what failed since the moment, at most 1,000 deliveries,
// the oldest first, and says how many they are.
func (s *Service) ReplayFailed(ctx context.Context, by auth.Actor, p WebhookPath, since time.Time) (n int, err error) {
	err = s.whileActive(ctx, by, p, func(ctx context.Context, e Endpoint, now time.Time) error {
		if n, err = s.Webhooks.ReplayFailed(ctx, by.UserID, e.ID, since, now, replayedAtOnce); err != nil || n == 0 {
			return err
		}
		return s.Jobs.Add(ctx, lookAt(e.ID, e.ID+":replay:"+s.NewID(), now))
	})
	return n, err
}

// whileActive does something with an endpoint of the caller's that is active.
func (s *Service) whileActive(ctx context.Context, by auth.Actor, p WebhookPath, do func(ctx context.Context, e Endpoint, now time.Time) error) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		e, err := s.MyWebhook(ctx, by, p)
		if err != nil {
			return err
		}
		if e.Status != EndpointActive {
			return ErrWebhookInactive
		}
		return do(ctx, e, s.Clock.Now())
	})
}

// TestInput says which event to make up.
type TestInput struct {
	Type string `json:"type" validate:"omitempty,max=100" sample:"job.created"`
}

// TestWebhook sends a made-up event, which says so, to an endpoint of the
// caller's: of the type, or else of the first that it wants.
func (s *Service) TestWebhook(ctx context.Context, by auth.Actor, p WebhookPath, in TestInput) (d Delivery, err error) {
	if in.Type != "" && !slices.Contains(EventTypes(), in.Type) {
		return d, fault.InvalidField("type", "must be one of: "+eventNames)
	}
	err = s.whileActive(ctx, by, p, func(ctx context.Context, e Endpoint, now time.Time) error {
		kind := in.Type
		if kind == "" {
			kind = e.Events[0]
		}
		m, err := newMessage(s.NewID(), kind, now, s.madeUp(kind, now))
		if err != nil {
			return err
		}
		one := s.mailing(m, []Endpoint{e})
		d = one.to[0]
		return s.queue(ctx, []mailing{one})
	})
	return d, err
}

// madeUp is the data of an event that never was.
func (s *Service) madeUp(kind string, now time.Time) any {
	now = now.UTC()
	jobID, applicationID := s.NewID(), s.NewID()
	switch kind {
	case event.ApplicationSubmitted{}.Type():
		return submittedData{ApplicationID: applicationID, JobID: jobID, CandidateID: s.NewID(), Status: "pending", SubmittedAt: now, Test: true}
	case event.ApplicationStatusChanged{}.Type():
		return statusData{ApplicationID: applicationID, JobID: jobID, Status: "review", PreviousStatus: "pending", ChangedAt: now, Test: true}
	}
	status := "active"
	if kind == (event.JobClosed{}).Type() {
		status = "closed"
	}
	text := "Leeds"
	return jobData{ID: jobID, Test: true, Job: &JobView{
		ID: jobID, Title: "Registered Nurse", Description: "This listing is made up, to test a webhook.", Company: CompanyView{ID: s.NewID(), Name: "Example Hospital"},
		Location: LocationView{Text: &text, City: &text}, Requirements: []string{}, Benefits: []string{}, Questions: []QuestionView{}, Status: status,
		PostedAt: &now, UpdatedAt: now, URL: s.PublicURL + "/jobs/" + jobID,
	}}
}
