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
	su := taskSuite{open}
	t.Run("clock set back", su.clockSetBack)
	t.Run("add, start, done", su.addStartDone)
	t.Run("rollback", su.rollback)
	t.Run("duplicate key", su.duplicateKey)
	t.Run("duplicate key, concurrently", su.duplicateKeyConcurrently)
	t.Run("start with a clock slightly behind", su.startWithAClockSlightlyBehind)
	t.Run("group runs one task", su.groupRunsOneTask)
	t.Run("group, concurrently", su.groupConcurrently)
	t.Run("group of a killed worker", su.groupOfAKilledWorker)
	t.Run("group of a failed task", su.groupOfAFailedTask)
	t.Run("group in which a task waits", su.groupInWhichATaskWaits)
	t.Run("attempt that does not count", su.attemptThatDoesNotCount)
	t.Run("dead tasks before a time", su.deadTasksBeforeATime)
	t.Run("task is not started before RunAt", su.taskIsNotStartedBeforeRunAt)
	t.Run("lost references", su.lostReferences)
	t.Run("postponed references", su.postponedReferences)
	t.Run("expired lease", su.expiredLease)
	t.Run("failed task is due at RunAt", su.failedTaskIsDueAtRunAt)
	t.Run("retry and drop dead tasks", su.retryAndDropDeadTasks)
	t.Run("backlog", su.backlog)
	t.Run("retention", su.retention)
	t.Run("concurrent sweeps and workers", su.concurrentSweepsAndWorkers)
}

// unknownTask is an id that no task has.
const unknownTask = "00000000-0000-7000-8000-000000000000"

// taskSuite has the subtests of Tasks.
type taskSuite struct {
	open DatabaseOpener
}

// fresh returns an empty database and its clock.
func (su taskSuite) fresh(t *testing.T) (adapters.Database, *fakeClock) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	database := su.open(t, clk)
	requirePorts(t, database)

	if database.Tasks == nil {
		t.Skip("the storage has no tasks")
	}

	return database, clk
}

// add adds the tasks outside of a transaction.
func (su taskSuite) add(t *testing.T, database adapters.Database, tasks ...task.Task) {
	t.Helper()
	require.NoError(t, database.Tasks.Add(t.Context(), tasks...))
}

// due returns the ids of the due tasks, which are reserved for a while.
func (su taskSuite) due(t *testing.T, database adapters.Database) (ids []string) {
	t.Helper()

	refs, err := database.Tasks.Due(t.Context(), 100)
	require.NoError(t, err)

	for _, ref := range refs {
		ids = append(ids, ref.ID)
	}

	return ids
}

// start starts those of the tasks that are due and that no other worker runs, with a lease of
// 30 seconds.
func (su taskSuite) start(t *testing.T, database adapters.Database, ids ...string) []task.Task {
	t.Helper()

	tasks, err := database.Tasks.Start(t.Context(), ids, 30*time.Second)
	require.NoError(t, err)

	return tasks
}

// list returns the tasks in the state.
func (su taskSuite) list(t *testing.T, database adapters.Database, state task.State) []task.Record {
	t.Helper()

	out, err := database.Tasks.List(t.Context(), task.Filter{State: state, Limit: 100})
	require.NoError(t, err)

	return out
}

// newTask returns a task in the mail queue.
func (su taskSuite) newTask(key string) task.Task {
	return task.New("greet", task.Mail, key, map[string]string{"to": "é"})
}

// clockSetBack checks that tasks that a process added, leased or postponed with a clock two
// days ahead become due at once when the clock is right, and that a task that was planned
// before stays planned.
func (su taskSuite) clockSetBack(t *testing.T) {
	database, clk := su.fresh(t)
	planned := su.newTask("planned")
	planned.RunAt = clk.Now().Add(30 * time.Hour)
	su.add(t, database, planned, su.newTask("retried"))
	clk.Advance(48 * time.Hour)

	planned.Key, planned.RunAt = "later", clk.Now().Add(time.Hour)
	su.add(t, database, su.newTask("leased"), su.newTask("added"), planned)

	ids := map[string]string{}
	for _, r := range su.list(t, database, task.Waiting) {
		ids[r.Key] = r.ID
	}

	su.due(t, database)
	require.Len(t, su.start(t, database, ids["leased"], ids["retried"]), 2)
	require.NoError(
		t,
		database.Tasks.RecordOutcomes(
			t.Context(),
			task.Outcome{Run: task.Run{ID: ids["retried"], Attempt: 1}, State: task.Waiting, RunAt: clk.Now().Add(time.Minute)},
		),
	)
	clk.Advance(-48 * time.Hour)
	require.ElementsMatch(t, []string{ids["leased"], ids["added"], ids["retried"], ids["later"]}, su.due(t, database))
	clk.Advance(30 * time.Second)
	require.Empty(t, su.start(t, database, ids["planned"]))
}

