package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/task"
)

// checkHealth disables an endpoint that has failed for days, and returns the task
// that warns its owner, if there is one to send.
func (s *Service) checkHealth(before Endpoint, e *Endpoint, now time.Time) []task.Task {
	if e.FailingSince == nil || before.Status != EndpointActive || e.ListeningUntil != nil {
		return nil
	}
	failing := now.Sub(*e.FailingSince)
	if failing >= disableAfter {
		e.Status = EndpointDisabled
	}
	if e.Status == EndpointActive && (failing < warnAfter || e.WarnedAt != nil) {
		return nil
	}
	e.WarnedAt = &now
	return []task.Task{task.New(warnKind, task.Mail, "whm:"+e.ID+":"+s.NewID(), warning{Endpoint: e.ID, URL: e.URL, Disabled: e.Status == EndpointDisabled, Since: *e.FailingSince})}
}

// healthChanged reports whether an attempt has changed the endpoint.
func (e *Endpoint) healthChanged(before Endpoint) bool {
	return e.Status != before.Status || e.FailingSince != before.FailingSince || e.WarnedAt != before.WarnedAt
}

const (
	// overdueAfter is the age at which a due delivery is taken for one without a task.
	overdueAfter = time.Minute
	sweepBatch   = 500
)

// sweepDeliveries adds tasks for endpoints with overdue deliveries, for those whose task
// was lost: an operator has dropped it, or it is dead. Other endpoints have a task that
// waits or runs, which this one follows.
func (s *Service) sweepDeliveries(ctx context.Context) error {
	now := s.Clock.Now()
	for last := ""; ; {
		overdue, err := s.Webhooks.List(ctx, AnyOwner, EndpointFilter{DueBefore: now.Add(-overdueAfter)}, last, sweepBatch)
		if err != nil || len(overdue) == 0 {
			return err
		}
		tasks := list.Map(overdue, func(e Endpoint) task.Task { return s.newDeliverTask(e.ID, now) })
		if err := s.Tasks.Add(ctx, tasks...); err != nil || len(overdue) < sweepBatch {
			return err
		}
		last = overdue[len(overdue)-1].ID
	}
}
