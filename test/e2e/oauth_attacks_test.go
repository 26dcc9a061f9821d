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

// TestOAuthAttacks checks the authorization server against the attacks of RFC 9700: replayed
// and stolen codes and tokens, forged redirects, missing PKCE, wider scopes, forged consents,
// frames and open redirects.
func TestOAuthAttacks(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("code replay revokes its tokens", func(t *testing.T) {
			t.Parallel()
			party, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := party.authorizationCode(t, verifier)
			token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)
			require.True(t, party.active(t, token.AccessToken))
			// A code that is used twice was stolen: its tokens are revoked (RFC 6749 §4.1.2).
			party.refused(t, "/oauth/token", redeem(code, verifier), 400, "invalid_grant")
			require.False(t, party.active(t, token.AccessToken))
			party.refused(t, "/oauth/token", refreshing(token.RefreshToken), 400, "invalid_grant")
		})
		t.Run("concurrent exchanges of a code", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := p.authorizationCode(t, verifier)
			require.EqualValues(t, 1, countSuccesses(t, 20, func() error {
				_, err := p.Exchange(context.Background(), code, oauth2.VerifierOption(verifier))
				return err
			}))
		})
		t.Run("concurrent refreshes", func(t *testing.T) {
			t.Parallel()
			p := server.thirdParty(t, nil)
			token := p.tokens(t)
			// An expired token makes the library refresh it.
			token.Expiry = time.Now().Add(-time.Hour)
			require.EqualValues(t, 1, countSuccesses(t, 20, func() error {
				_, err := p.TokenSource(context.Background(), token).Token()
				return err
			}))
		})
		t.Run("refresh token replay revokes the family", func(t *testing.T) {
			t.Parallel()
			for _, more := range []object{nil, {"public": true}} {
				party := server.thirdParty(t, more)
				first := party.tokens(t)
				_, second, _ := party.call(t, "/oauth/token", refreshing(first.RefreshToken))
				require.NotEmpty(t, second["access_token"])
				party.refused(t, "/oauth/token", refreshing(first.RefreshToken), 400, "invalid_grant")
				next, _ := second["refresh_token"].(string)
				party.refused(t, "/oauth/token", refreshing(next), 400, "invalid_grant")
			}
		})
		t.Run("rotation revokes the previous access token", func(t *testing.T) {
			t.Parallel()
			p := server.thirdParty(t, nil)
			token := p.tokens(t)
			_, second, _ := p.call(t, "/oauth/token", refreshing(token.RefreshToken))
			require.False(t, p.active(t, token.AccessToken))
			access, _ := second["access_token"].(string)
			require.True(t, p.active(t, access))
		})
		t.Run("code and refresh token of another client", func(t *testing.T) {
			t.Parallel()
			party := server.thirdParty(t, nil)
			other := server.thirdParty(t, nil)
			verifier := oauth2.GenerateVerifier()
			code, _ := party.authorizationCode(t, verifier)
			other.refused(t, "/oauth/token", redeem(code, verifier), 400, "invalid_grant")
			token, err := party.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err, "and stays so")
			other.refused(t, "/oauth/token", refreshing(token.RefreshToken), 400, "invalid_grant")
			_, body, _ := party.call(t, "/oauth/token", refreshing(token.RefreshToken))
			require.NotEmpty(t, body["access_token"])
			// A client with another client's id, but not its secret, is
			// refused.
			party.ClientSecret = other.ClientSecret
			party.refused(t, "/oauth/token", refreshing(token.RefreshToken), 401, "invalid_client")
			party.ClientSecret = ""
			party.refused(t, "/oauth/token", refreshing(token.RefreshToken), 401, "invalid_client")
		})
		t.Run("two authentication methods are refused", func(t *testing.T) {
			t.Parallel()
			party, other := server.thirdParty(t, nil), server.thirdParty(t, nil)
			token := party.tokens(t)
			for _, path := range []string{"/oauth/introspect", "/oauth/token", "/oauth/revoke"} {
				asks := func(more url.Values) url.Values {
					values := refreshing(token.RefreshToken)
					values.Set("token", token.AccessToken)
					maps.Copy(values, more)
					return values
				}
				// A secret in the body is refused in addition to the right one
				// in the header.
				for _, body := range []url.Values{
					{"client_id": {party.ClientID}, "client_secret": {party.ClientSecret}},
					{"client_secret": {party.ClientSecret}},
					{"client_secret": {"wrong"}},
					{"client_id": {other.ClientID}, "client_secret": {other.ClientSecret}},
					{"client_id": {other.ClientID}},
				} {
					party.refused(t, path, asks(body), 400, "invalid_request")
				}
				wrong := *party
				wrong.ClientSecret = "wrong"
				wrong.refused(t, path, asks(url.Values{"client_secret": {party.ClientSecret}}), 400, "invalid_request")
				require.True(t, party.active(t, token.AccessToken), "nothing of it was done")
				// The same id in the body, and empty parameters, are not a
				// second authentication method.
				status, body, _ := party.call(t, path, asks(url.Values{"client_id": {party.ClientID}, "client_secret": {""}}))
				require.Equal(t, 200, status, "%v", body)
				if next, there := body["refresh_token"].(string); there {
					token.RefreshToken, token.AccessToken = next, body["access_token"].(string)
				}
			}
			require.False(t, party.active(t, token.AccessToken))
			// The body alone is accepted.
			inBody := server.thirdParty(t, nil)
			inBody.Endpoint.AuthStyle = oauth2.AuthStyleInParams
			inBody.tokens(t)
		})
		t.Run("unregistered redirect URI", func(t *testing.T) {
			t.Parallel()
			party, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			for _, to := range []string{callback + "/more", "https://evil.wardfinder.example.com/callback", "https://wardfinder.example.com/x/../callback", callback + "?a=b", "http://wardfinder.example.com/callback",
				"https://wardfinder.example.com.evil.example/callback", "https://wardfinder.example.com@evil.example/callback", "https://WARDFINDER.example.com/callback", callback + "#x", callback + "/", "//wardfinder.example.com/callback", "https://wardfinder.example.com:444/callback"} {
				party.RedirectURL = to
				got := browser.open("GET", party.authorizationPath(verifier), nil)
				require.Equal(t, 400, got.status, to)
				require.Empty(t, got.header.Get("Location"))
				require.Equal(t, 400, server.browser(t).open("GET", party.authorizationPath(verifier), nil).status, "nor before a sign-in")
			}
			party.RedirectURL = callback
			code := browser.allow(party.authorizationPath(verifier)).Get("code")
			for _, to := range []string{"", callback + "/more"} {
				values := redeem(code, verifier)
				values.Set("redirect_uri", to)
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
			party.RedirectURL = "http://127.0.0.1:51004/cb"
			code := browser.allow(party.authorizationPath(verifier)).Get("code")
			values := redeem(code, verifier)
			values.Set("redirect_uri", party.RedirectURL)
			_, body, _ := party.call(t, "/oauth/token", values)
			require.NotEmpty(t, body["access_token"], "%v", body)
			for _, to := range []string{
				// Any port is allowed for loopback addresses only (RFC 8252 §7.3), and
				// localhost is not one.
				"http://127.0.0.1:51004/other", "http://127.0.0.2:51004/cb",
				"https://127.0.0.1:51004/cb", "http://localhost:5/cb",
				"http://127.0.0.1.evil.example/cb",
			} {
				party.RedirectURL = to
				require.Equal(t, 400, browser.open("GET", party.authorizationPath(verifier), nil).status, to)
			}
		})
		t.Run("missing PKCE and plain", func(t *testing.T) {
			t.Parallel()
			for _, more := range []object{nil, {"public": true}} {
				p := server.thirdParty(t, more)
				b := server.signedIn(t, server.seeker(t))
				challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())
				for _, with := range []url.Values{
					{},
					{"code_challenge": {challenge}},
					{"code_challenge": {challenge}, "code_challenge_method": {"plain"}},
					{"code_challenge": {challenge}, "code_challenge_method": {"s256"}},
					{"code_challenge_method": {"S256"}},
					{"code_challenge": {"short"}, "code_challenge_method": {"S256"}},
				} {
					path := strings.TrimPrefix(p.AuthCodeURL("the state"), server.url) + "&" + with.Encode()
					answer := b.redirectQuery(b.open("GET", path, nil))
					require.Equal(t, "invalid_request", answer.Get("error"), "%v", with)
					require.Empty(t, answer.Get("code"))
				}
			}
		})
		t.Run("wrong or missing verifier", func(t *testing.T) {
			t.Parallel()
			party, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := party.authorizationCode(t, verifier)
			for _, wrong := range []string{
				"",
				oauth2.GenerateVerifier(),
				verifier[:42],
				oauth2.S256ChallengeFromVerifier(verifier),
				verifier + strings.Repeat("x", 200),
			} {
				party.refused(t, "/oauth/token", redeem(code, wrong), 400, "invalid_grant")
			}
			values := redeem(code, verifier)
			values.Del("code_verifier")
			party.refused(t, "/oauth/token", values, 400, "invalid_grant")
		})
		t.Run("refresh cannot widen scopes", func(t *testing.T) {
			t.Parallel()
			party := server.thirdParty(t, nil)
			token := party.tokens(t)
			for _, wider := range []string{"applications:read", "jobs:read applications:write applications:read", "admin", "*"} {
				values := refreshing(token.RefreshToken)
				values.Set("scope", wider)
				party.refused(t, "/oauth/token", values, 400, "invalid_scope")
			}
			values := refreshing(token.RefreshToken)
			values.Set("scope", "jobs:read")
			_, fewer, _ := party.call(t, "/oauth/token", values)
			require.Equal(t, "jobs:read", fewer["scope"])
			access, _ := fewer["access_token"].(string)
			_, about, _ := party.call(t, "/oauth/introspect", url.Values{"token": {access}})
			require.Equal(t, "jobs:read", about["scope"])
			refresh, _ := fewer["refresh_token"].(string)
			_, again, _ := party.call(t, "/oauth/token", refreshing(refresh))
			require.Equal(t, "jobs:read applications:write", again["scope"], "what was allowed is allowed")
		})
		t.Run("unknown and missing scopes", func(t *testing.T) {
			t.Parallel()
			party, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			browser := server.signedIn(t, server.seeker(t))
			for _, scope := range []string{"admin", "jobs:read admin", "jobs", "jobs:*", "JOBS:READ", "openid", "offline_access"} {
				party.Scopes = []string{scope}
				require.Equal(t, "invalid_scope", browser.redirectQuery(browser.open("GET", party.authorizationPath(verifier), nil)).Get("error"), scope)
			}
			party.Scopes = nil
			code := browser.allow(party.authorizationPath(verifier)).Get("code")
			_, body, _ := party.call(t, "/oauth/token", redeem(code, verifier))
			require.Equal(t, "jobs:read", body["scope"]) // the default scope
		})
		t.Run("consent requires the CSRF token of the session", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			me, stranger := server.seeker(t), server.seeker(t)
			browser, theirs := server.signedIn(t, me), server.signedIn(t, stranger)
			path := p.authorizationPath(verifier)
			csrf := browser.Open("GET", path, nil).Secret(t)
			foreign := theirs.Open("GET", path, nil).Secret(t)
			yes := url.Values{"decision": {"allow"}}
			require.Equal(t, 403, browser.open("POST", path, yes).status)
			for _, wrong := range []string{"", "x", foreign} {
				yes.Set("csrf", wrong)
				require.Equal(t, 403, browser.open("POST", path, yes).status)
			}
			yes.Set("csrf", csrf)
			for _, sent := range []struct{ site, from string }{
				{"cross-site", ""}, {"same-site", ""}, {"none", ""}, {"", "https://evil.example"},
				{"", "null"}, {"cross-site", server.url},
			} {
				browser.Site, browser.From = sent.site, sent.from
				require.Equal(t, 403, browser.open("POST", path, yes).status, "%v", sent)
			}
			browser.Site, browser.From = "", server.url
			require.NotEmpty(t, browser.redirectQuery(browser.open("POST", path, yes)).Get("code"))
		})
		t.Run("frames are refused", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := server.signedIn(t, server.seeker(t))
			// A request that is refused must not allow forms to the unknown host.
			p2 := *p
			p2.RedirectURL = callback + "x"
			for path, forms := range map[string]string{
				p.authorizationPath(verifier):  "'self' https://wardfinder.example.com",
				p2.authorizationPath(verifier): "'self'",
				"/developers/consents":         "'self'",
			} {
				header := b.open("GET", path, nil).header
				policy := header.Get("Content-Security-Policy")
				require.Contains(t, policy, "default-src 'none'")
				require.Contains(t, policy, "frame-ancestors 'none'")
				require.True(t, strings.HasSuffix(policy, "form-action "+forms), policy)
				require.NotContains(t, policy, "unsafe")
				require.Equal(t, "DENY", header.Get("X-Frame-Options"))
				require.Equal(t, "no-store", header.Get("Cache-Control"))
				require.Equal(t, "same-origin", header.Get("Referrer-Policy"))
				require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
				require.Equal(t, "same-origin", header.Get("Cross-Origin-Opener-Policy"))
			}
		})
		t.Run("interstitial page before a redirect to another host", func(t *testing.T) {
			t.Parallel()
			p, me := server.thirdParty(t, nil), server.seeker(t)
			b := server.browser(t)
			b.Site, b.From = "", server.url // as over http, where browsers send no Sec-Fetch-Site
			path := p.authorizationPath(oauth2.GenerateVerifier())
			page := b.open("POST", "/developers/sign-in", url.Values{"email": {me.email}, "password": {password}, "next": {path}})
			// A policy of form-action also applies to redirects after the form, so that the
			// sign-in cannot redirect to the client: a page with a link comes between.
			require.Equal(t, 200, page.status)
			require.Contains(t, page.visibleText(), `url=`+path)
		})
		t.Run("open redirect after a sign-in", func(t *testing.T) {
			t.Parallel()
			me := server.seeker(t)
			for _, next := range []string{
				"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example",
				"https:evil.example", "/\t/evil.example", "javascript:alert(1)", " //evil.example",
				"", "evil",
			} {
				b := server.browser(t)
				require.NotContains(t, b.open("GET", "/developers/sign-in?next="+url.QueryEscape(next), nil).text, "evil")
				in := b.open("POST", "/developers/sign-in", url.Values{"email": {me.email}, "password": {password}, "next": {next}})
				require.Equal(t, 303, in.status)
				require.Equal(t, "/developers", in.header.Get("Location"), next)
				again := b.open("GET", "/developers/sign-in?next="+url.QueryEscape(next), nil)
				require.Equal(t, "/developers", again.header.Get("Location"), next)
			}
		})
	})
}

// countSuccesses returns how many of n concurrent calls succeed.
func countSuccesses(t testing.TB, n int, call func() error) int64 {
	t.Helper()
	var all sync.WaitGroup
	var done atomic.Int64
	for range n {
		all.Go(func() {
			if call() == nil {
				done.Add(1)
			}
		})
	}
	all.Wait()
	return done.Load()
}
