package e2e

import (
	"context"
	"maps"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// The two kinds of OAuth clients (RFC 6749 §2.1), as additional members of the request that registers an app. A
// confidential client has a secret, and is the default. A public client, such as a program on a phone, has none.
var (
	confidentialClient object
	publicClient       = object{"public": true}
	clientKinds        = map[string]object{"confidential client": confidentialClient, "public client": publicClient}
)

// TestOAuthAttacks checks the authorization server against the attacks of RFC 9700: replayed
// and stolen codes and tokens, forged redirects, missing PKCE, wider scopes, forged consents,
// frames and open redirects.
//
// A party (thirdParty) is the OAuth client of an app that asks for the scopes jobs:read and applications:write; it can
// exchange codes through the library oauth2. party.call sends a form with the credentials of the client, and
// party.refused also requires the status and the error of the response. party.isActive asks the introspection
// endpoint whether a token is valid. browser.allow opens the consent page at a path, allows it, and returns the query of
// the redirect to the app. The verifier is the secret of PKCE (RFC 7636).
func TestOAuthAttacks(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("code replay revokes its tokens", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			code, _ := party.authorizationCode(t, verifier)
			token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)
			require.True(t, party.isActive(t, token.AccessToken))

			// A code that is used twice was stolen: its tokens are revoked (RFC 6749 §4.1.2).
			party.refused(t, "/oauth/token", codeGrant(code, verifier), 400, "invalid_grant")
			require.False(t, party.isActive(t, token.AccessToken))
			party.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 400, "invalid_grant")
		})

		t.Run("concurrent exchanges of a code", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			code, _ := party.authorizationCode(t, verifier)

			successes := countSuccesses(concurrentCalls, func() error {
				_, err := party.Exchange(context.Background(), code, oauth2.VerifierOption(verifier))
				return err
			})
			require.EqualValues(t, 1, successes, "a code is valid for one exchange")
		})

		t.Run("concurrent refreshes", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			token := party.tokens(t)

			// An expired token makes the library refresh it.
			token.Expiry = time.Now().Add(-time.Hour)

			successes := countSuccesses(concurrentCalls, func() error {
				_, err := party.TokenSource(context.Background(), token).Token()
				return err
			})
			require.EqualValues(t, 1, successes, "a refresh token is valid for one refresh")
		})

		// The family is all tokens that descend from one authorization by refreshes.
		t.Run("refresh token replay revokes the family", func(t *testing.T) {
			t.Parallel()

			for kind, client := range clientKinds {
				t.Run(kind, func(t *testing.T) {
					party := server.thirdParty(t, client)
					first := party.tokens(t)
					_, second, _ := party.call(t, "/oauth/token", refreshGrant(first.RefreshToken))
					require.NotEmpty(t, second["access_token"])

					// The replay of the first token also revokes the second one, which is not used yet.
					party.refused(t, "/oauth/token", refreshGrant(first.RefreshToken), 400, "invalid_grant")
					party.refused(t, "/oauth/token", refreshGrant(second["refresh_token"].(string)), 400, "invalid_grant")
				})
			}
		})

		t.Run("rotation revokes the previous access token", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			first := party.tokens(t)
			_, second, _ := party.call(t, "/oauth/token", refreshGrant(first.RefreshToken))
			require.False(t, party.isActive(t, first.AccessToken), "the previous token")
			require.True(t, party.isActive(t, second["access_token"].(string)), "the current token")
		})

		t.Run("code and refresh token of another client", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			other := server.thirdParty(t, confidentialClient)

			// The other client cannot exchange the code, and its attempt does not use up the code.
			verifier := oauth2.GenerateVerifier()
			code, _ := party.authorizationCode(t, verifier)
			other.refused(t, "/oauth/token", codeGrant(code, verifier), 400, "invalid_grant")

			token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)

			// The other client cannot use the refresh token, and its attempt does not use up the token.
			other.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 400, "invalid_grant")

			_, refreshed, _ := party.call(t, "/oauth/token", refreshGrant(token.RefreshToken))
			require.NotEmpty(t, refreshed["access_token"])

			// The id of a client is refused with the secret of another client, and without a secret.
			party.ClientSecret = other.ClientSecret
			party.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 401, "invalid_client")

			party.ClientSecret = ""
			party.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 401, "invalid_client")
		})

		t.Run("two authentication methods are refused", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			other := server.thirdParty(t, confidentialClient)

			token := party.tokens(t)

			// The request to /oauth/revoke is the last one, because the accepted one revokes the token.
			for _, path := range []string{"/oauth/introspect", "/oauth/token", "/oauth/revoke"} {
				// formWith returns a form that is valid for each of the three endpoints, with the credentials in the body.
				formWith := func(credentials url.Values) url.Values {
					values := refreshGrant(token.RefreshToken)
					values.Set("token", token.AccessToken)
					maps.Copy(values, credentials)

					return values
				}

				// Credentials in the body are refused beside the right ones in the header.
				for _, credentials := range []url.Values{
					{"client_id": {party.ClientID}, "client_secret": {party.ClientSecret}},
					{"client_secret": {party.ClientSecret}},
					{"client_secret": {"wrong"}},
					{"client_id": {other.ClientID}, "client_secret": {other.ClientSecret}},
					{"client_id": {other.ClientID}},
				} {
					party.refused(t, path, formWith(credentials), 400, "invalid_request")
				}

				// The right credentials in the body are refused beside wrong ones in the header.
				withWrongHeader := *party
				withWrongHeader.ClientSecret = "wrong"
				withWrongHeader.refused(t, path, formWith(url.Values{"client_secret": {party.ClientSecret}}), 400, "invalid_request")
				require.True(t, party.isActive(t, token.AccessToken), "a refused request to %s had an effect", path)

				// The client's own id and an empty secret in the body are not a second authentication method.
				emptySecret := url.Values{"client_id": {party.ClientID}, "client_secret": {""}}
				status, body, _ := party.call(t, path, formWith(emptySecret))
				require.Equal(t, 200, status, "%s: %v", path, body)

				if path == "/oauth/token" { // this request exchanged the refresh token for new tokens
					token.RefreshToken = body["refresh_token"].(string)
					token.AccessToken = body["access_token"].(string)
				}
			}

			require.False(t, party.isActive(t, token.AccessToken), "the accepted request to /oauth/revoke did not revoke the token")
		})

		t.Run("credentials in the body only", func(t *testing.T) {
			t.Parallel()

			inBody := server.thirdParty(t, confidentialClient)
			inBody.Endpoint.AuthStyle = oauth2.AuthStyleInParams
			inBody.tokens(t) // requires that the client gets tokens
		})

		t.Run("unregistered redirect URI", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))

			// Each URI differs from the registered one, callback, in one part. The response is an error page and no redirect.
			for _, redirectURI := range []string{
				callback + "/more",
				callback + "/",
				callback + "?a=b",
				callback + "#x",
				"https://wardfinder.example.com/x/../callback",
				"http://wardfinder.example.com/callback",
				"//wardfinder.example.com/callback",
				"https://WARDFINDER.example.com/callback",
				"https://wardfinder.example.com:444/callback",
				"https://evil.wardfinder.example.com/callback",
				"https://wardfinder.example.com.evil.example/callback",
				"https://wardfinder.example.com@evil.example/callback",
			} {
				party.RedirectURL = redirectURI
				page := browser.open("GET", party.authorizationPath(verifier), nil)
				require.Equal(t, 400, page.status, redirectURI)
				require.Empty(t, page.header.Get("Location"), redirectURI)

				pageOfGuest := server.browser(t).open("GET", party.authorizationPath(verifier), nil)
				require.Equal(t, 400, pageOfGuest.status, "%s is refused before a sign-in, too", redirectURI)
			}

			// The exchange of a code must name the URI of the authorization request, too.
			party.RedirectURL = callback

			code := browser.allow(party.authorizationPath(verifier)).Get("code")
			for _, redirectURI := range []string{"", callback + "/more"} {
				values := codeGrant(code, verifier)
				values.Set("redirect_uri", redirectURI)
				party.refused(t, "/oauth/token", values, 400, "invalid_grant")
			}
		})

		t.Run("loopback redirect URI with any port", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(
				t,
				object{"public": true, "redirectUris": []string{"http://127.0.0.1/cb", "http://localhost:1234/cb"}},
			)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))

			// The registered loopback URI has no port. A request with a port, which the program chose when it started, succeeds.
			party.RedirectURL = "http://127.0.0.1:51004/cb"
			code := browser.allow(party.authorizationPath(verifier)).Get("code")
			values := codeGrant(code, verifier)
			values.Set("redirect_uri", party.RedirectURL)

			_, body, _ := party.call(t, "/oauth/token", values)
			require.NotEmpty(t, body["access_token"], "%v", body)

			// Only the port may differ, and only if the registered URI has a loopback address (RFC 8252 §7.3). "localhost" is a
			// name and not such an address.
			for _, redirectURI := range []string{
				"http://127.0.0.1:51004/other", "http://127.0.0.2:51004/cb",
				"https://127.0.0.1:51004/cb", "http://localhost:5/cb",
				"http://127.0.0.1.evil.example/cb",
			} {
				party.RedirectURL = redirectURI
				require.Equal(t, 400, browser.open("GET", party.authorizationPath(verifier), nil).status, redirectURI)
			}
		})

		t.Run("authorization request without an S256 challenge", func(t *testing.T) {
			t.Parallel()

			for kind, client := range clientKinds {
				party := server.thirdParty(t, client)
				browser := server.signedIn(t, server.seeker(t))
				challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())

				for _, parameters := range []url.Values{
					{},
					// The default method is "plain" (RFC 7636 §4.3), and names of methods are case-sensitive.
					{"code_challenge": {challenge}},
					{"code_challenge": {challenge}, "code_challenge_method": {"plain"}},
					{"code_challenge": {challenge}, "code_challenge_method": {"s256"}},
					{"code_challenge_method": {"S256"}},
					{"code_challenge": {"short"}, "code_challenge_method": {"S256"}},
				} {
					path := strings.TrimPrefix(party.AuthCodeURL(oauthState), server.url) + "&" + parameters.Encode()
					redirect := browser.redirectQuery(browser.open("GET", path, nil))
					require.Equal(t, "invalid_request", redirect.Get("error"), "%s: %v", kind, parameters)
					require.Empty(t, redirect.Get("code"), "%s: %v", kind, parameters)
				}
			}
		})

		t.Run("wrong or missing verifier", func(t *testing.T) {
			t.Parallel()

			const minVerifierLength = 43 // RFC 7636 §4.1

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()

			code, _ := party.authorizationCode(t, verifier)
			for _, wrong := range []string{
				"",
				oauth2.GenerateVerifier(),      // of another authorization request
				verifier[:minVerifierLength-1], // too short
				oauth2.S256ChallengeFromVerifier(verifier), // the challenge, which is not secret
				verifier + strings.Repeat("x", 200),        // too long
			} {
				party.refused(t, "/oauth/token", codeGrant(code, wrong), 400, "invalid_grant")
			}

			values := codeGrant(code, verifier)
			values.Del("code_verifier")
			party.refused(t, "/oauth/token", values, 400, "invalid_grant")
		})

		t.Run("refresh cannot widen scopes", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)

			token := party.tokens(t)

			// The consent was for jobs:read and applications:write. Every request for another scope is refused.
			for _, wider := range []string{"applications:read", "jobs:read applications:write applications:read", "admin", "*"} {
				values := refreshGrant(token.RefreshToken)
				values.Set("scope", wider)
				party.refused(t, "/oauth/token", values, 400, "invalid_scope")
			}

			// A refresh may ask for fewer scopes. They apply to the new access token only, and not to later refreshes.
			values := refreshGrant(token.RefreshToken)
			values.Set("scope", "jobs:read")

			_, fewer, _ := party.call(t, "/oauth/token", values)
			require.Equal(t, "jobs:read", fewer["scope"])

			_, introspection, _ := party.call(t, "/oauth/introspect", url.Values{"token": {fewer["access_token"].(string)}})
			require.Equal(t, "jobs:read", introspection["scope"])

			_, next, _ := party.call(t, "/oauth/token", refreshGrant(fewer["refresh_token"].(string)))
			require.Equal(t, "jobs:read applications:write", next["scope"], "a refresh without a scope has all scopes of the consent")
		})

		t.Run("unknown and missing scopes", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()

			browser := server.signedIn(t, server.seeker(t))
			for _, scope := range []string{"admin", "jobs:read admin", "jobs", "jobs:*", "JOBS:READ", "openid", "offline_access"} {
				party.Scopes = []string{scope}
				redirect := browser.redirectQuery(browser.open("GET", party.authorizationPath(verifier), nil))
				require.Equal(t, "invalid_scope", redirect.Get("error"), scope)
			}

			// A request without a scope gets the default one.
			party.Scopes = nil
			code := browser.allow(party.authorizationPath(verifier)).Get("code")
			_, body, _ := party.call(t, "/oauth/token", codeGrant(code, verifier))
			require.Equal(t, "jobs:read", body["scope"])
		})

		t.Run("consent requires the CSRF token of the session", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			browserOfOtherUser := server.signedIn(t, server.seeker(t))
			path := party.authorizationPath(verifier)
			csrf := browser.Open("GET", path, nil).CSRFToken(t)
			csrfOfOtherUser := browserOfOtherUser.Open("GET", path, nil).CSRFToken(t)
			consent := url.Values{"decision": {"allow"}}
			require.Equal(t, 403, browser.open("POST", path, consent).status, "without a token")

			// Neither an empty or invented token nor that of another user's session is accepted.
			for _, wrong := range []string{"", "x", csrfOfOtherUser} {
				consent.Set("csrf", wrong)
				require.Equal(t, 403, browser.open("POST", path, consent).status, "with the token %q", wrong)
			}

			// With the right token, a request is still refused if its headers show that it comes from another site.
			consent.Set("csrf", csrf)

			for _, request := range []struct{ secFetchSite, origin string }{
				{secFetchSite: "cross-site"},
				{secFetchSite: "same-site"},
				{secFetchSite: "none"},
				{origin: "https://evil.example"},
				{origin: "null"},
				{secFetchSite: "cross-site", origin: server.url},
			} {
				browser.Site = request.secFetchSite
				browser.Origin = request.origin
				require.Equal(t, 403, browser.open("POST", path, consent).status, "%v", request)
			}

			// From the origin of the server, the same form is accepted.
			browser.Site = ""
			browser.Origin = server.url
			require.NotEmpty(t, browser.redirectQuery(browser.open("POST", path, consent)).Get("code"))
		})

		t.Run("frames are refused", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			verifier := oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))

			// The consent page allows its form to be sent to the host of the redirect URI. A request with an URI that is not
			// registered must not allow that.
			withUnregisteredURI := *party
			withUnregisteredURI.RedirectURL = callback + "x"

			for path, formAction := range map[string]string{
				party.authorizationPath(verifier):               "'self' https://wardfinder.example.com",
				withUnregisteredURI.authorizationPath(verifier): "'self'",
				"/developers/consents":                          "'self'",
			} {
				header := browser.open("GET", path, nil).header
				policy := header.Get("Content-Security-Policy")
				require.Contains(t, policy, "default-src 'none'", path)
				require.Contains(t, policy, "frame-ancestors 'none'", path)
				require.True(t, strings.HasSuffix(policy, "form-action "+formAction), "%s: %s", path, policy)
				require.NotContains(t, policy, "unsafe", path)

				for name, want := range map[string]string{
					"X-Frame-Options":            "DENY",
					"Cache-Control":              "no-store",
					"Referrer-Policy":            "same-origin",
					"X-Content-Type-Options":     "nosniff",
					"Cross-Origin-Opener-Policy": "same-origin",
				} {
					require.Equal(t, want, header.Get(name), "%s of %s", name, path)
				}
			}
		})

		t.Run("interstitial page before a redirect to another host", func(t *testing.T) {
			t.Parallel()

			party := server.thirdParty(t, confidentialClient)
			me := server.seeker(t)
			browser := server.browser(t)

			// Over http, browsers send no Sec-Fetch-Site, only an Origin.
			browser.Site = ""
			browser.Origin = server.url
			path := party.authorizationPath(oauth2.GenerateVerifier())
			credentials := url.Values{"email": {me.email}, "password": {password}, "next": {path}}

			// The policy form-action also applies to redirects after the form. The consent page that follows may redirect to
			// the client at once, so that the sign-in must not redirect to the consent page. Its response is a page that
			// opens the consent page.
			page := browser.open("POST", "/developers/sign-in", credentials)
			require.Equal(t, 200, page.status)
			require.Contains(t, page.visibleText(), `url=`+path)
		})

		t.Run("open redirect after a sign-in", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)

			// Each target would lead to another site in some browser, or is no path. The server redirects the user to the start
			// page of developers instead.
			for _, next := range []string{
				"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example",
				"https:evil.example", "/\t/evil.example", "javascript:alert(1)", " //evil.example",
				"", "evil",
			} {
				browser := server.browser(t)
				signInPath := "/developers/sign-in?next=" + url.QueryEscape(next)
				require.NotContains(t, browser.open("GET", signInPath, nil).text, "evil", next)

				credentials := url.Values{"email": {me.email}, "password": {password}, "next": {next}}
				afterSignIn := browser.open("POST", "/developers/sign-in", credentials)
				require.Equal(t, 303, afterSignIn.status, next)
				require.Equal(t, "/developers", afterSignIn.header.Get("Location"), next)

				whenSignedIn := browser.open("GET", signInPath, nil)
				require.Equal(t, "/developers", whenSignedIn.header.Get("Location"), next)
			}
		})
	})
}

// concurrentCalls is enough for several requests to be in the server at the same time.
const concurrentCalls = 20

// countSuccesses returns how many of n concurrent calls succeed.
func countSuccesses(n int, call func() error) int64 {
	var group sync.WaitGroup

	var successes atomic.Int64
	for range n {
		group.Go(func() {
			if call() == nil {
				successes.Add(1)
			}
		})
	}

	group.Wait()

	return successes.Load()
}
