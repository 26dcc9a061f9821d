package integrations_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/valid"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// callback is the redirect address of the applications.
const callback = "https://wardfinder.example/callback"

// wardFinder is the input of an application with one redirect address.
var wardFinder = integrations.AppInput{Name: "Ward Finder", RedirectURIs: []string{callback}}

// The code verifier and its code challenge are the example of RFC 7636, appendix B: a client
// sends the challenge with the authorization request, and proves with the verifier that the
// code is its own.
const (
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

// authorizationQuery returns the query of a valid authorization request, with challenge and
// without a redirect address.
func authorizationQuery(appID string) url.Values {
	return url.Values{
		"response_type":         {"code"},
		"client_id":             {appID},
		"code_challenge":        {challenge},
		"code_challenge_method": {"S256"},
	}
}

// authorizationRequest returns the parsed request of authorizationQuery.
func (e *testEnv) authorizationRequest(t *testing.T, appID string) integrations.AuthorizationRequest {
	t.Helper()

	request, err := e.ParseAuthorization(t.Context(), authorizationQuery(appID))
	require.NoError(t, err)

	return request
}

// noRedirectURI is the redirect address in the exchange of a code whose authorization request had none.
const noRedirectURI = ""

// sameScopes is the scope parameter of a refresh that requests the scopes of the consent.
const sameScopes = ""

// issueCode returns a code of the user for the application.
func (e *testEnv) issueCode(t *testing.T, me auth.Actor, appID string) string {
	t.Helper()

	code, err := e.Approve(t.Context(), me, e.authorizationRequest(t, appID))
	require.NoError(t, err)

	return code
}

// issueTokens returns tokens of the user for the application.
func (e *testEnv) issueTokens(t *testing.T, me auth.Actor, appID string) integrations.TokenPair {
	t.Helper()

	issued, err := e.ExchangeCode(t.Context(), integrations.App{ID: appID}, e.issueCode(t, me, appID), noRedirectURI, verifier)
	require.NoError(t, err)

	return issued
}

// errRollback is the error with which tryCode rolls back its transaction.
var errRollback = errors.New("rollback")

// tryCode returns the error of an exchange of the code. It rolls back the exchange, so that the
// code can still be used.
func (e *testEnv) tryCode(t *testing.T, code string) (exchangeErr error) {
	t.Helper()

	storage := e.store.Integrations

	// The exchange needs the application that the code is for. An unknown or deleted code has
	// none; its exchange fails below.
	grant, err := storage.Grants.Get(t.Context(), integrations.Code, integrations.HashToken(integrations.Code, code))
	if err != nil {
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	}

	err = storage.Tx.Do(t.Context(), func(ctx context.Context) error {
		_, exchangeErr = e.ExchangeCode(ctx, grant.App, code, noRedirectURI, verifier)
		return errRollback
	})

	require.ErrorIs(t, err, errRollback)

	return exchangeErr
}

// TestCode_Expires_AtEndOfLife checks that a code is valid until the last second of CodeLife.
func TestCode_Expires_AtEndOfLife(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app, _, err := env.CreateApp(t.Context(), me, wardFinder)
		require.NoError(t, err)

		code := env.issueCode(t, me, app.ID)
		env.clock.Advance(integrations.CodeLife - time.Second)
		require.NoError(t, env.tryCode(t, code))
		env.clock.Advance(time.Second)
		require.ErrorIs(t, env.tryCode(t, code), integrations.ErrInvalidGrant)
	})
}

