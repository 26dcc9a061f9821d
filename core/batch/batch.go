// Package batch combines many concurrent calls for single items into few calls for batches
// of items. Items that arrive while calls are in progress are collected for the next call.
package batch

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// timeout is the time limit for the call of a batch, so that a server that does not respond
// does not block all callers.
const timeout = 10 * time.Second

// Batcher combines items (of type I) into batches, and returns a result (of type O) for each. It is
// safe for concurrent use.
type Batcher[I, O any] struct {
	do        func(ctx context.Context, items []I) ([]O, error)
	maxWeight int           // of a batch
	weight    func(I) int   // of an item, such as its size
	slots     chan struct{} // has a value for each call in progress

	mu   sync.Mutex
	next *batch[I, O] // collects items until one of its callers gets a slot, or until it is full
}

// batch is the items of one call. Each item has a goroutine that waits for its result. The first of
// these goroutines that gets a slot makes the call.
type batch[I, O any] struct {
	items  []I
	weight int           // the sum of the weights of the items
	begun  bool          // a goroutine has got a slot, so that no other one makes the call
	done   chan struct{} // is closed at the end of the call

	// The results of the call, after done is closed.
	results []O
	err     error
}

// result returns the result for the item with the index i, after done is closed.
func (b *batch[I, O]) result(i int) (result O, err error) {
	if b.err != nil {
		return result, b.err
	}

	return b.results[i], nil
}

// New returns a Batcher that calls do with batches of items. The function do returns one
// result for each item, in the order of the items. At most concurrency calls are in progress
// at a time. The weights of the items of a batch add up to at most maxWeight, unless the
// batch is a single item.
func New[I, O any](
	concurrency, maxWeight int,
	weight func(I) int,
	do func(ctx context.Context, items []I) ([]O, error),
) *Batcher[I, O] {
	return &Batcher[I, O]{do: do, maxWeight: maxWeight, weight: weight, slots: make(chan struct{}, concurrency)}
}

// Unweighted gives every item a weight of 1, so that maxWeight is a number of items.
func Unweighted[I any](I) int { return 1 }

// Do returns the result for one item, or the error of the call for the item's batch. Do
// waits for the batch even if ctx is cancelled meanwhile.
func (b *Batcher[I, O]) Do(ctx context.Context, item I) (result O, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}

	// Wait until another caller has made the call of the batch, or a slot is free for this one.
	joined, index := b.join(item)
	select {
	case <-joined.done:
	case b.slots <- struct{}{}:
		if b.begin(joined) {
			b.call(ctx, joined)
		}

		<-b.slots
		<-joined.done // another caller may have begun the call
	}

	return joined.result(index)
}

// Read returns the result for one item as Do does, for calls that change nothing. It fails with the
// error of ctx as soon as ctx is cancelled. The call continues for the other items of the batch.
func (b *Batcher[I, O]) Read(ctx context.Context, item I) (result O, err error) {
	if err := ctx.Err(); err != nil {
		return result, err
	}

	joined, index := b.join(item)
	select {
	case <-ctx.Done():
		return result, ctx.Err()
	case <-joined.done:
	case b.slots <- struct{}{}:
		// The call is made in a goroutine, because this caller may leave before it ends.
		go func() {
			if b.begin(joined) {
				b.call(ctx, joined)
			}

			<-b.slots
		}()
	}

	select {
	case <-ctx.Done():
		return result, ctx.Err()
	case <-joined.done:
		return joined.result(index)
	}
}

// join adds the item to the next batch and returns the batch and the item's index in it. If the batch
// would become too heavy, join begins another one; the callers of the full batch make its call.
func (b *Batcher[I, O]) join(item I) (joined *batch[I, O], index int) {
	b.mu.Lock()
	defer b.mu.Unlock()

	weight := b.weight(item)
	if b.next == nil || b.next.weight+weight > b.maxWeight {
		b.next = &batch[I, O]{done: make(chan struct{})}
	}

	joined = b.next
	joined.items = append(joined.items, item)
	joined.weight += weight

	return joined, len(joined.items) - 1
}

// begin closes the batch to further items. It returns true to its first caller, which has
// to make the call.
func (b *Batcher[I, O]) begin(joined *batch[I, O]) (isFirst bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.next == joined { // it was not full yet
		b.next = nil
	}

	isFirst = !joined.begun
	joined.begun = true

	return isFirst
}

// call calls do for the items of the batch, and closes done. A panic of do becomes the error of all
// items.
func (b *Batcher[I, O]) call(ctx context.Context, joined *batch[I, O]) {
	defer close(joined.done)
	defer func() {
		if p := recover(); p != nil {
			joined.err = fmt.Errorf("panic: %v", p)
		}
	}()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()

	joined.results, joined.err = b.do(ctx, joined.items)
	if joined.err == nil && len(joined.results) != len(joined.items) {
		joined.err = fmt.Errorf("%d results for %d items", len(joined.results), len(joined.items))
	}
}
