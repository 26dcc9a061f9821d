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

// startWorkers runs workers of the handlers until the test ends or stop is called.
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

	running.Go(func() {
		// Sweep on every commit, and in any case five times in a second.
		wake := database.Outbox.Notifications(ctx)
		for ctx.Err() == nil {
			_ = runner.Sweep(ctx)
			select {
			case <-ctx.Done():
			case <-wake:
			case <-time.After(200 * time.Millisecond):
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

// taskIsExecuted checks that an added task is executed with its payload, and is done afterwards.
func (suite workSuite) taskIsExecuted(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	executed := make(chan string, 1)
	suite.startWorkers(t, database, queue, nil,
		task.Handle("k", task.Events, func(_ context.Context, p string) error { executed <- p; return nil }))
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, "a", "hello")))
	require.Equal(t, "hello", <-executed)
	suite.waitForState(t, database, task.Done, "a")
}

// taskWithRunAt checks that a task is not executed before its time, one second from now.
func (suite workSuite) taskWithRunAt(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	executedAt := make(chan time.Time, 1)
	suite.startWorkers(t, database, queue, nil,
		task.Handle("k", task.Events, func(context.Context, string) error { executedAt <- time.Now(); return nil }))

	queued := task.New("k", task.Events, "a", "hello")
	queued.RunAt = time.Now().UTC().Add(time.Second).Truncate(time.Microsecond)
	require.NoError(t, database.Tasks.Add(t.Context(), queued))
	require.False(t, (<-executedAt).Before(queued.RunAt))
}

// permanentFailure checks that a permanent error, or a payload that cannot be decoded, is not
// attempted again.
func (suite workSuite) permanentFailure(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var attempts atomic.Int32
	suite.startWorkers(t, database, queue, nil, task.Handle("k", task.Events, func(_ context.Context, p string) error {
		if p == "bad" {
			attempts.Add(1)
			return task.Permanent(errors.New("no such address"))
		}

		return nil
	}))
	const wrongType = 7 // the handler wants a text
	require.NoError(t, database.Tasks.Add(t.Context(),
		task.New("k", task.Events, "bad", "bad"),
		task.New("k", task.Events, "good", "good"),
		task.New("k", task.Events, "odd", wrongType)))
	require.Equal(t, "no such address", suite.waitForState(t, database, task.Dead, "bad").Err)
	suite.waitForState(t, database, task.Dead, "odd")
	suite.waitForState(t, database, task.Done, "good")
	require.EqualValues(t, 1, attempts.Load())
}

// failureAndPanicAreRetriedWithJitter checks that the first retry follows after 4 to 30
// seconds, at different times for tasks that failed together, so that they do not overload a
// service that recovers.
func (suite workSuite) failureAndPanicAreRetriedWithJitter(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	suite.startWorkers(t, database, queue, nil, task.Handle("k", task.Events, func(_ context.Context, p string) error {
		if p == "panic" {
			panic("broken")
		}

		return errors.New("away")
	}))

	start := time.Now()

	for _, key := range []string{"away", "panic", "away-2", "away-3"} {
		require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, key, key)))
	}

	runTimes := map[time.Time]bool{}
	for key, want := range map[string]string{"away": "away", "panic": "panic: broken", "away-2": "away", "away-3": "away"} {
		// A task waits before its first attempt as well; then it has no error.
		var record task.Record
		require.Eventually(t, func() bool {
			record = suite.waitForState(t, database, task.Waiting, key)
			return record.Err != ""
		}, 20*time.Second, 20*time.Millisecond)
		require.Equal(t, want, record.Err)

		pause := record.RunAt.Sub(start)
		require.Greater(t, pause, 3900*time.Millisecond) // 4 s, less the precision of timestamps
		require.Less(t, pause, 30*time.Second)

		runTimes[record.RunAt] = true
	}

	require.Len(t, runTimes, 4, "retries are spread")
}

// lastAttemptFails checks that a task is dead after its last attempt, with the error of that
// attempt.
func (suite workSuite) lastAttemptFails(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	handler := task.Handle("k", task.Events, func(context.Context, string) error { return errors.New("away") })
	handler.Attempts = 1
	suite.startWorkers(t, database, queue, nil, handler)
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, "a", "a")))
	require.Equal(t, "away", suite.waitForState(t, database, task.Dead, "a").Err)
}

