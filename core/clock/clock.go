// Package clock is the service's only source of the present moment.
package clock

import "time"

// Clock tells the time.
type Clock interface {
	// Now is in UTC with microsecond precision, which is what every supported
	// database keeps: a moment reads back exactly as it was written.
	Now() time.Time
}

// System is the machine's clock.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now().Add(offset()).UTC().Truncate(time.Microsecond) }