// TestAccessToken_Expires_AtEndOfLife checks that an access token acts for the user, with the scopes of
// the consent, until the last second of AccessLife.
func TestAccessToken_Expires_AtEndOfLife(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		me := env.developer(t)
		app, _, err := env.CreateApp(t.Context(), me, wardFinder)
		require.NoError(t, err)

		issued := env.issueTokens(t, me, app.ID)
		require.Equal(t, integrations.AccessLife, issued.ExpiresIn)
		env.clock.Advance(integrations.AccessLife - time.Second)

		caller, err := env.AuthenticateToken(t.Context(), issued.Access)
		require.NoError(t, err)
		require.Equal(t, me.UserID, caller.UserID)
		require.Equal(t, []integrations.Scope{integrations.JobsRead}, caller.Scopes)
		env.clock.Advance(time.Second)

		_, err = env.AuthenticateToken(t.Context(), issued.Access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestRefreshToken_Expires_AtEndOfLifeOrGrant checks that a refresh token is valid for RefreshLife, a week,
// and that each refresh returns a new one. No token is valid after the end of the authorization, 30 days
// after the consent (GrantLife).
func TestRefreshToken_Expires_AtEndOfLifeOrGrant(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		ctx, me := t.Context(), env.developer(t)
		app, _, err := env.CreateApp(ctx, me, wardFinder)
		require.NoError(t, err)

		unused := env.issueTokens(t, me, app.ID)
		issued := env.issueTokens(t, me, app.ID)

		// Four refreshes take the authorization through four weeks, two days before its end.
		const refreshes, beforeExpiry = 4, integrations.RefreshLife - time.Minute

		for range refreshes {
			env.clock.Advance(beforeExpiry)

			issued, err = env.Refresh(ctx, app, issued.Refresh, sameScopes)
			require.NoError(t, err)
		}

		_, err = env.Refresh(ctx, app, unused.Refresh, sameScopes)
		require.ErrorIs(t, err, integrations.ErrInvalidGrant, "it was not used for more than a week")

		// Tokens that are issued two minutes before the end of the authorization end with it.
		const remaining = 2 * time.Minute
		env.clock.Advance(integrations.GrantLife - refreshes*beforeExpiry - remaining)

		issued, err = env.Refresh(ctx, app, issued.Refresh, sameScopes)
		require.NoError(t, err)
		require.Equal(t, remaining, issued.ExpiresIn)

		_, err = env.AuthenticateToken(ctx, issued.Access)
		require.NoError(t, err)
		env.clock.Advance(remaining)

		_, err = env.Refresh(ctx, app, issued.Refresh, sameScopes)
		require.ErrorIs(t, err, integrations.ErrInvalidGrant)

		_, err = env.AuthenticateToken(ctx, issued.Access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestExchangeCode_WrongParameters_CodeRemainsValid checks that a code is exchanged only for
// the client that it was issued to, with the redirect address and the verifier of the
// authorization request. An attempt with wrong parameters, which may be an attacker's, does not
// use up the code.
func TestExchangeCode_WrongParameters_CodeRemainsValid(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		ctx, me := t.Context(), env.developer(t)
		otherCallback := callback + "/2"
		app, _, err := env.CreateApp(ctx, me, integrations.AppInput{
			Name:         "Ward Finder",
			RedirectURIs: []string{callback, otherCallback},
		})
		require.NoError(t, err)

		query := authorizationQuery(app.ID)
		query.Set("redirect_uri", callback)

		request, err := env.ParseAuthorization(ctx, query)
		require.NoError(t, err)

		code, err := env.Approve(ctx, me, request)
		require.NoError(t, err)
		type exchange struct {
			client                      integrations.App
			code, redirectURI, verifier string
		}

		valid := exchange{client: app, code: code, redirectURI: callback, verifier: verifier}
		for name, change := range map[string]func(*exchange){
			"other client":       func(e *exchange) { e.client = integrations.App{ID: stores.NewID()} },
			"unknown code":       func(e *exchange) { e.code = integrations.NewToken(integrations.Code) },
			"refresh token":      func(e *exchange) { e.code = integrations.NewToken(integrations.Refresh) },
			"other redirect URI": func(e *exchange) { e.redirectURI = otherCallback },
			"no redirect URI":    func(e *exchange) { e.redirectURI = noRedirectURI },
			"no verifier":        func(e *exchange) { e.verifier = "" },
			"other verifier":     func(e *exchange) { e.verifier = strings.ToUpper(verifier) },
			"challenge":          func(e *exchange) { e.verifier = challenge },
			"short verifier":     func(e *exchange) { e.verifier = verifier[:len(verifier)-1] }, // 42 characters
		} {
			wrong := valid
			change(&wrong)

			_, err := env.ExchangeCode(ctx, wrong.client, wrong.code, wrong.redirectURI, wrong.verifier)
			require.ErrorIs(t, err, integrations.ErrInvalidGrant, name)
		}

		// The code is still valid.
		_, err = env.ExchangeCode(ctx, valid.client, valid.code, valid.redirectURI, valid.verifier)
		require.NoError(t, err)
	})
}

// TestAuthenticateToken_ConsentOrAccountEnds_Unauthorized checks that a token is refused after
// the consent was withdrawn, or the account or the application deleted. ApproveAgain, which
// approves a request without a consent page because the user has consented before, is refused
// then, too.
func TestAuthenticateToken_ConsentOrAccountEnds_Unauthorized(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		ctx, owner := t.Context(), env.developer(t)
		app, _, err := env.CreateApp(ctx, owner, wardFinder)
		require.NoError(t, err)

		me := env.developer(t)
		for _, test := range []struct {
			name string
			end  func() // ends the authorization
		}{
			{name: "consent", end: func() { require.NoError(t, env.WithdrawConsent(ctx, me, app.ID)) }},
			{name: "account", end: func() { env.recordEvent(t, event.AccountDeleted{UserID: me.UserID}) }},
			{name: "application", end: func() { require.NoError(t, env.DeleteApp(ctx, owner, app.ID)) }},
		} {
			access := env.issueTokens(t, me, app.ID).Access
			request := env.authorizationRequest(t, app.ID)
			_, err = env.AuthenticateToken(ctx, access)
			require.NoError(t, err, test.name)

			_, err = env.ApproveAgain(ctx, me, request)
			require.NoError(t, err, test.name)

			test.end()

			_, err := env.AuthenticateToken(ctx, access)
			require.ErrorIs(t, err, fault.ErrUnauthorized, test.name)

			_, err = env.ApproveAgain(ctx, me, request)
			require.ErrorIs(t, err, integrations.ErrConsentNotFound, test.name)
		}

	})
}

