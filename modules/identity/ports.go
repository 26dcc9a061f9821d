package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
)

// PasswordHasher turns passwords into verifiers. Hashing is expensive on
// purpose, so an implementation bounds how many run at once: a call waits its
// turn for at most 5 s and then fails with fault.ErrUnavailable.
type PasswordHasher interface {
	// Hash returns a self-describing verifier (a PHC string) with a fresh salt.
	Hash(ctx context.Context, password string) (string, error)
	// Verify compares in constant time. An empty verifier stands for an account
	// that is not there: it costs the same work and is never ok. stale asks the
	// caller to store a new Hash because the parameters have moved on.
	Verify(ctx context.Context, verifier, password string) (ok, stale bool, err error)
}

// AccessTokens signs and checks the portal's access tokens (JWT, RFC 7519).
type AccessTokens interface {
	Issue(c AccessClaims) (string, error)
	// Verify checks signature, issuer, audience and times. Any failure is
	// fault.ErrUnauthorized with the reason as its cause.
	Verify(token string) (AccessClaims, error)
}

// AccessClaims is what an access token says. Role and OrganizationID are for
// display by clients only: what a caller may do is read from the database.
type AccessClaims struct {
	UserID         string
	SessionID      string
	Role           auth.Role
	OrganizationID string
	IssuedAt       time.Time
	ExpiresAt      time.Time
}
