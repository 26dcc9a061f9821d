// Package batch combines concurrent calls for one item each into few calls for many
// items: items that arrive while calls are in progress are collected for the next one.
package batch

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// timeout bounds a call, so that a server that does not respond does not block all
// callers.
const timeout = 10 * time.Second

// Batcher combines items into batches. It is safe for concurrent use.
type Batcher[I, O any] struct {
	do        func(ctx context.Context, in []I) ([]O, error)
	maxWeight int
	weight    func(I) int
	slots     chan struct{}

	mu   sync.Mutex
	next *batch[I, O]
}

// batch is the items of one call. The first of its callers that gets a slot makes the
// call.
type batch[I, O any] struct {
	in     []I
	weight int
	begun  bool
	done   chan struct{}
	out    []O
	err    error
}

// New returns a Batcher that calls do, which returns one result for each item, in their
// order. At most concurrency calls are in progress at a time. A batch weighs at most
// maxWeight, unless it is a single item.
func New[I, O any](concurrency, maxWeight int, weight func(I) int, do func(ctx context.Context, in []I) ([]O, error)) *Batcher[I, O] {
	return &Batcher[I, O]{do: do, maxWeight: maxWeight, weight: weight, slots: make(chan struct{}, concurrency)}
}

// Unweighted is the weight of items of which only the number counts.
func Unweighted[I any](I) int { return 1 }

// Do returns the result for one item, or the error of the call for its batch. Cancelling
// ctx neither cancels the batch nor ends the wait for it.
func (b *Batcher[I, O]) Do(ctx context.Context, in I) (out O, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	joined, i := b.join(in)
	select {
	case <-joined.done:
	case b.slots <- struct{}{}:
		if b.begin(joined) {
			b.call(ctx, joined)
		}
		<-b.slots
		<-joined.done
	}
	if joined.err != nil {
		return out, joined.err
	}
	return joined.out[i], nil
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

// begin closes the batch to further items. It returns true for the caller that makes the
// call.
func (b *Batcher[I, O]) begin(closed *batch[I, O]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == closed {
		b.next = nil
	}
	begun := closed.begun
	closed.begun = true
	return !begun
}

func (b *Batcher[I, O]) call(ctx context.Context, items *batch[I, O]) {
	defer close(items.done)
	defer func() {
		if p := recover(); p != nil {
			items.err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if items.out, items.err = b.do(ctx, items.in); items.err == nil && len(items.out) != len(items.in) {
		items.err = fmt.Errorf("%d results for %d items", len(items.out), len(items.in))
	}
}
