package integrations

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/valid"
)

// maxReplayed is the maximum number of deliveries that one request replays.
const maxReplayed = 1_000

// MyDeliveries lists the deliveries to one of the caller's endpoints in the last 30
// days, the newest first, with the status unless it is empty.
func (s *Service) MyDeliveries(
	ctx context.Context,
	by auth.Actor,
	p WebhookPath,
	status DeliveryStatus,
	r page.Request,
) (page.Result[Delivery], error) {
	if err := cmp.Or(r.CheckID(), valid.Value("status", string(status), "omitempty,oneof=pending succeeded failed")); err != nil {
		return page.Result[Delivery]{}, err
	}

	e, err := s.MyWebhook(ctx, by, p)
	if err != nil {
		return page.Result[Delivery]{}, err
	}

	return s.Deliveries.List(ctx, by.UserID, e.ID, status, r)
}

// DeliveryRequest is a delivery with the HTTP request of its latest attempt. The request is
// empty if no attempt was made.
type DeliveryRequest struct {
	Delivery
	Headers []string // lines, sorted
	Body    string
}

// MyDelivery returns a delivery to one of the caller's endpoints. Signatures are not stored:
// the returned signature is made with the current secrets of the endpoint.
func (s *Service) MyDelivery(ctx context.Context, by auth.Actor, p WebhookPath, deliveryID string) (DeliveryRequest, error) {
	endpoint, err := s.MyWebhook(ctx, by, p)
	if err != nil {
		return DeliveryRequest{}, err
	}

	deliveryID, isID := id.Canonical(deliveryID)
	if !isID {
		return DeliveryRequest{}, ErrDeliveryNotFound
	}

	sent, err := s.findDelivery(ctx, by.UserID, endpoint.ID, deliveryID)

	withoutRequest := DeliveryRequest{Delivery: sent.Delivery}
	if err != nil || len(sent.Attempts) == 0 {
		return withoutRequest, err
	}

	// An endpoint that has lost its permission since the attempt does not get the request.
	if m := sent.Message; m.OrganizationID != "" {
		mayReceive, err := s.mayReceive(ctx, endpoint, m.OrganizationID, m.ApplicantID)
		if err != nil || !mayReceive {
			return withoutRequest, err
		}
	}

	attemptedAt := sent.Attempts[len(sent.Attempts)-1].At

	signature, err := s.signature(endpoint, sent, attemptedAt)
	if err != nil {
		return withoutRequest, err
	}

	var headers []string
	for name, value := range requestHeaders(sent, attemptedAt, signature) {
		headers = append(headers, name+": "+value)
	}

	slices.Sort(headers)

	return DeliveryRequest{Delivery: sent.Delivery, Headers: headers, Body: sent.Message.Body}, nil
}

// findDelivery returns a delivery with its message, or ErrDeliveryNotFound.
func (s *Service) findDelivery(ctx context.Context, ownerID, endpointID, deliveryID string) (Outgoing, error) {
	deliveries, err := s.Deliveries.ListMessages(ctx, ownerID, endpointID, MessageFilter{ID: deliveryID}, 1)
	return list.First(deliveries, err, ErrDeliveryNotFound)
}

// ReplayDelivery schedules a delivery to be sent again at once, whatever its status. The
// delivery keeps its earlier attempts and the id of the event.
func (s *Service) ReplayDelivery(ctx context.Context, by auth.Actor, p WebhookPath, deliveryID string) (d Delivery, err error) {
	deliveryID, isID := id.Canonical(deliveryID)
	err = s.withActiveWebhook(ctx, by, p, func(ctx context.Context, endpoint Endpoint, now time.Time) error {
		if !isID {
			return ErrDeliveryNotFound
		}

		_, err := s.Deliveries.Replay(ctx, by.UserID, endpoint.ID, ReplayFilter{ID: deliveryID}, now, 1)
		if err != nil {
			return err
		}

		replayed, err := s.findDelivery(ctx, by.UserID, endpoint.ID, deliveryID)
		if err != nil {
			return err
		}

		d = replayed.Delivery

		return s.Tasks.Add(ctx, s.newDeliverTask(endpoint.ID, now))
	})

	return d, err
}

