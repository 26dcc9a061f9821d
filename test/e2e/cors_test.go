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
	const origin = "https://jobs.example.org"
	onEachSetup(t, func(t *testing.T, server *testServer) {
		send := func(method, path, from string) http.Header {
			request, err := http.NewRequest(method, server.url+path, nil)
			require.NoError(t, err)
			request.Header.Set("Origin", from)

			if method == http.MethodOptions {
				request.Header.Set("Access-Control-Request-Method", "POST")
				request.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
			}

			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())

			if method == http.MethodOptions && from == origin {
				require.Equal(t, 204, response.StatusCode)
			}

			return response.Header
		}

		preflight := send(http.MethodOptions, "/api/auth/login", origin)
		require.Equal(t, origin, preflight.Get("Access-Control-Allow-Origin"))
		require.Contains(t, preflight.Get("Access-Control-Allow-Headers"), "Authorization")
		require.Empty(t, preflight.Get("Access-Control-Allow-Credentials"))

		answer := send(http.MethodGet, "/api/listings", origin)
		require.Equal(t, origin, answer.Get("Access-Control-Allow-Origin"))
		require.Contains(t, answer.Get("Vary"), "Origin")

		for _, path := range []string{"/api/listings", "/jobs", "/sign-in"} {
			require.Empty(t, send(http.MethodGet, path, "https://evil.example").Get("Access-Control-Allow-Origin"), path)
		}

		require.Empty(t, send(http.MethodGet, "/sign-in", origin).Get("Access-Control-Allow-Origin"), "pages have cookies")
	}, "LOCUM_HTTP_CORS_ORIGINS="+origin)
}
