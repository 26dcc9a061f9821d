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

// Work checks a database and a queue together, with a task.Runner. The database stores the tasks, and the queue has
// references to those that are to be executed; a reference that is lost is enqueued again by a sweep of the database.
// open returns an empty database with tasks, whose time is that of the system, and an empty queue.
func Work(t *testing.T, open func(t testing.TB) (adapters.Database, task.Queue)) {
	suite := workSuite{open}
	t.Run("task is executed", suite.taskIsExecuted)
	t.Run("task with RunAt", suite.taskWithRunAt)
	t.Run("permanent failure", suite.permanentFailure)
	t.Run("failure and panic are retried with jitter", suite.failureAndPanicAreRetriedWithJitter)
	t.Run("last attempt fails", suite.lastAttemptFails)
	t.Run("handler ignores its deadline", suite.handlerIgnoresItsDeadline)
	t.Run("references that cannot be enqueued", suite.referencesThatCannotBeEnqueued)
	t.Run("references delivered twice", suite.referencesDeliveredTwice)
	t.Run("periodic task, several processes", suite.periodicTaskSeveralProcesses)
	t.Run("stop with short and long tasks", suite.stopWithShortAndLongTasks)
}

// workSuite has the subtests of Work.
type workSuite struct {
	open func(t testing.TB) (adapters.Database, task.Queue)
}

// startWorkers runs a process with workers of the handlers, and with the periodic tasks, until the test ends or stop is
// called. stop waits until the workers have ended.
func (suite workSuite) startWorkers(
	t *testing.T,
	database adapters.Database,
	queue task.Queue,
	periodic []task.Periodic,
	handlers ...task.Handler,
) (stop func()) {
	t.Helper()
	requirePorts(t, database)
	requirePort(t, "task.Store", database.Tasks)
	requirePort(t, "task.Queue", queue)

	runner, err := task.NewRunner(
		task.Deps{
			Store:    database.Tasks,
			Queue:    queue,
			Clock:    clock.System{},
			Log:      slog.New(slog.DiscardHandler),
			Handlers: handlers,
			Periodic: periodic,
		},
	)
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = runner.Work(ctx) })

	// A sweep enqueues references to tasks that are due. It follows every commit that the database notifies of, and
	// runs at least five times in a second.
	running.Go(func() {
		const sweepInterval = 200 * time.Millisecond

		committed := database.Outbox.Notifications(ctx)
		for ctx.Err() == nil {
			_ = runner.Sweep(ctx)
			select {
			case <-ctx.Done():
			case <-committed:
			case <-time.After(sweepInterval):
			}
		}
	})

	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})

	t.Cleanup(stop)

	return stop
}

// waitForState waits until the task with the key has the state, and returns it.
func (suite workSuite) waitForState(t *testing.T, database adapters.Database, want task.State, key string) task.Record {
	t.Helper()
	var found task.Record
	require.Eventually(t, func() bool {
		records, err := database.Tasks.List(t.Context(), task.Filter{State: want, Limit: 100})
		require.NoError(t, err)

		for _, record := range records {
			if record.Key == key {
				found = record
				return true
			}
		}

		return false
	}, 30*time.Second, 20*time.Millisecond, "%s does not become %s", key, want)

	return found
}

// noPeriodicTasks is the argument of startWorkers for a process that runs only tasks that are added.
var noPeriodicTasks []task.Periodic

// taskIsExecuted checks that an added task is executed with its payload, and is done afterwards.
func (suite workSuite) taskIsExecuted(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	executed := make(chan string, 1)
	suite.startWorkers(t, database, queue, noPeriodicTasks,
		task.Handle("k", task.Events, func(_ context.Context, payload string) error { executed <- payload; return nil }))
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, "a", "hello")))
	require.Equal(t, "hello", <-executed)
	suite.waitForState(t, database, task.Done, "a")
}

// taskWithRunAt checks that a task is not executed before its time RunAt, one second from now.
func (suite workSuite) taskWithRunAt(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	executedAt := make(chan time.Time, 1)
	suite.startWorkers(t, database, queue, noPeriodicTasks,
		task.Handle("k", task.Events, func(context.Context, string) error { executedAt <- time.Now(); return nil }))

	queued := task.New("k", task.Events, "a", "hello")
	queued.RunAt = time.Now().UTC().Add(time.Second).Truncate(time.Microsecond) // databases store microseconds
	require.NoError(t, database.Tasks.Add(t.Context(), queued))
	require.False(t, (<-executedAt).Before(queued.RunAt), "the task is executed before its time")
}

