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
	do    func(context.Context, task.Reference)
	ready chan struct{}
}

// Enqueue implements task.Queue.
func (q *InlineQueue) Enqueue(ctx context.Context, refs ...task.Reference) error {
	<-q.ready
	for _, t := range refs {
		q.do(ctx, t)
	}
	return nil
}

// Work implements task.Queue.
func (q *InlineQueue) Work(ctx context.Context, do func(context.Context, task.Reference)) error {
	q.do = do
	close(q.ready)
	<-ctx.Done()
	return nil
}

// Embedded implements task.Queue.
func (q *InlineQueue) Embedded() bool { return true }

// Work runs the background tasks of a storage synchronously: Relay.Drain relays
// events and Runner.Sweep runs due tasks, both before they return.
type Work struct {
	Relay  *event.Relay
	Runner *task.Runner
}

// NewWork returns the Work of the table and the handlers.
func NewWork(t testing.TB, storage adapters.Storage, clk clock.Clock, table []event.Subscription, handlers ...task.Handler) Work {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	queue := &InlineQueue{ready: make(chan struct{})}
	runner, err := task.NewRunner(
		task.Deps{Store: storage.Identity.Tasks, Queue: queue, Clock: clk, Log: log, Handlers: append(event.Handlers(table), handlers...)},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = runner.Work(ctx) }()
	t.Cleanup(func() { stop(); <-stopped })
	return Work{
		Runner: runner,
		Relay: event.NewRelay(
			event.RelayDeps{
				Sources: []event.Source{{Tx: storage.Identity.Tx, Outbox: storage.Identity.Outbox, Tasks: storage.Identity.Tasks}},
				Runner:  runner,
				Table:   table,
				Log:     log,
			},
		),
	}
}

// All relays every event and runs every due task, and those that follow from
// them, until none is left that is due now.
func (w Work) All(t testing.TB) {
	t.Helper()
	// A second pass: the sweep may have recorded new events.
	for quiet := 0; quiet < 2; quiet++ {
		n, err := w.Relay.Drain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Runner.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			quiet = -1
		}
	}
}
