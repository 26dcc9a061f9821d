package integrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locumhq/locum/core/fault"
)

const (
	// maxAttempts bounds the concurrent attempts for one endpoint, and
	// maxAttemptsFailing those for an endpoint that is failing.
	maxAttempts        = 5
	maxAttemptsFailing = 1
	// minBatch and maxBatch bound how many deliveries are read at once. The batch
	// doubles while deliveries are sent quickly, so that those of slow endpoints do not
	// fill the memory.
	minBatch = 2 * maxAttempts
	maxBatch = 200
	// batchFor is how long a batch takes: how soon results are stored, and changes of
	// the endpoint and further deliveries noticed.
	batchFor = 500 * time.Millisecond
	// runFor is how long a worker starts attempts; what is due later waits behind other
	// endpoints. While an attempt takes longer than slowAttempt, the worker cannot end
	// and starts others beside it, for at most maxRunFor.
	runFor      = 3 * time.Second
	slowAttempt = time.Second
	maxRunFor   = 20 * time.Second
	// maxWorkerTime is longer than a worker runs with an attempt at its end.
	maxWorkerTime = maxRunFor + AnswerWithin + 5*time.Second
	// attemptGrace is how long running attempts may take after cancellation, and
	// storeGrace how long their results may take to be stored. Together they are
	// shorter than the grace period of the task runner.
	attemptGrace = time.Second
	storeGrace   = 1500 * time.Millisecond
	// storeFor is how long results wait for a database that is unavailable; their
	// deliveries would be sent again.
	storeFor = 10 * time.Second
)

// deliveryWorker sends the due deliveries of an endpoint. Its task is the only one of
// its group, so that no other worker sends to the endpoint: deliveries are read without
// claims, and written once, after the attempt.
type deliveryWorker struct {
	*Service
	endpoint Endpoint
	// dueAt is when another process noticed a due delivery; its clock may be ahead.
	dueAt time.Time
	// running maps the ids of deliveries to the start of their attempt.
	running  map[string]time.Time
	finished chan finishedAttempt

	// Listeners send to url instead of the endpoint's address, and receive results
	// after they were stored.
	url      string
	onResult func(attemptResult)
}

// finishedAttempt is the end of an attempt, with or without a result.
type finishedAttempt struct {
	attemptResult
	id  string
	err error
}

func (s *Service) newDeliveryWorker(e Endpoint) *deliveryWorker {
	return &deliveryWorker{Service: s, endpoint: e, running: map[string]time.Time{}, finished: make(chan finishedAttempt, maxAttempts)}
}

// run sends due deliveries until there are none or its time is up, and leaves a task
// for those that are due later. After cancellation, running attempts have attemptGrace
// to end, and their results are stored.
func (w *deliveryWorker) run(ctx context.Context) error {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(attemptGrace, cancel) })()
	var failed error
	stopping := false
	for n, begun := minBatch, time.Now(); ; {
		stopping = stopping || ctx.Err() != nil || w.isTimeUp(time.Since(begun))
		var due []Outgoing
		if !stopping {
			var err error
			if due, err = w.readDue(ctx, n); err != nil {
				// Running attempts end, so that their results are stored.
				failed, stopping, due = errors.Join(failed, err), true, nil
			}
		}
		results, err := w.send(ctx, attempts, due)
		if w.onResult == nil { // listeners continue
			failed = errors.Join(failed, err)
		}
		if len(results) == 0 && len(w.running) > 0 {
			continue
		}
		ended, err := w.store(ctx, results, stopping || ctx.Err() != nil)
		if err != nil || ended {
			return errors.Join(failed, err)
		}
		if len(results) == n {
			n = min(2*n, maxBatch)
		} else {
			n = minBatch
		}
	}
}

// isTimeUp reports whether the worker should make room for other endpoints.
func (w *deliveryWorker) isTimeUp(elapsed time.Duration) bool {
	if elapsed < runFor || elapsed > maxRunFor {
		return elapsed > maxRunFor
	}
	for _, since := range w.running {
		if time.Since(since) > slowAttempt {
			return false
		}
	}
	return true
}

