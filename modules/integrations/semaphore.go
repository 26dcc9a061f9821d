package integrations

import (
	"context"
	"sync"
	"time"

	"github.com/locumhq/locum/core/task"
)

const (
	// maxWorkersPerOwner is the maximum number of delivery workers for the endpoints of one
	// owner in a process, so that many slow endpoints of one owner leave workers for the
	// endpoints of others.
	maxWorkersPerOwner = 32
	// maxWaiting is the maximum number of tasks that wait for a slot. A task waits for at
	// most acquireTimeout. A task that gets no slot is repeated after busyDelay.
	maxWaiting     = 8
	acquireTimeout = time.Second
	busyDelay      = 5 * time.Second
)

// maxFailingWorkers is the maximum number of delivery workers for failing endpoints, of all
// owners together, in a process. The other half of the workers remains for endpoints that
// work.
var maxFailingWorkers = task.Workers[task.Webhooks] / 2

// keyedSemaphore limits the number of concurrent holders of each key. Every key has its own
// slots, of the same number. A caller holds a slot from Acquire to release.
type keyedSemaphore struct {
	size int // the number of slots of a key

	mu sync.Mutex
	// slots contains only the keys that have users, so that it does not grow forever.
	slots map[string]*slots
}

// slots are the slots of one key.
type slots struct {
	held  chan struct{} // has a value for each slot that is held, and room for all slots
	users int           // the number of callers that hold a slot or wait for one
}

// newKeyedSemaphore returns a semaphore with size slots for each key.
func newKeyedSemaphore(size int) *keyedSemaphore {
	return &keyedSemaphore{size: size, slots: map[string]*slots{}}
}

// Acquire waits for a slot of the key for at most acquireTimeout, and reports whether it got
// one. It fails at once if maxWaiting callers are waiting already. A caller that got a slot
// must call release.
func (s *keyedSemaphore) Acquire(ctx context.Context, key string) (release func(), isAcquired bool) {
	s.mu.Lock()

	ofKey := s.slots[key]
	if ofKey == nil {
		ofKey = &slots{held: make(chan struct{}, s.size)}
		s.slots[key] = ofKey
	}

	if ofKey.users >= s.size+maxWaiting {
		s.mu.Unlock()
		return nil, false
	}

	ofKey.users++
	s.mu.Unlock()

	// leave ends the use of the slots. The last user deletes them.
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()

		ofKey.users--
		if ofKey.users == 0 {
			delete(s.slots, key)
		}
	}

	select {
	case ofKey.held <- struct{}{}:
		return func() { <-ofKey.held; leave() }, true
	case <-time.After(acquireTimeout):
	case <-ctx.Done():
	}

	leave()

	return nil, false
}

// acquireWorker acquires the slots that a delivery worker for the endpoint needs: one of the owner
// and, for a failing endpoint, one of the slots for failing endpoints of all owners.
func (s *Service) acquireWorker(ctx context.Context, e Endpoint) (release func(), isAcquired bool) {
	releaseOwner, isAcquired := s.ownerSlots.Acquire(ctx, e.OwnerID)

	isFailing := e.FailingSince != nil
	if !isAcquired || !isFailing {
		return releaseOwner, isAcquired
	}

	const allOwners = "" // the only key of failingSlots

	releaseFailing, isAcquired := s.failingSlots.Acquire(ctx, allOwners)
	if !isAcquired {
		releaseOwner()
		return nil, false
	}

	return func() { releaseFailing(); releaseOwner() }, true
}
