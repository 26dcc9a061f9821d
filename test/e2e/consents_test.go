package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// authorizeApp registers an app to which the user grants the scopes jobs:read and applications:write. It
// returns the client_id of the app. The method allow, of a browser, opens the page that asks for consent and
// sends its form.
func (s *testServer) authorizeApp(t testing.TB, who *account) string {
	t.Helper()

	app := s.thirdParty(t, nil)
	s.signedIn(t, who).allow(app.authorizationPath(oauth2.GenerateVerifier()))

	return app.ClientID
}

// grantFrom lets the user consent to the app, which redirects to the app with a code. The app exchanges the
// code for tokens, which grantFrom returns.
func (p *thirdParty) grantFrom(t testing.TB, who *account) *oauth2.Token {
	t.Helper()

	verifier := oauth2.GenerateVerifier()
	askForConsent := oauth2.SetAuthURLParam("prompt", "consent") // even if the user has consented before
	code := p.server.signedIn(t, who).allow(p.authorizationPath(verifier, askForConsent)).Get("code")
	token, err := p.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	require.NoError(t, err)

	return token
}

// requireEnded requires that neither the access token nor the refresh token is valid.
func (p *thirdParty) requireEnded(t testing.TB, token *oauth2.Token) {
	t.Helper()
	require.False(t, p.isActive(t, token.AccessToken))
	p.refused(t, "/oauth/token", refreshGrant(token.RefreshToken), 400, "invalid_grant")
}

// TestConsents checks the apps of other developers to which a user has granted access with OAuth. The user
// sees these apps. Revoking the consent ends all tokens that the app has for the user, but not its tokens
// for other users.
func TestConsents(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/auth/consents", func(t *testing.T) {
			t.Parallel()

			user := server.seeker(t)
			olderApp := server.authorizeApp(t, user)
			newerApp := server.authorizeApp(t, user)
			server.authorizeApp(t, server.seeker(t)) // a consent of another user

			// The newest consent is first. The list neither contains nor counts the other user's consent.
			firstPage := user.get("/api/auth/consents?limit=1").ok(200)
			require.Equal(t, newerApp, firstPage.text("data.consents.0.clientId"))
			require.Equal(t, "Ward Finder", firstPage.text("data.consents.0.name"))
			require.Equal(t, []any{"jobs:read", "applications:write"}, firstPage.at("data.consents.0.scopes"))
			require.Equal(t, 2, firstPage.integer("data.pagination.total"))

			secondPage := user.get("/api/auth/consents?limit=1&cursor=" + firstPage.text("data.nextCursor")).ok(200)
			require.Equal(t, olderApp, secondPage.text("data.consents.0.clientId"))

			user.get("/api/auth/consents?cursor=nonsense").invalid("cursor")
			server.guest(t).get("/api/auth/consents").fails(401, "Unauthorized")
		})

		t.Run("DELETE /api/auth/consents/:clientId", func(t *testing.T) {
			t.Parallel()

			user := server.seeker(t)
			app := server.thirdParty(t, nil)
			firstTokens := app.grantFrom(t, user)
			secondTokens := app.grantFrom(t, user)
			otherUsersTokens := app.grantFrom(t, server.seeker(t))

			user.delete("/api/auth/consents/" + app.ClientID).ok(200)
			app.requireEnded(t, firstTokens)
			app.requireEnded(t, secondTokens)
			require.True(t, app.isActive(t, otherUsersTokens.AccessToken))

			// A revoked consent and an unknown one are not found, and the list is empty.
			user.delete("/api/auth/consents/"+app.ClientID).fails(404, "Consent not found")
			user.delete("/api/auth/consents/nonsense").fails(404, "Consent not found")
			server.guest(t).delete("/api/auth/consents/"+app.ClientID).fails(401, "Unauthorized")
			require.Empty(t, user.get("/api/auth/consents").ok(200).list("data.consents"))
		})

		t.Run("consents page lists and revokes", func(t *testing.T) {
			t.Parallel()

			const consents = "/developers/consents"
			user := server.seeker(t)
			app := server.thirdParty(t, object{"name": "<b>Beds</b>"})
			tokens := app.grantFrom(t, user)
			browser := server.signedIn(t, user)

			// The page shows the name of the app as text, and what the app may do.
			page := browser.show(consents).text
			require.Contains(t, page, "&lt;b&gt;Beds&lt;/b&gt;")
			require.Contains(t, page, "Apply for jobs in your name")

			// The form to revoke the consent is sent to this path.
			withdraw := consents + "/" + app.ClientID + "/withdraw"
			require.Contains(t, page, `action="`+withdraw+`"`)

			// A form of another site and the form of another user revoke nothing.
			browser.Site = "cross-site"
			require.Equal(t, 403, browser.open("POST", withdraw, url.Values{}).status)
			require.True(t, app.isActive(t, tokens.AccessToken))

			browser.Site = "same-origin"
			otherUsersBrowser := server.signedIn(t, server.seeker(t))
			otherUsersBrowser.open("POST", withdraw, url.Values{})
			require.True(t, app.isActive(t, tokens.AccessToken), "the other user has not consented to the app")

			// The user's own form revokes the consent.
			withdrawn := browser.open("POST", withdraw, url.Values{})
			require.Equal(t, consents, withdrawn.header.Get("Location"))
			app.requireEnded(t, tokens)
			require.Contains(t, browser.show(consents).text, "No application may do anything")

			signedOut := server.browser(t).open("GET", consents, nil)
			require.Equal(t, "/developers/sign-in?next="+url.QueryEscape(consents), signedOut.header.Get("Location"))
		})

		t.Run("deleted account or app revokes tokens", func(t *testing.T) {
			t.Parallel()

			app := server.thirdParty(t, nil)

			// Deleting the account of the user ends the tokens and the session of the browser.
			user := server.seeker(t)
			tokens := app.grantFrom(t, user)
			browser := server.signedIn(t, user)
			user.delete("/api/jobseekers/profile").ok(200)
			app.requireEnded(t, tokens)
			require.Equal(t, 303, browser.open("GET", "/developers/consents", nil).status)

			// Deleting an app ends its tokens too. Its credentials are deleted with the app, so that the error is
			// the one for an unknown client.
			developer := server.seeker(t)
			registered := developer.post("/api/developers/apps", object{"name": "x", "redirectUris": []string{callback}}).ok(201)
			app.ClientID = registered.text("data.app.clientId")
			app.ClientSecret = registered.text("data.clientSecret")
			tokens = app.grantFrom(t, server.seeker(t))
			developer.delete("/api/developers/apps/" + app.ClientID).ok(200)
			app.refused(t, "/oauth/token", refreshGrant(tokens.RefreshToken), 401, "invalid_client")
		})
	})
}

