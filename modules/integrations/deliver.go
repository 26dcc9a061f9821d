package integrations

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/task"
)

const (
	// deliverKind is the kind of the tasks that run a delivery worker for an endpoint,
	// which is their group. The stored deliveries are the source of truth, so that a
	// superfluous task has no effect.
	deliverKind = "integrations.deliver"
	// postponeFor is the delay after a failure before an attempt was made.
	postponeFor = 30 * time.Second
	// warnAfter and disableAfter are how long an endpoint may fail. Standard Webhooks
	// requires failures that are at least twelve hours apart.
	warnAfter    = 24 * time.Hour
	disableAfter = 5 * 24 * time.Hour
)

// attemptResult is the result of processing a delivery. Without an attempt the
// delivery fails, or was postponed.
type attemptResult struct {
	Outgoing
	url        string
	attempt    *Attempt
	retryAfter time.Duration
	postponed  bool
}

// deliver runs a delivery worker for the endpoint that is the group of the task, unless
// too many run already.
func (s *Service) deliver(ctx context.Context, t task.Task) error {
	e, err := s.Webhooks.Get(ctx, AnyOwner, t.Group)
	if err != nil || e.ListeningUntil != nil {
		return fault.IfNotFound(err, nil)
	}
	release, ok := s.acquireWorker(ctx, e)
	if !ok {
		return s.Tasks.Add(ctx, s.newDeliverTask(e.ID, s.Clock.Now().Add(busyDelay)))
	}
	defer release()
	w := s.newDeliveryWorker(e)
	w.dueAt = t.RunAt
	return w.run(ctx)
}

// newDeliverTask returns the task that runs a delivery worker for the endpoint at the
// time.
func (s *Service) newDeliverTask(endpointID string, at time.Time) task.Task {
	t := task.New(deliverKind, task.Webhooks, "whd:"+s.NewID(), struct{}{})
	t.Group, t.RunAt = endpointID, at
	return t
}

// attempt sends a delivery, if the endpoint is still authorized to receive it. After
// an error the delivery is postponed.
func (s *Service) attempt(ctx context.Context, e Endpoint, c Outgoing) (r attemptResult, err error) {
	r = attemptResult{Outgoing: c, postponed: true}
	if c.Message.OrganizationID != "" {
		// An attempt may be days after the event.
		may, err := s.mayReceive(ctx, e, c.Message.OrganizationID, c.Message.ApplicantID)
		if err != nil {
			return r, err
		}
		if !may {
			return attemptResult{Outgoing: c}, nil
		}
	}
	now := s.Clock.Now()
	signature, err := s.signature(e, c, now)
	if err != nil {
		// The error is reported to operators, and the delivery follows its schedule.
		return attemptResult{Outgoing: c, url: e.URL, attempt: &Attempt{At: now, Error: "not_signed"}}, task.Permanent(err)
	}
	next := c
	next.Attempt++
	a := s.Sender.Post(ctx, Post{URL: e.URL, Body: c.Message.Body, Headers: headers(next, now, signature)})
	if ctx.Err() != nil && a.Status == 0 {
		return attemptResult{}, ctx.Err() // cancelled by the worker
	}
	if (a.Status < 200 || a.Status >= 300) && a.Error == "" {
		a.Error = "status"
	}
	r = attemptResult{Outgoing: c, url: e.URL, attempt: &Attempt{At: now, ResponseStatus: a.Status, Error: a.Error, DurationMs: a.Took.Milliseconds(), Answer: a.Body}}
	if a.Status == statusTooManyRequests || a.Status == statusUnavailable {
		r.retryAfter = a.RetryAfter
	}
	return r, nil
}

// headers returns the request headers (Standard Webhooks), and the number of the
// attempt.
func headers(c Outgoing, at time.Time, signature string) map[string]string {
	return map[string]string{
		"webhook-id": c.EventID, "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": signature,
		"webhook-attempt": strconv.Itoa(c.Attempt), "content-type": "application/json", "user-agent": "locum-webhooks/1",
	}
}

// recordResults stores the results of attempts and applies them to the endpoint. It
// returns the tasks that follow, and whether the endpoint has changed, which the
// caller stores.
func (s *Service) recordResults(ctx context.Context, e *Endpoint, results []attemptResult, now time.Time) (tasks []task.Task, changed bool, err error) {
	if len(results) == 0 {
		return nil, false, nil
	}
	ds := list.Map(results, func(r attemptResult) Delivery { return r.applied(*e, now) })
	recorded, err := s.Deliveries.RecordResults(ctx, e.ID, ds)
	if err != nil {
		return nil, false, err
	}
	before := *e
	for _, r := range results {
		if r.attempt != nil && r.url == e.URL && (len(recorded) == len(results) || slices.Contains(recorded, r.ID)) {
			e.recordAttempt(*r.attempt, now)
		}
	}
	tasks = s.checkHealth(before, e, now)
	return tasks, e.healthChanged(before), nil
}

// applied returns the delivery with the result.
func (r attemptResult) applied(e Endpoint, now time.Time) Delivery {
	d := r.Delivery
	d.Attempt++
	d.Status, d.NextAt, d.FailedAt = Failed, nil, &now
	if r.postponed && e.Status == EndpointActive {
		at := now.Add(postponeFor)
		d.Status, d.NextAt, d.FailedAt = Pending, &at, nil
	}
	if r.attempt == nil {
		return d
	}
	d.Tries++
	d.Attempts = slices.Clone(d.Attempts)
	d.add(*r.attempt)
	if r.attempt.Error == "" {
		d.Status, d.FailedAt = Succeeded, nil
	} else if wait, more := retryDelay(d.Tries, r.retryAfter); more && e.Status == EndpointActive {
		at := now.Add(wait)
		d.Status, d.NextAt, d.FailedAt = Pending, &at, nil
	}
	return d
}

// recordAttempt applies the result of an attempt to the health of the endpoint.
func (e *Endpoint) recordAttempt(a Attempt, now time.Time) {
	switch {
	case a.Error == "":
		e.FailingSince, e.WarnedAt = nil, nil
		return
	case e.FailingSince == nil:
		e.FailingSince = &now
	}
	if a.ResponseStatus == statusGone && e.Status == EndpointActive && e.ListeningUntil == nil {
		e.Status = EndpointDisabled
	}
}

// Statuses with a meaning for deliveries (RFC 9110 §15).
const (
	statusGone            = 410
	statusTooManyRequests = 429
	statusUnavailable     = 503
)
