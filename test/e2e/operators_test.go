package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// appliedWithin is the time within which a running server applies an operator's command, which
// another process executes.
const appliedWithin = 2 * time.Second

// TestOperatorCommands_Accounts checks `locum users`: signing out ends the sessions of a user
// but not programs, locking ends both until the account is unlocked, and the audit log records
// the operator. The subtests depend on each other.
func TestOperatorCommands_Accounts(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		// The member has two sessions, one of the API and one of a browser. Two programs use an app of the member: one with
		// a key of the app, and one with an OAuth token that the member has granted.
		admin := server.employer(t)
		member := server.addMember(t, admin, nil)
		browser := server.signedIn(t, member)
		app := member.app()
		programWithKey := member.programOf(app)
		programWithToken := member.grantApp(app, integrations.JobsRead)

		login := object{"email": member.email, "password": password}

		// showMember returns what `locum users show` prints about the member: one line for each property.
		showMember := func() string { return server.run(t, "users", "show", member.email) }

		t.Run("show", func(t *testing.T) {
			shown := showMember()
			require.Regexp(t, `(?m)^id\s+`+member.id+`$`, shown)
			require.Regexp(t, `(?m)^role\s+EMPLOYER_TEAM$`, shown)
			require.Regexp(t, `(?m)^organization\s+`+organizationName+` \([0-9a-f-]{36}\), recruiter$`, shown)
			require.Regexp(t, `(?m)^locked\s+no$`, shown)
			require.Regexp(t, `(?m)^sessions\s+2$`, shown)
		})

		t.Run("sign-out ends the sessions only", func(t *testing.T) {
			server.run(t, "users", "sign-out", member.email)
			member.requireSignedOut(t)
			require.Equal(t, http.StatusSeeOther, browser.open("GET", "/developers", nil).status)
			programWithKey.get("/v1/jobs").okDeveloper(200)
		})

		t.Run("lock ends sessions and programs, and prevents the sign-in", func(t *testing.T) {
			newSession := member.signIn(password)
			server.run(t, "users", "lock", member.email)

			newSession.requireSignedOut(t)
			server.guest(t).post("/api/auth/login", login).fails(401, "Invalid email or password")
			require.Equal(t, 401, server.browser(t).signIn(member).status)
			require.Equal(t, 401, programWithKey.get("/v1/jobs").status)
			require.Equal(t, 401, programWithToken.get("/v1/jobs").status)
			require.Regexp(t, `(?m)^locked\s+`+timestampPattern+`$`, showMember())

			admin.get("/api/auth/me").ok(200) // other members are not affected
		})

		t.Run("unlock restores the sign-in and the programs", func(t *testing.T) {
			server.run(t, "users", "unlock", member.email)
			server.guest(t).post("/api/auth/login", login).ok(200)
			programWithKey.get("/v1/jobs").okDeveloper(200)
			programWithToken.get("/v1/jobs").okDeveloper(200)
		})

		t.Run("unknown account", func(t *testing.T) {
			require.Contains(t, server.fails(t, "users", "lock", newEmail()), "there is no account with this e-mail address")
		})

		t.Run("audit log of the organization", func(t *testing.T) {
			require.Equal(t, []auditEntry{
				{action: "sessions.ended", actorID: "operator", object: member.id},
				{action: "account.locked", actorID: "operator", object: member.id},
				{action: "account.unlocked", actorID: "operator", object: member.id},
			}, admin.auditEntries("&actor=operator"))
		})

		t.Run("audit list with filters", func(t *testing.T) {
			// The log of the member has the commands about the member, and the member's own actions.
			ofMember := server.run(t, "audit", "list", "--user", member.email)
			require.Regexp(t, `account\.locked\s+operator\s`, ofMember)
			require.Regexp(t, `api_key\.created\s+`+member.email, ofMember)

			// Neither the log of the admin nor a period in the future has the commands.
			require.NotContains(t, server.run(t, "audit", "list", "--user", admin.email), "account.locked")
			require.NotContains(t, server.run(t, "audit", "list", "--since", "2100-01-01"), "account.locked")

			require.Contains(t, server.fails(t, "audit", "list", "--organization", "nonsense"), "--organization: must be the id")
		})
	})
}