// TestAuthenticateToken_NeverIssued_Unauthorized checks texts that are no tokens, and tokens of each kind
// that were not issued.
func TestAuthenticateToken_NeverIssued_Unauthorized(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		for name, wrong := range map[string]string{
			"empty":         "",
			"prefix only":   "loc_at_",
			"access token":  integrations.NewToken(integrations.Access),
			"refresh token": integrations.NewToken(integrations.Refresh),
			"code":          integrations.NewToken(integrations.Code),
		} {
			_, err := env.AuthenticateToken(t.Context(), wrong)
			require.ErrorIs(t, err, fault.ErrUnauthorized, name)
		}
	})
}

// TestOAuth_OwnerInactive_ApplicationStops checks that an application whose owner is locked
// cannot act for other users until the owner is unlocked.
func TestOAuth_OwnerInactive_ApplicationStops(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		owner := env.developer(t)
		me := env.developer(t)
		app, secret, err := env.CreateApp(ctx, owner, wardFinder)
		require.NoError(t, err)

		// While the owner is locked, tokens, the secret and authorization requests of the application are refused.
		issued := env.issueTokens(t, me, app.ID)
		env.inactive[owner.UserID] = true
		_, err = env.AuthenticateToken(ctx, issued.Access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.AuthenticateClient(ctx, app.ID, secret)
		require.ErrorIs(t, err, integrations.ErrInvalidClient)

		_, err = env.Refresh(ctx, app, issued.Refresh, sameScopes)
		require.ErrorIs(t, err, integrations.ErrInvalidGrant)

		_, err = env.ParseAuthorization(ctx, authorizationQuery(app.ID))
		require.ErrorContains(t, err, "client_id is unknown")

		// The owner is unlocked.
		env.inactive[owner.UserID] = false
		_, err = env.Refresh(ctx, app, issued.Refresh, sameScopes)
		require.NoError(t, err)
	})
}

// TestRevoke_UsedOrExpiredToken_EndsAuthorization checks that a client can end an authorization
// with any of its tokens (RFC 7009): a refresh token that is already used, or an access token
// that has expired. A token of another client ends nothing.
func TestRevoke_UsedOrExpiredToken_EndsAuthorization(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		owner := env.developer(t)
		me := env.developer(t)
		app, _, err := env.CreateApp(ctx, owner, wardFinder)
		require.NoError(t, err)

		first := env.issueTokens(t, me, app.ID)
		second, err := env.Refresh(ctx, app, first.Refresh, sameScopes)
		require.NoError(t, err)

		// A token of another client is ignored without an error.
		otherApp := integrations.App{ID: stores.NewID()}
		require.NoError(t, env.Revoke(ctx, otherApp, first.Refresh))

		_, err = env.AuthenticateToken(ctx, second.Access)
		require.NoError(t, err)

		// The first refresh token, which is already used, ends the authorization.
		require.NoError(t, env.Revoke(ctx, app, first.Refresh))

		_, err = env.AuthenticateToken(ctx, second.Access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		// So does an access token that has expired.
		expired := env.issueTokens(t, me, app.ID)
		env.clock.Advance(integrations.AccessLife)
		require.NoError(t, env.Revoke(ctx, app, expired.Access))

		_, err = env.Refresh(ctx, app, expired.Refresh, sameScopes)
		require.ErrorIs(t, err, integrations.ErrInvalidGrant)
	})
}

