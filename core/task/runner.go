package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/locumhq/locum/core/bundle"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/trace"
)

// The rhythm of the runner.
const (
	// Longest is how long one attempt may take if its handler says nothing else.
	Longest = 20 * time.Second
	// lease is how long a task is its worker's without a sign of life: what a
	// killed worker held is taken up by another soon after.
	lease     = 30 * time.Second
	heartbeat = lease / 3
	// patience is what a handler that does not heed its deadline gets on top.
	patience = 3 * time.Second
	// attempts is how often a task is tried.
	attempts = 15
	// periodicAttempts is that for work which the next period does anyway.
	periodicAttempts = 3
	// handOut is how many tasks one step of the sweep hands to the queue, and
	// wayOff how long it leaves them alone when the queue is away.
	handOut = 500
	wayOff  = 5 * time.Second
	// together is how many tasks are begun or ended in one call to the store, and
	// callsAtOnce how many such calls go on.
	together    = 100
	callsAtOnce = 2
	// storePatience is how long the store may take to answer a call: a server that
	// is gone without a word would be waited for by everybody.
	storePatience = 10 * time.Second
)

// Report tells how an attempt went.
type Report struct {
	Kind  string
	Class Class
	State State // Done, Dead, or Waiting if it will be tried again
	Took  time.Duration
}

// Needs is what a Runner is plugged into.
type Needs struct {
	Store    Store
	Queue    Queue
	Clock    clock.Clock
	Log      *slog.Logger
	Handlers []Handler
	Periodic []Periodic
	Report   func(Report) // nil for nobody
	Trace    trace.Tracer // nil for no traces
}

// Runner does tasks. Any number may run over one store.
type Runner struct {
	Needs
	byKind map[string]Handler
	starts *bundle.Calls[string, *Task]
	ends   *bundle.Calls[Outcome, struct{}]
	begun  map[string]time.Time // period by periodic kind, of this process

	mu      sync.Mutex
	running map[Run]context.CancelCauseFunc
}

var (
	errLost     = errors.New("another worker has taken the task over")
	errStopping = errors.New("the worker is stopping")
)

// NewRunner makes a runner. A kind has one handler.
func NewRunner(n Needs) (*Runner, error) {
	r := &Runner{Needs: n, byKind: map[string]Handler{}, begun: map[string]time.Time{}, running: map[Run]context.CancelCauseFunc{}}
	if r.Trace == nil {
		r.Trace = trace.Off{}
	}
	for _, p := range n.Periodic {
		r.Handlers = append(r.Handlers, Handler{Kind: p.Kind, Class: Maintenance, Longest: p.Longest, Attempts: periodicAttempts, periodic: true, Do: func(ctx context.Context, _ Task) error { return p.Do(ctx) }})
	}
	for _, h := range r.Handlers {
		if _, twice := r.byKind[h.Kind]; twice {
			return nil, fmt.Errorf("tasks of kind %s have two handlers", h.Kind)
		}
		r.byKind[h.Kind] = h
	}
	r.starts, r.ends = bundle.New(callsAtOnce, together, bundle.Each, r.start), bundle.New(callsAtOnce, together, bundle.Each, r.end)
	return r, nil
}

// Work does tasks until ctx ends. What is at hand then comes to its end, if that
// is not far; the rest goes back at once.
func (r *Runner) Work(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer end()
	helpers.Go(func() { r.beat(life) })
	return r.Queue.Work(ctx, func(worker context.Context, t Ticket) { r.do(worker, ctx, t) })
}

// do does the task of a ticket, if it is still to be done.
func (r *Runner) do(ctx, until context.Context, t Ticket) {
	j, err := r.startOne(ctx, until, t.ID)
	if err != nil {
		r.Log.Warn("failed to claim task; will retry", "task", t.ID, "error", err)
		return
	}
	if j == nil {
		return // somebody else's, done, or not yet due
	}
	begun := time.Now()
	o := r.attempt(ctx, until, *j)
	r.settle(ctx, until, o)
	if r.Report != nil {
		r.Report(Report{Kind: j.Kind, Class: j.Class, State: o.State, Took: time.Since(begun)})
	}
}

// startOne claims a task. A store that is away is waited for: the ticket would be
// lost, and with it those of all who wait behind it.
func (r *Runner) startOne(ctx, until context.Context, id string) (*Task, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		j, err := r.starts.One(ctx, id)
		if err == nil || until.Err() != nil {
			return j, err
		}
		waited(until, pause)
	}
}

