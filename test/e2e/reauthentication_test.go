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
	with := func(more object) *response {
		in := object{}
		for _, from := range []object{body, more} {
			for k, v := range from {
				in[k] = v
			}
		}
		return a.fromNewAddress().send(method, path, in)
	}
	refused := with(nil)
	require.Equal(t, 403, refused.status, "%s %s: %s", method, path, refused.raw)
	require.Equal(t, "reauthentication_required", refused.text("code"))
	with(object{"currentPassword": "Wr0ng-horse"}).invalid("currentPassword")
	return with(object{"currentPassword": password}).ok(status)
}

// TestSensitiveOperations_OldSession_NeedPassword checks that a stolen session is not enough to
// create credentials, to change the address or to delete the account: after ten minutes, these
// need the password.
func TestSensitiveOperations_OldSession_NeedPassword(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seeker := server.seeker(t)
		seeker.ageSignIns()
		app := "/api/developers/apps/" + seeker.needsPassword(t, "POST", "/api/developers/apps", object{"name": "Ward Finder"}, 201).
			text("data.app.id")
		seeker.needsPassword(t, "POST", app+"/secret", nil, 200)
		seeker.needsPassword(t, "POST", app+"/keys", object{"name": "k"}, 201)
		hook := app + "/webhooks/" + seeker.needsPassword(t, "POST", app+"/webhooks", object{"url": "https://receiver.invalid/hook", "events": []string{"job.closed"}}, 201).
			text("data.webhook.id")
		seeker.needsPassword(t, "POST", hook+"/secret", nil, 200)
		profile := func(email string) object {
			return object{"intent": "update-profile", "profile": object{"email": email}}
		}
		seeker.needsPassword(t, "PUT", "/api/jobseekers/profile", profile(newEmail()), 200)
		seeker.needsPassword(t, "PUT", "/api/jobseekers/settings", profile(newEmail()), 200)
		// The same address is no change.
		seeker.fromNewAddress().put("/api/jobseekers/profile", profile(seeker.email)).ok(200)
		seeker.needsPassword(t, "DELETE", "/api/jobseekers/profile", nil, 200)

		boss := server.employer(t)
		boss.ageSignIns()
		boss.needsPassword(t, "PUT", "/api/employers/profile", profile(newEmail()), 200)
		boss.needsPassword(t, "DELETE", "/api/employers/profile", nil, 200)
	})
}

// TestSensitiveOperations_RecentSignIn_NeedNoPassword checks that a sign-in and an accepted
// invitation count as recent, and a refresh of the tokens does not.
func TestSensitiveOperations_RecentSignIn_NeedNoPassword(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		someone := server.seeker(t)
		someone.ageSignIns()
		in := server.guest(t).post("/api/auth/refresh", object{"refreshToken": someone.refresh}).ok(200)
		someone.token = in.text("data.accessToken")
		someone.post("/api/developers/apps", object{"name": "Ward Finder"}).fails(403, "Confirm this with your current password")
		someone.signIn(password).post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201)
		server.addMember(t, server.employer(t), nil).post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201)
	})
}

// TestReauthentication_WrongPasswords_Throttled checks that the password cannot be guessed with
// a stolen session: wrong ones count as failed sign-ins, of which ten are allowed.
func TestReauthentication_WrongPasswords_Throttled(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		someone := server.seeker(t)
		someone.ageSignIns()
		for range 10 {
			someone.post("/api/developers/apps", object{"name": "n", "currentPassword": "Wr0ng-horse"}).invalid("currentPassword")
		}
		someone.post("/api/developers/apps", object{"name": "n", "currentPassword": "Wr0ng-horse"}).fails(429, "Rate limit exceeded")
	})
}

// TestDashboard_OldSession_AsksForPassword checks the same on the developers' pages, whose
// forms have a field for the password when the sign-in is not recent.
func TestDashboard_OldSession_AsksForPassword(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		someone := server.seeker(t)
		browser := server.signedIn(t, someone)
		require.NotContains(t, browser.open("GET", "/developers", nil).text, "currentPassword")
		someone.ageSignIns()
		page := browser.open("GET", "/developers", nil)
		require.Contains(t, page.text, `name="currentPassword"`)
		form := func(more ...string) url.Values {
			v := url.Values{"name": {"Ward Finder"}, "csrf": {kit.Page{Text: page.text}.Secret(t)}}
			for i := 0; i < len(more); i += 2 {
				v.Set(more[i], more[i+1])
			}
			return v
		}
		refused := browser.open("POST", "/developers/apps", form())
		require.Equal(t, 403, refused.status)
		require.Contains(t, refused.text, "Your password is required")
		require.Equal(t, 400, browser.open("POST", "/developers/apps", form("currentPassword", "Wr0ng-horse")).status)
		made := browser.open("POST", "/developers/apps", form("currentPassword", password))
		require.Equal(t, 200, made.status, made.text)
		app := made.header.Get("Content-Location")
		for _, path := range []string{"/secret", "/keys"} {
			require.Equal(t, 403, browser.open("POST", app+path, form()).status)
			require.Equal(t, 200, browser.open("POST", app+path, form("currentPassword", password)).status)
		}
	})
}
