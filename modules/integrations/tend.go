package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/task"
)

// health disables an endpoint that has failed for days, and has its owner told.
func (s *Service) health(before Endpoint, e *Endpoint, now time.Time) []task.Task {
	if e.FailingSince == nil || before.Status != EndpointActive || e.ListeningUntil != nil {
		return nil
	}
	failing := now.Sub(*e.FailingSince)
	if failing >= disableAfter {
		e.Status = EndpointDisabled
	}
	switch {
	case e.Status == EndpointDisabled:
	case failing >= warnAfter && e.WarnedAt == nil:
	default:
		return nil
	}
	e.WarnedAt = &now
	return []task.Task{task.New(warnKind, task.Mail, "whm:"+e.ID+":"+s.NewID(), warning{Endpoint: e.ID, URL: e.URL, Disabled: e.Status == EndpointDisabled, Since: *e.FailingSince})}
}

// changed reports whether an attempt has changed the endpoint.
func (e *Endpoint) changed(before Endpoint) bool {
	return e.Status != before.Status || e.FailingSince != before.FailingSince || e.WarnedAt != before.WarnedAt
}

// sweepDeliveries has somebody look at endpoints whose deliveries are overdue
// because a worker was lost.
func (s *Service) sweepDeliveries(ctx context.Context) error {
	now := s.Clock.Now()
	for last := ""; ; {
		ids, err := s.Webhooks.Overdue(ctx, now, now.Add(-overdueAfter), last, sweepAtOnce)
		if err != nil || len(ids) == 0 {
			return err
		}
		jobs := make([]task.Task, len(ids))
		for i, endpointID := range ids {
			jobs[i] = lookAt(endpointID, endpointID+":sweep:"+now.Truncate(sweepEvery).Format(time.RFC3339), now)
		}
		if err := s.Tasks.Add(ctx, jobs...); err != nil || len(ids) < sweepAtOnce {
			return err
		}
		last = ids[len(ids)-1]
	}
}

const messagesAtOnce = 1_000

// forgetMessages ends the log of what is older than 30 days.
func (s *Service) forgetMessages(ctx context.Context) error {
	before := s.Clock.Now().Add(-logKept)
	for {
		n, err := s.Webhooks.Forget(ctx, before, messagesAtOnce)
		if err != nil || n < messagesAtOnce {
			return err
		}
	}
}
