package e2e

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentation checks that the API reference can authorize with OAuth under a strict
// content security policy, and that reference, guides and dashboard link to each other.
func TestDocumentation(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("OAuth and content security policy of the page", func(t *testing.T) {
			t.Parallel()

			guest := server.guest(t)
			for path, holds := range map[string]string{
				"/docs/developer":                      `src="/docs/developer/page.js"`,
				"/docs/developer/page.js":              "usePkceWithAuthorizationCodeGrant: true",
				"/docs/developer/oauth2-redirect.html": `src="oauth2-redirect.js"`,
				"/docs/developer/oauth2-redirect.js":   "swaggerUIRedirectOauth2",
				"/docs":                                `src="/docs/page.js"`,
				"/docs/page.css":                       "nav",
			} {
				resp := guest.try("GET", path, nil)
				require.Equal(t, 200, resp.status, path)
				require.Contains(t, string(resp.raw), holds, path)
				require.Contains(t, resp.header.Get("Content-Security-Policy"),
					"default-src 'none'; script-src 'self'; style-src 'self';", path)
				require.Equal(t, "same-origin", resp.header.Get("Cross-Origin-Opener-Policy"),
					"as of the page that asks for consent, or its window loses this one: "+path)
			}

			for _, path := range []string{"/docs/developer/page.html", "/docs/developer/nothing", "/docs/nothing.js"} {
				require.Equal(t, 404, guest.try("GET", path, nil).status, path)
			}

			// The OpenAPI document names the addresses of OAuth, with which the page authorizes.
			var document struct {
				Components struct {
					SecuritySchemes struct {
						OAuth struct {
							Type, Description string
							Flows             map[string]struct {
								AuthorizationURL, TokenURL, RefreshURL string
								Scopes                                 map[string]string
							}
						}
					}
				}
			}
			require.NoError(t, json.Unmarshal(guest.try("GET", "/openapi/developer.json", nil).raw, &document))

			scheme := document.Components.SecuritySchemes.OAuth
			require.Equal(t, "oauth2", scheme.Type)
			require.Len(t, scheme.Flows, 1)

			flow := scheme.Flows["authorizationCode"]
			for address, path := range map[string]string{
				flow.AuthorizationURL: "/oauth/authorize",
				flow.TokenURL:         "/oauth/token",
				flow.RefreshURL:       "/oauth/token",
			} {
				u, err := url.Parse(address)
				require.NoError(t, err)
				require.Equal(t, path, u.Path)
			}

			for _, scope := range []string{"jobs:read", "applications:read", "applications:write"} {
				require.NotEmpty(t, flow.Scopes[scope])
			}

			require.Contains(t, scheme.Description, "/docs/developer/oauth2-redirect.html")
		})

		t.Run("links between reference, guides and dashboard", func(t *testing.T) {
			t.Parallel()

			guest, b := server.browser(t), server.signedIn(t, server.seeker(t))
			// The reference, the list of guides, a guide, the sign-in of a guest, and the dashboard.
			for _, page := range []pageView{
				guest.open("GET", "/docs/developer", nil),
				guest.open("GET", "/docs", nil),
				guest.open("GET", "/docs/guides/errors", nil),
				guest.follow(guest.open("GET", "/developers", nil)),
				b.open("GET", "/developers", nil),
			} {
				require.Equal(t, 200, page.status)

				for _, to := range []string{"/docs/developer", "/docs/guides", "/developers"} {
					require.Contains(t, page.text, `href="`+to)
				}
			}
		})
	})
}
