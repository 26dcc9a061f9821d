package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// PasswordHasher turns passwords into verifiers. Hashing is expensive on
// purpose, so an implementation limits the number of concurrent calls: a call
// waits at most 5 s for its slot and then fails with fault.ErrUnavailable.
type PasswordHasher interface {
	// Hash returns a self-describing verifier (a PHC string) with a fresh salt.
	Hash(ctx context.Context, password string) (string, error)
	// Verify compares in constant time. An empty verifier represents an account that does
	// not exist: it takes the same time and is never ok. With stale, the caller stores a
	// new Hash, because the parameters have changed.
	Verify(ctx context.Context, verifier, password string) (ok, stale bool, err error)
}

// OneTimeCodes creates and checks the codes of authenticator apps (RFC 6238).
type OneTimeCodes interface {
	// NewSecret returns a secret in base 32 and its otpauth:// address, which
	// names the account.
	NewSecret(account string) (secret, url string, err error)
	// Match returns the time step of the code, which is the current one or one
	// next to it. It is false for every other code.
	Match(secret, code string, now time.Time) (step int64, ok bool)
}

// AccessTokens signs and checks the portal's access tokens (JWT, RFC 7519).
type AccessTokens interface {
	Issue(c AccessClaims) (string, error)
	// Verify checks signature, issuer, audience and times. Any failure is
	// fault.ErrUnauthorized with the reason as its cause.
	Verify(token string) (AccessClaims, error)
}

// AccessClaims are the claims of an access token. Role and OrganizationID are for
// display by clients only: permissions are read from the database.
type AccessClaims struct {
	UserID         string
	SessionID      string
	Role           auth.Role
	OrganizationID string
	IssuedAt       time.Time
	ExpiresAt      time.Time
}

// Subscriptions reads the status of users' plans.
type Subscriptions interface {
	// Status returns active, or past_due while a payment is missing.
	Status(ctx context.Context, userID string) (string, error)
}

// Program is a credential with which a program acts for an account: an
// application, an API key, a webhook or a consent.
type Program struct{ Kind, Name string }

// Programs manages the programs of accounts.
type Programs interface {
	// List returns the applications, keys, active webhooks and consents of the
	// account.
	List(ctx context.Context, userID string) ([]Program, error)
	// SignOut revokes the keys, grants and consents of the account, pauses its
	// webhooks, and returns them.
	SignOut(ctx context.Context, userID string, now time.Time) ([]Program, error)
}

// Mailboxes recognizes addresses that name the same mailbox.
type Mailboxes interface {
	// Key returns the form of the address that all its spellings have in common:
	// upper and lower case, composed and decomposed letters, and both forms of an
	// internationalized domain. Tags and dots are significant.
	Key(email string) string
}

// The errors of the repositories and of the service.
var (
	ErrUserNotFound         = fault.New(fault.NotFound, "user_not_found", "User not found")
	ErrOrganizationNotFound = fault.New(fault.NotFound, "organization_not_found", "Organization not found")
	ErrSessionNotFound      = fault.New(fault.NotFound, "session_not_found", "Session not found")
	ErrTokenNotFound        = fault.New(fault.NotFound, "token_not_found", "Token not found")
	ErrNoSecondFactor       = fault.New(fault.NotFound, "no_second_factor", "The account has no second factor")

	ErrEmailTaken           = fault.New(fault.Conflict, "email_taken", "Email already registered")
	ErrBadCredentials       = fault.New(fault.Unauthenticated, "invalid_credentials", "Invalid email or password")
	ErrSecondFactorRequired = fault.New(fault.Unauthenticated, "second_factor_required", "Enter the code of your authenticator app")
	ErrSecondFactorInvalid  = fault.New(fault.Unauthenticated, "second_factor_invalid", "Invalid authentication code")
	ErrSecondFactorEnabled  = fault.New(fault.Conflict, "second_factor_enabled", "The second factor is already enabled")
	ErrNotEnrolled          = fault.New(fault.Conflict, "not_enrolled", "The account has no second factor")
	ErrBadRefreshToken      = fault.New(fault.Unauthenticated, "invalid_refresh_token", "Invalid or expired refresh token")
	ErrNotInTeam            = fault.New(fault.Forbidden, "not_in_team", "Team member not in your organization")
	ErrAlreadyInTeam        = fault.New(fault.Conflict, "already_in_team", "Already a team member or invited")
	ErrLastAdmin            = fault.New(fault.Conflict, "last_admin", "An organization needs at least one admin")
	ErrSignInToAccept       = fault.New(fault.Unauthenticated, "sign_in_required", "Sign in to accept this invitation")
	ErrForAnotherAccount    = fault.New(fault.Forbidden, "not_your_invitation", "This invitation is for another account")
)
