package integrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
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
	// batchFor is how long a batch starts attempts: how soon results are stored, and
	// changes of the endpoint noticed. runFor is how long a worker starts batches; what
	// is due later waits behind other endpoints.
	batchFor = 500 * time.Millisecond
	runFor   = 3 * time.Second
	// maxWorkerTime is longer than a worker runs with an attempt at its end.
	maxWorkerTime = runFor + batchFor + AnswerWithin + 5*time.Second
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

	// Listeners send to url instead of the endpoint's address, and receive results
	// after they were stored.
	url      string
	onResult func(attemptResult)
}

// run sends due deliveries until there are none or its time is up, and leaves a task
// for those that are due later. After cancellation, running attempts have attemptGrace
// to end, and their results are stored.
func (w *deliveryWorker) run(ctx context.Context) error {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(attemptGrace, cancel) })()
	var failed error
	for n, end := minBatch, time.Now().Add(runFor); ; {
		due, err := w.Deliveries.ListMessages(ctx, AnyOwner, w.endpoint.ID, MessageFilter{DueBy: w.dueBy()}, n)
		if err != nil {
			return errors.Join(failed, err)
		}
		results, err := w.send(ctx, attempts, due)
		if w.onResult == nil { // listeners continue
			failed = errors.Join(failed, err)
		}
		stopping := ctx.Err() != nil || time.Now().After(end)
		ended, err := w.store(ctx, results, stopping, len(due) < n)
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

// dueBy is the time up to which deliveries are due, by the clock that is ahead.
func (w *deliveryWorker) dueBy() time.Time {
	if now := w.Clock.Now(); !w.dueAt.After(now) {
		return now
	}
	return w.dueAt
}

// send sends deliveries for at most batchFor, or until an attempt fails, and returns the
// results of the attempts.
func (w *deliveryWorker) send(ctx, attempts context.Context, due []Outgoing) (results []attemptResult, failed error) {
	limit := maxAttempts
	if w.endpoint.FailingSince != nil {
		limit = maxAttemptsFailing
	}
	e := w.endpoint
	e.URL = cmp.Or(w.url, e.URL)
	var mu sync.Mutex
	end := time.Now().Add(batchFor)
	next := func() (out Outgoing, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if len(due) == 0 || ctx.Err() != nil || time.Now().After(end) {
			return out, false
		}
		out, due = due[0], due[1:]
		return out, true
	}
	var sending sync.WaitGroup
	for range min(limit, len(due)) {
		sending.Go(func() {
			for out, ok := next(); ok; out, ok = next() {
				r, err := w.attemptOrPanic(attempts, e, out)
				mu.Lock()
				failed = errors.Join(failed, err)
				if r.EndpointID != "" {
					results = append(results, r)
				}
				if r.postponed || r.attempt != nil && r.attempt.Error != "" {
					due = nil
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return results, failed
}

// attemptOrPanic is attempt; a panic is an error that postpones the delivery.
func (w *deliveryWorker) attemptOrPanic(ctx context.Context, e Endpoint, out Outgoing) (r attemptResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = attemptResult{Outgoing: out, postponed: true}, fmt.Errorf("panic: %v", p)
		}
	}()
	return w.attempt(ctx, e, out)
}

// store stores results, and reports whether the worker ends: because it is stopping, or
// the deliveries that it has read were the last ones and no other is due. While the
// database is unavailable it tries again.
func (w *deliveryWorker) store(ctx context.Context, results []attemptResult, stopping, last bool) (ended bool, err error) {
	wait := storeFor
	if ctx.Err() != nil {
		wait = storeGrace
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	for {
		ended, err = w.storeOnce(ctx, results, stopping, last)
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

func (w *deliveryWorker) storeOnce(ctx context.Context, results []attemptResult, stopping, last bool) (ended bool, err error) {
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
		if ended = stopping || last; !ended {
			return w.Tasks.Add(ctx, tasks...)
		}
		next, err := w.nextDue(ctx, e.ID)
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

// nextDue returns when the endpoint's next pending delivery is due, or was; nil
// without one.
func (s *Service) nextDue(ctx context.Context, endpointID string) (*time.Time, error) {
	next, err := s.Deliveries.ListMessages(ctx, AnyOwner, endpointID, MessageFilter{}, 1)
	if err != nil || len(next) == 0 {
		return nil, err
	}
	return next[0].NextAt, nil
}
