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
	// endpointsPerBatch is how many deliveries of one event are created at once, and
	// deliveriesPerTx how many of several events one transaction creates.
	endpointsPerBatch = 200
	deliveriesPerTx   = 2_000
)

// maxBody is the size of a body in bytes that receivers have to accept. Only
// listings can exceed it.
const maxBody = 20 << 10

func newMessage(eventID, eventType string, at time.Time, data any) (Message, error) {
	text, err := json.Marshal(EventBody[any]{Type: eventType, Timestamp: at.UTC(), Data: data})
	return Message{EventID: eventID, Type: eventType, Body: string(text), CreatedAt: at}, err
}

// PublishJobCreated publishes to webhooks that a listing became public.
func (s *Service) PublishJobCreated(ctx context.Context, e event.Envelope, c event.JobCreated) error {
	return s.publish(ctx, EndpointFilter{Event: e.Type}, func() (Message, error) {
		data := JobData{ID: c.JobID}
		if c.Listing != nil {
			v, err := s.Postings.View(ctx, c.Listing)
			if err != nil {
				return Message{}, err
			}
			data.Job = &v
		}
		m, err := newMessage(e.ID, e.Type, e.RecordedAt, data)
		if err != nil || len(m.Body) <= maxBody {
			return m, err
		}
		return newMessage(e.ID, e.Type, e.RecordedAt, JobData{ID: c.JobID})
	}, func(Endpoint) (bool, error) { return true, nil })
}

// PublishJobUpdated publishes to webhooks that a public listing has changed, or
// became public again.
func (s *Service) PublishJobUpdated(ctx context.Context, e event.Envelope, c event.JobUpdated) error {
	return s.PublishJobCreated(ctx, e, event.JobCreated(c))
}

// PublishJobClosed publishes to webhooks that a listing is no longer public.
func (s *Service) PublishJobClosed(ctx context.Context, e event.Envelope, c event.JobClosed) error {
	return s.PublishJobCreated(ctx, e, event.JobCreated(c))
}

// PublishSubmitted publishes a job application to authorized webhooks.
func (s *Service) PublishSubmitted(ctx context.Context, e event.Envelope, a event.ApplicationSubmitted) error {
	return s.publishApplication(ctx, e, a.OrganizationID, a.CandidateID, SubmittedData{
		ApplicationID: a.ApplicationID, JobID: a.JobID, CandidateID: a.CandidateID, Status: a.Status, SubmittedAt: a.SubmittedAt})
}

// PublishStatusChanged publishes the new status of a job application to authorized
// webhooks.
func (s *Service) PublishStatusChanged(ctx context.Context, e event.Envelope, a event.ApplicationStatusChanged) error {
	return s.publishApplication(ctx, e, a.OrganizationID, a.CandidateID, StatusChangedData{
		ApplicationID: a.ApplicationID, JobID: a.JobID, Status: a.Status, PreviousStatus: a.PreviousStatus, ChangedAt: a.ChangedAt})
}

func (s *Service) publishApplication(ctx context.Context, e event.Envelope, organizationID, applicantID string, data any) error {
	subscribed, err := s.Webhooks.List(ctx, AnyOwner, EndpointFilter{Event: e.Type}, "", 1)
	if err != nil || len(subscribed) == 0 {
		return err
	}
	involved, err := s.involved(ctx, organizationID, applicantID)
	if err != nil {
		return err
	}
	return s.publish(ctx, EndpointFilter{Event: e.Type, UserIDs: involved}, func() (Message, error) {
		m, err := newMessage(e.ID, e.Type, e.RecordedAt, data)
		m.OrganizationID, m.ApplicantID = organizationID, applicantID
		return m, err
	}, func(to Endpoint) (bool, error) {
		return s.isAuthorized(ctx, to, organizationID, applicantID, func() ([]string, error) { return involved, nil })
	})
}