// timestampPattern matches a time as operators' commands print it, in UTC.
const timestampPattern = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`

// TestOperatorCommands_Moderators checks that `locum admin` makes a user a moderator and back,
// with entries in the audit log.
func TestOperatorCommands_Moderators(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		isNoModerator := `(?m)^moderator\s+no$`
		require.Regexp(t, isNoModerator, server.run(t, "users", "show", employer.email))

		require.Contains(t, server.run(t, "admin", "grant", employer.email), "is a moderator")
		require.Regexp(t, `(?m)^moderator\s+`+timestampPattern+`$`, server.run(t, "users", "show", employer.email))

		server.run(t, "admin", "revoke", employer.email)
		require.Regexp(t, isNoModerator, server.run(t, "users", "show", employer.email))

		require.Contains(t, server.fails(t, "admin", "grant", newEmail()), "there is no account with this e-mail address")
		require.Equal(t, []auditEntry{
			{action: "moderator.granted", actorID: "operator", object: employer.id},
			{action: "moderator.revoked", actorID: "operator", object: employer.id},
		}, employer.auditEntries("&actor=operator"))
	})
}

// TestOperatorCommands_Listings checks that a listing that an operator hides is not public
// anywhere, that neither its employer nor a moderator can change that, and that webhooks report
// it as closed.
func TestOperatorCommands_Listings(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		guest := server.guest(t)
		seeker := server.seeker(t)
		program := seeker.programOf(seeker.app())

		// The events of jobs are public, so that the owner of the webhook is any user.
		receiver := newReceiver(t)
		webhookOwner := server.seeker(t)
		webhookOwner.createWebhook(receiver.URL, "job.updated", "job.closed")

		// The only listing of this server.
		title := "Ward " + newEmail()
		id := employer.listing(object{"title": title})
		path := "/api/employers/jobs/" + id
		isListed := func() bool {
			return len(guest.get("/api/listings?limit=100").ok(200).list("data.listings")) == 1
		}
		require.Eventually(t, isListed, waitTimeout, 50*time.Millisecond)

		server.run(t, "listings", "hide", id)
		require.Eventually(t, func() bool { return !isListed() }, appliedWithin, 50*time.Millisecond)

		// requireHidden requires that no API and no page shows the listing to the public, that no user can apply, and that
		// its employer sees that it is hidden.
		requireHidden := func() {
			t.Helper()
			guest.get("/api/listings/"+id).fails(404, "Listing not found")
			require.Equal(t, 404, program.get("/v1/jobs/"+id).status)
			require.Empty(t, seeker.get("/api/jobseekers/search?q=ward").ok(200).list("data.search.jobs"))
			require.NotEqual(t, 201, seeker.post("/api/jobseekers/applications", object{"listingId": id}).status)
			require.NotContains(t, server.browser(t).open("GET", "/jobs/"+id, nil).text, title)

			job := employer.get(path).ok(200)
			require.Equal(t, object{"hidden": true, "public": false}, job.pick("data.job", "hidden", "public"))
		}

		requireHidden()

		t.Run("webhooks report the hidden listing as closed", func(t *testing.T) {
			closed := receiver.waitForEvent("job.closed", "id", id)
			require.Equal(t, "closed", closed.body.Data["job"].(object)["status"])
		})

		t.Run("its employer sees the previous status", func(t *testing.T) {
			require.Equal(t, "active", employer.get(path).ok(200).text("data.job.status"))
			require.Equal(t, true, employer.get("/api/employers/jobs").ok(200).at("data.listings.0.hidden"))
		})

		t.Run("a moderator cannot show it", func(t *testing.T) {
			server.moderator(t).
				post("/api/admin/jobs/"+id+"/restore", object{}).
				fails(409, "An operator has hidden the job; only an operator can show it")
			requireHidden()
		})

		t.Run("no change by its employer shows it", func(t *testing.T) {
			// Close and open the listing.
			employer.put(path, object{"status": "closed"}).ok(200)
			employer.put(path, object{"status": "active", "title": title + "!"}).ok(200)
			requireHidden()

			employer.post(path+"/renew", object{"durationDays": 30}).ok(200)
			requireHidden()

			// Delete and restore the listing.
			employer.delete(path).ok(200)
			employer.post("/api/listings/"+id+"/restore", nil).ok(200)
			requireHidden()
		})

		t.Run("a copy is hidden, too", func(t *testing.T) {
			duplicate := employer.post(path+"/duplicate", nil).ok(200).text("data.id")
			guest.get("/api/listings/"+duplicate).fails(404, "Listing not found")
		})

		t.Run("the operator shows it again", func(t *testing.T) {
			require.Contains(t, server.run(t, "listings", "show", id), "it is public")
			require.Eventually(t, isListed, appliedWithin, 50*time.Millisecond)
			guest.get("/api/listings/" + id).ok(200)
			receiver.waitForEvent("job.updated", "id", id)
			require.Equal(t, false, employer.get(path).ok(200).at("data.job.hidden"))
		})

		t.Run("audit log", func(t *testing.T) {
			require.Equal(t, []auditEntry{
				{action: "listing.hidden", actorID: "operator", object: id},
				{action: "listing.shown", actorID: "operator", object: id},
			}, employer.auditEntries("&actor=operator"))
		})

		t.Run("unknown listing", func(t *testing.T) {
			require.Contains(t, server.fails(t, "listings", "hide", "nonsense"), "Job listing not found")
		})
	})
}
