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

// Grants stores OAuth authorizations and their tokens, which are identified by
// hashes. The port is unstable: it will change when the OAuth storage is reworked.
type Grants interface {
	// Create stores a token, together with its authorization if grant is not nil. It
	// fails with ErrAppNotFound if the application or the token's authorization does
	// not exist.
	Create(ctx context.Context, t Token, grant *Grant) error
	// Get returns the token of the kind with the hash, also if it has been used, has
	// expired or was revoked, or ErrTokenNotFound. Outside of a transaction it is one
	// query; inside, the token and its authorization are locked until the end of the
	// transaction.
	Get(ctx context.Context, kind TokenKind, hash string) (IssuedToken, error)
	// Use marks a code or refresh token of the authorization as used and ends the
	// authorization's access tokens. Of concurrent callers one gets true.
	Use(ctx context.Context, grantID, hash string, at time.Time) (bool, error)
	// End ends the authorization and all of its tokens. The end of an authorization
	// that has ended does not change.
	End(ctx context.Context, grantID string, at time.Time) error
}

// IssuedToken is a token with its authorization and application.
type IssuedToken struct {
	Token Token
	Grant Grant
	App   App
}

// The retention of authorizations, with their tokens, and of single tokens, both by
// the time at which they expire.
const (
	GrantsKind retention.Kind = "integrations.grants"
	TokensKind retention.Kind = "integrations.tokens"
)

// Consents stores the consents of users to applications. The port is unstable: it
// will change when the OAuth storage is reworked.
type Consents interface {
	// Upsert stores the consent in place of an earlier one of the user to the
	// application. It fails with ErrAppNotFound if the application does not exist.
	Upsert(ctx context.Context, c Consent) error
	// List returns a page of the consents of the users, to one application if appID is
	// not empty, ordered by application, the newest first. Only lists of one user have
	// further pages. Inside a transaction the consents are locked until its end.
	List(ctx context.Context, userIDs []string, appID string, r page.Request) (page.Result[Allowed], error)
	// Delete deletes the user's consents that the filter selects and what was issued
	// on behalf of the user, and returns the number of consents deleted.
	Delete(ctx context.Context, userID string, f ConsentFilter) (int, error)
}

// ConsentFilter selects consents and authorizations of a user; an empty filter
// selects all of them.
type ConsentFilter struct {
	// AppID selects those of an application, if it is not empty.
	AppID string
	// Before selects consents given and authorizations created before the time, if it
	// is not zero.
	Before time.Time
}
