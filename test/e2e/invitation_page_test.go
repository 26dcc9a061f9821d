package e2e

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInvitationPage checks the page of an invitation: a new user creates an account, a user
// with an account signs in first, another user cannot accept, and used and withdrawn links are
// refused.
func TestInvitationPage(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		invite := func(email string) string {
			boss.fromNewAddress().
				post("/api/employers/team", object{"intent": "add-member", "name": "Tom Okafor", "email": email, "role": "viewer"}).
				ok(200)

			return server.tokenFromMail(t, email, "Join")
		}

		t.Run("without an account", func(t *testing.T) {
			t.Parallel()

			email, browser := newEmail(), server.browser(t)
			token := invite(email)

			page := browser.show("/accept-invitation?token=" + token)
			for _, want := range []string{"Join St Brigid", email, `value="Tom Okafor"`, "Create account and join"} {
				require.Contains(t, page.text, want)
			}

			weak := browser.open("POST", "/accept-invitation", url.Values{"token": {token}, "name": {"Thomas"}, "password": {"weak"}})
			require.Equal(t, 400, weak.status)
			require.Contains(t, weak.text, `value="Thomas"`)

			home := browser.submit("/accept-invitation", url.Values{"token": {token}, "name": {"Thomas"}, "password": {password}})
			require.Contains(t, home.text, "You have joined the team.")
			require.Contains(t, home.text, "Sign out")
			require.Contains(t, browser.show("/accept-invitation?token="+token).text, "not valid any more")

			again := browser.open("POST", "/accept-invitation", url.Values{"token": {token}, "password": {password}})
			require.Equal(t, 400, again.status)
			require.Contains(t, again.text, "not valid any more")
		})

		t.Run("with an account", func(t *testing.T) {
			t.Parallel()

			jo, browser := server.seeker(t), server.browser(t)
			token := invite(jo.email)
			page := browser.show("/accept-invitation?token=" + token)
			require.NotContains(t, page.text, "Create account")
			require.Equal(t, 401, browser.open("POST", "/accept-invitation", url.Values{"token": {token}, "password": {password}}).status)

			other := server.signedIn(t, server.seeker(t))
			refused := other.show("/accept-invitation?token=" + token)
			require.Contains(t, refused.text, "for another account: <strong>"+jo.email)
			require.NotContains(t, refused.text, "Join the team")
			require.Equal(t, 403, other.open("POST", "/accept-invitation", url.Values{"token": {token}}).status)

			out := other.submit("/sign-out", url.Values{"next": {"/accept-invitation?token=" + token}})
			require.Contains(t, out.text, "Sign in and join")

			// Only paths of this site are followed.
			away := server.signedIn(t, server.seeker(t)).open("POST", "/sign-out", url.Values{"next": {"//evil.example"}})
			require.Equal(t, "/sign-in", away.header.Get("Location"))

			to, err := url.Parse(page.links("Sign in and join")[0])
			require.NoError(t, err)

			ours := browser.open("POST", "/sign-in", url.Values{
				"email":    {jo.email},
				"password": {password},
				"next":     {to.Query().Get("next")},
			})
			require.Contains(t, browser.follow(ours).text, "Join the team")

			home := browser.submit("/accept-invitation", url.Values{"token": {token}})
			require.Contains(t, home.text, "You have joined the team.")
			require.Contains(t, home.text, "My account", "a clinician stays one")
		})

		t.Run("withdrawn", func(t *testing.T) {
			t.Parallel()

			email := newEmail()
			token := invite(email)
			b := server.signedIn(t, boss)
			member := regexp.MustCompile(`/employer/team/[0-9a-f-]{36}`)
			row := strings.Split(b.show("/employer/team").text, email)[0]
			all := member.FindAllString(row, -1)
			require.Contains(t, b.submit(all[len(all)-1], url.Values{"action": {"withdraw"}}).text, "The invitation is withdrawn.")
			require.Contains(t, server.browser(t).show("/accept-invitation?token="+token).text, "not valid any more")
		})
	})
}
