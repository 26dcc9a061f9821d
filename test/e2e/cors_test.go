package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCORS_PortalAPI_AllowsConfiguredOrigins checks that scripts of the configured origins can
// use the API, and that no other origin can. Credentials of the browser are never allowed: the
// API uses tokens, and pages, which use cookies, allow no origin.
func TestCORS_PortalAPI_AllowsConfiguredOrigins(t *testing.T) {
	const (
		allowedOrigin = "https://jobs.example.org"
		otherOrigin   = "https://evil.example"
	)

	onEachSetup(t, func(t *testing.T, server *testServer) {
		// headerFor sends a request as a browser does for a script of the origin, and returns the header of the response.
		// The method OPTIONS is a preflight: the browser asks whether the script may send a request with these headers.
		headerFor := func(method, path, origin string) http.Header {
			request, err := http.NewRequest(method, server.url+path, nil)
			require.NoError(t, err)
			request.Header.Set("Origin", origin)

			if method == http.MethodOptions {
				request.Header.Set("Access-Control-Request-Method", "POST")
				request.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
			}

			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())

			if method == http.MethodOptions && origin == allowedOrigin {
				require.Equal(t, 204, response.StatusCode)
			}

			return response.Header
		}

		preflight := headerFor(http.MethodOptions, "/api/auth/login", allowedOrigin)
		require.Equal(t, allowedOrigin, preflight.Get("Access-Control-Allow-Origin"))
		require.Contains(t, preflight.Get("Access-Control-Allow-Headers"), "Authorization")
		require.Empty(t, preflight.Get("Access-Control-Allow-Credentials"))

		// Caches must not serve the response for one origin to another.
		listings := headerFor(http.MethodGet, "/api/listings", allowedOrigin)
		require.Equal(t, allowedOrigin, listings.Get("Access-Control-Allow-Origin"))
		require.Contains(t, listings.Get("Vary"), "Origin")

		for _, path := range []string{"/api/listings", "/jobs", "/sign-in"} {
			require.Empty(t, headerFor(http.MethodGet, path, otherOrigin).Get("Access-Control-Allow-Origin"), path)
		}

		page := headerFor(http.MethodGet, "/sign-in", allowedOrigin)
		require.Empty(t, page.Get("Access-Control-Allow-Origin"), "pages have cookies")
	}, "LOCUM_HTTP_CORS_ORIGINS="+allowedOrigin)
}
