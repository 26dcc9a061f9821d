// Package limit defines the port for rate limiters. A window is the period in which calls are counted.
// Windows slide: a rule limits the calls in every period of its length, whenever the period begins.
package limit

import (
	"cmp"
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Rule allows at most Max calls in any period of the length Per. Name is unique among rules and is part
// of every stored key.
type Rule struct {
	Name string
	Max  int
	Per  time.Duration
}

// Decision is the decision of a rule on a call.
type Decision struct {
	Allowed   bool
	Remaining int
	// RetryAfter is the time until a call will be allowed, at most the rule's Per. It is
	// zero if this call was allowed.
	RetryAfter time.Duration
}

// Err returns nil if the call was allowed, otherwise fault.ErrRateLimit.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}

	return fault.ErrRateLimit.WithRetryAfter(d.RetryAfter)
}

// Quota limits the calls of a key.
type Quota struct {
	PerMinute int // in any 60 seconds
	PerDay    int // in a UTC day; 0 for no limit
}

// The names of the windows of a quota.
const (
	MinuteWindow = "minute"
	DayWindow    = "day"
)

// Window is the remaining quota of one window.
type Window struct {
	Limit     int
	Remaining int
	// Reset is the time until Remaining increases, at most the length of the window. It is
	// zero if nothing was spent.
	Reset time.Duration
}

// QuotaStatus is the remaining quota of a key.
type QuotaStatus struct {
	Allowed bool
	Minute  Window
	Day     Window // zero without a daily limit
	// Violated contains the names of the windows in which nothing remains.
	Violated []string
	// RetryAfter is the time until a call will be allowed, at least a second. It is zero
	// if this call was allowed.
	RetryAfter time.Duration
}

// Evaluate returns the status with Allowed, Violated and RetryAfter, which follow from the
// windows. Adapters call it with the windows before the call is counted.
func (s QuotaStatus) Evaluate() QuotaStatus {
	if s.Minute.Remaining == 0 {
		s.Violated, s.RetryAfter = append(s.Violated, MinuteWindow), s.Minute.Reset
	}

	if s.Day.Limit > 0 && s.Day.Remaining == 0 {
		s.Violated, s.RetryAfter = append(s.Violated, DayWindow), max(s.RetryAfter, s.Day.Reset)
	}

	s.Allowed = len(s.Violated) == 0
	if !s.Allowed {
		s.RetryAfter = max(s.RetryAfter, time.Second)
	}

	return s
}

// Limiter counts calls by rule and key. Keys are arbitrary strings and may contain
// personal data: adapters store hashes of them.
//
// Every method is safe for concurrent use. Methods of an adapter with a shared backend are
// also atomic among processes. If its backend is unavailable, an adapter does not fail: it
// counts in the memory of the process and returns within 50 ms.
type Limiter interface {
	// Take records a call if the rule allows it. A refused call is not recorded.
	Take(ctx context.Context, rule Rule, key string) (Decision, error)
	// Peek returns the decision that Take would return, and records nothing.
	Peek(ctx context.Context, rule Rule, key string) (Decision, error)
	// Clear deletes the calls of the rule and key.
	Clear(ctx context.Context, rule Rule, key string) error
	// Spend takes one call from both windows of the quota atomically and returns the
	// status after it. If nothing remains in one window, it takes the call from neither.
	// Calls are counted by key alone, so a key that gets another quota keeps its count.
	Spend(ctx context.Context, quota Quota, key string) (QuotaStatus, error)
	// Status returns the status of the quota, and takes no call from it.
	Status(ctx context.Context, quota Quota, key string) (QuotaStatus, error)
}

// Take records a call by l.Take and returns fault.ErrRateLimit if the rule refuses it.
func Take(ctx context.Context, l Limiter, rule Rule, key string) error {
	d, err := l.Take(ctx, rule, key)
	return cmp.Or(err, d.Err())
}
