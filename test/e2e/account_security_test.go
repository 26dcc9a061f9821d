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
			for _, who := range []struct {
				*account
				first string
			}{{clinician, "/account"}, {boss, "/employer"}} {
				b := server.signedIn(t, who.account)
				require.Contains(t, b.page(who.first), `<a href="/request-verification">Get another link</a>`)
				require.Contains(t, b.page("/request-verification"), `value="`+who.email+`"`)
				old := server.tokenFromMail(t, who.email, "Please confirm your e-mail")
				sent := b.open("POST", "/request-verification", url.Values{"email": {who.email}})
				require.Equal(t, 200, sent.status)
				require.Contains(t, sent.text, "Sign out", "the header is that of a signed-in user")
				token := server.tokenFromMail(t, who.email, "You asked for another link")
				require.NotEqual(t, old, token) // each request sends another link
				refused := b.open("POST", "/verify-email", url.Values{"token": {"x"}})
				require.Equal(t, 400, refused.status)
				require.Contains(t, refused.text, `<a href="/request-verification">Get another link</a>`)
				done := b.open("POST", "/verify-email", url.Values{"token": {token}})
				require.Contains(t, done.text, "is confirmed")
				require.Contains(t, done.text, `<a href="`+who.first+`">Continue</a>`)
				require.NotContains(t, b.page(who.first), "Get another link")
			}
			guest := server.browser(t)
			require.NotContains(t, guest.page("/request-verification"), "Sign out")
			require.Contains(
				t,
				// The page does not say whether the account exists.
				guest.open("POST", "/request-verification", url.Values{"email": {newEmail()}}).text,
				"If an account with the address is not confirmed yet",
			)
			require.Equal(t, 400, guest.open("POST", "/request-verification", url.Values{"email": {"nonsense"}}).status)
		})
		t.Run("two-step sign-in", func(t *testing.T) {
			const path = "/two-step-sign-in"
			for _, who := range []*account{clinician, boss} {
				b, other := server.signedIn(t, who), server.signedIn(t, who)
				post := func(action string, values url.Values) pageView { return b.open("POST", path+action, values) }
				require.Contains(t, b.page(path), "Set up two-step sign-in")
				shown := post("/set-up", url.Values{})
				require.Contains(t, shown.text, `<svg role="img" aria-label="QR code"`)
				secret := regexp.MustCompile(`Key: <code>([A-Z2-7]+)</code>`).FindStringSubmatch(shown.text)
				require.NotNil(t, secret)
				app := &authenticator{t: t, secret: secret[1]}
				// The page contains the secret from the form; markup in the form's URL must be
				// escaped.
				refused := post("/confirm", url.Values{"code": {"1"}, "secret": {app.secret}, "url": {"otpauth://totp/<b>"}})
				require.Equal(t, 400, refused.status)
				require.Contains(t, refused.text, `href="#code"`)
				require.Contains(t, refused.text, app.secret, "the secret is shown again")
				require.NotContains(t, refused.text, "<b>")
				on := post("/confirm", url.Values{"code": {app.code()}})
				require.Equal(t, 200, on.status, on.text)
				require.Contains(t, on.header.Get("Cache-Control"), "no-store")
				recovery := regexp.MustCompile(`[A-Z2-7]{4}(-[A-Z2-7]{4}){3}`).FindAllString(on.text, -1)
				require.Len(t, recovery, 10)
				// Turning it on ends all other sessions.
				other.open("GET", path, nil).requireRedirect(t, "/sign-in")
				require.Equal(t, 409, post("/confirm", url.Values{"code": {app.code()}}).status) // it is already on

				// The password alone no longer suffices.
				require.Equal(t, 401, server.browser(t).SignIn(who.email, password).Status)
				code := url.Values{"email": {who.email}, "password": {password}, "totp": {recovery[0]}}
				server.browser(t).open("POST", "/sign-in", code).requireRedirect(t, "/")
				require.Contains(t, b.page(path), "9 unused recovery codes")
				require.Equal(t, 400, post("/turn-off", url.Values{"code": {recovery[1]}, "currentPassword": {"wrong"}}).status)
				// A recovery code works once, and this one was used to sign in.
				require.Equal(t, 400, post("/turn-off", url.Values{"code": {recovery[0]}, "currentPassword": {password}}).status)
				off := post("/turn-off", url.Values{"code": {recovery[1]}, "currentPassword": {password}}).requireRedirect(t, path)
				require.Contains(t, b.page(off), "Two-step sign-in is off.")
				require.Equal(t, 303, server.browser(t).SignIn(who.email, password).Status)
			}
			server.browser(t).open("GET", path, nil).requireRedirect(t, "/sign-in?next=")
			b := server.signedIn(t, clinician)
			b.Site = "cross-site"
			require.Equal(t, 403, b.open("POST", path+"/set-up", url.Values{}).status)
		})
	})
}
