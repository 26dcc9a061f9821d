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
	// lease is the time after which the tasks of a killed worker are started by
	// another one. It is renewed at each heartbeat.
	lease     = 30 * time.Second
	heartbeat = lease / 3
	// gracePeriod is the time after its deadline until a handler is abandoned.
	gracePeriod = 3 * time.Second
	// attempts is the number of attempts at a task of a Handler without Attempts.
	attempts = 15
	// periodicAttempts is that of periodic tasks, which the next period repeats.
	periodicAttempts = 3
	// enqueueBatch is the number of due tasks that are enqueued at once. If the queue
	// is unavailable, they are due again after requeueDelay.
	enqueueBatch = 500
	requeueDelay = 5 * time.Second
	// batchSize is the most tasks that one call to the store starts or finishes, and
	// maxCalls the most concurrent calls.
	batchSize = 100
	maxCalls  = 2
	// storeTimeout is the time limit for a call to the store.
	storeTimeout = 10 * time.Second
)

// Report describes an attempt that has ended.
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

// Runner executes the tasks of a store. A store may have any number of runners.
type Runner struct {
	Deps
	byKind map[string]Handler
	starts *batch.Batcher[string, *Task]
	ends   *batch.Batcher[Outcome, error]
	begun  map[string]time.Time // period by periodic kind, of this process

	mu      sync.Mutex
	running map[Run]context.CancelCauseFunc
}

var (
	errLost     = errors.New("another worker has taken the task over")
	errStopping = errors.New("the worker is stopping")
)

// NewRunner returns a runner. A kind with two handlers is an error.
func NewRunner(d Deps) (*Runner, error) {
	r := &Runner{Deps: d, byKind: map[string]Handler{}, begun: map[string]time.Time{}, running: map[Run]context.CancelCauseFunc{}}
	if r.Trace == nil {
		r.Trace = trace.Off{}
	}
	for _, p := range d.Periodic {
		r.Handlers = append(r.Handlers, Handler{Kind: p.Kind, Queue: Maintenance, Timeout: p.Timeout, Attempts: periodicAttempts, periodic: true, Do: func(ctx context.Context, _ Task) error { return p.Do(ctx) }})
	}
	for _, h := range r.Handlers {
		if _, twice := r.byKind[h.Kind]; twice {
			return nil, fmt.Errorf("tasks of kind %s have two handlers", h.Kind)
		}
		r.byKind[h.Kind] = h
	}
	r.starts, r.ends = batch.New(maxCalls, batchSize, batch.Unweighted, r.start), batch.New(maxCalls, batchSize, batch.Unweighted, r.end)
	return r, nil
}

// Work executes tasks until ctx is done. It then waits for running tasks with the
// default timeout or a shorter one; others are interrupted and wait again.
func (r *Runner) Work(ctx context.Context) error {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	helpers.Go(func() { r.extendLeases(running) })
	return r.Queue.Work(ctx, func(worker context.Context, ref Reference) { r.do(worker, ctx, ref) })
}

// do executes the task of a reference, if it waits and is due. Until is done when the
// worker stops.
func (r *Runner) do(ctx, until context.Context, ref Reference) {
	j, err := r.claim(ctx, until, ref.ID)
	if err != nil {
		r.Log.Warn("failed to claim task; will retry", "task", ref.ID, "error", err)
		return
	}
	if j == nil {
		return // started by another worker, finished, or not due
	}
	begun := time.Now()
	o := r.attempt(ctx, until, *j)
	o.Group = j.Group
	r.record(ctx, until, o)
	if r.Report != nil {
		r.Report(Report{Kind: j.Kind, Queue: j.Queue, State: o.State, Duration: time.Since(begun)})
	}
}

// claim starts a task. It waits for a store that is unavailable: otherwise all
// references in the queue would be lost.
func (r *Runner) claim(ctx, until context.Context, id string) (j *Task, err error) {
	err = retry(until, 5*time.Second, func() error {
		j, err = r.starts.Do(ctx, id)
		return err
	})
	return j, err
}

