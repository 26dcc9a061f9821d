package integrations

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// Lifetimes of tokens.
const (
	CodeLife    = 60 * time.Second
	AccessLife  = 15 * time.Minute
	RefreshLife = 7 * 24 * time.Hour  // sliding: renewed by each refresh
	GrantLife   = 30 * 24 * time.Hour // absolute
)

// TokenKind is the kind of a token.
type TokenKind string

// The kinds of tokens.
const (
	Code    TokenKind = "code"
	Access  TokenKind = "access"
	Refresh TokenKind = "refresh"
)

var tokenPrefixes = map[TokenKind]string{Code: "loc_ac_", Access: "loc_at_", Refresh: "loc_rt_"}

const tokenLength = 43

// NewToken returns a random token of 256 bits, with a prefix for its kind.
func NewToken(kind TokenKind) string { return auth.NewSecret(tokenPrefixes[kind], tokenLength) }

// HashToken returns the hash of a token of the kind, empty for text of another form.
func HashToken(kind TokenKind, token string) string {
	if len(token) != len(tokenPrefixes[kind])+tokenLength || !strings.HasPrefix(token, tokenPrefixes[kind]) {
		return ""
	}
	return auth.HashSecret(token)
}

// Grant is an authorization, with the family of tokens that were issued for it.
type Grant struct {
	ID, AppID, UserID string
	Scopes            []Scope
	CreatedAt         time.Time
	// ExpiresAt is when all tokens expire, regardless of refreshes.
	ExpiresAt time.Time
	EndedAt   *time.Time
}

// Token is a code, an access token or a refresh token. Only its hash is stored.
type Token struct {
	Hash    string
	GrantID string
	Kind    TokenKind
	// Scopes are those of the grant; an access token may have fewer.
	Scopes []Scope
	// RedirectURI of a code is that of the authorization request, if there was one, and
	// Challenge its code challenge (RFC 7636, S256).
	RedirectURI, Challenge string
	IssuedAt, ExpiresAt    time.Time
	UsedAt                 *time.Time
}

// Active reports whether the token can be used.
func (t Token) Active(g Grant, now time.Time) bool {
	return t.UsedAt == nil && g.EndedAt == nil && now.Before(t.ExpiresAt) && now.Before(g.ExpiresAt)
}

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{JobsRead, ApplicationsRead, ApplicationsWrite} }

// ScopesOf returns the scopes with the names, each once and in the order of Scopes;
// false if one of them is unknown. The default is JobsRead.
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

// Covers reports whether all of the scopes are granted.
func Covers(granted, scopes []Scope) bool {
	return !slices.ContainsFunc(scopes, func(s Scope) bool { return !slices.Contains(granted, s) })
}

// Client returns the application with the client_id, or ErrAppNotFound.
func (s *Service) Client(ctx context.Context, clientID string) (App, error) {
	clientID, ok := id.Canonical(clientID)
	if !ok {
		return App{}, ErrAppNotFound
	}
	return s.findApp(ctx, clientID)
}

// Owner returns the name of the application's owner.
func (s *Service) Owner(ctx context.Context, a App) (string, error) {
	return s.Accounts.OwnerName(ctx, a.OwnerID)
}

// InTransaction runs fn in one transaction. fn may run twice.
func (s *Service) InTransaction(ctx context.Context, fn func(context.Context) error) error {
	return s.Tx.Do(ctx, fn)
}

// Authorize creates an authorization with its code, whose hash is stored. It fails
// with ErrAppNotFound if the application does not exist or the user's account is not
// active.
func (s *Service) Authorize(ctx context.Context, appID, userID string, scopes []Scope, hash, redirectURI, challenge string) error {
	now := s.Clock.Now()
	g := Grant{ID: s.NewID(), AppID: appID, UserID: userID, Scopes: scopes, CreatedAt: now, ExpiresAt: now.Add(GrantLife)}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if active, err := s.Accounts.IsActive(ctx, userID); err != nil {
			return err
		} else if !active {
			return ErrAppNotFound
		}
		return s.Grants.Create(ctx, Token{Hash: hash, GrantID: g.ID, Kind: Code, Scopes: scopes, RedirectURI: redirectURI, Challenge: challenge, IssuedAt: now, ExpiresAt: now.Add(CodeLife)}, &g)
	})
}

// Issued returns the token of the kind with the hash, and whether it is active. It
// fails with ErrTokenNotFound, also if the user's account is not active.
func (s *Service) Issued(ctx context.Context, kind TokenKind, hash string) (t IssuedToken, active bool, err error) {
	if hash == "" {
		return t, false, ErrTokenNotFound
	}
	if t, err = s.Grants.Get(ctx, kind, hash); err != nil {
		return IssuedToken{}, false, err
	}
	switch exists, err := s.Accounts.IsActive(ctx, t.Grant.UserID); {
	case err != nil:
		return IssuedToken{}, false, err
	case !exists:
		return IssuedToken{}, false, ErrTokenNotFound
	}
	return t, t.Token.Active(t.Grant, s.Clock.Now()), nil
}

// UseToken marks a code or a refresh token as used, and ends the access tokens
// issued before. It reports false if the token had been used.
func (s *Service) UseToken(ctx context.Context, kind TokenKind, hash string) (ok bool, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		t, err := s.Grants.Get(ctx, kind, hash)
		if err != nil {
			return err
		}
		ok, err = s.Grants.Use(ctx, t.Grant.ID, hash, s.Clock.Now())
		return err
	})
	return ok, err
}

// IssueToken adds an access or a refresh token to the authorization; its hash is
// stored.
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
		return s.Grants.Create(ctx, Token{Hash: hash, GrantID: g.ID, Kind: kind, Scopes: scopes, IssuedAt: now, ExpiresAt: expires}, nil)
	})
}

// EndGrant ends an authorization with all of its tokens.
func (s *Service) EndGrant(ctx context.Context, grantID string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Grants.End(ctx, grantID, s.Clock.Now()) })
}

// AuthenticateToken returns the caller behind the access token, or
// fault.ErrUnauthorized.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Caller, error) {
	hash := HashToken(Access, token)
	if hash == "" {
		return Caller{}, fault.ErrUnauthorized
	}
	t, err := s.Grants.Get(ctx, Access, hash)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return Caller{}, fault.ErrUnauthorized
	case err != nil:
		return Caller{}, err
	case !t.Token.Active(t.Grant, s.Clock.Now()):
		return Caller{}, fault.ErrUnauthorized
	}
	if err := s.requireActive(ctx, t.Grant.UserID); err != nil {
		return Caller{}, err
	}
	return Caller{App: t.App, UserID: t.Grant.UserID, Scopes: t.Token.Scopes}, nil
}

const (
	// grantRetention is how long expired tokens are stored, so that their use is
	// distinguished from that of unknown ones.
	grantRetention     = 24 * time.Hour
	grantsPerStatement = 500
)

func (s *Service) deleteGrants(ctx context.Context) error {
	before := s.Clock.Now().Add(-grantRetention)
	return errors.Join(s.expire(ctx, GrantsKind, before, grantsPerStatement), s.expire(ctx, TokensKind, before, grantsPerStatement))
}
