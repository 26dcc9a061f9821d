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

func TestQueue_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Queue(t, func(testing.TB) task.Queue { return localtasks.New() })
}

func TestQueue_Work_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t testing.TB) (adapters.Database, task.Queue) {
		return stores.SQLite(t, clock.System{}).Identity.Database, localtasks.New()
	})
}

// TestQueue_SameTask_QueuedOnce checks that a task that is enqueued again before it is executed
// is executed once.
func TestQueue_SameTask_QueuedOnce(t *testing.T) {
	t.Parallel()

	q := localtasks.New()
	for turn := range 3 {
		require.NoError(t, q.Enqueue(t.Context(), task.Reference{Queue: task.Events, ID: "a", Enqueues: turn}))
	}

	require.NoError(t, q.Enqueue(t.Context(), task.Reference{Queue: task.Events, ID: "b"}))

	ctx, stop := context.WithCancel(t.Context())
	came := make(chan string, 10)

	done := make(chan error, 1)
	go func() { done <- q.Work(ctx, func(_ context.Context, got task.Reference) { came <- got.ID }) }()

	require.ElementsMatch(t, []string{"a", "b"}, []string{<-came, <-came})
	stop()
	require.NoError(t, <-done)
	require.Empty(t, came)
}
