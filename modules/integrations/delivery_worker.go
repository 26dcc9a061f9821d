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
	// maxAttempts is the maximum number of concurrent attempts for one endpoint.
	// maxAttemptsFailing is the maximum for an endpoint whose last attempt failed.
	maxAttempts        = 5
	maxAttemptsFailing = 1
	// minBatch and maxBatch limit the number of deliveries that are read at once, which is a batch.
	// The batch starts small, so that the deliveries of slow endpoints do not fill the memory. It
	// doubles as long as all deliveries of a batch are sent within batchFor.
	minBatch = 2 * maxAttempts
	maxBatch = 200
	// batchFor is the time limit for a batch. After it, the worker stores the results,
	// and reads changes of the endpoint and further deliveries.
	batchFor = 500 * time.Millisecond
	// runFor is the time after which a worker ends, to make room for other endpoints.
	// Another task then sends the remaining deliveries.
	runFor = 3 * time.Second
	// A worker cannot end while an attempt is running. While an attempt takes longer than
	// slowAttempt, the worker therefore continues to start others, until maxRunFor.
	slowAttempt = time.Second
	maxRunFor   = 20 * time.Second
	// maxWorkerTime is the timeout of the task of a worker. It leaves time for an attempt
	// that starts at the end of maxRunFor.
	maxWorkerTime = maxRunFor + AnswerWithin + 5*time.Second
	// attemptGrace is the time that running attempts have to end after the worker is
	// cancelled, and storeGrace the time to store their results. Together they are
	// shorter than the grace period of the task runner, which is 3 s.
	attemptGrace = time.Second
	storeGrace   = 1500 * time.Millisecond
	// storeFor is the time for which the worker retries to store results while the
	// database is unavailable. Without a stored result, a delivery is sent again.
	storeFor = 10 * time.Second
)

// deliveryWorker sends the due deliveries of one endpoint. A delivery is a message to one receiver,
// and may take several attempts. The task of a worker has the endpoint as its group. The tasks of a
// group run one after the other, so that no other worker sends to the endpoint. A worker can
// therefore read deliveries without claiming them, and write each only once, after the attempt.
type deliveryWorker struct {
	*Service
	endpoint Endpoint
	// dueAt is the time at which another process found a delivery to be due. The clock of
	// that process may be ahead of this one.
	dueAt time.Time
	// running contains the start times of running attempts, by delivery id.
	running map[string]time.Time
	// finished receives every attempt when it ends.
	finished chan finishedAttempt

	// The fields below are set by a listener, which is a process of a developer that forwards
	// events to a local receiver.

	// url replaces the URL of the endpoint, unless it is empty.
	url string
	// onResult is called with each stored result. It is nil without a listener.
	onResult func(attemptResult)
}

// finishedAttempt is an attempt that has ended. Its attemptResult is zero if the attempt was
// cancelled.
type finishedAttempt struct {
	attemptResult
	id  string // of the delivery
	err error
}

// wasCancelled reports whether the attempt has no result.
func (a finishedAttempt) wasCancelled() bool { return a.EndpointID == "" }

// hasFailed reports whether the attempt could not be made or the receiver did not accept the
// delivery.
func (a finishedAttempt) hasFailed() bool {
	return a.postponed || a.attempt != nil && a.attempt.Error != ""
}

// newDeliveryWorker returns a worker for the endpoint, which the caller runs.
func (s *Service) newDeliveryWorker(e Endpoint) *deliveryWorker {
	return &deliveryWorker{
		Service:  s,
		endpoint: e,
		running:  map[string]time.Time{},
		finished: make(chan finishedAttempt, maxAttempts),
	}
}

// run sends due deliveries until none is due or the time of the worker is up. It adds a task
// for deliveries that are due later. After ctx is cancelled, running attempts have
// attemptGrace to end, and their results are stored. run returns all errors of the attempts
// together.
func (w *deliveryWorker) run(ctx context.Context) error {
	// attemptCtx is cancelled attemptGrace later than ctx.
	attemptCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()

	stopWaiting := context.AfterFunc(ctx, func() { time.AfterFunc(attemptGrace, cancel) })
	defer stopWaiting()
	var errs error

	// A worker that is stopping starts no attempts. It ends when its running attempts have
	// ended and their results are stored.
	isStopping := false
	batchSize := minBatch

	for begin := time.Now(); ; {
		isStopping = isStopping || ctx.Err() != nil || w.isTimeUp(time.Since(begin))

		// Read further deliveries.
		var due []Outgoing
		if !isStopping {
			var err error

			due, err = w.readDue(ctx, batchSize)
			if err != nil {
				errs = errors.Join(errs, err)
				isStopping = true
				due = nil
			}
		}

		// Send them for the time of a batch. A listener reports the errors of its attempts with
		// their results, so that they do not end it.
		results, sendErr := w.send(ctx, attemptCtx, due)

		isListener := w.onResult != nil
		if !isListener {
			errs = errors.Join(errs, sendErr)
		}

		// Store the results of the attempts that have ended. While attempts are running and
		// none has ended, there is nothing to store.
		if len(results) == 0 && len(w.running) > 0 {
			continue
		}

		hasEnded, err := w.store(ctx, results, isStopping || ctx.Err() != nil)
		if err != nil || hasEnded {
			return errors.Join(errs, err)
		}

		isBatchComplete := len(results) == batchSize
		if isBatchComplete {
			batchSize = min(2*batchSize, maxBatch)
		} else {
			batchSize = minBatch
		}
	}
}

