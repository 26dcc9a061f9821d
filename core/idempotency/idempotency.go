// Package idempotency is the port that remembers what a request was answered,
// so that a client that lost the answer may ask again without doing it again
// (draft-ietf-httpapi-idempotency-key-header-07).
package idempotency

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Request names a request that must not be done twice.
type Request struct {
	// OwnerID is the user who asks; keys of different users never meet.
	OwnerID string
	// Operation is the method and route pattern.
	Operation string
	// Key is what the client sent. It is a secret of the client's: a store
	// keeps a hash of it, and the answer encrypted with it.
	Key string
	// Fingerprint is a hash of path and body: the same key for something else
	// is a mistake.
	Fingerprint string
}

// Answer is what the request was answered.
type Answer struct {
	Status int
	Body   []byte
}

// The faults of reusing a key.
var (
	ErrInProgress = fault.New(fault.Conflict, "idempotency_in_progress", "A request with this Idempotency-Key is still running").WithRetryAfter(time.Second)
	ErrReused     = fault.New(fault.Invalid, "idempotency_key_reused", "This Idempotency-Key was used for another request")
)

// The life of a key.
const (
	// Lease is how long a request may run before another with its key runs.
	Lease = time.Minute
	// Keep is how long an answer is given again.
	Keep = 24 * time.Hour
)

// Store remembers requests.
type Store interface {
	// Begin claims the request. It returns the kept answer if there is one, nil
	// if the caller is to do it, ErrInProgress while another caller does, and
	// ErrReused if the key is known with another fingerprint.
	Begin(ctx context.Context, r Request) (*Answer, error)
	// Finish keeps the answer for Keep.
	Finish(ctx context.Context, r Request, a Answer) error
	// Abandon forgets a claimed request, so that it may be tried again.
	Abandon(ctx context.Context, r Request) error
	// Forget removes up to n requests that are older than Keep and says how many.
	Forget(ctx context.Context, n int) (int, error)
}
