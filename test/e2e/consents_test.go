package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// authorizeApp returns the client_id of an app to which the user has granted
// jobs:read and applications:write.
func (s *testServer) authorizeApp(t testing.TB, who *account) string {
	t.Helper()

	p := s.thirdParty(t, nil)
	s.signedIn(t, who).allow(p.authorizationPath(oauth2.GenerateVerifier()))

	return p.ClientID
}

// grantFrom returns the tokens that the user grants to the app.
func (p *thirdParty) grantFrom(t testing.TB, who *account) *oauth2.Token {
	t.Helper()

	verifier := oauth2.GenerateVerifier()
	b := p.server.signedIn(t, who)
	token, err := p.Exchange(t.Context(),
		b.allow(p.authorizationPath(verifier, oauth2.SetAuthURLParam("prompt", "consent"))).Get("code"),
		oauth2.VerifierOption(verifier))
	require.NoError(t, err)

	return token
}

// ended requires that neither the access token nor the refresh token is valid.
func (p *thirdParty) ended(t testing.TB, token *oauth2.Token) {
	t.Helper()
	require.False(t, p.isActive(t, token.AccessToken))
	p.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 400, "invalid_grant")
}

// TestConsents checks that users see the apps to which they have granted access, and that
// revoking the consent ends all tokens that the app has for the user, and no others.
func TestConsents(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/auth/consents", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			first, second := server.authorizeApp(t, me), server.authorizeApp(t, me)
			server.authorizeApp(t, server.seeker(t))

			list := me.get("/api/auth/consents?limit=1").ok(200)
			require.Equal(t, second, list.text("data.consents.0.clientId"))
			require.Equal(t, "Ward Finder", list.text("data.consents.0.name"))
			require.Equal(t, []any{"jobs:read", "applications:write"}, list.at("data.consents.0.scopes"))
			me.get("/api/auth/consents?cursor=nonsense").invalid("cursor")
			require.InDelta(t, 2, list.number("data.pagination.total"), 0)
			require.Equal(t, first,
				me.get("/api/auth/consents?limit=1&cursor="+list.text("data.nextCursor")).ok(200).text("data.consents.0.clientId"))
			server.guest(t).get("/api/auth/consents").fails(401, "Unauthorized")
		})

		t.Run("DELETE /api/auth/consents/:clientId", func(t *testing.T) {
			t.Parallel()

			me, other, party := server.seeker(t), server.seeker(t), server.thirdParty(t, nil)
			mine := party.grantFrom(t, me)
			again := party.grantFrom(t, me)
			theirs := party.grantFrom(t, other)
			me.delete("/api/auth/consents/" + party.ClientID).ok(200)
			party.ended(t, mine)
			party.ended(t, again)
			require.True(t, party.isActive(t, theirs.AccessToken))
			me.delete("/api/auth/consents/"+party.ClientID).fails(404, "Consent not found")
			me.delete("/api/auth/consents/nonsense").fails(404, "Consent not found")
			server.guest(t).delete("/api/auth/consents/"+party.ClientID).fails(401, "Unauthorized")
			require.Empty(t, me.get("/api/auth/consents").ok(200).list("data.consents"))
		})

		t.Run("consents page lists and revokes", func(t *testing.T) {
			t.Parallel()

			me, party := server.seeker(t), server.thirdParty(t, object{"name": "<b>Beds</b>"})
			token := party.grantFrom(t, me)
			browser := server.signedIn(t, me)
			page := browser.open("GET", "/developers/consents", nil).text
			require.Contains(t, page, "&lt;b&gt;Beds&lt;/b&gt;")
			require.Contains(t, page, "Apply for jobs in your name")

			withdraw := "/developers/consents/" + party.ClientID + "/withdraw"
			require.Contains(t, page, `action="`+withdraw+`"`)

			browser.Site = "cross-site"
			require.Equal(t, 403, browser.open("POST", withdraw, url.Values{}).status)
			require.True(t, party.isActive(t, token.AccessToken))

			browser.Site = "same-origin"

			server.signedIn(t, server.seeker(t)).open("POST", withdraw, url.Values{})
			require.True(t, party.isActive(t, token.AccessToken), "a stranger has nothing to take back")
			require.Equal(t, "/developers/consents", browser.open("POST", withdraw, url.Values{}).header.Get("Location"))
			party.ended(t, token)
			require.Contains(t, browser.open("GET", "/developers/consents", nil).text, "No application may do anything")
			require.Equal(t, "/developers/sign-in?next=%2Fdevelopers%2Fconsents",
				server.browser(t).open("GET", "/developers/consents", nil).header.Get("Location"))
		})

		t.Run("deleted account or app revokes tokens", func(t *testing.T) {
			t.Parallel()

			me, party := server.seeker(t), server.thirdParty(t, nil)
			token, b := party.grantFrom(t, me), server.signedIn(t, me)
			me.delete("/api/jobseekers/profile").ok(200)
			party.ended(t, token)
			require.Equal(t, 303, b.open("GET", "/developers/consents", nil).status)

			owner := server.seeker(t)

			// The same checks for the deletion of an app, whose tokens end with its
			// credentials.
			made := owner.post("/api/developers/apps", object{"name": "x", "redirectUris": []string{callback}}).ok(201)
			party.ClientID, party.ClientSecret = made.text("data.app.clientId"), made.text("data.clientSecret")
			token = party.grantFrom(t, server.seeker(t))
			owner.delete("/api/developers/apps/" + party.ClientID).ok(200)
			party.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 401, "invalid_client")
		})
	})
}

