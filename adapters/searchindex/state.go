package searchindex

import (
	"runtime"
	"sync/atomic"

	"github.com/locumhq/locum/modules/listings/search"
)

// part is a segment with the set of its documents that were deleted after it was written.
type part struct {
	*segment
	dead      vector // nil for none
	deadCount int
}

func (p *part) isDead(doc uint32) bool { return p.dead != nil && p.dead.has(doc) }
func (p *part) live() int              { return p.docs() - p.deadCount }

// without returns the part with one more document deleted. It reuses the vector
// of a part that no reader has seen.
func (p *part) without(doc uint32, unseen bool) *part {
	next := &part{segment: p.segment, dead: p.dead, deadCount: p.deadCount + 1}
	if !unseen || next.dead == nil {
		next.dead = newVector(p.docs())
		copy(next.dead, p.dead)
	}

	next.dead.set(doc)

	return next
}

// state is the index as readers see it. It is immutable. Its segments stay mapped until
// the last holder has released it.
type state struct {
	parts   []*part
	holders atomic.Int64
}

// newState returns a state with one holder.
func newState(parts []*part) *state {
	s := &state{parts: parts}
	s.holders.Store(1)

	for _, p := range parts {
		p.holders.Add(1)
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
		if p.holders.Add(-1) == 0 && p.image.release != nil {
			_ = p.image.release() // nothing reads the memory any more
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

// publish replaces the state; nil closes the index.
func (x *Index) publish(s *state) {
	if old := x.state.Swap(s); old != nil {
		old.release()
	}
}
