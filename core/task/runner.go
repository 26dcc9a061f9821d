package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/locumhq/locum/core/batch"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/trace"
)

const (
	// DefaultTimeout is the time limit for an attempt of a Handler without a Timeout.
	DefaultTimeout = 20 * time.Second
	// lease is the time for which a worker owns a task that it has started. The worker
	// renews the lease at each heartbeat. If the worker is killed, another worker starts
	// the task when the lease ends.
	lease     = 30 * time.Second
	heartbeat = lease / 3
	// gracePeriod is the time that a handler has to return after its deadline. Then the
	// runner abandons the handler.
	gracePeriod = 3 * time.Second
	// defaultAttempts is the number of attempts for a Handler without Attempts.
	defaultAttempts = 15
	// periodicAttempts is the number of attempts for periodic tasks. It is low because
	// the next period adds a new task anyway.
	periodicAttempts = 3
	// enqueueBatch is the number of due tasks that are enqueued at once. If the queue
	// is unavailable, the tasks are due again after requeueDelay.
	enqueueBatch = 500
	requeueDelay = 5 * time.Second
	// batchSize is the maximum number of tasks that one store call starts or finishes.
	batchSize = 100
	// maxCalls is the maximum number of such store calls in progress. While two calls are
	// in progress, further tasks are collected for the next call.
	maxCalls = 2
	// storeTimeout is the time limit for other calls to the store.
	storeTimeout = 10 * time.Second
	// maxClaimPause and maxRecordPause are the longest pauses between two attempts to start a task or
	// to store its outcome while the store is unavailable.
	maxClaimPause  = 5 * time.Second
	maxRecordPause = 2 * time.Second
)

// Report describes a finished attempt, for metrics.
type Report struct {
	Kind     string
	Queue    QueueName
	State    State // Done, Dead, or Waiting if it will be tried again
	Duration time.Duration
}

// Deps are the dependencies of a Runner.
type Deps struct {
	Store    Executor
	Queue    Queue
	Clock    clock.Clock
	Log      *slog.Logger
	Handlers []Handler
	Periodic []Periodic
	Report   func(Report) // may be nil
	Trace    trace.Tracer // may be nil
}

// Runner executes the tasks of a store. A store may have any number of runners. The store has the
// tasks, and the queue has references (ids) to those that are due: a worker receives a reference and
// then claims the task in the store.
type Runner struct {
	Deps
	handlersByKind map[string]Handler
	starter        *batch.Batcher[string, *Task]
	recorder       *batch.Batcher[Outcome, error]
	// periodByKind is the begin of the period whose task this process added last.
	periodByKind map[string]time.Time

	mu      sync.Mutex
	running map[Run]context.CancelCauseFunc // cancels the attempt
}

var (
	// errLost is the cause with which a task is cancelled whose lease has ended.
	errLost = errors.New("another worker has taken the task over")
	// errStopping is the cause with which a long task is cancelled when the worker stops.
	errStopping = errors.New("the worker is stopping")
)

// NewRunner returns a runner. A kind with two handlers is an error.
func NewRunner(d Deps) (*Runner, error) {
	r := &Runner{
		Deps:           d,
		handlersByKind: map[string]Handler{},
		periodByKind:   map[string]time.Time{},
		running:        map[Run]context.CancelCauseFunc{},
	}
	if r.Trace == nil {
		r.Trace = trace.Off{}
	}

	for _, p := range d.Periodic {
		do := func(ctx context.Context, _ Task) error { return p.Do(ctx) }
		r.Handlers = append(
			r.Handlers,
			Handler{Kind: p.Kind, Queue: Maintenance, Timeout: p.Timeout, Attempts: periodicAttempts, periodic: true, Do: do},
		)
	}

	for _, h := range r.Handlers {
		if _, exists := r.handlersByKind[h.Kind]; exists {
			return nil, fmt.Errorf("tasks of kind %s have two handlers", h.Kind)
		}

		r.handlersByKind[h.Kind] = h
	}

	r.starter = batch.New(maxCalls, batchSize, batch.Unweighted, r.startBatch)
	r.recorder = batch.New(maxCalls, batchSize, batch.Unweighted, r.recordBatch)

	return r, nil
}