// addStartDone follows a task to its end: it is referenced, started by one worker, and never
// due again.
func (su taskSuite) addStartDone(t *testing.T) {
	database, clk := su.fresh(t)
	queued := su.newTask("a")
	queued.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	su.add(t, database, queued)

	refs, err := database.Tasks.Due(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, refs, 1)
	require.Equal(t, task.Reference{Queue: task.Mail, Kind: "greet", ID: refs[0].ID, Enqueues: 1}, refs[0])

	started := su.start(t, database, refs[0].ID, unknownTask)
	require.Len(t, started, 1)

	got := started[0]
	require.Equal(t, []any{"greet", task.Mail, "a", `{"to":"é"}`, queued.Trace, 1},
		[]any{got.Kind, got.Queue, got.Key, string(got.Payload), got.Trace, got.Attempt})
	require.True(t, clk.Now().Equal(got.CreatedAt))
	require.Empty(t, su.start(t, database, got.ID), "another worker has reserved it")
	require.NoError(t, database.Tasks.RecordOutcomes(t.Context(),
		task.Outcome{Run: task.Run{ID: got.ID, Attempt: 1}, State: task.Done}))
	clk.Advance(24 * time.Hour)
	require.Empty(t, su.due(t, database))
	require.Len(t, su.list(t, database, task.Done), 1)
}

// rollback checks that a transaction that fails adds no task, and that its key can be used by a
// later one.
func (su taskSuite) rollback(t *testing.T) {
	database, _ := su.fresh(t)
	errFailed := errors.New("boom")
	require.ErrorIs(t, database.Tx.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, database.Tasks.Add(ctx, su.newTask("a")))
		return errFailed
	}), errFailed)
	require.Empty(t, su.due(t, database))
	require.NoError(t, database.Tx.Do(t.Context(),
		func(ctx context.Context) error { return database.Tasks.Add(ctx, su.newTask("a")) }))
	require.Len(t, su.due(t, database), 1)
}

// duplicateKey checks that a second task with the same kind and key is ignored, even after the
// first is done.
func (su taskSuite) duplicateKey(t *testing.T) {
	database, _ := su.fresh(t)
	su.add(t, database, su.newTask("a"), su.newTask("b"))
	su.add(t, database, su.newTask("a"), su.newTask("c"))

	ids := su.due(t, database)
	require.Len(t, ids, 3)

	for _, queued := range su.start(t, database, ids...) {
		require.NoError(t, database.Tasks.RecordOutcomes(t.Context(), task.Outcome{
			Run:   task.Run{ID: queued.ID, Attempt: 1},
			State: task.Done,
		}))
	}

	su.add(t, database, su.newTask("a"))
	require.Empty(t, su.due(t, database))
}

// duplicateKeyConcurrently checks that twenty concurrent tasks with the same key are one task.
func (su taskSuite) duplicateKeyConcurrently(t *testing.T) {
	database, _ := su.fresh(t)

	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { require.NoError(t, database.Tasks.Add(context.Background(), su.newTask("a"))) })
	}

	group.Wait()
	require.Len(t, su.due(t, database), 1)
}

// startWithAClockSlightlyBehind checks that a worker whose clock is two seconds behind starts a
// task that was due in the process that added it.
func (su taskSuite) startWithAClockSlightlyBehind(t *testing.T) {
	database, clk := su.fresh(t)
	task := su.newTask("a")
	task.RunAt = clk.Now().Add(2 * time.Second) // by the clock of the process that reserved it
	refs, err := database.Tasks.AddAndReserve(t.Context(), task)
	require.NoError(t, err)
	require.Len(t, su.start(t, database, refs[0].ID), 1)
}

