package kit

import (
	"sync"
	"time"
)

// Clock is a clock that only Advance moves. It starts on a Tuesday, at half past ten UTC.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a new clock.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 17, 10, 30, 0, 0, time.UTC)} }

// Now implements clock.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, back when d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.now = c.now.Add(d)
}
