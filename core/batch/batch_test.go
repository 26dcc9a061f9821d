package batch_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/batch"
)

func TestBatcher_ConcurrentItems_AreCombined(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	var joined, calls, underWay, most atomic.Int32
	c := batch.New(2, 10, func(int) int { joined.Add(1); return 1 }, func(_ context.Context, in []int) ([]int, error) {
		calls.Add(1)
		most.Store(max(most.Load(), underWay.Add(1)))
		defer underWay.Add(-1)
		if in[0] < 0 {
			begun <- struct{}{}
			<-release
		}
		out := make([]int, len(in))
		for i, n := range in {
			out[i] = 2 * n
		}
		return out, nil
	})
	var all sync.WaitGroup
	one := func(n int) {
		all.Go(func() {
			got, err := c.Do(context.Background(), n)
			if err != nil || got != 2*n {
				t.Errorf("%d: %d, %v", n, got, err)
			}
		})
	}
	one(-1)
	<-begun
	one(-2)
	<-begun // both slots are in use
	for n := range 30 {
		one(n)
	}
	require.Eventually(t, func() bool { return joined.Load() == 32 }, 10*time.Second, time.Millisecond)
	close(release)
	all.Wait()
	require.EqualValues(t, 5, calls.Load(), "ten at a time")
	require.EqualValues(t, 2, most.Load())
}

func TestBatcher_FailedCall_ReturnsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	fails := batch.New(1, 10, batch.Unweighted, func(context.Context, []int) ([]int, error) { return nil, broken })
	_, err := fails.Do(t.Context(), 1)
	require.ErrorIs(t, err, broken)
	panics := batch.New(1, 10, batch.Unweighted, func(context.Context, []int) ([]int, error) { panic("lost") })
	for range 2 {
		_, err = panics.Do(t.Context(), 1)
		require.ErrorContains(t, err, "lost")
	}
	short := batch.New(1, 10, batch.Unweighted, func(context.Context, []int) ([]int, error) { return nil, nil })
	_, err = short.Do(t.Context(), 1)
	require.ErrorContains(t, err, "0 results for 1 items")
}

func TestBatcher_CancelledCaller_CompletesBatch(t *testing.T) {
	t.Parallel()
	ctx, off := context.WithCancel(t.Context())
	c := batch.New(1, 10, batch.Unweighted, func(inside context.Context, in []int) ([]int, error) {
		off()
		return in, inside.Err()
	})
	got, err := c.Do(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, 7, got)
	_, err = c.Do(ctx, 8)
	require.ErrorIs(t, err, context.Canceled)
}

func TestBatcher_HeavyItem_IsABatch(t *testing.T) {
	t.Parallel()
	c := batch.New(1, 10, func(n int) int { return n }, func(_ context.Context, in []int) ([]int, error) { return in, nil })
	got, err := c.Do(t.Context(), 1_000)
	require.NoError(t, err)
	require.Equal(t, 1_000, got)
}
