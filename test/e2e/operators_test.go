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
// the operator.
func TestOperatorCommands_Accounts(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		member := server.addMember(t, boss, nil)
		app := member.app()
		withKey := member.programOf(app)
		withToken := member.grantApp(app, integrations.JobsRead)
		browser := server.signedIn(t, member)

		shown := server.run(t, "users", "show", member.email)
		require.Regexp(t, `(?m)^id\s+`+member.id+`$`, shown)
		require.Regexp(t, `(?m)^role\s+EMPLOYER_TEAM$`, shown)
		require.Regexp(t, `(?m)^organization\s+St Brigid's Hospital \([0-9a-f-]{36}\), recruiter$`, shown)
		require.Regexp(t, `(?m)^locked\s+no$`, shown)
		require.Regexp(t, `(?m)^sessions\s+2$`, shown) // the API and the browser

		server.run(t, "users", "sign-out", member.email)
		member.requireSignedOut(t)
		require.Equal(t, http.StatusSeeOther, browser.open("GET", "/developers", nil).status)
		withKey.get("/v1/jobs").okDeveloper(200)

		again := server.guest(t).post("/api/auth/login", object{"email": member.email, "password": password}).ok(200)
		member.token = again.text("data.accessToken")
		member.refresh = again.text("data.refreshToken")

		server.run(t, "users", "lock", member.email)
		member.requireSignedOut(t)
		server.guest(t).post("/api/auth/login", object{"email": member.email, "password": password}).fails(401, "Invalid email or password")
		require.Equal(t, 401, server.browser(t).signIn(member).status)
		require.Equal(t, 401, withKey.get("/v1/jobs").status)
		require.Equal(t, 401, withToken.get("/v1/jobs").status)
		require.NotRegexp(t, `(?m)^locked\s+no$`, server.run(t, "users", "show", member.email))
		boss.get("/api/auth/me").ok(200)

		server.run(t, "users", "unlock", member.email)
		server.guest(t).post("/api/auth/login", object{"email": member.email, "password": password}).ok(200)
		withKey.get("/v1/jobs").okDeveloper(200)
		withToken.get("/v1/jobs").okDeveloper(200)

		require.Contains(t, server.fails(t, "users", "lock", newEmail()), "there is no account with this e-mail address")
		require.Equal(t, []auditEntry{
			{action: "sessions.ended", actorID: "operator", object: member.id},
			{action: "account.locked", actorID: "operator", object: member.id},
			{action: "account.unlocked", actorID: "operator", object: member.id},
		}, boss.auditEntries("&actor=operator"))

		log := server.run(t, "audit", "list", "--user", member.email)
		require.Regexp(t, `account\.locked\s+operator\s`, log)
		require.Regexp(t, `api_key\.created\s+`+member.email, log)
		require.NotContains(t, server.run(t, "audit", "list", "--user", boss.email), "account.locked")
		require.NotContains(t, server.run(t, "audit", "list", "--since", "2100-01-01"), "account.locked")
		require.Contains(t, server.fails(t, "audit", "list", "--organization", "nonsense"), "--organization: must be the id")
	})
}

// TestOperatorCommands_Moderators checks that `locum admin` makes a user a moderator and back,
// with entries in the audit log.
func TestOperatorCommands_Moderators(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		require.Regexp(t, `(?m)^moderator\s+no$`, server.run(t, "users", "show", boss.email))
		require.Contains(t, server.run(t, "admin", "grant", boss.email), "is a moderator")
		require.NotRegexp(t, `(?m)^moderator\s+no$`, server.run(t, "users", "show", boss.email))
		server.run(t, "admin", "revoke", boss.email)
		require.Regexp(t, `(?m)^moderator\s+no$`, server.run(t, "users", "show", boss.email))
		require.Contains(t, server.fails(t, "admin", "grant", newEmail()), "there is no account with this e-mail address")
		require.Equal(t, []auditEntry{
			{action: "moderator.granted", actorID: "operator", object: boss.id},
			{action: "moderator.revoked", actorID: "operator", object: boss.id},
		}, boss.auditEntries("&actor=operator"))
	})
}

// TestOperatorCommands_Listings checks that a listing that an operator hides is not public
// anywhere, that neither its employer nor a moderator can change that, and that webhooks report
// it as closed.
func TestOperatorCommands_Listings(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		guest := server.guest(t)
		seeker := server.seeker(t)
		receiver := newReceiver(t)
		server.seeker(t).createWebhook(receiver.URL, "job.updated", "job.closed")

		title := "Ward " + newEmail()
		id := boss.listing(object{"title": title})
		program := seeker.programOf(seeker.app())
		isListed := func() bool {
			return len(guest.get("/api/listings?limit=100").ok(200).list("data.listings")) == 1
		}
		require.Eventually(t, isListed, waitTimeout, 50*time.Millisecond)

		server.run(t, "listings", "hide", id)
		require.Eventually(t, func() bool { return !isListed() }, appliedWithin, 50*time.Millisecond)

		requireHidden := func() {
			t.Helper()
			guest.get("/api/listings/"+id).fails(404, "Listing not found")
			require.Equal(t, 404, program.get("/v1/jobs/"+id).status)
			require.Empty(t, seeker.fromNewAddress().get("/api/jobseekers/search?q=ward").ok(200).list("data.search.jobs"))
			require.NotEqual(t, 201, seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": id}).status)
			require.NotContains(t, server.browser(t).open("GET", "/jobs/"+id, nil).text, title)

			job := boss.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, object{"hidden": true, "public": false}, job.pick("data.job", "hidden", "public"))
		}

		requireHidden()
		server.moderator(t).
			post("/api/admin/jobs/"+id+"/restore", object{}).
			fails(409, "An operator has hidden the job; only an operator can show it")
		requireHidden()

		closed := receiver.waitForEvent("job.closed", "id", id)
		require.Equal(t, "closed", closed.body.Data["job"].(object)["status"])
		require.Equal(t, "active", boss.get("/api/employers/jobs/"+id).ok(200).text("data.job.status"))
		require.Equal(t, true, boss.get("/api/employers/jobs").ok(200).at("data.listings.0.hidden"))

		boss.put("/api/employers/jobs/"+id, object{"status": "closed"}).ok(200)
		boss.put("/api/employers/jobs/"+id, object{"status": "active", "title": title + "!"}).ok(200)
		requireHidden()
		boss.post("/api/employers/jobs/"+id+"/renew", object{"durationDays": 30}).ok(200)
		requireHidden()
		boss.delete("/api/employers/jobs/" + id).ok(200)
		boss.post("/api/listings/"+id+"/restore", nil).ok(200)
		requireHidden()

		copied := boss.post("/api/employers/jobs/"+id+"/duplicate", nil).ok(200).text("data.id")
		guest.get("/api/listings/"+copied).fails(404, "Listing not found")

		require.Contains(t, server.run(t, "listings", "show", id), "it is public")
		require.Eventually(t, isListed, appliedWithin, 50*time.Millisecond)
		guest.get("/api/listings/" + id).ok(200)
		receiver.waitForEvent("job.updated", "id", id)
		require.Equal(t, false, boss.get("/api/employers/jobs/"+id).ok(200).at("data.job.hidden"))
		require.Equal(t,
			[]auditEntry{
				{action: "listing.hidden", actorID: "operator", object: id},
				{action: "listing.shown", actorID: "operator", object: id},
			},
			boss.auditEntries("&actor=operator"))
		require.Contains(t, server.fails(t, "listings", "hide", "nonsense"), "Job listing not found")
	})
}
