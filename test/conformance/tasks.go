package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
)

// Tasks checks the port task.Store. The states of a task are:
//
//	waiting → running → done     the attempt succeeded
//	          running → waiting  the attempt failed, or its lease expired; the task is due again at RunAt
//	          running → dead     the last attempt failed
//	dead    → waiting            an operator retries the task
//
// A worker that starts a task gets a lease. Until the lease expires, no other worker can start the
// task. Workers learn of due tasks by references, which are sent through a queue and can be lost,
// late or repeated. Therefore Due returns a reference again if its task is not started.
func Tasks(t *testing.T, open DatabaseOpener) {
	suite := taskSuite{open}
	t.Run("clock set back", suite.clockSetBack)
	t.Run("add, start, done", suite.addStartDone)
	t.Run("rollback", suite.rollback)
	t.Run("duplicate key", suite.duplicateKey)
	t.Run("duplicate key, concurrently", suite.duplicateKeyConcurrently)
	t.Run("start with a clock slightly behind", suite.startWithAClockSlightlyBehind)
	t.Run("group runs one task", suite.groupRunsOneTask)
	t.Run("group, concurrently", suite.groupConcurrently)
	t.Run("group of a killed worker", suite.groupOfAKilledWorker)
	t.Run("group of a failed task", suite.groupOfAFailedTask)
	t.Run("group in which a task waits", suite.groupInWhichATaskWaits)
	t.Run("attempt that does not count", suite.attemptThatDoesNotCount)
	t.Run("dead tasks before a time", suite.deadTasksBeforeATime)
	t.Run("task is not started before RunAt", suite.taskIsNotStartedBeforeRunAt)
	t.Run("lost references", suite.lostReferences)
	t.Run("postponed references", suite.postponedReferences)
	t.Run("expired lease", suite.expiredLease)
	t.Run("failed task is due at RunAt", suite.failedTaskIsDueAtRunAt)
	t.Run("retry and drop dead tasks", suite.retryAndDropDeadTasks)
	t.Run("backlog", suite.backlog)
	t.Run("retention", suite.retention)
	t.Run("concurrent sweeps and workers", suite.concurrentSweepsAndWorkers)
}

// unknownTask is an id that no task has.
const unknownTask = "00000000-0000-7000-8000-000000000000"

// taskLease is the duration of the leases of the suite.
const taskLease = 30 * time.Second

// taskSuite has the subtests of Tasks.
type taskSuite struct {
	open DatabaseOpener
}

// fresh returns an empty database and the clock that the database uses. The subtest runs in
// parallel.
func (suite taskSuite) fresh(t *testing.T) (adapters.Database, *fakeClock) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	database := suite.open(t, clk)
	requirePorts(t, database)

	if database.Tasks == nil {
		t.Skip("the storage has no tasks")
	}

	return database, clk
}

// add adds the tasks, without references: Due returns the references of those that are due.
func (suite taskSuite) add(t *testing.T, database adapters.Database, tasks ...task.Task) {
	t.Helper()
	require.NoError(t, database.Tasks.Add(t.Context(), tasks...))
}

// due returns the ids of the due tasks, for which it gets references from Due. Due does not return a reference to the same
// task again for some minutes.
func (suite taskSuite) due(t *testing.T, database adapters.Database) (ids []string) {
	t.Helper()

	const limit = 100 // more references than a test needs

	refs, err := database.Tasks.Due(t.Context(), limit)
	require.NoError(t, err)

	for _, ref := range refs {
		ids = append(ids, ref.ID)
	}

	return ids
}

// start starts those of the tasks that are due and that no other worker runs, and returns them.
func (suite taskSuite) start(t *testing.T, database adapters.Database, ids ...string) []task.Task {
	t.Helper()

	tasks, err := database.Tasks.Start(t.Context(), ids, taskLease)
	require.NoError(t, err)

	return tasks
}

// list returns the tasks in the state.
func (suite taskSuite) list(t *testing.T, database adapters.Database, state task.State) []task.Record {
	t.Helper()

	records, err := database.Tasks.List(t.Context(), task.Filter{State: state, Limit: 100})
	require.NoError(t, err)

	return records
}

