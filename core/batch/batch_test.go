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

// A batcher combines items into batches, and calls a function with each batch. A call occupies one of its
// slots, so that the number of slots is the number of concurrent calls. Items that arrive while all slots
// are occupied are collected for the next calls.

// TestBatcher_ConcurrentItems_AreCombined checks that items that arrive while both slots are occupied are
// collected. Two calls with one item each block on purpose, and the 30 items that wait for them become
// three batches of the maximum of ten items.
func TestBatcher_ConcurrentItems_AreCombined(t *testing.T) {
	t.Parallel()

	const (
		slots         = 2  // calls at a time
		maxItems      = 10 // in a batch
		waitingItems  = 3 * maxItems
		blockingItems = slots
	)

	// The batcher calls this function for the weight of each item that joins a batch, so that it can count the items.
	var joined atomic.Int32
	countJoined := func(int) (weight int) {
		joined.Add(1)
		return 1
	}

	// A call doubles the numbers of its batch. A call for a negative number begins and then blocks until release.
	begun, release := make(chan struct{}), make(chan struct{})
	var calls, inProgress, maxInProgress atomic.Int32
	doubler := batch.New(slots, maxItems, countJoined, func(_ context.Context, numbers []int) ([]int, error) {
		calls.Add(1)

		nowInProgress := inProgress.Add(1)
		defer inProgress.Add(-1)

		maxInProgress.Store(max(maxInProgress.Load(), nowInProgress))

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
				t.Errorf("the double of %d is %d, error %v", n, doubled, err)
			}
		})
	}

	// Occupy both slots with calls for negative numbers.
	double(-1)
	<-begun
	double(-2)
	<-begun

	// Add more items, and free the slots when all of them have joined a batch.
	for n := range waitingItems {
		double(n)
	}

	haveAllJoined := func() bool { return joined.Load() == blockingItems+waitingItems }
	require.Eventually(t, haveAllJoined, 10*time.Second, time.Millisecond)
	close(release)
	callers.Wait()
	require.EqualValues(t, blockingItems+waitingItems/maxItems, calls.Load(), "two single items, and 30 items in batches of ten")
	require.EqualValues(t, slots, maxInProgress.Load(), "the highest number of concurrent calls")
}

// The batchers of the following tests make one call at a time, with at most ten items.
const (
	oneSlot  = 1
	tenItems = 10
)

// TestBatcher_FailedCall_ReturnsError checks that an error, a panic and a wrong number of results of the
// called function are errors of the callers, and that the slot is free again after a panic.
func TestBatcher_FailedCall_ReturnsError(t *testing.T) {
	t.Parallel()

	const anyItem = 1

	newBatcher := func(call func(context.Context, []int) ([]int, error)) *batch.Batcher[int, int] {
		return batch.New(oneSlot, tenItems, batch.Unweighted, call)
	}

	// The called function returns an error.
	broken := errors.New("broken")
	fails := newBatcher(func(context.Context, []int) ([]int, error) { return nil, broken })
	_, err := fails.Do(t.Context(), anyItem)
	require.ErrorIs(t, err, broken)

	// The called function panics.
	panics := newBatcher(func(context.Context, []int) ([]int, error) { panic("lost") })
	for range 2 { // the second call needs the slot of the first one
		_, err = panics.Do(t.Context(), anyItem)
		require.ErrorContains(t, err, "lost")
	}

	// The called function returns fewer results than it got items.
	returnsNothing := newBatcher(func(context.Context, []int) ([]int, error) { return nil, nil })
	_, err = returnsNothing.Do(t.Context(), anyItem)
	require.ErrorContains(t, err, "0 results for 1 items")
}

// TestBatcher_CancelledCaller_CompletesBatch checks that a caller whose context is cancelled during the
// call does not cancel the call, whose batch may also contain items of other callers. A caller whose
// context is cancelled before Do gets the error of the context.
func TestBatcher_CancelledCaller_CompletesBatch(t *testing.T) {
	t.Parallel()

	// The call cancels the context of its caller, and fails if its own context is cancelled by this.
	callerCtx, cancelCaller := context.WithCancel(t.Context())
	identity := batch.New(oneSlot, tenItems, batch.Unweighted, func(batchCtx context.Context, items []int) ([]int, error) {
		cancelCaller()
		return items, batchCtx.Err()
	})

	const item = 7

	result, err := identity.Do(callerCtx, item)
	require.NoError(t, err)
	require.Equal(t, item, result)

	_, err = identity.Do(callerCtx, item)
	require.ErrorIs(t, err, context.Canceled, "the context was cancelled before Do")
}

// TestBatcher_Read_ReturnsWhenCancelled checks that a caller of Read does not wait longer than its context
// for a call that hangs or for a slot, and that the call continues for the other items of the batch.
func TestBatcher_Read_ReturnsWhenCancelled(t *testing.T) {
	t.Parallel()

	// Each call announces that it has begun, and hangs until release. There are at most two calls: for the first item, and
	// for those that wait meanwhile.
	const calls = 2

	begun, release := make(chan struct{}, calls), make(chan struct{})
	slow := batch.New(oneSlot, tenItems, batch.Unweighted, func(batchCtx context.Context, items []int) ([]int, error) {
		begun <- struct{}{}

		<-release

		return items, batchCtx.Err()
	})

	// The call of item 1 hangs and has the slot, for which item 2 waits. Cancel the context of both callers.
	callerCtx, cancelCallers := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() {
		_, err := slow.Read(callerCtx, 1)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the caller whose call hangs: error %v, expected context.Canceled", err)
		}
	})

	<-begun

	callers.Go(func() {
		_, err := slow.Read(callerCtx, 2)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that waits for the slot: error %v, expected context.Canceled", err)
		}
	})

	cancelCallers()
	callers.Wait() // both have returned, although the call still hangs

	// A later caller, whose context is not cancelled, gets the result for its item when the first call has ended.
	callers.Go(func() {
		result, err := slow.Read(t.Context(), 3)
		if result != 3 || err != nil {
			t.Errorf("a later caller: result %d, error %v; expected 3 and no error", result, err)
		}
	})

	close(release)
	callers.Wait()
}

// TestBatcher_HeavyItem_IsABatch checks that an item above the maximum weight of a batch becomes a batch
// of its own instead of waiting forever for one into which it fits.
func TestBatcher_HeavyItem_IsABatch(t *testing.T) {
	t.Parallel()

	const (
		maxWeight = 10
		heavyItem = 100 * maxWeight // the weight of an item is its value
	)

	weightOf := func(item int) int { return item }
	identity := batch.New(oneSlot, maxWeight, weightOf, func(_ context.Context, items []int) ([]int, error) { return items, nil })

	result, err := identity.Do(t.Context(), heavyItem)
	require.NoError(t, err)
	require.Equal(t, heavyItem, result)
}