// involved returns the accounts that may be allowed to see applications of the
// applicant to the organization: the applicant and the organization's members.
func (s *Service) involved(ctx context.Context, organizationID, applicantID string) ([]string, error) {
	members, err := s.Accounts.ListMembers(ctx, organizationID)
	return append(members, applicantID), err
}

// maxConsentsChecked bounds the consents that are checked for one endpoint and
// event.
const maxConsentsChecked = 500

// mayReceive is isAuthorized for a single endpoint.
func (s *Service) mayReceive(ctx context.Context, e Endpoint, organizationID, applicantID string) (bool, error) {
	return s.isAuthorized(ctx, e, organizationID, applicantID, func() ([]string, error) {
		return s.involved(ctx, organizationID, applicantID)
	})
}

// isAuthorized reports whether the endpoint may receive events about a job
// application: its owner may see the application, or a user who consented that the
// endpoint's application reads job applications. It is checked again before each
// attempt.
func (s *Service) isAuthorized(ctx context.Context, e Endpoint, organizationID, applicantID string, involved func() ([]string, error)) (bool, error) {
	sees := func(userID string) (bool, error) {
		v, err := s.Accounts.Visibility(ctx, userID)
		return v.Sees(organizationID, applicantID), err
	}
	if ok, err := sees(e.OwnerID); ok || err != nil {
		return ok, err
	}
	userIDs, err := involved()
	if err != nil {
		return false, err
	}
	consents, err := s.Consents.List(ctx, userIDs, e.AppID, page.After("", maxConsentsChecked))
	if err != nil {
		return false, err
	}
	for _, c := range consents.Items {
		if !slices.Contains(c.Scopes, ApplicationsRead) {
			continue
		}
		if ok, err := sees(c.UserID); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// publish creates the deliveries of an event to the endpoints that the filter and
// isAuthorized select. It may be repeated: existing deliveries do not change.
func (s *Service) publish(ctx context.Context, f EndpointFilter, message func() (Message, error), isAuthorized func(Endpoint) (bool, error)) error {
	message = sync.OnceValues(message)
	for last := ""; ; {
		batch, err := s.Webhooks.List(ctx, AnyOwner, f, last, endpointsPerBatch)
		if err != nil || len(batch) == 0 {
			return err
		}
		last = batch[len(batch)-1].ID
		var to []Endpoint
		for _, e := range batch {
			ok, err := isAuthorized(e)
			if err != nil {
				return err
			}
			if ok {
				to = append(to, e)
			}
		}
		if len(to) > 0 {
			m, err := message()
			if err != nil {
				return err
			}
			if _, err := s.enqueuer.Do(ctx, s.newBroadcast(m, to)); err != nil {
				return err
			}
		}
		if len(batch) < endpointsPerBatch {
			return nil
		}
	}
}

// broadcast is a message with its deliveries.
type broadcast struct {
	Message
	deliveries []Delivery
}

func (s *Service) newBroadcast(m Message, to []Endpoint) broadcast {
	now := s.Clock.Now()
	return broadcast{m, list.Map(to, func(e Endpoint) Delivery {
		return Delivery{ID: s.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: m.EventID, Type: m.Type, Status: Pending, NextAt: &now, CreatedAt: now}
	})}
}

// enqueue stores messages with their deliveries, and adds tasks for the endpoints.
func (s *Service) enqueue(ctx context.Context, all []broadcast) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		var ms []Message
		var ds []Delivery
		tasks, now := map[string]task.Task{}, s.Clock.Now()
		for _, b := range all {
			ms, ds = append(ms, b.Message), append(ds, b.deliveries...)
		}
		for _, d := range ds {
			if _, added := tasks[d.EndpointID]; !added {
				tasks[d.EndpointID] = s.newDeliverTask(d.EndpointID, now)
			}
		}
		// First the deliveries, which lock the endpoints: a worker then either sends
		// them, or has ended before its group is checked for a task that waits.
		if err := s.Deliveries.Enqueue(ctx, ms, ds); err != nil {
			return err
		}
		return s.Tasks.Add(ctx, slices.Collect(maps.Values(tasks))...)
	})
}
