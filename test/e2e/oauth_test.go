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

			for _, kind := range []object{confidentialClient, publicClient} {
				party := server.thirdParty(t, kind)
				user := server.seeker(t)
				verifier := oauth2.GenerateVerifier()
				browser := server.browser(t)
				redirect := browser.open("GET", party.authorizationPath(verifier), nil)
				require.Equal(t, 303, redirect.status)

				// A guest is redirected to the sign-in, which leads back to the authorization request.
				signIn, err := url.Parse(redirect.header.Get("Location"))
				require.NoError(t, err)
				require.Equal(t, "/developers/sign-in", signIn.Path)
				require.Equal(t, party.authorizationPath(verifier), signIn.Query().Get("next"))
				require.Contains(t, browser.open("GET", signIn.String(), nil).text, `name="password"`)

				afterSignIn := browser.open("POST", "/developers/sign-in",
					url.Values{"email": {user.email}, "password": {password}, "next": {signIn.Query().Get("next")}})
				require.Contains(t, afterSignIn.text, `href="/oauth/authorize?`)

				// The consent page names the app, its owner, the host of the redirect and the scopes.
				page := browser.open("GET", party.authorizationPath(verifier), nil).text
				for _, words := range []string{
					"Ward Finder", "St Brigid&#39;s Hospital", "wardfinder.example.com",
					"Apply for jobs in your name",
				} {
					require.Contains(t, page, words)
				}

				code := browser.allow(party.authorizationPath(verifier)).Get("code")
				token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
				require.NoError(t, err)
				require.Regexp(t, `^loc_at_[0-9A-Za-z]{43}$`, token.AccessToken)
				require.Regexp(t, `^loc_rt_[0-9A-Za-z]{43}$`, token.RefreshToken)
				require.Equal(t, "Bearer", token.TokenType)
				require.EqualValues(t, 900, token.Extra("expires_in")) // 15 minutes
				require.Equal(t, "jobs:read applications:write", token.Extra("scope"))

				// An expired token makes the library refresh it.
				token.Expiry = time.Now().Add(-time.Hour)
				fresh, err := party.TokenSource(t.Context(), token).Token()
				require.NoError(t, err)
				require.NotEqual(t, token.AccessToken, fresh.AccessToken)
				require.NotEqual(t, token.RefreshToken, fresh.RefreshToken)

				status, _, _ := party.call(t, "/oauth/revoke", url.Values{"token": {fresh.RefreshToken}})
				require.Equal(t, 200, status)
				party.refused(t, "/oauth/token", refreshGrant(fresh.RefreshToken), 400, "invalid_grant")
			}
		})

		// Some browsers send neither Sec-Fetch-Site nor Origin.
		t.Run("client without an Origin needs the CSRF token", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
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

			party := server.thirdParty(t, nil)
			verifier := oauth2.GenerateVerifier()
			code, user := party.authorizationCode(t, verifier)
			token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)

			_, body, _ := party.call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
			require.Equal(t, true, body["active"])
			require.Equal(t, user.id, body["sub"])
			require.Equal(t, party.ClientID, body["client_id"])
			require.Equal(t, "jobs:read applications:write", body["scope"])

			// Access tokens are valid for 15 minutes. The tolerance is the time since the exchange on a slow machine.
			const toleranceSeconds = 30
			require.InDelta(t, time.Now().Add(15*time.Minute).Unix(), body["exp"], toleranceSeconds)
			require.True(t, party.isActive(t, token.RefreshToken))

			// Another client learns nothing about the token. A public client cannot introspect, because it has no secret.
			_, body, _ = server.thirdParty(t, nil).call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
			require.Equal(t, map[string]any{"active": false}, body, "another client gets the response for an unknown token")
			server.thirdParty(t, object{"public": true}).
				refused(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}}, 401, "invalid_client")
			require.False(t, party.isActive(t, "nonsense"))

			// Another client cannot revoke a token, and does not learn whether it exists.
			status, _, _ := server.thirdParty(t, nil).call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}})
			require.Equal(t, 200, status)
			require.True(t, party.isActive(t, token.AccessToken))

			status, _, _ = party.call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}, "token_type_hint": {"access_token"}})
			require.Equal(t, 200, status)
			require.False(t, party.isActive(t, token.AccessToken))
			require.False(t, party.isActive(t, token.RefreshToken), "both tokens are of one authorization")
		})

		t.Run("consent is remembered until more is requested", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			browser.allow(party.authorizationPath(verifier))

			// The same scopes or fewer need no consent: the response is a redirect with a code.
			require.NotEmpty(t, browser.redirectQuery(browser.open("GET", party.authorizationPath(verifier), nil)).Get("code"))

			fewer := *party
			fewer.Scopes = []string{"jobs:read"}
			require.NotEmpty(t, browser.redirectQuery(browser.open("GET", fewer.authorizationPath(verifier), nil)).Get("code"))

			// The app can ask for the consent page, whose status is 200, and further scopes need it.
			withPrompt := party.authorizationPath(verifier, oauth2.SetAuthURLParam("prompt", "consent"))
			require.Equal(t, 200, browser.open("GET", withPrompt, nil).status)

			more := *party
			more.Scopes = []string{"applications:read"}
			require.Equal(t, 200, browser.open("GET", more.authorizationPath(verifier), nil).status)

			// The consent for a public client is not remembered: another program on the device may have
			// replaced it.
			device := server.thirdParty(t, object{"public": true, "redirectUris": []string{"http://127.0.0.1/cb"}})
			device.RedirectURL = "http://127.0.0.1:49152/cb"
			browser.allow(device.authorizationPath(verifier))
			require.Equal(t, 200, browser.open("GET", device.authorizationPath(verifier), nil).status)
		})

		t.Run("state parameter", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			browser.allow(party.authorizationPath(verifier))

			// Any state is returned unchanged.
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

		t.Run("denied consent", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			csrf := browser.Open("GET", party.authorizationPath(verifier), nil).CSRFToken(t)
			require.Equal(t, "access_denied", browser.decide(party.authorizationPath(verifier), "deny", csrf).Get("error"))
			require.Equal(t, 200, browser.open("GET", party.authorizationPath(verifier), nil).status, "a denial is not remembered")
		})

		t.Run("decision in the link is ignored", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))

			// A link must not be able to fill in the decision of the user.
			for _, parameters := range []string{"&decision=allow", "&decision=allow&csrf=x"} {
				link := party.authorizationPath(verifier) + parameters
				csrf := browser.Open("GET", link, nil).CSRFToken(t)
				require.Equal(t, "access_denied", browser.decide(link, "deny", csrf).Get("error"))
			}
		})

		t.Run("hostile parameters of the authorization request", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
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

			// A missing or unsupported response_type is reported to the client with a redirect.
			for responseType, code := range map[string]string{
				"":                    "invalid_request",
				"response_type=token": "unsupported_response_type",
			} {
				path := strings.Replace(party.authorizationPath(verifier), "response_type=code", responseType, 1)
				require.Equal(t, code, browser.redirectQuery(browser.open("GET", path, nil)).Get("error"))
			}

			party.ClientID = unknownClientID
			require.Equal(t, 400, browser.open("GET", party.authorizationPath(verifier), nil).status)
		})

		t.Run("malformed forms", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)

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
					require.Contains(t, []int{400, 401}, status)
					require.NotEmpty(t, body["error"])
				}
			}

			party.refused(t, "/oauth/token", url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type")

			for _, incomplete := range []url.Values{{}, codeGrant("", verifier), refreshGrant("")} {
				party.refused(t, "/oauth/token", incomplete, 400, "invalid_request")
			}

			// The endpoints accept forms and no JSON.
			asJSON := server.guest(t).try("POST", "/oauth/token", object{"grant_type": "authorization_code"})
			require.Contains(t, []int{400, 401}, asJSON.status)
		})

		t.Run("wrong secret and unknown client", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, nil)
			party.ClientSecret = "wrong"
			_, _, header := party.call(t, "/oauth/token", refreshGrant("x"))
			require.Contains(t, header.Get("WWW-Authenticate"), "Basic")
			party.refused(t, "/oauth/token", refreshGrant("x"), 401, "invalid_client")

			for _, id := range []string{"nonsense", "\x00", unknownClientID} {
				party.ClientID = id
				party.refused(t, "/oauth/token", refreshGrant("x"), 401, "invalid_client")
			}
		})
	})
}