// addGroup adds tasks to a group and returns their ids. Each task is due before the previous task.
func (su taskSuite) addGroup(
	t *testing.T, database adapters.Database, clk *fakeClock, group string, n int,
) (ids []string) {
	t.Helper()

	for i := range n {
		task := su.newTask(fmt.Sprint(group, i))
		task.Group, task.RunAt = group, clk.Now().Add(-time.Duration(i)*time.Microsecond)
		su.add(t, database, task)
	}

	for _, r := range su.list(t, database, task.Waiting) {
		if r.Group == group {
			ids = append(ids, r.ID)
		}
	}

	require.Len(t, ids, n)

	return ids
}

// recordOutcome records the outcome of an attempt.
func (su taskSuite) recordOutcome(
	t *testing.T, database adapters.Database, queued task.Task, state task.State, runAt time.Time,
) {
	t.Helper()
	require.NoError(
		t,
		database.Tasks.RecordOutcomes(
			t.Context(),
			task.Outcome{Run: task.Run{ID: queued.ID, Attempt: queued.Attempt}, Group: queued.Group, State: state, RunAt: runAt},
		),
	)
}

// groupRunsOneTask checks that one task of a group runs at a time, that the next one is due as
// soon as it ends, and that other groups do not wait.
func (su taskSuite) groupRunsOneTask(t *testing.T) {
	database, clk := su.fresh(t)
	ids := su.addGroup(t, database, clk, "a", 3)
	otherID := su.addGroup(t, database, clk, "b", 1)
	require.Len(t, su.due(t, database), 4)
	require.Len(t, su.start(t, database, append(ids, otherID...)...), 2)
	require.Empty(t, su.start(t, database, ids...))

	for n := range 3 {
		running := su.list(t, database, task.Running)
		require.Len(t, running, 2)

		for _, r := range running {
			require.Equal(t, 1, r.Attempt, "a task that waits for its group is not an attempt")

			if r.Group == "a" {
				su.recordOutcome(t, database, r.Task, task.Done, time.Time{})
			}
		}

		waiting := su.due(t, database)
		require.Len(t, waiting, 2-n, "due at once")
		require.Len(t, su.start(t, database, waiting...), min(1, len(waiting)))
		require.Empty(t, su.due(t, database))
	}
}

// groupConcurrently checks that one of twenty concurrent workers starts a task of the group.
func (su taskSuite) groupConcurrently(t *testing.T) {
	database, clk := su.fresh(t)

	ids := su.addGroup(t, database, clk, "a", 20)
	for range 3 {
		var group sync.WaitGroup
		var mu sync.Mutex

		var started []task.Task
		for _, id := range ids {
			group.Go(func() {
				some, err := database.Tasks.Start(context.Background(), []string{id, ids[0]}, 30*time.Second)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()

				started = append(started, some...)
			})
		}

		group.Wait()
		require.Len(t, started, 1)
		su.recordOutcome(t, database, started[0], task.Done, time.Time{})
	}
}

// groupOfAKilledWorker checks that a group continues when the lease of a killed worker expires,
// and that a late outcome of that worker does not permit a second task.
func (su taskSuite) groupOfAKilledWorker(t *testing.T) {
	database, clk := su.fresh(t)
	ids := su.addGroup(t, database, clk, "a", 2)
	su.due(t, database)

	killed := su.start(t, database, ids...)[0]

	clk.Advance(31 * time.Second)
	require.Len(t, su.due(t, database), 2)

	next := su.start(t, database, ids...)
	require.Len(t, next, 1)
	su.recordOutcome(t, database, killed, task.Done, time.Time{})

	if next[0].ID == killed.ID {
		require.Equal(t, 2, next[0].Attempt)
	} else {
		require.Len(t, su.list(t, database, task.Running), 1)
	}

	require.Empty(t, su.start(t, database, ids...), "an outdated outcome does not end the group")
}

// groupOfAFailedTask checks that neither a task that waits for its next attempt nor a dead one
// blocks its group.
func (su taskSuite) groupOfAFailedTask(t *testing.T) {
	database, clk := su.fresh(t)
	ids := su.addGroup(t, database, clk, "a", 2)
	su.due(t, database)

	failed := su.start(t, database, ids...)[0]
	su.recordOutcome(t, database, failed, task.Waiting, clk.Now().Add(time.Hour))

	next := su.start(t, database, su.due(t, database)...)
	require.Len(t, next, 1)
	require.NotEqual(t, failed.ID, next[0].ID)
	su.recordOutcome(t, database, next[0], task.Dead, time.Time{})
	clk.Advance(time.Hour)
	require.Len(t, su.start(t, database, su.due(t, database)...), 1)
}

