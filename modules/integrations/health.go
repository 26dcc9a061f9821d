package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/task"
)

// disableOrWarn disables an endpoint that has failed for disableAfter. It returns the task that
// notifies the owner, or none. The owner is notified if the endpoint was disabled, either here or
// by the latest results. The owner is also notified, once, if the endpoint has failed for
// warnAfter. The argument before is the endpoint before the latest results.
func (s *Service) disableOrWarn(before Endpoint, endpoint *Endpoint, now time.Time) []task.Task {
	// The endpoint of a listener ends with its process, and its developer sees the failures.
	if endpoint.FailingSince == nil || before.Status != EndpointActive || endpoint.ListeningUntil != nil {
		return nil
	}

	failingFor := now.Sub(*endpoint.FailingSince)
	if failingFor >= disableAfter {
		endpoint.Status = EndpointDisabled
	}

	isWarningDue := failingFor >= warnAfter && endpoint.WarnedAt == nil
	if endpoint.Status == EndpointActive && !isWarningDue {
		return nil
	}

	endpoint.WarnedAt = &now

	return []task.Task{
		task.New(warnKind, task.Mail, "whm:"+endpoint.ID+":"+s.NewID(),
			warning{Endpoint: endpoint.ID, URL: endpoint.URL, Disabled: endpoint.Status == EndpointDisabled, Since: *endpoint.FailingSince}),
	}
}

// healthChanged reports whether the fields that results can change have changed.
func (e *Endpoint) healthChanged(before Endpoint) bool {
	return e.Status != before.Status || e.FailingSince != before.FailingSince || e.WarnedAt != before.WarnedAt
}

const (
	// overdueAfter is the time for which a delivery must have been due before the sweep
	// assumes that its task was lost.
	overdueAfter = time.Minute
	sweepBatch   = 500
)

// sweepDeliveries adds tasks for endpoints with overdue deliveries. The task of such an
// endpoint may have been lost: an operator has dropped it, or it has failed too often. If the
// task still exists, a superfluous one does no harm.
func (s *Service) sweepDeliveries(ctx context.Context) error {
	now := s.Clock.Now()
	for lastID := ""; ; {
		overdue, err := s.Webhooks.List(ctx, AnyOwner, EndpointFilter{DueBefore: now.Add(-overdueAfter)}, lastID, sweepBatch)
		if err != nil || len(overdue) == 0 {
			return err
		}

		tasks := list.Map(overdue, func(e Endpoint) task.Task { return s.newDeliverTask(e.ID, now) })
		if err := s.Tasks.Add(ctx, tasks...); err != nil || len(overdue) < sweepBatch {
			return err
		}

		lastID = overdue[len(overdue)-1].ID
	}
}
