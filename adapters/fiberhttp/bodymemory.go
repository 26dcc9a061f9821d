package fiberhttp

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/adapters/web"
)

// bodyClass is the class of bodies by their maximum size. It decides how much of the memory for
// bodies a body may use.
type bodyClass int

const (
	usualBody bodyClass = iota // all memory except the part that is kept for small bodies
	smallBody                  // all memory: sign-ins work even when larger bodies fill their part
	largeBody                  // all large bodies together may use half of the memory
)

// bodyClassOf returns the class of a route whose bodies have at most limit bytes.
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
	// smallBodyDivisor sets the part of the memory that is kept for small bodies: an eighth.
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
	// largeClient is the client that the body counts for in bodyMemory.largeBodies, or empty.
	largeClient string
}

// bodyMemory bounds the memory of the bodies of all requests that are being
// received or handled.
type bodyMemory struct {
	limit int64

	mu          sync.Mutex
	used        atomic.Int64   // written with mu held
	usedLarge   int64          // the part of used that large bodies use
	largeBodies map[string]int // number of large bodies by client

	// isBurst is set when more than burstBytes were used. isFreeing is set from the end
	// of the burst until the memory is returned to the operating system.
	isBurst, isFreeing atomic.Bool
}

// A burst is a time in which more than burstBytes are used. It ends when less than burstEndBytes
// are used. The memory is then returned to the operating system after freeDelay: Go's scavenger
// would take minutes. Returning memory forces a garbage collection, and the delay limits how
// often that happens.
const (
	burstBytes    = 32 << 20
	burstEndBytes = burstBytes / 4
	freeDelay     = 2 * time.Second
)

// acquire accounts for n more bytes of a body. It reports false if the memory for bodies of its
// class is exhausted.
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
		m.isBurst.Store(true)
	}

	return true
}

// beginLarge counts a large body of the client until release. It reports false if the client
// sends maxLargeBodies already.
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

// release ends the accounting of a body.
func (m *bodyMemory) release(u *bodyUsage) {
	if u.bytes == 0 && u.largeClient == "" {
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

	hasEnded := stillUsed < burstEndBytes && m.isBurst.CompareAndSwap(true, false)
	if hasEnded && m.isFreeing.CompareAndSwap(false, true) {
		time.AfterFunc(freeDelay, func() {
			debug.FreeOSMemory()
			m.isFreeing.Store(false)
		})
	}
}
