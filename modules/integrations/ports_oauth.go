package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// The faults of authorizations.
var (
	ErrTokenNotFound   = fault.New(fault.NotFound, "token_not_found", "Token not found")
	ErrConsentNotFound = fault.New(fault.NotFound, "consent_not_found", "Consent not found")
)

// Grants keeps what was issued to applications in the name of users: of codes
// and tokens only a hash, by which they are found.
type Grants interface {
	// Add stores a new authorization with its code. ErrAppNotFound if the
	// application or the user is gone.
	Add(ctx context.Context, g Grant, code Token) error
	// AddToken stores a further token of an authorization.
	AddToken(ctx context.Context, t Token) error
	// Find returns the token of the kind with its authorization, also when it is
	// over, or ErrTokenNotFound, also when the user's account is not active.
	// Inside a transaction both are locked until its end.
	Find(ctx context.Context, kind TokenKind, hash string) (Token, Grant, error)
	// Access returns the access token with the hash, its authorization and its
	// application, in one query, or ErrTokenNotFound as Find does.
	Access(ctx context.Context, hash string) (Token, Grant, App, error)
	// Spend marks the token as used. Of any number of callers one hears true.
	Spend(ctx context.Context, hash string, at time.Time) (bool, error)
	// End ends the authorization and with it all that was issued. One that has
	// ended stays as it is.
	End(ctx context.Context, grantID string, at time.Time) error
	// EndAccess ends the access tokens of an authorization that there are.
	EndAccess(ctx context.Context, grantID string, at time.Time) error
	// Forget removes at most n authorizations that expired before the moment,
	// with their tokens, and as many tokens of others that did. It returns how
	// many went.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Consents keeps what users allow applications.
type Consents interface {
	// Give stores the consent in the place of the one before it. ErrAppNotFound
	// if the application or the user is gone.
	Give(ctx context.Context, c Consent) error
	// Find returns the user's consent to the application, or
	// ErrConsentNotFound. Inside a transaction it is locked until its end.
	Find(ctx context.Context, userID, appID string) (Consent, error)
	// Page lists the user's consents with their applications, by their
	// applications, the newest first.
	Page(ctx context.Context, userID string, r page.Request) (page.Result[Allowed], error)
	// Near are at most n consents to the application by those who may have to do
	// with an application for a job: the applicant, and who works for the
	// organization.
	Near(ctx context.Context, appID, organizationID, applicantID string, n int) ([]Consent, error)
	// Withdraw removes the user's consent to the application, or is
	// ErrConsentNotFound, and all that was issued by it.
	Withdraw(ctx context.Context, userID, appID string) error
	// DeleteOf removes all consents of the user, and all that was issued in the
	// user's name.
	DeleteOf(ctx context.Context, userID string) error
}
