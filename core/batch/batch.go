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
	do        func(ctx context.Context, in []I) ([]O, error)
	maxWeight int
	weight    func(I) int   // of an item, such as its size
	slots     chan struct{} // has a value for each call in progress

	mu   sync.Mutex
	next *batch[I, O] // collects items until it gets a slot or is full
}

// batch is the items of one call. Of the goroutines that wait for the batch, the first that
// gets a slot makes the call.
type batch[I, O any] struct {
	in     []I
	weight int  // the sum of the weights of in
	begun  bool // a goroutine has got a slot, so that no other one makes the call
	done   chan struct{}
	out    []O // valid after done is closed, as is err
	err    error
}

// result returns the result for the item with the index i, after done is closed.
func (b *batch[I, O]) result(i int) (out O, err error) {
	if b.err != nil {
		return out, b.err
	}

	return b.out[i], nil
}

// New returns a Batcher that calls do with batches of items. The function do returns one
// result for each item, in the order of the items. At most concurrency calls are in progress
// at a time. The weights of the items of a batch add up to at most maxWeight, unless the
// batch is a single item.
func New[I, O any](concurrency, maxWeight int, weight func(I) int, do func(ctx context.Context, in []I) ([]O, error)) *Batcher[I, O] {
	return &Batcher[I, O]{do: do, maxWeight: maxWeight, weight: weight, slots: make(chan struct{}, concurrency)}
}

// Unweighted gives every item a weight of 1, so that maxWeight is a number of items.
func Unweighted[I any](I) int { return 1 }

// Do returns the result for one item, or the error of the call for the item's batch. Do
// waits for the batch even if ctx is cancelled meanwhile.
func (b *Batcher[I, O]) Do(ctx context.Context, in I) (out O, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}

	// Wait until another caller has made the call of the batch, or a slot is free for this one.
	joined, i := b.join(in)
	select {
	case <-joined.done:
	case b.slots <- struct{}{}:
		if b.begin(joined) {
			b.call(ctx, joined)
		}

		<-b.slots
		<-joined.done // another caller may have begun the call
	}

	return joined.result(i)
}

// Read returns the result for one item as Do does, for calls that change nothing. It fails with the error of ctx as soon as ctx is
// cancelled; the call continues for the other items of the batch.
func (b *Batcher[I, O]) Read(ctx context.Context, in I) (out O, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}

	joined, i := b.join(in)
	select {
	case <-ctx.Done():
		return out, ctx.Err()
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
		return out, ctx.Err()
	case <-joined.done:
		return joined.result(i)
	}
}

// join adds the item to the next batch and returns the batch and the item's index in it.
func (b *Batcher[I, O]) join(in I) (*batch[I, O], int) {
	b.mu.Lock()
	defer b.mu.Unlock()

	weight := b.weight(in)
	if b.next == nil || b.next.weight+weight > b.maxWeight {
		b.next = &batch[I, O]{done: make(chan struct{})}
	}

	b.next.in, b.next.weight = append(b.next.in, in), b.next.weight+weight

	return b.next, len(b.next.in) - 1
}

// begin closes the batch to further items. It returns true to its first caller, which has
// to make the call.
func (b *Batcher[I, O]) begin(items *batch[I, O]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.next == items { // it was not full yet
		b.next = nil
	}

	isFirst := !items.begun
	items.begun = true

	return isFirst
}

// call calls do for the items and closes done, even after a panic, which becomes the error of all
// items.
func (b *Batcher[I, O]) call(ctx context.Context, items *batch[I, O]) {
	defer close(items.done)
	defer func() {
		if p := recover(); p != nil {
			items.err = fmt.Errorf("panic: %v", p)
		}
	}()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()

	items.out, items.err = b.do(ctx, items.in)
	if items.err == nil && len(items.out) != len(items.in) {
		items.err = fmt.Errorf("%d results for %d items", len(items.out), len(items.in))
	}
}
