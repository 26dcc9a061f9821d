package integrations

import (
	"context"
	"sync"
	"time"

	"github.com/locumhq/locum/core/task"
)

const (
	// maxWorkersPerOwner bounds the endpoints of one owner that a process serves at
	// once, so that many slow endpoints of one owner leave workers to others.
	maxWorkersPerOwner = 32
	// maxWaiting more tasks may wait for a slot, for acquireWithin; other tasks are
	// delayed by busyDelay.
	maxWaiting    = 8
	acquireWithin = time.Second
	busyDelay     = 5 * time.Second
)

// maxFailingWorkers bounds the failing endpoints, of all owners together, that a
// process serves at once: the other workers remain for endpoints that work.
var maxFailingWorkers = task.Workers[task.Webhooks] / 2

// keyedSemaphore is a semaphore of the same size for each key.
type keyedSemaphore struct {
	size int

	mu    sync.Mutex
	slots map[string]*slots
}

// slots are the slots of a key; users counts those that hold one or wait for one.
type slots struct {
	held  chan struct{}
	users int
}

func newKeyedSemaphore(size int) *keyedSemaphore {
	return &keyedSemaphore{size: size, slots: map[string]*slots{}}
}

// Acquire waits up to acquireWithin for a slot and reports whether there was one; it
// fails at once when maxWaiting others wait. The caller releases the slot.
func (s *keyedSemaphore) Acquire(ctx context.Context, key string) (release func(), ok bool) {
	s.mu.Lock()
	k := s.slots[key]
	if k == nil {
		k = &slots{held: make(chan struct{}, s.size)}
		s.slots[key] = k
	}
	if k.users >= s.size+maxWaiting {
		s.mu.Unlock()
		return nil, false
	}
	k.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(s.slots, key)
		}
	}
	select {
	case k.held <- struct{}{}:
		return func() { <-k.held; leave() }, true
	case <-time.After(acquireWithin):
	case <-ctx.Done():
	}
	leave()
	return nil, false
}

// acquireWorker acquires the slots that a delivery worker for the endpoint needs.
func (s *Service) acquireWorker(ctx context.Context, e Endpoint) (release func(), ok bool) {
	releaseOwner, ok := s.ownerSlots.Acquire(ctx, e.OwnerID)
	if !ok || e.FailingSince == nil {
		return releaseOwner, ok
	}
	releaseFailing, ok := s.failingSlots.Acquire(ctx, "")
	if !ok {
		releaseOwner()
		return nil, false
	}
	return func() { releaseFailing(); releaseOwner() }, true
}
