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

// Queue checks the port task.Queue. open returns an empty queue.
func Queue(t *testing.T, open func(t testing.TB) task.Queue, outage ...Outage[task.Queue]) {
	work := func(t *testing.T, q task.Queue, do func(context.Context, task.Reference)) (stop func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- q.Work(ctx, do) }()
		stop = sync.OnceFunc(func() {
			cancel()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(task.DefaultTimeout + 10*time.Second):
				require.Fail(t, "the queue does not stop")
			}
		})
		t.Cleanup(stop)
		return stop
	}
	ref := func(c task.QueueName, n int) task.Reference {
		return task.Reference{Queue: c, Kind: "greet", ID: fmt.Sprint("task-", n), Enqueues: 1}
	}
	await := func(t *testing.T, came <-chan task.Reference) task.Reference {
		t.Helper()
		select {
		case got := <-came:
			return got
		case <-time.After(20 * time.Second):
			require.Fail(t, "no ref came")
			return task.Reference{}
		}
	}

	t.Run("every queue", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		came := make(chan task.Reference, 10)
		work(t, q, func(_ context.Context, got task.Reference) { came <- got })
		for queue := range task.Workers {
			require.NoError(t, q.Enqueue(t.Context(), ref(queue, 1)))
			got := await(t, came)
			require.Equal(t, queue, got.Queue)
			require.Equal(t, "task-1", got.ID)
		}
	})
	t.Run("many references in one call", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		came := make(chan task.Reference, 2000)
		var many []task.Reference
		for i := range 1000 {
			many = append(many, ref(task.Events, i))
		}
		require.NoError(t, q.Enqueue(t.Context(), many...))
		work(t, q, func(_ context.Context, got task.Reference) { came <- got })
		seen := map[string]bool{}
		for len(seen) < len(many) {
			seen[await(t, came).ID] = true
		}
	})
	t.Run("number of workers", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		begun, release := make(chan task.Reference, 100), make(chan struct{})
		work(t, q, func(_ context.Context, got task.Reference) { begun <- got; <-release })
		defer close(release)
		for i := range task.Workers[task.Mail] {
			require.NoError(t, q.Enqueue(t.Context(), ref(task.Mail, i)))
		}
		for range task.Workers[task.Mail] {
			await(t, begun)
		}
	})
	t.Run("full queue", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		others, release := make(chan task.Reference, 10), make(chan struct{})
		work(t, q, func(_ context.Context, got task.Reference) {
			if got.Queue == task.Exports {
				<-release
				return
			}
			others <- got
		})
		defer close(release)
		for i := range 200 {
			require.NoError(t, q.Enqueue(t.Context(), ref(task.Exports, i)))
		}
		require.NoError(t, q.Enqueue(t.Context(), ref(task.Mail, 1), ref(task.Events, 2), ref(task.Webhooks, 3), ref(task.Maintenance, 4)))
		for range 4 {
			await(t, others)
		}
	})
	t.Run("stop while a task runs", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		begun, release, ended := make(chan task.Reference, 1), make(chan struct{}), make(chan error, 1)
		stop := work(t, q, func(ctx context.Context, got task.Reference) {
			begun <- got
			<-release
			ended <- ctx.Err()
		})
		require.NoError(t, q.Enqueue(t.Context(), ref(task.Events, 1)))
		await(t, begun)
		go close(release)
		stop()
		require.NoError(t, <-ended)
	})
	t.Run("embedded or shared", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		embedded, came := q.Embedded(), make(chan task.Reference, 1)
		work(t, q, func(_ context.Context, got task.Reference) { came <- got })
		require.NoError(t, q.Enqueue(t.Context(), ref(task.Mail, 1)))
		await(t, came)
		require.Equal(t, embedded, q.Embedded(), "it is asked once, before Work")
	})
	t.Run("cancelled call", func(t *testing.T) {
		t.Parallel()
		q := requirePort(t, "task.Queue", open(t))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		many := make([]task.Reference, 10_000)
		for i := range many {
			many[i] = ref(task.Events, i)
		}
		begun := time.Now()
		_ = q.Enqueue(ctx, many...) // taken or refused, but not waited for
		require.Less(t, time.Since(begun), 10*time.Second)
	})
	withOutage(t, "task.Queue", outage, func(t *testing.T, q task.Queue, begin, end func()) {
		came := make(chan task.Reference, 1000)
		work(t, q, func(_ context.Context, got task.Reference) { came <- got })
		require.NoError(t, q.Enqueue(t.Context(), ref(task.Events, 1)))
		await(t, came)
		begin()
		many := make([]task.Reference, 200)
		for i := range many {
			many[i] = ref(task.Events, 10+i)
		}
		failsInTime(t, func() error { return q.Enqueue(t.Context(), many...) })
		end()
		next := 1000
		recovers(t, func() error { next++; return q.Enqueue(t.Context(), ref(task.Mail, next)) })
		// Those of the failed call may come before.
		for last := fmt.Sprint("task-", next); await(t, came).ID != last; {
		}
	})
}
