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
	"github.com/locumhq/locum/adapters/localjobs"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func record(t *testing.T, s adapters.Storage, events ...event.Event) {
	t.Helper()
	require.NoError(t, s.Tx.Do(t.Context(), func(ctx context.Context) error { return s.Events.Record(ctx, events...) }))
}

// relay is a relay whose jobs are done at once.
func relay(t *testing.T, s adapters.Storage, table ...event.Subscription) *event.Relay {
	t.Helper()
	r := event.NewRelay(s.Outbox, &kit.Straight{}, table, slog.New(slog.DiscardHandler))
	require.NoError(t, r.Work(t.Context()))
	return r
}

func TestEverySubscriberHearsWhatItAskedForOnceAllIsWell(t *testing.T) {
	t.Parallel()
	s := stores.SQLite(t, clock.System{})
	var heard []string
	r := relay(t, s,
		event.On("a", func(_ context.Context, e event.JobCreated) error { heard = append(heard, "a "+e.JobID); return nil }),
		event.On("b", func(_ context.Context, e event.JobCreated) error { heard = append(heard, "b "+e.JobID); return nil }),
		event.On("c", func(_ context.Context, e event.JobClosed) error { heard = append(heard, "c "+e.JobID); return nil }),
	)
	record(t, s, event.JobCreated{JobID: "1"}, event.JobClosed{JobID: "2"}, event.JobUpdated{JobID: "nobody asked"})
	n, err := r.Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []string{"a 1", "b 1", "c 2"}, heard)
	n, err = r.Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "what was delivered is done")
}

func TestAReactionThatFailsOrPanicsIsTriedAgainAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	s := stores.SQLite(t, clk)
	var tries, others int
	r := relay(t, s,
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
		event.On("other", func(context.Context, event.JobClosed) error { others++; return nil }),
	)
	record(t, s, event.JobCreated{JobID: "1"}, event.JobClosed{JobID: "2"})
	for want := 1; want <= 3; want++ {
		_, err := r.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, tries)
		n, err := r.Drain(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "until its lease ends")
		clk.Advance(time.Minute)
	}
	require.Equal(t, 1, others)
	n, err := r.Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestARunningRelayIsWokenByACommitAndStopsWhenItIsTold(t *testing.T) {
	t.Parallel()
	s := stores.SQLite(t, clock.System{})
	heard := make(chan string, 1)
	log := slog.New(slog.DiscardHandler)
	r := event.NewRelay(s.Outbox, localjobs.New(log), []event.Subscription{
		event.On("a", func(_ context.Context, e event.JobCreated) error { heard <- e.JobID; return nil }),
	}, log)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	running.Go(func() { _ = r.Work(ctx) })
	record(t, s, event.JobCreated{JobID: "1"})
	require.Equal(t, "1", <-heard)
	stop()
	running.Wait()
}

// forgetful is a queue that takes jobs and loses them.
type forgetful struct{ kit.Straight }

func (forgetful) Enqueue(context.Context, ...job.Job) error { return nil }

func TestAnEventWhoseJobWasLostIsCarriedAgain(t *testing.T) {
	t.Parallel()
	clk := kit.NewClock()
	s := stores.SQLite(t, clk)
	heard := 0
	table := []event.Subscription{event.On("a", func(context.Context, event.JobCreated) error { heard++; return nil })}
	record(t, s, event.JobCreated{JobID: "1"})
	_, err := event.NewRelay(s.Outbox, &forgetful{}, table, slog.New(slog.DiscardHandler)).Drain(t.Context())
	require.NoError(t, err)
	require.Zero(t, heard)
	clk.Advance(time.Minute)
	_, err = relay(t, s, table...).Drain(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, heard)
}
