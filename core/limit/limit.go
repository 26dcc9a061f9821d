// Package limit is the port of rate limiters that keep an exact log: N moments
// in any window of the given length, never N at the end of one window and N
// more at the start of the next.
package limit

import (
	"context"
	"time"
)

// Rule is one limit: at most Max moments in any Per. Name keeps the counts of
// different rules apart and is part of every stored key.
type Rule struct {
	Name string
	Max  int
	Per  time.Duration
}

// Decision is a limiter's answer.
type Decision struct {
	Allowed   bool
	Remaining int
	// RetryAfter is how long until the next moment would be allowed, zero when
	// this one was. It is at most the rule's Per.
	RetryAfter time.Duration
}

// Quota is what somebody may spend: PerMinute in any 60 seconds and PerDay in a
// day of UTC, which is no limit if it is 0.
type Quota struct {
	PerMinute int
	PerDay    int
}

// The names of a quota's windows.
const (
	MinuteWindow = "minute"
	DayWindow    = "day"
)

// Window is what is left of a quota in one of its windows.
type Window struct {
	Limit     int
	Remaining int
	// Reset is how long until more remains than now, and zero if nothing was
	// spent. It is at most a minute or a day.
	Reset time.Duration
}

// Standing is what is left of a quota.
type Standing struct {
	Allowed bool
	Minute  Window
	Day     Window // all zero without a limit for the day
	// Violated names the windows that refused, and is empty when none did.
	Violated []string
	// RetryAfter is how long until the next call would be allowed, a second at
	// the least, and zero when this one was.
	RetryAfter time.Duration
}

// Judged is the standing with Allowed, Violated and RetryAfter by what is left,
// before the call that is judged. It is for adapters.
func (s Standing) Judged() Standing {
	if s.Minute.Remaining == 0 {
		s.Violated, s.RetryAfter = append(s.Violated, MinuteWindow), s.Minute.Reset
	}
	if s.Day.Limit > 0 && s.Day.Remaining == 0 {
		s.Violated, s.RetryAfter = append(s.Violated, DayWindow), max(s.RetryAfter, s.Day.Reset)
	}
	if s.Allowed = len(s.Violated) == 0; !s.Allowed {
		s.RetryAfter = max(s.RetryAfter, time.Second)
	}
	return s
}

// Limiter counts moments by rule and key. Keys are arbitrary strings and may
// hold personal data, so adapters store a hash of them.
//
// Every method is safe for concurrent use and, in an adapter that several
// processes share, atomic among them. An adapter whose store is away answers
// from a local log within 50 ms instead of failing: a limiter neither opens
// nor closes the service.
type Limiter interface {
	// Take records a moment if the rule allows one more and says so.
	// A refused moment is not recorded.
	Take(ctx context.Context, rule Rule, key string) (Decision, error)
	// Peek is Take without recording.
	Peek(ctx context.Context, rule Rule, key string) (Decision, error)
	// Clear forgets every moment of the rule and key.
	Clear(ctx context.Context, rule Rule, key string) error
	// Spend takes one from both windows of the quota, in one step, or from neither
	// if one of them has nothing left, and says what is left after it. What was
	// spent belongs to the key, so that another quota is in force with the next
	// call.
	Spend(ctx context.Context, quota Quota, key string) (Standing, error)
	// Standing is Spend without spending: what is left now.
	Standing(ctx context.Context, quota Quota, key string) (Standing, error)
}
