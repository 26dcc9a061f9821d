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
	// deliverKind is the kind of the tasks that run a delivery worker. The group of such a
	// task is the id of the endpoint, and the tasks of a group run one after the other. A
	// worker sends the stored deliveries that are due, so that a superfluous task has no
	// effect.
	deliverKind = "integrations.deliver"
	// postponeFor is the delay of a delivery that could not be attempted, because of an
	// error in the service itself.
	postponeFor = 30 * time.Second
	// If an endpoint has failed for warnAfter, its owner is notified. If it has failed for
	// disableAfter, it is disabled. Standard Webhooks requires at least twelve hours between the
	// first and the last failure.
	warnAfter    = 24 * time.Hour
	disableAfter = 5 * 24 * time.Hour
)

// attemptResult is the result of processing a delivery. If no attempt was made, the delivery
// is postponed because of an error of the service, or has failed for good because the
// endpoint is no longer authorized.
type attemptResult struct {
	Outgoing
	url        string        // the receiver of the attempt
	attempt    *Attempt      // nil if no attempt was made
	retryAfter time.Duration // requested by the receiver
	postponed  bool
}

// deliver runs a delivery worker for the endpoint that is the group of the task. If too many
// workers are running already, it adds a task for later instead.
func (s *Service) deliver(ctx context.Context, t task.Task) error {
	e, err := s.Webhooks.Get(ctx, AnyOwner, t.Group)
	if err != nil {
		return fault.IfNotFound(err, nil)
	}

	isOfListener := e.ListeningUntil != nil
	if isOfListener { // its own process sends the deliveries
		return nil
	}

	release, isAcquired := s.acquireWorker(ctx, e)
	if !isAcquired {
		return s.Tasks.Add(ctx, s.newDeliverTask(e.ID, s.Clock.Now().Add(busyDelay)))
	}

	defer release()

	w := s.newDeliveryWorker(e)
	w.dueAt = t.RunAt

	return w.run(ctx)
}

// newDeliverTask returns a task that runs a delivery worker for the endpoint at the given
// time.
func (s *Service) newDeliverTask(endpointID string, at time.Time) task.Task {
	t := task.New(deliverKind, task.Webhooks, "whd:"+s.NewID(), struct{}{})
	t.Group, t.RunAt = endpointID, at
	return t
}

// attempt sends a delivery with its message, if the endpoint is still authorized to receive it.
// It returns a postponed result together with an error of the service.
func (s *Service) attempt(ctx context.Context, endpoint Endpoint, out Outgoing) (r attemptResult, err error) {
	r = attemptResult{Outgoing: out, postponed: true}
	if out.Message.OrganizationID != "" {
		// The attempt may be made days after the event, so permissions may have changed.
		mayReceive, err := s.mayReceive(ctx, endpoint, out.Message.OrganizationID, out.Message.ApplicantID)
		if err != nil {
			return r, err
		}

		if !mayReceive {
			hasFailedForGood := attemptResult{Outgoing: out}
			return hasFailedForGood, nil
		}
	}

	now := s.Clock.Now()

	signature, err := s.signature(endpoint, out, now)
	if err != nil {
		// The error is for operators. The delivery follows the retry schedule.
		return attemptResult{Outgoing: out, url: endpoint.URL, attempt: &Attempt{At: now, Error: "not_signed"}}, task.Permanent(err)
	}

	// The headers contain the number of this attempt. In the result, Attempt is still the number of
	// the previous attempt, because updatedDelivery increments it.
	sent := out
	sent.Attempt++

	answer := s.Sender.Post(ctx, Post{URL: endpoint.URL, Body: out.Message.Body, Headers: requestHeaders(sent, now, signature)})

	wasCancelled := ctx.Err() != nil && answer.Status == 0
	if wasCancelled {
		return attemptResult{}, ctx.Err()
	}

	isAccepted := answer.Status >= 200 && answer.Status < 300
	if !isAccepted && answer.Error == "" {
		answer.Error = "status"
	}

	r = attemptResult{
		Outgoing: out,
		url:      endpoint.URL,
		attempt: &Attempt{
			At:             now,
			ResponseStatus: answer.Status,
			Error:          answer.Error,
			DurationMs:     answer.Took.Milliseconds(),
			Answer:         answer.Body,
		},
	}
	if answer.Status == statusTooManyRequests || answer.Status == statusUnavailable {
		r.retryAfter = answer.RetryAfter
	}

	return r, nil
}

