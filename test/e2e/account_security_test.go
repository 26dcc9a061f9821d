package e2e

import (
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAccount_Security checks the pages with which a clinician and an employer confirm their
// address and turn two-step sign-in on and off, without script.
func TestAccount_Security(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		users := map[string]struct {
			*account
			home string // the first page after signing in
		}{
			"clinician": {account: server.seeker(t), home: "/account"},
			"employer":  {account: server.employer(t), home: "/employer"},
		}

		for kind, user := range users {
			t.Run("another link to confirm the address of a "+kind, func(t *testing.T) {
				testAnotherVerificationLink(t, server, user.account, user.home)
			})
		}

		t.Run("link requested by a guest", func(t *testing.T) {
			guest := server.browser(t)
			require.NotContains(t, guest.page("/request-verification"), "Sign out")

			// The page does not say whether the account exists.
			requested := guest.open("POST", "/request-verification", url.Values{"email": {newEmail()}})
			require.Contains(t, requested.text, "If an account with the address is not confirmed yet")

			require.Equal(t, 400, guest.open("POST", "/request-verification", url.Values{"email": {"nonsense"}}).status)
		})

		for kind, user := range users {
			t.Run("two-step sign-in of a "+kind, func(t *testing.T) { testTwoStepSignIn(t, server, user.account) })
		}

		t.Run("two-step sign-in is not for guests and forms of other sites", func(t *testing.T) {
			server.browser(t).open("GET", twoStepPath, nil).requireRedirect(t, "/sign-in?next=")

			forged := server.signedIn(t, users["clinician"].account)
			forged.Site = "cross-site"
			require.Equal(t, 403, forged.open("POST", twoStepPath+"/set-up", url.Values{}).status)
		})
	})
}

// testAnotherVerificationLink requests another link and confirms the address of the user with it. The first link
// was sent at the registration.
func testAnotherVerificationLink(t *testing.T, server *testServer, user *account, home string) {
	t.Helper()

	browser := server.signedIn(t, user)
	require.Contains(t, browser.page(home), `<a href="/request-verification">Get another link</a>`)
	require.Contains(t, browser.page("/request-verification"), `value="`+user.email+`"`)

	firstToken := server.tokenFromMail(t, user.email, "Please confirm your e-mail")
	requested := browser.open("POST", "/request-verification", url.Values{"email": {user.email}})
	require.Equal(t, 200, requested.status)
	require.Contains(t, requested.text, "Sign out", "the header is that of a signed-in user")

	token := server.tokenFromMail(t, user.email, "You asked for another link")
	require.NotEqual(t, firstToken, token)

	// A wrong link leads to the page that sends another. The right one confirms the address,
	// after which the home page no longer offers to send one.
	refused := browser.open("POST", "/verify-email", url.Values{"token": {"x"}})
	require.Equal(t, 400, refused.status)
	require.Contains(t, refused.text, `<a href="/request-verification">Get another link</a>`)

	confirmed := browser.open("POST", "/verify-email", url.Values{"token": {token}})
	require.Contains(t, confirmed.text, "is confirmed")
	require.Contains(t, confirmed.text, `<a href="`+home+`">Continue</a>`)
	require.NotContains(t, browser.page(home), "Get another link")
}

// twoStepPath is the page of two-step sign-in. Its forms are below it.
const twoStepPath = "/two-step-sign-in"

// testTwoStepSignIn turns two-step sign-in on, signs in with a recovery code, and turns it off.
func testTwoStepSignIn(t *testing.T, server *testServer, user *account) {
	t.Helper()

	browser := server.signedIn(t, user)
	otherBrowser := server.signedIn(t, user)
	post := func(form string, values url.Values) pageView {
		return browser.open("POST", twoStepPath+form, values)
	}

	// Set it up. The page shows the secret for the app, as text and as an image.
	require.Contains(t, browser.page(twoStepPath), "Set up two-step sign-in")

	setUp := post("/set-up", url.Values{})
	require.Contains(t, setUp.text, `<svg role="img" aria-label="QR code"`)

	secret := regexp.MustCompile(`Key: <code>([A-Z2-7]+)</code>`).FindStringSubmatch(setUp.text)
	require.NotNil(t, secret)

	app := &authenticator{t: t, secret: secret[1]}

	// A refused form repeats its secret and its URL, which must not become markup.
	refused := post("/confirm", url.Values{"code": {"1"}, "secret": {app.secret}, "url": {"otpauth://totp/<b>"}})
	require.Equal(t, 400, refused.status)
	require.Contains(t, refused.text, `href="#code"`)
	require.Contains(t, refused.text, app.secret, "the secret is shown again")
	require.NotContains(t, refused.text, "<b>")

	// The right code turns it on. The page with the recovery codes must not be stored anywhere.
	turnedOn := post("/confirm", url.Values{"code": {app.code()}})
	require.Equal(t, 200, turnedOn.status, turnedOn.text)
	require.Contains(t, turnedOn.header.Get("Cache-Control"), "no-store")

	recoveryCodes := regexp.MustCompile(`[A-Z2-7]{4}(-[A-Z2-7]{4}){3}`).FindAllString(turnedOn.text, -1)
	require.Len(t, recoveryCodes, 10)

	usedCode, unusedCode := recoveryCodes[0], recoveryCodes[1]

	// Turning it on ends all other sessions. It cannot be turned on again, and the password alone no longer
	// suffices.
	otherBrowser.open("GET", twoStepPath, nil).requireRedirect(t, "/sign-in")
	require.Equal(t, 409, post("/confirm", url.Values{"code": {app.code()}}).status)
	require.Equal(t, 401, server.browser(t).SignIn(user.email, password).Status)

	// A recovery code replaces the code of the app, once.
	signIn := url.Values{"email": {user.email}, "password": {password}, "totp": {usedCode}}
	server.browser(t).open("POST", "/sign-in", signIn).requireRedirect(t, "/")
	require.Contains(t, browser.page(twoStepPath), "9 unused recovery codes")

	// Turning it off needs both the password and an unused code. Then the password suffices again.
	withWrongPassword := url.Values{"code": {unusedCode}, "currentPassword": {"wrong"}}
	require.Equal(t, 400, post("/turn-off", withWrongPassword).status)

	withUsedCode := url.Values{"code": {usedCode}, "currentPassword": {password}}
	require.Equal(t, 400, post("/turn-off", withUsedCode).status)

	turnedOff := post("/turn-off", url.Values{"code": {unusedCode}, "currentPassword": {password}})
	require.Contains(t, browser.pageAfterRedirect(turnedOff, twoStepPath), "Two-step sign-in is off.")
	require.Equal(t, 303, server.browser(t).SignIn(user.email, password).Status)
}