// groupInWhichATaskWaits checks that a task is not added to a group in which an earlier or
// equally early one waits, which will do the same work. A running one may have begun too early
// to do it.
func (su taskSuite) groupInWhichATaskWaits(t *testing.T) {
	database, clk := su.fresh(t)
	grouped := func(key string, in time.Duration) task.Task {
		queued := su.newTask(key)
		queued.Group, queued.RunAt = "a", clk.Now().Add(in)
		return queued
	}

	su.add(t, database, grouped("1", time.Minute), grouped("2", time.Hour))
	su.add(t, database, grouped("3", time.Hour))
	require.Len(t, su.list(t, database, task.Waiting), 1)
	su.add(t, database, grouped("4", 0))
	require.Len(t, su.list(t, database, task.Waiting), 2, "an earlier one is added")
	require.Len(t, su.start(t, database, su.due(t, database)...), 1)
	su.add(t, database, grouped("5", 0), grouped("6", 0))
	require.Len(t, su.list(t, database, task.Waiting), 2, "one that runs does not count")
}

// attemptThatDoesNotCount checks that a worker that stops can return a task without using up
// one of its attempts.
func (su taskSuite) attemptThatDoesNotCount(t *testing.T) {
	database, _ := su.fresh(t)
	su.add(t, database, su.newTask("a"))

	id := su.due(t, database)[0]
	for range 3 {
		require.Equal(t, 1, su.start(t, database, id)[0].Attempt)
		require.NoError(
			t,
			database.Tasks.RecordOutcomes(
				t.Context(),
				task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Waiting, Err: "stopping", DoNotCountAttempt: true},
			),
		)
	}

	require.NoError(t, database.Tasks.RecordOutcomes(t.Context(),
		task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Done}))
	require.Equal(t, 1, su.start(t, database, id)[0].Attempt, "the outcome of a task that does not run is ignored")
}

// deadTasksBeforeATime checks that a list of dead tasks can be continued before the end time of
// its last task.
func (su taskSuite) deadTasksBeforeATime(t *testing.T) {
	database, clk := su.fresh(t)
	for _, key := range []string{"a", "b"} {
		su.add(t, database, su.newTask(key))

		id := su.due(t, database)[0]
		su.start(t, database, id)
		require.NoError(t, database.Tasks.RecordOutcomes(t.Context(),
			task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Dead}))
		clk.Advance(time.Second)
	}

	all, err := database.Tasks.List(t.Context(), task.Filter{State: task.Dead, Before: clk.Now(), Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 2)

	first, err := database.Tasks.List(t.Context(), task.Filter{State: task.Dead, Before: all[1].EndedAt, Limit: 10})
	require.NoError(t, err)
	require.Len(t, first, 1)
	require.Equal(t, "a", first[0].Key)
}

// taskIsNotStartedBeforeRunAt checks that a reference that arrives too early starts nothing.
func (su taskSuite) taskIsNotStartedBeforeRunAt(t *testing.T) {
	database, clk := su.fresh(t)
	queued := su.newTask("a")
	queued.RunAt = clk.Now().Add(time.Hour)
	refs, err := database.Tasks.AddAndReserve(t.Context(), queued)
	require.NoError(t, err)
	require.Empty(t, su.start(t, database, refs[0].ID))
	su.add(t, database,
		task.Task{Kind: "k", Queue: task.Events, Key: "b", Payload: []byte("{}"), RunAt: clk.Now().Add(time.Minute)})
	require.Empty(t, su.due(t, database))
	clk.Advance(time.Minute)
	require.Len(t, su.due(t, database), 2, "a reserved reference is handed out again")
	require.Empty(t, su.start(t, database, refs[0].ID))
	clk.Advance(time.Hour)
	require.Len(t, su.start(t, database, refs[0].ID), 1)
}

// lostReferences checks that a task whose references are lost is referenced again about every
// five minutes, each time with another number.
func (su taskSuite) lostReferences(t *testing.T) {
	database, clk := su.fresh(t)
	refs, err := database.Tasks.AddAndReserve(t.Context(), su.newTask("a"))
	require.NoError(t, err)
	require.Equal(t, 1, refs[0].Enqueues)

	references, seen := 1, map[int]bool{1: true}
	for range 6 * 60 { // six hours
		clk.Advance(time.Minute)

		due, err := database.Tasks.Due(t.Context(), 10)
		require.NoError(t, err)

		for _, ref := range due {
			require.Equal(t, refs[0].ID, ref.ID)
			require.False(t, seen[ref.Enqueues], "each reference has another number")

			seen[ref.Enqueues] = true
			references++
		}
	}

	// Every five minutes would be 72 references in six hours.
	require.Greater(t, references, 60)
	require.Less(t, references, 6*60/5+5)
}