// requestHeaders returns the headers of Standard Webhooks, and webhook-attempt with the
// number of the attempt.
func requestHeaders(out Outgoing, at time.Time, signature string) map[string]string {
	return map[string]string{
		"webhook-id":        out.EventID,
		"webhook-timestamp": strconv.FormatInt(at.Unix(), 10),
		"webhook-signature": signature,
		"webhook-attempt":   strconv.Itoa(out.Attempt),
		"content-type":      "application/json",
		"user-agent":        "locum-webhooks/1",
	}
}

// recordResults stores the results of attempts and updates the health of the endpoint. It
// returns the tasks that the caller has to add. If isChanged is true, the caller has to store
// the endpoint.
func (s *Service) recordResults(
	ctx context.Context,
	endpoint *Endpoint,
	results []attemptResult,
	now time.Time,
) (tasks []task.Task, isChanged bool, err error) {
	if len(results) == 0 {
		return nil, false, nil
	}

	deliveries := list.Map(results, func(r attemptResult) Delivery { return r.updatedDelivery(*endpoint, now) })

	recordedIDs, err := s.Deliveries.RecordResults(ctx, endpoint.ID, deliveries)
	if err != nil {
		return nil, false, err
	}

	before := *endpoint
	areAllRecorded := len(recordedIDs) == len(results)

	for _, r := range results {
		// A result that another worker has recorded before must not count twice.
		isRecorded := areAllRecorded || slices.Contains(recordedIDs, r.ID)
		// An attempt says nothing about an endpoint whose URL was changed after it.
		isToCurrentURL := r.attempt != nil && r.url == endpoint.URL

		if isToCurrentURL && isRecorded {
			endpoint.updateHealth(*r.attempt, now)
		}
	}

	tasks = s.disableOrWarn(before, endpoint, now)

	return tasks, endpoint.healthChanged(before), nil
}

// updatedDelivery returns the delivery after the result: succeeded, failed for good, or
// pending with the time of the next attempt. Only an active endpoint gets a next attempt.
func (r attemptResult) updatedDelivery(endpoint Endpoint, now time.Time) Delivery {
	d := r.Delivery
	d.Attempt++

	// The delivery has failed for good, unless one of the cases below applies.
	d.Status, d.NextAt, d.FailedAt = Failed, nil, &now
	isActive := endpoint.Status == EndpointActive
	retryIn := func(delay time.Duration) {
		at := now.Add(delay)
		d.Status, d.NextAt, d.FailedAt = Pending, &at, nil
	}

	if r.postponed && isActive {
		retryIn(postponeFor)
	}

	if r.attempt == nil {
		return d
	}

	d.Tries++
	d.Attempts = slices.Clone(d.Attempts)
	d.addAttempt(*r.attempt)

	if r.attempt.Error == "" {
		d.Status, d.FailedAt = Succeeded, nil
		return d
	}

	delay, hasNext := retryDelay(d.Tries, r.retryAfter)
	if hasNext && isActive {
		retryIn(delay)
	}

	return d
}

// updateHealth updates the endpoint with the result of an attempt: since when it has been failing,
// and whether the owner was warned of that. The response 410 Gone disables the endpoint. It does
// not disable the endpoint of a listener, which ends with the process of its developer.
func (e *Endpoint) updateHealth(a Attempt, now time.Time) {
	if a.Error == "" {
		e.FailingSince, e.WarnedAt = nil, nil
		return
	}

	if e.FailingSince == nil {
		e.FailingSince = &now
	}

	if a.ResponseStatus == statusGone && e.Status == EndpointActive && e.ListeningUntil == nil {
		e.Status = EndpointDisabled
	}
}

// The HTTP statuses (RFC 9110 §15, RFC 6585 §4) that affect an endpoint or the retry delay.
const (
	statusGone            = 410
	statusTooManyRequests = 429
	statusUnavailable     = 503
)
