package event_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/localtasks"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// The tests of this file record events in the outbox of a database. A relay turns each event into one task for each
// subscriber, and a task calls the handler of its subscriber. kit.Work does both synchronously: Work.All returns when no
// event and no due task is left. The clock of most tests is moved only by Advance.

// recordEvents records events in a transaction.
func recordEvents(t *testing.T, s adapters.Storage, events ...event.Event) {
	t.Helper()

	record := func(ctx context.Context) error { return s.Identity.Events.Record(ctx, events...) }
	require.NoError(t, s.Identity.Tx.Do(t.Context(), record))
}

// TestRelay_Event_CallsEachSubscriberOnce checks that each event is handled once by each of its
// subscribers, in the order of the events, and not again an hour later. An event without a subscriber is
// relayed too, or it would remain in the outbox.
func TestRelay_Event_CallsEachSubscriberOnce(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	storage := stores.SQLite(t, clk)

	// Two subscribers of created jobs and one of closed jobs note their calls, each as its name and the job.
	var handled []string
	noteCreated := func(subscriber string) event.Subscription {
		return event.On(subscriber, func(_ context.Context, e event.JobCreated) error {
			handled = append(handled, subscriber+" "+e.JobID)
			return nil
		})
	}
	noteClosed := event.OnID("c", func(_ context.Context, eventID string, e event.JobClosed) error {
		handled = append(handled, "c "+e.JobID)

		const lengthOfUUID = 36

		require.Len(t, eventID, lengthOfUUID)

		return nil
	})
	work := kit.NewWork(t, storage, clk, []event.Subscription{noteCreated("a"), noteCreated("b"), noteClosed})

	recordEvents(t, storage, event.JobCreated{JobID: "1"}, event.JobClosed{JobID: "2"}, event.JobUpdated{JobID: "without a subscriber"})

	relayed, err := work.Relay.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, relayed)
	require.Equal(t, []string{"a 1", "b 1", "c 2"}, handled)

	clk.Advance(time.Hour)
	work.All(t)
	require.Len(t, handled, 3, "relayed events are not relayed again")
}

// TestRelay_FailedHandler_RetriedAlone checks that an error or a panic of one subscriber is retried after a
// pause, and that the other subscribers of the event are not called again.
func TestRelay_FailedHandler_RetriedAlone(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	storage := stores.SQLite(t, clk)

	// One subscriber fails twice and then succeeds, and another one succeeds at once.
	var attempts, otherCalls int
	work := kit.NewWork(t, storage, clk, []event.Subscription{
		event.On("fragile", func(context.Context, event.JobCreated) error {
			attempts++
			switch attempts {
			case 1:
				return errors.New("unavailable")
			case 2:
				panic("broken")
			}

			return nil
		}),
		event.On("other", func(context.Context, event.JobCreated) error { otherCalls++; return nil }),
	})
	recordEvents(t, storage, event.JobCreated{JobID: "1"})

	for wantAttempts := 1; wantAttempts <= 3; wantAttempts++ {
		work.All(t)
		require.Equal(t, wantAttempts, attempts, "an attempt that is due is made")

		work.All(t)
		require.Equal(t, wantAttempts, attempts, "a failed handler is not called before its retry is due")

		clk.Advance(time.Minute) // more than the pauses before the first and the second retry
	}

	work.All(t)
	require.Equal(t, 3, attempts, "a handler that succeeded is not called again")
	require.Equal(t, 1, otherCalls, "subscribers that succeeded are not called again")
}

