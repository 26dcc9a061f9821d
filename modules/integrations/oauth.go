package integrations

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/tx"
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

// Errors of OAuth have the error codes of RFC 6749 §4.1.2.1 and §5.2. Their messages are
// the error_description.
var (
	ErrInvalidClient = fault.New(fault.Unauthenticated, "invalid_client", "The client could not be authenticated: it is unknown, its secret is wrong or missing, or it used another method.")
	ErrInvalidGrant  = oauthError("invalid_grant", "The code or refresh token is unknown, has expired, was revoked, or was issued to another client.")
	ErrAccessDenied  = oauthError("access_denied", "The user has denied the request.")
	errInvalidScope  = oauthError("invalid_scope", "A requested scope is unknown or was not granted.")
)

func oauthError(code, description string) *fault.Error {
	return fault.New(fault.Invalid, code, description)
}

// InvalidRequest returns the OAuth error invalid_request.
func InvalidRequest(description string) *fault.Error {
	return oauthError("invalid_request", description)
}

// unsupportedParameter returns the error for a parameter of OpenID Connect (Core §3.1.2.6).
func unsupportedParameter(name string) *fault.Error {
	return oauthError(name+"_not_supported", "The parameter "+name+" is not supported.")
}

// client returns the application with the client_id. It fails with ErrAppNotFound if there
// is none or its owner's account is not active.
func (s *Service) client(ctx context.Context, clientID string) (App, error) {
	a, err := s.findApp(ctx, clientID)
	if err == nil {
		err = s.requireActive(ctx, a.OwnerID)
	}
	return a, err
}

// AuthenticateClient returns the application with the client_id if it has the secret or
// is public, else ErrInvalidClient.
func (s *Service) AuthenticateClient(ctx context.Context, clientID, secret string) (App, error) {
	a, err := s.client(ctx, clientID)
	if err != nil {
		return App{}, fault.IfNotFound(err, ErrInvalidClient)
	}
	if !a.Public && (a.SecretHash == "" || subtle.ConstantTimeCompare([]byte(a.SecretHash), []byte(auth.HashSecret(secret))) != 1) {
		return App{}, ErrInvalidClient
	}
	return a, nil
}

// Owner returns the name of the application's owner.
func (s *Service) Owner(ctx context.Context, a App) (string, error) {
	return s.Accounts.OwnerName(ctx, a.OwnerID)
}

// s256 is the only method of PKCE that is supported.
const s256 = "S256"

