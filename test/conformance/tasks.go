package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
)

// Tasks checks the port task.Store: one worker at a time executes a task, which is
// repeated until it is done or dead.
func Tasks(t *testing.T, open DatabaseOpener) {
	fresh := func(t *testing.T) (adapters.Database, *fakeClock) {
		t.Helper()
		t.Parallel()
		clk := newFakeClock()
		s := open(t, clk)
		requirePorts(t, s)
		if s.Tasks == nil {
			t.Skip("the storage has no tasks")
		}
		return s, clk
	}
	add := func(t *testing.T, s adapters.Database, tasks ...task.Task) {
		t.Helper()
		require.NoError(t, s.Tasks.Add(t.Context(), tasks...))
	}
	due := func(t *testing.T, s adapters.Database) (ids []string) {
		t.Helper()
		refs, err := s.Tasks.Due(t.Context(), 100)
		require.NoError(t, err)
		for _, ref := range refs {
			ids = append(ids, ref.ID)
		}
		return ids
	}
	start := func(t *testing.T, s adapters.Database, ids ...string) []task.Task {
		t.Helper()
		tasks, err := s.Tasks.Start(t.Context(), ids, 30*time.Second)
		require.NoError(t, err)
		return tasks
	}
	list := func(t *testing.T, s adapters.Database, state task.State) []task.Record {
		t.Helper()
		out, err := s.Tasks.List(t.Context(), task.Filter{State: state, Limit: 100})
		require.NoError(t, err)
		return out
	}
	mail := func(key string) task.Task { return task.New("greet", task.Mail, key, map[string]string{"to": "é"}) }
	none := "00000000-0000-7000-8000-000000000000"

	t.Run("clock set back", func(t *testing.T) {
		s, clk := fresh(t)
		planned := mail("planned")
		planned.RunAt = clk.Now().Add(30 * time.Hour)
		add(t, s, planned, mail("retried"))
		clk.Advance(48 * time.Hour)
		planned.Key, planned.RunAt = "later", clk.Now().Add(time.Hour)
		add(t, s, mail("leased"), mail("added"), planned)
		ids := map[string]string{}
		for _, r := range list(t, s, task.Waiting) {
			ids[r.Key] = r.ID
		}
		due(t, s)
		require.Len(t, start(t, s, ids["leased"], ids["retried"]), 2)
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: ids["retried"], Attempt: 1}, State: task.Waiting, RunAt: clk.Now().Add(time.Minute)}))
		clk.Advance(-48 * time.Hour)
		require.ElementsMatch(t, []string{ids["leased"], ids["added"], ids["retried"], ids["later"]}, due(t, s))
		clk.Advance(30 * time.Second)
		require.Empty(t, start(t, s, ids["planned"]))
	})
	t.Run("add, start, done", func(t *testing.T) {
		s, clk := fresh(t)
		j := mail("a")
		j.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		add(t, s, j)
		refs, err := s.Tasks.Due(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, refs, 1)
		require.Equal(t, task.Reference{Queue: task.Mail, Kind: "greet", ID: refs[0].ID, Enqueues: 1}, refs[0])
		started := start(t, s, refs[0].ID, none)
		require.Len(t, started, 1)
		got := started[0]
		require.Equal(t, []any{"greet", task.Mail, "a", `{"to":"é"}`, j.Trace, 1}, []any{got.Kind, got.Queue, got.Key, string(got.Payload), got.Trace, got.Attempt})
		require.True(t, clk.Now().Equal(got.CreatedAt))
		require.Empty(t, start(t, s, got.ID), "it is one worker's")
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: got.ID, Attempt: 1}, State: task.Done}))
		clk.Advance(24 * time.Hour)
		require.Empty(t, due(t, s))
		require.Len(t, list(t, s, task.Done), 1)
	})
	t.Run("rollback", func(t *testing.T) {
		s, _ := fresh(t)
		boom := errors.New("boom")
		require.ErrorIs(t, s.Tx.Do(t.Context(), func(ctx context.Context) error {
			require.NoError(t, s.Tasks.Add(ctx, mail("a")))
			return boom
		}), boom)
		require.Empty(t, due(t, s))
		require.NoError(t, s.Tx.Do(t.Context(), func(ctx context.Context) error { return s.Tasks.Add(ctx, mail("a")) }))
		require.Len(t, due(t, s), 1)
	})
	t.Run("duplicate key", func(t *testing.T) {
		s, _ := fresh(t)
		add(t, s, mail("a"), mail("b"))
		add(t, s, mail("a"), mail("c"))
		ids := due(t, s)
		require.Len(t, ids, 3)
		for _, j := range start(t, s, ids...) {
			require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: j.ID, Attempt: 1}, State: task.Done}))
		}
		add(t, s, mail("a"))
		require.Empty(t, due(t, s))
	})
	t.Run("duplicate key, concurrently", func(t *testing.T) {
		s, _ := fresh(t)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { require.NoError(t, s.Tasks.Add(context.Background(), mail("a"))) })
		}
		all.Wait()
		require.Len(t, due(t, s), 1)
	})
	t.Run("start with a clock slightly behind", func(t *testing.T) {
		s, clk := fresh(t)
		j := mail("a")
		j.RunAt = clk.Now().Add(2 * time.Second) // by the clock of whoever handed it out
		refs, err := s.Tasks.AddAndReserve(t.Context(), j)
		require.NoError(t, err)
		require.Len(t, start(t, s, refs[0].ID), 1)
	})
	// in adds tasks to a group, each due before the one before it, and returns their ids
	// in that order.
	in := func(t *testing.T, s adapters.Database, clk *fakeClock, group string, n int) (ids []string) {
		t.Helper()
		for i := range n {
			j := mail(fmt.Sprint(group, i))
			j.Group, j.RunAt = group, clk.Now().Add(-time.Duration(i)*time.Microsecond)
			add(t, s, j)
		}
		for _, r := range list(t, s, task.Waiting) {
			if r.Group == group {
				ids = append(ids, r.ID)
			}
		}
		require.Len(t, ids, n)
		return ids
	}
	end := func(t *testing.T, s adapters.Database, j task.Task, state task.State, runAt time.Time) {
		t.Helper()
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: j.ID, Attempt: j.Attempt}, Group: j.Group, State: state, RunAt: runAt}))
	}
	t.Run("group runs one task", func(t *testing.T) {
		s, clk := fresh(t)
		ids := in(t, s, clk, "a", 3)
		other := in(t, s, clk, "b", 1)
		require.Len(t, due(t, s), 4)
		require.Len(t, start(t, s, append(ids, other...)...), 2)
		require.Empty(t, start(t, s, ids...))
		for n := range 3 {
			running := list(t, s, task.Running)
			require.Len(t, running, 2)
			for _, r := range running {
				require.Equal(t, 1, r.Attempt, "a task that waits for its group is not an attempt")
				if r.Group == "a" {
					end(t, s, r.Task, task.Done, time.Time{})
				}
			}
			waiting := due(t, s)
			require.Len(t, waiting, 2-n, "due at once")
			require.Len(t, start(t, s, waiting...), min(1, len(waiting)))
			require.Empty(t, due(t, s))
		}
	})
	t.Run("group, concurrently", func(t *testing.T) {
		s, clk := fresh(t)
		ids := in(t, s, clk, "a", 20)
		for range 3 {
			var all sync.WaitGroup
			var mu sync.Mutex
			var started []task.Task
			for _, id := range ids {
				all.Go(func() {
					some, err := s.Tasks.Start(context.Background(), []string{id, ids[0]}, 30*time.Second)
					require.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					started = append(started, some...)
				})
			}
			all.Wait()
			require.Len(t, started, 1)
			end(t, s, started[0], task.Done, time.Time{})
		}
	})
	t.Run("group of a killed worker", func(t *testing.T) {
		s, clk := fresh(t)
		ids := in(t, s, clk, "a", 2)
		due(t, s)
		killed := start(t, s, ids...)[0]
		clk.Advance(31 * time.Second)
		require.Len(t, due(t, s), 2)
		next := start(t, s, ids...)
		require.Len(t, next, 1)
		end(t, s, killed, task.Done, time.Time{})
		if next[0].ID == killed.ID {
			require.Equal(t, 2, next[0].Attempt)
		} else {
			require.Len(t, list(t, s, task.Running), 1)
		}
		require.Empty(t, start(t, s, ids...), "an outdated outcome does not end the group")
	})
	t.Run("group of a failed task", func(t *testing.T) {
		s, clk := fresh(t)
		ids := in(t, s, clk, "a", 2)
		due(t, s)
		failed := start(t, s, ids...)[0]
		end(t, s, failed, task.Waiting, clk.Now().Add(time.Hour))
		next := start(t, s, due(t, s)...)
		require.Len(t, next, 1)
		require.NotEqual(t, failed.ID, next[0].ID)
		end(t, s, next[0], task.Dead, time.Time{})
		clk.Advance(time.Hour)
		require.Len(t, start(t, s, due(t, s)...), 1)
	})
	t.Run("group in which a task waits", func(t *testing.T) {
		s, clk := fresh(t)
		grouped := func(key string, in time.Duration) task.Task {
			j := mail(key)
			j.Group, j.RunAt = "a", clk.Now().Add(in)
			return j
		}
		add(t, s, grouped("1", time.Minute), grouped("2", time.Hour))
		add(t, s, grouped("3", time.Hour))
		require.Len(t, list(t, s, task.Waiting), 1)
		add(t, s, grouped("4", 0))
		require.Len(t, list(t, s, task.Waiting), 2, "an earlier one is added")
		require.Len(t, start(t, s, due(t, s)...), 1)
		add(t, s, grouped("5", 0), grouped("6", 0))
		require.Len(t, list(t, s, task.Waiting), 2, "one that runs does not count")
	})
	t.Run("attempt that does not count", func(t *testing.T) {
		s, _ := fresh(t)
		add(t, s, mail("a"))
		id := due(t, s)[0]
		for range 3 {
			require.Equal(t, 1, start(t, s, id)[0].Attempt)
			require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Waiting, Err: "stopping", DoNotCountAttempt: true}))
		}
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Done}))
		require.Equal(t, 1, start(t, s, id)[0].Attempt, "what is not running is not settled")
	})
	t.Run("dead tasks before a time", func(t *testing.T) {
		s, clk := fresh(t)
		for _, key := range []string{"a", "b"} {
			add(t, s, mail(key))
			id := due(t, s)[0]
			start(t, s, id)
			require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Dead}))
			clk.Advance(time.Second)
		}
		all, err := s.Tasks.List(t.Context(), task.Filter{State: task.Dead, Before: clk.Now(), Limit: 10})
		require.NoError(t, err)
		require.Len(t, all, 2)
		first, err := s.Tasks.List(t.Context(), task.Filter{State: task.Dead, Before: all[1].EndedAt, Limit: 10})
		require.NoError(t, err)
		require.Len(t, first, 1)
		require.Equal(t, "a", first[0].Key)
	})
	t.Run("task is not started before RunAt", func(t *testing.T) {
		s, clk := fresh(t)
		j := mail("a")
		j.RunAt = clk.Now().Add(time.Hour)
		refs, err := s.Tasks.AddAndReserve(t.Context(), j)
		require.NoError(t, err)
		require.Empty(t, start(t, s, refs[0].ID))
		add(t, s, task.Task{Kind: "k", Queue: task.Events, Key: "b", Payload: []byte("{}"), RunAt: clk.Now().Add(time.Minute)})
		require.Empty(t, due(t, s))
		clk.Advance(time.Minute)
		require.Len(t, due(t, s), 2, "a ref that was handed out is looked after")
		require.Empty(t, start(t, s, refs[0].ID))
		clk.Advance(time.Hour)
		require.Len(t, start(t, s, refs[0].ID), 1)
	})
	t.Run("lost references", func(t *testing.T) {
		s, clk := fresh(t)
		refs, err := s.Tasks.AddAndReserve(t.Context(), mail("a"))
		require.NoError(t, err)
		require.Equal(t, 1, refs[0].Enqueues)
		turns, seen := 1, map[int]bool{1: true}
		for range 6 * 60 { // six hours
			clk.Advance(time.Minute)
			again, err := s.Tasks.Due(t.Context(), 10)
			require.NoError(t, err)
			for _, ref := range again {
				require.Equal(t, refs[0].ID, ref.ID)
				require.False(t, seen[ref.Enqueues], "no two refs have one name")
				seen[ref.Enqueues] = true
				turns++
			}
		}
		require.Greater(t, turns, 60)
		require.Less(t, turns, 6*60/5+5)
	})
	t.Run("postponed references", func(t *testing.T) {
		s, clk := fresh(t)
		refs, err := s.Tasks.AddAndReserve(t.Context(), mail("a"), mail("b"))
		require.NoError(t, err)
		require.NoError(t, s.Tasks.Postpone(t.Context(), refs, clk.Now().Add(5*time.Second)))
		require.Empty(t, due(t, s))
		clk.Advance(5 * time.Second)
		require.Len(t, due(t, s), 2)
	})
	t.Run("expired lease", func(t *testing.T) {
		s, clk := fresh(t)
		add(t, s, mail("a"))
		id := due(t, s)[0]
		start(t, s, id)
		run := task.Run{ID: id, Attempt: 1}
		clk.Advance(20 * time.Second)
		lost, err := s.Tasks.Extend(t.Context(), []task.Run{run, {ID: none, Attempt: 3}}, 30*time.Second)
		require.NoError(t, err)
		require.Equal(t, []task.Run{{ID: none, Attempt: 3}}, lost)
		clk.Advance(20 * time.Second)
		require.Empty(t, due(t, s), "a sign of life counts")
		clk.Advance(11 * time.Second)
		require.Equal(t, []string{id}, due(t, s))
		again := start(t, s, id)
		require.Len(t, again, 1)
		require.Equal(t, 2, again[0].Attempt)
		lost, err = s.Tasks.Extend(t.Context(), []task.Run{run}, 30*time.Second)
		require.NoError(t, err)
		require.Equal(t, []task.Run{run}, lost)
		// The outcome of the first lease is ignored.
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: run, State: task.Dead, Err: "late"}))
		require.Len(t, list(t, s, task.Running), 1)
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: id, Attempt: 2}, State: task.Done}))
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: id, Attempt: 2}, State: task.Waiting}))
		require.Len(t, list(t, s, task.Done), 1, "what is done stays done")
	})
	t.Run("failed task is due at RunAt", func(t *testing.T) {
		s, clk := fresh(t)
		add(t, s, mail("a"))
		id := due(t, s)[0]
		start(t, s, id)
		require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Waiting, RunAt: clk.Now().Add(time.Minute), Err: "b\x00ad \xff"}))
		waiting := list(t, s, task.Waiting)
		require.Len(t, waiting, 1)
		require.Equal(t, "bad ", waiting[0].Err)
		require.Empty(t, due(t, s))
		clk.Advance(time.Minute)
		require.Equal(t, []string{id}, due(t, s))
		require.Equal(t, 2, start(t, s, id)[0].Attempt)
	})
	t.Run("retry and drop dead tasks", func(t *testing.T) {
		s, clk := fresh(t)
		add(t, s, mail("a"), mail("b"))
		for _, j := range start(t, s, due(t, s)...) {
			require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: j.ID, Attempt: 1}, State: task.Dead, Err: "no such address"}))
		}
		clk.Advance(30 * 24 * time.Hour)
		require.Empty(t, due(t, s))
		dead := list(t, s, task.Dead)
		require.Len(t, dead, 2)
		require.False(t, dead[0].EndedAt.IsZero())
		n, err := s.Tasks.Retry(t.Context(), []string{dead[0].ID, none})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []string{dead[0].ID}, due(t, s))
		n, err = s.Tasks.Drop(t.Context(), []string{dead[1].ID, none})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 1, start(t, s, dead[0].ID)[0].Attempt, "all its attempts are before it")
		n, err = s.Tasks.Drop(t.Context(), []string{dead[0].ID})
		require.NoError(t, err)
		require.Zero(t, n, "what runs is not dropped")
		require.Empty(t, list(t, s, task.Dead))
	})
	t.Run("backlog", func(t *testing.T) {
		s, clk := fresh(t)
		first := clk.Now()
		add(t, s, mail("a"))
		clk.Advance(time.Minute)
		add(t, s, mail("b"), mail("c"), task.New("k", task.Events, "d", 1))
		refs, err := s.Tasks.Due(t.Context(), 1)
		require.NoError(t, err)
		got, err := s.Tasks.Backlog(t.Context())
		require.NoError(t, err)
		counted := map[string]task.Backlog{}
		for _, b := range got {
			counted[string(b.Queue)+" "+string(b.State)] = b
		}
		require.Len(t, counted, 2)
		require.Equal(t, 3, counted["mail waiting"].Tasks)
		require.True(t, first.Equal(counted["mail waiting"].Oldest))
		require.Equal(t, 1, counted["events waiting"].Tasks)
		start(t, s, refs[0].ID)
		got, err = s.Tasks.Backlog(t.Context())
		require.NoError(t, err)
		require.Len(t, got, 3)
	})
	t.Run("retention", func(t *testing.T) {
		s, clk := fresh(t)
		add(t, s, mail("a"), mail("b"), mail("c"), mail("open"), mail("dead"))
		for _, j := range start(t, s, due(t, s)...) {
			switch j.Key {
			case "open":
			case "dead":
				require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: j.ID, Attempt: 1}, State: task.Dead}))
			default:
				require.NoError(t, s.Tasks.RecordOutcomes(t.Context(), task.Outcome{Run: task.Run{ID: j.ID, Attempt: 1}, State: task.Done}))
			}
		}
		expire := func(kind retention.Kind, want ...int) {
			for _, want := range want {
				n, err := retentionOf(t, s.Retention).DeleteBefore(t.Context(), kind, clk.Now(), 2)
				require.NoError(t, err)
				require.Equal(t, want, n, kind)
			}
		}
		expire(task.DoneTasks, 0)
		expire(task.DeadTasks, 0)
		clk.Advance(time.Hour)
		expire(task.DoneTasks, 2, 1, 0)
		expire(task.DeadTasks, 1, 0)
		require.Len(t, due(t, s), 1)
	})
	t.Run("concurrent sweeps and workers", func(t *testing.T) {
		s, _ := fresh(t)
		const total = 300
		var many []task.Task
		for i := range total {
			many = append(many, mail(fmt.Sprint(i)))
		}
		add(t, s, many...)
		var mu sync.Mutex
		handed, started := map[string]int{}, map[string]int{}
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for {
					refs, err := s.Tasks.Due(context.Background(), 9)
					if err != nil || len(refs) == 0 {
						require.NoError(t, err)
						return
					}
					ids := make([]string, len(refs))
					for i, ref := range refs {
						ids[i] = ref.ID
					}
					mu.Lock()
					for _, id := range ids {
						handed[id]++
					}
					mu.Unlock()
					for range 2 { // every reference comes twice
						tasks, err := s.Tasks.Start(context.Background(), append([]string{}, ids...), time.Minute)
						require.NoError(t, err)
						mu.Lock()
						for _, j := range tasks {
							started[j.ID]++
						}
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		require.Len(t, handed, total)
		require.Len(t, started, total)
		for id, n := range started {
			require.Equal(t, 1, n, id)
		}
	})
}
