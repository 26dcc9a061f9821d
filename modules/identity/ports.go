package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// PasswordHasher hashes passwords. Hashing is expensive on purpose, so an implementation
// limits the number of concurrent calls: a call waits at most 5 s for a slot and then fails
// with fault.ErrUnavailable.
type PasswordHasher interface {
	// Hash returns a verifier: a PHC string with the parameters, a new salt and the hash.
	Hash(ctx context.Context, password string) (string, error)
	// Verify reports whether the password matches the verifier. It compares in constant time.
	// For an account that does not exist, the verifier is empty: Verify takes the same time
	// and returns false. If stale is true, the parameters have changed, and the caller has to
	// store a new Hash.
	Verify(ctx context.Context, verifier, password string) (ok, stale bool, err error)
}

// OneTimeCodes creates and checks the codes of authenticator apps (RFC 6238).
type OneTimeCodes interface {
	// NewSecret returns a secret in base 32 and its otpauth:// URL, which contains the name
	// of the account.
	NewSecret(account string) (secret, url string, err error)
	// Match returns the time step of 30 s in which the app shows the code. It returns false unless
	// that is the current time step, the previous or the next one.
	Match(secret, code string, now time.Time) (step int64, ok bool)
}

// AccessTokens signs and checks the portal's access tokens (JWT, RFC 7519).
type AccessTokens interface {
	Issue(c AccessClaims) (string, error)
	// Verify checks the signature, issuer, audience and times of the token. It returns
	// fault.ErrUnauthorized, with the reason as its cause, for an invalid token.
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

// Program is one way in which software acts for an account or receives its data: an
// application, an API key, a webhook or a consent.
type Program struct{ Kind, Name string }

// Programs manages the programs of accounts.
type Programs interface {
	// List returns the applications, API keys, active webhooks and consents of the account.
	List(ctx context.Context, userID string) ([]Program, error)
	// SignOut revokes the API keys, OAuth grants and consents of the account and pauses its
	// webhooks. It returns what it has revoked and paused. The applications remain.
	SignOut(ctx context.Context, userID string, now time.Time) ([]Program, error)
}

// Mailboxes recognizes different spellings of the same e-mail address.
type Mailboxes interface {
	// Key returns the same text for all spellings of an address. Spellings may differ in upper
	// and lower case, composed and decomposed letters, and the form of an internationalized
	// domain. Addresses with different tags or dots are different.
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
