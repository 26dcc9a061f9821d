package integrations

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// The lives of what is issued.
const (
	CodeLife    = 60 * time.Second
	AccessLife  = 15 * time.Minute
	RefreshLife = 7 * 24 * time.Hour  // sliding: each refresh starts it anew
	GrantLife   = 30 * 24 * time.Hour // absolute
)

// TokenKind is what a token is good for.
type TokenKind string

// The kinds of tokens.
const (
	Code    TokenKind = "code"
	Access  TokenKind = "access"
	Refresh TokenKind = "refresh"
)

var tokenPrefixes = map[TokenKind]string{Code: "loc_ac_", Access: "loc_at_", Refresh: "loc_rt_"}

const tokenChars = 43

// NewToken mints a token: 256 random bits. The prefix says what it is.
func NewToken(kind TokenKind) string { return auth.NewSecret(tokenPrefixes[kind], tokenChars) }

// HashToken is what is kept of a token of the kind, empty for what cannot be
// one.
func HashToken(kind TokenKind, token string) string {
	if len(token) != len(tokenPrefixes[kind])+tokenChars || !strings.HasPrefix(token, tokenPrefixes[kind]) {
		return ""
	}
	return auth.HashSecret(token)
}

// Grant is one authorization: the family of all tokens that came from it.
type Grant struct {
	ID, AppID, UserID string
	Scopes            []Scope
	CreatedAt         time.Time
	// ExpiresAt is when nothing that came from it works any more, however often
	// it was refreshed.
	ExpiresAt time.Time
	EndedAt   *time.Time
}

// Token is a code, an access token or a refresh token. Of itself only a hash is
// kept.
type Token struct {
	Hash    string
	GrantID string
	Kind    TokenKind
	// Scopes are the grant's or, of an access token, fewer.
	Scopes []Scope
	// RedirectURI is where a code went, if the client has said so, and Challenge
	// what its verifier has to hash to (RFC 7636, S256).
	RedirectURI, Challenge string
	IssuedAt, ExpiresAt    time.Time
	UsedAt                 *time.Time
}

// Active reports whether the token still works.
func (t Token) Active(g Grant, now time.Time) bool {
	return t.UsedAt == nil && g.EndedAt == nil && now.Before(t.ExpiresAt) && now.Before(g.ExpiresAt)
}

// Scopes are all that there are.
func Scopes() []Scope { return []Scope{JobsRead, ApplicationsRead, ApplicationsWrite} }

// ScopesOf are the scopes with the names, each once and in the order of Scopes;
// false if one of them is unknown. Without names it is JobsRead.
func ScopesOf(names []string) ([]Scope, bool) {
	if len(names) == 0 {
		return []Scope{JobsRead}, true
	}
	var out []Scope
	for _, s := range Scopes() {
		if slices.Contains(names, string(s)) {
			out = append(out, s)
		}
	}
	return out, !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(Scopes(), Scope(name)) })
}

// Covers reports whether all of the scopes are among those that there are.
func Covers(there, scopes []Scope) bool {
	return !slices.ContainsFunc(scopes, func(s Scope) bool { return !slices.Contains(there, s) })
}

// Client is the application with the client_id, whosesoever it is, or
// ErrAppNotFound.
func (s *Service) Client(ctx context.Context, clientID string) (App, error) {
	clientID, ok := id.Canonical(clientID)
	if !ok {
		return App{}, ErrAppNotFound
	}
	return s.Apps.ByID(ctx, clientID)
}

// Owner is who made the application, by name.
func (s *Service) Owner(ctx context.Context, a App) (string, error) {
	return s.People.Maker(ctx, a.OwnerID)
}

// Together runs fn in one transaction. fn may run twice.
func (s *Service) Together(ctx context.Context, fn func(context.Context) error) error {
	return s.Tx.Do(ctx, fn)
}

// Authorize begins an authorization with its code, of which hash is kept.
func (s *Service) Authorize(ctx context.Context, appID, userID string, scopes []Scope, hash, redirectURI, challenge string) error {
	now := s.Clock.Now()
	g := Grant{ID: s.NewID(), AppID: appID, UserID: userID, Scopes: scopes, CreatedAt: now, ExpiresAt: now.Add(GrantLife)}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Grants.Add(ctx, g, Token{Hash: hash, GrantID: g.ID, Kind: Code, Scopes: scopes, RedirectURI: redirectURI, Challenge: challenge, IssuedAt: now, ExpiresAt: now.Add(CodeLife)})
	})
}

// Issued is the token of the kind with the hash and its authorization, and
// whether it still works, or ErrTokenNotFound.
func (s *Service) Issued(ctx context.Context, kind TokenKind, hash string) (t Token, g Grant, active bool, err error) {
	if hash == "" {
		return t, g, false, ErrTokenNotFound
	}
	t, g, err = s.Grants.Find(ctx, kind, hash)
	return t, g, t.Active(g, s.Clock.Now()), err
}

// SpendToken uses a code or a refresh token up, and ends the access tokens that
// came before. False if somebody else has used it.
func (s *Service) SpendToken(ctx context.Context, grantID, hash string) (ok bool, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		if ok, err = s.Grants.Spend(ctx, hash, now); err != nil || !ok {
			return err
		}
		return s.Grants.EndAccess(ctx, grantID, now)
	})
	return ok, err
}

// IssueToken adds an access or a refresh token to the authorization, of which
// hash is kept.
func (s *Service) IssueToken(ctx context.Context, kind TokenKind, g Grant, scopes []Scope, hash string) error {
	now := s.Clock.Now()
	life := AccessLife
	if kind == Refresh {
		life = RefreshLife
	}
	expires := now.Add(life)
	if expires.After(g.ExpiresAt) {
		expires = g.ExpiresAt
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Grants.AddToken(ctx, Token{Hash: hash, GrantID: g.ID, Kind: kind, Scopes: scopes, IssuedAt: now, ExpiresAt: expires})
	})
}

// EndGrant ends an authorization with all that came from it, at once.
func (s *Service) EndGrant(ctx context.Context, grantID string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Grants.End(ctx, grantID, s.Clock.Now()) })
}

// AuthenticateToken says for whom the access token speaks, or
// fault.ErrUnauthorized.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Caller, error) {
	hash := HashToken(Access, token)
	if hash == "" {
		return Caller{}, fault.ErrUnauthorized
	}
	t, g, a, err := s.Grants.Access(ctx, hash)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return Caller{}, fault.ErrUnauthorized
	case err != nil:
		return Caller{}, err
	case !t.Active(g, s.Clock.Now()):
		return Caller{}, fault.ErrUnauthorized
	}
	return Caller{App: a, UserID: g.UserID, Scopes: t.Scopes}, nil
}

const (
	// grantsKept is how long what is over can still be told from what never was,
	// so that a second use of it is noticed.
	grantsKept   = 24 * time.Hour
	grantsAtOnce = 500
)

func (s *Service) forgetGrants(ctx context.Context) error {
	before := s.Clock.Now().Add(-grantsKept)
	for {
		n, err := s.Grants.Forget(ctx, before, grantsAtOnce)
		if err != nil || n < grantsAtOnce {
			return err
		}
	}
}