// TestBrowserSessions checks the sessions of pages, which use a cookie: scripts cannot read it,
// forms of other sites cannot use it, and it is not interchangeable with the tokens of the API.
func TestBrowserSessions(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// here reports whether the browser is signed in.
		here := func(b *browser) bool { return b.open("GET", "/developers/consents", nil).status == 200 }
		cookie := func(b *browser) string {
			u, _ := url.Parse(server.url)
			for _, c := range b.HTTP.Jar.Cookies(u) {
				if c.Name == "locum" {
					return c.Value
				}
			}

			return ""
		}

		t.Run("session cookie is HttpOnly and for pages only", func(t *testing.T) {
			t.Parallel()

			me, browser := server.seeker(t), server.browser(t)

			set := browser.signIn(me).header.Get("Set-Cookie")
			for _, part := range []string{"locum=loc_bs_", "HttpOnly", "SameSite=Lax", "path=/"} {
				require.Contains(t, set, part)
			}

			require.NotContains(t, strings.ToLower(set), "domain")
			require.True(t, here(browser))

			guest := server.guest(t)
			guest.token = cookie(browser)
			guest.get("/api/auth/me").fails(401, "Unauthorized")

			guest.token = ""
			guest.post("/api/auth/refresh", object{"refreshToken": cookie(browser)}).fails(401, "Invalid or expired refresh token")

			theirs := server.browser(t)
			u, err := url.Parse(server.url)
			require.NoError(t, err)
			theirs.HTTP.Jar.SetCookies(u, []*http.Cookie{{Name: "locum", Value: me.refresh}})
			require.False(t, here(theirs), "nor does the portal's token open pages")
		})

		t.Run("sign-in from another site", func(t *testing.T) {
			t.Parallel()

			me, browser := server.seeker(t), server.browser(t)
			for _, from := range []struct{ site, origin string }{
				// Another host of the same site is not trusted either. The origin "null" is
				// that of sandboxed frames.
				{"cross-site", ""}, {"same-site", ""}, {"none", ""}, {"", "https://evil.example"},
				{"", "null"},
			} {
				browser.Site, browser.Origin = from.site, from.origin
				refused := browser.open("POST", "/developers/sign-in", url.Values{"email": {me.email}, "password": {password}})
				require.Equal(t, 403, refused.status, from)
				require.Empty(t, refused.header.Get("Set-Cookie"), from)
			}

			require.False(t, here(browser))
		})

		t.Run("second sign-in rotates the session", func(t *testing.T) {
			t.Parallel()

			me, browser, old := server.seeker(t), server.browser(t), server.browser(t)
			browser.signIn(me)

			first := cookie(browser)
			browser.signIn(me)
			require.NotEqual(t, first, cookie(browser))

			u, err := url.Parse(server.url)
			require.NoError(t, err)
			old.HTTP.Jar.SetCookies(u, []*http.Cookie{{Name: "locum", Value: first}})
			require.False(t, here(old))
			require.True(t, here(browser))
		})

		t.Run("sign-out and new password end the session", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			browser, copied, other := server.signedIn(t, me), server.browser(t), server.signedIn(t, me)
			copied.HTTP.Jar = browser.HTTP.Jar
			browser.Site = "cross-site"
			require.Equal(t, 403, browser.open("POST", "/developers/sign-out", url.Values{}).status)
			require.True(t, here(browser))

			browser.Site = "same-origin"
			secret := cookie(browser)
			require.Equal(t, 303, browser.open("POST", "/developers/sign-out", url.Values{}).status)
			require.Empty(t, cookie(browser))

			u, err := url.Parse(server.url)
			require.NoError(t, err)
			browser.HTTP.Jar.SetCookies(u, []*http.Cookie{{Name: "locum", Value: secret}})
			require.False(t, here(browser))
			require.True(t, here(other))
			me.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": "An0ther-horse"}).ok(200)
			require.False(t, here(other))
		})

		t.Run("wrong passwords are counted with those of logins", func(t *testing.T) {
			t.Parallel()

			me, b := server.seeker(t), server.browser(t)
			try := func(pass string) pageView {
				return b.open("POST", "/developers/sign-in",
					url.Values{"email": {me.email}, "password": {pass}, "next": {"/developers/consents"}})
			}

			for range 10 {
				page := try("wrong")
				require.Equal(t, 401, page.status)
				require.Contains(t, page.text, `role="alert"`)
				require.Contains(t, page.text, `value="`+me.email+`"`)
				require.NotContains(t, page.text, `value="wrong"`)
				require.Empty(t, page.header.Get("Set-Cookie"))
			}

			if server.countsLocally() { // the failures may have been counted in two places
				return
			}

			page := try(password)
			require.Equal(t, 429, page.status)
			require.NotEmpty(t, page.header.Get("Retry-After"))
		})
	})
}
