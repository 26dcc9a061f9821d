package integrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
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
	// flushWithin is how soon results are stored, and changes of the endpoint noticed.
	flushWithin = 100 * time.Millisecond
	// pollEvery is how often the database is read while attempts are running, or while
	// it is unavailable.
	pollEvery = 200 * time.Millisecond
	// runFor is how long a worker starts attempts; what is due later waits behind other
	// endpoints. While an attempt takes longer than slowAttempt, the worker cannot end
	// and starts others beside it, for at most maxRunFor.
	runFor      = 3 * time.Second
	slowAttempt = time.Second
	maxRunFor   = 20 * time.Second
	// maxAttemptTime is longer than an attempt takes, and maxWorkerTime longer than a
	// worker runs with an attempt at its end.
	maxAttemptTime = 16 * time.Second
	maxWorkerTime  = maxRunFor + maxAttemptTime + 4*time.Second
	// leaseFor is how long the endpoint of a killed worker waits for another, and
	// renewAfter when a worker renews its lease. Attempts that might outlast the lease
	// are not started, with an allowance for clocks that differ by maxClockSkew.
	leaseFor     = 25 * time.Second
	renewAfter   = 2 * time.Second
	maxClockSkew = 5 * time.Second
	// attemptGrace is how long running attempts may take after cancellation, and
	// flushGrace how long their results may take to be stored. Together they are
	// shorter than the grace period of the task runner.
	attemptGrace = time.Second
	flushGrace   = 1500 * time.Millisecond
)

// deliveryWorker sends the due deliveries of an endpoint while it holds the
// endpoint's lease. No other worker sends to the endpoint meanwhile, so deliveries
// are read without claims, and written once, after the attempt.
type deliveryWorker struct {
	*Service
	endpointID string
	// dueAt is when another process noticed a due delivery; its clock may be ahead.
	dueAt     time.Time
	startedAt time.Time
	// lease identifies this worker. leasedAt is a time since which the lease has been
	// held; zero before it was acquired.
	lease    string
	leasedAt time.Time

	// endpoint is as of the last flush, and ready are due deliveries whose attempt has
	// not started.
	endpoint Endpoint
	ready    []Outgoing
	// cursor is the last delivery read, nil at the beginning; batch is the number of
	// deliveries to read at once, and readAt the time of the last read.
	cursor *Delivery
	batch  int
	readAt time.Time
	// running maps the ids of deliveries to the start of their attempt; results are
	// those of finished attempts that are not stored yet.
	running  map[string]time.Time
	results  []attemptResult
	finished chan finishedAttempt
	// stopping is true if no more attempts start, and released if this worker does not
	// hold the lease any more.
	stopping, released bool
	err                error

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

func (s *Service) newDeliveryWorker(endpointID string) *deliveryWorker {
	return &deliveryWorker{Service: s, endpointID: endpointID, startedAt: time.Now(), lease: s.NewID(), batch: minBatch, running: map[string]time.Time{}, finished: make(chan finishedAttempt, maxAttempts)}
}

// run sends due deliveries until there are none, or its time is up. After
// cancellation, running attempts have attemptGrace to end, and their results are
// stored.
func (w *deliveryWorker) run(ctx context.Context) error {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(attemptGrace, cancel) })()
	for {
		cancelled := ctx.Err() != nil
		err := w.poll(ctx)
		if w.released {
			return w.err
		}
		if err != nil {
			// Results have to be stored before more attempts start, while no other worker
			// repeats them.
			w.ready, w.cursor = nil, nil
			retry := fault.KindOf(err) == fault.Unavailable && !w.leasedAt.IsZero() && time.Since(w.leasedAt) < leaseFor
			if cancelled || ctx.Err() == nil && !retry {
				return errors.Join(w.err, err)
			}
		}
		w.startAttempts(ctx, attempts)
		w.wait(ctx, attempts, err != nil)
	}
}

// poll stores results and reads due deliveries.
func (w *deliveryWorker) poll(ctx context.Context) error {
	if len(w.running) > 0 && len(w.results) == 0 && ctx.Err() == nil && time.Since(w.leasedAt) < renewAfter {
		// An attempt takes long; only check for more deliveries.
		if err := w.readMore(ctx); err != nil || len(w.ready) == 0 || w.freeSlots() == 0 {
			return err
		}
	}
	if err := w.withGrace(ctx, w.flush); err != nil || w.released {
		return err
	}
	return w.readMore(ctx)
}