// TestBrowserSessions checks the sessions of pages, which use a cookie. Scripts cannot read the cookie, and
// forms of other sites cannot use it. Its value is not valid as a token of the API, nor is a token valid as
// its value.
func TestBrowserSessions(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// isSignedIn opens a page for signed-in users, from which others are redirected.
		isSignedIn := func(b *browser) bool { return b.open("GET", "/developers/consents", nil).status == 200 }

		serverURL, err := url.Parse(server.url)
		require.NoError(t, err)

		// sessionOf returns the value of the browser's session cookie, or "" if there is none.
		sessionOf := func(b *browser) string {
			for _, cookie := range b.HTTP.Jar.Cookies(serverURL) {
				if cookie.Name == "locum" {
					return cookie.Value
				}
			}

			return ""
		}
		setSession := func(b *browser, value string) {
			b.HTTP.Jar.SetCookies(serverURL, []*http.Cookie{{Name: "locum", Value: value}})
		}

		t.Run("session cookie is HttpOnly and for pages only", func(t *testing.T) {
			t.Parallel()

			user, browser := server.seeker(t), server.browser(t)

			setCookie := browser.signIn(user).header.Get("Set-Cookie")
			for _, part := range []string{"locum=loc_bs_", "HttpOnly", "SameSite=Lax", "path=/"} {
				require.Contains(t, setCookie, part)
			}

			require.NotContains(t, strings.ToLower(setCookie), "domain")
			require.True(t, isSignedIn(browser))

			// The value of the cookie is neither an access token nor a refresh token.
			guest := server.guest(t)
			guest.token = sessionOf(browser)
			guest.get("/api/auth/me").fails(401, "Unauthorized")

			guest.token = ""
			guest.post("/api/auth/refresh", object{"refreshToken": sessionOf(browser)}).fails(401, "Invalid or expired refresh token")

			// A refresh token of the API is not valid as the value of the cookie.
			browserWithToken := server.browser(t)
			setSession(browserWithToken, user.refresh)
			require.False(t, isSignedIn(browserWithToken))
		})

		t.Run("sign-in from another site", func(t *testing.T) {
			t.Parallel()

			user, browser := server.seeker(t), server.browser(t)
			credentials := url.Values{"email": {user.email}, "password": {password}}

			for _, source := range []struct{ site, origin string }{ // the headers Sec-Fetch-Site and Origin
				{site: "cross-site"},
				{site: "same-site"}, // another host of the same site is not trusted either
				{site: "none"},
				{origin: "https://evil.example"},
				{origin: "null"}, // of a sandboxed frame
			} {
				browser.Site, browser.Origin = source.site, source.origin
				refused := browser.open("POST", "/developers/sign-in", credentials)
				require.Equal(t, 403, refused.status, source)
				require.Empty(t, refused.header.Get("Set-Cookie"), source)
			}

			require.False(t, isSignedIn(browser))
		})

		t.Run("second sign-in rotates the session", func(t *testing.T) {
			t.Parallel()

			user, browser := server.seeker(t), server.browser(t)
			browser.signIn(user)

			firstSession := sessionOf(browser)
			browser.signIn(user)
			require.NotEqual(t, firstSession, sessionOf(browser))
			require.True(t, isSignedIn(browser))

			// The cookie of the first session is not valid any more.
			browserWithFirst := server.browser(t)
			setSession(browserWithFirst, firstSession)
			require.False(t, isSignedIn(browserWithFirst))
		})

		t.Run("sign-out and new password end the session", func(t *testing.T) {
			t.Parallel()

			user := server.seeker(t)
			browser, otherBrowser := server.signedIn(t, user), server.signedIn(t, user)

			// Another site cannot sign the user out.
			browser.Site = "cross-site"
			require.Equal(t, 403, browser.open("POST", "/developers/sign-out", url.Values{}).status)
			require.True(t, isSignedIn(browser))

			// Signing out deletes the cookie and ends its session, but no other session of the user.
			browser.Site = "same-origin"
			endedSession := sessionOf(browser)
			require.Equal(t, 303, browser.open("POST", "/developers/sign-out", url.Values{}).status)
			require.Empty(t, sessionOf(browser))
			setSession(browser, endedSession)
			require.False(t, isSignedIn(browser))
			require.True(t, isSignedIn(otherBrowser))

			// A new password ends the other sessions.
			user.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": otherPassword}).ok(200)
			require.False(t, isSignedIn(otherBrowser))
		})

		t.Run("wrong passwords are counted with those of logins", func(t *testing.T) {
			t.Parallel()

			// This number of failed sign-ins within 15 minutes blocks an account for their network.
			const maxFailures = 10

			user, browser := server.seeker(t), server.browser(t)
			signIn := func(password string) pageView {
				return browser.open("POST", "/developers/sign-in",
					url.Values{"email": {user.email}, "password": {password}, "next": {"/developers/consents"}})
			}

			for range maxFailures {
				// Each failure shows the form with the address, but without the password, and sets no cookie.
				page := signIn("wrong")
				require.Equal(t, 401, page.status)
				require.Contains(t, page.text, `role="alert"`)
				require.Contains(t, page.text, `value="`+user.email+`"`)
				require.NotContains(t, page.text, `value="wrong"`)
				require.Empty(t, page.header.Get("Set-Cookie"))
			}

			// If Redis was too slow, some failures were counted in memory. Then no count reaches the limit.
			if server.countsLocally() {
				return
			}

			// Even the right password is now refused.
			page := signIn(password)
			require.Equal(t, 429, page.status)
			require.NotEmpty(t, page.header.Get("Retry-After"))
		})
	})
}
