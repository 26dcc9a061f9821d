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

func record(t *testing.T, s adapters.Storage, events ...event.Event) {
	t.Helper()
	require.NoError(t, s.Identity.Tx.Do(t.Context(), func(ctx context.Context) error { return s.Identity.Events.Record(ctx, events...) }))
}

func TestRelay_Event_CallsEachSubscriberOnce(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	s := stores.SQLite(t, clk)
	var heard []string
	w := kit.NewWork(t, s, clk, []event.Subscription{
		event.On("a", func(_ context.Context, e event.JobCreated) error { heard = append(heard, "a "+e.JobID); return nil }),
		event.On("b", func(_ context.Context, e event.JobCreated) error { heard = append(heard, "b "+e.JobID); return nil }),
		event.OnID("c", func(_ context.Context, id string, e event.JobClosed) error {
			heard = append(heard, "c "+e.JobID)
			require.Len(t, id, 36)
			return nil
		}),
	})
	record(t, s, event.JobCreated{JobID: "1"}, event.JobClosed{JobID: "2"}, event.JobUpdated{JobID: "nobody asked"})
	n, err := w.Relay.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []string{"a 1", "b 1", "c 2"}, heard)
	clk.Advance(time.Hour)
	w.All(t)
	require.Len(t, heard, 3, "a recorded outcome is not recorded again")
}

func TestRelay_FailedHandler_RetriedAlone(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	s := stores.SQLite(t, clk)
	var tries, others int
	w := kit.NewWork(t, s, clk, []event.Subscription{
		event.On("fragile", func(context.Context, event.JobCreated) error {
			tries++
			switch tries {
			case 1:
				return errors.New("away")
			case 2:
				panic("broken")
			}
			return nil
		}),
		event.On("other", func(context.Context, event.JobCreated) error { others++; return nil }),
	})
	record(t, s, event.JobCreated{JobID: "1"})
	for want := 1; want <= 3; want++ {
		w.All(t)
		require.Equal(t, want, tries)
		w.All(t)
		require.Equal(t, want, tries, "an unavailable store is not called during its pause")
		clk.Advance(time.Minute)
	}
	w.All(t)
	require.Equal(t, 3, tries)
	require.Equal(t, 1, others, "subscribers that succeeded are not called again")
}

func TestRelay_UndecodableEvent_IsDeadAtOnce(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	s := stores.SQLite(t, clk)
	w := kit.NewWork(t, s, clk, []event.Subscription{
		{Type: "odd", Name: "a", Queue: task.Events, React: event.On("a", func(context.Context, event.ApplicationSubmitted) error { return nil }).React},
	})
	record(t, s, oddEvent{At: "no moment"})
	w.All(t)
	dead, err := s.Identity.Tasks.List(t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(t, err)
	require.Len(t, dead, 1)
}

type oddEvent struct {
	At string `json:"submitted_at"`
}

func (oddEvent) Type() string    { return "odd" }
func (oddEvent) Subject() string { return "1" }

func TestRelay_Run_RelaysCommitsUntilDone(t *testing.T) {
	t.Parallel()
	s := stores.SQLite(t, clock.System{})
	heard := make(chan string, 1)
	log := slog.New(slog.DiscardHandler)
	table := []event.Subscription{event.On("a", func(_ context.Context, e event.JobCreated) error { heard <- e.JobID; return nil })}
	runner, err := task.NewRunner(task.Deps{Store: s.Identity.Tasks, Queue: localtasks.New(), Clock: clock.System{}, Log: log, Handlers: event.Handlers(table)})
	require.NoError(t, err)
	r := event.NewRelay(event.RelayDeps{Sources: []event.Source{{Tx: s.Identity.Tx, Outbox: s.Identity.Outbox, Tasks: s.Identity.Tasks}}, Runner: runner, Table: table, Log: log})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	running.Go(func() { _ = runner.Work(ctx) })
	record(t, s, event.JobCreated{JobID: "1"})
	require.Equal(t, "1", <-heard)
	stop()
	running.Wait()
}

func TestRelay_ExpiredLease_EventIsRelayed(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	s := stores.SQLite(t, clk)
	heard := 0
	w := kit.NewWork(t, s, clk, []event.Subscription{event.On("a", func(context.Context, event.JobCreated) error { heard++; return nil })})
	record(t, s, event.JobCreated{JobID: "1"})
	_, err := s.Identity.Outbox.Claim(t.Context(), 10, 30*time.Second)
	require.NoError(t, err)
	w.All(t)
	require.Zero(t, heard)
	clk.Advance(time.Minute)
	w.All(t)
	require.Equal(t, 1, heard)
}

func TestNewRunner_DuplicateSubscriber_ReturnsError(t *testing.T) {
	t.Parallel()
	react := func(context.Context, event.JobCreated) error { return nil }
	_, err := task.NewRunner(task.Deps{Handlers: event.Handlers([]event.Subscription{event.On("a", react), event.On("a", react)})})
	require.ErrorContains(t, err, "a have two handlers")
}