// withGrace calls fn; after cancellation with flushGrace to complete.
func (w *deliveryWorker) withGrace(ctx context.Context, fn func(context.Context) error) error {
	if ctx.Err() == nil {
		return fn(ctx)
	}
	w.stopping = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushGrace)
	defer cancel()
	return fn(ctx)
}

// freeSlots returns how many attempts may start.
func (w *deliveryWorker) freeSlots() int {
	limit := maxAttempts
	if w.endpoint.FailingSince != nil {
		limit = maxAttemptsFailing
	}
	if w.stopping || time.Since(w.leasedAt) > leaseFor-maxAttemptTime-maxClockSkew {
		return 0
	}
	return max(0, limit-len(w.running))
}

// isTimeUp reports whether the worker should make room for other endpoints.
func (w *deliveryWorker) isTimeUp() bool {
	elapsed := time.Since(w.startedAt)
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

// startAttempts starts as many attempts as there are free slots.
func (w *deliveryWorker) startAttempts(ctx, attempts context.Context) {
	for len(w.ready) > 0 && w.freeSlots() > 0 && ctx.Err() == nil {
		s, e, out, finished := w.Service, w.endpoint, w.ready[0], w.finished // all that the goroutine uses
		w.ready, w.running[out.ID] = w.ready[1:], time.Now()
		e.URL = cmp.Or(w.url, e.URL)
		go func() {
			end := finishedAttempt{id: out.ID, attemptResult: attemptResult{Outgoing: out, postponed: true}}
			defer func() {
				if p := recover(); p != nil {
					end.err = fmt.Errorf("panic: %v", p)
				}
				finished <- end
			}()
			end.attemptResult, end.err = s.attempt(attempts, e, out)
		}()
	}
}

// wait returns when there is reason to poll: many attempts or all of them have
// finished, one has failed, or a timer fires.
func (w *deliveryWorker) wait(ctx, attempts context.Context, unavailable bool) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	if len(w.results) > 0 && !unavailable || len(w.running) == 0 && len(w.ready) > 0 {
		timer.Reset(flushWithin)
	}
	for done := false; !done && (len(w.running) > 0 || ctx.Err() == nil); {
		cancelled := ctx.Done()
		if ctx.Err() != nil {
			cancelled = nil // running attempts end soon
		}
		select {
		case end := <-w.finished:
			delete(w.running, end.id)
			if w.onResult == nil { // listeners continue
				w.err = errors.Join(w.err, end.err)
			}
			if end.EndpointID != "" {
				w.results = append(w.results, end.attemptResult)
			}
			if unavailable {
				continue
			}
			w.startAttempts(ctx, attempts)
			if len(w.results) == 1 {
				timer.Reset(flushWithin)
			}
			done = end.attempt == nil || end.attempt.Error != "" || len(w.ready)+len(w.running) == 0 || len(w.results) >= w.batch/2
		case <-timer.C:
			done = true
		case <-cancelled:
		}
	}
}

// flush stores results, and renews or releases the lease. A released lease leaves a
// task for what is due later.
func (w *deliveryWorker) flush(ctx context.Context) error {
	var next deliveryWorker
	err := w.Tx.Do(ctx, func(ctx context.Context) (err error) {
		next = *w
		next.stopping = w.stopping || w.isTimeUp()
		now, err := next.lockEndpoint(ctx)
		if err != nil || next.released {
			return err
		}
		tasks, changed, err := w.recordResults(ctx, &next.endpoint, w.results, now)
		if err != nil {
			return err
		}
		next.results = nil
		if next.endpoint.Status != EndpointActive {
			next.ready, next.stopping, changed = nil, true, true // Upsert fails pending deliveries
		}
		if len(w.running) == 0 && (next.stopping || len(next.ready) == 0) {
			if tasks, err = next.releaseLease(ctx, tasks, now); err != nil {
				return err
			}
		}
		switch {
		case next.released && !w.leasedAt.IsZero():
			next.endpoint.Lease, next.endpoint.LeasedUntil, changed = "", nil, true
		case !next.released && time.Since(w.leasedAt) > renewAfter:
			until := now.Add(leaseFor)
			next.leasedAt = time.Now()
			next.endpoint.Lease, next.endpoint.LeasedUntil, changed = w.lease, &until, true
		}
		if changed {
			if err := w.Webhooks.Upsert(ctx, next.endpoint); err != nil {
				return err
			}
			next.endpoint.Version++
		}
		return w.Tasks.Add(ctx, tasks...)
	})
	if err != nil {
		return err
	}
	if w.onResult != nil {
		for _, r := range w.results {
			w.onResult(r)
		}
	}
	*w = next
	return nil
}

