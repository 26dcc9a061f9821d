// Package bundle turns many calls for one thing each into few calls for many:
// what comes while calls are under way collects, and goes together in the next.
package bundle

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// within is how long a call may take: a server that is gone without a word would
// be waited for by everybody.
const within = 10 * time.Second

// Calls makes calls for many things. Any number of goroutines may use it.
type Calls[I, O any] struct {
	do     func(ctx context.Context, in []I) ([]O, error)
	most   int
	weight func(I) int
	places chan struct{}

	mu   sync.Mutex
	next *call[I, O]
}

// call is one of them; it is begun by whoever asks for something in it first and
// finds a place.
type call[I, O any] struct {
	in     []I
	weight int
	begun  bool
	done   chan struct{}
	out    []O
	err    error
}

// New makes calls with do, which returns as many things as it gets, in their
// order: so many at a time, each of things that weigh most together, or of a
// single one that weighs more.
func New[I, O any](atOnce, most int, weight func(I) int, do func(ctx context.Context, in []I) ([]O, error)) *Calls[I, O] {
	return &Calls[I, O]{do: do, most: most, weight: weight, places: make(chan struct{}, atOnce)}
}

// Each is the weight of things that count as one.
func Each[I any](I) int { return 1 }

// One returns what became of one thing, or the error of the call that it was part
// of. That somebody is called off meanwhile is their own matter: the call is also
// about the others, and everybody waits for it.
func (c *Calls[I, O]) One(ctx context.Context, in I) (out O, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	mine, at := c.join(in)
	select {
	case <-mine.done:
	case c.places <- struct{}{}:
		if c.begin(mine) {
			c.make(ctx, mine)
		}
		<-c.places
		<-mine.done
	}
	if mine.err != nil {
		return out, mine.err
	}
	return mine.out[at], nil
}

// join has something go in the next call, and says at which place of it.
func (c *Calls[I, O]) join(in I) (*call[I, O], int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	weight := c.weight(in)
	if c.next == nil || c.next.weight+weight > c.most {
		c.next = &call[I, O]{done: make(chan struct{})}
	}
	c.next.in, c.next.weight = append(c.next.in, in), c.next.weight+weight
	return c.next, len(c.next.in) - 1
}

// begin reports whether the call is still to be made; nothing is added then.
func (c *Calls[I, O]) begin(one *call[I, O]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == one {
		c.next = nil
	}
	begun := one.begun
	one.begun = true
	return !begun
}

func (c *Calls[I, O]) make(ctx context.Context, one *call[I, O]) {
	defer close(one.done)
	defer func() {
		if p := recover(); p != nil {
			one.err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	if one.out, one.err = c.do(ctx, one.in); one.err == nil && len(one.out) != len(one.in) {
		one.err = fmt.Errorf("%d answers for %d things", len(one.out), len(one.in))
	}
}