// record records the outcome of an attempt.
func (suite taskSuite) record(t *testing.T, database adapters.Database, outcome task.Outcome) {
	t.Helper()
	require.NoError(t, database.Tasks.RecordOutcomes(t.Context(), outcome))
}

// newTask returns a task in the mail queue. A store keeps one task of each kind and key.
func (suite taskSuite) newTask(key string) task.Task {
	return task.New("greet", task.Mail, key, map[string]string{"to": "é"})
}

// clockSetBack checks tasks that a process added, started or postponed while its clock was two days
// ahead: they are due as soon as the clock is right. A task that was planned before the clock was
// wrong stays planned.
func (suite taskSuite) clockSetBack(t *testing.T) {
	database, clk := suite.fresh(t)
	planned := suite.newTask("planned")
	planned.RunAt = clk.Now().Add(30 * time.Hour)
	suite.add(t, database, planned, suite.newTask("retried"))

	// Set the clock wrong. A process adds three tasks, starts two, and postpones one of these after a failure.
	const clockError = 48 * time.Hour

	clk.Advance(clockError)

	later := suite.newTask("later")
	later.RunAt = clk.Now().Add(time.Hour)
	suite.add(t, database, suite.newTask("leased"), suite.newTask("added"), later)

	ids := map[string]string{} // by key
	for _, record := range suite.list(t, database, task.Waiting) {
		ids[record.Key] = record.ID
	}

	suite.due(t, database) // hands out the references to all of them
	require.Len(t, suite.start(t, database, ids["leased"], ids["retried"]), 2)
	suite.record(t, database, task.Outcome{
		Run:   task.Run{ID: ids["retried"], Attempt: 1},
		State: task.Waiting,
		RunAt: clk.Now().Add(time.Minute),
	})

	// Set the clock right: only the task that was planned with the right clock is not due.
	clk.Advance(-clockError)
	require.ElementsMatch(t, []string{ids["leased"], ids["added"], ids["retried"], ids["later"]}, suite.due(t, database))
	clk.Advance(taskLease)
	require.Empty(t, suite.start(t, database, ids["planned"]), "a task is not started before the time for which it was planned")
}

// addStartDone checks a task in its states waiting, running and done: a reference to it is due, one
// worker starts it, and after it is done, it is never due again.
func (suite taskSuite) addStartDone(t *testing.T) {
	database, clk := suite.fresh(t)
	queued := suite.newTask("a")
	queued.Trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	suite.add(t, database, queued)

	// The task is waiting.
	const moreThanOne = 10

	refs, err := database.Tasks.Due(t.Context(), moreThanOne)
	require.NoError(t, err)
	require.Len(t, refs, 1)
	require.Equal(t, task.Reference{Queue: task.Mail, Kind: "greet", ID: refs[0].ID, Enqueues: 1}, refs[0])

	// A worker starts the task: it is running, with the fields with which it was added.
	started := suite.start(t, database, refs[0].ID, unknownTask)
	require.Len(t, started, 1)

	running := started[0]
	require.Equal(t, "greet", running.Kind)
	require.Equal(t, task.Mail, running.Queue)
	require.Equal(t, "a", running.Key)
	require.Equal(t, string(queued.Payload), string(running.Payload))
	require.Equal(t, queued.Trace, running.Trace)
	require.Equal(t, 1, running.Attempt)
	require.True(t, clk.Now().Equal(running.CreatedAt))
	require.Empty(t, suite.start(t, database, running.ID), "another worker has reserved it")

	// The worker has executed the task: it is done.
	suite.record(t, database, task.Outcome{Run: task.Run{ID: running.ID, Attempt: 1}, State: task.Done})
	clk.Advance(24 * time.Hour)
	require.Empty(t, suite.due(t, database), "a task that is done is not due again")
	require.Len(t, suite.list(t, database, task.Done), 1)
}

