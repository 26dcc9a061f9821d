package integrations

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
)

const (
	// endpointsPerBatch is the number of endpoints that are read at once.
	endpointsPerBatch = 200
	// deliveriesPerTx is the number of deliveries, of several events, that one transaction
	// creates.
	deliveriesPerTx = 2_000
)

// maxBody is the maximum size of a body in bytes, which the documentation guarantees to
// receivers. A larger listing is sent with its id only.
const maxBody = 20 << 10

// newMessage returns the message of an event, with data as JSON in its body.
func newMessage(eventID, eventType string, at time.Time, data any) (Message, error) {
	text, err := json.Marshal(EventBody[any]{Type: eventType, Timestamp: at.UTC(), Data: data})
	return Message{EventID: eventID, Type: eventType, Body: string(text), CreatedAt: at}, err
}

// jobEvent has the fields of all events about a listing. The type of the event is in its
// envelope.
type jobEvent event.JobCreated

// PublishJobCreated publishes to webhooks that a listing became public.
func (s *Service) PublishJobCreated(ctx context.Context, e event.Envelope, created event.JobCreated) error {
	return s.publishJob(ctx, e, jobEvent(created))
}

// PublishJobUpdated publishes to webhooks that a public listing has changed, or
// became public again.
func (s *Service) PublishJobUpdated(ctx context.Context, e event.Envelope, updated event.JobUpdated) error {
	return s.publishJob(ctx, e, jobEvent(updated))
}

// PublishJobClosed publishes to webhooks that a listing is no longer public.
func (s *Service) PublishJobClosed(ctx context.Context, e event.Envelope, closed event.JobClosed) error {
	return s.publishJob(ctx, e, jobEvent(closed))
}

// publishJob publishes an event about a listing to every endpoint that subscribes to its
// type. No authorization is needed, because the listing is or was public.
func (s *Service) publishJob(ctx context.Context, e event.Envelope, job jobEvent) error {
	render := func() (Message, error) { return s.newJobMessage(ctx, e, job) }
	isAuthorized := func(Endpoint) (bool, error) { return true, nil }

	return s.publish(ctx, EndpointFilter{Event: e.Type}, render, isAuthorized)
}

// newJobMessage returns the message about a listing. It contains only the id of the listing if the
// event has no other data about it, or if the body would be larger than maxBody.
func (s *Service) newJobMessage(ctx context.Context, e event.Envelope, job jobEvent) (Message, error) {
	onlyID := JobData{ID: job.JobID}
	if job.Listing == nil {
		return newMessage(e.ID, e.Type, e.RecordedAt, onlyID)
	}

	view, err := s.Postings.View(ctx, job.Listing)
	if err != nil {
		return Message{}, err
	}

	m, err := newMessage(e.ID, e.Type, e.RecordedAt, JobData{ID: job.JobID, Job: &view})
	if err != nil || len(m.Body) <= maxBody {
		return m, err
	}

	return newMessage(e.ID, e.Type, e.RecordedAt, onlyID)
}

// PublishSubmitted publishes a job application to authorized webhooks.
func (s *Service) PublishSubmitted(ctx context.Context, e event.Envelope, a event.ApplicationSubmitted) error {
	return s.publishApplication(ctx, e, a.OrganizationID, a.CandidateID, SubmittedData{
		ApplicationID: a.ApplicationID,
		JobID:         a.JobID,
		CandidateID:   a.CandidateID,
		Status:        a.Status,
		SubmittedAt:   a.SubmittedAt,
	})
}

// PublishStatusChanged publishes the new status of a job application to authorized
// webhooks.
func (s *Service) PublishStatusChanged(ctx context.Context, e event.Envelope, a event.ApplicationStatusChanged) error {
	return s.publishApplication(ctx, e, a.OrganizationID, a.CandidateID, StatusChangedData{
		ApplicationID:  a.ApplicationID,
		JobID:          a.JobID,
		Status:         a.Status,
		PreviousStatus: a.PreviousStatus,
		ChangedAt:      a.ChangedAt,
	})
}

// publishApplication publishes an event about a job application to authorized webhooks.
func (s *Service) publishApplication(ctx context.Context, e event.Envelope, organizationID, applicantID string, data any) error {
	// Most installations have no endpoint for this event, and need not look up accounts.
	const fromFirst = ""

	firstSubscribed, err := s.Webhooks.List(ctx, AnyOwner, EndpointFilter{Event: e.Type}, fromFirst, 1)
	if err != nil || len(firstSubscribed) == 0 {
		return err
	}

	involved, err := s.listInvolved(ctx, organizationID, applicantID)
	if err != nil {
		return err
	}

	render := func() (Message, error) {
		m, err := newMessage(e.ID, e.Type, e.RecordedAt, data)
		m.OrganizationID, m.ApplicantID = organizationID, applicantID

		return m, err
	}
	isAuthorized := func(endpoint Endpoint) (bool, error) {
		return s.isAuthorized(ctx, endpoint, organizationID, applicantID, func() ([]string, error) { return involved, nil })
	}

	return s.publish(ctx, EndpointFilter{Event: e.Type, UserIDs: involved}, render, isAuthorized)
}

