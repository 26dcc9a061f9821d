// Package clock provides the current time.
package clock

import "time"

// Clock returns the current time.
type Clock interface {
	// Now returns the time in UTC with microseconds, the precision of every supported
	// database, so that a stored timestamp is read back unchanged.
	Now() time.Time
}

// System is the clock of the operating system.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now().Add(offset()).UTC().Truncate(time.Microsecond) }