// rollback checks that a transaction that fails adds no task, and that its key can be used by a
// later one.
func (suite taskSuite) rollback(t *testing.T) {
	database, _ := suite.fresh(t)
	errFailed := errors.New("boom")

	err := database.Tx.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, database.Tasks.Add(ctx, suite.newTask("a")))
		return errFailed
	})
	require.ErrorIs(t, err, errFailed)
	require.Empty(t, suite.due(t, database))

	err = database.Tx.Do(t.Context(), func(ctx context.Context) error {
		return database.Tasks.Add(ctx, suite.newTask("a"))
	})
	require.NoError(t, err)
	require.Len(t, suite.due(t, database), 1)
}

// duplicateKey checks that a second task with the same kind and key is ignored, even after the
// first is done.
func (suite taskSuite) duplicateKey(t *testing.T) {
	database, _ := suite.fresh(t)
	suite.add(t, database, suite.newTask("a"), suite.newTask("b"))
	suite.add(t, database, suite.newTask("a"), suite.newTask("c")) // the second a is ignored

	ids := suite.due(t, database)
	require.Len(t, ids, 3, "a, b and c")

	// All tasks are done: a third a is ignored, too.
	for _, queued := range suite.start(t, database, ids...) {
		suite.record(t, database, task.Outcome{
			Run:   task.Run{ID: queued.ID, Attempt: 1},
			State: task.Done,
		})
	}

	suite.add(t, database, suite.newTask("a"))
	require.Empty(t, suite.due(t, database))
}

// duplicateKeyConcurrently checks that twenty concurrent tasks with the same key are one task.
func (suite taskSuite) duplicateKeyConcurrently(t *testing.T) {
	database, _ := suite.fresh(t)

	const additions = 20

	var group sync.WaitGroup
	for range additions {
		group.Go(func() { require.NoError(t, database.Tasks.Add(context.Background(), suite.newTask("a"))) })
	}

	group.Wait()
	require.Len(t, suite.due(t, database), 1)
}

// startWithAClockSlightlyBehind checks that a worker whose clock is two seconds behind starts a
// task that was due in the process that added it.
func (suite taskSuite) startWithAClockSlightlyBehind(t *testing.T) {
	database, clk := suite.fresh(t)
	queued := suite.newTask("a")
	queued.RunAt = clk.Now().Add(2 * time.Second) // now, by the clock of the process that adds the task
	refs, err := database.Tasks.AddAndReserve(t.Context(), queued)
	require.NoError(t, err)
	require.Len(t, suite.start(t, database, refs[0].ID), 1)
}

// addGroup adds n tasks to a group and returns their ids. All tasks are due, each a microsecond
// before the previous one: a task that is later than another one of its group would not be added.
func (suite taskSuite) addGroup(
	t *testing.T, database adapters.Database, clk *fakeClock, group string, n int,
) (ids []string) {
	t.Helper()

	for i := range n {
		queued := suite.newTask(fmt.Sprint(group, i))
		queued.Group = group
		queued.RunAt = clk.Now().Add(-time.Duration(i) * time.Microsecond)
		suite.add(t, database, queued)
	}

	for _, record := range suite.list(t, database, task.Waiting) {
		if record.Group == group {
			ids = append(ids, record.ID)
		}
	}

	require.Len(t, ids, n)

	return ids
}

// endAttempt records the outcome of the current attempt at a task of a group: the new state of the
// task and, if it is task.Waiting, the time of the next attempt.
func (suite taskSuite) endAttempt(
	t *testing.T, database adapters.Database, started task.Task, state task.State, nextAttemptAt time.Time,
) {
	t.Helper()
	suite.record(t, database, task.Outcome{
		Run:   task.Run{ID: started.ID, Attempt: started.Attempt},
		Group: started.Group,
		State: state,
		RunAt: nextAttemptAt,
	})
}

// noNextAttempt is the time of the next attempt at a task that is done or dead.
var noNextAttempt time.Time

