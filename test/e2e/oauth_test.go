package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// unknownClientID has the format of a client's id, and is that of no client.
const unknownClientID = "00000000-0000-0000-0000-000000000000"

// accessTokenLifetime is the time for which an access token is valid.
const accessTokenLifetime = 15 * time.Minute

// TestOAuth checks the authorization server as apps use it: metadata, authorization code with
// PKCE, refresh, introspection, revocation and consent. Malformed requests get the errors of
// RFC 6749.
//
// A party (thirdParty) is the OAuth client of an app that asks for the scopes jobs:read and applications:write; it can
// exchange codes through the library oauth2. party.call sends a form with the credentials of the client, and
// party.refused also requires the status and the error of the response. browser.allow opens the consent page at a path,
// allows it, and returns the query of the redirect to the app. The verifier is the secret of PKCE (RFC 7636).
func TestOAuth(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /.well-known/oauth-authorization-server", func(t *testing.T) {
			t.Parallel()

			meta := server.guest(t).try("GET", "/.well-known/oauth-authorization-server", nil)
			require.Equal(t, 200, meta.status)
			require.Equal(t, issuer, meta.text("issuer"))
			require.Equal(t, []any{"S256"}, meta.at("code_challenge_methods_supported"))
			require.Equal(t, true, meta.at("authorization_response_iss_parameter_supported"))

			for name, path := range map[string]string{
				"authorization": "authorize",
				"token":         "token",
				"revocation":    "revoke",
				"introspection": "introspect",
			} {
				require.Equal(t, issuer+"/oauth/"+path, meta.text(name+"_endpoint"))
			}
		})

		t.Run("sign-in, consent, exchange, refresh and revocation", func(t *testing.T) {
			t.Parallel()

			for kind, client := range clientKinds {
				t.Run(kind, func(t *testing.T) { checkAuthorizationCodeFlow(t, server, server.thirdParty(t, client)) })
			}
		})

		// Some browsers send neither Sec-Fetch-Site nor Origin.
		t.Run("client without an Origin needs the CSRF token", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			user := server.seeker(t)
			verifier := oauth2.GenerateVerifier()
			browser := server.browser(t)
			browser.Site = ""
			path := party.authorizationPath(verifier)
			signedIn := browser.open("POST", "/developers/sign-in", url.Values{
				"email":    {user.email},
				"password": {password},
				"next":     {path},
			})
			require.Equal(t, 303, signedIn.status)
			require.Equal(t, path, signedIn.header.Get("Location"))

			for formPath, values := range map[string]url.Values{
				path:                   {"decision": {"allow"}},
				"/developers/apps":     {"name": {"Mine"}},
				"/developers/sign-out": {},
			} {
				// Every form is refused without the token, and with a wrong one.
				for _, csrf := range []string{"", "x"} {
					values.Set("csrf", csrf)
					require.Equal(t, 403, browser.open("POST", formPath, values).status, formPath)
				}
			}

			require.NotEmpty(t, browser.allow(path).Get("code"))

			// With the token of the page, the form is accepted.
			newApp := url.Values{"name": {"Mine"}, "csrf": {browser.Open("GET", "/developers", nil).CSRFToken(t)}}
			require.Equal(t, 200, browser.open("POST", "/developers/apps", newApp).status)

			otherBrowser := server.browser(t)
			otherBrowser.Site = ""
			otherBrowser.signIn(server.seeker(t))
			require.Equal(t, 403, otherBrowser.open("POST", "/developers/apps", newApp).status, "a CSRF token is valid in its session only")
		})

		t.Run("introspection and revocation of own tokens only", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			code, user := party.authorizationCode(t, verifier)
			token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)

			t.Run("client introspects its own tokens", func(t *testing.T) {
				_, body, _ := party.call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
				require.Equal(t, true, body["active"])
				require.Equal(t, user.id, body["sub"])
				require.Equal(t, party.ClientID, body["client_id"])
				require.Equal(t, "jobs:read applications:write", body["scope"])

				// The tolerance is the time since the exchange on a slow machine.
				const toleranceSeconds = 30
				require.InDelta(t, time.Now().Add(accessTokenLifetime).Unix(), body["exp"], toleranceSeconds)
				require.True(t, party.isActive(t, token.RefreshToken))
				require.False(t, party.isActive(t, "nonsense"))
			})

			t.Run("another client gets the response for an unknown token", func(t *testing.T) {
				otherClient := server.thirdParty(t, confidentialClient)
				_, body, _ := otherClient.call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
				require.Equal(t, map[string]any{"active": false}, body)
			})

			t.Run("public client cannot introspect, because it has no secret", func(t *testing.T) {
				withoutSecret := server.thirdParty(t, publicClient)
				withoutSecret.refused(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}}, 401, "invalid_client")
			})

			t.Run("another client cannot revoke a token, and does not learn whether it exists", func(t *testing.T) {
				otherClient := server.thirdParty(t, confidentialClient)
				status, _, _ := otherClient.call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}})
				require.Equal(t, 200, status)
				require.True(t, party.isActive(t, token.AccessToken))
			})

			// This subtest is the last one, because it ends the authorization.
			t.Run("revocation of one token ends both", func(t *testing.T) {
				form := url.Values{"token": {token.AccessToken}, "token_type_hint": {"access_token"}}
				status, _, _ := party.call(t, "/oauth/revoke", form)
				require.Equal(t, 200, status)
				require.False(t, party.isActive(t, token.AccessToken))
				require.False(t, party.isActive(t, token.RefreshToken), "both tokens are of one authorization")
			})
		})

		t.Run("consent is remembered until more is requested", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			browser.allow(party.authorizationPath(verifier))

			// Without the consent page, the response is a redirect to the client with a code.
			requireCodeWithoutConsent := func(path string) {
				t.Helper()
				require.NotEmpty(t, browser.redirectQuery(browser.open("GET", path, nil)).Get("code"))
			}

			requireConsentPage := func(path string) {
				t.Helper()
				require.Equal(t, 200, browser.open("GET", path, nil).status)
			}

			// The same scopes or fewer need no consent.
			requireCodeWithoutConsent(party.authorizationPath(verifier))

			fewer := *party
			fewer.Scopes = []string{"jobs:read"}
			requireCodeWithoutConsent(fewer.authorizationPath(verifier))

			// Further scopes need consent, and the app can ask for it.
			more := *party
			more.Scopes = []string{"applications:read"}
			requireConsentPage(more.authorizationPath(verifier))
			requireConsentPage(party.authorizationPath(verifier, oauth2.SetAuthURLParam("prompt", "consent")))
		})

		// Another program on the device may have replaced the public client.
		t.Run("consent for a public client is not remembered", func(t *testing.T) {
			t.Parallel()

			device := server.thirdParty(t, object{"public": true, "redirectUris": []string{"http://127.0.0.1/cb"}})
			device.RedirectURL = "http://127.0.0.1:49152/cb"
			path := device.authorizationPath(oauth2.GenerateVerifier())

			browser := server.signedIn(t, server.seeker(t))
			browser.allow(path)
			require.Equal(t, 200, browser.open("GET", path, nil).status, "the consent page again")
		})

		t.Run("state parameter is returned unchanged", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			browser.allow(party.authorizationPath(verifier))

			for _, state := range []string{"s", "", "long enough", strings.Repeat("x", 2000)} {
				path := strings.TrimPrefix(party.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), server.url)
				resp := browser.open("GET", path, nil)
				require.Equal(t, 303, resp.status, resp.text)

				to, err := url.Parse(resp.header.Get("Location"))
				require.NoError(t, err)
				require.NotEmpty(t, to.Query().Get("code"), to)
				require.Equal(t, state != "", to.Query().Has("state"))
				require.Equal(t, state, to.Query().Get("state"))
			}
		})

		t.Run("denial of consent is reported to the client, and not remembered", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			path := party.authorizationPath(verifier)
			csrf := browser.Open("GET", path, nil).CSRFToken(t)
			require.Equal(t, "access_denied", browser.decide(path, "deny", csrf).Get("error"))
			require.Equal(t, 200, browser.open("GET", path, nil).status, "the consent page again")
		})

		t.Run("decision in the link is ignored", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))

			// A link must not be able to fill in the decision of the user.
			for _, parameters := range []string{"&decision=allow", "&decision=allow&csrf=x"} {
				link := party.authorizationPath(verifier) + parameters
				csrf := browser.Open("GET", link, nil).CSRFToken(t)
				require.Equal(t, "access_denied", browser.decide(link, "deny", csrf).Get("error"))
			}
		})

		t.Run("hostile parameters of the authorization request do not fail the server", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()

			browser := server.signedIn(t, server.seeker(t))
			for _, parameters := range []string{
				"&request=x", "&request_uri=urn:ietf:params:oauth:request_uri:x",
				"&client_id=" + party.ClientID, "&%zz", "&registration=x", "&resource=a&resource=b",
			} {
				// A redirect to the client with an error or a code, or an error page: no failure of the server.
				resp := browser.open("GET", party.authorizationPath(verifier)+parameters, nil)
				require.Contains(t, []int{303, 400}, resp.status, parameters)
			}

		})

		t.Run("missing or unsupported response_type is reported to the client", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))

			for responseType, code := range map[string]string{
				"":                    "invalid_request",
				"response_type=token": "unsupported_response_type",
			} {
				path := strings.Replace(party.authorizationPath(verifier), "response_type=code", responseType, 1)
				require.Equal(t, code, browser.redirectQuery(browser.open("GET", path, nil)).Get("error"), responseType)
			}
		})

		t.Run("authorization request of an unknown client is not redirected", func(t *testing.T) {
			t.Parallel()

			unknownParty := server.thirdParty(t, confidentialClient)
			unknownParty.ClientID = unknownClientID

			path := unknownParty.authorizationPath(oauth2.GenerateVerifier())
			require.Equal(t, 400, server.signedIn(t, server.seeker(t)).open("GET", path, nil).status)
		})

		t.Run("every endpoint refuses malformed forms", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()

			for _, values := range []url.Values{
				{},
				{"grant_type": {"authorization_code"}},
				{"grant_type": {"refresh_token"}},
				codeGrant("\x00\xff", verifier),
				refreshGrant(strings.Repeat("x", 5000)),
				{"grant_type": {"password"}},
				{"grant_type": {"client_credentials"}},
				{"grant_type": {"refresh_token", "refresh_token"}},
				{"grant_type": {"\xff"}},
				{
					"grant_type":            {"refresh_token"},
					"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
					"client_assertion":      {"x.y.z"},
				},
			} {
				for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
					status, body, _ := party.call(t, path, values)
					require.Contains(t, []int{400, 401}, status, "%s %v", path, values)
					require.NotEmpty(t, body["error"], "%s %v", path, values)
				}
			}
		})

		t.Run("token endpoint refuses other grant types, incomplete forms and JSON", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			party.refused(t, "/oauth/token", url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type")

			const missing = ""
			for _, incomplete := range []url.Values{{}, codeGrant(missing, oauth2.GenerateVerifier()), refreshGrant(missing)} {
				party.refused(t, "/oauth/token", incomplete, 400, "invalid_request")
			}

			asJSON := server.guest(t).try("POST", "/oauth/token", object{"grant_type": "authorization_code"})
			require.Contains(t, []int{400, 401}, asJSON.status)
		})

		t.Run("wrong secret and unknown client are refused", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			party.ClientSecret = "wrong"

			// The server verifies the client first, so that the token does not matter.
			anyRefresh := refreshGrant("x")
			_, _, header := party.call(t, "/oauth/token", anyRefresh)
			require.Contains(t, header.Get("WWW-Authenticate"), "Basic")
			party.refused(t, "/oauth/token", anyRefresh, 401, "invalid_client")

			for _, id := range []string{"nonsense", "\x00", unknownClientID} {
				party.ClientID = id
				party.refused(t, "/oauth/token", anyRefresh, 401, "invalid_client")
			}
		})
	})
}

