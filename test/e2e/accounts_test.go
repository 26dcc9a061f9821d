package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDeleteEmployerAccount checks that the deletion of an account ends its sessions, and that
// the organization is deleted with its last admin: listings close, and the other members keep
// accounts without an organization.
func TestDeleteEmployerAccount(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("DELETE /api/employers/profile", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			open := boss.listing(object{"title": "Ward Sister"})

			// A listing that is already closed does not prevent the deletion of the organization.
			closed := boss.listing(object{"title": "Porter"})
			boss.fromNewAddress().put("/api/employers/jobs/"+closed, object{"status": "inactive"}).ok(200)

			member := boss.inviteMember("recruiter")

			// A member who is not the last admin leaves the organization as it is.
			deleted := member.delete("/api/employers/profile").ok(200)
			require.Equal(t, "Account deleted successfully", deleted.text("message"))
			member.requireSignedOut(t)
			member.delete("/api/employers/profile").fails(401, "Unauthorized")
			server.guest(t).
				post("/api/auth/login", object{"email": member.email, "password": password}).
				fails(401, "Invalid email or password")
			boss.get("/api/employers/team").ok(200)
			server.guest(t).get("/api/listings/" + open).ok(200)

			// The boss is no longer an admin, so that the organization is deleted with the other one.
			admin := boss.inviteMember("admin")
			viewer := boss.inviteMember("viewer")
			admin.put("/api/employers/team/"+boss.id+"/permissions", object{"role": "viewer"}).ok(200)
			admin.delete("/api/employers/profile").ok(200)
			admin.requireSignedOut(t)
			boss.requireSignedOut(t)
			viewer.requireSignedOut(t)
			require.Eventually(t, func() bool {
				return server.guest(t).get("/api/listings/"+open).status == 404
			}, waitTimeout, 20*time.Millisecond, "the organization's listings are closed")

			// The boss signs in without an organization: reads an empty profile, and cannot name a company.
			withoutOrganization := boss.signIn(password)
			require.Equal(t, "EMPLOYER", withoutOrganization.get("/api/auth/me").ok(200).text("data.role"),
				"an account that registered as an employer stays one")
			withoutOrganization.get("/api/employers/team").fails(403, "Forbidden")
			require.Equal(t, object{"name": "", "industry": "", "size": ""},
				withoutOrganization.get("/api/employers/profile").ok(200).at("data.company"),
				"the account has no organization")
			withoutOrganization.get("/api/employers/settings").ok(200)
			withoutOrganization.get("/api/employers/organization").fails(403, "Forbidden")
			withoutOrganization.put("/api/employers/profile", object{"intent": "update-profile", "companyName": "Mine"}).fails(403, "Forbidden")
			withoutOrganization.delete("/api/employers/profile").ok(200)

			asJobseeker := viewer.signIn(password)
			require.Equal(t, "jobseeker", asJobseeker.get("/api/auth/me").ok(200).text("data.role"),
				"an account that was created by an invitation becomes a jobseeker")
			asJobseeker.get("/api/employers/profile").fails(403, "Forbidden")
			require.Equal(t, "Tom Okafor", asJobseeker.get("/api/jobseekers/profile").ok(200).text("data.name"))
			asJobseeker.delete("/api/jobseekers/profile").ok(200)

			// The address of a deleted account can be registered again.
			server.guest(t).post("/api/auth/register", object{
				"email":    boss.email,
				"password": password,
				"name":     "Somebody Else",
				"userType": "jobseeker",
			}).ok(201)
		})

		t.Run("DELETE /api/employers/profile is for employers", func(t *testing.T) {
			t.Parallel()
			server.guest(t).delete("/api/employers/profile").fails(401, "Unauthorized")
			server.seeker(t).delete("/api/employers/profile").fails(403, "Forbidden")
		})

		t.Run("DELETE /api/employers/profile ten times in 15 minutes", func(t *testing.T) {
			t.Parallel()
			requireLimitOfTen(t, server, "DELETE", "/api/employers/profile")
		})

		t.Run("DELETE /api/jobseekers/profile", func(t *testing.T) {
			t.Parallel()

			jo := server.seeker(t)
			otherSession := jo.signIn(password)
			jo.delete("/api/jobseekers/profile").ok(200)
			jo.requireSignedOut(t)
			otherSession.requireSignedOut(t)
			jo.delete("/api/jobseekers/profile").fails(401, "Unauthorized")
			server.guest(t).delete("/api/jobseekers/profile").fails(401, "Unauthorized")
			server.employer(t).delete("/api/jobseekers/profile").fails(403, "Forbidden")
		})
	})
}