// groupRunsOneTask checks that one task of a group runs at a time, that the next one is due as
// soon as it ends, and that other groups do not wait.
func (suite taskSuite) groupRunsOneTask(t *testing.T) {
	database, clk := suite.fresh(t)
	const tasksOfA = 3
	idsOfA := suite.addGroup(t, database, clk, "a", tasksOfA)
	idsOfB := suite.addGroup(t, database, clk, "b", 1)
	require.Len(t, suite.due(t, database), tasksOfA+1, "all tasks of both groups")

	// Start one task of each group. The other tasks of group a cannot be started.
	require.Len(t, suite.start(t, database, slices.Concat(idsOfA, idsOfB)...), 2)
	require.Empty(t, suite.start(t, database, idsOfA...))

	// End the tasks of group a one after the other, while the task of group b runs.
	for ended := range tasksOfA {
		running := suite.list(t, database, task.Running)
		require.Len(t, running, 2, "one task of each group")

		for _, record := range running {
			require.Equal(t, 1, record.Attempt, "a task that waits for its group is not an attempt")

			if record.Group == "a" {
				suite.endAttempt(t, database, record.Task, task.Done, noNextAttempt)
			}
		}

		// The other tasks of group a are due at once. Start one of them, unless the ended one was the last.
		due := suite.due(t, database)
		remaining := tasksOfA - (ended + 1)
		require.Len(t, due, remaining)
		require.Len(t, suite.start(t, database, due...), min(1, remaining))
		require.Empty(t, suite.due(t, database))
	}
}

// groupConcurrently checks that of twenty concurrent workers, one starts a task of the group. Each
// worker tries two tasks, one of which is the same for all workers. After the task has ended, again
// one of the workers starts a task.
func (suite taskSuite) groupConcurrently(t *testing.T) {
	database, clk := suite.fresh(t)

	const workerCount, rounds = 20, 3
	ids := suite.addGroup(t, database, clk, "a", workerCount) // a task for each worker

	for range rounds {
		var workers sync.WaitGroup
		var mu sync.Mutex
		var started []task.Task // by all workers

		for _, id := range ids {
			workers.Go(func() {
				startedByWorker, err := database.Tasks.Start(context.Background(), []string{id, ids[0]}, taskLease)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()

				started = append(started, startedByWorker...)
			})
		}

		workers.Wait()
		require.Len(t, started, 1)
		suite.endAttempt(t, database, started[0], task.Done, noNextAttempt)
	}
}

// groupOfAKilledWorker checks that a group continues when the lease of a killed worker expires,
// and that a late outcome of that worker does not permit a second task.
func (suite taskSuite) groupOfAKilledWorker(t *testing.T) {
	database, clk := suite.fresh(t)
	ids := suite.addGroup(t, database, clk, "a", 2)
	suite.due(t, database)

	// A worker starts a task and is killed. When its lease expires, another worker starts either the
	// same task or the other one.
	ofKilledWorker := suite.start(t, database, ids...)[0]

	clk.Advance(taskLease + time.Second)
	require.Len(t, suite.due(t, database), 2)

	next := suite.start(t, database, ids...)
	require.Len(t, next, 1)

	// The late outcome of the killed worker does not change the running task.
	suite.endAttempt(t, database, ofKilledWorker, task.Done, noNextAttempt)

	isSameTask := next[0].ID == ofKilledWorker.ID
	if isSameTask {
		require.Equal(t, 2, next[0].Attempt)
	} else {
		require.Len(t, suite.list(t, database, task.Running), 1)
	}

	require.Empty(t, suite.start(t, database, ids...), "an outdated outcome does not end the group")
}

// groupOfAFailedTask checks that neither a task that waits for its next attempt nor a dead one
// blocks its group.
func (suite taskSuite) groupOfAFailedTask(t *testing.T) {
	database, clk := suite.fresh(t)
	ids := suite.addGroup(t, database, clk, "a", 2)
	suite.due(t, database)

	// The first task fails and waits for an hour: the other task can be started.
	failed := suite.start(t, database, ids...)[0]
	suite.endAttempt(t, database, failed, task.Waiting, clk.Now().Add(time.Hour))

	next := suite.start(t, database, suite.due(t, database)...)
	require.Len(t, next, 1)
	require.NotEqual(t, failed.ID, next[0].ID)

	// The other task is dead: the first one can be started when the hour is over.
	suite.endAttempt(t, database, next[0], task.Dead, noNextAttempt)
	clk.Advance(time.Hour)
	require.Len(t, suite.start(t, database, suite.due(t, database)...), 1)
}

