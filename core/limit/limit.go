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
}
