package e2e

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// ageSignIns moves the account's sign-ins into the past, so that they no longer count as
// recent, which is for ten minutes.
func (a *account) ageSignIns() {
	a.t.Helper()

	signedIn := time.Now().UTC().Add(-11 * time.Minute).Format("2006-01-02T15:04:05.000000Z")
	kit.ExecSQL(a.t, a.server.databaseURL(), "UPDATE sessions SET created_at = '"+signedIn+"' WHERE user_id = '"+a.id+"'")
}

// needsPassword requires that the request is refused without currentPassword and with a wrong
// one, and succeeds with the status with the right one.
func (a *account) needsPassword(t *testing.T, method, path string, body object, status int) *response {
	t.Helper()

	sendWith := func(confirmation object) *response {
		return a.fromNewAddress().send(method, path, merge(body, confirmation))
	}
	refused := sendWith(nil)
	require.Equal(t, 403, refused.status, "%s %s: %s", method, path, refused.raw)
	require.Equal(t, "reauthentication_required", refused.text("code"))
	sendWith(object{"currentPassword": wrongPassword}).invalid("currentPassword")

	return sendWith(object{"currentPassword": password}).ok(status)
}

// TestSensitiveOperations_OldSession_NeedPassword checks that a stolen session is not enough to
// create credentials, to change the address or to delete the account: after ten minutes, these
// need the password.
func TestSensitiveOperations_OldSession_NeedPassword(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		seeker.ageSignIns()

		created := seeker.needsPassword(t, "POST", "/api/developers/apps", object{"name": "Ward Finder"}, 201)
		app := "/api/developers/apps/" + created.text("data.app.id")
		seeker.needsPassword(t, "POST", app+"/secret", nil, 200)
		seeker.needsPassword(t, "POST", app+"/keys", object{"name": "k"}, 201)

		webhook := object{"url": "https://receiver.invalid/hook", "events": []string{"job.closed"}}
		created = seeker.needsPassword(t, "POST", app+"/webhooks", webhook, 201)
		seeker.needsPassword(t, "POST", app+"/webhooks/"+created.text("data.webhook.id")+"/secret", nil, 200)

		addressChange := func(email string) object {
			return object{"intent": "update-profile", "profile": object{"email": email}}
		}
		seeker.needsPassword(t, "PUT", "/api/jobseekers/profile", addressChange(newEmail()), 200)
		seeker.needsPassword(t, "PUT", "/api/jobseekers/settings", addressChange(newEmail()), 200)

		// The same address is no change.
		seeker.fromNewAddress().put("/api/jobseekers/profile", addressChange(seeker.email)).ok(200)
		seeker.needsPassword(t, "DELETE", "/api/jobseekers/profile", nil, 200)

		boss := server.employer(t)
		boss.ageSignIns()
		boss.needsPassword(t, "PUT", "/api/employers/profile", addressChange(newEmail()), 200)
		boss.needsPassword(t, "DELETE", "/api/employers/profile", nil, 200)
	})
}

// TestSensitiveOperations_RecentSignIn_NeedNoPassword checks that a sign-in and an accepted
// invitation count as recent, and a refresh of the tokens does not.
func TestSensitiveOperations_RecentSignIn_NeedNoPassword(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		seeker.ageSignIns()

		// New tokens continue the old session, so that the password is needed.
		refreshed := server.guest(t).post("/api/auth/refresh", object{"refreshToken": seeker.refresh}).ok(200)
		seeker.token = refreshed.text("data.accessToken")
		seeker.post("/api/developers/apps", object{"name": "Ward Finder"}).fails(403, "Confirm this with your current password")

		// A sign-in with the password is recent.
		seeker.signIn(password).post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201)

		// So is the session of a member who has just accepted an invitation.
		server.addMember(t, server.employer(t), nil).post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201)
	})
}

// TestReauthentication_WrongPasswords_Throttled checks that the password cannot be guessed with
// a stolen session: wrong ones count as failed sign-ins, of which ten are allowed.
func TestReauthentication_WrongPasswords_Throttled(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		seeker.ageSignIns()

		for range 10 {
			seeker.post("/api/developers/apps", object{"name": "n", "currentPassword": wrongPassword}).invalid("currentPassword")
		}

		seeker.post("/api/developers/apps", object{"name": "n", "currentPassword": wrongPassword}).fails(429, "Rate limit exceeded")
	})
}

// TestDashboard_OldSession_AsksForPassword checks that the forms of the developers' pages that
// create credentials have a field for the password, and need it, when the sign-in is not recent.
func TestDashboard_OldSession_AsksForPassword(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		browser := server.signedIn(t, seeker)
		require.NotContains(t, browser.open("GET", "/developers", nil).text, "currentPassword")
		seeker.ageSignIns()

		page := browser.open("GET", "/developers", nil)
		require.Contains(t, page.text, `name="currentPassword"`)

		csrf := kit.Page{Text: page.text}.CSRFToken(t)
		formWithout := func() url.Values {
			return url.Values{"name": {"Ward Finder"}, "csrf": {csrf}}
		}
		formWith := func(currentPassword string) url.Values {
			values := formWithout()
			values.Set("currentPassword", currentPassword)
			return values
		}

		// A form without the password is forbidden (403), and one with a wrong password invalid (400).
		refused := browser.open("POST", "/developers/apps", formWithout())
		require.Equal(t, 403, refused.status)
		require.Contains(t, refused.text, "Your password is required")
		require.Equal(t, 400, browser.open("POST", "/developers/apps", formWith(wrongPassword)).status)

		created := browser.open("POST", "/developers/apps", formWith(password))
		require.Equal(t, 200, created.status, created.text)

		app := created.header.Get("Content-Location")

		// A new secret and a new key need the password as well: it is not remembered after the first form.
		for _, path := range []string{"/secret", "/keys"} {
			require.Equal(t, 403, browser.open("POST", app+path, formWithout()).status)
			require.Equal(t, 200, browser.open("POST", app+path, formWith(password)).status)
		}
	})
}