// groupInWhichATaskWaits checks that a task is not added to a group in which another task with the
// same or an earlier RunAt is waiting: that task will do the same work. A running task of the group
// does not count, because it may have begun too early to do the work.
func (suite taskSuite) groupInWhichATaskWaits(t *testing.T) {
	database, clk := suite.fresh(t)
	dueIn := func(key string, delay time.Duration) task.Task {
		queued := suite.newTask(key)
		queued.Group, queued.RunAt = "a", clk.Now().Add(delay)
		return queued
	}

	// Tasks 2 and 3 are later than task 1, and are not added.
	suite.add(t, database, dueIn("1", time.Minute), dueIn("2", time.Hour))
	suite.add(t, database, dueIn("3", time.Hour))
	require.Len(t, suite.list(t, database, task.Waiting), 1)

	// Task 4 is earlier than task 1, and is added.
	const now = 0

	suite.add(t, database, dueIn("4", now))
	require.Len(t, suite.list(t, database, task.Waiting), 2)

	// While task 4 is running, it does not count: of two new tasks, which are due at the same time, one is added.
	require.Len(t, suite.start(t, database, suite.due(t, database)...), 1)
	suite.add(t, database, dueIn("5", now), dueIn("6", now))
	require.Len(t, suite.list(t, database, task.Waiting), 2, "task 1, and task 5 or 6")
}

// attemptThatDoesNotCount checks that a worker that stops can return a task without using up
// one of its attempts. The outcome of a task that is not running is ignored.
func (suite taskSuite) attemptThatDoesNotCount(t *testing.T) {
	database, _ := suite.fresh(t)
	suite.add(t, database, suite.newTask("a"))

	id := suite.due(t, database)[0]

	for range 3 { // workers that stop one after the other
		require.Equal(t, 1, suite.start(t, database, id)[0].Attempt)
		suite.record(t, database, task.Outcome{
			Run:               task.Run{ID: id, Attempt: 1},
			State:             task.Waiting,
			Err:               "stopping",
			DoNotCountAttempt: true,
		})
	}

	// The task is waiting: this outcome is ignored, and the task can be started.
	suite.record(t, database, task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Done})
	require.Equal(t, 1, suite.start(t, database, id)[0].Attempt)
}

// deadTasksBeforeATime checks that a list of dead tasks, which has the newest one first, can be continued: Before selects
// the tasks that ended at a time or before it.
func (suite taskSuite) deadTasksBeforeATime(t *testing.T) {
	database, clk := suite.fresh(t)

	for _, key := range []string{"a", "b"} { // a ends a second before b
		suite.add(t, database, suite.newTask(key))

		id := suite.due(t, database)[0]
		suite.start(t, database, id)
		suite.record(t, database, task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Dead})
		clk.Advance(time.Second)
	}

	const moreThanTwo = 10

	newestFirst, err := database.Tasks.List(t.Context(), task.Filter{State: task.Dead, Before: clk.Now(), Limit: moreThanTwo})
	require.NoError(t, err)
	require.Len(t, newestFirst, 2)

	endOfA := newestFirst[1].EndedAt
	untilA, err := database.Tasks.List(t.Context(), task.Filter{State: task.Dead, Before: endOfA, Limit: moreThanTwo})
	require.NoError(t, err)
	require.Len(t, untilA, 1)
	require.Equal(t, "a", untilA[0].Key)
}

// taskIsNotStartedBeforeRunAt checks that a worker that receives a reference before RunAt does not
// start the task.
func (suite taskSuite) taskIsNotStartedBeforeRunAt(t *testing.T) {
	database, clk := suite.fresh(t)

	// Reserve the reference to a task that is due in an hour.
	inAnHour := suite.newTask("a")
	inAnHour.RunAt = clk.Now().Add(time.Hour)
	refs, err := database.Tasks.AddAndReserve(t.Context(), inAnHour)
	require.NoError(t, err)
	require.Empty(t, suite.start(t, database, refs[0].ID))

	// Add a task that is due in a minute.
	suite.add(t, database, task.Task{
		Kind:    "k",
		Queue:   task.Events,
		Key:     "b",
		Payload: []byte("{}"),
		RunAt:   clk.Now().Add(time.Minute),
	})
	require.Empty(t, suite.due(t, database))

	// After a minute, Due also returns the reserved reference again, but its task cannot be started yet.
	clk.Advance(time.Minute)
	require.Len(t, suite.due(t, database), 2)
	require.Empty(t, suite.start(t, database, refs[0].ID))

	clk.Advance(time.Hour)
	require.Len(t, suite.start(t, database, refs[0].ID), 1)
}

