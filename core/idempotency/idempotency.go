// Package idempotency carries out requests at most once. A client sends a key with a request, and the
// same key with each retry (draft-ietf-httpapi-idempotency-key-header-07).
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
	// Key is the client's key. It is a secret: a store keeps only its hash, and encrypts
	// the answer with the key.
	Key string
	// Fingerprint is a hash of the path and body. A request that reuses a key with another
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
	// Until is the end of the lease. It also distinguishes this claim from later claims of
	// the same request.
	Until time.Time
}

// The faults of a reused key.
var (
	ErrInProgress = fault.New(fault.Conflict, "idempotency_in_progress", "A request with this Idempotency-Key is still running").
			WithRetryAfter(time.Second)
	ErrReused = fault.New(fault.Invalid, "idempotency_key_reused", "This Idempotency-Key was used for another request")
	// ErrOutcomeUnknown is returned to the retry of a request whose process ended after
	// some or all of the work was done.
	ErrOutcomeUnknown = fault.New(fault.Conflict, "idempotency_outcome_unknown",
		"The first request with this Idempotency-Key was interrupted; check its outcome before you send it with another key")
)

// The lifetimes of claims and answers.
const (
	// Lease is the time for which a claim excludes other callers. It is longer than any
	// request takes. A caller whose lease has ended and whose claim was taken over cannot
	// commit its work.
	Lease = 10 * time.Second
	// Keep is the time for which an answer is stored.
	Keep = 24 * time.Hour
)

// Keys is the retention kind of stored requests; their time is the end of Keep.
const Keys retention.Kind = "idempotency.keys"

// Store stores claims and answers.
type Store interface {
	// Begin claims the request. It returns the stored answer if there is one,
	// ErrInProgress while another caller holds the claim, and ErrReused if the
	// key is stored with another fingerprint. A stored lease that ends later than Lease
	// from now was written by a wrong clock, and counts as expired.
	Begin(ctx context.Context, r Request) (Claim, *Answer, error)
	// Finish stores the answer and ends the claim. It returns ErrInProgress, which rolls
	// back the transaction of ctx, if another caller has taken over the claim.
	Finish(ctx context.Context, c Claim, a Answer) error
	// SetFallback stores an answer for retries in case Finish is never called. An answer
	// without a status deletes the fallback. Like Finish, SetFallback returns ErrInProgress
	// if another caller has taken over the claim.
	SetFallback(ctx context.Context, c Claim, a Answer) error
	// Release ends the claim without an answer. A retry gets the fallback if one is set;
	// otherwise it carries out the request.
	Release(ctx context.Context, c Claim) error
}
