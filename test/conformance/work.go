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
	"github.com/locumhq/locum/core/task"
)

// Work is the suite of a store and a queue together, with the runner between
// them: what a task goes through, whichever pair carries it. open makes an empty
// store on the real clock and an empty queue.
func Work(t *testing.T, open func(t *testing.T) (adapters.Storage, task.Queue)) {
	// begin runs workers of the handlers until the test ends or stop is called.
	begin := func(t *testing.T, s adapters.Storage, q task.Queue, periodic []task.Periodic, handlers ...task.Handler) (stop func()) {
		t.Helper()
		r, err := task.NewRunner(task.Needs{Store: s.Identity.Tasks, Queue: q, Clock: clock.System{}, Log: slog.New(slog.DiscardHandler), Handlers: handlers, Periodic: periodic})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = r.Work(ctx) })
		running.Go(func() {
			wake := s.Identity.Outbox.Notifications(ctx)
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
	state := func(t *testing.T, s adapters.Storage, want task.State, key string) task.Record {
		t.Helper()
		var found task.Record
		require.Eventually(t, func() bool {
			records, err := s.Identity.Tasks.List(t.Context(), task.Filter{State: want, Limit: 100})
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

	t.Run("a task that is added is done", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		came := make(chan string, 1)
		begin(t, s, q, nil, task.Handle("k", task.Events, func(_ context.Context, p string) error { came <- p; return nil }))
		require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Events, "a", "hello")))
		require.Equal(t, "hello", <-came)
		state(t, s, task.Done, "a")
	})
	t.Run("a task with a moment of its own waits for it", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		came := make(chan time.Time, 1)
		begin(t, s, q, nil, task.Handle("k", task.Events, func(context.Context, string) error { came <- time.Now(); return nil }))
		j := task.New("k", task.Events, "a", "hello")
		j.RunAt = time.Now().UTC().Add(time.Second).Truncate(time.Microsecond)
		require.NoError(t, s.Identity.Tasks.Add(t.Context(), j))
		require.False(t, (<-came).Before(j.RunAt))
	})
	t.Run("what fails for good is dead at once and holds up nobody", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		var tries atomic.Int32
		begin(t, s, q, nil, task.Handle("k", task.Events, func(_ context.Context, p string) error {
			if p == "bad" {
				tries.Add(1)
				return task.Permanent(errors.New("no such address"))
			}
			return nil
		}))
		require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Events, "bad", "bad"), task.New("k", task.Events, "good", "good"), task.New("k", task.Events, "odd", 7)))
		require.Equal(t, "no such address", state(t, s, task.Dead, "bad").Err)
		state(t, s, task.Dead, "odd") // a payload that nobody can read
		state(t, s, task.Done, "good")
		require.EqualValues(t, 1, tries.Load())
	})
	t.Run("what fails or panics waits for another attempt, a little longer than its neighbour", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		begin(t, s, q, nil, task.Handle("k", task.Events, func(_ context.Context, p string) error {
			if p == "panic" {
				panic("broken")
			}
			return errors.New("away")
		}))
		begun := time.Now()
		for _, key := range []string{"away", "panic", "away-2", "away-3"} {
			require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Events, key, key)))
		}
		moments := map[time.Time]bool{}
		for key, want := range map[string]string{"away": "away", "panic": "panic: broken", "away-2": "away", "away-3": "away"} {
			var r task.Record
			require.Eventually(t, func() bool { r = state(t, s, task.Waiting, key); return r.Err != "" }, 20*time.Second, 20*time.Millisecond)
			require.Equal(t, want, r.Err)
			pause := r.RunAt.Sub(begun)
			require.Greater(t, pause, 3900*time.Millisecond)
			require.Less(t, pause, 30*time.Second)
			moments[r.RunAt] = true
		}
		require.Len(t, moments, 4, "they do not come back together")
	})
	t.Run("the last attempt that fails makes a task dead", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		h := task.Handle("k", task.Events, func(context.Context, string) error { return errors.New("away") })
		h.Attempts = 1
		begin(t, s, q, nil, h)
		require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Events, "a", "a")))
		require.Equal(t, "away", state(t, s, task.Dead, "a").Err)
	})
	t.Run("a task that heeds no deadline loses its place to the next", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		release := make(chan struct{})
		defer close(release)
		h := task.Handle("k", task.Exports, func(_ context.Context, p string) error {
			if p == "hangs" {
				<-release
			}
			return nil
		}).Taking(200 * time.Millisecond)
		h.Attempts = 1
		begin(t, s, q, nil, h)
		for i := range task.Workers[task.Exports] {
			require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Exports, fmt.Sprint("hangs-", i), "hangs")))
		}
		require.Contains(t, state(t, s, task.Dead, "hangs-0").Err, "does not come to an end")
		require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Exports, "next", "next")))
		state(t, s, task.Done, "next")
	})
	t.Run("every ticket delivered twice does every task once", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		var times [100]atomic.Int32
		h := task.Handle("k", task.Events, func(_ context.Context, i int) error { times[i].Add(1); return nil })
		twice := doubling{q}
		begin(t, s, twice, nil, h)
		begin(t, s, twice, nil, h)
		for i := range times {
			require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("k", task.Events, fmt.Sprint(i), i)))
		}
		for i := range times {
			state(t, s, task.Done, fmt.Sprint(i))
			require.EqualValues(t, 1, times[i].Load())
		}
	})
	t.Run("periodic work is done once a period, however many processes there are", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		var runs atomic.Int32
		const every = 1000 * 24 * time.Hour // none ends while the test runs
		periodic := []task.Periodic{{Kind: "sweep", Every: every, Do: func(context.Context) error { runs.Add(1); return nil }}}
		var stops []func()
		for range 3 {
			stops = append(stops, begin(t, s, q, periodic))
		}
		key := "sweep:" + time.Now().UTC().Truncate(every).Format(time.RFC3339)
		state(t, s, task.Done, key)
		// Whatever the others were about to do, they have done when they stopped.
		for _, stop := range stops {
			stop()
		}
		records, err := s.Identity.Tasks.List(t.Context(), task.Filter{State: task.Done, Kind: "sweep", Limit: 10})
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.EqualValues(t, 1, runs.Load())
	})
	t.Run("a process that stops lets short tasks end and gives long ones back", func(t *testing.T) {
		t.Parallel()
		s, q := open(t)
		begun := make(chan string, 2)
		short := task.Handle("short", task.Events, func(ctx context.Context, _ string) error {
			begun <- "short"
			<-time.After(300 * time.Millisecond)
			return ctx.Err()
		})
		long := task.Handle("long", task.Exports, func(ctx context.Context, _ string) error {
			begun <- "long"
			<-ctx.Done()
			return ctx.Err()
		}).Taking(time.Hour)
		stop := begin(t, s, q, nil, short, long)
		require.NoError(t, s.Identity.Tasks.Add(t.Context(), task.New("short", task.Events, "short", ""), task.New("long", task.Exports, "long", "")))
		<-begun
		<-begun
		stop()
		state(t, s, task.Done, "short")
		back := state(t, s, task.Waiting, "long")
		require.False(t, back.RunAt.After(time.Now()), "another may begin at once")
	})
}

// doubling is a queue that delivers everything twice.
type doubling struct{ task.Queue }

func (q doubling) Enqueue(ctx context.Context, tickets ...task.Ticket) error {
	again := make([]task.Ticket, len(tickets))
	for i, ticket := range tickets {
		again[i] = ticket
		again[i].Turn += 1_000_000
	}
	return errors.Join(q.Queue.Enqueue(ctx, tickets...), q.Queue.Enqueue(ctx, again...))
}