// lostReferences checks that Due returns a new reference to a task about every five minutes if all
// references are lost, each with another number.
func (suite taskSuite) lostReferences(t *testing.T) {
	database, clk := suite.fresh(t)
	refs, err := database.Tasks.AddAndReserve(t.Context(), suite.newTask("a"))
	require.NoError(t, err)
	require.Equal(t, 1, refs[0].Enqueues)

	const (
		minutes     = 6 * 60
		moreThanOne = 10
	)

	references := 1               // the reserved one has the number 1
	seen := map[int]bool{1: true} // by the number of the reference

	for range minutes {
		clk.Advance(time.Minute)

		due, err := database.Tasks.Due(t.Context(), moreThanOne)
		require.NoError(t, err)

		for _, ref := range due {
			require.Equal(t, refs[0].ID, ref.ID)
			require.False(t, seen[ref.Enqueues], "a second reference has the number %d", ref.Enqueues)

			seen[ref.Enqueues] = true
			references++
		}
	}

	// One reference every five minutes would be 72. The first pauses are shorter, and the pauses may
	// differ a little.
	const everySixMinutes, everyFiveMinutes, tolerance = minutes / 6, minutes / 5, 5

	require.Greater(t, references, everySixMinutes)
	require.Less(t, references, everyFiveMinutes+tolerance)
}

// postponedReferences checks that references that could not be enqueued are due again at the
// given time.
func (suite taskSuite) postponedReferences(t *testing.T) {
	database, clk := suite.fresh(t)
	refs, err := database.Tasks.AddAndReserve(t.Context(), suite.newTask("a"), suite.newTask("b"))
	require.NoError(t, err)

	const delay = 5 * time.Second

	require.NoError(t, database.Tasks.Postpone(t.Context(), refs, clk.Now().Add(delay)))
	require.Empty(t, suite.due(t, database))
	clk.Advance(delay)
	require.Len(t, suite.due(t, database), 2)
}

// expiredLease checks that a worker can extend a lease, and that the task is due again when the
// lease expires. The worker that has lost the lease can neither extend it nor record an outcome.
func (suite taskSuite) expiredLease(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.add(t, database, suite.newTask("a"))

	id := suite.due(t, database)[0]
	suite.start(t, database, id)

	firstRun := task.Run{ID: id, Attempt: 1}
	unknownRun := task.Run{ID: unknownTask, Attempt: 3}

	// The worker extends the lease of 30 seconds after 20 seconds: it expires 50 seconds after the start.
	clk.Advance(20 * time.Second)

	lost, err := database.Tasks.Extend(t.Context(), []task.Run{firstRun, unknownRun}, taskLease)
	require.NoError(t, err)
	require.Equal(t, []task.Run{unknownRun}, lost)
	clk.Advance(20 * time.Second)
	require.Empty(t, suite.due(t, database), "after 40 seconds, when the first lease would have expired")
	clk.Advance(11 * time.Second)
	require.Equal(t, []string{id}, suite.due(t, database), "after 51 seconds")

	// Another worker starts the task.
	second := suite.start(t, database, id)
	require.Len(t, second, 1)
	require.Equal(t, 2, second[0].Attempt)

	secondRun := task.Run{ID: id, Attempt: 2}

	// The first worker has lost its lease, and its outcome is ignored.
	lost, err = database.Tasks.Extend(t.Context(), []task.Run{firstRun}, taskLease)
	require.NoError(t, err)
	require.Equal(t, []task.Run{firstRun}, lost)
	suite.record(t, database, task.Outcome{Run: firstRun, State: task.Dead, Err: "late"})
	require.Len(t, suite.list(t, database, task.Running), 1)

	// The outcome of the second worker counts, once.
	suite.record(t, database, task.Outcome{Run: secondRun, State: task.Done})
	suite.record(t, database, task.Outcome{Run: secondRun, State: task.Waiting})
	require.Len(t, suite.list(t, database, task.Done), 1, "a task that is done stays done")
}

