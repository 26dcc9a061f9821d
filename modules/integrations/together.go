package integrations

import (
	"context"
	"sync"
	"time"
)

// together does many calls for one thing each in few calls for many: what comes
// while one is under way collects, and goes together in the next, which one of the
// callers makes for all.
type together[T any] struct {
	do func(ctx context.Context, all []T) error

	doing   sync.Mutex
	mu      sync.Mutex
	waiting *bundle[T]
}

type bundle[T any] struct {
	all  []T
	err  error
	done bool
}

// The bounds of a call.
const (
	togetherMost   = 100
	togetherWithin = 10 * time.Second
)

// add returns when the thing has been done with others, or has failed with them.
func (t *together[T]) add(ctx context.Context, one T) error {
	t.mu.Lock()
	if t.waiting == nil || len(t.waiting.all) >= togetherMost {
		t.waiting = &bundle[T]{}
	}
	b := t.waiting
	b.all = append(b.all, one)
	t.mu.Unlock()

	t.doing.Lock()
	defer t.doing.Unlock()
	if b.done {
		return b.err
	}
	t.mu.Lock()
	if t.waiting == b {
		t.waiting = nil
	}
	t.mu.Unlock()
	// It is also about the others: that one of them is called off is its own matter.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), togetherWithin)
	defer cancel()
	b.done, b.err = true, t.do(ctx, b.all)
	return b.err
}
