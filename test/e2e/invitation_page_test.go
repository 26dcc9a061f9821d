package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInvitationPage checks the page to which the link in an invitation leads, with the token of the link.
// A person without an account creates one. A user with an account signs in first. Another user cannot
// accept the invitation. Links that were used or withdrawn are refused.
func TestInvitationPage(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)

		// invite invites the address to the team of the boss, and returns the token in the e-mail.
		invite := func(email string) (token string) {
			boss.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email, "role": "viewer"}).
				ok(200)

			return server.tokenFromMail(t, email, "Join")
		}

		t.Run("person without an account creates one", func(t *testing.T) {
			t.Parallel()

			email, browser := newEmail(), server.browser(t)
			token := invite(email)

			page := browser.show("/accept-invitation?token=" + token)
			for _, want := range []string{"Join St Brigid", email, `value="Tom Okafor"`, "Create account and join"} {
				require.Contains(t, page.text, want)
			}

			withWeakPassword := browser.open("POST", "/accept-invitation",
				url.Values{"token": {token}, "name": {"Thomas"}, "password": {"weak"}})
			require.Equal(t, 400, withWeakPassword.status)
			require.Contains(t, withWeakPassword.text, `value="Thomas"`, "the input is kept")

			home := browser.submit("/accept-invitation", url.Values{"token": {token}, "name": {"Thomas"}, "password": {password}})
			require.Contains(t, home.text, "You have joined the team.")
			require.Contains(t, home.text, "Sign out", "the new member is signed in")

			// The link works once.
			require.Contains(t, browser.show("/accept-invitation?token="+token).text, "not valid any more")

			again := browser.open("POST", "/accept-invitation", url.Values{"token": {token}, "password": {password}})
			require.Equal(t, 400, again.status)
			require.Contains(t, again.text, "not valid any more")
		})

		t.Run("only the user with the address accepts, after signing in", func(t *testing.T) {
			t.Parallel()

			jo, browser := server.seeker(t), server.browser(t)
			token := invite(jo.email)
			page := browser.show("/accept-invitation?token=" + token)
			require.NotContains(t, page.text, "Create account")
			require.Equal(t, 401,
				browser.open("POST", "/accept-invitation", url.Values{"token": {token}, "password": {password}}).status,
				"the password does not replace the sign-in")

			// Another user can only sign out, and then sign in as the invited one.
			other := server.signedIn(t, server.seeker(t))
			refused := other.show("/accept-invitation?token=" + token)
			require.Contains(t, refused.text, "for another account: <strong>"+jo.email)
			require.NotContains(t, refused.text, "Join the team")
			require.Equal(t, 403, other.open("POST", "/accept-invitation", url.Values{"token": {token}}).status)

			signedOut := other.submit("/sign-out", url.Values{"next": {"/accept-invitation?token=" + token}})
			require.Contains(t, signedOut.text, "Sign in and join")

			// The form redirects to paths of this site only.
			toOtherSite := server.signedIn(t, server.seeker(t)).open("POST", "/sign-out", url.Values{"next": {"//evil.example"}})
			require.Equal(t, "/sign-in", toOtherSite.header.Get("Location"))

			// The link on the page leads to the sign-in, which leads back to the page.
			signInLink, err := url.Parse(page.links("Sign in and join")[0])
			require.NoError(t, err)

			signedIn := browser.open("POST", "/sign-in", url.Values{
				"email":    {jo.email},
				"password": {password},
				"next":     {signInLink.Query().Get("next")},
			})
			require.Contains(t, browser.follow(signedIn).text, "Join the team")

			home := browser.submit("/accept-invitation", url.Values{"token": {token}})
			require.Contains(t, home.text, "You have joined the team.")
			require.Contains(t, home.text, "My account", "the user is still a clinician too")
		})

		t.Run("withdrawn invitation is not valid", func(t *testing.T) {
			t.Parallel()

			email := newEmail()
			token := invite(email)
			browser := server.signedIn(t, boss)

			// In the row of a member, the link to their page precedes the address.
			memberPath := regexp.MustCompile(`/employer/team/[0-9a-f-]{36}`)
			beforeAddress, _, _ := strings.Cut(browser.show("/employer/team").text, email)
			paths := memberPath.FindAllString(beforeAddress, -1)
			require.NotEmpty(t, paths, "the page has no link before %s", email)

			invited := paths[len(paths)-1]
			require.Contains(t,
				browser.submit(invited, url.Values{"action": {"withdraw"}}).text,
				"The invitation is withdrawn.")
			require.Contains(t, server.browser(t).show("/accept-invitation?token="+token).text, "not valid any more")
		})
	})
}