// readDue returns at most n due deliveries whose attempt is not running.
func (w *deliveryWorker) readDue(ctx context.Context, n int) ([]Outgoing, error) {
	due, err := w.Deliveries.ListMessages(ctx, AnyOwner, w.endpoint.ID, MessageFilter{DueBy: w.dueBy()}, n+len(w.running))
	return slices.DeleteFunc(due, func(o Outgoing) bool { _, running := w.running[o.ID]; return running }), err
}

// dueBy is the time up to which deliveries are due, by the clock that is ahead.
func (w *deliveryWorker) dueBy() time.Time {
	return slices.MaxFunc([]time.Time{w.Clock.Now(), w.dueAt}, time.Time.Compare)
}

// send sends deliveries for at most batchFor, or until an attempt fails, and returns the
// results of attempts. Attempts that take longer are running then.
func (w *deliveryWorker) send(ctx, attempts context.Context, due []Outgoing) (results []attemptResult, failed error) {
	limit := maxAttempts
	if w.endpoint.FailingSince != nil {
		limit = maxAttemptsFailing
	}
	timeout, cancelled := time.After(batchFor), ctx.Done()
	for {
		for len(due) > 0 && len(w.running) < limit {
			w.start(attempts, due[0])
			due = due[1:]
		}
		if len(w.running) == 0 {
			return results, failed
		}
		select {
		case end := <-w.finished:
			delete(w.running, end.id)
			failed = errors.Join(failed, end.err)
			if end.EndpointID != "" {
				results = append(results, end.attemptResult)
			}
			if end.postponed || end.attempt != nil && end.attempt.Error != "" {
				return results, failed
			}
		case <-timeout:
			return results, failed
		case <-cancelled: // running attempts end soon
			due, timeout, cancelled = nil, nil, nil
		}
	}
}

// start starts an attempt. A panic postpones the delivery.
func (w *deliveryWorker) start(ctx context.Context, out Outgoing) {
	s, e, finished := w.Service, w.endpoint, w.finished // all that the goroutine uses
	e.URL = cmp.Or(w.url, e.URL)
	w.running[out.ID] = time.Now()
	go func() {
		end := finishedAttempt{id: out.ID, attemptResult: attemptResult{Outgoing: out, postponed: true}}
		defer func() {
			if p := recover(); p != nil {
				end.err = fmt.Errorf("panic: %v", p)
			}
			finished <- end
		}()
		end.attemptResult, end.err = s.attempt(ctx, e, out)
	}()
}

// store stores results, and reports whether the worker ends: no attempt is running, and
// it is stopping or no delivery is due. While the database is unavailable it tries again.
func (w *deliveryWorker) store(ctx context.Context, results []attemptResult, stopping bool) (ended bool, err error) {
	wait := storeFor
	if ctx.Err() != nil {
		wait = storeGrace
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	for {
		ended, err = w.storeOnce(ctx, results, stopping)
		if fault.KindOf(err) != fault.Unavailable || ctx.Err() != nil {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
	if err == nil && w.onResult != nil {
		for _, r := range results {
			w.onResult(r)
		}
	}
	return ended, err
}

func (w *deliveryWorker) storeOnce(ctx context.Context, results []attemptResult, stopping bool) (ended bool, err error) {
	err = w.Tx.Do(ctx, func(ctx context.Context) error {
		// Deliveries that are created meanwhile wait for the lock of the endpoint.
		e, err := w.Webhooks.Get(ctx, AnyOwner, w.endpoint.ID)
		if fault.KindOf(err) == fault.NotFound {
			ended = true // deleted with its deliveries
			return nil
		} else if err != nil {
			return err
		}
		tasks, changed, err := w.recordResults(ctx, &e, results, w.Clock.Now())
		if err != nil {
			return err
		}
		if changed {
			if err := w.Webhooks.Upsert(ctx, e); err != nil { // fails pending deliveries unless the endpoint is active
				return err
			}
		}
		w.endpoint = e
		if ended = len(w.running) == 0; !ended {
			return w.Tasks.Add(ctx, tasks...)
		}
		next, err := w.Deliveries.NextDue(ctx, e.ID)
		switch {
		case err != nil:
			return err
		case next == nil:
		case !stopping && !next.After(w.dueBy()):
			ended = false
		case w.url == "":
			tasks = append(tasks, w.newDeliverTask(e.ID, *next))
		}
		return w.Tasks.Add(ctx, tasks...)
	})
	return ended, err
}