// listInvolved returns the only accounts that can be permitted to see a job application of
// the applicant to the organization: the applicant and the members of the organization.
func (s *Service) listInvolved(ctx context.Context, organizationID, applicantID string) ([]string, error) {
	members, err := s.Accounts.ListMembers(ctx, organizationID)
	return append(members, applicantID), err
}

// maxConsentsChecked is the maximum number of consents that are checked for one endpoint and
// event.
const maxConsentsChecked = 500

// mayReceive is isAuthorized for callers that check only one endpoint, and therefore do not
// know the involved accounts.
func (s *Service) mayReceive(ctx context.Context, e Endpoint, organizationID, applicantID string) (bool, error) {
	return s.isAuthorized(ctx, e, organizationID, applicantID, func() ([]string, error) {
		return s.listInvolved(ctx, organizationID, applicantID)
	})
}

// isAuthorized reports whether the endpoint may receive events about a job application of the
// applicant to the organization. It may if its owner can see the job application, or if a user who
// can see the job application has allowed the endpoint's app to read job applications. The function
// listInvolved returns the accounts that may be such users. isAuthorized calls it only if the owner
// cannot see the job application.
func (s *Service) isAuthorized(
	ctx context.Context,
	endpoint Endpoint,
	organizationID, applicantID string,
	listInvolved func() ([]string, error),
) (bool, error) {
	canSee := func(userID string) (bool, error) {
		v, err := s.Accounts.Visibility(ctx, userID)
		return v.CanSee(organizationID, applicantID), err
	}

	ownerCanSee, err := canSee(endpoint.OwnerID)
	if ownerCanSee || err != nil {
		return ownerCanSee, err
	}

	userIDs, err := listInvolved()
	if err != nil {
		return false, err
	}

	consents, err := s.Consents.List(ctx, userIDs, endpoint.AppID, page.After("", maxConsentsChecked))
	if err != nil {
		return false, err
	}

	for _, c := range consents.Items {
		if !slices.Contains(c.Scopes, ApplicationsRead) {
			continue
		}

		userCanSee, err := canSee(c.UserID)
		if userCanSee || err != nil {
			return userCanSee, err
		}
	}

	return false, nil
}

// publish creates the deliveries of an event to all endpoints that match the filter and are
// authorized. It calls render at most once, when it finds the first such endpoint. A repeated call
// does not change existing deliveries.
func (s *Service) publish(
	ctx context.Context,
	f EndpointFilter,
	render func() (Message, error),
	isAuthorized func(Endpoint) (bool, error),
) error {
	render = sync.OnceValues(render)
	for lastID := ""; ; {
		batch, err := s.Webhooks.List(ctx, AnyOwner, f, lastID, endpointsPerBatch)
		if err != nil || len(batch) == 0 {
			return err
		}

		lastID = batch[len(batch)-1].ID

		var authorized []Endpoint
		for _, endpoint := range batch {
			mayReceive, err := isAuthorized(endpoint)
			if err != nil {
				return err
			}

			if mayReceive {
				authorized = append(authorized, endpoint)
			}
		}

		if len(authorized) > 0 {
			m, err := render()
			if err != nil {
				return err
			}

			if _, err := s.enqueuer.Do(ctx, s.newBroadcast(m, authorized)); err != nil {
				return err
			}
		}

		isLastBatch := len(batch) < endpointsPerBatch
		if isLastBatch {
			return nil
		}
	}
}

// broadcast is a message with its deliveries to several endpoints.
type broadcast struct {
	Message
	deliveries []Delivery
}

// newBroadcast returns the message with a delivery to each receiver, due now.
func (s *Service) newBroadcast(m Message, receivers []Endpoint) broadcast {
	now := s.Clock.Now()
	deliveries := list.Map(receivers, func(e Endpoint) Delivery {
		return Delivery{
			ID:         s.NewID(),
			EndpointID: e.ID,
			OwnerID:    e.OwnerID,
			EventID:    m.EventID,
			Type:       m.Type,
			Status:     Pending,
			NextAt:     &now,
			CreatedAt:  now,
		}
	})

	return broadcast{Message: m, deliveries: deliveries}
}

// enqueue stores messages with their deliveries, and adds a task for each endpoint.
func (s *Service) enqueue(ctx context.Context, broadcasts []broadcast) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		var messages []Message

		var deliveries []Delivery
		for _, b := range broadcasts {
			messages, deliveries = append(messages, b.Message), append(deliveries, b.deliveries...)
		}

		tasksByEndpoint, now := map[string]task.Task{}, s.Clock.Now()
		for _, d := range deliveries {
			if _, exists := tasksByEndpoint[d.EndpointID]; !exists {
				tasksByEndpoint[d.EndpointID] = s.newDeliverTask(d.EndpointID, now)
			}
		}

		// Store the deliveries before the tasks, because Enqueue locks the endpoints. A
		// running worker for an endpoint then either sends the new deliveries, or has ended
		// before Tasks.Add looks for a waiting task of the same endpoint.
		if err := s.Deliveries.Enqueue(ctx, messages, deliveries); err != nil {
			return err
		}

		return s.Tasks.Add(ctx, slices.Collect(maps.Values(tasksByEndpoint))...)
	})
}
