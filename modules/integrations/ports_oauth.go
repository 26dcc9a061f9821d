package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
)

// Errors of authorizations.
var (
	ErrTokenNotFound   = fault.New(fault.NotFound, "token_not_found", "Token not found")
	ErrConsentNotFound = fault.New(fault.NotFound, "consent_not_found", "Consent not found")
)

// Grants stores OAuth authorizations and their tokens. Tokens are identified by their
// hashes. The port is unstable: it will change when the OAuth storage is reworked.
type Grants interface {
	// Create stores a token, together with its authorization if grant is not nil. It
	// fails with ErrAppNotFound if the application or the token's authorization does
	// not exist.
	Create(ctx context.Context, t Token, grant *Grant) error
	// Get returns the token of the kind with the hash, or ErrTokenNotFound. The token may
	// have been used, have expired or have been revoked. Inside a transaction, Get locks the
	// token and its authorization until the transaction ends. Outside, it is one query.
	Get(ctx context.Context, kind TokenKind, hash string) (IssuedToken, error)
	// Use marks a code or refresh token of the authorization as used, and ends the access
	// tokens of the authorization. It returns true to one of several concurrent callers.
	Use(ctx context.Context, grantID, hash string, at time.Time) (bool, error)
	// End ends the authorization and all of its tokens. If the authorization has ended
	// already, End does not change it.
	End(ctx context.Context, grantID string, at time.Time) error
}

// IssuedToken is a token with its authorization and application.
type IssuedToken struct {
	Token Token
	Grant Grant
	App   App
}

// The retention kinds of authorizations (with their tokens) and of single tokens. Their time
// is the time at which they expire.
const (
	GrantsKind retention.Kind = "integrations.grants"
	TokensKind retention.Kind = "integrations.tokens"
)

// Consents stores the consents of users to applications. The port is unstable: it
// will change when the OAuth storage is reworked.
type Consents interface {
	// Upsert stores the consent and replaces an earlier consent of the user to the
	// application. It fails with ErrAppNotFound if the application does not exist.
	Upsert(ctx context.Context, c Consent) error
	// List returns a page of the consents of the users. If appID is not empty, it returns
	// only consents to that application. Consents are ordered by application, the newest
	// application first. Lists of several users have one page only. Inside a transaction,
	// the consents are locked until the transaction ends.
	List(ctx context.Context, userIDs []string, appID string, r page.Request) (page.Result[AppConsent], error)
	// Delete deletes the consents and authorizations of the user that match the filter, with
	// the tokens of the authorizations. It returns the number of deleted consents.
	Delete(ctx context.Context, userID string, f ConsentFilter) (int, error)
}

// ConsentFilter selects consents and authorizations of a user. A zero field matches all.
type ConsentFilter struct {
	AppID string
	// Before matches consents that were given, and authorizations that were created, before
	// this time.
	Before time.Time
}
