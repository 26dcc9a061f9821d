package event_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func record(t *testing.T, s adapters.Storage, events ...event.Event) {
	t.Helper()
	require.NoError(t, s.Tx.Do(t.Context(), func(ctx context.Context) error { return s.Events.Record(ctx, events...) }))
}

func relay(s adapters.Storage, table ...event.Subscription) *event.Relay {
	return event.NewRelay(s.Outbox, table, slog.New(slog.DiscardHandler))
}

func TestEverySubscriberHearsWhatItAskedForOnceAllIsWell(t *testing.T) {
	t.Parallel()
	s := stores.SQLite(t, clock.System{})
	var heard []string
	r := relay(s,
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
	r := relay(s,
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
	r := relay(s, event.On("a", func(_ context.Context, e event.JobCreated) error { heard <- e.JobID; return nil }))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { r.Run(ctx); close(stopped) }()
	record(t, s, event.JobCreated{JobID: "1"})
	require.Equal(t, "1", <-heard)
	stop()
	<-stopped
}
