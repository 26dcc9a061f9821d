package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/job"
)

// Work is the suite of a store and a queue together, with the runner between
// them: what a job goes through, whichever pair carries it. open makes an empty
// store on the real clock and an empty queue.
func Work(t *testing.T, open func(t *testing.T) (adapters.Storage, job.Queue)) {
	// begin runs workers of the handlers until the test ends or stop is called.
	begin := func(t *testing.T, s adapters.Storage, q job.Queue, periodic []job.Periodic, handlers ...job.Handler) (stop func()) {
		t.Helper()
		r, err := job.NewRunner(job.Needs{Store: s.Jobs, Queue: q, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Handlers: handlers, Periodic: periodic})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = r.Work(ctx) })
		running.Go(func() {
			wake := s.Outbox.Wake(ctx)
			for ctx.Err() == nil {
				_ = r.Sweep(ctx)
				select {
				case <-ctx.Done():
				case <-wake:
				case <-time.After(200 * time.Millisecond):
				}
			}
		})
		stop = sync.OnceFunc(func() { cancel(); running.Wait() })
		t.Cleanup(stop)
		return stop
	}
	state := func(t *testing.T, s adapters.Storage, want job.State, key string) job.Record {
		t.Helper()
		var found job.Record
		require.Eventually(t, func() bool {
			records, err := s.Jobs.List(t.Context(), job.Filter{State: want, Limit: 100})
			require.NoError(t, err)
			for _, r := range records {
				if r.Key == key {
					found = r
					return true
				}
			}
			return false
		}, 30*time.Second, 20*time.Millisecond, "%s does not become %s", key, want)
		return found
	}

	t.Run("a job that is added is done", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		came := make(chan string, 1)
		begin(t, s, q, nil, job.Handle("k", job.Events, func(_ context.Context, p string) error { came <- p; return nil }))
		require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Events, "a", "hello")))
		require.Equal(t, "hello", <-came)
		state(t, s, job.Done, "a")
	})
	t.Run("a job with a moment of its own waits for it", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		came := make(chan time.Time, 1)
		begin(t, s, q, nil, job.Handle("k", job.Events, func(context.Context, string) error { came <- time.Now(); return nil }))
		j := job.New("k", job.Events, "a", "hello")
		j.RunAt = time.Now().UTC().Add(time.Second).Truncate(time.Microsecond)
		require.NoError(t, s.Jobs.Add(t.Context(), j))
		require.False(t, (<-came).Before(j.RunAt))
	})
	t.Run("what fails for good is dead at once and holds up nobody", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		var tries atomic.Int32
		begin(t, s, q, nil, job.Handle("k", job.Events, func(_ context.Context, p string) error {
			if p == "bad" {
				tries.Add(1)
				return job.Permanent(errors.New("no such address"))
			}
			return nil
		}))
		require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Events, "bad", "bad"), job.New("k", job.Events, "good", "good"), job.New("k", job.Events, "odd", 7)))
		require.Equal(t, "no such address", state(t, s, job.Dead, "bad").Err)
		state(t, s, job.Dead, "odd") // a payload that nobody can read
		state(t, s, job.Done, "good")
		require.EqualValues(t, 1, tries.Load())
	})
	t.Run("what fails or panics waits for another attempt, a little longer than its neighbour", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		begin(t, s, q, nil, job.Handle("k", job.Events, func(_ context.Context, p string) error {
			if p == "panic" {
				panic("broken")
			}
			return errors.New("away")
		}))
		begun := time.Now()
		for _, key := range []string{"away", "panic", "away-2", "away-3"} {
			require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Events, key, key)))
		}
		moments := map[time.Time]bool{}
		for key, want := range map[string]string{"away": "away", "panic": "panic: broken", "away-2": "away", "away-3": "away"} {
			var r job.Record
			require.Eventually(t, func() bool { r = state(t, s, job.Waiting, key); return r.Err != "" }, 20*time.Second, 20*time.Millisecond)
			require.Equal(t, want, r.Err)
			pause := r.RunAt.Sub(begun)
			require.Greater(t, pause, 3900*time.Millisecond)
			require.Less(t, pause, 30*time.Second)
			moments[r.RunAt] = true
		}
		require.Len(t, moments, 4, "they do not come back together")
	})
	t.Run("the last attempt that fails makes a job dead", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		h := job.Handle("k", job.Events, func(context.Context, string) error { return errors.New("away") })
		h.Attempts = 1
		begin(t, s, q, nil, h)
		require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Events, "a", "a")))
		require.Equal(t, "away", state(t, s, job.Dead, "a").Err)
	})
	t.Run("a job that heeds no deadline loses its place to the next", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		release := make(chan struct{})
		defer close(release)
		h := job.Handle("k", job.Exports, func(_ context.Context, p string) error {
			if p == "hangs" {
				<-release
			}
			return nil
		}).Taking(200 * time.Millisecond)
		h.Attempts = 1
		begin(t, s, q, nil, h)
		for i := range job.Workers[job.Exports] {
			require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Exports, fmt.Sprint("hangs-", i), "hangs")))
		}
		require.Contains(t, state(t, s, job.Dead, "hangs-0").Err, "does not come to an end")
		require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Exports, "next", "next")))
		state(t, s, job.Done, "next")
	})
	t.Run("every ticket delivered twice does every job once", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		var times [100]atomic.Int32
		h := job.Handle("k", job.Events, func(_ context.Context, i int) error { times[i].Add(1); return nil })
		twice := doubling{q}
		begin(t, s, twice, nil, h)
		begin(t, s, twice, nil, h)
		for i := range times {
			require.NoError(t, s.Jobs.Add(t.Context(), job.New("k", job.Events, fmt.Sprint(i), i)))
		}
		for i := range times {
			state(t, s, job.Done, fmt.Sprint(i))
			require.EqualValues(t, 1, times[i].Load())
		}
	})
	t.Run("periodic work is done once a period, however many processes there are", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		var runs atomic.Int32
		const every = 1000 * 24 * time.Hour // none ends while the test runs
		periodic := []job.Periodic{{Kind: "sweep", Every: every, Do: func(context.Context) error { runs.Add(1); return nil }}}
		var stops []func()
		for range 3 {
			stops = append(stops, begin(t, s, q, periodic))
		}
		key := "sweep:" + time.Now().UTC().Truncate(every).Format(time.RFC3339)
		state(t, s, job.Done, key)
		// Whatever the others were about to do, they have done when they stopped.
		for _, stop := range stops {
			stop()
		}
		records, err := s.Jobs.List(t.Context(), job.Filter{State: job.Done, Kind: "sweep", Limit: 10})
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.EqualValues(t, 1, runs.Load())
	})
	t.Run("a process that stops lets short jobs end and gives long ones back", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		begun := make(chan string, 2)
		short := job.Handle("short", job.Events, func(ctx context.Context, _ string) error {
			begun <- "short"
			<-time.After(300 * time.Millisecond)
			return ctx.Err()
		})
		long := job.Handle("long", job.Exports, func(ctx context.Context, _ string) error {
			begun <- "long"
			<-ctx.Done()
			return ctx.Err()
		}).Taking(time.Hour)
		stop := begin(t, s, q, nil, short, long)
		require.NoError(t, s.Jobs.Add(t.Context(), job.New("short", job.Events, "short", ""), job.New("long", job.Exports, "long", "")))
		<-begun
		<-begun
		stop()
		state(t, s, job.Done, "short")
		back := state(t, s, job.Waiting, "long")
		require.False(t, back.RunAt.After(time.Now()), "another may begin at once")
	})
}

// doubling is a queue that delivers everything twice.
type doubling struct{ job.Queue }

func (q doubling) Enqueue(ctx context.Context, tickets ...job.Ticket) error {
	again := make([]job.Ticket, len(tickets))
	for i, ticket := range tickets {
		again[i] = ticket
		again[i].Turn += 1_000_000
	}
	return errors.Join(q.Queue.Enqueue(ctx, tickets...), q.Queue.Enqueue(ctx, again...))
}
