package fiberhttp

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/adapters/web"
)

// bodyClass is a class of request bodies by the maximum size that their route accepts. Each class
// may use another part of bodyMemory, so that large bodies cannot block small ones.
type bodyClass int

const (
	// usualBody is the class of routes that accept up to web.DefaultBody. Its bodies may use the
	// memory except the part that is reserved for small bodies.
	usualBody bodyClass = iota
	// smallBody is the class of routes that accept up to maxFormBody. Its bodies may use all
	// memory, so that forms such as the sign-in work even when larger bodies have used their part.
	smallBody
	// largeBody is the class of routes that accept more than web.DefaultBody. It has the limit of
	// usualBody, and in addition all its bodies together may use half of the memory.
	largeBody
)

// bodyClassOf returns the class of the bodies of a route that accepts up to limit bytes.
func bodyClassOf(limit int) bodyClass {
	switch {
	case limit <= maxFormBody:
		return smallBody
	case limit > web.DefaultBody:
		return largeBody
	}

	return usualBody
}

const (
	// smallBodyDivisor sets the part of the memory that is reserved for small bodies: an eighth.
	smallBodyDivisor = 8
	// largeBodyDivisor sets the part of the memory that large bodies may use: a half.
	largeBodyDivisor = 2
	// maxLargeBodies is the number of bodies over web.DefaultBody that a client may send
	// at the same time.
	maxLargeBodies = 2
)

// bodyUsage is the memory that the body of one request uses.
type bodyUsage struct {
	class bodyClass
	bytes int64
	// largeClient is the key of the body's client in bodyMemory.largeBodies. It is empty if
	// beginLarge was not called for the body.
	largeClient string
}

// bodyMemory bounds the memory of the bodies of all requests that are being
// received or handled.
type bodyMemory struct {
	limit int64

	mu          sync.Mutex
	used        atomic.Int64   // is written only while mu is held, and read without it
	usedLarge   int64          // the part of used that belongs to bodies of the class largeBody
	largeBodies map[string]int // number of large bodies in progress by client
	isBurst     bool           // more than burstBytes were used, and the burst has not ended

	isFreeing atomic.Bool // a burst has ended, and its memory is about to be returned
}

// A burst is a time in which many bodies are in memory. It begins when more than burstBytes are
// used, and ends when less than burstEndBytes are used.
//
// The memory of a burst is returned to the operating system freeDelay after its end. Go's
// scavenger would do this too, but takes minutes. Returning memory forces a garbage collection,
// and the delay limits how often this happens.
const (
	burstBytes    = 32 << 20
	burstEndBytes = burstBytes / 4
	freeDelay     = 2 * time.Second
)

// acquire accounts for n more bytes of a body. It reports false, and accounts for nothing, if the
// memory for the class of the body is exhausted.
func (m *bodyMemory) acquire(u *bodyUsage, n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	limit := m.limit
	if u.class != smallBody {
		limit -= m.limit / smallBodyDivisor
	}

	total := m.used.Load() + int64(n)
	if total > limit {
		return false
	}

	if u.class == largeBody {
		if m.usedLarge+int64(n) > m.limit/largeBodyDivisor {
			return false
		}

		m.usedLarge += int64(n)
	}

	m.used.Store(total)

	u.bytes += int64(n)

	if total > burstBytes {
		m.isBurst = true
	}

	return true
}

// beginLarge counts a large body of the client until release. It reports false if the client
// already sends maxLargeBodies.
func (m *bodyMemory) beginLarge(u *bodyUsage, client string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.largeBodies[client] >= maxLargeBodies {
		return false
	}

	m.largeBodies[client]++
	u.largeClient = client

	return true
}

// release ends the accounting of a body. A second call for the same body does nothing.
func (m *bodyMemory) release(u *bodyUsage) {
	usesNothing := u.bytes == 0 && u.largeClient == ""
	if usesNothing {
		return
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	if u.largeClient != "" {
		m.largeBodies[u.largeClient]--
		if m.largeBodies[u.largeClient] == 0 {
			delete(m.largeBodies, u.largeClient)
		}

		u.largeClient = ""
	}

	if u.class == largeBody {
		m.usedLarge -= u.bytes
	}

	stillUsed := m.used.Add(-u.bytes)
	u.bytes = 0

	if m.isBurst && stillUsed < burstEndBytes {
		m.isBurst = false
		m.freeLater()
	}
}

// freeLater returns unused memory to the operating system after freeDelay, unless that is
// planned already.
func (m *bodyMemory) freeLater() {
	isPlanned := !m.isFreeing.CompareAndSwap(false, true)
	if isPlanned {
		return
	}

	time.AfterFunc(freeDelay, func() {
		debug.FreeOSMemory()
		m.isFreeing.Store(false)
	})
}