// failedTaskIsDueAtRunAt checks that a failed task is due again at RunAt. Characters that
// databases cannot store are removed from its error.
func (suite taskSuite) failedTaskIsDueAtRunAt(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.add(t, database, suite.newTask("a"))

	id := suite.due(t, database)[0]
	suite.start(t, database, id)
	suite.record(t, database, task.Outcome{
		Run:   task.Run{ID: id, Attempt: 1},
		State: task.Waiting,
		RunAt: clk.Now().Add(time.Minute),
		Err:   "b\x00ad \xff",
	})

	waiting := suite.list(t, database, task.Waiting)
	require.Len(t, waiting, 1)
	require.Equal(t, "bad ", waiting[0].Err)
	require.Empty(t, suite.due(t, database))
	clk.Advance(time.Minute)
	require.Equal(t, []string{id}, suite.due(t, database))
	require.Equal(t, 2, suite.start(t, database, id)[0].Attempt)
}

// retryAndDropDeadTasks checks that a dead task stays dead until an operator retries it or drops it.
// The attempts at a retried task are counted from 1 again.
func (suite taskSuite) retryAndDropDeadTasks(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.add(t, database, suite.newTask("a"), suite.newTask("b"))

	for _, queued := range suite.start(t, database, suite.due(t, database)...) {
		suite.record(t, database, task.Outcome{
			Run:   task.Run{ID: queued.ID, Attempt: 1},
			State: task.Dead,
			Err:   "no such address",
		})
	}

	clk.Advance(30 * 24 * time.Hour)
	require.Empty(t, suite.due(t, database), "a dead task is not due by itself")

	dead := suite.list(t, database, task.Dead)
	require.Len(t, dead, 2)
	require.False(t, dead[0].EndedAt.IsZero())

	// Retry one of the tasks, and drop the other one.
	retriedID, droppedID := dead[0].ID, dead[1].ID

	retried, err := database.Tasks.Retry(t.Context(), []string{retriedID, unknownTask})
	require.NoError(t, err)
	require.Equal(t, 1, retried)
	require.Equal(t, []string{retriedID}, suite.due(t, database))

	dropped, err := database.Tasks.Drop(t.Context(), []string{droppedID, unknownTask})
	require.NoError(t, err)
	require.Equal(t, 1, dropped)

	// The retried task has all its attempts again. While it runs, it cannot be dropped.
	require.Equal(t, 1, suite.start(t, database, retriedID)[0].Attempt)

	dropped, err = database.Tasks.Drop(t.Context(), []string{retriedID})
	require.NoError(t, err)
	require.Zero(t, dropped)
	require.Empty(t, suite.list(t, database, task.Dead))
}

// backlog checks the number of tasks by queue and state, and the time of the oldest task.
func (suite taskSuite) backlog(t *testing.T) {
	database, clk := suite.fresh(t)

	// Three tasks are in the mail queue, of which one is a minute older, and one is in the events queue.
	first := clk.Now()

	suite.add(t, database, suite.newTask("a"))
	clk.Advance(time.Minute)
	suite.add(t, database, suite.newTask("b"), suite.newTask("c"), task.New("k", task.Events, "d", 1))

	backlogs := suite.backlogs(t, database)
	require.Len(t, backlogs, 2)
	require.Equal(t, 3, backlogs["mail waiting"].Tasks)
	require.True(t, first.Equal(backlogs["mail waiting"].Oldest))
	require.Equal(t, 1, backlogs["events waiting"].Tasks)

	// Start the oldest task of the mail queue.
	refs, err := database.Tasks.Due(t.Context(), 1)
	require.NoError(t, err)
	suite.start(t, database, refs[0].ID)
	require.ElementsMatch(t, []string{"mail waiting", "mail running", "events waiting"},
		slices.Collect(maps.Keys(suite.backlogs(t, database))))
}

