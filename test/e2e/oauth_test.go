package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

func TestOAuth(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /.well-known/oauth-authorization-server", func(t *testing.T) {
			t.Parallel()
			meta := server.guest(t).try("GET", "/.well-known/oauth-authorization-server", nil)
			require.Equal(t, 200, meta.status)
			require.Equal(t, issuer, meta.text("issuer"))
			require.Equal(t, []any{"S256"}, meta.at("code_challenge_methods_supported"))
			require.Equal(t, true, meta.at("authorization_response_iss_parameter_supported"))
			for name, path := range map[string]string{"authorization": "authorize", "token": "token", "revocation": "revoke", "introspection": "introspect"} {
				require.Equal(t, issuer+"/oauth/"+path, meta.text(name+"_endpoint"))
			}
		})
		t.Run("the whole flow with golang.org/x/oauth2", func(t *testing.T) {
			t.Parallel()
			for _, more := range []object{nil, {"public": true}} {
				p, user, verifier := server.thirdParty(t, more), server.seeker(t), oauth2.GenerateVerifier()
				b := server.browser(t)
				asked := b.open("GET", p.authorizationPath(verifier), nil)
				require.Equal(t, 303, asked.status)
				signIn, err := url.Parse(asked.header.Get("Location"))
				require.NoError(t, err)
				require.Equal(t, "/developers/sign-in", signIn.Path)
				require.Equal(t, p.authorizationPath(verifier), signIn.Query().Get("next"))
				require.Contains(t, b.open("GET", signIn.String(), nil).text, `name="password"`)
				onward := b.open(
					"POST",
					"/developers/sign-in",
					url.Values{"email": {user.email}, "password": {password}, "next": {signIn.Query().Get("next")}},
				)
				require.Contains(t, onward.text, `href="/oauth/authorize?`)
				page := b.open("GET", p.authorizationPath(verifier), nil).text
				for _, words := range []string{"Ward Finder", "St Brigid&#39;s Hospital", "wardfinder.example.com", "Apply for jobs in your name"} {
					require.Contains(t, page, words)
				}
				code := b.allow(p.authorizationPath(verifier)).Get("code")
				token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
				require.NoError(t, err)
				require.Regexp(t, `^loc_at_[0-9A-Za-z]{43}$`, token.AccessToken)
				require.Regexp(t, `^loc_rt_[0-9A-Za-z]{43}$`, token.RefreshToken)
				require.Equal(t, "Bearer", token.TokenType)
				require.EqualValues(t, 900, token.Extra("expires_in"))
				require.Equal(t, "jobs:read applications:write", token.Extra("scope"))

				token.Expiry = time.Now().Add(-time.Hour)
				fresh, err := p.TokenSource(t.Context(), token).Token()
				require.NoError(t, err)
				require.NotEqual(t, token.AccessToken, fresh.AccessToken)
				require.NotEqual(t, token.RefreshToken, fresh.RefreshToken)
				status, _, _ := p.call(t, "/oauth/revoke", url.Values{"token": {fresh.RefreshToken}})
				require.Equal(t, 200, status)
				p.refused(t, "/oauth/token", refreshing(fresh.RefreshToken), 400, "invalid_grant")
			}
		})
		t.Run("client without an Origin needs the CSRF token", func(t *testing.T) {
			t.Parallel()
			p, user, verifier := server.thirdParty(t, nil), server.seeker(t), oauth2.GenerateVerifier()
			b := server.browser(t)
			b.Site = ""
			path := p.authorizationPath(verifier)
			signedIn := b.open("POST", "/developers/sign-in", url.Values{"email": {user.email}, "password": {password}, "next": {path}})
			require.Equal(t, 303, signedIn.status)
			require.Equal(t, path, signedIn.header.Get("Location"))
			for at, values := range map[string]url.Values{path: {"decision": {"allow"}}, "/developers/apps": {"name": {"Mine"}}, "/developers/sign-out": {}} {
				for _, csrf := range []string{"", "x"} {
					values.Set("csrf", csrf)
					require.Equal(t, 403, b.open("POST", at, values).status, at)
				}
			}
			require.NotEmpty(t, b.allow(path).Get("code"))
			mine := url.Values{"name": {"Mine"}, "csrf": {b.Open("GET", "/developers", nil).Secret(t)}}
			require.Equal(t, 200, b.open("POST", "/developers/apps", mine).status)
			other := server.browser(t)
			other.Site = ""
			other.signIn(server.seeker(t))
			require.Equal(t, 403, other.open("POST", "/developers/apps", mine).status, "a secret is of one session")
		})
		t.Run("introspection of own tokens only", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, user := p.authorizationCode(t, verifier)
			token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)
			_, body, _ := p.call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
			require.Equal(t, true, body["active"])
			require.Equal(t, user.id, body["sub"])
			require.Equal(t, p.ClientID, body["client_id"])
			require.Equal(t, "jobs:read applications:write", body["scope"])
			require.InDelta(t, time.Now().Add(15*time.Minute).Unix(), body["exp"], 30)
			require.True(t, p.active(t, token.RefreshToken))
			_, body, _ = server.thirdParty(t, nil).call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
			require.Equal(t, map[string]any{"active": false}, body)
			server.thirdParty(t, object{"public": true}).
				refused(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}}, 401, "invalid_client")
			require.False(t, p.active(t, "nonsense"))
			// Another client cannot revoke it, and does not learn whether it
			// exists.
			status, _, _ := server.thirdParty(t, nil).call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}})
			require.Equal(t, 200, status)
			require.True(t, p.active(t, token.AccessToken))
			status, _, _ = p.call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}, "token_type_hint": {"access_token"}})
			require.Equal(t, 200, status)
			require.False(t, p.active(t, token.AccessToken))
			require.False(t, p.active(t, token.RefreshToken), "they are one authorization")
		})
		t.Run("consent is remembered until more is requested", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := server.signedIn(t, server.seeker(t))
			b.allow(p.authorizationPath(verifier))
			require.NotEmpty(t, b.redirectQuery(b.open("GET", p.authorizationPath(verifier), nil)).Get("code"))
			fewer := *p
			fewer.Scopes = []string{"jobs:read"}
			require.NotEmpty(t, b.redirectQuery(b.open("GET", fewer.authorizationPath(verifier), nil)).Get("code"))
			require.Equal(t, 200, b.open("GET", p.authorizationPath(verifier, oauth2.SetAuthURLParam("prompt", "consent")), nil).status)
			more := *p
			more.Scopes = []string{"applications:read"}
			require.Equal(t, 200, b.open("GET", more.authorizationPath(verifier), nil).status)
			// A public client may have been replaced by another program on the
			// device.
			device := server.thirdParty(t, object{"public": true, "redirectUris": []string{"http://127.0.0.1/cb"}})
			device.RedirectURL = "http://127.0.0.1:49152/cb"
			b.allow(device.authorizationPath(verifier))
			require.Equal(t, 200, b.open("GET", device.authorizationPath(verifier), nil).status)
		})
		t.Run("state parameter", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := server.signedIn(t, server.seeker(t))
			b.allow(p.authorizationPath(verifier))
			for _, state := range []string{"s", "", "long enough", strings.Repeat("x", 2000)} {
				path := strings.TrimPrefix(p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), server.url)
				answer := b.open("GET", path, nil)
				require.Equal(t, 303, answer.status, answer.text)
				to, err := url.Parse(answer.header.Get("Location"))
				require.NoError(t, err)
				require.NotEmpty(t, to.Query().Get("code"), to)
				require.Equal(t, state != "", to.Query().Has("state"))
				require.Equal(t, state, to.Query().Get("state"))
			}
		})
		t.Run("denied consent", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := server.signedIn(t, server.seeker(t))
			csrf := b.Open("GET", p.authorizationPath(verifier), nil).Secret(t)
			require.Equal(t, "access_denied", b.decide(p.authorizationPath(verifier), "deny", csrf).Get("error"))
			require.Equal(t, 200, b.open("GET", p.authorizationPath(verifier), nil).status, "nothing is remembered")
		})
		t.Run("form values in the link", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := server.signedIn(t, server.seeker(t))
			for _, more := range []string{"&decision=allow", "&decision=allow&csrf=x"} {
				link := p.authorizationPath(verifier) + more
				csrf := b.Open("GET", link, nil).Secret(t)
				require.Equal(t, "access_denied", b.decide(link, "deny", csrf).Get("error"))
			}
		})
		t.Run("hostile input is handled", func(t *testing.T) {
			t.Parallel()
			p, verifier := server.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := server.signedIn(t, server.seeker(t))
			for _, more := range []string{"&request=x", "&request_uri=urn:ietf:params:oauth:request_uri:x", "&client_id=" + p.ClientID, "&%zz", "&registration=x", "&resource=a&resource=b"} {
				got := b.open("GET", p.authorizationPath(verifier)+more, nil)
				require.Contains(t, []int{303, 400}, got.status, more)
			}
			for _, values := range []url.Values{{}, {"grant_type": {"authorization_code"}}, {"grant_type": {"refresh_token"}}, redeem("\x00\xff", verifier), refreshing(strings.Repeat("x", 5000)),
				{"grant_type": {"password"}}, {"grant_type": {"client_credentials"}}, {"grant_type": {"refresh_token", "refresh_token"}}, {"grant_type": {"\xff"}},
				{"grant_type": {"refresh_token"}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {"x.y.z"}}} {
				for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
					status, body, _ := p.call(t, path, values)
					require.Contains(t, []int{400, 401}, status)
					require.NotEmpty(t, body["error"])
				}
			}
			p.refused(t, "/oauth/token", url.Values{"grant_type": {"password"}}, 400, "unsupported_grant_type")
			for _, missing := range []url.Values{{}, redeem("", verifier), refreshing("")} {
				p.refused(t, "/oauth/token", missing, 400, "invalid_request")
			}
			require.Equal(
				t,
				"invalid_request",
				b.redirectQuery(b.open("GET", strings.Replace(p.authorizationPath(verifier), "response_type=code", "", 1), nil)).
					Get("error"),
			)
			require.Equal(
				t,
				"unsupported_response_type",
				b.redirectQuery(b.open("GET", strings.Replace(p.authorizationPath(verifier), "response_type=code", "response_type=token", 1), nil)).
					Get("error"),
			)
			p.ClientSecret = "wrong"
			_, _, header := p.call(t, "/oauth/token", refreshing("x"))
			require.Contains(t, header.Get("WWW-Authenticate"), "Basic")
			p.refused(t, "/oauth/token", refreshing("x"), 401, "invalid_client")
			for _, id := range []string{"nonsense", "\x00", "00000000-0000-0000-0000-000000000000"} {
				p.ClientID = id
				p.refused(t, "/oauth/token", refreshing("x"), 401, "invalid_client")
			}
			require.Equal(t, 400, b.open("GET", p.authorizationPath(verifier), nil).status)
			require.Contains(
				t,
				[]int{400, 401},
				server.guest(t).try("POST", "/oauth/token", object{"grant_type": "authorization_code"}).status,
			)
		})
	})
}
