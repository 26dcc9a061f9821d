package localtasks_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/localtasks"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestQueue_Conformance runs the suite for queues.
func TestQueue_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Queue(t, func(testing.TB) task.Queue { return localtasks.New() })
}

// TestQueue_Work_Conformance runs the suite for a queue together with a store of tasks. The queue has only references
// to tasks, and the store, here SQLite, has the tasks themselves.
func TestQueue_Work_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t testing.TB) (adapters.Database, task.Queue) {
		return stores.SQLite(t, clock.System{}).Identity.Database, localtasks.New()
	})
}

// TestQueue_SameTask_QueuedOnce checks that a task that is enqueued several times before it is executed is executed
// once, also if the number of its enqueues differs.
func TestQueue_SameTask_QueuedOnce(t *testing.T) {
	t.Parallel()

	// Enqueue task a three times, and task b once.
	queue := localtasks.New()
	for enqueues := range 3 {
		require.NoError(t, queue.Enqueue(t.Context(), task.Reference{Queue: task.Events, ID: "a", Enqueues: enqueues}))
	}

	require.NoError(t, queue.Enqueue(t.Context(), task.Reference{Queue: task.Events, ID: "b"}))

	// A worker executes the tasks. The channel has room for all four, so that the worker is never blocked.
	const maxExecutions = 4

	ctx, stop := context.WithCancel(t.Context())
	executedIDs := make(chan string, maxExecutions)

	workerErr := make(chan error, 1)
	go func() {
		workerErr <- queue.Work(ctx, func(_ context.Context, executed task.Reference) { executedIDs <- executed.ID })
	}()

	require.ElementsMatch(t, []string{"a", "b"}, []string{<-executedIDs, <-executedIDs})

	// Work returns when all executions have ended. There were no others.
	stop()
	require.NoError(t, <-workerErr)
	require.Empty(t, executedIDs)
}