// lockEndpoint reads and locks the endpoint, and returns the time after that. The
// worker is released if the endpoint was deleted or another worker has its lease.
func (w *deliveryWorker) lockEndpoint(ctx context.Context) (now time.Time, err error) {
	before := w.endpoint
	w.endpoint, err = w.Webhooks.Get(ctx, AnyOwner, w.endpointID)
	now = w.Clock.Now() // not before other transactions have released the lock
	switch {
	case fault.KindOf(err) == fault.NotFound:
		w.released = true // deleted with its deliveries
		return now, nil
	case err != nil:
		return now, err
	case !w.leasedAt.IsZero() && w.endpoint.Lease != w.lease, // the other worker repeats what is not stored
		w.leasedAt.IsZero() && w.endpoint.isLeased(now),     // the other worker polls before it releases
		(w.endpoint.ListeningUntil != nil) != (w.url != ""): // only the listener sends
		w.released = true
	case w.endpoint.Version != before.Version:
		w.ready, w.cursor = nil, nil // changed by its owner
	}
	return now, nil
}

// isLeased reports whether a worker holds the lease of the endpoint.
func (e *Endpoint) isLeased(now time.Time) bool {
	return e.LeasedUntil != nil && e.LeasedUntil.After(now)
}

// dueBy is the time up to which deliveries are due, by the clock that is ahead.
func (w *deliveryWorker) dueBy(now time.Time) time.Time {
	if w.dueAt.After(now) {
		return w.dueAt
	}
	return now
}

// readMore reads more due deliveries, if their attempts can start soon.
func (w *deliveryWorker) readMore(ctx context.Context) error {
	if w.stopping || len(w.ready) > w.batch/2 || len(w.ready) == 0 && w.freeSlots() == 0 {
		return nil
	}
	if time.Since(w.readAt) < 4*flushWithin {
		w.batch = min(2*w.batch, maxBatch)
	} else {
		w.batch = minBatch
	}
	known := func(o Outgoing) bool {
		_, running := w.running[o.ID]
		return running || slices.ContainsFunc(w.ready, func(r Outgoing) bool { return r.ID == o.ID })
	}
	for n := w.batch; ; {
		continued := w.cursor != nil
		more, err := w.Deliveries.ListMessages(ctx, AnyOwner, w.endpointID, MessageFilter{DueBy: w.dueBy(w.Clock.Now()), After: w.cursor}, n)
		if err != nil {
			return err
		}
		w.cursor = nil
		if len(more) == n {
			last := more[n-1].Delivery
			w.cursor = &last
		}
		more = slices.DeleteFunc(more, known)
		w.ready, w.readAt = slices.Concat(w.ready, more), time.Now()
		// Deliveries that another process has made due may precede the cursor.
		if len(more) > 0 || !continued {
			return nil
		}
	}
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

// releaseLease releases the lease unless there is more to do, and adds the task for
// the delivery that is due next.
func (w *deliveryWorker) releaseLease(ctx context.Context, tasks []task.Task, now time.Time) ([]task.Task, error) {
	if w.endpoint.Status != EndpointActive {
		w.released = true
		return tasks, nil
	}
	at, err := w.nextDue(ctx, w.endpointID)
	if err != nil || !w.stopping && at != nil && !at.After(w.dueBy(now)) {
		return tasks, err
	}
	w.released = true
	if at == nil || w.url != "" {
		return tasks, nil
	}
	if at.After(w.dueBy(now)) {
		// Each worker that releases the lease adds this task, and one suffices. But close
		// to the time, a worker whose clock is ahead may have run it already.
		key := w.endpointID + ":" + strconv.FormatInt(at.UnixMicro(), 10)
		if at.Before(now.Add(maxClockSkew)) {
			key += ":" + strconv.FormatInt(now.Unix(), 10)
		}
		return append(tasks, newDeliverTask(w.endpointID, key, *at)), nil
	}
	return append(tasks, newDeliverTask(w.endpointID, w.endpointID+":next:"+w.lease, now)), nil
}
