package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/task"
)

// Queue checks the port task.Queue, which delivers references to tasks to workers. The database stores the tasks
// themselves. Each task is in a named queue with a number of workers. open returns an empty queue.
func Queue(t *testing.T, open func(t testing.TB) task.Queue, outage ...Outage[task.Queue]) {
	suite := queueSuite{open, outage}
	t.Run("every queue", suite.everyQueue)
	t.Run("many references in one call", suite.manyReferencesInOneCall)
	t.Run("number of workers", suite.numberOfWorkers)
	t.Run("full queue", suite.fullQueue)
	t.Run("stop while a task runs", suite.stopWhileATaskRuns)
	t.Run("embedded or shared", suite.embeddedOrShared)
	t.Run("cancelled call", suite.cancelledCall)
	withOutage(t, "task.Queue", suite.outage, suite.duringOutage)
}

// queueSuite has the subtests of Queue.
type queueSuite struct {
	open   func(t testing.TB) task.Queue
	outage []Outage[task.Queue]
}

// work starts workers, which call do for each reference that the queue delivers, until the test ends or stop is called.
// stop waits for running calls of do.
func (suite queueSuite) work(t *testing.T, queue task.Queue, do func(context.Context, task.Reference)) (stop func()) {
	t.Helper()

	ctx, cancel := context.WithCancel(context.Background())

	done := make(chan error, 1)
	go func() { done <- queue.Work(ctx, do) }()

	stop = sync.OnceFunc(func() {
		cancel()

		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(task.DefaultTimeout + 10*time.Second): // a queue may wait as long as a task may run
			require.Fail(t, "the queue does not stop")
		}
	})

	t.Cleanup(stop)

	return stop
}

// ref returns the reference of task n in the named queue, which is enqueued for the first time.
func (suite queueSuite) ref(name task.QueueName, n int) task.Reference {
	return task.Reference{Queue: name, Kind: "greet", ID: fmt.Sprint("task-", n), Enqueues: 1}
}

// await returns the next reference, which must be delivered in time.
func (suite queueSuite) await(t *testing.T, delivered <-chan task.Reference) task.Reference {
	t.Helper()

	select {
	case reference := <-delivered:
		return reference
	case <-time.After(time.Minute):
		require.Fail(t, "no reference was delivered")
		return task.Reference{}
	}
}

// everyQueue checks that a reference to a task of each named queue is delivered to a worker.
func (suite queueSuite) everyQueue(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	delivered := make(chan task.Reference, 10)
	suite.work(t, queue, func(_ context.Context, got task.Reference) { delivered <- got })

	for name := range task.Workers {
		require.NoError(t, queue.Enqueue(t.Context(), suite.ref(name, 1)))

		got := suite.await(t, delivered)
		require.Equal(t, name, got.Queue)
		require.Equal(t, "task-1", got.ID)
	}
}

// manyReferencesInOneCall checks that 1,000 references that are enqueued by one call are all delivered. A queue may
// deliver some of them twice, because workers claim each task in the database before they execute it.
func (suite queueSuite) manyReferencesInOneCall(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	const references = 1000

	delivered := make(chan task.Reference, 2*references)

	var many []task.Reference
	for i := range references {
		many = append(many, suite.ref(task.Events, i))
	}

	require.NoError(t, queue.Enqueue(t.Context(), many...))
	suite.work(t, queue, func(_ context.Context, got task.Reference) { delivered <- got })

	seenIDs := map[string]bool{}
	for len(seenIDs) < len(many) {
		seenIDs[suite.await(t, delivered).ID] = true
	}
}

// numberOfWorkers checks that a queue runs as many tasks at the same time as it has workers in task.Workers. The test
// lets no task end before all have begun.
func (suite queueSuite) numberOfWorkers(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	begun, release := make(chan task.Reference, 100), make(chan struct{})
	suite.work(t, queue, func(_ context.Context, got task.Reference) { begun <- got; <-release })

	defer close(release)

	for i := range task.Workers[task.Mail] {
		require.NoError(t, queue.Enqueue(t.Context(), suite.ref(task.Mail, i)))
	}

	for range task.Workers[task.Mail] {
		suite.await(t, begun)
	}
}

