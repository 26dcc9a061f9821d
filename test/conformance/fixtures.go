package conformance

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"

	"github.com/locumhq/locum/core/page"
)

// fakeClock is a clock that only moves when a test advances it.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

// newFakeClock returns a clock at 17 March 2026, 10:30 UTC.
func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 3, 17, 10, 30, 0, 0, time.UTC)}
}

// Now implements clock.Clock.
func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, back if d is negative.
func (c *fakeClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.now = c.now.Add(d)
}

// ids contains the timestamp and counter of the last id of newID.
var ids struct {
	sync.Mutex
	last uint64
}

// newID returns a UUIDv7 (RFC 9562 §5.7). Ids of one process are in the order of
// their creation.
func newID() string {
	const (
		counterBits = 12
		counterMask = 1<<counterBits - 1
		version7    = 7 << counterBits // the four bits between time and counter
		variant     = 0x80             // the two highest bits of the ninth byte, which has 6 random ones
		randomBits  = 0x3f
	)

	ids.Lock()

	// The high bits are the time in milliseconds, the low 12 bits count the ids of a millisecond.
	ids.last = max(ids.last+1, uint64(time.Now().UnixMilli())<<counterBits)
	last := ids.last
	ids.Unlock()

	milliseconds, counter := last>>counterBits, last&counterMask
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], milliseconds<<16|version7|counter)

	_, _ = rand.Read(id[8:]) // never fails
	id[8] = id[8]&randomBits | variant
	digits := hex.EncodeToString(id[:])

	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}

// firstHundred requests the first page, of at most a hundred items. The lists of the tests that use it are shorter.
var firstHundred = page.Request{Number: 1, Size: 100}

// wholeList is a limit of the length of lists. The lists of the tests that use it are shorter.
const wholeList = 100

// unroundedDelay is a duration that ends with microseconds, the smallest unit that all databases store. A storage that
// rounds times to milliseconds would change the times to which it is added.
const unroundedDelay = 1_234_567 * time.Microsecond