// Work executes tasks until ctx is done. It then waits for the running tasks, except for
// tasks with a timeout above DefaultTimeout: these are interrupted and wait for another
// attempt.
func (r *Runner) Work(ctx context.Context) error {
	heartbeatCtx, stopHeartbeat := context.WithCancel(context.WithoutCancel(ctx))

	var heartbeats sync.WaitGroup
	defer heartbeats.Wait()
	defer stopHeartbeat()

	heartbeats.Go(func() { r.extendLeases(heartbeatCtx) })

	return r.Queue.Work(ctx, func(taskCtx context.Context, ref Reference) { r.execute(taskCtx, ctx, ref) })
}

// execute executes the task of a reference if the task is waiting and due.
//
// Here and in the methods below, there are two contexts. workerCtx is done when the worker stops. The task runs
// with ctx, which is not done then, so that the task can be completed.
func (r *Runner) execute(ctx, workerCtx context.Context, ref Reference) {
	t, err := r.claim(ctx, workerCtx, ref.ID)
	if err != nil {
		r.Log.Warn("failed to claim task; will retry", "task", ref.ID, "error", err)
		return
	}

	if t == nil {
		return // started by another worker, finished, or not due
	}

	begun := time.Now()
	outcome := r.attempt(ctx, workerCtx, *t)
	outcome.Group = t.Group
	r.record(ctx, workerCtx, outcome)

	if r.Report != nil {
		r.Report(Report{Kind: t.Kind, Queue: t.Queue, State: outcome.State, Duration: time.Since(begun)})
	}
}

// claim starts a task: it marks the task as running in the store, with a lease for this worker. It
// returns nil if the task is not waiting or not due. While the store is unavailable, claim retries
// until the worker stops, because giving up would lose the reference from the queue.
func (r *Runner) claim(ctx, workerCtx context.Context, id string) (t *Task, err error) {
	err = retry(workerCtx, maxClaimPause, func() error {
		t, err = r.starter.Do(ctx, id)
		return err
	})

	return t, err
}

// retry calls fn until fn succeeds or the context until is done, and returns the last error
// of fn. The pauses between the calls grow up to maxPause.
func retry(until context.Context, maxPause time.Duration, fn func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxPause) {
		err := fn()
		if err == nil || until.Err() != nil {
			return err
		}

		select {
		case <-time.After(pause):
		case <-until.Done():
		}
	}
}

// attempt runs the handler of the task and returns the outcome.
func (r *Runner) attempt(ctx, workerCtx context.Context, t Task) Outcome {
	run := Run{ID: t.ID, Attempt: t.Attempt}
	h, hasHandler := r.handlersByKind[t.Kind]

	maxAttempts := cmp.Or(h.Attempts, defaultAttempts)
	if t.Attempt > maxAttempts {
		// The worker of the last attempt was killed: an attempt with an outcome would have made the task dead.
		r.Log.Error("task is dead; its last attempt did not finish", "kind", t.Kind, "task", t.ID, "attempts", maxAttempts)
		return Outcome{Run: run, State: Dead, Err: "the worker was lost during the last attempt"}
	}

	// A kind without a handler is an error that is retried: a worker of a newer version may get the task.
	err := errors.New("no handler for this kind; a newer version may have one")
	if hasHandler {
		err = r.runHandler(ctx, workerCtx, h, t)
	}

	log := r.Log.With("kind", t.Kind, "task", t.ID, "attempt", t.Attempt, "error", err)

	now := r.Clock.Now()
	switch {
	case err == nil:
		return Outcome{Run: run, State: Done}
	// The task is not at fault when the worker stops. So it is due again at once, for another worker.
	case errors.Is(err, errStopping):
		return Outcome{Run: run, State: Waiting, RunAt: now, Err: err.Error(), DoNotCountAttempt: true}
	// A failed periodic task is done and not dead, because the next period adds a new task.
	case h.periodic && (IsPermanent(err) || t.Attempt == maxAttempts):
		log.Error("periodic task failed; will run in the next period")
		return Outcome{Run: run, State: Done, Err: err.Error()}
	case IsPermanent(err), t.Attempt == maxAttempts:
		log.Error("task is dead; see `locum tasks list`")
		return Outcome{Run: run, State: Dead, Err: err.Error()}
	}

	pause := backoff(t.Attempt)
	log.Warn("task failed; will retry", "in", pause.Round(time.Second).String())

	return Outcome{Run: run, State: Waiting, RunAt: now.Add(pause), Err: err.Error()}
}