// fullQueue checks that 200 tasks of one queue, which do not end, do not delay the tasks of the other queues.
func (suite queueSuite) fullQueue(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	others, release := make(chan task.Reference, 10), make(chan struct{})
	suite.work(t, queue, func(_ context.Context, got task.Reference) {
		if got.Queue == task.Exports {
			<-release
			return
		}

		others <- got
	})

	defer close(release)

	for i := range 200 {
		require.NoError(t, queue.Enqueue(t.Context(), suite.ref(task.Exports, i)))
	}

	// One task of each other queue.
	ofOtherQueues := []task.Reference{
		suite.ref(task.Mail, 1), suite.ref(task.Events, 2), suite.ref(task.Webhooks, 3), suite.ref(task.Maintenance, 4),
	}
	require.NoError(t, queue.Enqueue(t.Context(), ofOtherQueues...))

	for range ofOtherQueues {
		suite.await(t, others)
	}
}

// stopWhileATaskRuns checks that stopping the workers waits for a running task and does not cancel the context of the
// task.
func (suite queueSuite) stopWhileATaskRuns(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	begun := make(chan task.Reference, 1)
	release := make(chan struct{})
	ended := make(chan error, 1)
	stop := suite.work(t, queue, func(ctx context.Context, got task.Reference) {
		begun <- got

		<-release
		ended <- ctx.Err()
	})
	require.NoError(t, queue.Enqueue(t.Context(), suite.ref(task.Events, 1)))
	suite.await(t, begun)

	// The task ends at about the same time as the stop begins.
	go close(release)

	stop()
	require.NoError(t, <-ended, "the error of the context when the task ends")
}

// embeddedOrShared checks that Embedded returns the same value before Work and after it has delivered a reference. The
// program calls Embedded only once, before Work.
func (suite queueSuite) embeddedOrShared(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	embeddedBefore, delivered := queue.Embedded(), make(chan task.Reference, 1)
	suite.work(t, queue, func(_ context.Context, got task.Reference) { delivered <- got })
	require.NoError(t, queue.Enqueue(t.Context(), suite.ref(task.Mail, 1)))
	suite.await(t, delivered)
	require.Equal(t, embeddedBefore, queue.Embedded())
}

// cancelledCall checks that Enqueue returns soon if its context is cancelled, also with more references than a queue
// accepts without waiting. It may accept or refuse them.
func (suite queueSuite) cancelledCall(t *testing.T) {
	t.Parallel()

	queue := requirePort(t, "task.Queue", suite.open(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	many := make([]task.Reference, 10_000)
	for i := range many {
		many[i] = suite.ref(task.Events, i)
	}

	const maxDuration = 10 * time.Second // long, because the machine may run many tests at once

	begun := time.Now()
	_ = queue.Enqueue(ctx, many...)

	require.Less(t, time.Since(begun), maxDuration)
}

// duringOutage checks that Enqueue fails in time while the backend is unavailable, and that after the outage references
// are delivered to the same workers again.
func (suite queueSuite) duringOutage(t *testing.T, queue task.Queue, begin, end func()) {
	delivered := make(chan task.Reference, 1000) // more than are delivered
	suite.work(t, queue, func(_ context.Context, got task.Reference) { delivered <- got })
	require.NoError(t, queue.Enqueue(t.Context(), suite.ref(task.Events, 1)))
	suite.await(t, delivered)
	begin()

	many := make([]task.Reference, 200)
	for i := range many {
		many[i] = suite.ref(task.Events, 10+i)
	}

	requireTimelyError(t, func() error { return queue.Enqueue(t.Context(), many...) })
	end()

	// Each attempt after the outage enqueues another task, until one is accepted.
	taskNumber := 1000
	waitForRecovery(t, func() error {
		taskNumber++
		return queue.Enqueue(t.Context(), suite.ref(task.Mail, taskNumber))
	})

	// References of the failed call may be delivered before the accepted one.
	last := suite.ref(task.Mail, taskNumber)
	for suite.await(t, delivered).ID != last.ID {
	}
}
