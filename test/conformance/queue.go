package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/job"
)

// Queue is the suite of job.Queue. open makes an empty queue.
func Queue(t *testing.T, open func(t *testing.T) job.Queue) {
	work := func(t *testing.T, q job.Queue, do func(context.Context, job.Ticket)) (stop func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- q.Work(ctx, do) }()
		stop = sync.OnceFunc(func() {
			cancel()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(job.Longest + 10*time.Second):
				require.Fail(t, "the queue does not stop")
			}
		})
		t.Cleanup(stop)
		return stop
	}
	ticket := func(c job.Class, n int) job.Ticket { return job.Ticket{Class: c, ID: fmt.Sprint("job-", n), Turn: 1} }
	await := func(t *testing.T, came <-chan job.Ticket) job.Ticket {
		t.Helper()
		select {
		case got := <-came:
			return got
		case <-time.After(20 * time.Second):
			require.Fail(t, "no ticket came")
			return job.Ticket{}
		}
	}

	t.Run("tickets of every class come", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		came := make(chan job.Ticket, 10)
		work(t, q, func(_ context.Context, got job.Ticket) { came <- got })
		for class := range job.Workers {
			require.NoError(t, q.Enqueue(t.Context(), ticket(class, 1)))
			got := await(t, came)
			require.Equal(t, class, got.Class)
			require.Equal(t, "job-1", got.ID)
		}
	})
	t.Run("many tickets in one call all come", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		came := make(chan job.Ticket, 2000)
		var many []job.Ticket
		for i := range 1000 {
			many = append(many, ticket(job.Events, i))
		}
		require.NoError(t, q.Enqueue(t.Context(), many...))
		work(t, q, func(_ context.Context, got job.Ticket) { came <- got })
		seen := map[string]bool{}
		for len(seen) < len(many) {
			seen[await(t, came).ID] = true
		}
	})
	t.Run("a class is done by as many workers as it has", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		begun, release := make(chan job.Ticket, 100), make(chan struct{})
		work(t, q, func(_ context.Context, got job.Ticket) { begun <- got; <-release })
		defer close(release)
		for i := range job.Workers[job.Mail] {
			require.NoError(t, q.Enqueue(t.Context(), ticket(job.Mail, i)))
		}
		for range job.Workers[job.Mail] {
			await(t, begun)
		}
	})
	t.Run("a class that is full keeps no other waiting", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		others, release := make(chan job.Ticket, 10), make(chan struct{})
		work(t, q, func(_ context.Context, got job.Ticket) {
			if got.Class == job.Exports {
				<-release
				return
			}
			others <- got
		})
		defer close(release)
		for i := range 200 {
			require.NoError(t, q.Enqueue(t.Context(), ticket(job.Exports, i)))
		}
		require.NoError(t, q.Enqueue(t.Context(), ticket(job.Mail, 1), ticket(job.Events, 2), ticket(job.Webhooks, 3), ticket(job.Maintenance, 4)))
		for range 4 {
			await(t, others)
		}
	})
	t.Run("who stops finishes what is at hand, with a context that lives on", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		begun, release, ended := make(chan job.Ticket, 1), make(chan struct{}), make(chan error, 1)
		stop := work(t, q, func(ctx context.Context, got job.Ticket) {
			begun <- got
			<-release
			ended <- ctx.Err()
		})
		require.NoError(t, q.Enqueue(t.Context(), ticket(job.Events, 1)))
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
		many := make([]job.Ticket, 10_000)
		for i := range many {
			many[i] = ticket(job.Events, i)
		}
		begun := time.Now()
		_ = q.Enqueue(ctx, many...) // taken or refused, but not waited for
		require.Less(t, time.Since(begun), 10*time.Second)
	})
}