// backoff returns the pause after a failed attempt: 5 s, 15 s, 45 s, … up to 4 h, with
// a jitter of a fifth.
func backoff(attempt int) time.Duration {
	const longest = 4 * time.Hour

	pause := 5 * time.Second
	for range attempt - 1 {
		pause = min(3*pause, longest)
	}

	jitter := 0.8 + 0.4*rand.Float64() //nolint:gosec // jitter needs no secrecy

	return time.Duration(float64(pause) * jitter)
}

// runHandler runs the handler with its time limit. A handler that ignores its deadline is
// abandoned: its goroutine runs on until it returns, and the worker continues with another
// task.
func (r *Runner) runHandler(ctx, workerCtx context.Context, h Handler, t Task) (err error) {
	timeout := cmp.Or(h.Timeout, DefaultTimeout)

	ctx, cancelWithCause := context.WithCancelCause(ctx)
	defer cancelWithCause(nil)

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	run := Run{ID: t.ID, Attempt: t.Attempt}

	// extendLeases cancels the attempt if the task is lost.
	r.mu.Lock()
	r.running[run] = cancelWithCause
	r.mu.Unlock()

	defer func() {
		r.mu.Lock()
		delete(r.running, run)
		r.mu.Unlock()
	}()

	if timeout > DefaultTimeout {
		// A long task must not delay the end of the process.
		stopWatching := context.AfterFunc(workerCtx, func() { cancelWithCause(errStopping) })
		defer stopWatching()
	}

	ctx, finish := r.Trace.Start(ctx, "task "+t.Kind, t.Trace)
	defer func() { finish(err) }()

	result := make(chan error, 1) // buffered, so that an abandoned handler can end
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- fmt.Errorf("panic: %v", p)
			}
		}()

		result <- h.Do(ctx, t)
	}()

	select {
	case err = <-result:
		return withCause(ctx, err)
	case <-ctx.Done():
	}

	// The deadline has passed: wait a little longer for the result.
	select {
	case err = <-result:
		return withCause(ctx, err)
	case <-time.After(gracePeriod):
		return fmt.Errorf("the handler ignores its deadline: %w", context.Cause(ctx))
	}
}

// withCause adds errStopping or errLost to the error of a handler whose context was
// cancelled for that reason.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errStopping) || errors.Is(cause, errLost)) {
		return fmt.Errorf("%w: %w", cause, err)
	}

	return err
}

// record stores the outcome. While the store is unavailable, record retries until the worker stops or the
// lease of the task ends, after which another worker may have started it. A task without a stored outcome
// is executed again.
func (r *Runner) record(ctx, workerCtx context.Context, o Outcome) {
	until, cancel := context.WithTimeout(workerCtx, lease)
	defer cancel()

	err := retry(until, maxRecordPause, func() error {
		outcomeErr, err := r.recorder.Do(ctx, o)
		return cmp.Or(err, outcomeErr)
	})
	if err != nil {
		r.Log.Warn("failed to store the outcome of a task; it may be executed again", "task", o.ID, "state", o.State, "error", err)
	}
}

