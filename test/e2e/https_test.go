package e2e

import (
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// startWithHTTPS starts a server with SQLite whose public URL begins with https, as behind a TLS proxy. The
// tests connect without TLS, as the proxy does.
func startWithHTTPS(t *testing.T) *testServer {
	t.Helper()

	dir := t.TempDir()

	return start(t, dir,
		"LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"),
		"LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org")
}

// sessionCookie signs a new user in on the pages for developers and returns the cookie of the session.
func (s *testServer) sessionCookie(t *testing.T) *http.Cookie {
	t.Helper()

	signedIn := s.browser(t).signIn(s.seeker(t))
	session, err := http.ParseSetCookie(signedIn.header.Get("Set-Cookie"))
	require.NoError(t, err, signedIn.text)

	return session
}

// browserWithCookie returns a browser that sends the cookie. It sends cookies with the attribute Secure over
// TLS only, so that this cookie is set without it.
func (s *testServer) browserWithCookie(t *testing.T, name, value string) *browser {
	t.Helper()

	serverURL, err := url.Parse(s.url)
	require.NoError(t, err)

	browser := s.browser(t)
	browser.HTTP.Jar.SetCookies(serverURL, []*http.Cookie{{Name: name, Value: value, Path: "/"}})

	return browser
}

// TestHTTPS_SessionCookie_IsForTLSAndTheHostOnly checks that browsers send the session cookie over TLS only,
// and let no other host of the domain set it.
func TestHTTPS_SessionCookie_IsForTLSAndTheHostOnly(t *testing.T) {
	t.Parallel()

	server := startWithHTTPS(t)
	session := server.sessionCookie(t)

	// Browsers accept a name with the prefix __Host- only with Secure, the path / and no domain.
	require.Equal(t, "__Host-locum", session.Name)
	require.True(t, session.Secure)
	require.Equal(t, "/", session.Path)
	require.Empty(t, session.Domain)
	require.True(t, session.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, session.SameSite)

	// The server ignores a cookie without the prefix, which another host of the domain could have set.
	for _, test := range []struct {
		cookieName string
		status     int
	}{
		{cookieName: "locum", status: http.StatusSeeOther}, // redirects to the sign-in
		{cookieName: "__Host-locum", status: http.StatusOK},
	} {
		browser := server.browserWithCookie(t, test.cookieName, session.Value)
		require.Equal(t, test.status, browser.open("GET", "/developers", nil).status, test.cookieName)
	}
}

// TestHTTPS_GuestCookie_IsForTLSOnly checks the cookie that identifies a guest on the first steps of a
// clinician.
func TestHTTPS_GuestCookie_IsForTLSOnly(t *testing.T) {
	t.Parallel()

	// The first request that stores something of the guest sets the cookie.
	email := form{"action": {"capture_email"}, "email": {newEmail()}}
	response := startWithHTTPS(t).guest(t).try("POST", onboardingPath, email)
	require.Equal(t, 200, response.status, "%s", response.raw)

	cookies := response.header.Values("Set-Cookie")
	require.Len(t, cookies, 1)
	require.Contains(t, cookies[0], "locum_guest=")
	require.Contains(t, cookies[0], "; Secure")
}

// TestHTTPS_FormOfTheSameHostWithoutTLS_IsRefused checks that the same host without TLS is another origin,
// whose forms are refused.
func TestHTTPS_FormOfTheSameHostWithoutTLS_IsRefused(t *testing.T) {
	t.Parallel()

	server := startWithHTTPS(t)
	session := server.sessionCookie(t)
	browser := server.browserWithCookie(t, session.Name, session.Value)
	browser.Origin = "http://jobs.example.org"
	browser.Site = "" // old browsers send no Sec-Fetch-Site

	require.Equal(t, 403, browser.open("POST", "/developers/apps", url.Values{"name": {"x"}}).status)
}

// TestHTTPS_EveryResponse_RequiresTLS checks the header that makes browsers use TLS for a year.
func TestHTTPS_EveryResponse_RequiresTLS(t *testing.T) {
	t.Parallel()

	server := startWithHTTPS(t)
	const oneYear = "max-age=31536000" // in seconds

	for _, path := range []string{
		"/developers", "/developers/sign-in", "/docs", "/docs/developer", "/docs/guides",
		"/api/listings", "/api/v1/jobs", "/.well-known/oauth-authorization-server", "/nothing",
	} {
		response := server.guest(t).sendWithHeaders("GET", path, nil)
		require.Equal(t, oneYear, response.header.Get("Strict-Transport-Security"), path)
	}
}

// TestHTTPS_IssuerAndGuides_HaveThePublicURL checks that the metadata of OAuth and the guides have the public
// URL, in place of the address of development servers.
func TestHTTPS_IssuerAndGuides_HaveThePublicURL(t *testing.T) {
	t.Parallel()

	server := startWithHTTPS(t)
	metadata := server.guest(t).try("GET", "/.well-known/oauth-authorization-server", nil)
	require.Equal(t, "https://jobs.example.org", metadata.text("issuer"))

	for page, want := range map[string]string{
		"errors":      `"https://jobs.example.org/problems/invalid_parameters"`,
		"quick-start": "BASE=https://jobs.example.org\n",
		"oauth":       "https://jobs.example.org/docs/developer/oauth2-redirect.html",
	} {
		guide := server.browser(t).open("GET", "/docs/guides/"+page, nil).visibleText()
		require.Contains(t, guide, want)
		require.NotContains(t, guide, "localhost:8080")
	}
}

// TestHTTP_PublicURL_SetsNoHTTPSHeaders checks a server without TLS, as in development. Browsers send its
// session cookie over http, and are not forced to use TLS.
func TestHTTP_PublicURL_SetsNoHTTPSHeaders(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		signedIn := server.browser(t).signIn(server.seeker(t))
		session, err := http.ParseSetCookie(signedIn.header.Get("Set-Cookie"))
		require.NoError(t, err, signedIn.text)
		require.Equal(t, "locum", session.Name)
		require.False(t, session.Secure)
		require.Empty(t, signedIn.header.Get("Strict-Transport-Security"))
	})
}
