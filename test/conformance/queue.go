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

// Queue is the suite of task.Queue. open makes an empty queue.
func Queue(t *testing.T, open func(t *testing.T) task.Queue) {
	work := func(t *testing.T, q task.Queue, do func(context.Context, task.Ticket)) (stop func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- q.Work(ctx, do) }()
		stop = sync.OnceFunc(func() {
			cancel()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(task.Longest + 10*time.Second):
				require.Fail(t, "the queue does not stop")
			}
		})
		t.Cleanup(stop)
		return stop
	}
	ticket := func(c task.Class, n int) task.Ticket {
		return task.Ticket{Class: c, ID: fmt.Sprint("task-", n), Turn: 1}
	}
	await := func(t *testing.T, came <-chan task.Ticket) task.Ticket {
		t.Helper()
		select {
		case got := <-came:
			return got
		case <-time.After(20 * time.Second):
			require.Fail(t, "no ticket came")
			return task.Ticket{}
		}
	}

	t.Run("tickets of every class come", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		came := make(chan task.Ticket, 10)
		work(t, q, func(_ context.Context, got task.Ticket) { came <- got })
		for class := range task.Workers {
			require.NoError(t, q.Enqueue(t.Context(), ticket(class, 1)))
			got := await(t, came)
			require.Equal(t, class, got.Class)
			require.Equal(t, "task-1", got.ID)
		}
	})
	t.Run("many tickets in one call all come", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		came := make(chan task.Ticket, 2000)
		var many []task.Ticket
		for i := range 1000 {
			many = append(many, ticket(task.Events, i))
		}
		require.NoError(t, q.Enqueue(t.Context(), many...))
		work(t, q, func(_ context.Context, got task.Ticket) { came <- got })
		seen := map[string]bool{}
		for len(seen) < len(many) {
			seen[await(t, came).ID] = true
		}
	})
	t.Run("a class is done by as many workers as it has", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		begun, release := make(chan task.Ticket, 100), make(chan struct{})
		work(t, q, func(_ context.Context, got task.Ticket) { begun <- got; <-release })
		defer close(release)
		for i := range task.Workers[task.Mail] {
			require.NoError(t, q.Enqueue(t.Context(), ticket(task.Mail, i)))
		}
		for range task.Workers[task.Mail] {
			await(t, begun)
		}
	})
	t.Run("a class that is full keeps no other waiting", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		others, release := make(chan task.Ticket, 10), make(chan struct{})
		work(t, q, func(_ context.Context, got task.Ticket) {
			if got.Class == task.Exports {
				<-release
				return
			}
			others <- got
		})
		defer close(release)
		for i := range 200 {
			require.NoError(t, q.Enqueue(t.Context(), ticket(task.Exports, i)))
		}
		require.NoError(t, q.Enqueue(t.Context(), ticket(task.Mail, 1), ticket(task.Events, 2), ticket(task.Webhooks, 3), ticket(task.Maintenance, 4)))
		for range 4 {
			await(t, others)
		}
	})
	t.Run("who stops finishes what is at hand, with a context that lives on", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		begun, release, ended := make(chan task.Ticket, 1), make(chan struct{}), make(chan error, 1)
		stop := work(t, q, func(ctx context.Context, got task.Ticket) {
			begun <- got
			<-release
			ended <- ctx.Err()
		})
		require.NoError(t, q.Enqueue(t.Context(), ticket(task.Events, 1)))
		await(t, begun)
		go close(release)
		stop()
		require.NoError(t, <-ended)
	})
	t.Run("a call that may not last does not last", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		many := make([]task.Ticket, 10_000)
		for i := range many {
			many[i] = ticket(task.Events, i)
		}
		begun := time.Now()
		_ = q.Enqueue(ctx, many...) // taken or refused, but not waited for
		require.Less(t, time.Since(begun), 10*time.Second)
	})
}
