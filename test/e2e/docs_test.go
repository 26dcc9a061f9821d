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
		t.Run("pages and scripts have a content security policy", func(t *testing.T) {
			t.Parallel()

			guest := server.guest(t)
			for path, wantText := range map[string]string{
				"/docs/developer":                      `src="/docs/developer/page.js"`,
				"/docs/developer/page.js":              "usePkceWithAuthorizationCodeGrant: true",
				"/docs/developer/oauth2-redirect.html": `src="oauth2-redirect.js"`,
				"/docs/developer/oauth2-redirect.js":   "swaggerUIRedirectOauth2",
				"/docs":                                `src="/docs/page.js"`,
				"/docs/page.css":                       "nav",
			} {
				resp := guest.try("GET", path, nil)
				require.Equal(t, 200, resp.status, path)
				require.Contains(t, string(resp.raw), wantText, path)
				require.Contains(t, resp.header.Get("Content-Security-Policy"),
					"default-src 'none'; script-src 'self'; style-src 'self';", path)

				// The reference opens the consent page in another window, which reports the result to the page that opened it.
				// The browser separates the two unless both have the same opener policy, and the consent page has this one.
				require.Equal(t, "same-origin", resp.header.Get("Cross-Origin-Opener-Policy"), path)
			}

			for _, path := range []string{"/docs/developer/page.html", "/docs/developer/nothing", "/docs/nothing.js"} {
				require.Equal(t, 404, guest.try("GET", path, nil).status, path)
			}
		})

		t.Run("OpenAPI document has the addresses of OAuth, with which the page authorizes", func(t *testing.T) {
			t.Parallel()

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
			require.NoError(t, json.Unmarshal(server.guest(t).try("GET", "/openapi/developer.json", nil).raw, &document))

			scheme := document.Components.SecuritySchemes.OAuth
			require.Equal(t, "oauth2", scheme.Type)
			require.Contains(t, scheme.Description, "/docs/developer/oauth2-redirect.html")
			require.Len(t, scheme.Flows, 1)

			flow := scheme.Flows["authorizationCode"]
			for _, endpoint := range []struct{ name, url, wantPath string }{
				{name: "authorization", url: flow.AuthorizationURL, wantPath: "/oauth/authorize"},
				{name: "token", url: flow.TokenURL, wantPath: "/oauth/token"},
				{name: "refresh", url: flow.RefreshURL, wantPath: "/oauth/token"},
			} {
				parsed, err := url.Parse(endpoint.url)
				require.NoError(t, err, endpoint.name)
				require.Equal(t, endpoint.wantPath, parsed.Path, endpoint.name)
			}

			for _, scope := range []string{"jobs:read", "applications:read", "applications:write"} {
				require.NotEmpty(t, flow.Scopes[scope], "description of %s", scope)
			}
		})

		t.Run("links between reference, guides and dashboard", func(t *testing.T) {
			t.Parallel()

			guest := server.browser(t)
			developer := server.signedIn(t, server.seeker(t))

			// A guest who opens the dashboard is redirected to the sign-in.
			redirectToSignIn := guest.open("GET", "/developers", nil)

			for name, page := range map[string]pageView{
				"reference":          guest.open("GET", "/docs/developer", nil),
				"list of guides":     guest.open("GET", "/docs", nil),
				"guide":              guest.open("GET", "/docs/guides/errors", nil),
				"sign-in of a guest": guest.follow(redirectToSignIn),
				"dashboard":          developer.open("GET", "/developers", nil),
			} {
				require.Equal(t, 200, page.status, name)

				for _, link := range []string{"/docs/developer", "/docs/guides", "/developers"} {
					require.Contains(t, page.text, `href="`+link, name)
				}
			}
		})
	})
}