// isTimeUp reports whether the worker should end to make room for other endpoints: after
// runFor, or after maxRunFor if an attempt is slow.
func (w *deliveryWorker) isTimeUp(elapsed time.Duration) bool {
	if elapsed < runFor {
		return false
	}

	if elapsed > maxRunFor {
		return true
	}

	for _, startedAt := range w.running {
		if time.Since(startedAt) > slowAttempt {
			return false
		}
	}

	return true
}

// readDue returns due deliveries that have no running attempt, usually at most n.
func (w *deliveryWorker) readDue(ctx context.Context, n int) ([]Outgoing, error) {
	isRunning := func(o Outgoing) bool { _, hasStarted := w.running[o.ID]; return hasStarted }

	// The deliveries of running attempts are still due in the database. They are read too and
	// removed here.
	due, err := w.Deliveries.ListMessages(ctx, AnyOwner, w.endpoint.ID, MessageFilter{DueBy: w.dueBy()}, n+len(w.running))

	return slices.DeleteFunc(due, isRunning), err
}

// dueBy returns the time until which deliveries are due: now, or dueAt if that is later.
func (w *deliveryWorker) dueBy() time.Time {
	return slices.MaxFunc([]time.Time{w.Clock.Now(), w.dueAt}, time.Time.Compare)
}

// send sends deliveries, and returns the results of all attempts that have ended. It returns
// when all attempts have ended, after batchFor, or as soon as an attempt fails. In the last
// two cases further attempts may be running. The context of the attempts is attemptCtx, which
// is cancelled later than ctx.
func (w *deliveryWorker) send(ctx, attemptCtx context.Context, due []Outgoing) (results []attemptResult, errs error) {
	maxRunning := maxAttempts
	if w.endpoint.FailingSince != nil {
		maxRunning = maxAttemptsFailing
	}

	timeout, cancelled := time.After(batchFor), ctx.Done()
	for {
		for len(due) > 0 && len(w.running) < maxRunning {
			w.start(attemptCtx, due[0])

			due = due[1:]
		}

		if len(w.running) == 0 {
			return results, errs
		}

		select {
		case end := <-w.finished:
			delete(w.running, end.id)

			errs = errors.Join(errs, end.err)
			if !end.wasCancelled() {
				results = append(results, end.attemptResult)
			}

			if end.hasFailed() {
				return results, errs
			}
		case <-timeout:
			return results, errs
		case <-cancelled:
			// Start no attempts, and wait for the running ones, which attemptCtx ends soon.
			due = nil
			timeout = nil
			cancelled = nil
		}
	}
}

// start starts an attempt in a goroutine, which sends the result to w.finished. A panic
// postpones the delivery. finished has room for all attempts, so that the goroutine ends even
// if the worker no longer receives.
func (w *deliveryWorker) start(ctx context.Context, out Outgoing) {
	// Copy what the goroutine needs, because w may change while it runs.
	service, endpoint, finished := w.Service, w.endpoint, w.finished
	endpoint.URL = cmp.Or(w.url, endpoint.URL)

	w.running[out.ID] = time.Now()
	go func() {
		end := finishedAttempt{id: out.ID, attemptResult: attemptResult{Outgoing: out, postponed: true}}
		defer func() {
			if p := recover(); p != nil {
				end.err = fmt.Errorf("panic: %v", p)
			}

			finished <- end
		}()

		end.attemptResult, end.err = service.attempt(ctx, endpoint, out)
	}()
}

// store stores results, and reports whether the worker has ended. A worker has ended if it has
// no running attempt, and is stopping or has no due delivery. While the database is
// unavailable, store retries, because a delivery without a stored result is sent again.
func (w *deliveryWorker) store(ctx context.Context, results []attemptResult, isStopping bool) (hasEnded bool, err error) {
	timeout := storeFor
	if ctx.Err() != nil {
		timeout = storeGrace
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()

	for {
		hasEnded, err = w.storeOnce(ctx, results, isStopping)
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

	return hasEnded, err
}

// storeOnce is store without retries. One transaction stores the results, the health of the
// endpoint, and a task for the next due delivery if the worker has ended.
func (w *deliveryWorker) storeOnce(ctx context.Context, results []attemptResult, isStopping bool) (hasEnded bool, err error) {
	err = w.Tx.Do(ctx, func(ctx context.Context) error {
		// Get locks the endpoint, so that no delivery is created before the transaction ends.
		endpoint, err := w.Webhooks.Get(ctx, AnyOwner, w.endpoint.ID)
		if fault.KindOf(err) == fault.NotFound {
			hasEnded = true // the endpoint was deleted together with its deliveries
			return nil
		} else if err != nil {
			return err
		}

		tasks, isChanged, err := w.recordResults(ctx, &endpoint, results, w.Clock.Now())
		if err != nil {
			return err
		}

		if isChanged {
			// If the endpoint was disabled, Upsert also fails its pending deliveries.
			if err := w.Webhooks.Upsert(ctx, endpoint); err != nil {
				return err
			}
		}

		w.endpoint = endpoint

		hasEnded = len(w.running) == 0
		if !hasEnded {
			return w.Tasks.Add(ctx, tasks...)
		}

		next, err := w.Deliveries.NextDue(ctx, endpoint.ID)
		if err != nil {
			return err
		}

		hasPending := next != nil
		isDueNow := hasPending && !next.After(w.dueBy())
		isListener := w.url != "" // a listener needs no task, because it polls

		switch {
		case isDueNow && !isStopping: // run continues with this delivery
			hasEnded = false
		case hasPending && !isListener:
			tasks = append(tasks, w.newDeliverTask(endpoint.ID, *next))
		}

		return w.Tasks.Add(ctx, tasks...)
	})

	return hasEnded, err
}