// TestRelay_UndecodableEvent_IsDeadAtOnce checks that a payload that does not fit the type of the handler is
// not retried: no retry can change it. A dead task is one that is not retried until an operator requests it.
func TestRelay_UndecodableEvent_IsDeadAtOnce(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	storage := stores.SQLite(t, clk)
	expectsTimestamp := event.On("a", func(context.Context, event.ApplicationSubmitted) error { return nil })
	work := kit.NewWork(t, storage, clk, []event.Subscription{
		{
			Type:  undecodableEvent{}.Type(),
			Name:  "a",
			Queue: task.Events,
			React: expectsTimestamp.React,
		},
	})
	recordEvents(t, storage, undecodableEvent{At: "not a timestamp"})
	work.All(t)

	deadTasks, err := storage.Identity.Tasks.List(t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(t, err)
	require.Len(t, deadTasks, 1)
}

// undecodableEvent has a text where event.ApplicationSubmitted has a timestamp.
type undecodableEvent struct {
	At string `json:"submitted_at"`
}

func (undecodableEvent) Type() string    { return "odd" }
func (undecodableEvent) Subject() string { return "1" }

// TestRelay_Run_RelaysCommitsUntilDone checks the relay as a process runs it: with the notifications of the
// database, a queue and workers, and until its context is done.
func TestRelay_Run_RelaysCommitsUntilDone(t *testing.T) {
	t.Parallel()

	storage := stores.SQLite(t, clock.System{})
	handledJobs := make(chan string, 1)
	log := slog.New(slog.DiscardHandler)
	table := []event.Subscription{
		event.On("a", func(_ context.Context, e event.JobCreated) error { handledJobs <- e.JobID; return nil }),
	}

	runner, err := task.NewRunner(task.Deps{
		Store:    storage.Identity.Tasks,
		Queue:    localtasks.New(),
		Clock:    clock.System{},
		Log:      log,
		Handlers: event.Handlers(table),
	})
	require.NoError(t, err)

	relay := event.NewRelay(event.RelayDeps{
		Sources: []event.Source{{Tx: storage.Identity.Tx, Outbox: storage.Identity.Outbox, Tasks: storage.Identity.Tasks}},
		Runner:  runner,
		Table:   table,
		Log:     log,
	})

	// Run the relay and the workers.
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { relay.Run(ctx) })
	running.Go(func() { _ = runner.Work(ctx) })

	// An event that is recorded meanwhile is handled.
	recordEvents(t, storage, event.JobCreated{JobID: "1"})
	require.Equal(t, "1", <-handledJobs)

	// Both end with their context; otherwise Wait does not return.
	stop()
	running.Wait()
}

// TestRelay_ExpiredLease_EventIsRelayed checks that the events of a process that was killed after it had
// claimed them are relayed when their lease of 30 seconds has ended, and not before.
func TestRelay_ExpiredLease_EventIsRelayed(t *testing.T) {
	t.Parallel()

	clk := kit.NewClock()
	storage := stores.SQLite(t, clk)

	calls := 0
	countCalls := event.On("a", func(context.Context, event.JobCreated) error { calls++; return nil })
	work := kit.NewWork(t, storage, clk, []event.Subscription{countCalls})
	recordEvents(t, storage, event.JobCreated{JobID: "1"})

	// Claim the event as the process did that was killed then.
	const (
		maxEvents = 10 // more than there are
		lease     = 30 * time.Second
	)

	_, err := storage.Identity.Outbox.Claim(t.Context(), maxEvents, lease)
	require.NoError(t, err)

	work.All(t)
	require.Zero(t, calls, "the event belongs to the process that has claimed it")

	clk.Advance(2 * lease)
	work.All(t)
	require.Equal(t, 1, calls)
}

// TestNewRunner_DuplicateSubscriber_ReturnsError checks that two subscribers with one name are refused at
// the start: they would share their tasks, and one of them would never be called.
func TestNewRunner_DuplicateSubscriber_ReturnsError(t *testing.T) {
	t.Parallel()

	react := func(context.Context, event.JobCreated) error { return nil }
	table := []event.Subscription{event.On("a", react), event.On("a", react)}

	_, err := task.NewRunner(task.Deps{Handlers: event.Handlers(table)})
	require.ErrorContains(t, err, "a have two handlers")
}
