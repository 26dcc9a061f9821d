package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/ory/fosite"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

// The names of form parameters and methods in the library.
const (
	formRedirect  = "redirect_uri"
	formChallenge = "code_challenge"
	formMethod    = "code_challenge_method"
	s256          = "S256"
)

// store implements the storage interfaces of the library with the module. A request of
// the library is an authorization of the module, with the same id.
type store struct{ module *integrations.Service }

// session is the session of a request, with the grant and the token.
type session struct {
	fosite.DefaultSession
	grant integrations.Grant
	token integrations.Token
}

// Clone implements fosite.Session.
func (s *session) Clone() fosite.Session {
	c := *s
	c.ExpiresAt = map[fosite.TokenType]time.Time{}
	return &c
}

func newClient(a integrations.App) fosite.Client {
	scopes := fosite.Arguments{}
	for _, s := range integrations.Scopes() {
		scopes = append(scopes, string(s))
	}
	return client{DefaultClient: &fosite.DefaultClient{
		ID: a.ID, Secret: []byte(a.SecretHash), Public: a.Public, RedirectURIs: a.RedirectURIs, Scopes: scopes,
		ResponseTypes: []string{"code"}, GrantTypes: []string{grantCode, grantRefresh},
	}, app: a}
}

type client struct {
	*fosite.DefaultClient
	app integrations.App
}

// GetClient implements fosite.ClientManager.
func (s store) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	a, err := s.module.Client(ctx, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, fosite.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	return newClient(a), nil
}

var errNoAssertions = errors.New("clients do not sign assertions")

// ClientAssertionJWTValid implements fosite.ClientManager.
func (store) ClientAssertionJWTValid(context.Context, string) error { return errNoAssertions }

// SetClientAssertionJWT implements fosite.ClientManager.
func (store) SetClientAssertionJWT(context.Context, string, time.Time) error { return errNoAssertions }

func names(scopes []integrations.Scope) fosite.Arguments {
	out := make(fosite.Arguments, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return out
}

func scopes(names []string) []integrations.Scope {
	out := make([]integrations.Scope, len(names))
	for i, n := range names {
		out[i] = integrations.Scope(n)
	}
	return out
}

// request returns the authorization of a token as the library expects it.
func (store) request(i integrations.IssuedToken) *fosite.Request {
	t, g := i.Token, i.Grant
	form := url.Values{}
	if t.Kind == integrations.Code {
		form = url.Values{formRedirect: {t.RedirectURI}, formChallenge: {t.Challenge}, formMethod: {s256}}
	}
	return &fosite.Request{ID: g.ID, RequestedAt: g.CreatedAt, Client: newClient(i.App), RequestedScope: names(g.Scopes), GrantedScope: names(t.Scopes), Form: form,
		Session: &session{DefaultSession: fosite.DefaultSession{Subject: g.UserID}, grant: g, token: t}}
}

// findToken returns the request of an issued token. For a used token it returns the request
// and the error used, for other inactive ones fosite.ErrNotFound.
func (s store) findToken(ctx context.Context, kind integrations.TokenKind, hash string, used error) (fosite.Requester, error) {
	t, active, err := s.module.Issued(ctx, kind, hash)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil, fosite.ErrNotFound
	case err != nil:
		return nil, err
	case !active && t.Token.UsedAt == nil:
		return nil, fosite.ErrNotFound
	}
	if !active {
		err = used
	}
	return s.request(t), err
}

// CreateAuthorizeCodeSession implements oauth2.AuthorizeCodeStorage.
func (s store) CreateAuthorizeCodeSession(ctx context.Context, hash string, r fosite.Requester) error {
	form := r.GetRequestForm()
	return s.module.Authorize(ctx, r.GetClient().GetID(), r.GetSession().GetSubject(), scopes(r.GetGrantedScopes()), hash, form.Get(formRedirect), form.Get(formChallenge))
}

// GetAuthorizeCodeSession implements oauth2.AuthorizeCodeStorage.
func (s store) GetAuthorizeCodeSession(ctx context.Context, hash string, _ fosite.Session) (fosite.Requester, error) {
	return s.findToken(ctx, integrations.Code, hash, fosite.ErrInvalidatedAuthorizeCode)
}

// InvalidateAuthorizeCodeSession implements oauth2.AuthorizeCodeStorage.
func (s store) InvalidateAuthorizeCodeSession(ctx context.Context, hash string) error {
	return s.useToken(ctx, integrations.Code, hash)
}

func (s store) useToken(ctx context.Context, kind integrations.TokenKind, hash string) error {
	ok, err := s.module.UseToken(ctx, kind, hash)
	if err == nil && !ok {
		err = fosite.ErrSerializationFailure
	}
	return err
}

// CreateAccessTokenSession implements oauth2.AccessTokenStorage.
func (s store) CreateAccessTokenSession(ctx context.Context, hash string, r fosite.Requester) error {
	return s.module.IssueToken(ctx, integrations.Access, grantOf(r), scopes(r.GetGrantedScopes()), hash)
}

// GetAccessTokenSession implements oauth2.AccessTokenStorage.
func (s store) GetAccessTokenSession(ctx context.Context, hash string, _ fosite.Session) (fosite.Requester, error) {
	return s.findToken(ctx, integrations.Access, hash, fosite.ErrInactiveToken)
}

// DeleteAccessTokenSession implements oauth2.AccessTokenStorage.
func (store) DeleteAccessTokenSession(context.Context, string) error { return nil }