// permanentFailure checks that a task is dead after a permanent error, and is not attempted again. A task whose payload
// cannot be decoded is dead as well. Other tasks are executed.
func (suite workSuite) permanentFailure(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var attempts atomic.Int32
	handler := task.Handle("k", task.Events, func(_ context.Context, payload string) error {
		if payload == "bad" {
			attempts.Add(1)
			return task.Permanent(errors.New("no such address"))
		}

		return nil
	})
	suite.startWorkers(t, database, queue, noPeriodicTasks, handler)

	const wrongType = 7 // the handler wants a text
	require.NoError(t, database.Tasks.Add(t.Context(),
		task.New("k", task.Events, "bad", "bad"),
		task.New("k", task.Events, "good", "good"),
		task.New("k", task.Events, "odd", wrongType)))
	require.Equal(t, "no such address", suite.waitForState(t, database, task.Dead, "bad").Err)
	suite.waitForState(t, database, task.Dead, "odd")
	suite.waitForState(t, database, task.Done, "good")
	require.EqualValues(t, 1, attempts.Load(), "attempts of the task with the permanent error")
}

// failureAndPanicAreRetriedWithJitter checks that the first retry of a task, whose handler has returned an error or has
// panicked, follows after 4 to 30 seconds. Tasks that have failed together are retried at different times, so that they do
// not overload a service that recovers.
func (suite workSuite) failureAndPanicAreRetriedWithJitter(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	handler := task.Handle("k", task.Events, func(_ context.Context, payload string) error {
		if payload == "panic" {
			panic("broken")
		}

		return errors.New("away")
	})
	suite.startWorkers(t, database, queue, noPeriodicTasks, handler)

	start := time.Now()

	// The keys of the tasks, which are also their payloads, with the errors that are stored.
	wantErrors := map[string]string{"away": "away", "panic": "panic: broken", "away-2": "away", "away-3": "away"}
	for key := range wantErrors {
		require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, key, key)))
	}

	retryTimes := map[time.Time]bool{}
	for key, wantError := range wantErrors {
		// The task waits for its retry. It has waited before its first attempt as well, then without an error.
		var record task.Record
		require.Eventually(t, func() bool {
			record = suite.waitForState(t, database, task.Waiting, key)
			return record.Err != ""
		}, 20*time.Second, 20*time.Millisecond, "%s does not fail", key)
		require.Equal(t, wantError, record.Err)

		const (
			shortestPause = 3900 * time.Millisecond // 4 s, less the precision of timestamps
			longestPause  = 30 * time.Second
		)

		pause := record.RunAt.Sub(start)
		require.Greater(t, pause, shortestPause, key)
		require.Less(t, pause, longestPause, key)

		retryTimes[record.RunAt] = true
	}

	require.Len(t, retryTimes, len(wantErrors), "two tasks are retried at the same time")
}

// lastAttemptFails checks that a task is dead after its last attempt has failed, with the error of that attempt. Here the
// first attempt is the last one.
func (suite workSuite) lastAttemptFails(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	handler := task.Handle("k", task.Events, func(context.Context, string) error { return errors.New("away") })
	handler.Attempts = 1
	suite.startWorkers(t, database, queue, noPeriodicTasks, handler)
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, "a", "a")))
	require.Equal(t, "away", suite.waitForState(t, database, task.Dead, "a").Err)
}

// handlerIgnoresItsDeadline checks that handlers that do not return when their deadline has passed do not block their
// queue. There are as many of them as the queue has workers. A worker gives up such a task after a while, which is then
// dead, and executes the next one.
func (suite workSuite) handlerIgnoresItsDeadline(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)

	release := make(chan struct{})
	defer close(release)

	handler := task.Handle("k", task.Exports, func(_ context.Context, payload string) error {
		if payload == "hangs" {
			<-release
		}

		return nil
	}).WithTimeout(200 * time.Millisecond)
	handler.Attempts = 1
	suite.startWorkers(t, database, queue, noPeriodicTasks, handler)

	for i := range task.Workers[task.Exports] {
		require.NoError(t, database.Tasks.Add(t.Context(),
			task.New("k", task.Exports, fmt.Sprint("hangs-", i), "hangs")))
	}

	require.Contains(t, suite.waitForState(t, database, task.Dead, "hangs-0").Err, "the handler ignores its deadline")
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Exports, "next", "next")))
	suite.waitForState(t, database, task.Done, "next")
}

