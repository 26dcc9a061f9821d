package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// auditEntries returns action, actor id, object and detail of the organization's
// audit log, oldest first.
func (a *account) auditEntries(query string) (out [][4]string) {
	a.t.Helper()
	list := a.fromNewAddress().get("/api/employers/audit?limit=100" + query).ok(200).list("data.entries")
	for i := range list {
		e := list[len(list)-1-i].(object)
		out = append(out, [4]string{e["action"].(string), e["actor"].(object)["id"].(string), e["object"].(string), e["detail"].(string)})
	}
	return out
}

// TestAuditLog checks that the organization's audit log has an entry for every
// security-relevant action of its members, with the network instead of the address. Admins can
// filter it, and other roles cannot read it.
func TestAuditLog(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/employers/audit", func(t *testing.T) {
			t.Parallel()
			boss, other := server.employer(t), server.employer(t)
			member := server.addMember(t, boss, nil)
			server.guest(t).
				post("/api/auth/login", object{"email": member.email, "password": "Wr0ng-horse"}).
				fails(401, "Invalid email or password")
			server.guest(t).
				// An address without an account has no entry.
				post("/api/auth/login", object{"email": newEmail(), "password": "Wr0ng-horse"}).
				fails(401, "Invalid email or password")
			server.guest(t).post("/api/auth/login", object{"email": member.email, "password": password}).ok(200)
			boss.put("/api/employers/team/"+member.id+"/permissions", object{"role": "viewer"}).ok(200)
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
			export := boss.post("/api/employers/exports", object{"kind": "jobs"}).ok(202).text("data.id")
			boss.try("GET", "/api/employers/jobs/export", nil)
			member.post("/api/auth/change-password", object{"currentPassword": password, "newPassword": password + "1"}).ok(200)
			member.delete("/api/auth/sessions").ok(200)
			boss.delete("/api/developers/apps/" + app).ok(200)

			log := boss.auditEntries("")
			for i := range log {
				if log[i][0] == "sign_in.succeeded" {
					log[i][2] = "" // the id of the session
				}
			}
			require.Equal(t, [][4]string{
				{"sign_in.succeeded", boss.id, "", ""},
				{"member.invited", boss.id, member.id, "recruiter"},
				{"member.joined", member.id, member.id, "recruiter"},
				{"sign_in.succeeded", member.id, "", ""},
				{"sign_in.failed", "", member.id, ""}, // the actor is unknown
				{"sign_in.succeeded", member.id, "", ""},
				{"permissions.changed", boss.id, member.id, "viewer"},
				{"app.created", boss.id, app, ""},
				{"api_key.created", boss.id, key, ""},
				{"api_key.deleted", boss.id, key, ""},
				{"client_secret.rotated", boss.id, app, ""},
				{"plan.changed", boss.id, app, "professional"},
				{"webhook.created", boss.id, hook, ""},
				{"webhook_secret.rotated", boss.id, hook, ""},
				{"webhook.deleted", boss.id, hook, ""},
				{"export.created", boss.id, export, "jobs"},
				{"export.downloaded", boss.id, "", "jobs"},
				{"password.changed", member.id, member.id, ""},
				{"sessions.ended", member.id, member.id, ""},
				{"app.deleted", boss.id, app, ""},
			}, log)

			entry := boss.get("/api/employers/audit?action=permissions.changed").ok(200)
			require.Equal(t, object{"id": boss.id, "name": "Asha Patel", "email": boss.email}, entry.at("data.entries.0.actor"))
			require.Regexp(t, `^10\..*\.0/24$`, entry.text("data.entries.0.network"), "the network and not the host")
			require.Len(t, boss.auditEntries("&actor="+member.id), 5)
			require.Empty(t, boss.auditEntries("&actor="+other.id))
			require.Empty(t, boss.auditEntries("&to=2020-01-01"))
			today := time.Now().UTC().Format(time.DateOnly)
			require.Len(t, boss.auditEntries("&from="+today+"&to="+today), len(log))
			boss.get("/api/employers/audit?action=nonsense").invalid("action")
			boss.get("/api/employers/audit?from=nonsense").invalid("from")
			next := boss.get("/api/employers/audit?limit=1").ok(200).text("data.nextCursor")
			require.Equal(t, "sessions.ended", boss.get("/api/employers/audit?limit=1&cursor="+next).ok(200).text("data.entries.0.action"))

			require.Len(t, other.auditEntries(""), 1, "another organization sees its own entries")
			server.guest(t).post("/api/auth/login", object{"email": member.email, "password": password + "1"}).ok(200)
			member.get("/api/employers/audit").fails(403, "Forbidden")
			server.seeker(t).get("/api/employers/audit").fails(403, "Forbidden")
			server.guest(t).get("/api/employers/audit").fails(401, "Unauthorized")
		})
		t.Run("deleted account", func(t *testing.T) {
			t.Parallel()
			boss := server.employer(t)
			member := server.addMember(t, boss, nil)
			member.delete("/api/employers/profile").ok(200)
			entry := boss.get("/api/employers/audit?action=account.deleted").ok(200)
			// Entries keep the id only.
			require.Equal(t, object{"id": member.id, "name": "", "email": ""}, entry.at("data.entries.0.actor"))
		})
	})
}