var (
	// s256Challenge matches 256 bits in base64url (RFC 7636 §4.2).
	s256Challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	codeVerifier  = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`) // RFC 7636 §4.1
)

// verifies reports whether the challenge was made from the verifier (RFC 7636 §4.6).
func verifies(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	made := base64.RawURLEncoding.EncodeToString(sum[:])
	return codeVerifier.MatchString(verifier) && subtle.ConstantTimeCompare([]byte(made), []byte(challenge)) == 1
}

// AuthorizationRequest is a request for an authorization code (RFC 6749 §4.1.1).
type AuthorizationRequest struct {
	App    App
	Scopes []Scope
	// Redirect is the address to which the browser returns. It is nil if the request has
	// no valid client and redirect_uri: then the user sees the error, not the client.
	Redirect *url.URL
	State    string
	// redirectURI is the parameter, empty if it was left out.
	redirectURI, challenge, prompt string
}

// ParseAuthorization returns the authorization request with the parameters. The request
// is valid if err is nil; Redirect and State are also set with other errors.
func (s *Service) ParseAuthorization(ctx context.Context, params url.Values) (r AuthorizationRequest, err error) {
	for _, name := range []string{"request", "request_uri"} {
		if params.Get(name) != "" {
			return r, unsupportedParameter(name)
		}
	}
	r = AuthorizationRequest{State: params.Get("state"), redirectURI: params.Get("redirect_uri"), challenge: params.Get("code_challenge"), prompt: params.Get("prompt")}
	if r.App, err = s.client(ctx, params.Get("client_id")); err != nil {
		return r, fault.IfNotFound(err, InvalidRequest("The client_id is unknown."))
	}
	uri := r.redirectURI
	if uri == "" && len(r.App.RedirectURIs) == 1 {
		uri = r.App.RedirectURIs[0]
	}
	redirect, err := url.Parse(uri)
	if err != nil || !r.App.RedirectsTo(uri) {
		return r, InvalidRequest("The redirect_uri is none of those that are registered.")
	}
	r.Redirect = redirect
	scopes, known := parseScopes(params.Get("scope"), []Scope{JobsRead})
	r.Scopes = scopes
	mode := params.Get("response_mode")
	switch {
	case params.Get("registration") != "":
		err = unsupportedParameter("registration")
	case params.Get("response_type") == "":
		err = InvalidRequest("response_type is missing.")
	case params.Get("response_type") != "code":
		err = oauthError("unsupported_response_type", "The response_type has to be code.")
	case mode != "" && mode != "query":
		err = oauthError("unsupported_response_mode", "The response_mode has to be query.")
	case params.Get("code_challenge_method") != s256 || !s256Challenge.MatchString(r.challenge):
		err = InvalidRequest("PKCE is required: code_challenge, of 43 characters, with code_challenge_method=S256.")
	case !known:
		err = errInvalidScope
	}
	return r, err
}

// requiresNewConsent reports whether an earlier consent does not suffice: because the
// client requests a new one, or because another program may receive the redirect. It may
// have registered the scheme of a public client, or listen at its port (RFC 8252 §8.6).
func (r AuthorizationRequest) requiresNewConsent() bool {
	return slices.Contains(strings.Fields(r.prompt), "consent") || r.App.Public && r.Redirect.Scheme != "https"
}

// approvalsPerAccount limits the authorizations that an account creates, of which each is
// stored for a while.
var approvalsPerAccount = limit.Rule{Name: "oauth.approvals", Max: 60, Per: time.Minute}

// Approve stores the consent of the caller and returns an authorization code. It fails
// with ErrAppNotFound if the application does not exist or the caller's account is not
// active.
func (s *Service) Approve(ctx context.Context, by auth.Actor, r AuthorizationRequest) (code string, err error) {
	return s.authorize(ctx, by, r, func(ctx context.Context) error { return s.Consent(ctx, by, r.App.ID, r.Scopes) })
}

// ApproveAgain returns an authorization code if the caller has consented to the scopes
// before and the request requires no new consent, else ErrConsentNotFound.
func (s *Service) ApproveAgain(ctx context.Context, by auth.Actor, r AuthorizationRequest) (code string, err error) {
	if r.requiresNewConsent() {
		return "", ErrConsentNotFound
	}
	if err := s.requireConsent(ctx, by, r); err != nil {
		return "", err
	}
	return s.authorize(ctx, by, r, func(ctx context.Context) error {
		return s.signedIn(ctx, by, func(ctx context.Context) error { return s.requireConsent(ctx, by, r) })
	})
}

// requireConsent fails with ErrConsentNotFound unless the caller has consented to the
// scopes of the request.
func (s *Service) requireConsent(ctx context.Context, by auth.Actor, r AuthorizationRequest) error {
	c, found, err := s.consent(ctx, by.UserID, r.App.ID)
	if err == nil && (!found || !Covers(c.Scopes, r.Scopes)) {
		err = ErrConsentNotFound
	}
	return err
}

// authorize creates an authorization and returns its code, in one transaction with
// consent.
func (s *Service) authorize(ctx context.Context, by auth.Actor, r AuthorizationRequest, consent func(ctx context.Context) error) (code string, err error) {
	if err := by.RequireUser(); err != nil {
		return "", err
	}
	if err := limit.Take(ctx, s.Limiter, approvalsPerAccount, by.UserID); err != nil {
		return "", err
	}
	code = NewToken(Code)
	now := s.Clock.Now()
	g := Grant{ID: s.NewID(), AppID: r.App.ID, UserID: by.UserID, Scopes: r.Scopes, CreatedAt: now, ExpiresAt: now.Add(GrantLife)}
	t := Token{Hash: HashToken(Code, code), GrantID: g.ID, Kind: Code, Scopes: r.Scopes, RedirectURI: r.redirectURI, Challenge: r.challenge, IssuedAt: now, ExpiresAt: now.Add(CodeLife)}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := consent(ctx); err != nil {
			return err
		}
		if err := s.requireActive(ctx, by.UserID); err != nil {
			return err
		}
		return s.Grants.Create(ctx, t, &g)
	})
	return code, err
}

// TokenPair is an access token and the refresh token that renews it.
type TokenPair struct {
	Access, Refresh string
	// ExpiresIn and Scopes are those of the access token.
	ExpiresIn time.Duration
	Scopes    []Scope
}

// ExchangeCode returns tokens for an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.5).
// Of several exchanges of a code one succeeds; the others revoke its tokens.
func (s *Service) ExchangeCode(ctx context.Context, client App, code, redirectURI, verifier string) (TokenPair, error) {
	return s.redeem(ctx, client, Code, code, func(t IssuedToken) ([]Scope, error) {
		if t.Token.RedirectURI != "" && t.Token.RedirectURI != redirectURI {
			return nil, oauthError("invalid_grant", "The redirect_uri is not that of the authorization request.")
		}
		if !verifies(verifier, t.Token.Challenge) {
			return nil, oauthError("invalid_grant", "The code_verifier does not match the code_challenge.")
		}
		return t.Token.Scopes, nil
	})
}

// Refresh returns new tokens for a refresh token, whose authorization it revokes if the
// token has been used before (RFC 6749 §6, RFC 9700 §4.14.2). The access token may have
// fewer scopes.
func (s *Service) Refresh(ctx context.Context, client App, token, scope string) (TokenPair, error) {
	return s.redeem(ctx, client, Refresh, token, func(t IssuedToken) ([]Scope, error) {
		scopes, known := parseScopes(scope, t.Token.Scopes)
		if !known || !Covers(t.Token.Scopes, scopes) {
			return nil, errInvalidScope
		}
		return scopes, nil
	})
}

// redeem exchanges a code or refresh token of the client for tokens with the scopes that
// check returns. A token that check rejects can still be used.
func (s *Service) redeem(ctx context.Context, client App, kind TokenKind, token string, check func(IssuedToken) ([]Scope, error)) (out TokenPair, err error) {
	reused := false
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		t, active, err := s.findToken(ctx, token, kind)
		if err != nil {
			return err
		}
		if t.App.ID != client.ID {
			return ErrInvalidGrant
		}
		if reused = t.Token.UsedAt != nil; reused {
			return s.Grants.End(ctx, t.Grant.ID, s.Clock.Now())
		}
		if !active {
			return ErrInvalidGrant
		}
		scopes, err := check(t)
		if err != nil {
			return err
		}
		if used, err := s.Grants.Use(ctx, t.Grant.ID, t.Token.Hash, s.Clock.Now()); err != nil {
			return err
		} else if !used {
			return tx.ErrStale // another transaction has used it
		}
		out, err = s.issueTokens(ctx, t.Grant, scopes)
		return err
	})
	if err == nil && reused {
		err = oauthError("invalid_grant", "The code or refresh token was used before. All tokens of the authorization are revoked.")
	}
	return out, fault.IfNotFound(err, ErrInvalidGrant)
}

// issueTokens adds an access token with the scopes to the authorization, and a refresh
// token with all scopes of the authorization.
func (s *Service) issueTokens(ctx context.Context, g Grant, scopes []Scope) (TokenPair, error) {
	now := s.Clock.Now()
	out := TokenPair{Access: NewToken(Access), Refresh: NewToken(Refresh), ExpiresIn: min(AccessLife, g.ExpiresAt.Sub(now)), Scopes: scopes}
	access := Token{Hash: HashToken(Access, out.Access), GrantID: g.ID, Kind: Access, Scopes: scopes, IssuedAt: now, ExpiresAt: now.Add(out.ExpiresIn)}
	refresh := Token{Hash: HashToken(Refresh, out.Refresh), GrantID: g.ID, Kind: Refresh, Scopes: g.Scopes, IssuedAt: now, ExpiresAt: now.Add(min(RefreshLife, g.ExpiresAt.Sub(now)))}
	if err := s.Grants.Create(ctx, access, nil); err != nil {
		return TokenPair{}, err
	}
	return out, s.Grants.Create(ctx, refresh, nil)
}

// findToken returns the token if it is of one of the kinds, or ErrTokenNotFound. It is
// active if it can be used and the accounts of the user and of the application's owner are
// active.
func (s *Service) findToken(ctx context.Context, token string, kinds ...TokenKind) (t IssuedToken, active bool, err error) {
	i := slices.IndexFunc(kinds, func(kind TokenKind) bool { return HashToken(kind, token) != "" })
	if i < 0 {
		return t, false, ErrTokenNotFound
	}
	if t, err = s.Grants.Get(ctx, kinds[i], HashToken(kinds[i], token)); err != nil || !t.Token.Active(t.Grant, s.Clock.Now()) {
		return t, false, err
	}
	active, err = s.Accounts.IsActive(ctx, t.Grant.UserID, t.App.OwnerID)
	return t, active, err
}

// Introspect returns an access or refresh token of the client, and false if it is not
// active or not the client's (RFC 7662).
func (s *Service) Introspect(ctx context.Context, client App, token string) (IssuedToken, bool, error) {
	t, active, err := s.findToken(ctx, token, Access, Refresh)
	err = fault.IfNotFound(err, nil)
	return t, active && t.App.ID == client.ID, err
}

// Revoke ends the authorization of an access or refresh token of the client, with all of
// its tokens (RFC 7009), also if the token itself has expired or was used. Other tokens
// are ignored.
func (s *Service) Revoke(ctx context.Context, client App, token string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		t, _, err := s.findToken(ctx, token, Access, Refresh)
		if err != nil || t.App.ID != client.ID {
			return fault.IfNotFound(err, nil)
		}
		return s.Grants.End(ctx, t.Grant.ID, s.Clock.Now())
	})
}

// AuthenticateToken returns the caller behind the access token, or
// fault.ErrUnauthorized.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Caller, error) {
	t, active, err := s.findToken(ctx, token, Access)
	if err == nil && !active {
		err = fault.ErrUnauthorized
	}
	if err != nil {
		return Caller{}, fault.IfNotFound(err, fault.ErrUnauthorized)
	}
	return Caller{App: t.App, UserID: t.Grant.UserID, Scopes: t.Token.Scopes}, nil
}

// grantRetention is how long expired tokens are stored, so that their use is distinguished
// from that of unknown ones.
const grantRetention = 24 * time.Hour