// postponedReferences checks that references that could not be enqueued are due again at the
// given time.
func (su taskSuite) postponedReferences(t *testing.T) {
	database, clk := su.fresh(t)
	refs, err := database.Tasks.AddAndReserve(t.Context(), su.newTask("a"), su.newTask("b"))
	require.NoError(t, err)
	require.NoError(t, database.Tasks.Postpone(t.Context(), refs, clk.Now().Add(5*time.Second)))
	require.Empty(t, su.due(t, database))
	clk.Advance(5 * time.Second)
	require.Len(t, su.due(t, database), 2)
}

// expiredLease checks that an extended lease counts, that a task is due again when its lease
// expires, and that the worker that has lost it learns that and can no longer record an
// outcome.
func (su taskSuite) expiredLease(t *testing.T) {
	database, clk := su.fresh(t)
	su.add(t, database, su.newTask("a"))

	id := su.due(t, database)[0]
	su.start(t, database, id)

	run := task.Run{ID: id, Attempt: 1}

	clk.Advance(20 * time.Second)

	lost, err := database.Tasks.Extend(t.Context(), []task.Run{run, {ID: unknownTask, Attempt: 3}}, 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, []task.Run{{ID: unknownTask, Attempt: 3}}, lost)
	clk.Advance(20 * time.Second)
	require.Empty(t, su.due(t, database), "an extended lease counts")
	clk.Advance(11 * time.Second)
	require.Equal(t, []string{id}, su.due(t, database))

	second := su.start(t, database, id)
	require.Len(t, second, 1)
	require.Equal(t, 2, second[0].Attempt)

	lost, err = database.Tasks.Extend(t.Context(), []task.Run{run}, 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, []task.Run{run}, lost)

	// The result that the holder of the expired lease reports is ignored.
	require.NoError(t, database.Tasks.RecordOutcomes(t.Context(),
		task.Outcome{Run: run, State: task.Dead, Err: "late"}))
	require.Len(t, su.list(t, database, task.Running), 1)
	require.NoError(t, database.Tasks.RecordOutcomes(t.Context(),
		task.Outcome{Run: task.Run{ID: id, Attempt: 2}, State: task.Done}))
	require.NoError(t, database.Tasks.RecordOutcomes(t.Context(),
		task.Outcome{Run: task.Run{ID: id, Attempt: 2}, State: task.Waiting}))
	require.Len(t, su.list(t, database, task.Done), 1, "a task that is done stays done")
}

// failedTaskIsDueAtRunAt checks that a failed task is due again at RunAt. Characters that
// databases cannot store are removed from its error.
func (su taskSuite) failedTaskIsDueAtRunAt(t *testing.T) {
	database, clk := su.fresh(t)
	su.add(t, database, su.newTask("a"))

	id := su.due(t, database)[0]
	su.start(t, database, id)
	require.NoError(
		t,
		database.Tasks.RecordOutcomes(
			t.Context(),
			task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Waiting, RunAt: clk.Now().Add(time.Minute), Err: "b\x00ad \xff"},
		),
	)

	waiting := su.list(t, database, task.Waiting)
	require.Len(t, waiting, 1)
	require.Equal(t, "bad ", waiting[0].Err)
	require.Empty(t, su.due(t, database))
	clk.Advance(time.Minute)
	require.Equal(t, []string{id}, su.due(t, database))
	require.Equal(t, 2, su.start(t, database, id)[0].Attempt)
}

