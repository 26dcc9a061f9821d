package searchindex

import (
	"runtime"
	"sync/atomic"

	"github.com/locumhq/locum/modules/listings/search"
)

// part is a segment, an immutable set of documents, with those of them that were deleted after it was written. A
// document that is replaced counts as deleted, because its new version is in another segment.
type part struct {
	*segment
	dead      vector // the deleted documents, nil for none
	deadCount int    // the number of documents in dead
}

// isDead reports whether the document was deleted.
func (p *part) isDead(doc uint32) bool { return p.dead != nil && p.dead.has(doc) }

// live returns the number of documents that were not deleted.
func (p *part) live() int { return p.docs() - p.deadCount }

// without returns a part with one more document deleted. The vector of deleted documents is copied, because readers
// may be using it. unseen may be true only if no reader uses the part, and if the caller does not use it
// afterwards: the new part then has the vector itself, not a copy.
func (p *part) without(doc uint32, unseen bool) *part {
	next := &part{segment: p.segment, dead: p.dead, deadCount: p.deadCount + 1}

	canReuse := unseen && p.dead != nil
	if !canReuse {
		next.dead = newVector(p.docs())
		copy(next.dead, p.dead)
	}

	next.dead.set(doc)

	return next
}

// state is the index as readers see it. It is immutable: a change publishes another state. A state counts its holders.
// These are the readers that use it and, while it is the current state, the index itself. The memory of a segment is
// released when no state that contains the segment has a holder.
type state struct {
	parts   []*part
	holders atomic.Int64 // the number of readers, plus one while it is the current state
}

// newState returns a state with one holder, the caller.
func newState(parts []*part) *state {
	s := &state{parts: parts}
	s.holders.Store(1)

	for _, p := range parts {
		p.holders.Add(1) // the segment counts the states that contain it
	}

	return s
}

// docs returns the number of documents.
func (s *state) docs() int {
	n := 0
	for _, p := range s.parts {
		n += p.live()
	}

	return n
}

// retain adds a holder. It returns false if the last holder has already released the state.
func (s *state) retain() bool {
	for {
		n := s.holders.Load()
		if n == 0 {
			return false
		}

		if s.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release removes a holder. The last one unmaps the segments that no other state contains.
func (s *state) release() {
	if s.holders.Add(-1) > 0 {
		return
	}

	for _, p := range s.parts {
		isLast := p.holders.Add(-1) == 0
		if isLast && p.image.release != nil { // an image that is not mapped from a file needs no release
			_ = p.image.release() // an error has no effect on readers, since none is left
		}
	}
}

// acquire returns the current state. The caller releases it.
func (x *Index) acquire() (*state, error) {
	for {
		s := x.state.Load()
		if s == nil {
			return nil, search.ErrIndexClosed
		}

		if s.retain() {
			return s, nil
		}

		runtime.Gosched() // another state is being published
	}
}

// publish makes the state the current one and releases the previous state. nil closes the index.
func (x *Index) publish(s *state) {
	if old := x.state.Swap(s); old != nil {
		old.release()
	}
}
