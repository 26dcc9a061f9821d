package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHTTPS_PublicURL_SetsSecurityHeaders checks a server whose public URL begins with https, as behind a
// TLS proxy. Browsers send its session cookie over TLS only, and let no other host of the domain set it.
// Every response has the header Strict-Transport-Security. Links have the public URL. The test itself
// connects without TLS, as the proxy does.
func TestHTTPS_PublicURL_SetsSecurityHeaders(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	server := start(t, dir,
		"LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"),
		"LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org")
	user := server.seeker(t)
	browser := server.browser(t)

	// The session cookie. Browsers accept a name with the prefix __Host- only with these attributes.
	signedIn := browser.open("POST", "/developers/sign-in", url.Values{"email": {user.email}, "password": {password}})
	session, err := http.ParseSetCookie(signedIn.header.Get("Set-Cookie"))
	require.NoError(t, err, signedIn.text)
	require.Equal(t, "__Host-locum", session.Name)
	require.True(t, session.Secure)
	require.True(t, session.HttpOnly)
	require.Equal(t, "/", session.Path)
	require.Empty(t, session.Domain)
	require.Equal(t, http.SameSiteLaxMode, session.SameSite)

	// The server ignores a cookie without the prefix, which another host of the domain could have set.
	serverURL, err := url.Parse(server.url)
	require.NoError(t, err)

	openWithCookie := func(name string) pageView {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		jar.SetCookies(serverURL, []*http.Cookie{{Name: name, Value: session.Value, Path: "/"}})

		browser.HTTP.Jar = jar

		return browser.open("GET", "/developers", nil)
	}

	require.Equal(t, 303, openWithCookie("locum").status, "redirects to the sign-in")
	require.Equal(t, 200, openWithCookie("__Host-locum").status)

	// A form from the same host without TLS, which is another origin. Old browsers send no Sec-Fetch-Site.
	browser.Origin = "http://jobs.example.org"
	browser.Site = ""
	require.Equal(t, 403, browser.open("POST", "/developers/apps", url.Values{"name": {"x"}}).status,
		"the same host without TLS is another origin")

	const oneYear = "max-age=31536000" // in seconds
	for _, path := range []string{
		"/developers", "/developers/sign-in", "/docs", "/docs/developer", "/docs/guides",
		"/api/listings", "/api/v1/jobs", "/.well-known/oauth-authorization-server", "/nothing",
	} {
		response := server.guest(t).sendWithHeaders("GET", path, nil)
		require.Equal(t, oneYear, response.header.Get("Strict-Transport-Security"), path)
	}

	metadata := server.guest(t).try("GET", "/.well-known/oauth-authorization-server", nil)
	require.Equal(t, "https://jobs.example.org", metadata.text("issuer"))

	// The guides have the public URL in place of the address of development servers.
	for page, want := range map[string]string{
		"errors":      `"https://jobs.example.org/problems/invalid_parameters"`,
		"quick-start": "BASE=https://jobs.example.org\n",
		"oauth":       "https://jobs.example.org/docs/developer/oauth2-redirect.html",
	} {
		guide := server.browser(t).open("GET", "/docs/guides/"+page, nil).visibleText()
		require.Contains(t, guide, want)
		require.NotContains(t, guide, "localhost:8080")
	}

	// The route sets a cookie for guests.
	asGuest := server.guest(t).
		sendWithHeaders("POST", "/api/jobseekers/onboarding", map[string]string{"Content-Type": "application/json"})
	for _, cookie := range asGuest.header.Values("Set-Cookie") {
		require.Contains(t, cookie, "; Secure")
	}
}

// TestHTTP_PublicURL_SetsNoHTTPSHeaders checks a server without TLS, as in development. Browsers send its
// session cookie over http, and are not forced to use TLS.
func TestHTTP_PublicURL_SetsNoHTTPSHeaders(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		signedIn := server.browser(t).signIn(server.seeker(t))
		session, err := http.ParseSetCookie(signedIn.header.Get("Set-Cookie"))
		require.NoError(t, err)
		require.Equal(t, "locum", session.Name)
		require.False(t, session.Secure)
		require.Empty(t, signedIn.header.Get("Strict-Transport-Security"))
	})
}
