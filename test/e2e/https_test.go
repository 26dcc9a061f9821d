package e2e

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHTTPS_PublicURL_SetsSecurityHeaders checks the settings for a server behind a TLS proxy:
// session cookies are sent over TLS only and cannot be set by another host of the domain, every
// response has HSTS, and links have the public URL.
func TestHTTPS_PublicURL_SetsSecurityHeaders(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"), "LOCUM_HTTP_PUBLIC_URL=https://jobs.example.org")
	me := server.seeker(t)
	signIn := func(b *browser) *http.Cookie {
		t.Helper()

		answer := b.open("POST", "/developers/sign-in", url.Values{"email": {me.email}, "password": {password}})
		set, err := http.ParseSetCookie(answer.header.Get("Set-Cookie"))
		require.NoError(t, err, answer.text)

		return set
	}

	b := server.browser(t)
	set := signIn(b)
	require.Equal(t, "__Host-locum", set.Name)
	require.True(t, set.Secure)
	require.True(t, set.HttpOnly)
	require.Equal(t, "/", set.Path)
	require.Empty(t, set.Domain)
	require.Equal(t, http.SameSiteLaxMode, set.SameSite)

	// A cookie without the prefix, which another host of the domain could have
	// set, is ignored.
	at, err := url.Parse(server.url)
	require.NoError(t, err)

	as := func(name string) pageView {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		jar.SetCookies(at, []*http.Cookie{{Name: name, Value: set.Value, Path: "/"}})

		b.HTTP.Jar = jar

		return b.open("GET", "/developers", nil)
	}

	require.Equal(t, 303, as("locum").status)
	require.Equal(t, 200, as("__Host-locum").status)

	b.Origin = "http://jobs.example.org"
	b.Site = ""
	require.Equal(t, 403, b.open("POST", "/developers/apps", url.Values{"name": {"x"}}).status,
		"the same host without TLS is another origin")

	const always = "max-age=31536000" // a year
	for _, path := range []string{
		"/developers", "/developers/sign-in", "/docs", "/docs/developer", "/docs/guides",
		"/api/listings", "/api/v1/jobs", "/.well-known/oauth-authorization-server", "/nothing",
	} {
		require.Equal(t, always, server.guest(t).sendWithHeaders("GET", path, nil).header.Get("Strict-Transport-Security"), path)
	}

	meta := server.guest(t).try("GET", "/.well-known/oauth-authorization-server", nil)
	require.Equal(t, "https://jobs.example.org", meta.text("issuer"))

	for page, holds := range map[string]string{
		"errors":      `"https://jobs.example.org/problems/invalid_parameters"`,
		"quick-start": "BASE=https://jobs.example.org\n",
		"oauth":       "https://jobs.example.org/docs/developer/oauth2-redirect.html",
	} {
		guide := server.browser(t).open("GET", "/docs/guides/"+page, nil).visibleText()
		require.Contains(t, guide, holds)
		require.NotContains(t, guide, "localhost:8080")
	}

	guest := server.guest(t).sendWithHeaders("POST", "/api/jobseekers/onboarding", map[string]string{"Content-Type": "application/json"})
	for _, line := range guest.header.Values("Set-Cookie") {
		require.Contains(t, line, "; Secure")
	}
}

// TestHTTP_PublicURL_SetsNoHTTPSHeaders checks that a server without TLS, as in development,
// sets a cookie that browsers send over http, and does not force them to use TLS.
func TestHTTP_PublicURL_SetsNoHTTPSHeaders(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		answer := server.browser(t).signIn(server.seeker(t))
		set, err := http.ParseSetCookie(answer.header.Get("Set-Cookie"))
		require.NoError(t, err)
		require.Equal(t, "locum", set.Name)
		require.False(t, set.Secure)
		require.Empty(t, answer.header.Get("Strict-Transport-Security"))
	})
}
