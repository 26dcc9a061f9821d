package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/job"
)

// Queue is the suite of job.Queue. open makes an empty queue.
func Queue(t *testing.T, open func(t *testing.T) job.Queue) {
	work := func(t *testing.T, q job.Queue, do job.Handler) (stop func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- q.Work(ctx, do) }()
		return sync.OnceFunc(func() {
			cancel()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(job.Longest + 10*time.Second):
				require.Fail(t, "the queue does not stop")
			}
		})
	}
	some := func(n int) []job.Job {
		out := make([]job.Job, n)
		for i := range out {
			out[i] = job.Job{Kind: "k", Key: fmt.Sprint("key-", i), Payload: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}
		}
		return out
	}
	await := func(t *testing.T, jobs <-chan job.Job) job.Job {
		t.Helper()
		select {
		case j := <-jobs:
			return j
		case <-time.After(20 * time.Second):
			require.Fail(t, "no job came")
			return job.Job{}
		}
	}

	t.Run("a job comes with all that it said", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		came := make(chan job.Job, 1)
		defer work(t, q, func(_ context.Context, j job.Job) error { came <- j; return nil })()
		want := job.Job{Kind: "greet", Key: "a:1", Payload: json.RawMessage(`{"x":"é"}`)}
		require.NoError(t, q.Enqueue(t.Context(), want))
		require.Equal(t, want, await(t, came))
	})
	t.Run("jobs that fail or panic harm no other", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		came := make(chan job.Job, 200)
		defer work(t, q, func(_ context.Context, j job.Job) error {
			came <- j
			if string(j.Payload) == `{"n":3}` {
				panic("broken")
			}
			return errors.New("failed")
		})()
		require.NoError(t, q.Enqueue(t.Context(), some(100)...))
		seen := map[string]bool{}
		for len(seen) < 100 {
			seen[await(t, came).Key] = true
		}
	})
	t.Run("several jobs are done at once", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		begun, release := make(chan job.Job, 10), make(chan struct{})
		defer work(t, q, func(_ context.Context, j job.Job) error { begun <- j; <-release; return nil })()
		require.NoError(t, q.Enqueue(t.Context(), some(2)...))
		await(t, begun)
		await(t, begun)
		close(release)
	})
	t.Run("who stops finishes the job at hand, with a context that lives on", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		begun, release, ended := make(chan job.Job, 1), make(chan struct{}), make(chan error, 1)
		stop := work(t, q, func(ctx context.Context, j job.Job) error {
			begun <- j
			<-release
			ended <- ctx.Err()
			return nil
		})
		require.NoError(t, q.Enqueue(t.Context(), some(1)...))
		await(t, begun)
		go close(release)
		stop()
		require.NoError(t, <-ended)
	})
	t.Run("a job has an end", func(t *testing.T) {
		t.Parallel()
		q := open(t)
		left := make(chan time.Duration, 1)
		defer work(t, q, func(ctx context.Context, _ job.Job) error {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			return nil
		})()
		require.NoError(t, q.Enqueue(t.Context(), some(1)...))
		d := <-left
		require.Positive(t, d)
		require.LessOrEqual(t, d, job.Longest)
	})
}