// retry calls fn until it succeeds or until is done, and returns its last error. The
// pauses grow up to longest.
func retry(until context.Context, longest time.Duration, fn func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, longest) {
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

// attempt runs the handler and returns the outcome.
func (r *Runner) attempt(ctx, until context.Context, j Task) Outcome {
	run := Run{ID: j.ID, Attempt: j.Attempt}
	h, known := r.byKind[j.Kind]
	most := cmp.Or(h.Attempts, attempts)
	if j.Attempt > most {
		// The worker of the last attempt was killed.
		r.Log.Error("task is dead; its last attempt did not finish", "kind", j.Kind, "task", j.ID, "attempts", most)
		return Outcome{Run: run, State: Dead, Err: "the worker was lost during the last attempt"}
	}
	err := errors.New("no handler for this kind; a newer version may have one")
	if known {
		err = r.run(ctx, until, h, j)
	}
	log := r.Log.With("kind", j.Kind, "task", j.ID, "attempt", j.Attempt, "error", err)
	now := r.Clock.Now()
	switch {
	case err == nil:
		return Outcome{Run: run, State: Done}
	case errors.Is(err, errStopping):
		return Outcome{Run: run, State: Waiting, RunAt: now, Err: err.Error(), DoNotCountAttempt: true}
	case h.periodic && (IsPermanent(err) || j.Attempt == most):
		log.Error("periodic task failed; will run in the next period")
		return Outcome{Run: run, State: Done, Err: err.Error()}
	case IsPermanent(err), j.Attempt == most:
		log.Error("task is dead; see `locum tasks list`")
		return Outcome{Run: run, State: Dead, Err: err.Error()}
	}
	pause := backoff(j.Attempt)
	log.Warn("task failed; will retry", "in", pause.Round(time.Second).String())
	return Outcome{Run: run, State: Waiting, RunAt: now.Add(pause), Err: err.Error()}
}

// backoff returns the pause after a failed attempt: 5 s, 15 s, 45 s, … up to 4 h, with
// a jitter of a fifth.
func backoff(attempt int) time.Duration {
	d := 5 * time.Second
	for range min(attempt, 9) - 1 {
		d *= 3
	}
	d = min(d, 4*time.Hour)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter needs no secrecy
}

// run runs the handler with its time limit. A handler that ignores its deadline is
// abandoned: its goroutine continues until it returns, but another task takes its slot.
func (r *Runner) run(ctx, until context.Context, h Handler, j Task) (err error) {
	longest := cmp.Or(h.Timeout, DefaultTimeout)
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	run := Run{ID: j.ID, Attempt: j.Attempt}
	r.mu.Lock()
	r.running[run] = lost
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.running, run)
		r.mu.Unlock()
	}()
	if longest > DefaultTimeout {
		// Long tasks do not delay the end of the process.
		defer context.AfterFunc(until, func() { lost(errStopping) })()
	}
	ctx, finish := r.Trace.Start(ctx, "task "+j.Kind, j.Trace)
	defer func() { finish(err) }()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("panic: %v", p)
			}
		}()
		ended <- h.Do(ctx, j)
	}()
	select {
	case err = <-ended:
		return withCause(ctx, err)
	case <-ctx.Done():
	}
	select {
	case err = <-ended:
		return withCause(ctx, err)
	case <-time.After(gracePeriod):
		return fmt.Errorf("the handler ignores its deadline: %w", context.Cause(ctx))
	}
}

// withCause adds the cause of the cancelled context to the error of a handler.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errStopping) || errors.Is(cause, errLost)) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// record stores the outcome. It waits for a store that is unavailable until the lease
// ends, because the task would be executed again.
func (r *Runner) record(ctx, until context.Context, o Outcome) {
	until, cancel := context.WithTimeout(until, lease)
	defer cancel()
	err := retry(until, 2*time.Second, func() error {
		failed, err := r.ends.Do(ctx, o)
		return cmp.Or(err, failed)
	})
	if err != nil {
		r.Log.Warn("failed to store the outcome of a task; it may be executed again", "task", o.ID, "state", o.State, "error", err)
	}
}

func (r *Runner) start(ctx context.Context, ids []string) ([]*Task, error) {
	tasks, err := r.Store.Start(ctx, ids, lease)
	if err != nil {
		return nil, err
	}
	at := list.ToMap(tasks, func(t Task) (string, *Task) { return t.ID, &t })
	out := make([]*Task, len(ids))
	for i, id := range ids {
		out[i] = at[id]
		delete(at, id) // the same id twice in one call is one task
	}
	return out, nil
}

// end stores outcomes and returns the error of each.
func (r *Runner) end(ctx context.Context, outcomes []Outcome) ([]error, error) {
	errs := make([]error, len(outcomes))
	err := r.Store.RecordOutcomes(ctx, outcomes...)
	partly, isPartly := errors.AsType[partlyRecordedError](err)
	if !isPartly {
		return errs, err
	}
	for i, o := range outcomes {
		if partly.failed[o.ID] {
			errs[i] = err
		}
	}
	return errs, nil
}

// extendLeases renews the leases of running tasks and cancels those that are lost.
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
		call, cancel := context.WithTimeout(ctx, storeTimeout)
		lost, err := r.Store.Extend(call, runs, lease)
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
	failed := r.beginPeriods(ctx)
	for {
		n, err := r.enqueueDue(ctx)
		if err != nil || n < enqueueBatch {
			return errors.Join(failed, err)
		}
	}
}

// enqueueDue enqueues some of the due tasks and returns their number.
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

// beginPeriods adds the task of each period that has begun. Its key contains the
// period, so that one of several processes adds it.
func (r *Runner) beginPeriods(ctx context.Context) error {
	now := r.Clock.Now()
	var tasks []Task
	for _, p := range r.Periodic {
		if start := now.Truncate(p.Every); !start.Equal(r.begun[p.Kind]) {
			tasks = append(tasks, New(p.Kind, Maintenance, p.Kind+":"+start.Format(time.RFC3339), struct{}{}))
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
		r.begun[p.Kind] = now.Truncate(p.Every)
	}
	return nil
}
