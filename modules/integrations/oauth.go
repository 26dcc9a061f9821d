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

// Lifetimes of tokens. A refresh issues a new refresh token. Its RefreshLife begins at the refresh.
// All tokens of an authorization expire GrantLife after the user's consent.
const (
	CodeLife    = 60 * time.Second
	AccessLife  = 15 * time.Minute
	RefreshLife = 7 * 24 * time.Hour
	GrantLife   = 30 * 24 * time.Hour
)

// TokenKind is the kind of a token.
type TokenKind string

// The kinds of tokens.
const (
	Code    TokenKind = "code"
	Access  TokenKind = "access"
	Refresh TokenKind = "refresh"
)

// Grant is an authorization of an app by a user. A code, and then access and refresh tokens,
// are issued for it.
type Grant struct {
	ID, AppID, UserID string
	Scopes            []Scope
	CreatedAt         time.Time
	// ExpiresAt is the time at which all tokens of the authorization expire.
	ExpiresAt time.Time
	EndedAt   *time.Time // nil unless the authorization was revoked
}

// Token is a code, an access token or a refresh token. Only its hash is stored.
type Token struct {
	Hash    string
	GrantID string
	Kind    TokenKind
	// Scopes are the scopes of the grant. An access token may have fewer.
	Scopes []Scope
	// RedirectURI is the redirect_uri parameter of the authorization request. It may be
	// empty, and is set for codes only.
	RedirectURI string
	// Challenge is the code challenge of the authorization request (RFC 7636, S256). It is
	// set for codes only.
	Challenge           string
	IssuedAt, ExpiresAt time.Time
	UsedAt              *time.Time
}

// IsActive reports whether the token of the grant can be used.
func (t Token) IsActive(g Grant, now time.Time) bool {
	return t.UsedAt == nil && g.EndedAt == nil && now.Before(t.ExpiresAt) && now.Before(g.ExpiresAt)
}

// Errors of OAuth have the error codes of RFC 6749 §4.1.2.1 and §5.2. Their messages are
// the error_description.
var (
	ErrInvalidClient = fault.New(
		fault.Unauthenticated,
		"invalid_client",
		"The client could not be authenticated: it is unknown, its secret is wrong or missing, or it used another method.",
	)
	ErrInvalidGrant = oauthError(
		"invalid_grant",
		"The code or refresh token is unknown, has expired, was revoked, or was issued to another client.",
	)
	ErrAccessDenied = oauthError("access_denied", "The user has denied the request.")
	errInvalidScope = oauthError("invalid_scope", "A requested scope is unknown or was not granted.")
)

// oauthError returns an error with an error code of OAuth.
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

// findClient returns the application with the client_id. It fails with ErrAppNotFound if the
// application does not exist, or if the account of its owner is not active.
func (s *Service) findClient(ctx context.Context, clientID string) (App, error) {
	a, err := s.findApp(ctx, clientID)
	if err == nil {
		err = s.requireActive(ctx, a.OwnerID)
	}

	return a, err
}

// AuthenticateClient returns the application with the client_id if the secret is correct or
// the application is public. Otherwise it returns ErrInvalidClient.
func (s *Service) AuthenticateClient(ctx context.Context, clientID, secret string) (App, error) {
	client, err := s.findClient(ctx, clientID)
	if err != nil {
		return App{}, fault.IfNotFound(err, ErrInvalidClient)
	}

	hasSecret := client.SecretHash != ""

	isCorrect := hasSecret && subtle.ConstantTimeCompare([]byte(client.SecretHash), []byte(auth.HashSecret(secret))) == 1
	if !client.Public && !isCorrect {
		return App{}, ErrInvalidClient
	}

	return client, nil
}

// Owner returns the name of the application's owner.
func (s *Service) Owner(ctx context.Context, a App) (string, error) {
	return s.Accounts.OwnerName(ctx, a.OwnerID)
}

// s256 is the only method of PKCE (Proof Key for Code Exchange, RFC 7636) that the service
// supports. The verifier is a secret that the client sends with the code. The challenge in the
// authorization request is the SHA-256 hash of the verifier.
const s256 = "S256"

