package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// browser is somebody's browser. It keeps cookies, says where requests come from
// as browsers do, and shows each answer instead of following it.
type browser struct {
	t    testing.TB
	w    *world
	http *http.Client
	ip   string
	site string // the Sec-Fetch-Site of forms, empty for an old browser
	from string // the Origin of forms
}

func (w *world) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &browser{t: t, w: w, ip: w.guest(t).ip, site: "same-origin", http: &http.Client{Jar: jar, CheckRedirect: stay, Timeout: 20 * time.Second}}
}

type shown struct {
	status int
	header http.Header
	text   string
}

func (b *browser) open(method, path string, values url.Values) shown {
	b.t.Helper()
	var body io.Reader
	if values != nil {
		body = strings.NewReader(values.Encode())
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.w.url+path, body)
	require.NoError(b.t, err)
	r.Header.Set("X-Forwarded-For", b.ip)
	if values != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if b.site != "" {
			r.Header.Set("Sec-Fetch-Site", b.site)
		}
		if b.from != "" {
			r.Header.Set("Origin", b.from)
		}
	}
	answer, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	require.Less(b.t, answer.StatusCode, 500, "%s %s: %s\n%s", method, path, text, b.w.log)
	return shown{answer.StatusCode, answer.Header, string(text)}
}

func (b *browser) signIn(a *account) shown {
	b.t.Helper()
	return b.open("POST", "/developers/sign-in", url.Values{"email": {a.email}, "password": {password}})
}

// signedIn is a browser of somebody who has signed in.
func (w *world) signedIn(t testing.TB, a *account) *browser {
	t.Helper()
	b := w.browser(t)
	require.Equal(t, 200, b.signIn(a).status)
	return b
}

// issuer is the public URL of the servers under test, which are at another.
const issuer = "http://localhost:8080"

const callback = "https://wardfinder.example.com/callback"

// thirdParty is an application, and the authorization server as it knows it.
type thirdParty struct {
	w *world
	oauth2.Config
}

func (w *world) thirdParty(t testing.TB, more object) *thirdParty {
	t.Helper()
	in := object{"name": "Ward Finder", "description": "Finds wards", "redirectUris": []string{callback}}
	for name, value := range more {
		in[name] = value
	}
	made := w.employer(t).post("/api/developers/apps", in).ok(201)
	c := oauth2.Config{ClientID: made.text("data.app.clientId"), RedirectURL: callback, Scopes: []string{"jobs:read", "applications:write"},
		Endpoint: oauth2.Endpoint{AuthURL: w.url + "/oauth/authorize", TokenURL: w.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams}}
	if secret, there := made.at("data.clientSecret").(string); there {
		c.ClientSecret, c.Endpoint.AuthStyle = secret, oauth2.AuthStyleInHeader
	}
	return &thirdParty{w, c}
}

