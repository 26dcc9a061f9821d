// Package limit defines the port for rate limiters. A rule allows at most Max calls in
// any window of its length, not only in windows that begin at multiples of it.
package limit

import (
	"cmp"
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Rule allows at most Max calls in any Per. Name is unique among rules and is part of
// every stored key.
type Rule struct {
	Name string
	Max  int
	Per  time.Duration
}

// Decision is the result of a call.
type Decision struct {
	Allowed   bool
	Remaining int
	// RetryAfter is the time until the next call would be allowed, zero if this one
	// was. It is at most the rule's Per.
	RetryAfter time.Duration
}

// Err returns nil if the call was allowed, otherwise fault.ErrRateLimit.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
}

// Quota is the number of calls that a key may make: PerMinute in any 60 seconds, and
// PerDay in a day of UTC unless it is 0.
type Quota struct {
	PerMinute int
	PerDay    int
}

// The windows of a quota.
const (
	MinuteWindow = "minute"
	DayWindow    = "day"
)

// Window is the remaining quota of one window.
type Window struct {
	Limit     int
	Remaining int
	// Reset is the time until Remaining increases, zero if nothing was spent. It is at
	// most a minute or a day.
	Reset time.Duration
}

// QuotaStatus is the remaining quota of a key.
type QuotaStatus struct {
	Allowed bool
	Minute  Window
	Day     Window // zero without a daily limit
	// Violated names the windows in which nothing remains.
	Violated []string
	// RetryAfter is the time until the next call would be allowed, at least a second,
	// and zero if this one was.
	RetryAfter time.Duration
}

// Evaluate sets Allowed, Violated and RetryAfter of the status before a call. It is for
// adapters.
func (s QuotaStatus) Evaluate() QuotaStatus {
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

// Limiter counts calls by rule and key. Keys are arbitrary strings and may contain
// personal data: adapters store hashes of them.
//
// Every method is safe for concurrent use and, in an adapter that several processes
// share, atomic among them. An adapter whose backend is unavailable counts in the
// process and returns within 50 ms: it does not fail.
type Limiter interface {
	// Take records a call if the rule allows it. A refused call is not recorded.
	Take(ctx context.Context, rule Rule, key string) (Decision, error)
	// Peek is Take without recording.
	Peek(ctx context.Context, rule Rule, key string) (Decision, error)
	// Clear deletes the calls of the rule and key.
	Clear(ctx context.Context, rule Rule, key string) error
	// Spend takes one call from both windows of the quota in one step, or from neither
	// if nothing remains in one of them, and returns the status after it. Calls are
	// counted by key: another quota applies from the next call on.
	Spend(ctx context.Context, quota Quota, key string) (QuotaStatus, error)
	// Status is Spend without spending.
	Status(ctx context.Context, quota Quota, key string) (QuotaStatus, error)
}

// Take records a call by l.Take and returns fault.ErrRateLimit if the rule refuses it.
func Take(ctx context.Context, l Limiter, rule Rule, key string) error {
	d, err := l.Take(ctx, rule, key)
	return cmp.Or(err, d.Err())
}
