package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/locumhq/locum/test/kit"
)

// browser is the browser of one user, with an address of its own.
type browser struct {
	*kit.Browser
	server *testServer
}

// browser returns a browser without cookies.
func (s *testServer) browser(t testing.TB) *browser {
	t.Helper()
	return &browser{kit.NewBrowser(t, s.url, s.guest(t).ip), s}
}

// pageView is a page that is not a server error.
type pageView struct {
	status int
	header http.Header
	text   string
}

// open requests a path, or posts a form to it if values is not nil.
func (b *browser) open(method, path string, values url.Values) pageView {
	b.T.Helper()
	return b.seen(b.Open(method, path, values))
}

// seen requires that a page is not a server error.
func (b *browser) seen(p kit.Page) pageView {
	b.T.Helper()
	require.Less(b.T, p.Status, 500, "%s\n%s", p.Text, b.server.log)
	return pageView{p.Status, p.Header, p.Text}
}

// signIn posts the sign-in form of the developers' pages with the account's password.
func (b *browser) signIn(a *account) pageView {
	b.T.Helper()
	return b.seen(b.SignIn(a.email, password))
}

// signedIn returns a browser in which the account has signed in.
func (s *testServer) signedIn(t testing.TB, a *account) *browser {
	t.Helper()
	b := s.browser(t)
	require.Equal(t, 303, b.signIn(a).status)
	return b
}

// issuer is the public URL of the servers under test, which listen on another
// address.
const issuer = "http://localhost:8080"

// callback is the redirect URI of the apps. Nothing is served there: the tests read the
// redirect.
const callback = "https://wardfinder.example.com/callback"

// thirdParty is an app with its configuration of the OAuth library.
type thirdParty struct {
	server *testServer
	oauth2.Config
}

// thirdParty creates an app of a new employer, with the members of more. A public client has no
// secret and sends its id in the body.
func (s *testServer) thirdParty(t testing.TB, more object) *thirdParty {
	t.Helper()
	in := object{"name": "Ward Finder", "description": "Finds wards", "redirectUris": []string{callback}}
	for name, value := range more {
		in[name] = value
	}
	made := s.employer(t).post("/api/developers/apps", in).ok(201)
	c := oauth2.Config{
		ClientID:    made.text("data.app.clientId"),
		RedirectURL: callback,
		Scopes:      []string{"jobs:read", "applications:write"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   s.url + "/oauth/authorize",
			TokenURL:  s.url + "/oauth/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	if secret, there := made.at("data.clientSecret").(string); there {
		c.ClientSecret, c.Endpoint.AuthStyle = secret, oauth2.AuthStyleInHeader
	}
	return &thirdParty{s, c}
}

// authorizationPath returns the path of the authorization request with the PKCE challenge of
// the verifier.
func (p *thirdParty) authorizationPath(verifier string, more ...oauth2.AuthCodeOption) string {
	return strings.TrimPrefix(
		p.AuthCodeURL("the state", append([]oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}, more...)...),
		p.server.url,
	)
}

// allow opens the consent page, consents, and returns the parameters of the
// redirect to the client.
func (b *browser) allow(path string) url.Values {
	b.T.Helper()
	return b.redirectQuery(b.seen(b.Allow(path)))
}

// decide posts the decision on the consent page and returns the parameters of the redirect to
// the client.
func (b *browser) decide(path, decision, csrf string) url.Values {
	b.T.Helper()
	return b.redirectQuery(b.seen(b.Decide(path, decision, csrf)))
}

// redirectQuery returns the parameters of a redirect to the client, and checks the issuer (RFC
// 9207) and the state in them.
func (b *browser) redirectQuery(answer pageView) url.Values {
	b.T.Helper()
	require.Equal(b.T, 303, answer.status, answer.text)
	to, err := url.Parse(answer.header.Get("Location"))
	require.NoError(b.T, err)
	require.NotEmpty(b.T, to.Scheme, "not the client: %s", to)
	require.Equal(b.T, issuer, to.Query().Get("iss"))
	require.Equal(b.T, "the state", to.Query().Get("state"))
	return to.Query()
}

// authorizationCode returns a code with all scopes from a new user.
func (p *thirdParty) authorizationCode(t testing.TB, verifier string) (string, *account) {
	t.Helper()
	user := p.server.seeker(t)
	code := p.server.signedIn(t, user).allow(p.authorizationPath(verifier)).Get("code")
	require.Regexp(t, `^loc_ac_[0-9A-Za-z]{43}$`, code)
	return code, user
}

// tokens returns the tokens of a new user.
func (p *thirdParty) tokens(t testing.TB) *oauth2.Token {
	t.Helper()
	verifier := oauth2.GenerateVerifier()
	code, _ := p.authorizationCode(t, verifier)
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
	r, err := http.NewRequestWithContext(t.Context(), "POST", p.server.url+path, strings.NewReader(values.Encode()))
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
	require.Less(t, answer.StatusCode, 500, "%s\n%s", text, p.server.log)
	if len(text) > 0 && strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(text, &body))
	}
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	return answer.StatusCode, body, answer.Header
}

// refused requires an error of OAuth with the status and code.
func (p *thirdParty) refused(t testing.TB, path string, values url.Values, status int, code string) {
	t.Helper()
	got, body, _ := p.call(t, path, values)
	require.Equal(t, status, got, "%v", body)
	require.Equal(t, code, body["error"], "%v", body)
	require.NotEmpty(t, body["error_description"])
}

// active reports whether a token is valid, by introspection.
func (p *thirdParty) active(t testing.TB, token string) bool {
	t.Helper()
	status, body, _ := p.call(t, "/oauth/introspect", url.Values{"token": {token}})
	require.Equal(t, 200, status)
	is, _ := body["active"].(bool)
	return is
}

// redeem returns the form that exchanges a code for tokens.
func redeem(code, verifier string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {callback}}
}

// refreshing returns the form that refreshes a token.
func refreshing(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}}
}
