package kit

import (
	"context"
	"log/slog"
	"testing"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

// InlineQueue is a task.Queue without delay: Enqueue executes the task before it returns, so
// that a test sees its result. Enqueue waits until Work has set the function.
type InlineQueue struct {
	execute func(context.Context, task.Reference) // set by Work
	ready   chan struct{}                         // closed when execute is set
}

// Enqueue implements task.Queue.
func (q *InlineQueue) Enqueue(ctx context.Context, refs ...task.Reference) error {
	<-q.ready

	for _, ref := range refs {
		q.execute(ctx, ref)
	}

	return nil
}

// Work implements task.Queue.
func (q *InlineQueue) Work(ctx context.Context, execute func(context.Context, task.Reference)) error {
	q.execute = execute
	close(q.ready)
	<-ctx.Done()

	return nil
}

// Embedded implements task.Queue.
func (q *InlineQueue) Embedded() bool { return true }

// Work runs the background work of a storage synchronously, so that a test sees its result. Relay.Drain
// takes recorded events from the outbox and adds a task for each of their subscriptions. Runner.Sweep
// enqueues all due tasks. It returns when they are executed, because the queue is an InlineQueue.
type Work struct {
	Relay  *event.Relay
	Runner *task.Runner
}

// NewWork returns the Work of a storage. It executes the tasks of the handlers, and those for the events
// to which the table subscribes. All work ends with the test.
func NewWork(
	t testing.TB, storage adapters.Storage, clk clock.Clock, table []event.Subscription, handlers ...task.Handler,
) Work {
	t.Helper()

	log := slog.New(slog.DiscardHandler)
	queue := &InlineQueue{ready: make(chan struct{})}

	runner, err := task.NewRunner(task.Deps{
		Store:    storage.Identity.Tasks,
		Queue:    queue,
		Clock:    clk,
		Log:      log,
		Handlers: append(event.Handlers(table), handlers...),
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)

		_ = runner.Work(ctx)
	}()

	t.Cleanup(func() {
		stop()
		<-stopped
	})

	relay := event.NewRelay(event.RelayDeps{
		Sources: []event.Source{{
			Tx:     storage.Identity.Tx,
			Outbox: storage.Identity.Outbox,
			Tasks:  storage.Identity.Tasks,
		}},
		Runner: runner,
		Table:  table,
		Log:    log,
	})

	return Work{Relay: relay, Runner: runner}
}

// All relays every event and runs every due task, including the events and tasks that result
// from them, until none is left that is due now.
func (w Work) All(t testing.TB) {
	t.Helper()

	// A pass relays events and then executes tasks. It is idle if it relays no events. All work is done
	// after two idle passes in a row. One is not enough: the tasks of that pass may have recorded events,
	// which the relay sees only in the next pass.
	for idlePasses := 0; idlePasses < 2; {
		relayed, err := w.Relay.Drain(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if err := w.Runner.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}

		idlePasses++
		if relayed > 0 {
			idlePasses = 0
		}
	}
}