// waited waits for so long, or until ctx ends.
func waited(ctx context.Context, pause time.Duration) {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// attempt runs the handler and judges what came of it.
func (r *Runner) attempt(ctx, until context.Context, j Task) Outcome {
	run := Run{ID: j.ID, Attempt: j.Attempt}
	h, known := r.byKind[j.Kind]
	most := cmp.Or(h.Attempts, attempts)
	if j.Attempt > most {
		// Nobody was left to say so when the last attempt ended.
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
		return Outcome{Run: run, State: Waiting, RunAt: now, Err: err.Error(), Uncounted: true}
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

// backoff is the pause after an attempt: 5 s, 15 s, 45 s, … up to 4 h, give or
// take a fifth, so that what failed together does not come back together.
func backoff(attempt int) time.Duration {
	d := 4 * time.Hour
	if attempt < 9 {
		d = 5 * time.Second
		for range attempt - 1 {
			d *= 3
		}
		d = min(d, 4*time.Hour)
	}
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // jitter needs no secrecy
}

// run runs the handler for as long as it may. A handler that heeds no deadline
// is left to itself: its goroutine is lost until it returns, its place is not.
func (r *Runner) run(ctx, until context.Context, h Handler, j Task) (err error) {
	longest := cmp.Or(h.Longest, Longest)
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
	if longest > Longest {
		// What takes long does not hold up the end of the process.
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
		return because(ctx, err)
	case <-ctx.Done():
	}
	hangs := time.NewTimer(patience)
	defer hangs.Stop()
	select {
	case err = <-ended:
		return because(ctx, err)
	case <-hangs.C:
		return fmt.Errorf("does not come to an end: %w", context.Cause(ctx))
	}
}

// because adds why the context ended to an error that says only that it did.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errStopping) || errors.Is(cause, errLost)) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// settle writes the outcome down. A store that is away for a moment would have
// the task done twice, so it is waited for while the lease lasts.
func (r *Runner) settle(ctx, until context.Context, o Outcome) {
	pause := 100 * time.Millisecond
	for deadline := time.Now().Add(lease); ; pause = min(2*pause, 2*time.Second) {
		_, err := r.ends.One(ctx, o)
		if err == nil {
			return
		}
		if time.Now().After(deadline) || until.Err() != nil {
			r.Log.Warn("failed to store the outcome of a task; it may be executed again", "task", o.ID, "state", o.State, "error", err)
			return
		}
		waited(until, pause)
	}
}

func (r *Runner) start(ctx context.Context, ids []string) ([]*Task, error) {
	tasks, err := r.Store.Start(ctx, ids, lease)
	if err != nil {
		return nil, err
	}
	at := make(map[string]*Task, len(tasks))
	for i := range tasks {
		at[tasks[i].ID] = &tasks[i]
	}
	out := make([]*Task, len(ids))
	for i, id := range ids {
		out[i] = at[id]
		delete(at, id) // the same ticket twice in one call is one task
	}
	return out, nil
}

func (r *Runner) end(ctx context.Context, outcomes []Outcome) ([]struct{}, error) {
	return make([]struct{}, len(outcomes)), r.Store.Settle(ctx, outcomes...)
}

// beat gives signs of life for what is running.
func (r *Runner) beat(ctx context.Context) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		runs := make([]Run, 0, len(r.running))
		for run := range r.running {
			runs = append(runs, run)
		}
		r.mu.Unlock()
		if len(runs) == 0 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, storePatience)
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

// Sweep begins the periods that have come and hands due tasks to the queue.
func (r *Runner) Sweep(ctx context.Context) error {
	failed := r.beginPeriods(ctx)
	for {
		n, err := r.handOutDue(ctx)
		if err != nil || n < handOut {
			return errors.Join(failed, err)
		}
	}
}

// handOutDue hands some of the due tasks to the queue, and says how many.
func (r *Runner) handOutDue(ctx context.Context) (int, error) {
	// A server that is gone without a word is not waited for.
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	tickets, err := r.Store.Due(ctx, handOut)
	if err != nil {
		return 0, err
	}
	return len(tickets), r.HandOver(ctx, tickets)
}

// HandOver enqueues the tickets. If the queue is away, their tasks are due again
// in a moment.
func (r *Runner) HandOver(ctx context.Context, tickets []Ticket) error {
	if len(tickets) == 0 {
		return nil
	}
	err := r.Queue.Enqueue(ctx, tickets...)
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("queue: %w", err), r.Store.Postpone(ctx, tickets, r.Clock.Now().Add(wayOff)))
}

// beginPeriods adds the task of each period that has begun: its key names the
// period, so that one process of many succeeds.
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
	ctx, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	if err := r.Store.Add(ctx, tasks...); err != nil {
		return err
	}
	for _, p := range r.Periodic {
		r.begun[p.Kind] = now.Truncate(p.Every)
	}
	return nil
}