// handlerIgnoresItsDeadline checks that handlers that never return do not block all workers of
// their queue.
func (suite workSuite) handlerIgnoresItsDeadline(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)

	release := make(chan struct{})
	defer close(release)

	handler := task.Handle("k", task.Exports, func(_ context.Context, p string) error {
		if p == "hangs" {
			<-release
		}

		return nil
	}).WithTimeout(200 * time.Millisecond)
	handler.Attempts = 1
	suite.startWorkers(t, database, queue, nil, handler)

	for i := range task.Workers[task.Exports] {
		require.NoError(t, database.Tasks.Add(t.Context(),
			task.New("k", task.Exports, fmt.Sprint("hangs-", i), "hangs")))
	}

	require.Contains(t, suite.waitForState(t, database, task.Dead, "hangs-0").Err, "the handler ignores its deadline")
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Exports, "next", "next")))
	suite.waitForState(t, database, task.Done, "next")
}

// referencesThatCannotBeEnqueued checks that tasks whose references the queue refuses at first
// are executed once.
func (suite workSuite) referencesThatCannotBeEnqueued(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var executions [20]atomic.Int32
	suite.startWorkers(t, database, &failing{Queue: queue, remainingFailures: 3}, nil,
		task.Handle("k", task.Events, func(_ context.Context, i int) error { executions[i].Add(1); return nil }))

	for i := range executions {
		require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, fmt.Sprint(i), i)))
	}

	for i := range executions {
		suite.waitForState(t, database, task.Done, fmt.Sprint(i))
		require.EqualValues(t, 1, executions[i].Load())
	}
}

// referencesDeliveredTwice checks that two processes whose queue delivers every reference twice
// execute each task once.
func (suite workSuite) referencesDeliveredTwice(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	var times [100]atomic.Int32
	handler := task.Handle("k", task.Events, func(_ context.Context, i int) error { times[i].Add(1); return nil })
	twice := doubling{queue}
	suite.startWorkers(t, database, twice, nil, handler)
	suite.startWorkers(t, database, twice, nil, handler)

	for i := range times {
		require.NoError(t, database.Tasks.Add(t.Context(), task.New("k", task.Events, fmt.Sprint(i), i)))
	}

	for i := range times {
		suite.waitForState(t, database, task.Done, fmt.Sprint(i))
		require.EqualValues(t, 1, times[i].Load())
	}
}

// periodicTaskSeveralProcesses checks that one of three processes runs a periodic task in each
// period.
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

	// The other workers have stopped, so they change nothing after this.
	for _, stop := range stops {
		stop()
	}

	records, err := database.Tasks.List(t.Context(), task.Filter{State: task.Done, Kind: "sweep", Limit: 10})
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.EqualValues(t, 1, runs.Load())
}

// stopWithShortAndLongTasks checks that a stop waits for a short task, and interrupts a long
// one, which another process can start at once.
func (suite workSuite) stopWithShortAndLongTasks(t *testing.T) {
	t.Parallel()

	database, queue := suite.open(t)
	started := make(chan string, 2)
	short := task.Handle("short", task.Events, func(ctx context.Context, _ string) error {
		started <- "short"

		<-time.After(300 * time.Millisecond)

		return ctx.Err()
	})

	long := task.Handle("long", task.Exports, func(ctx context.Context, _ string) error {
		started <- "long"

		<-ctx.Done()

		return ctx.Err()
	}).WithTimeout(time.Hour)
	stop := suite.startWorkers(t, database, queue, nil, short, long)
	require.NoError(t, database.Tasks.Add(t.Context(), task.New("short", task.Events, "short", ""),
		task.New("long", task.Exports, "long", "")))
	<-started
	<-started
	stop()
	suite.waitForState(t, database, task.Done, "short")

	returned := suite.waitForState(t, database, task.Waiting, "long")
	require.False(t, returned.RunAt.After(time.Now()), "another process can start the task at once")
}

// failing is a queue whose first calls of Enqueue fail.
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

// doubling is a queue that delivers every task twice.
type doubling struct{ task.Queue }

// Enqueue implements task.Queue. The copies have other numbers, so that the queue does not
// recognize them as duplicates.
func (q doubling) Enqueue(ctx context.Context, refs ...task.Reference) error {
	second := make([]task.Reference, len(refs))
	for i, ref := range refs {
		second[i] = ref
		second[i].Enqueues += 1_000_000
	}

	return errors.Join(q.Queue.Enqueue(ctx, refs...), q.Queue.Enqueue(ctx, second...))
}
