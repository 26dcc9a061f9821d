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
		clinician, boss := server.seeker(t), server.employer(t)
		t.Run("another link to confirm the address", func(t *testing.T) {
			for _, user := range []struct {
				account *account
				home    string // the first page after signing in
			}{
				{account: clinician, home: "/account"},
				{account: boss, home: "/employer"},
			} {
				email := user.account.email
				browser := server.signedIn(t, user.account)
				require.Contains(t, browser.page(user.home), `<a href="/request-verification">Get another link</a>`)
				require.Contains(t, browser.page("/request-verification"), `value="`+email+`"`)

				// The requested link is not that of the first mail, which was sent at the registration.
				firstToken := server.tokenFromMail(t, email, "Please confirm your e-mail")
				requested := browser.open("POST", "/request-verification", url.Values{"email": {email}})
				require.Equal(t, 200, requested.status)
				require.Contains(t, requested.text, "Sign out", "the header is that of a signed-in user")

				token := server.tokenFromMail(t, email, "You asked for another link")
				require.NotEqual(t, firstToken, token)

				// A wrong link leads to the page that sends another. The right one confirms the address,
				// after which the home page no longer offers to send one.
				refused := browser.open("POST", "/verify-email", url.Values{"token": {"x"}})
				require.Equal(t, 400, refused.status)
				require.Contains(t, refused.text, `<a href="/request-verification">Get another link</a>`)

				confirmed := browser.open("POST", "/verify-email", url.Values{"token": {token}})
				require.Contains(t, confirmed.text, "is confirmed")
				require.Contains(t, confirmed.text, `<a href="`+user.home+`">Continue</a>`)
				require.NotContains(t, browser.page(user.home), "Get another link")
			}

			guest := server.browser(t)
			require.NotContains(t, guest.page("/request-verification"), "Sign out")

			requested := guest.open("POST", "/request-verification", url.Values{"email": {newEmail()}})
			require.Contains(t, requested.text, "If an account with the address is not confirmed yet",
				"the page does not say whether the account exists")
			require.Equal(t, 400, guest.open("POST", "/request-verification", url.Values{"email": {"nonsense"}}).status)
		})

		t.Run("two-step sign-in", func(t *testing.T) {
			const path = "/two-step-sign-in"
			for _, user := range []*account{clinician, boss} {
				browser := server.signedIn(t, user)
				otherBrowser := server.signedIn(t, user)
				post := func(action string, values url.Values) pageView {
					return browser.open("POST", path+action, values)
				}

				require.Contains(t, browser.page(path), "Set up two-step sign-in")

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
				on := post("/confirm", url.Values{"code": {app.code()}})
				require.Equal(t, 200, on.status, on.text)
				require.Contains(t, on.header.Get("Cache-Control"), "no-store")

				recoveryCodes := regexp.MustCompile(`[A-Z2-7]{4}(-[A-Z2-7]{4}){3}`).FindAllString(on.text, -1)
				require.Len(t, recoveryCodes, 10)

				// Turning it on ends all other sessions.
				otherBrowser.open("GET", path, nil).requireRedirect(t, "/sign-in")
				require.Equal(t, 409, post("/confirm", url.Values{"code": {app.code()}}).status, "it is already on")

				require.Equal(t, 401, server.browser(t).SignIn(user.email, password).Status,
					"the password alone no longer suffices")

				// A recovery code replaces the code of the app, once.
				usedCode := recoveryCodes[0]
				unusedCode := recoveryCodes[1]
				signIn := url.Values{"email": {user.email}, "password": {password}, "totp": {usedCode}}
				server.browser(t).open("POST", "/sign-in", signIn).requireRedirect(t, "/")
				require.Contains(t, browser.page(path), "9 unused recovery codes")

				// Turning it off needs both the password and an unused code. Then the password suffices again.
				wrongPassword := url.Values{"code": {unusedCode}, "currentPassword": {"wrong"}}
				require.Equal(t, 400, post("/turn-off", wrongPassword).status)

				repeatedCode := url.Values{"code": {usedCode}, "currentPassword": {password}}
				require.Equal(t, 400, post("/turn-off", repeatedCode).status, "a recovery code works once")

				location := post("/turn-off", url.Values{"code": {unusedCode}, "currentPassword": {password}}).requireRedirect(t, path)
				require.Contains(t, browser.page(location), "Two-step sign-in is off.")
				require.Equal(t, 303, server.browser(t).SignIn(user.email, password).Status)
			}

			// Guests have to sign in first, and another site cannot send the form.
			server.browser(t).open("GET", path, nil).requireRedirect(t, "/sign-in?next=")

			forged := server.signedIn(t, clinician)
			forged.Site = "cross-site"
			require.Equal(t, 403, forged.open("POST", path+"/set-up", url.Values{}).status)
		})
	})
}