var (
	// s256Challenge matches 256 bits in base64url (RFC 7636 §4.2).
	s256Challenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	codeVerifier  = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`) // RFC 7636 §4.1
)

// matchesChallenge reports whether the challenge was made from the verifier (RFC 7636 §4.6).
func matchesChallenge(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	expected := base64.RawURLEncoding.EncodeToString(sum[:])
	return codeVerifier.MatchString(verifier) && subtle.ConstantTimeCompare([]byte(expected), []byte(challenge)) == 1
}

// AuthorizationRequest is a request for an authorization code (RFC 6749 §4.1.1).
type AuthorizationRequest struct {
	App    App
	Scopes []Scope
	// Redirect is the address to which the browser returns. It is nil if the client or the
	// redirect_uri is not valid. Errors are then shown to the user, and not sent to the
	// client.
	Redirect *url.URL
	State    string
	// The parameters redirect_uri, code_challenge and prompt, empty if absent.
	redirectURI, challenge, prompt string
}

// ParseAuthorization parses and validates the parameters of an authorization request. If it
// returns an error that can be sent to the client, Redirect and State of the request are set.
func (s *Service) ParseAuthorization(ctx context.Context, params url.Values) (r AuthorizationRequest, err error) {
	// These parameters contain or name a request object (OpenID Connect Core §6), which
	// replaces the other parameters, including the redirect_uri. The service does not
	// support request objects, so it does not know where it could send the error.
	for _, name := range []string{"request", "request_uri"} {
		if params.Get(name) != "" {
			return r, unsupportedParameter(name)
		}
	}

	r = AuthorizationRequest{
		State:       params.Get("state"),
		redirectURI: params.Get("redirect_uri"),
		challenge:   params.Get("code_challenge"),
		prompt:      params.Get("prompt"),
	}
	if r.App, err = s.findClient(ctx, params.Get("client_id")); err != nil {
		return r, fault.IfNotFound(err, InvalidRequest("The client_id is unknown."))
	}

	// A client with one registered URI may omit the parameter (RFC 6749 §3.1.2.3).
	uri := r.redirectURI
	if uri == "" && len(r.App.RedirectURIs) == 1 {
		uri = r.App.RedirectURIs[0]
	}

	redirect, err := url.Parse(uri)
	if err != nil || !r.App.RedirectsTo(uri) {
		return r, InvalidRequest("The redirect_uri is none of those that are registered.")
	}

	// From here on, errors can be sent to the client.
	r.Redirect = redirect

	defaultScopes := []Scope{JobsRead}
	scopes, areKnown := parseScopes(params.Get("scope"), defaultScopes)
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
	case !areKnown:
		err = errInvalidScope
	}

	return r, err
}

// requiresNewConsent reports whether the user must consent again. This is the case if the
// client requests it. It is also the case for the redirect address of a public client on the
// user's device: another program may have registered the same scheme, or listen at the same
// port (RFC 8252 §8.6).
func (r AuthorizationRequest) requiresNewConsent() bool {
	isRequested := slices.Contains(strings.Fields(r.prompt), "consent")
	redirectsToDevice := r.App.Public && r.Redirect.Scheme != "https"

	return isRequested || redirectsToDevice
}

// approvalsPerAccount limits the authorizations that an account creates, because each is
// stored until it expires.
var approvalsPerAccount = limit.Rule{Name: "oauth.approvals", Max: 60, Per: time.Minute}

// Approve stores the consent of the caller and returns an authorization code. It fails
// with ErrAppNotFound if the application does not exist or the caller's account is not
// active.
func (s *Service) Approve(ctx context.Context, by auth.Actor, r AuthorizationRequest) (code string, err error) {
	return s.authorize(ctx, by, r, func(ctx context.Context) error { return s.Consent(ctx, by, r.App.ID, r.Scopes) })
}

// ApproveAgain returns an authorization code without asking the caller. It fails with
// ErrConsentNotFound if the caller has not consented to the scopes before, or the request
// requires a new consent.
func (s *Service) ApproveAgain(ctx context.Context, by auth.Actor, r AuthorizationRequest) (code string, err error) {
	if r.requiresNewConsent() {
		return "", ErrConsentNotFound
	}

	// The first check avoids counting requests without a consent against the rate limit. The
	// check in the transaction of authorize locks the consent.
	if err := s.requireConsent(ctx, by, r); err != nil {
		return "", err
	}

	return s.authorize(ctx, by, r, func(ctx context.Context) error {
		return s.withSession(ctx, by, func(ctx context.Context) error { return s.requireConsent(ctx, by, r) })
	})
}

// requireConsent fails with ErrConsentNotFound unless the caller has consented to the
// scopes of the request.
func (s *Service) requireConsent(ctx context.Context, by auth.Actor, r AuthorizationRequest) error {
	c, exists, err := s.findConsent(ctx, by.UserID, r.App.ID)
	if err == nil && (!exists || !Covers(c.Scopes, r.Scopes)) {
		err = ErrConsentNotFound
	}

	return err
}

// authorize creates an authorization and returns its code. It calls consent, which stores or
// checks the consent of the caller, in the same transaction.
func (s *Service) authorize(
	ctx context.Context,
	by auth.Actor,
	r AuthorizationRequest,
	consent func(ctx context.Context) error,
) (code string, err error) {
	if err := by.RequireUser(); err != nil {
		return "", err
	}

	if err := limit.Take(ctx, s.Limiter, approvalsPerAccount, by.UserID); err != nil {
		return "", err
	}

	code = NewToken(Code)
	now := s.Clock.Now()
	grant := Grant{
		ID:        s.NewID(),
		AppID:     r.App.ID,
		UserID:    by.UserID,
		Scopes:    r.Scopes,
		CreatedAt: now,
		ExpiresAt: now.Add(GrantLife),
	}
	token := Token{
		Hash:        HashToken(Code, code),
		GrantID:     grant.ID,
		Kind:        Code,
		Scopes:      r.Scopes,
		RedirectURI: r.redirectURI,
		Challenge:   r.challenge,
		IssuedAt:    now,
		ExpiresAt:   now.Add(CodeLife),
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := consent(ctx); err != nil {
			return err
		}

		if err := s.requireActive(ctx, by.UserID); err != nil {
			return err
		}

		return s.Grants.Create(ctx, token, &grant)
	})

	return code, err
}

// TokenPair is an access token and the refresh token that renews it.
type TokenPair struct {
	Access, Refresh string
	ExpiresIn       time.Duration // of the access token
	Scopes          []Scope       // of the access token
}

// ExchangeCode returns tokens for an authorization code (RFC 6749 §4.1.3, RFC 7636 §4.5). A
// second exchange of the same code fails and revokes the tokens of the first.
func (s *Service) ExchangeCode(ctx context.Context, client App, code, redirectURI, verifier string) (TokenPair, error) {
	return s.redeem(ctx, client, Code, code, func(t IssuedToken) ([]Scope, error) {
		if t.Token.RedirectURI != "" && t.Token.RedirectURI != redirectURI {
			return nil, oauthError("invalid_grant", "The redirect_uri is not that of the authorization request.")
		}

		if !matchesChallenge(verifier, t.Token.Challenge) {
			return nil, oauthError("invalid_grant", "The code_verifier does not match the code_challenge.")
		}

		return t.Token.Scopes, nil
	})
}

// Refresh returns new tokens for a refresh token (RFC 6749 §6). If the token was used
// before, Refresh fails and revokes the authorization (RFC 9700 §4.14.2). The parameter
// scope restricts the scopes of the access token, unless it is empty.
func (s *Service) Refresh(ctx context.Context, client App, token, scope string) (TokenPair, error) {
	return s.redeem(ctx, client, Refresh, token, func(t IssuedToken) ([]Scope, error) {
		scopes, areKnown := parseScopes(scope, t.Token.Scopes)
		if !areKnown || !Covers(t.Token.Scopes, scopes) {
			return nil, errInvalidScope
		}

		return scopes, nil
	})
}

// redeem exchanges a code or refresh token of the client for new tokens. The function check
// validates the request and returns the scopes of the access token. If check fails, the code
// or refresh token remains valid. If the code or refresh token was used before, it may have
// been stolen: then redeem revokes the authorization.
func (s *Service) redeem(
	ctx context.Context,
	client App,
	kind TokenKind,
	token string,
	check func(IssuedToken) ([]Scope, error),
) (pair TokenPair, err error) {
	// The error about a reused token is returned after the transaction, because an error
	// inside it would undo the revocation.
	isReused := false

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		t, isActive, err := s.findToken(ctx, token, kind)
		if err != nil {
			return err
		}

		if t.App.ID != client.ID {
			return ErrInvalidGrant
		}

		isReused = t.Token.UsedAt != nil
		if isReused {
			return s.Grants.End(ctx, t.Grant.ID, s.Clock.Now())
		}

		if !isActive {
			return ErrInvalidGrant
		}

		scopes, err := check(t)
		if err != nil {
			return err
		}

		if isMarked, err := s.Grants.Use(ctx, t.Grant.ID, t.Token.Hash, s.Clock.Now()); err != nil {
			return err
		} else if !isMarked {
			// A concurrent transaction has used the token. After ErrStale this transaction is
			// repeated, and finds that the token is reused.
			return tx.ErrStale
		}

		pair, err = s.issueTokens(ctx, t.Grant, scopes)

		return err
	})
	if err == nil && isReused {
		err = oauthError("invalid_grant", "The code or refresh token was used before. All tokens of the authorization are revoked.")
	}

	return pair, fault.IfNotFound(err, ErrInvalidGrant)
}

// issueTokens adds an access token with the scopes to the authorization, and a refresh
// token with all scopes of the authorization.
func (s *Service) issueTokens(ctx context.Context, g Grant, scopes []Scope) (TokenPair, error) {
	now := s.Clock.Now()
	remaining := g.ExpiresAt.Sub(now) // no token is valid for longer than its authorization
	pair := TokenPair{
		Access:    NewToken(Access),
		Refresh:   NewToken(Refresh),
		ExpiresIn: min(AccessLife, remaining),
		Scopes:    scopes,
	}
	access := Token{
		Hash:      HashToken(Access, pair.Access),
		GrantID:   g.ID,
		Kind:      Access,
		Scopes:    scopes,
		IssuedAt:  now,
		ExpiresAt: now.Add(pair.ExpiresIn),
	}
	refresh := Token{
		Hash:      HashToken(Refresh, pair.Refresh),
		GrantID:   g.ID,
		Kind:      Refresh,
		Scopes:    g.Scopes,
		IssuedAt:  now,
		ExpiresAt: now.Add(min(RefreshLife, remaining)),
	}

	var noGrant *Grant // the authorization exists already
	if err := s.Grants.Create(ctx, access, noGrant); err != nil {
		return TokenPair{}, err
	}

	return pair, s.Grants.Create(ctx, refresh, noGrant)
}

// findToken returns the token, or ErrTokenNotFound if there is no such token of one of the
// kinds. The token is active if it can be used and the accounts of the user and of the app's
// owner are active.
func (s *Service) findToken(ctx context.Context, token string, kinds ...TokenKind) (t IssuedToken, isActive bool, err error) {
	// The prefix of a token shows its kind.
	hasPrefixOf := func(kind TokenKind) bool { return HashToken(kind, token) != "" }

	i := slices.IndexFunc(kinds, hasPrefixOf)
	if i < 0 {
		return t, false, ErrTokenNotFound
	}

	t, err = s.Grants.Get(ctx, kinds[i], HashToken(kinds[i], token))
	if err != nil || !t.Token.IsActive(t.Grant, s.Clock.Now()) {
		return t, false, err
	}

	isActive, err = s.Accounts.IsActive(ctx, t.Grant.UserID, t.App.OwnerID)

	return t, isActive, err
}

// Introspect returns an access or refresh token, and whether it is an active token of the
// client (RFC 7662). An unknown token is not active.
func (s *Service) Introspect(ctx context.Context, client App, token string) (t IssuedToken, isActive bool, err error) {
	t, isActive, err = s.findToken(ctx, token, Access, Refresh)
	err = fault.IfNotFound(err, nil)

	return t, isActive && t.App.ID == client.ID, err
}

// Revoke ends the authorization of an access or refresh token of the client, with all tokens
// of the authorization (RFC 7009). The given token may have expired or been used. Revoke
// ignores tokens of other clients.
func (s *Service) Revoke(ctx context.Context, client App, token string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		t, _, err := s.findToken(ctx, token, Access, Refresh)
		if err != nil {
			return fault.IfNotFound(err, nil)
		}

		if t.App.ID != client.ID {
			return nil
		}

		return s.Grants.End(ctx, t.Grant.ID, s.Clock.Now())
	})
}

// AuthenticateToken returns the caller with the access token, or fault.ErrUnauthorized.
func (s *Service) AuthenticateToken(ctx context.Context, token string) (Caller, error) {
	t, isActive, err := s.findToken(ctx, token, Access)
	if err == nil && !isActive {
		err = fault.ErrUnauthorized
	}

	if err != nil {
		return Caller{}, fault.IfNotFound(err, fault.ErrUnauthorized)
	}

	return Caller{App: t.App, UserID: t.Grant.UserID, Scopes: t.Token.Scopes}, nil
}

// grantRetention is the time for which expired tokens remain stored. During that time, the
// use of an expired token can be distinguished from the use of an unknown token.
const grantRetention = 24 * time.Hour
