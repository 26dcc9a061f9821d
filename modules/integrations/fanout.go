package integrations

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

const (
	// endpointsAtOnce is how many deliveries of one event are made at once, and
	// queuedMost how many of several events one transaction makes.
	endpointsAtOnce = 200
	queuedMost      = 2_000
)

// longestBody is what receivers have to take, in bytes. Listings alone can be longer.
const longestBody = 20 << 10

func newMessage(eventID, eventType string, at time.Time, data any) (Message, error) {
	text, err := json.Marshal(EventBody[any]{Type: eventType, Timestamp: at.UTC(), Data: data})
	return Message{EventID: eventID, Type: eventType, Body: string(text), CreatedAt: at}, err
}

// TellJobCreated tells endpoints of a listing that became public.
func (s *Service) TellJobCreated(ctx context.Context, e event.Envelope, c event.JobCreated) error {
	return s.tellJob(ctx, e, c.OrganizationID, c.JobID)
}

// TellJobUpdated tells endpoints that something of a public listing changed, or
// that it became public again.
func (s *Service) TellJobUpdated(ctx context.Context, e event.Envelope, c event.JobUpdated) error {
	return s.tellJob(ctx, e, c.OrganizationID, c.JobID)
}

// TellJobClosed tells endpoints that a listing stopped being public.
func (s *Service) TellJobClosed(ctx context.Context, e event.Envelope, c event.JobClosed) error {
	return s.tellJob(ctx, e, c.OrganizationID, c.JobID)
}

func (s *Service) tellJob(ctx context.Context, e event.Envelope, organizationID, jobID string) error {
	return s.tell(ctx, func(after string) ([]Endpoint, error) {
		return s.Webhooks.Subscribed(ctx, e.Type, after, endpointsAtOnce)
	}, func() (Message, error) {
		v, public, err := s.Postings.Posting(ctx, organizationID, jobID)
		if err != nil {
			return Message{}, err
		}
		if v != nil && !public && v.UpdatedAt.After(e.RecordedAt) {
			v = nil // what was changed since is its employer's own
		}
		m, err := newMessage(e.ID, e.Type, e.RecordedAt, JobData{ID: jobID, Job: v})
		if err == nil && len(m.Body) > longestBody {
			return newMessage(e.ID, e.Type, e.RecordedAt, JobData{ID: jobID})
		}
		return m, err
	}, nil)
}

// TellSubmitted tells those endpoints of an application that may hear of it.
func (s *Service) TellSubmitted(ctx context.Context, e event.Envelope, a event.ApplicationSubmitted) error {
	return s.tellApplication(ctx, e, a.OrganizationID, a.CandidateID, SubmittedData{
		ApplicationID: a.ApplicationID, JobID: a.JobID, CandidateID: a.CandidateID, Status: a.Status, SubmittedAt: a.SubmittedAt})
}

// TellStatusChanged tells those endpoints of an application's new status that may
// hear of it.
func (s *Service) TellStatusChanged(ctx context.Context, e event.Envelope, a event.ApplicationStatusChanged) error {
	return s.tellApplication(ctx, e, a.OrganizationID, a.CandidateID, StatusChangedData{
		ApplicationID: a.ApplicationID, JobID: a.JobID, Status: a.Status, PreviousStatus: a.PreviousStatus, ChangedAt: a.ChangedAt})
}

func (s *Service) tellApplication(ctx context.Context, e event.Envelope, organizationID, applicantID string, data any) error {
	return s.tell(ctx, func(after string) ([]Endpoint, error) {
		return s.Webhooks.SubscribedNear(ctx, e.Type, organizationID, applicantID, after, endpointsAtOnce)
	}, func() (Message, error) {
		m, err := newMessage(e.ID, e.Type, e.RecordedAt, data)
		m.OrganizationID, m.ApplicantID = organizationID, applicantID
		return m, err
	}, func(to Endpoint) (bool, error) { return s.mayHear(ctx, to, organizationID, applicantID) })
}

// consentsAsked is how many who consented are asked what they see, for one
// endpoint and one event.
const consentsAsked = 500

// mayHear reports whether the endpoint may be told of an application: if the
// owner of its application may see it, or somebody who lets the application read
// theirs. It is asked again before each attempt.
func (s *Service) mayHear(ctx context.Context, e Endpoint, organizationID, applicantID string) (bool, error) {
	sees := func(userID string) (bool, error) {
		v, err := s.Sight(ctx, userID)
		return v.Sees(organizationID, applicantID), err
	}
	if ok, err := sees(e.OwnerID); ok || err != nil {
		return ok, err
	}
	near, err := s.Consents.Near(ctx, e.AppID, organizationID, applicantID, consentsAsked)
	if err != nil {
		return false, err
	}
	for _, c := range near {
		if !slices.Contains(c.Scopes, ApplicationsRead) {
			continue
		}
		if ok, err := sees(c.UserID); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// tell makes the deliveries of an event, a batch at a time. It may run again at
// any point: what is there stays.
func (s *Service) tell(ctx context.Context, next func(after string) ([]Endpoint, error), message func() (Message, error), may func(Endpoint) (bool, error)) error {
	var m *Message
	for last := ""; ; {
		batch, err := next(last)
		if err != nil || len(batch) == 0 {
			return err
		}
		last = batch[len(batch)-1].ID
		var hear []Endpoint
		for _, e := range batch {
			if may != nil {
				if ok, err := may(e); err != nil {
					return err
				} else if !ok {
					continue
				}
			}
			hear = append(hear, e)
		}
		if len(hear) > 0 {
			if m == nil {
				made, err := message()
				if err != nil {
					return err
				}
				m = &made
			}
			if _, err := s.queued.One(ctx, s.mailing(*m, hear)); err != nil {
				return err
			}
		}
		if len(batch) < endpointsAtOnce {
			return nil
		}
	}
}

// mailing is a message with its deliveries.
type mailing struct {
	Message
	to []Delivery
}

func (s *Service) mailing(m Message, to []Endpoint) mailing {
	now := s.Clock.Now()
	ds := make([]Delivery, len(to))
	for i, e := range to {
		ds[i] = Delivery{ID: s.NewID(), EndpointID: e.ID, OwnerID: e.OwnerID, EventID: m.EventID, Type: m.Type, Status: Pending, NextAt: &now, CreatedAt: now}
	}
	return mailing{m, ds}
}

// queue stores messages with their deliveries, and has somebody look at endpoints
// that nobody looks after.
func (s *Service) queue(ctx context.Context, all []mailing) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		var ms []Message
		var ds []Delivery
		for _, one := range all {
			ms, ds = append(ms, one.Message), append(ds, one.to...)
		}
		alone, err := s.Webhooks.Queue(ctx, ms, ds, now, now.Add(-overdueAfter))
		if err != nil {
			return err
		}
		jobs := make([]task.Task, len(alone))
		for i, endpointID := range alone {
			jobs[i] = lookAt(endpointID, endpointID+":new:"+s.NewID(), now)
		}
		return s.Tasks.Add(ctx, jobs...)
	})
}
