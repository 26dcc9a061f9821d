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

// TestBatcher_ConcurrentItems_AreCombined checks that items that arrive while both slots are in use are
// collected: two calls with one item each block on purpose, and the 30 items that wait behind them
// become three batches of the maximum of ten.
func TestBatcher_ConcurrentItems_AreCombined(t *testing.T) {
	t.Parallel()

	const slots, maxItems = 2, 10

	begun, release := make(chan struct{}), make(chan struct{}) // of the calls that block
	var joined, calls, inProgress, maxInProgress atomic.Int32
	// The batcher asks for the weight of each item that joins a batch, which the test counts.
	countJoined := func(int) (weight int) {
		joined.Add(1)
		return 1
	}
	doubler := batch.New(slots, maxItems, countJoined, func(_ context.Context, numbers []int) ([]int, error) {
		calls.Add(1)

		maxInProgress.Store(max(maxInProgress.Load(), inProgress.Add(1)))
		defer inProgress.Add(-1)

		isBlocking := numbers[0] < 0
		if isBlocking {
			begun <- struct{}{}

			<-release
		}

		doubled := make([]int, len(numbers))
		for i, n := range numbers {
			doubled[i] = 2 * n
		}

		return doubled, nil
	})

	var callers sync.WaitGroup
	double := func(n int) {
		callers.Go(func() {
			doubled, err := doubler.Do(context.Background(), n)
			if err != nil || doubled != 2*n {
				t.Errorf("%d: %d, %v", n, doubled, err)
			}
		})
	}

	double(-1)
	<-begun
	double(-2)
	<-begun // both slots are in use

	for n := range 3 * maxItems {
		double(n)
	}

	haveAllJoined := func() bool { return joined.Load() == slots+3*maxItems }
	require.Eventually(t, haveAllJoined, 10*time.Second, time.Millisecond)
	close(release)
	callers.Wait()
	require.EqualValues(t, 5, calls.Load(), "two single items, and 30 items in batches of ten")
	require.EqualValues(t, slots, maxInProgress.Load())
}

// TestBatcher_FailedCall_ReturnsError checks that an error, a panic and a wrong number of results are
// errors of the callers, and that a panic does not cost a slot.
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

// TestBatcher_CancelledCaller_CompletesBatch checks that a caller whose context is cancelled during the
// call does not cancel it, since it is also the call of others. A caller that comes with a cancelled
// context gets its error.
func TestBatcher_CancelledCaller_CompletesBatch(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	identity := batch.New(1, 10, batch.Unweighted, func(batchCtx context.Context, in []int) ([]int, error) {
		cancel()
		return in, batchCtx.Err()
	})

	got, err := identity.Do(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, 7, got)

	_, err = identity.Do(ctx, 8)
	require.ErrorIs(t, err, context.Canceled)
}

// TestBatcher_Read_LeavesWhenCancelled checks that a caller of Read does not wait longer than its context
// for a call that hangs or for a slot, and that the call continues for the other items of the batch.
func TestBatcher_Read_LeavesWhenCancelled(t *testing.T) {
	t.Parallel()

	begun, release := make(chan struct{}, 2), make(chan struct{})
	slow := batch.New(1, 10, batch.Unweighted, func(batchCtx context.Context, in []int) ([]int, error) {
		begun <- struct{}{}

		<-release

		return in, batchCtx.Err()
	})

	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() {
		_, err := slow.Read(ctx, 1)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller whose call hangs: %v", err)
		}
	})

	<-begun

	callers.Go(func() {
		_, err := slow.Read(ctx, 2)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that waits for the slot: %v", err)
		}
	})

	cancel()
	callers.Wait()

	callers.Go(func() {
		got, err := slow.Read(t.Context(), 3)
		if got != 3 || err != nil {
			t.Errorf("a later caller: %d, %v", got, err)
		}
	})

	close(release)
	callers.Wait()
}

// TestBatcher_HeavyItem_IsABatch checks that an item above the maximum weight is carried out alone instead
// of waiting forever.
func TestBatcher_HeavyItem_IsABatch(t *testing.T) {
	t.Parallel()

	identity := batch.New(1, 10, func(n int) int { return n }, func(_ context.Context, in []int) ([]int, error) { return in, nil })
	got, err := identity.Do(t.Context(), 1_000)
	require.NoError(t, err)
	require.Equal(t, 1_000, got)
}