// ask is the path that a user is sent to.
func (p *thirdParty) ask(verifier string, more ...oauth2.AuthCodeOption) string {
	return strings.TrimPrefix(p.AuthCodeURL("the state", append([]oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}, more...)...), p.w.url)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`)

// allow has the user look at the consent page and agree, and returns what the
// client hears.
func (b *browser) allow(path string) url.Values {
	b.t.Helper()
	page := b.open("GET", path, nil)
	require.Equal(b.t, 200, page.status, page.text)
	return b.decide(path, "allow", csrfField.FindStringSubmatch(page.text)[1])
}

func (b *browser) decide(path, decision, csrf string) url.Values {
	b.t.Helper()
	return b.sent(b.open("POST", path, url.Values{"csrf": {csrf}, "decision": {decision}}))
}

// sent is what a redirect to the client says.
func (b *browser) sent(answer shown) url.Values {
	b.t.Helper()
	require.Equal(b.t, 303, answer.status, answer.text)
	to, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.t, err)
	require.NotEmpty(b.t, to.Scheme, "not the client: %s", to)
	require.Equal(b.t, issuer, to.Query().Get("iss"))
	require.Equal(b.t, "the state", to.Query().Get("state"))
	return to.Query()
}

// code has a new user allow it all.
func (p *thirdParty) code(t testing.TB, verifier string) (string, *account) {
	t.Helper()
	who := p.w.seeker(t)
	code := p.w.signedIn(t, who).allow(p.ask(verifier)).Get("code")
	require.Regexp(t, `^loc_ac_[0-9A-Za-z]{43}$`, code)
	return code, who
}

func (p *thirdParty) tokens(t testing.TB) *oauth2.Token {
	t.Helper()
	verifier := oauth2.GenerateVerifier()
	code, _ := p.code(t, verifier)
	token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	return token
}

// call posts to an endpoint as the client.
func (p *thirdParty) call(t testing.TB, path string, values url.Values) (status int, body map[string]any, header http.Header) {
	t.Helper()
	if p.ClientSecret == "" {
		values.Set("client_id", p.ClientID)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.w.url+path, strings.NewReader(values.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.ClientSecret != "" {
		r.SetBasicAuth(p.ClientID, p.ClientSecret)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Less(t, answer.StatusCode, 500, "%s\n%s", text, p.w.log)
	if len(text) > 0 && strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(text, &body))
	}
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	return answer.StatusCode, body, answer.Header
}

func (p *thirdParty) refused(t testing.TB, path string, values url.Values, status int, code string) {
	t.Helper()
	got, body, _ := p.call(t, path, values)
	require.Equal(t, status, got, "%v", body)
	require.Equal(t, code, body["error"], "%v", body)
	require.NotEmpty(t, body["error_description"])
}

func (p *thirdParty) active(t testing.TB, token string) bool {
	t.Helper()
	status, body, _ := p.call(t, "/oauth/introspect", url.Values{"token": {token}})
	require.Equal(t, 200, status)
	is, _ := body["active"].(bool)
	return is
}

func redeem(code, verifier string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {callback}}
}

func refreshing(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
}

func TestOAuth(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		t.Run("GET /.well-known/oauth-authorization-server", func(t *testing.T) {
			t.Parallel()
			meta := w.guest(t).try("GET", "/.well-known/oauth-authorization-server", nil)
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
				p, who, verifier := w.thirdParty(t, more), w.seeker(t), oauth2.GenerateVerifier()
				b := w.browser(t)
				asked := b.open("GET", p.ask(verifier), nil)
				require.Equal(t, 303, asked.status)
				signIn, err := url.Parse(asked.header.Get("Location"))
				require.NoError(t, err)
				require.Equal(t, "/developers/sign-in", signIn.Path)
				require.Equal(t, p.ask(verifier), signIn.Query().Get("next"))
				require.Contains(t, b.open("GET", signIn.String(), nil).text, `name="password"`)
				onward := b.open("POST", "/developers/sign-in", url.Values{"email": {who.email}, "password": {password}, "next": {signIn.Query().Get("next")}})
				require.Contains(t, onward.text, `href="/oauth/authorize?`)
				page := b.open("GET", p.ask(verifier), nil).text
				for _, words := range []string{"Ward Finder", "St Brigid&#39;s Hospital", "wardfinder.example.com", "Apply for jobs in your name"} {
					require.Contains(t, page, words)
				}
				code := b.allow(p.ask(verifier)).Get("code")
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
		t.Run("introspection tells a client of its own tokens alone", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, who := p.code(t, verifier)
			token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)
			_, body, _ := p.call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
			require.Equal(t, true, body["active"])
			require.Equal(t, who.id, body["sub"])
			require.Equal(t, p.ClientID, body["client_id"])
			require.Equal(t, "jobs:read applications:write", body["scope"])
			require.InDelta(t, time.Now().Add(15*time.Minute).Unix(), body["exp"], 30)
			require.True(t, p.active(t, token.RefreshToken))
			_, body, _ = w.thirdParty(t, nil).call(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}})
			require.Equal(t, map[string]any{"active": false}, body)
			w.thirdParty(t, object{"public": true}).refused(t, "/oauth/introspect", url.Values{"token": {token.AccessToken}}, 401, "invalid_client")
			require.False(t, p.active(t, "nonsense"))
			// Another client cannot revoke it either, and is not told whether it is one.
			status, _, _ := w.thirdParty(t, nil).call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}})
			require.Equal(t, 200, status)
			require.True(t, p.active(t, token.AccessToken))
			status, _, _ = p.call(t, "/oauth/revoke", url.Values{"token": {token.AccessToken}, "token_type_hint": {"access_token"}})
			require.Equal(t, 200, status)
			require.False(t, p.active(t, token.AccessToken))
			require.False(t, p.active(t, token.RefreshToken), "they are one authorization")
		})
		t.Run("a consent is remembered, and asked for again when there is more or prompt=consent", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			b.allow(p.ask(verifier))
			require.NotEmpty(t, b.sent(b.open("GET", p.ask(verifier), nil)).Get("code"))
			fewer := *p
			fewer.Scopes = []string{"jobs:read"}
			require.NotEmpty(t, b.sent(b.open("GET", fewer.ask(verifier), nil)).Get("code"))
			require.Equal(t, 200, b.open("GET", p.ask(verifier, oauth2.SetAuthURLParam("prompt", "consent")), nil).status)
			more := *p
			more.Scopes = []string{"applications:read"}
			require.Equal(t, 200, b.open("GET", more.ask(verifier), nil).status)
			// Another program may have taken the place of one on a device.
			device := w.thirdParty(t, object{"public": true, "redirectUris": []string{"http://127.0.0.1/cb"}})
			device.RedirectURL = "http://127.0.0.1:49152/cb"
			b.allow(device.ask(verifier))
			require.Equal(t, 200, b.open("GET", device.ask(verifier), nil).status)
		})
		t.Run("the state is the client's own, and may be missing", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			b.allow(p.ask(verifier))
			for _, state := range []string{"s", "", "long enough", strings.Repeat("x", 2000)} {
				path := strings.TrimPrefix(p.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)), w.url)
				answer := b.open("GET", path, nil)
				require.Equal(t, 303, answer.status, answer.text)
				to, err := url.Parse(answer.header.Get("Location"))
				require.NoError(t, err)
				require.NotEmpty(t, to.Query().Get("code"), to)
				require.Equal(t, state != "", to.Query().Has("state"))
				require.Equal(t, state, to.Query().Get("state"))
			}
		})
		t.Run("who does not allow it is sent back with access_denied", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			csrf := csrfField.FindStringSubmatch(b.open("GET", p.ask(verifier), nil).text)[1]
			require.Equal(t, "access_denied", b.decide(p.ask(verifier), "deny", csrf).Get("error"))
			require.Equal(t, 200, b.open("GET", p.ask(verifier), nil).status, "nothing is remembered")
		})
		t.Run("who made the link does not decide", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			for _, more := range []string{"&decision=allow", "&decision=allow&csrf=x"} {
				link := p.ask(verifier) + more
				csrf := csrfField.FindStringSubmatch(b.open("GET", link, nil).text)[1]
				require.Equal(t, "access_denied", b.decide(link, "deny", csrf).Get("error"))
			}
		})
		t.Run("nothing that a client sends is a fault of the server", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			for _, more := range []string{"&request=x", "&request_uri=urn:ietf:params:oauth:request_uri:x", "&client_id=" + p.ClientID, "&%zz", "&registration=x", "&resource=a&resource=b"} {
				got := b.open("GET", p.ask(verifier)+more, nil)
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
			p.ClientSecret = "wrong"
			_, _, header := p.call(t, "/oauth/token", refreshing("x"))
			require.Contains(t, header.Get("WWW-Authenticate"), "Basic")
			p.refused(t, "/oauth/token", refreshing("x"), 401, "invalid_client")
			for _, id := range []string{"nonsense", "\x00", "00000000-0000-0000-0000-000000000000"} {
				p.ClientID = id
				p.refused(t, "/oauth/token", refreshing("x"), 401, "invalid_client")
			}
			require.Equal(t, 400, b.open("GET", p.ask(verifier), nil).status)
			require.Contains(t, []int{400, 401}, w.guest(t).try("POST", "/oauth/token", object{"grant_type": "authorization_code"}).status)
		})
	})
}

