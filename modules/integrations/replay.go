package integrations

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
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

// Sent is a delivery with what was sent: of its newest attempt, and nothing if
// there was none.
type Sent struct {
	Delivery
	Headers []string // as lines, in the order of the specification
	Body    string
}

// MyDelivery is a delivery to an endpoint of the caller's. What is signed is
// signed with the secrets of now.
func (s *Service) MyDelivery(ctx context.Context, by auth.Actor, p WebhookPath, deliveryID string) (out Sent, err error) {
	e, err := s.MyWebhook(ctx, by, p)
	if err != nil {
		return out, err
	}
	deliveryID, ok := id.Canonical(deliveryID)
	if !ok {
		return out, ErrDeliveryNotFound
	}
	sent, err := s.Webhooks.Sent(ctx, by.UserID, e.ID, deliveryID)
	if out.Delivery = sent.Delivery; err != nil || len(sent.Attempts) == 0 {
		return out, err
	}
	if m := sent.Message; m.OrganizationID != "" {
		if may, err := s.mayHear(ctx, e, m.OrganizationID, m.ApplicantID); err != nil || !may {
			return out, err // it may have been let hear it then, and never got it
		}
	}
	at := sent.Attempts[len(sent.Attempts)-1].At
	signature, err := s.signature(e, sent, at)
	out.Body = sent.Message.Body
	for name, value := range headers(sent, at, signature) {
		out.Headers = append(out.Headers, name+": "+value)
	}
	slices.Sort(out.Headers)
	return out, err
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
		return s.Tasks.Add(ctx, lookAt(e.ID, d.ID+":replay:"+s.NewID(), now))
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
		return s.Tasks.Add(ctx, lookAt(e.ID, e.ID+":replay:"+s.NewID(), now))
	})
	return n, err
}

// sendsAMinute bounds what one account has sent beside what happens: whoever tests
// by hand, or by a program, stays far below it.
var sendsAMinute = limit.Rule{Name: "webhook-sends", Max: SendsAMinute, Per: time.Minute}

// SendsAMinute is how many test events and replays one account may ask for in a
// minute.
const SendsAMinute = 600

// whileActive has something sent to an endpoint of the caller's that is active.
func (s *Service) whileActive(ctx context.Context, by auth.Actor, p WebhookPath, do func(ctx context.Context, e Endpoint, now time.Time) error) error {
	if err := s.take(ctx, sendsAMinute, by.UserID); err != nil {
		return err
	}
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

// take spends one of what the rule lets the account do, or is fault.ErrRateLimit.
func (s *Service) take(ctx context.Context, rule limit.Rule, userID string) error {
	spent, err := s.Limiter.Take(ctx, rule, userID)
	if err == nil && !spent.Allowed {
		err = fault.ErrRateLimit.WithRetryAfter(spent.RetryAfter)
	}
	return err
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
		return SubmittedData{ApplicationID: applicationID, JobID: jobID, CandidateID: s.NewID(), Status: "pending", SubmittedAt: now, Test: true}
	case event.ApplicationStatusChanged{}.Type():
		return StatusChangedData{ApplicationID: applicationID, JobID: jobID, Status: "review", PreviousStatus: "pending", ChangedAt: now, Test: true}
	}
	status := "active"
	if kind == (event.JobClosed{}).Type() {
		status = "closed"
	}
	text := "Leeds"
	return JobData{ID: jobID, Test: true, Job: &JobView{
		ID: jobID, Title: "Registered Nurse", Description: "This listing is made up, to test a webhook.", Company: CompanyView{ID: s.NewID(), Name: "Example Hospital"},
		Location: LocationView{Text: &text, City: &text}, Requirements: []string{}, Benefits: []string{}, Questions: []QuestionView{}, Status: status,
		PostedAt: &now, UpdatedAt: now, URL: s.PublicURL + "/jobs/" + jobID,
	}}
}
