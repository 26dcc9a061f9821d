package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAuditLog checks the audit log of an organization, which has an entry for every security-relevant
// action of its members. An entry contains the network of the member and not the full address. Admins can
// read and filter the log, and other roles cannot.
func TestAuditLog(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/employers/audit", func(t *testing.T) {
			t.Parallel()

			// The actions: the member joins and signs in, with a wrong password first.
			boss, other := server.employer(t), server.employer(t)
			member := server.addMember(t, boss, nil)
			server.guest(t).
				post("/api/auth/login", object{"email": member.email, "password": wrongPassword}).
				fails(401, "Invalid email or password")

			// A failed sign-in with an unknown address belongs to no organization, and has no entry.
			server.guest(t).
				post("/api/auth/login", object{"email": newEmail(), "password": wrongPassword}).
				fails(401, "Invalid email or password")
			server.guest(t).post("/api/auth/login", object{"email": member.email, "password": password}).ok(200)
			boss.put("/api/employers/team/"+member.id+"/permissions", object{"role": "viewer"}).ok(200)

			// The boss changes an app with its keys and webhooks. boss.app() creates the app.
			app := boss.app()
			key := boss.post("/api/developers/apps/"+app+"/keys", object{"name": "One"}).ok(201).text("data.key.id")
			boss.delete("/api/developers/apps/" + app + "/keys/" + key).ok(200)
			boss.post("/api/developers/apps/"+app+"/secret", nil).ok(200)
			boss.post("/api/developers/apps/"+app+"/plan", object{"plan": "professional", "paymentMethodId": "pm_card_visa"}).ok(200)

			hook := boss.post("/api/developers/apps/"+app+"/webhooks", object{
				"url":    "https://hooks.example.com/",
				"events": []string{"job.created"},
			}).
				ok(201).
				text("data.webhook.id")
			boss.post("/api/developers/apps/"+app+"/webhooks/"+hook+"/secret", nil).ok(200)
			boss.delete("/api/developers/apps/" + app + "/webhooks/" + hook).ok(200)

			// The boss exports jobs, first in the background and then as a download.
			export := boss.post("/api/employers/exports", object{"kind": "jobs"}).ok(202).text("data.id")
			boss.try("GET", "/api/employers/jobs/export", nil)

			newPassword := password + "1"
			member.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": newPassword}).ok(200)
			member.delete("/api/auth/sessions").ok(200)
			boss.delete("/api/developers/apps/" + app).ok(200)

			// The log has these actions in their order.
			log := boss.auditEntries("")
			for i := range log {
				if log[i].action == "sign_in.succeeded" {
					log[i].object = "" // the id of the session, which the test does not know
				}
			}

			require.Equal(t, []auditEntry{
				{action: "sign_in.succeeded", actorID: boss.id},
				{action: "member.invited", actorID: boss.id, object: member.id, detail: "recruiter"},
				{action: "member.joined", actorID: member.id, object: member.id, detail: "recruiter"},
				{action: "sign_in.succeeded", actorID: member.id},
				{action: "sign_in.failed", object: member.id}, // the actor is unknown
				{action: "sign_in.succeeded", actorID: member.id},
				{action: "permissions.changed", actorID: boss.id, object: member.id, detail: "viewer"},
				{action: "app.created", actorID: boss.id, object: app},
				{action: "api_key.created", actorID: boss.id, object: key},
				{action: "api_key.deleted", actorID: boss.id, object: key},
				{action: "client_secret.rotated", actorID: boss.id, object: app},
				{action: "plan.changed", actorID: boss.id, object: app, detail: "professional"},
				{action: "webhook.created", actorID: boss.id, object: hook},
				{action: "webhook_secret.rotated", actorID: boss.id, object: hook},
				{action: "webhook.deleted", actorID: boss.id, object: hook},
				{action: "export.created", actorID: boss.id, object: export, detail: "jobs"},
				{action: "export.downloaded", actorID: boss.id, detail: "jobs"},
				{action: "password.changed", actorID: member.id, object: member.id},
				{action: "sessions.ended", actorID: member.id, object: member.id},
				{action: "app.deleted", actorID: boss.id, object: app},
			}, log)

			t.Run("entry has the actor and the network, but not the host", func(t *testing.T) {
				entry := boss.get("/api/employers/audit?action=permissions.changed").ok(200)
				require.Equal(t, object{"id": boss.id, "name": employerName, "email": boss.email}, entry.at("data.entries.0.actor"))
				require.Regexp(t, `^10\..*\.0/24$`, entry.text("data.entries.0.network"))
			})

			t.Run("filters", func(t *testing.T) {
				// The entries whose actor is the member: one for joining, two for sign-ins, one for the password and
				// one for the sessions.
				require.Len(t, boss.auditEntries("&actor="+member.id), 5)
				require.Empty(t, boss.auditEntries("&actor="+other.id))

				today := time.Now().UTC().Format(time.DateOnly)
				require.Len(t, boss.auditEntries("&from="+today+"&to="+today), len(log))
				require.Empty(t, boss.auditEntries("&to=2020-01-01"))

				boss.get("/api/employers/audit?action=nonsense").invalid("action")
				boss.get("/api/employers/audit?from=nonsense").invalid("from")
			})

			t.Run("pages", func(t *testing.T) {
				// The second page of one entry has the last but one.
				cursor := boss.get("/api/employers/audit?limit=1").ok(200).text("data.nextCursor")
				secondPage := boss.get("/api/employers/audit?limit=1&cursor=" + cursor).ok(200)
				require.Equal(t, "sessions.ended", secondPage.text("data.entries.0.action"))
			})

			t.Run("other users", func(t *testing.T) {
				require.Len(t, other.auditEntries(""), 1, "the other organization has an entry for its own sign-in")

				// A member who is no admin.
				server.guest(t).post("/api/auth/login", object{"email": member.email, "password": newPassword}).ok(200)
				member.get("/api/employers/audit").fails(403, "Forbidden")

				server.seeker(t).get("/api/employers/audit").fails(403, "Forbidden")
				server.guest(t).get("/api/employers/audit").fails(401, "Unauthorized")
			})
		})

		t.Run("entries of a deleted account keep only its id", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := server.addMember(t, boss, nil)
			member.delete("/api/employers/profile").ok(200)

			entry := boss.get("/api/employers/audit?action=account.deleted").ok(200)
			require.Equal(t, object{"id": member.id, "name": "", "email": ""}, entry.at("data.entries.0.actor"),
				"name and address are deleted")
		})
	})
}

// auditEntry is an entry of an audit log. The object is the id of the resource that the action has changed.
type auditEntry struct {
	action, actorID, object, detail string
}

// auditEntries returns the entries of the organization's audit log, oldest first. The query, such as
// "&actor=ID", filters them.
func (a *account) auditEntries(query string) []auditEntry {
	a.t.Helper()

	newestFirst := a.fromNewAddress().get("/api/employers/audit?limit=100" + query).ok(200).list("data.entries")

	var entries []auditEntry
	for _, item := range slices.Backward(newestFirst) {
		entry := item.(object)
		entries = append(entries, auditEntry{
			action:  entry["action"].(string),
			actorID: entry["actor"].(object)["id"].(string),
			object:  entry["object"].(string),
			detail:  entry["detail"].(string),
		})
	}

	return entries
}
