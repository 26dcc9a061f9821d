// Package idempotency carries out requests at most once per client key
// (draft-ietf-httpapi-idempotency-key-header-07).
package idempotency

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/retention"
)

// Request identifies a request that is carried out at most once.
type Request struct {
	// OwnerID is the user who sent the request. Keys of different owners are
	// independent.
	OwnerID string
	// Operation is the method and route pattern.
	Operation string
	// Key is the client's key. It is a secret: a store keeps its hash, and the
	// answer encrypted with it.
	Key string
	// Fingerprint is a hash of path and body. The same key with another
	// fingerprint is refused.
	Fingerprint string
}

// Answer is the response to a request.
type Answer struct {
	Status int
	Body   []byte
}

// Claim is the exclusive right to carry out a request. It expires after Lease.
type Claim struct {
	Request
	// Until is the end of the lease. It also distinguishes this claim from a later
	// one of the same request.
	Until time.Time
}

// The faults of a reused key.
var (
	ErrInProgress = fault.New(fault.Conflict, "idempotency_in_progress", "A request with this Idempotency-Key is still running").WithRetryAfter(time.Second)
	ErrReused     = fault.New(fault.Invalid, "idempotency_key_reused", "This Idempotency-Key was used for another request")
	// ErrOutcomeUnknown is the error of a retry of a request that took effect
	// in part or in full before its process ended.
	ErrOutcomeUnknown = fault.New(fault.Conflict, "idempotency_outcome_unknown", "The first request with this Idempotency-Key was interrupted; check its outcome before you send it with another key")
)

// The lifetimes of claims and answers.
const (
	// Lease is how long a claim excludes other callers. It is longer than any
	// request; a caller that lost its claim cannot commit, however late it is.
	Lease = 10 * time.Second
	// Keep is how long an answer is stored.
	Keep = 24 * time.Hour
)

// Keys are stored requests; their time is the end of Keep.
const Keys retention.Kind = "idempotency.keys"

// Store stores claims and answers.
type Store interface {
	// Begin claims the request. It returns the stored answer if there is one,
	// ErrInProgress while another caller holds the claim, and ErrReused if the
	// key is stored with another fingerprint. A lease that ends later than
	// Lease from now was written by a clock that was wrong: it has expired.
	Begin(ctx context.Context, r Request) (Claim, *Answer, error)
	// Finish stores the answer and ends the claim. It returns ErrInProgress if
	// another caller has taken the claim over, which undoes the transaction of
	// ctx.
	Finish(ctx context.Context, c Claim, a Answer) error
	// SetFallback stores the answer for retries in case Finish is never called.
	// An answer without a status removes it. It returns ErrInProgress as Finish does.
	SetFallback(ctx context.Context, c Claim, a Answer) error
	// Release ends the claim without an answer: the next caller gets the
	// fallback, if one is set, and otherwise carries out the request.
	Release(ctx context.Context, c Claim) error
}
