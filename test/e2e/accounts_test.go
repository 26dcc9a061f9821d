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

			// The subtests depend on each other.
			founder := server.employer(t)
			openListing := founder.listing(object{"title": "Ward Sister"})

			// A listing that is already closed does not prevent the deletion of the organization.
			closedListing := founder.listing(object{"title": "Porter"})
			founder.fromNewAddress().put("/api/employers/jobs/"+closedListing, object{"status": "inactive"}).ok(200)

			t.Run("member who is not the last admin leaves the organization as it is", func(t *testing.T) {
				member := founder.inviteMember("recruiter")
				deleted := member.delete("/api/employers/profile").ok(200)
				require.Equal(t, "Account deleted successfully", deleted.text("message"))

				member.requireSignedOut(t)
				member.delete("/api/employers/profile").fails(401, "Unauthorized")
				server.guest(t).
					post("/api/auth/login", object{"email": member.email, "password": password}).
					fails(401, "Invalid email or password")

				founder.get("/api/employers/team").ok(200)
				server.guest(t).get("/api/listings/" + openListing).ok(200)
			})

			viewer := founder.inviteMember("viewer")

			t.Run("organization is deleted with its last admin", func(t *testing.T) {
				lastAdmin := founder.inviteMember("admin")
				lastAdmin.put("/api/employers/team/"+founder.id+"/permissions", object{"role": "viewer"}).ok(200)
				lastAdmin.delete("/api/employers/profile").ok(200)

				lastAdmin.requireSignedOut(t)
				founder.requireSignedOut(t)
				viewer.requireSignedOut(t)

				isClosed := func() bool { return server.guest(t).get("/api/listings/"+openListing).status == 404 }
				require.Eventually(t, isClosed, waitTimeout, 20*time.Millisecond, "the organization's listings are closed")
			})

			t.Run("account that registered as an employer stays one, without an organization", func(t *testing.T) {
				withoutOrganization := founder.signIn(password)
				require.Equal(t, "EMPLOYER", withoutOrganization.get("/api/auth/me").ok(200).text("data.role"))

				// It reads an empty profile and its settings, and cannot name a company.
				require.Equal(t, object{"name": "", "industry": "", "size": ""},
					withoutOrganization.get("/api/employers/profile").ok(200).at("data.company"))
				withoutOrganization.get("/api/employers/settings").ok(200)
				withoutOrganization.get("/api/employers/team").fails(403, "Forbidden")
				withoutOrganization.get("/api/employers/organization").fails(403, "Forbidden")

				withCompany := object{"intent": "update-profile", "companyName": "Mine"}
				withoutOrganization.put("/api/employers/profile", withCompany).fails(403, "Forbidden")
				withoutOrganization.delete("/api/employers/profile").ok(200)
			})

			t.Run("account that was created by an invitation becomes a jobseeker", func(t *testing.T) {
				asJobseeker := viewer.signIn(password)
				require.Equal(t, "jobseeker", asJobseeker.get("/api/auth/me").ok(200).text("data.role"))
				asJobseeker.get("/api/employers/profile").fails(403, "Forbidden")
				require.Equal(t, "Tom Okafor", asJobseeker.get("/api/jobseekers/profile").ok(200).text("data.name"))
				asJobseeker.delete("/api/jobseekers/profile").ok(200)
			})

			t.Run("address of a deleted account can be registered again", func(t *testing.T) {
				server.guest(t).post("/api/auth/register", object{
					"email":    founder.email,
					"password": password,
					"name":     "Somebody Else",
					"userType": "jobseeker",
				}).ok(201)
			})
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