// referencesThatCannotBeEnqueued checks that tasks are executed once although the queue refuses some of their references
// at first: a sweep enqueues the references again.
func (suite workSuite) referencesThatCannotBeEnqueued(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var executions [20]atomic.Int32
	suite.startWorkers(t, database, &failing{Queue: queue, remainingFailures: 3}, noPeriodicTasks,
		task.Handle("k", task.Events, func(_ context.Context, number int) error { executions[number].Add(1); return nil }))

	for i := range executions {
		require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, fmt.Sprint(i), i)))
	}

	for i := range executions {
		suite.waitForState(t, database, task.Done, fmt.Sprint(i))
		require.EqualValues(t, 1, executions[i].Load(), "executions of task %d", i)
	}
}

// referencesDeliveredTwice checks that two processes whose queue delivers every reference twice
// execute each task once.
func (suite workSuite) referencesDeliveredTwice(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var executions [100]atomic.Int32
	handler := task.Handle("k", task.Events,
		func(_ context.Context, number int) error { executions[number].Add(1); return nil })
	twice := doubling{queue}
	suite.startWorkers(t, database, twice, noPeriodicTasks, handler)
	suite.startWorkers(t, database, twice, noPeriodicTasks, handler)

	for i := range executions {
		require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, fmt.Sprint(i), i)))
	}

	for i := range executions {
		suite.waitForState(t, database, task.Done, fmt.Sprint(i))
		require.EqualValues(t, 1, executions[i].Load(), "executions of task %d", i)
	}
}

// periodicTaskSeveralProcesses checks that only one of three processes runs a periodic task in a period. The task of a
// period has a key with the time at which the period begins.
func (suite workSuite) periodicTaskSeveralProcesses(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var runs atomic.Int32
	const every = 1000 * 24 * time.Hour // no period ends while the test runs
	periodic := []task.Periodic{{Kind: "sweep", Every: every, Do: func(context.Context) error { runs.Add(1); return nil }}}

	var stops []func()
	for range 3 {
		stops = append(stops, suite.startWorkers(t, database, queue, periodic))
	}

	key := "sweep:" + time.Now().UTC().Truncate(every).Format(time.RFC3339)
	suite.waitForState(t, database, task.Done, key)

	// After all processes have stopped, none of them can run the task any more.
	for _, stop := range stops {
		stop()
	}

	records, err := database.Tasks.List(t.Context(), task.Filter{State: task.Done, Kind: "sweep", Limit: 10})
	require.NoError(t, err)
	require.Len(t, records, 1, "tasks of the period")
	require.EqualValues(t, 1, runs.Load())
}

// stopWithShortAndLongTasks checks that stopping a process waits for a running task with the usual timeout, and cancels
// the context of a task with a long one. Another process can start the cancelled task at once.
func (suite workSuite) stopWithShortAndLongTasks(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	started := make(chan string, 2)
	short := task.Handle("short", task.Events, func(ctx context.Context, _ string) error {
		started <- "short"

		<-time.After(300 * time.Millisecond) // the stop begins in this time

		return ctx.Err() // the task would not be done if the context were cancelled
	})

	long := task.Handle("long", task.Exports, func(ctx context.Context, _ string) error {
		started <- "long"

		<-ctx.Done()

		return ctx.Err()
	}).WithTimeout(time.Hour)
	stop := suite.startWorkers(t, database, queue, noPeriodicTasks, short, long)
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("short", task.Events, "short", ""),
		task.New("long", task.Exports, "long", "")))

	// Both tasks are running when the process is stopped.
	<-started
	<-started
	stop()
	suite.waitForState(t, database, task.Done, "short")

	returned := suite.waitForState(t, database, task.Waiting, "long")
	require.False(t, returned.RunAt.After(time.Now()), "the cancelled task is due later")
}

// failing is a queue whose first calls of Enqueue fail, and enqueue nothing.
type failing struct {
	task.Queue

	mu sync.Mutex
	// remainingFailures is the number of calls that still fail.
	remainingFailures int
}

// Enqueue implements task.Queue.
func (q *failing) Enqueue(ctx context.Context, refs ...task.Reference) error {
	q.mu.Lock()
	q.remainingFailures--
	fails := q.remainingFailures >= 0
	q.mu.Unlock()

	if fails {
		return errors.New("unavailable")
	}

	return q.Queue.Enqueue(ctx, refs...)
}

// doubling is a queue that delivers every reference twice.
type doubling struct{ task.Queue }

// Enqueue implements task.Queue. A queue may recognize duplicates by Enqueues, the number of times that a task has been
// enqueued. So the copies have a much larger number.
func (q doubling) Enqueue(ctx context.Context, refs ...task.Reference) error {
	copies := make([]task.Reference, len(refs))
	for i, ref := range refs {
		copies[i] = ref
		copies[i].Enqueues += 1_000_000
	}

	return errors.Join(q.Queue.Enqueue(ctx, refs...), q.Queue.Enqueue(ctx, copies...))
}
