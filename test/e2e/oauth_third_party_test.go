package e2e

import (
	"encoding/json"
	"io"
	"maps"
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
	return &browser{Browser: kit.NewBrowser(t, s.url, s.guest(t).ip), server: s}
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
	return b.requireNoServerError(b.Open(method, path, values))
}

// requireNoServerError returns the page, and fails with the log of the server if it is a server
// error.
func (b *browser) requireNoServerError(page kit.Page) pageView {
	b.T.Helper()
	require.Less(b.T, page.Status, 500, "%s\n%s", page.Text, b.server.log)
	return pageView{status: page.Status, header: page.Header, text: page.Text}
}

// signIn posts the sign-in form of the developers' pages with the account's password.
func (b *browser) signIn(a *account) pageView {
	b.T.Helper()
	return b.requireNoServerError(b.SignIn(a.email, password))
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

// oauthState is the state parameter of the authorization requests.
const oauthState = "the state"

// thirdParty is an app with its configuration of the OAuth library.
type thirdParty struct {
	server *testServer
	oauth2.Config
}

// thirdParty creates an app of a new employer. The properties of the app are defaults, replaced by
// those of overrides. With {"public": true} it is a public client, which has no secret and sends
// its id in the body.
func (s *testServer) thirdParty(t testing.TB, overrides object) *thirdParty {
	t.Helper()

	app := object{"name": "Ward Finder", "description": "Finds wards", "redirectUris": []string{callback}}
	maps.Copy(app, overrides)

	created := s.employer(t).post("/api/developers/apps", app).ok(201)

	config := oauth2.Config{
		ClientID:    created.text("data.app.clientId"),
		RedirectURL: callback,
		Scopes:      []string{"jobs:read", "applications:write"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   s.url + "/oauth/authorize",
			TokenURL:  s.url + "/oauth/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	if secret, hasSecret := created.at("data.clientSecret").(string); hasSecret {
		config.ClientSecret = secret
		config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}

	return &thirdParty{server: s, Config: config}
}

// authorizationPath returns the path of the authorization request with the PKCE challenge of
// the verifier.
func (p *thirdParty) authorizationPath(verifier string, additional ...oauth2.AuthCodeOption) string {
	options := append([]oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}, additional...)
	return strings.TrimPrefix(p.AuthCodeURL(oauthState, options...), p.server.url)
}

// allow opens the consent page, consents, and returns the parameters of the
// redirect to the client.
func (b *browser) allow(path string) url.Values {
	b.T.Helper()
	return b.redirectQuery(b.requireNoServerError(b.Allow(path)))
}

// decide posts the decision on the consent page and returns the parameters of the redirect to
// the client.
func (b *browser) decide(path, decision, csrf string) url.Values {
	b.T.Helper()
	return b.redirectQuery(b.requireNoServerError(b.Decide(path, decision, csrf)))
}

// redirectQuery requires that the response is a redirect to the client with the issuer (RFC 9207)
// and the state, and returns the parameters of the redirect.
func (b *browser) redirectQuery(resp pageView) url.Values {
	b.T.Helper()
	require.Equal(b.T, 303, resp.status, resp.text)

	to, err := url.Parse(resp.header.Get("Location"))
	require.NoError(b.T, err)
	require.NotEmpty(b.T, to.Scheme, "a redirect within the server, not to the client: %s", to)
	require.Equal(b.T, issuer, to.Query().Get("iss"))
	require.Equal(b.T, oauthState, to.Query().Get("state"))

	return to.Query()
}

// authorizationCode returns a code for all scopes of the app, and the new user who consented.
func (p *thirdParty) authorizationCode(t testing.TB, verifier string) (code string, user *account) {
	t.Helper()

	user = p.server.seeker(t)
	code = p.server.signedIn(t, user).allow(p.authorizationPath(verifier)).Get("code")
	require.Regexp(t, `^loc_ac_[0-9A-Za-z]{43}$`, code)

	return code, user
}

// tokens returns the access and the refresh token of a new user who consented.
func (p *thirdParty) tokens(t testing.TB) *oauth2.Token {
	t.Helper()

	verifier := oauth2.GenerateVerifier()
	code, _ := p.authorizationCode(t, verifier)
	token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err)

	return token
}

// call posts the values to an endpoint of the authorization server, with the credentials of the
// app. A server error fails the test. The body is nil if it is not JSON.
func (p *thirdParty) call(t testing.TB, path string, values url.Values) (status int, body map[string]any, header http.Header) {
	t.Helper()

	if p.ClientSecret == "" {
		values.Set("client_id", p.ClientID)
	}

	request, err := http.NewRequestWithContext(t.Context(), "POST", p.server.url+path, strings.NewReader(values.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")

	if p.ClientSecret != "" {
		request.SetBasicAuth(p.ClientID, p.ClientSecret)
	}

	resp, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = resp.Body.Close() }()

	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 500, "%s\n%s", raw, p.server.log)

	if len(raw) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(raw, &body))
	}

	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))

	return resp.StatusCode, body, resp.Header
}

// refused posts like call and requires an error of OAuth with the status and code.
func (p *thirdParty) refused(t testing.TB, path string, values url.Values, status int, code string) {
	t.Helper()

	gotStatus, body, _ := p.call(t, path, values)
	require.Equal(t, status, gotStatus, "%v", body)
	require.Equal(t, code, body["error"], "%v", body)
	require.NotEmpty(t, body["error_description"])
}

// isActive reports whether an access or refresh token is valid, by introspection.
func (p *thirdParty) isActive(t testing.TB, token string) bool {
	t.Helper()

	status, body, _ := p.call(t, "/oauth/introspect", url.Values{"token": {token}})
	require.Equal(t, 200, status)

	return body["active"] == true
}

// codeGrant returns the form that exchanges a code for tokens.
func codeGrant(code, verifier string) url.Values {
	return url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"code_verifier": {verifier},
		"redirect_uri":  {callback},
	}
}

// refreshGrant returns the form that exchanges a refresh token for new tokens.
func refreshGrant(refreshToken string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}}
}
