package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// teamPath returns the path of a member of the team.
func teamPath(id string) string { return "/api/employers/team/" + id }

// hasMember reports whether the organization's team list has the user.
func (a *account) hasMember(id string) bool {
	a.t.Helper()

	for _, member := range a.get("/api/employers/team?limit=100").ok(200).list("data.team") {
		if member.(object)["id"] == id {
			return true
		}
	}

	return false
}

// exportLink creates an export of the kind, "jobs" or "applications", waits until it is completed,
// and returns the path and query of the link to its file.
func (a *account) exportLink(kind string) string {
	a.t.Helper()

	id := a.fromNewAddress().post("/api/employers/exports", object{"kind": kind}).ok(202).text("data.id")
	var link string
	require.Eventually(a.t, func() bool {
		export := a.fromNewAddress().get("/api/employers/exports/" + id).ok(200)
		if export.text("data.status") == "completed" {
			link = export.text("data.url")
		}

		return link != ""
	}, waitTimeout, 20*time.Millisecond)

	parsed, err := url.Parse(link)
	require.NoError(a.t, err)

	return parsed.RequestURI()
}

// TestRemoveMember_ActiveMember_LosesAccessAtOnce checks that a removed member loses sessions,
// the data that programs read for the member, and links to exports, without waiting for a token
// to expire.
func TestRemoveMember_ActiveMember_LosesAccessAtOnce(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		seeker := server.seeker(t)
		seeker.application(boss.listing(nil), nil)

		member := boss.inviteMember("recruiter")
		program := member.program()
		link := member.exportLink("applications")

		require.Len(t, program.get("/v1/applications").okDeveloper(200).list("data"), 1)
		require.Equal(t, 200, server.guest(t).get(link).status)

		// Only an admin of the organization can remove the member. The id may be in upper case.
		member.delete(teamPath(boss.id)).fails(403, "Forbidden")
		server.guest(t).delete(teamPath(member.id)).fails(401, "Unauthorized")
		server.employer(t).delete(teamPath(member.id)).fails(403, "Team member not in your organization")
		boss.delete(teamPath(strings.ToUpper(member.id))).ok(200)

		// At once, the member has no session and is not in the team, and the link to the export does not work.
		member.requireSignedOut(t)
		require.False(t, boss.hasMember(member.id))
		boss.delete(teamPath(member.id)).fails(403, "Team member not in your organization")
		boss.delete(teamPath("x")).fails(403, "Team member not in your organization")
		server.guest(t).get(link).fails(403, "Forbidden")

		// The account still exists, but without access to the organization.
		again := member.signIn(password)
		again.get("/api/employers/jobs").fails(403, "Forbidden")

		// The account came from an invitation.
		require.Equal(t, "jobseeker", again.get("/api/auth/me").ok(200).text("data.role"))
		require.Empty(t, program.get("/v1/applications").okDeveloper(200).list("data"))
	})
}

// TestRemoveMember_LastAdmin_Conflict checks that the last admin cannot be removed, because the
// organization would have no one to manage it. With a second admin, the founder can be removed.
func TestRemoveMember_LastAdmin_Conflict(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("DELETE /api/employers/team/:id keeps the last admin", func(t *testing.T) {
			boss := server.employer(t)
			boss.delete(teamPath(boss.id)).fails(409, "An organization needs at least one admin")

			// The second admin can remove the founder, who keeps the account of an employer.
			second := boss.inviteMember("admin")
			second.delete(teamPath(boss.id)).ok(200)
			boss.requireSignedOut(t)
			require.Equal(t, "EMPLOYER", boss.signIn(password).get("/api/auth/me").ok(200).text("data.role"))
		})
	})
}

// TestRemoveMember_Invitation_Withdrawn checks that removing an invited member makes the link
// in the e-mail invalid, with and without an account, and that the address can be invited
// again.
func TestRemoveMember_Invitation_Withdrawn(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		registered := server.seeker(t)

		unregisteredEmail := newEmail()
		for _, to := range []string{registered.email, unregisteredEmail} {
			boss.post("/api/employers/team", object{"intent": "add-member", "name": "Tom", "email": to}).ok(200)
		}

		// The tokens are read first, because e-mails of withdrawn invitations are not sent.
		unregisteredToken := server.tokenFromMail(t, unregisteredEmail, "Join")
		registeredToken := server.tokenFromMail(t, registered.email, "Join")

		for _, item := range boss.get("/api/employers/team").ok(200).list("data.team") {
			member := item.(object)
			if member["status"] == "invited" {
				boss.delete(teamPath(member["id"].(string))).ok(200)
			}
		}

		// Only the admin is left, and neither of the two links works. The address can be invited again.
		require.Len(t, boss.get("/api/employers/team").ok(200).list("data.team"), 1)
		server.guest(t).post("/api/auth/accept-invitation", object{"token": unregisteredToken, "password": password}).invalid("token")
		registered.post("/api/auth/accept-invitation", object{"token": registeredToken, "password": password}).invalid("token")
		boss.post("/api/employers/team", object{"intent": "add-member", "name": "Tom", "email": unregisteredEmail}).ok(200)
	})
}

// TestMember_WithoutPermissions_SeesPublicOnly checks that a member whose permissions were all
// removed sees what the public sees and their own settings. A link to an earlier export stops
// working.
func TestMember_WithoutPermissions_SeesPublicOnly(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		draft := boss.listing(object{"status": "draft"})
		posted := boss.listing(nil)
		nothing := object{
			"jobs":         object{"create": false, "update": false, "delete": false},
			"applications": object{"view": false, "update": false},
		}
		member := server.addMember(t, boss, nil)
		link := member.exportLink("jobs")
		boss.put(teamPath(member.id)+"/permissions", object{"permissions": nothing}).ok(200)

		for _, path := range []string{
			"/jobs", "/jobs/" + draft, "/jobs/export", "/team", "/team/" + boss.id + "/permissions",
			"/analytics", "/applications", "/interviews",
		} {
			member.get("/api/employers"+path).fails(403, "Forbidden")
		}

		// No export can be created, and the link to an earlier one does not work. Only the public listing is visible.
		member.post("/api/employers/exports", object{"kind": "jobs"}).fails(403, "Forbidden")
		server.guest(t).get(link).fails(403, "Forbidden")
		member.get("/api/listings/"+draft).fails(404, "Listing not found")
		member.get("/api/listings/" + posted).ok(200)
		boss.get("/api/listings/" + draft).ok(200)

		// The pages about the user and the organization need no permission.
		for _, path := range []string{"/profile", "/settings", "/organization"} {
			member.get("/api/employers" + path).ok(200)
		}
	})
}