// checkAuthorizationCodeFlow checks the steps from the request of an app for access to the end of the access: a guest is
// led to the sign-in, signs in and consents; the app exchanges the code for tokens, refreshes them and revokes them.
func checkAuthorizationCodeFlow(t *testing.T, server *testServer, party *thirdParty) {
	user := server.seeker(t)
	browser := server.browser(t)
	verifier := oauth2.GenerateVerifier()
	authorizationPath := party.authorizationPath(verifier)

	// A guest is redirected to the sign-in, which leads back to the authorization request.
	redirect := browser.open("GET", authorizationPath, nil)
	require.Equal(t, 303, redirect.status)

	signIn, err := url.Parse(redirect.header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "/developers/sign-in", signIn.Path)

	next := signIn.Query().Get("next")
	require.Equal(t, authorizationPath, next)
	require.Contains(t, browser.open("GET", signIn.String(), nil).text, `name="password"`)

	credentials := url.Values{"email": {user.email}, "password": {password}, "next": {next}}
	afterSignIn := browser.open("POST", "/developers/sign-in", credentials)
	require.Contains(t, afterSignIn.text, `href="/oauth/authorize?`)

	// The consent page names the app, its owner, the host of the redirect and the scopes.
	consentPage := browser.open("GET", authorizationPath, nil).text
	for _, words := range []string{
		"Ward Finder", "St Brigid&#39;s Hospital", "wardfinder.example.com",
		"Apply for jobs in your name",
	} {
		require.Contains(t, consentPage, words)
	}

	// The app exchanges the code for tokens.
	code := browser.allow(authorizationPath).Get("code")
	token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	require.Regexp(t, `^loc_at_[0-9A-Za-z]{43}$`, token.AccessToken)
	require.Regexp(t, `^loc_rt_[0-9A-Za-z]{43}$`, token.RefreshToken)
	require.Equal(t, "Bearer", token.TokenType)
	require.EqualValues(t, accessTokenLifetime.Seconds(), token.Extra("expires_in"))
	require.Equal(t, "jobs:read applications:write", token.Extra("scope"))

	// An expired token makes the library refresh it.
	token.Expiry = time.Now().Add(-time.Hour)
	refreshed, err := party.TokenSource(t.Context(), token).Token()
	require.NoError(t, err)
	require.NotEqual(t, token.AccessToken, refreshed.AccessToken)
	require.NotEqual(t, token.RefreshToken, refreshed.RefreshToken)

	// After the revocation, the refresh token is refused.
	status, _, _ := party.call(t, "/oauth/revoke", url.Values{"token": {refreshed.RefreshToken}})
	require.Equal(t, 200, status)
	party.refused(t, "/oauth/token", refreshGrant(refreshed.RefreshToken), 400, "invalid_grant")
}