// backlogs returns the numbers of tasks by queue and state: "mail waiting".
func (suite taskSuite) backlogs(t *testing.T, database adapters.Database) map[string]task.Backlog {
	t.Helper()

	list, err := database.Tasks.Backlog(t.Context())
	require.NoError(t, err)

	backlogs := map[string]task.Backlog{}
	for _, backlog := range list {
		backlogs[string(backlog.Queue)+" "+string(backlog.State)] = backlog
	}

	require.Len(t, backlogs, len(list), "each queue and state is listed once")

	return backlogs
}

// retention checks that done and dead tasks expire separately, in batches, and that running tasks
// do not expire.
func (suite taskSuite) retention(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.add(t, database, suite.newTask("a"), suite.newTask("b"), suite.newTask("c"))
	suite.add(t, database, suite.newTask("running"), suite.newTask("dead"))

	for _, queued := range suite.start(t, database, suite.due(t, database)...) {
		switch queued.Key {
		case "running": // has no outcome
		case "dead":
			suite.record(t, database, task.Outcome{Run: task.Run{ID: queued.ID, Attempt: 1}, State: task.Dead})
		default:
			suite.record(t, database, task.Outcome{Run: task.Run{ID: queued.ID, Attempt: 1}, State: task.Done})
		}
	}

	// requireDeleted deletes batches of at most two tasks that have ended before now. Each batch must
	// delete the given number of tasks.
	requireDeleted := func(kind retention.Kind, wantOfBatches ...int) {
		const batchSize = 2

		for _, want := range wantOfBatches {
			deleted, err := retentionOf(t, database.Retention).DeleteBefore(t.Context(), kind, clk.Now(), batchSize)
			require.NoError(t, err)
			require.Equal(t, want, deleted, kind)
		}
	}

	// No task has ended before now. An hour later, the three done tasks and the dead one have.
	requireDeleted(task.DoneTasks, 0)
	requireDeleted(task.DeadTasks, 0)
	clk.Advance(time.Hour)
	requireDeleted(task.DoneTasks, 2, 1, 0)
	requireDeleted(task.DeadTasks, 1, 0)

	// The lease of the running task has expired: the task still exists and is due.
	require.Len(t, suite.due(t, database), 1)
}

// concurrentSweepsAndWorkers checks that each task is started once, although several processes read
// references at the same time, and every reference is delivered twice.
func (suite taskSuite) concurrentSweepsAndWorkers(t *testing.T) {
	database, _ := suite.fresh(t)

	const (
		total        = 300
		processCount = 6
		batchSize    = 9 // references that a process reads at a time
	)

	var tasks []task.Task
	for i := range total {
		tasks = append(tasks, suite.newTask(fmt.Sprint(i)))
	}

	suite.add(t, database, tasks...)

	var mu sync.Mutex                                         // guards the maps
	referenced, started := map[string]int{}, map[string]int{} // counts by task id
	var processes sync.WaitGroup

	// countEach adds one to the count of each id.
	countEach := func(counts map[string]int, ids []string) {
		mu.Lock()
		defer mu.Unlock()

		for _, id := range ids {
			counts[id]++
		}
	}

	for range processCount {
		processes.Go(func() {
			for {
				refs, err := database.Tasks.Due(context.Background(), batchSize)
				if err != nil || len(refs) == 0 {
					require.NoError(t, err)
					return
				}

				var ids []string
				for _, ref := range refs {
					ids = append(ids, ref.ID)
				}

				countEach(referenced, ids)

				for range 2 { // every reference is delivered twice
					startedTasks, err := database.Tasks.Start(context.Background(), slices.Clone(ids), taskLease)
					require.NoError(t, err)

					var startedIDs []string
					for _, startedTask := range startedTasks {
						startedIDs = append(startedIDs, startedTask.ID)
					}

					countEach(started, startedIDs)
				}
			}
		})
	}

	processes.Wait()
	require.Len(t, referenced, total)
	require.Len(t, started, total)

	for id, starts := range started {
		require.Equal(t, 1, starts, "task %s", id)
	}
}