// CreateRefreshTokenSession implements oauth2.RefreshTokenStorage. Its scopes
// are those of the authorization, also when the access token beside it has fewer
// (RFC 6749 §6).
func (s store) CreateRefreshTokenSession(ctx context.Context, hash, _ string, r fosite.Requester) error {
	g := grantOf(r)
	return s.module.IssueToken(ctx, integrations.Refresh, g, g.Scopes, hash)
}

// GetRefreshTokenSession implements oauth2.RefreshTokenStorage.
func (s store) GetRefreshTokenSession(ctx context.Context, hash string, _ fosite.Session) (fosite.Requester, error) {
	return s.findToken(ctx, integrations.Refresh, hash, fosite.ErrInactiveToken)
}

// DeleteRefreshTokenSession implements oauth2.RefreshTokenStorage. It is called before the
// whole grant is revoked.
func (store) DeleteRefreshTokenSession(context.Context, string) error { return nil }

// RotateRefreshToken implements oauth2.RefreshTokenStorage.
func (s store) RotateRefreshToken(ctx context.Context, _, hash string) error {
	return s.useToken(ctx, integrations.Refresh, hash)
}

// RevokeRefreshToken implements oauth2.TokenRevocationStorage.
func (s store) RevokeRefreshToken(ctx context.Context, grantID string) error {
	return s.module.EndGrant(ctx, grantID)
}

// RevokeAccessToken implements oauth2.TokenRevocationStorage.
func (s store) RevokeAccessToken(ctx context.Context, grantID string) error {
	return s.module.EndGrant(ctx, grantID)
}

// CreatePKCERequestSession implements pkce.PKCERequestStorage. The challenge is
// kept with its code.
func (store) CreatePKCERequestSession(context.Context, string, fosite.Requester) error { return nil }

// GetPKCERequestSession implements pkce.PKCERequestStorage.
func (s store) GetPKCERequestSession(ctx context.Context, hash string, _ fosite.Session) (fosite.Requester, error) {
	return s.findToken(ctx, integrations.Code, hash, fosite.ErrNotFound)
}

// DeletePKCERequestSession implements pkce.PKCERequestStorage.
func (store) DeletePKCERequestSession(context.Context, string) error { return nil }

func grantOf(r fosite.Requester) integrations.Grant {
	s, _ := r.GetSession().(*session)
	return s.grant
}

// tokens generates tokens and their hashes. The store checks their expiry by the injected
// clock.
type tokens struct{}

func newToken(kind integrations.TokenKind) (token, hash string, err error) {
	token = integrations.NewToken(kind)
	return token, integrations.HashToken(kind, token), nil
}

// AccessTokenSignature implements oauth2.AccessTokenStrategy.
func (tokens) AccessTokenSignature(_ context.Context, token string) string {
	return integrations.HashToken(integrations.Access, token)
}

// GenerateAccessToken implements oauth2.AccessTokenStrategy.
func (tokens) GenerateAccessToken(context.Context, fosite.Requester) (token, hash string, err error) {
	return newToken(integrations.Access)
}

// ValidateAccessToken implements oauth2.AccessTokenStrategy.
func (tokens) ValidateAccessToken(context.Context, fosite.Requester, string) error { return nil }

// RefreshTokenSignature implements oauth2.RefreshTokenStrategy.
func (tokens) RefreshTokenSignature(_ context.Context, token string) string {
	return integrations.HashToken(integrations.Refresh, token)
}

// GenerateRefreshToken implements oauth2.RefreshTokenStrategy.
func (tokens) GenerateRefreshToken(context.Context, fosite.Requester) (token, hash string, err error) {
	return newToken(integrations.Refresh)
}

// ValidateRefreshToken implements oauth2.RefreshTokenStrategy.
func (tokens) ValidateRefreshToken(context.Context, fosite.Requester, string) error { return nil }

// AuthorizeCodeSignature implements oauth2.AuthorizeCodeStrategy.
func (tokens) AuthorizeCodeSignature(_ context.Context, token string) string {
	return integrations.HashToken(integrations.Code, token)
}

// GenerateAuthorizeCode implements oauth2.AuthorizeCodeStrategy.
func (tokens) GenerateAuthorizeCode(context.Context, fosite.Requester) (token, hash string, err error) {
	return newToken(integrations.Code)
}

// ValidateAuthorizeCode implements oauth2.AuthorizeCodeStrategy.
func (tokens) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error { return nil }

// secrets compares client secrets with their hashes. They are random, so that a fast hash
// suffices.
type secrets struct{}

var errSecret = errors.New("invalid client secret")

// Compare implements fosite.Hasher.
func (secrets) Compare(_ context.Context, hash, secret []byte) error {
	if len(hash) == 0 || subtle.ConstantTimeCompare(hash, []byte(auth.HashSecret(string(secret)))) != 1 {
		return errSecret
	}
	return nil
}

// Hash implements fosite.Hasher.
func (secrets) Hash(_ context.Context, secret []byte) ([]byte, error) {
	return []byte(auth.HashSecret(string(secret))), nil
}

// narrowScopes reduces the scopes of a refresh to the requested ones. It returns false if
// one of them was not granted.
func narrowScopes(r *fosite.AccessRequest, asked []string) bool {
	if len(asked) == 0 {
		return true
	}
	if slices.ContainsFunc(asked, func(name string) bool { return !r.GrantedScope.Has(name) }) {
		return false
	}
	kept := fosite.Arguments{}
	for _, name := range r.GrantedScope {
		if slices.Contains(asked, name) {
			kept = append(kept, name)
		}
	}
	r.GrantedScope = kept
	return true
}
