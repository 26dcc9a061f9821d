package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEmployerAccount checks the profile, the settings and the organization of an employer. Each member of an
// organization changes their own profile and settings. Only admins change the organization. A refused
// request has no partial effect.
//
// server.employer registers employerName with the organization organizationName. admin.inviteMember adds
// Tom Okafor, who has accepted the invitation.
func TestEmployerAccount(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/employers/profile", func(t *testing.T) {
			t.Parallel()

			// The profile has what the registration contained.
			client, email := server.guest(t), newEmail()
			registered := client.post("/api/auth/register-employer", object{
				"email":       email,
				"password":    password,
				"name":        "Asha Patel",
				"companyName": "St Brigid's",
				"industry":    "hospital",
				"companySize": "51-200",
			})
			admin := server.account(t, registered, client, email)
			require.Equal(t, object{
				"id": admin.id, "email": email, "profile": object{"name": "Asha Patel", "jobTitle": ""},
				"company": object{"name": "St Brigid's", "industry": "hospital", "size": "51-200"},
			}, admin.get("/api/employers/profile").ok(200).at("data"))
			server.guest(t).get("/api/employers/profile").fails(401, "Unauthorized")
			server.seeker(t).get("/api/employers/profile").fails(403, "Forbidden")
		})

		t.Run("PUT /api/employers/profile", func(t *testing.T) {
			t.Parallel()

			const path = "/api/employers/profile"

			admin := server.employer(t)
			member := admin.inviteMember("recruiter")
			changed := admin.put(path, object{
				"intent":      "update-profile",
				"profile":     object{"name": "Zoë Patel", "jobTitle": "Matron"},
				"companyName": "St Columba's",
				"industry":    "care home",
				"companySize": "11-50",
			}).
				ok(200)
			require.Equal(t, "Profile updated successfully", changed.text("message"))

			// The profile, the account and the team have the new values.
			profile := admin.get(path).ok(200)
			require.Equal(t, object{"name": "Zoë Patel", "jobTitle": "Matron"}, profile.at("data.profile"))
			require.Equal(t, object{"name": "St Columba's", "industry": "care home", "size": "11-50"}, profile.at("data.company"))
			require.Equal(t, "Zoë Patel", admin.get("/api/auth/me").ok(200).text("data.name"))
			require.Equal(t, "Zoë Patel", admin.get("/api/employers/team").ok(200).text("data.team.0.name"))

			// Invalid changes.
			admin.put(path, object{}).fails(400, "Intent is required")
			admin.put(path, object{"intent": "delete-profile"}).invalid("intent")
			admin.put(path, object{"intent": "update-profile", "profile": "x"}).invalid("profile")
			admin.put(path, object{"intent": "update-profile", "profile": object{"name": " "}}).invalid("profile.name")

			const maxName = 200 // characters
			admin.put(path, object{"intent": "update-profile", "companyName": strings.Repeat("x", maxName+1)}).invalid("companyName")

			// A member cannot rename the organization, and the refused change does not rename the member either.
			member.put(path, object{
				"intent":      "update-profile",
				"profile":     object{"name": "Tom the Great"},
				"companyName": "Tom's",
			}).
				fails(403, "Forbidden")
			require.Equal(t, "Tom Okafor",
				member.get(path).ok(200).text("data.profile.name"),
				"a failed change has no partial effect")
			member.put(path, object{"intent": "update-profile", "profile": object{"jobTitle": "Recruiter"}}).ok(200)
		})

		t.Run("PUT /api/employers/profile with another address", func(t *testing.T) {
			t.Parallel()

			const path = "/api/employers/profile"

			admin, otherUser, newAddress := server.employer(t), server.seeker(t), newEmail()
			changeTo := func(email string) *response {
				return admin.put(path, object{"intent": "update-profile", "profile": object{"email": email}})
			}

			// The address of another user and an invalid one are refused. A new address waits for its confirmation.
			changeTo(otherUser.email).fails(409, "Email already registered")
			changeTo("x").invalid("profile.email")
			changeTo(newAddress).ok(200)

			// The previous address gets a warning, and the new one a link to confirm.
			profile := admin.get(path).ok(200)
			require.Equal(t, admin.email, profile.text("data.email"), "the address stays until the new one is confirmed")
			require.Equal(t, newAddress, profile.text("data.pendingEmail"))
			server.waitForMail(t, admin.email, "about to change")

			token := server.tokenFromMail(t, newAddress, "confirm your new")
			server.guest(t).post("/api/auth/verify-email", object{"token": token}).ok(200)
			require.Equal(t, newAddress, admin.get(path).ok(200).text("data.email"))

			// The user signs in with the new address only.
			server.guest(t).
				post("/api/auth/login", object{"email": admin.email, "password": password}).
				fails(401, "Invalid email or password")
			server.guest(t).post("/api/auth/login", object{"email": newAddress, "password": password}).ok(200)
		})

		t.Run("PUT /api/employers/profile ten times in 15 minutes", func(t *testing.T) {
			t.Parallel()
			requireLimitOfTen(t, server, "PUT", "/api/employers/profile")
		})

		t.Run("GET /api/employers/settings", func(t *testing.T) {
			t.Parallel()

			admin := server.employer(t)
			require.Equal(t, object{
				"id": admin.id, "email": admin.email, "company": object{"name": organizationName},
				"contact":     object{"name": employerName, "email": admin.email, "phone": ""},
				"preferences": object{"notifications": object{"emailAlerts": true}},
			}, admin.get("/api/employers/settings").ok(200).at("data"))
			server.guest(t).get("/api/employers/settings").fails(401, "Unauthorized")
		})

		t.Run("PUT and DELETE /api/employers/settings", func(t *testing.T) {
			t.Parallel()

			const path = "/api/employers/settings"

			admin := server.employer(t)
			member := admin.inviteMember("viewer")
			renamed := admin.put(path, object{
				"intent":      "update-profile",
				"companyName": "St Columba's",
				"industry":    "care home",
			}).
				ok(200)
			require.Equal(t, "Settings updated successfully", renamed.text("message"))
			admin.put(path, object{"intent": "update-notifications", "emailAlerts": false}).ok(200)

			settings := admin.get(path).ok(200)
			require.Equal(t, "St Columba's", settings.text("data.company.name"))
			require.Equal(t, false, settings.at("data.preferences.notifications.emailAlerts"))
			require.Equal(t, true,
				member.get(path).ok(200).at("data.preferences.notifications.emailAlerts"),
				"each user has separate settings")

			// Invalid changes.
			admin.put(path, object{}).fails(400, "Intent is required")
			admin.put(path, object{"intent": "update-contact"}).invalid("intent")
			admin.put(path, object{"intent": "update-notifications"}).invalid("emailAlerts")
			admin.put(path, object{"intent": "update-notifications", "emailAlerts": "yes"}).invalid("emailAlerts")

			// A member changes their own settings only.
			member.put(path, object{"intent": "update-profile", "companyName": "Mine"}).fails(403, "Forbidden")
			member.put(path, object{"intent": "update-notifications", "emailAlerts": false}).ok(200)

			// DELETE resets the preferences, but not the organization. It may be repeated.
			reset := admin.delete(path).ok(200)
			require.Equal(t, object{"emailAlerts": true}, reset.at("data.settings.notifications"))
			require.Equal(t, object{"notifications": object{"emailAlerts": true}}, reset.at("data.settings.preferences"))
			require.Equal(t, true, admin.get(path).ok(200).at("data.preferences.notifications.emailAlerts"))
			require.Equal(t, "St Columba's", admin.get(path).ok(200).text("data.company.name"))
			admin.delete(path).ok(200)
		})

		t.Run("PUT and DELETE /api/employers/settings ten times in 15 minutes", func(t *testing.T) {
			t.Parallel()
			requireLimitOfTen(t, server, "PUT", "/api/employers/settings")
			requireLimitOfTen(t, server, "DELETE", "/api/employers/settings")
		})

		t.Run("GET and PUT /api/employers/organization", func(t *testing.T) {
			t.Parallel()

			const path = "/api/employers/organization"

			// A new organization has only a name.
			admin := server.employer(t)
			member := admin.inviteMember("recruiter")
			organization := admin.get(path).ok(200)
			require.Len(t, organization.text("data.organizationId"), len("00000000-0000-0000-0000-000000000000"))
			require.Equal(t,
				object{"name": organizationName, "description": "", "website": "", "logo": "", "industry": "", "size": ""},
				organization.at("data.company"))

			changed := admin.put(path, object{
				"name":        "St Columba's",
				"description": "Two wards.",
				"website":     "https://columba.example",
				"logo":        "https://columba.example/logo.png",
				"industry":    "care home",
				"size":        "11-50",
			}).
				ok(200)
			require.Equal(t, "Organization updated successfully", changed.text("message"))
			require.Equal(
				t,
				object{
					"name":        "St Columba's",
					"description": "Two wards.",
					"website":     "https://columba.example",
					"logo":        "https://columba.example/logo.png",
					"industry":    "care home",
					"size":        "11-50",
				},
				changed.at("data.company"),
			)
			require.Equal(t, changed.at("data"), member.get(path).ok(200).at("data"), "every member sees it")

			// Invalid changes are refused. Ids in a change are ignored.
			admin.put(path, object{"name": ""}).invalid("name")
			admin.put(path, object{"website": "javascript:alert(1)"}).invalid("website")
			admin.put(path, object{"logo": "http://user:pass@columba.example/x"}).invalid("logo")
			admin.put(path, object{"description": 7}).invalid("description")
			admin.put(path, object{"organizationId": server.employer(t).id, "id": "x"}).ok(200)
			require.Equal(t, changed.at("data"), admin.get(path).ok(200).at("data"), "ids cannot be changed")

			// Users who are not admins of an organization.
			member.put(path, object{"name": "Mine"}).fails(403, "Forbidden")
			server.seeker(t).get(path).fails(403, "Forbidden")
			server.guest(t).get(path).fails(401, "Unauthorized")
			server.guest(t).put(path, object{"name": "X"}).fails(401, "Unauthorized")
		})

		// A listing and its entry in the search index contain the name of the company. Both are updated in the
		// background.
		t.Run("PUT /api/employers/organization renames its listings", func(t *testing.T) {
			t.Parallel()

			admin := server.employer(t)
			public, paused := admin.listing(object{"title": "Night Nurse"}), admin.listing(nil)
			admin.put("/api/employers/jobs/"+paused, object{"status": "inactive"}).ok(200)

			// A name with a word that no other listing contains.
			uniqueWord := newEmail()[1:9]
			newName := "Trust " + uniqueWord
			admin.put("/api/employers/organization", object{"name": newName}).ok(200)
			require.Eventually(t, func() bool {
				return server.guest(t).get("/api/listings/"+public).ok(200).text("data.company") == newName &&
					admin.get("/api/employers/jobs/"+paused).ok(200).text("data.job.company") == newName
			}, waitTimeout, 20*time.Millisecond, "the listings have the old name")
			require.Eventually(t, func() bool {
				return len(server.guest(t).get("/api/listings?search="+uniqueWord).ok(200).list("data.listings")) == 1
			}, waitTimeout, 20*time.Millisecond, "the public listing is found by the new name")
		})
	})
}

// requireLimitOfTen sends ten requests of a guest to a route, which are unauthorized and count nevertheless.
// It requires that the rate limit of the address refuses the next request, but not a request from another
// address.
func requireLimitOfTen(t *testing.T, server *testServer, method, path string) {
	t.Helper()

	const maxRequests = 10

	guest := server.guest(t)
	for range maxRequests {
		guest.send(method, path, nil).fails(401, "Unauthorized")
	}

	limited := guest.send(method, path, nil).fails(429, "Rate limit exceeded")
	require.NotEmpty(t, limited.header.Get("Retry-After"))
	guest.fromNewAddress().send(method, path, nil).fails(401, "Unauthorized")
}