// retryAndDropDeadTasks checks that a dead task stays until an operator retries it, with all
// attempts, or drops it.
func (su taskSuite) retryAndDropDeadTasks(t *testing.T) {
	database, clk := su.fresh(t)
	su.add(t, database, su.newTask("a"), su.newTask("b"))

	for _, queued := range su.start(t, database, su.due(t, database)...) {
		require.NoError(
			t,
			database.Tasks.RecordOutcomes(
				t.Context(),
				task.Outcome{Run: task.Run{ID: queued.ID, Attempt: 1}, State: task.Dead, Err: "no such address"},
			),
		)
	}

	clk.Advance(30 * 24 * time.Hour)
	require.Empty(t, su.due(t, database))

	dead := su.list(t, database, task.Dead)
	require.Len(t, dead, 2)
	require.False(t, dead[0].EndedAt.IsZero())

	n, err := database.Tasks.Retry(t.Context(), []string{dead[0].ID, unknownTask})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{dead[0].ID}, su.due(t, database))

	n, err = database.Tasks.Drop(t.Context(), []string{dead[1].ID, unknownTask})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, su.start(t, database, dead[0].ID)[0].Attempt, "it has all its attempts again")

	n, err = database.Tasks.Drop(t.Context(), []string{dead[0].ID})
	require.NoError(t, err)
	require.Zero(t, n, "a running task is not dropped")
	require.Empty(t, su.list(t, database, task.Dead))
}

// backlog checks the numbers by queue and state, and the time of the oldest task.
func (su taskSuite) backlog(t *testing.T) {
	database, clk := su.fresh(t)
	first := clk.Now()

	su.add(t, database, su.newTask("a"))
	clk.Advance(time.Minute)
	su.add(t, database, su.newTask("b"), su.newTask("c"), task.New("k", task.Events, "d", 1))

	refs, err := database.Tasks.Due(t.Context(), 1)
	require.NoError(t, err)

	got, err := database.Tasks.Backlog(t.Context())
	require.NoError(t, err)

	counted := map[string]task.Backlog{}
	for _, b := range got {
		counted[string(b.Queue)+" "+string(b.State)] = b
	}

	require.Len(t, counted, 2)
	require.Equal(t, 3, counted["mail waiting"].Tasks)
	require.True(t, first.Equal(counted["mail waiting"].Oldest))
	require.Equal(t, 1, counted["events waiting"].Tasks)
	su.start(t, database, refs[0].ID)

	got, err = database.Tasks.Backlog(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 3)
}

// retention checks that done and dead tasks expire separately, in batches, and that running
// ones do not.
func (su taskSuite) retention(t *testing.T) {
	database, clk := su.fresh(t)
	su.add(t, database, su.newTask("a"), su.newTask("b"), su.newTask("c"), su.newTask("open"), su.newTask("dead"))

	for _, queued := range su.start(t, database, su.due(t, database)...) {
		switch queued.Key {
		case "open":
		case "dead":
			require.NoError(
				t,
				database.Tasks.RecordOutcomes(t.Context(),
					task.Outcome{Run: task.Run{ID: queued.ID, Attempt: 1}, State: task.Dead}),
			)
		default:
			require.NoError(
				t,
				database.Tasks.RecordOutcomes(t.Context(),
					task.Outcome{Run: task.Run{ID: queued.ID, Attempt: 1}, State: task.Done}),
			)
		}
	}

	expire := func(kind retention.Kind, want ...int) {
		for _, want := range want {
			n, err := retentionOf(t, database.Retention).DeleteBefore(t.Context(), kind, clk.Now(), 2)
			require.NoError(t, err)
			require.Equal(t, want, n, kind)
		}
	}

	expire(task.DoneTasks, 0)
	expire(task.DeadTasks, 0)
	clk.Advance(time.Hour)
	expire(task.DoneTasks, 2, 1, 0)
	expire(task.DeadTasks, 1, 0)
	require.Len(t, su.due(t, database), 1)
}

// concurrentSweepsAndWorkers checks that each task is started once, although six processes read
// references at the same time and every reference is delivered twice.
func (su taskSuite) concurrentSweepsAndWorkers(t *testing.T) {
	database, _ := su.fresh(t)
	const total = 300

	var tasks []task.Task
	for i := range total {
		tasks = append(tasks, su.newTask(fmt.Sprint(i)))
	}

	su.add(t, database, tasks...)
	var mu sync.Mutex
	referenced, started := map[string]int{}, map[string]int{}

	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for {
				refs, err := database.Tasks.Due(context.Background(), 9)
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
					referenced[id]++
				}

				mu.Unlock()

				for range 2 { // every reference is delivered twice
					tasks, err := database.Tasks.Start(context.Background(), append([]string{}, ids...), time.Minute)
					require.NoError(t, err)
					mu.Lock()
					for _, task := range tasks {
						started[task.ID]++
					}

					mu.Unlock()
				}
			}
		})
	}

	group.Wait()
	require.Len(t, referenced, total)
	require.Len(t, started, total)

	for id, n := range started {
		require.Equal(t, 1, n, id)
	}
}