// TestRefresh_UsedTokenOfAnotherClient_EndsNothing checks that a client cannot end the
// authorization of another client with a used refresh token of that client. If a client sends
// its own used refresh token, the authorization ends, because the token may be stolen.
func TestRefresh_UsedTokenOfAnotherClient_EndsNothing(t *testing.T) {
	onEachStore(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		owner := env.developer(t)
		me := env.developer(t)
		app, _, err := env.CreateApp(ctx, owner, wardFinder)
		require.NoError(t, err)

		first := env.issueTokens(t, me, app.ID)
		second, err := env.Refresh(ctx, app, first.Refresh, sameScopes)
		require.NoError(t, err)

		// The authorization continues after the refusal of another client.
		otherApp := integrations.App{ID: stores.NewID()}
		_, err = env.Refresh(ctx, otherApp, first.Refresh, sameScopes)
		require.Equal(t, integrations.ErrInvalidGrant, err)

		_, err = env.AuthenticateToken(ctx, second.Access)
		require.NoError(t, err)
	})
}

// TestRedirectsTo_RegisteredURIsOnly checks that redirect addresses are compared character by
// character (RFC 9700 §2.1), except for the port of an http address with a loopback IP (RFC
// 8252 §7.3). The name localhost is not such an IP.
func TestRedirectsTo_RegisteredURIsOnly(t *testing.T) {
	t.Parallel()

	app := integrations.App{
		RedirectURIs: []string{
			"https://a.example.com/cb?x=1",
			"http://127.0.0.1/cb",
			"http://[::1]:7/cb",
			"https://127.0.0.2/cb",
			"http://localhost/cb",
		},
	}
	for _, uri := range []string{
		"https://a.example.com/cb?x=1", "http://127.0.0.1/cb", "http://127.0.0.1:49152/cb",
		"http://[::1]/cb", "http://[::1]:8/cb", "http://localhost/cb",
	} {
		require.True(t, app.RedirectsTo(uri), uri)
	}

	for _, uri := range []string{
		"",
		"https://a.example.com/cb",
		"https://a.example.com/cb?x=1&y=2",
		"https://a.example.com/cb?x=1#f",
		"https://a.example.com:443/cb?x=1",
		"http://a.example.com/cb?x=1",
		"https://A.example.com/cb?x=1",
		"http://127.0.0.1:5/cb/",
		"http://127.0.0.1:5/%63b",
		"http://127.0.0.1:5/cb?x",
		"http://127.0.0.1:5/cb#f",
		"http://u:p@127.0.0.1:5/cb",
		"http://127.0.0.1:99999/cb",
		"http://127.0.0.1:0/cb",
		"http://127.0.0.1:x/cb",
		"http://127.0.0.2:5/cb",
		"http://127.0.0.3:5/cb",
		"https://127.0.0.1:5/cb",
		"HTTP://127.0.0.1:5/cb",
		"http://localhost:5/cb",
		"http://[0:0:0:0:0:0:0:2]/cb",
	} {
		require.False(t, app.RedirectsTo(uri), uri)
	}
}

// TestAppName_ControlCharacters_Refused checks the name of an application, which users see on
// the consent page. It cannot contain characters that change the direction of text (U+202E),
// break lines or control a terminal. Letters of all languages and emoji are valid. The
// description may contain line breaks, but no U+202E either.
func TestAppName_ControlCharacters_Refused(t *testing.T) {
	t.Parallel()

	for _, name := range []string{
		"\u202e",       // turns the direction of text
		"a\r\nb",       // breaks the line
		"a\u2028b",     // breaks the line, too
		"\x1b]0;x\x07", // sets the title of a terminal
		"a\tb",
		" ",
	} {
		require.NotEmpty(t, valid.Problems(integrations.AppInput{Name: name}), "%q", name)
	}

	for _, name := range []string{"Ward Finder", "Клиника", "مستشفى", "Zoë’s 👩‍⚕️ board"} {
		require.Empty(t, valid.Problems(integrations.AppInput{Name: name, Description: "One line\nand another"}), "%q", name)
	}

	require.NotEmpty(t, valid.Problems(integrations.AppInput{Name: "x", Description: "a\u202eb"}))
}