// startBatch starts tasks and returns them in the order of the ids, nil for a task that was
// not started.
func (r *Runner) startBatch(ctx context.Context, ids []string) ([]*Task, error) {
	tasks, err := r.Store.Start(ctx, ids, lease)
	if err != nil {
		return nil, err
	}

	tasksByID := list.ToMap(tasks, func(t Task) (string, *Task) { return t.ID, &t })

	started := make([]*Task, len(ids))
	for i, id := range ids {
		started[i] = tasksByID[id]
		delete(tasksByID, id) // so that a second caller with the same id gets nil and does not execute it, too
	}

	return started, nil
}

// recordBatch stores outcomes and returns the error of each, which is nil for a stored one. If no outcome
// could be stored, it returns the error as its second result.
func (r *Runner) recordBatch(ctx context.Context, outcomes []Outcome) ([]error, error) {
	errs := make([]error, len(outcomes))
	err := r.Store.RecordOutcomes(ctx, outcomes...)

	partial, isPartial := errors.AsType[partlyRecordedError](err)
	if !isPartial {
		return errs, err
	}

	for i, o := range outcomes {
		if partial.failedIDs[o.ID] {
			errs[i] = err
		}
	}

	return errs, nil
}

// extendLeases renews the leases of running tasks at each heartbeat, until ctx is done. It
// cancels the tasks that another worker has taken over.
func (r *Runner) extendLeases(ctx context.Context) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		r.mu.Lock()
		runs := slices.Collect(maps.Keys(r.running))
		r.mu.Unlock()

		if len(runs) == 0 {
			continue
		}

		callCtx, cancel := context.WithTimeout(ctx, storeTimeout)
		lost, err := r.Store.Extend(callCtx, runs, lease)

		cancel()

		if err != nil {
			r.Log.Warn("failed to renew the leases of running tasks", "tasks", len(runs), "error", err)
		}

		r.mu.Lock()
		for _, run := range lost {
			if cancel := r.running[run]; cancel != nil {
				cancel(errLost)
			}
		}

		r.mu.Unlock()
	}
}

// Sweep adds the periodic tasks whose period has begun and enqueues all due tasks.
func (r *Runner) Sweep(ctx context.Context) error {
	periodicErr := r.addPeriodic(ctx)
	for {
		enqueued, err := r.enqueueDue(ctx)
		if err != nil || enqueued < enqueueBatch {
			return errors.Join(periodicErr, err)
		}
	}
}

// enqueueDue enqueues at most enqueueBatch due tasks and returns their number.
func (r *Runner) enqueueDue(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	refs, err := r.Store.Due(ctx, enqueueBatch)
	if err != nil {
		return 0, err
	}

	return len(refs), r.Enqueue(ctx, refs)
}

// Enqueue enqueues the references. If the queue is unavailable, their tasks are due
// again after a few seconds.
func (r *Runner) Enqueue(ctx context.Context, refs []Reference) error {
	if len(refs) == 0 {
		return nil
	}

	err := r.Queue.Enqueue(ctx, refs...)
	if err == nil {
		return nil
	}

	return errors.Join(fmt.Errorf("queue: %w", err), r.Store.Postpone(ctx, refs, r.Clock.Now().Add(requeueDelay)))
}

// addPeriodic adds the periodic tasks whose period has begun. The key of such a task
// contains the period, so that only one of several processes adds the task.
func (r *Runner) addPeriodic(ctx context.Context) error {
	now := r.Clock.Now()

	var tasks []Task
	for _, p := range r.Periodic {
		start := now.Truncate(p.Every)

		isAdded := start.Equal(r.periodByKind[p.Kind]) // by this process
		if !isAdded {
			key, noPayload := p.Kind+":"+start.Format(time.RFC3339), struct{}{}
			tasks = append(tasks, New(p.Kind, Maintenance, key, noPayload))
		}
	}

	if len(tasks) == 0 {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()

	if err := r.Store.Add(ctx, tasks...); err != nil {
		return err
	}

	for _, p := range r.Periodic {
		r.periodByKind[p.Kind] = now.Truncate(p.Every)
	}

	return nil
}