// ReplayFailed schedules the deliveries that have failed since the given time to be sent again
// at once: at most 1,000, the earliest first. It returns their number.
func (s *Service) ReplayFailed(ctx context.Context, by auth.Actor, p WebhookPath, since time.Time) (n int, err error) {
	err = s.withActiveWebhook(ctx, by, p, func(ctx context.Context, e Endpoint, now time.Time) error {
		n, err = s.Deliveries.Replay(ctx, by.UserID, e.ID, ReplayFilter{FailedSince: since}, now, maxReplayed)
		if err != nil || n == 0 {
			return err
		}

		return s.Tasks.Add(ctx, s.newDeliverTask(e.ID, now))
	})

	return n, err
}

// sendsPerAccount limits the test events and replays of an account.
var sendsPerAccount = limit.Rule{Name: "webhook-sends", Max: SendsAMinute, Per: time.Minute}

// SendsAMinute is the number of test events and replays of one account per minute.
const SendsAMinute = 600

// withActiveWebhook calls fn in a transaction with one of the caller's endpoints. It fails
// with ErrWebhookInactive unless the endpoint is active. Each call counts against the rate
// limit of test events and replays.
func (s *Service) withActiveWebhook(
	ctx context.Context,
	by auth.Actor,
	p WebhookPath,
	fn func(ctx context.Context, e Endpoint, now time.Time) error,
) error {
	if err := by.RequireUser(); err != nil {
		return err
	}

	if err := limit.Take(ctx, s.Limiter, sendsPerAccount, by.UserID); err != nil {
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

		return fn(ctx, e, s.Clock.Now())
	})
}

// TestInput selects the type of a test event. It may be empty.
type TestInput struct {
	Type string `json:"type" validate:"omitempty,max=100" sample:"job.created"`
}

// TestWebhook sends a test event to one of the caller's endpoints. Without a type, the event
// has the first type that the endpoint subscribes to.
func (s *Service) TestWebhook(ctx context.Context, by auth.Actor, p WebhookPath, in TestInput) (d Delivery, err error) {
	if in.Type != "" && !slices.Contains(EventTypes(), in.Type) {
		return d, fault.InvalidField("type", "must be one of: "+eventNames)
	}

	err = s.withActiveWebhook(ctx, by, p, func(ctx context.Context, e Endpoint, _ time.Time) error {
		deliveries, err := s.sendTest(ctx, cmp.Or(in.Type, e.Events[0]), []Endpoint{e})
		if err != nil {
			return err
		}

		d = deliveries[0] // the only one

		return nil
	})

	return d, err
}

// sendTest creates a test event with a delivery to each endpoint, and returns the deliveries.
func (s *Service) sendTest(ctx context.Context, eventType string, receivers []Endpoint) ([]Delivery, error) {
	now := s.Clock.Now()

	m, err := newMessage(s.NewID(), eventType, now, s.testData(eventType, now))
	if err != nil {
		return nil, err
	}

	test := s.newBroadcast(m, receivers)

	return test.deliveries, s.enqueue(ctx, []broadcast{test})
}

// testData returns the data of a test event: a made-up listing or job application.
func (s *Service) testData(eventType string, now time.Time) any {
	now = now.UTC()

	jobID, applicationID := s.NewID(), s.NewID()
	switch eventType {
	case event.ApplicationSubmitted{}.Type():
		return SubmittedData{
			ApplicationID: applicationID,
			JobID:         jobID,
			CandidateID:   s.NewID(),
			Status:        "pending",
			SubmittedAt:   now,
			Test:          true,
		}
	case event.ApplicationStatusChanged{}.Type():
		return StatusChangedData{
			ApplicationID:  applicationID,
			JobID:          jobID,
			Status:         "review",
			PreviousStatus: "pending",
			ChangedAt:      now,
			Test:           true,
		}
	}

	status := "active"
	if eventType == (event.JobClosed{}).Type() {
		status = "closed"
	}

	city := "Leeds"

	return JobData{ID: jobID, Test: true, Job: &JobView{
		ID:          jobID,
		Title:       "Registered Nurse",
		Description: "This listing is made up, to test a webhook.",
		Company:     CompanyView{ID: s.NewID(), Name: "Example Hospital"},
		Location: LocationView{
			Text: &city,
			City: &city,
		},
		Requirements: []string{},
		Benefits:     []string{},
		Questions:    []QuestionView{},
		Status:       status,
		PostedAt:     &now,
		UpdatedAt:    now,
		URL:          s.PublicURL + "/jobs/" + jobID,
	}}
}