func TestOAuthAttacks(t *testing.T) {
	everywhere(t, func(t *testing.T, w *world) {
		t.Run("a code works once, and its second use revokes what it gave", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := p.code(t, verifier)
			token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err)
			require.True(t, p.active(t, token.AccessToken))
			p.refused(t, "/oauth/token", redeem(code, verifier), 400, "invalid_grant")
			require.False(t, p.active(t, token.AccessToken))
			p.refused(t, "/oauth/token", refreshing(token.RefreshToken), 400, "invalid_grant")
		})
		t.Run("of twenty exchanges of a code at once one succeeds", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := p.code(t, verifier)
			require.EqualValues(t, 1, succeed(t, 20, func() error {
				_, err := p.Exchange(context.Background(), code, oauth2.VerifierOption(verifier))
				return err
			}))
		})
		t.Run("of twenty refreshes at once one succeeds", func(t *testing.T) {
			t.Parallel()
			p := w.thirdParty(t, nil)
			token := p.tokens(t)
			token.Expiry = time.Now().Add(-time.Hour)
			require.EqualValues(t, 1, succeed(t, 20, func() error {
				_, err := p.TokenSource(context.Background(), token).Token()
				return err
			}))
		})
		t.Run("a refresh token works once, and its second use ends the family", func(t *testing.T) {
			t.Parallel()
			for _, more := range []object{nil, {"public": true}} {
				p := w.thirdParty(t, more)
				first := p.tokens(t)
				_, second, _ := p.call(t, "/oauth/token", refreshing(first.RefreshToken))
				require.NotEmpty(t, second["access_token"])
				p.refused(t, "/oauth/token", refreshing(first.RefreshToken), 400, "invalid_grant")
				next, _ := second["refresh_token"].(string)
				p.refused(t, "/oauth/token", refreshing(next), 400, "invalid_grant")
			}
		})
		t.Run("a rotation ends the access token before it", func(t *testing.T) {
			t.Parallel()
			p := w.thirdParty(t, nil)
			token := p.tokens(t)
			_, second, _ := p.call(t, "/oauth/token", refreshing(token.RefreshToken))
			require.False(t, p.active(t, token.AccessToken))
			access, _ := second["access_token"].(string)
			require.True(t, p.active(t, access))
		})
		t.Run("a code or a refresh token is of use to its own client alone", func(t *testing.T) {
			t.Parallel()
			p, other, verifier := w.thirdParty(t, nil), w.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := p.code(t, verifier)
			other.refused(t, "/oauth/token", redeem(code, verifier), 400, "invalid_grant")
			token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
			require.NoError(t, err, "and stays so")
			other.refused(t, "/oauth/token", refreshing(token.RefreshToken), 400, "invalid_grant")
			_, body, _ := p.call(t, "/oauth/token", refreshing(token.RefreshToken))
			require.NotEmpty(t, body["access_token"])
			// A client that knows who another is, but not its secret, is not that one.
			p.ClientSecret = other.ClientSecret
			p.refused(t, "/oauth/token", refreshing(token.RefreshToken), 401, "invalid_client")
			p.ClientSecret = ""
			p.refused(t, "/oauth/token", refreshing(token.RefreshToken), 401, "invalid_client")
		})
		t.Run("an address that is not registered is not sent to", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			for _, to := range []string{callback + "/more", "https://evil.wardfinder.example.com/callback", "https://wardfinder.example.com/x/../callback", callback + "?a=b", "http://wardfinder.example.com/callback",
				"https://wardfinder.example.com.evil.example/callback", "https://wardfinder.example.com@evil.example/callback", "https://WARDFINDER.example.com/callback", callback + "#x", callback + "/", "//wardfinder.example.com/callback", "https://wardfinder.example.com:444/callback"} {
				p.RedirectURL = to
				got := b.open("GET", p.ask(verifier), nil)
				require.Equal(t, 400, got.status, to)
				require.Empty(t, got.header.Get("Location"))
				require.Equal(t, 400, w.browser(t).open("GET", p.ask(verifier), nil).status, "nor before a sign-in")
			}
			p.RedirectURL = callback
			code := b.allow(p.ask(verifier)).Get("code")
			for _, to := range []string{"", callback + "/more"} {
				values := redeem(code, verifier)
				values.Set("redirect_uri", to)
				p.refused(t, "/oauth/token", values, 400, "invalid_grant")
			}
		})
		t.Run("of a loopback address the port is free, and nothing else", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, object{"public": true, "redirectUris": []string{"http://127.0.0.1/cb", "http://localhost:1234/cb"}}), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			p.RedirectURL = "http://127.0.0.1:51004/cb"
			code := b.allow(p.ask(verifier)).Get("code")
			values := redeem(code, verifier)
			values.Set("redirect_uri", p.RedirectURL)
			_, body, _ := p.call(t, "/oauth/token", values)
			require.NotEmpty(t, body["access_token"], "%v", body)
			for _, to := range []string{"http://127.0.0.1:51004/other", "http://127.0.0.2:51004/cb", "https://127.0.0.1:51004/cb", "http://localhost:5/cb", "http://127.0.0.1.evil.example/cb"} {
				p.RedirectURL = to
				require.Equal(t, 400, b.open("GET", p.ask(verifier), nil).status, to)
			}
		})
		t.Run("without PKCE, or with plain, no code is given", func(t *testing.T) {
			t.Parallel()
			for _, more := range []object{nil, {"public": true}} {
				p := w.thirdParty(t, more)
				b := w.signedIn(t, w.seeker(t))
				challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())
				for _, with := range []url.Values{{}, {"code_challenge": {challenge}}, {"code_challenge": {challenge}, "code_challenge_method": {"plain"}}, {"code_challenge": {challenge}, "code_challenge_method": {"s256"}},
					{"code_challenge_method": {"S256"}}, {"code_challenge": {"short"}, "code_challenge_method": {"S256"}}} {
					path := strings.TrimPrefix(p.AuthCodeURL("the state"), w.url) + "&" + with.Encode()
					answer := b.sent(b.open("GET", path, nil))
					require.Equal(t, "invalid_request", answer.Get("error"), "%v", with)
					require.Empty(t, answer.Get("code"))
				}
			}
		})
		t.Run("a code is of no use with another verifier or with none", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			code, _ := p.code(t, verifier)
			for _, wrong := range []string{"", oauth2.GenerateVerifier(), verifier[:42], oauth2.S256ChallengeFromVerifier(verifier), verifier + strings.Repeat("x", 200)} {
				p.refused(t, "/oauth/token", redeem(code, wrong), 400, "invalid_grant")
			}
			values := redeem(code, verifier)
			values.Del("code_verifier")
			p.refused(t, "/oauth/token", values, 400, "invalid_grant")
		})
		t.Run("a refresh can have fewer scopes, never more", func(t *testing.T) {
			t.Parallel()
			p := w.thirdParty(t, nil)
			token := p.tokens(t)
			for _, wider := range []string{"applications:read", "jobs:read applications:write applications:read", "admin", "*"} {
				values := refreshing(token.RefreshToken)
				values.Set("scope", wider)
				p.refused(t, "/oauth/token", values, 400, "invalid_scope")
			}
			values := refreshing(token.RefreshToken)
			values.Set("scope", "jobs:read")
			_, fewer, _ := p.call(t, "/oauth/token", values)
			require.Equal(t, "jobs:read", fewer["scope"])
			access, _ := fewer["access_token"].(string)
			_, about, _ := p.call(t, "/oauth/introspect", url.Values{"token": {access}})
			require.Equal(t, "jobs:read", about["scope"])
			refresh, _ := fewer["refresh_token"].(string)
			_, again, _ := p.call(t, "/oauth/token", refreshing(refresh))
			require.Equal(t, "jobs:read applications:write", again["scope"], "what was allowed is allowed")
		})
		t.Run("a scope that is none is refused, and without any it is jobs:read", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			for _, scope := range []string{"admin", "jobs:read admin", "jobs", "jobs:*", "JOBS:READ", "openid", "offline_access"} {
				p.Scopes = []string{scope}
				require.Equal(t, "invalid_scope", b.sent(b.open("GET", p.ask(verifier), nil)).Get("error"), scope)
			}
			p.Scopes = nil
			code := b.allow(p.ask(verifier)).Get("code")
			_, body, _ := p.call(t, "/oauth/token", redeem(code, verifier))
			require.Equal(t, "jobs:read", body["scope"])
		})
		t.Run("a consent is given by its own page of the same session", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			me, stranger := w.seeker(t), w.seeker(t)
			b, theirs := w.signedIn(t, me), w.signedIn(t, stranger)
			path := p.ask(verifier)
			csrf := csrfField.FindStringSubmatch(b.open("GET", path, nil).text)[1]
			foreign := csrfField.FindStringSubmatch(theirs.open("GET", path, nil).text)[1]
			yes := url.Values{"decision": {"allow"}}
			require.Equal(t, 403, b.open("POST", path, yes).status)
			for _, wrong := range []string{"", "x", foreign} {
				yes.Set("csrf", wrong)
				require.Equal(t, 403, b.open("POST", path, yes).status)
			}
			yes.Set("csrf", csrf)
			for _, sent := range []struct{ site, from string }{{"cross-site", ""}, {"same-site", ""}, {"none", ""}, {"", ""}, {"", "https://evil.example"}, {"", "null"}, {"cross-site", w.url}} {
				b.site, b.from = sent.site, sent.from
				require.Equal(t, 403, b.open("POST", path, yes).status, "%v", sent)
			}
			b.site, b.from = "", w.url
			require.NotEmpty(t, b.sent(b.open("POST", path, yes)).Get("code"))
		})
		t.Run("no page can be shown inside of another", func(t *testing.T) {
			t.Parallel()
			p, verifier := w.thirdParty(t, nil), oauth2.GenerateVerifier()
			b := w.signedIn(t, w.seeker(t))
			p2 := *p
			p2.RedirectURL = callback + "x"
			for path, forms := range map[string]string{p.ask(verifier): "'self' https://wardfinder.example.com", p2.ask(verifier): "'self'", "/developers/consents": "'self'"} {
				header := b.open("GET", path, nil).header
				policy := header.Get("Content-Security-Policy")
				require.Contains(t, policy, "default-src 'none'")
				require.Contains(t, policy, "frame-ancestors 'none'")
				require.True(t, strings.HasSuffix(policy, "form-action "+forms), policy)
				require.NotContains(t, policy, "unsafe")
				require.Equal(t, "DENY", header.Get("X-Frame-Options"))
				require.Equal(t, "no-store", header.Get("Cache-Control"))
				require.Equal(t, "no-referrer", header.Get("Referrer-Policy"))
				require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
				require.Equal(t, "same-origin", header.Get("Cross-Origin-Opener-Policy"))
			}
		})
		t.Run("a sign-in goes on to this very host alone", func(t *testing.T) {
			t.Parallel()
			me := w.seeker(t)
			for _, next := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "https:evil.example", "/\t/evil.example", "javascript:alert(1)", " //evil.example", "", "evil"} {
				b := w.browser(t)
				require.NotContains(t, b.open("GET", "/developers/sign-in?next="+url.QueryEscape(next), nil).text, "evil")
				page := b.open("POST", "/developers/sign-in", url.Values{"email": {me.email}, "password": {password}, "next": {next}})
				require.Equal(t, 200, page.status)
				require.Contains(t, page.text, `href="/developers"`, next)
				again := b.open("GET", "/developers/sign-in?next="+url.QueryEscape(next), nil)
				require.Equal(t, "/developers", again.header.Get("Location"), next)
			}
		})
	})
}

// succeed counts how many of n calls at once do.
func succeed(t testing.TB, n int, call func() error) int64 {
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
