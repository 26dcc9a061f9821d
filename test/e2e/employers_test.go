package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEmployerAccount checks an employer's profile, settings and organization: each member
// changes their own profile and settings, only admins change the organization, and a refused
// request has no partial effect.
func TestEmployerAccount(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/employers/profile", func(t *testing.T) {
			t.Parallel()

			c, email := server.guest(t), newEmail()
			boss := server.account(
				t,
				c.post(
					"/api/auth/register-employer",
					object{
						"email":       email,
						"password":    password,
						"name":        "Asha Patel",
						"companyName": "St Brigid's",
						"industry":    "hospital",
						"companySize": "51-200",
					},
				),
				c,
				email,
			)
			require.Equal(t, object{
				"id": boss.id, "email": email, "profile": object{"name": "Asha Patel", "jobTitle": ""},
				"company": object{"name": "St Brigid's", "industry": "hospital", "size": "51-200"},
			}, boss.get("/api/employers/profile").ok(200).at("data"))
			server.guest(t).get("/api/employers/profile").fails(401, "Unauthorized")
			server.seeker(t).get("/api/employers/profile").fails(403, "Forbidden")
		})

		t.Run("PUT /api/employers/profile", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := boss.inviteMember("recruiter")
			require.Equal(t, "Profile updated successfully", boss.put("/api/employers/profile", object{
				"intent":      "update-profile",
				"profile":     object{"name": "Zoë Patel", "jobTitle": "Matron"},
				"companyName": "St Columba's",
				"industry":    "care home",
				"companySize": "11-50",
			}).ok(200).text("message"))

			v := boss.get("/api/employers/profile").ok(200)
			require.Equal(t, object{"name": "Zoë Patel", "jobTitle": "Matron"}, v.at("data.profile"))
			require.Equal(t, object{"name": "St Columba's", "industry": "care home", "size": "11-50"}, v.at("data.company"))
			require.Equal(t, "Zoë Patel", boss.get("/api/auth/me").ok(200).text("data.name"))
			require.Equal(t, "Zoë Patel", boss.get("/api/employers/team").ok(200).text("data.team.0.name"))

			boss.put("/api/employers/profile", object{}).fails(400, "Intent is required")
			boss.put("/api/employers/profile", object{"intent": "delete-profile"}).invalid("intent")
			boss.put("/api/employers/profile", object{"intent": "update-profile", "profile": "x"}).invalid("profile")
			boss.put("/api/employers/profile", object{"intent": "update-profile", "profile": object{"name": " "}}).invalid("profile.name")
			boss.put("/api/employers/profile", object{"intent": "update-profile", "companyName": strings.Repeat("x", 201)}).
				invalid("companyName")

			member.put("/api/employers/profile", object{
				"intent":      "update-profile",
				"profile":     object{"name": "Tom the Great"},
				"companyName": "Tom's",
			}).
				fails(403, "Forbidden")
			require.Equal(t, "Tom Okafor",
				member.get("/api/employers/profile").ok(200).text("data.profile.name"),
				"a failed change has no partial effect")
			member.put("/api/employers/profile", object{"intent": "update-profile", "profile": object{"jobTitle": "Recruiter"}}).ok(200)
		})

		t.Run("PUT /api/employers/profile with another address", func(t *testing.T) {
			t.Parallel()

			boss, other, next := server.employer(t), server.seeker(t), newEmail()
			boss.put("/api/employers/profile", object{"intent": "update-profile", "profile": object{"email": other.email}}).
				fails(409, "Email already registered")
			boss.put("/api/employers/profile", object{"intent": "update-profile", "profile": object{"email": "x"}}).invalid("profile.email")
			boss.put("/api/employers/profile", object{"intent": "update-profile", "profile": object{"email": next}}).ok(200)

			v := boss.get("/api/employers/profile").ok(200)
			require.Equal(t, boss.email, v.text("data.email"), "the address stays until the new one is confirmed")
			require.Equal(t, next, v.text("data.pendingEmail"))
			server.waitForMail(t, boss.email, "about to change")
			server.guest(t).post("/api/auth/verify-email", object{"token": server.tokenFromMail(t, next, "confirm your new")}).ok(200)
			require.Equal(t, next, boss.get("/api/employers/profile").ok(200).text("data.email"))
			server.guest(t).
				post("/api/auth/login", object{"email": boss.email, "password": password}).
				fails(401, "Invalid email or password")
			server.guest(t).post("/api/auth/login", object{"email": next, "password": password}).ok(200)
		})

		t.Run("PUT /api/employers/profile ten times in 15 minutes", func(t *testing.T) {
			t.Parallel()
			requireLimitOfTen(t, server, "PUT", "/api/employers/profile")
		})

		t.Run("GET /api/employers/settings", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			require.Equal(t, object{
				"id": boss.id, "email": boss.email, "company": object{"name": "St Brigid's Hospital"},
				"contact":     object{"name": "Asha Patel", "email": boss.email, "phone": ""},
				"preferences": object{"notifications": object{"emailAlerts": true}},
			}, boss.get("/api/employers/settings").ok(200).at("data"))
			server.guest(t).get("/api/employers/settings").fails(401, "Unauthorized")
		})

		t.Run("PUT and DELETE /api/employers/settings", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := boss.inviteMember("viewer")
			require.Equal(
				t,
				"Settings updated successfully",
				boss.put("/api/employers/settings", object{
					"intent":      "update-profile",
					"companyName": "St Columba's",
					"industry":    "care home",
				}).
					ok(200).
					text("message"),
			)
			boss.put("/api/employers/settings", object{"intent": "update-notifications", "emailAlerts": false}).ok(200)

			v := boss.get("/api/employers/settings").ok(200)
			require.Equal(t, "St Columba's", v.text("data.company.name"))
			require.Equal(t, false, v.at("data.preferences.notifications.emailAlerts"))
			require.Equal(t, true,
				member.get("/api/employers/settings").ok(200).at("data.preferences.notifications.emailAlerts"),
				"each user has separate settings")

			boss.put("/api/employers/settings", object{}).fails(400, "Intent is required")
			boss.put("/api/employers/settings", object{"intent": "update-contact"}).invalid("intent")
			boss.put("/api/employers/settings", object{"intent": "update-notifications"}).invalid("emailAlerts")
			boss.put("/api/employers/settings", object{"intent": "update-notifications", "emailAlerts": "yes"}).invalid("emailAlerts")
			member.put("/api/employers/settings", object{"intent": "update-profile", "companyName": "Mine"}).fails(403, "Forbidden")
			member.put("/api/employers/settings", object{"intent": "update-notifications", "emailAlerts": false}).ok(200)

			reset := boss.delete("/api/employers/settings").ok(200)
			require.Equal(t, object{"emailAlerts": true}, reset.at("data.settings.notifications"))
			require.Equal(t, object{"notifications": object{"emailAlerts": true}}, reset.at("data.settings.preferences"))
			require.Equal(t, true, boss.get("/api/employers/settings").ok(200).at("data.preferences.notifications.emailAlerts"))

			// Only preferences are reset.
			require.Equal(t, "St Columba's", boss.get("/api/employers/settings").ok(200).text("data.company.name"))
			boss.delete("/api/employers/settings").ok(200)
		})

		t.Run("PUT and DELETE /api/employers/settings ten times in 15 minutes", func(t *testing.T) {
			t.Parallel()
			requireLimitOfTen(t, server, "PUT", "/api/employers/settings")
			requireLimitOfTen(t, server, "DELETE", "/api/employers/settings")
		})

		t.Run("GET and PUT /api/employers/organization", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			member := boss.inviteMember("recruiter")
			a := boss.get("/api/employers/organization").ok(200)
			require.Len(t, a.text("data.organizationId"), 36)
			require.Equal(t,
				object{"name": "St Brigid's Hospital", "description": "", "website": "", "logo": "", "industry": "", "size": ""},
				a.at("data.company"))

			put := boss.put("/api/employers/organization", object{
				"name":        "St Columba's",
				"description": "Two wards.",
				"website":     "https://columba.example",
				"logo":        "https://columba.example/logo.png",
				"industry":    "care home",
				"size":        "11-50",
			}).
				ok(200)
			require.Equal(t, "Organization updated successfully", put.text("message"))
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
				put.at("data.company"),
			)
			require.Equal(t, put.at("data"), member.get("/api/employers/organization").ok(200).at("data"), "every member sees it")

			boss.put("/api/employers/organization", object{"name": ""}).invalid("name")
			boss.put("/api/employers/organization", object{"website": "javascript:alert(1)"}).invalid("website")
			boss.put("/api/employers/organization", object{"logo": "http://user:pass@columba.example/x"}).invalid("logo")
			boss.put("/api/employers/organization", object{"description": 7}).invalid("description")
			boss.put("/api/employers/organization", object{"organizationId": server.employer(t).id, "id": "x"}).ok(200)
			require.Equal(t, put.at("data"), boss.get("/api/employers/organization").ok(200).at("data"), "ids cannot be changed")
			member.put("/api/employers/organization", object{"name": "Mine"}).fails(403, "Forbidden")
			server.seeker(t).get("/api/employers/organization").fails(403, "Forbidden")
			server.guest(t).get("/api/employers/organization").fails(401, "Unauthorized")
			server.guest(t).put("/api/employers/organization", object{"name": "X"}).fails(401, "Unauthorized")
		})

		// Listings store the name of the company, which is updated in the background, also in
		// the index.
		t.Run("PUT /api/employers/organization renames its listings", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			public, paused := boss.listing(object{"title": "Night Nurse"}), boss.listing(nil)
			boss.fromNewAddress().put("/api/employers/jobs/"+paused, object{"status": "inactive"}).ok(200)

			name := "Trust " + newEmail()[1:9]
			boss.put("/api/employers/organization", object{"name": name}).ok(200)
			require.Eventually(t, func() bool {
				return server.guest(t).get("/api/listings/"+public).ok(200).text("data.company") == name &&
					boss.get("/api/employers/jobs/"+paused).ok(200).text("data.job.company") == name
			}, waitTimeout, 20*time.Millisecond)
			require.Eventually(t, func() bool {
				return len(server.guest(t).get("/api/listings?search="+name[6:]).ok(200).list("data.listings")) == 1
			}, waitTimeout, 20*time.Millisecond, "the listing is found by the new name")
		})
	})
}

// requireLimitOfTen sends ten requests of a guest to a route and requires that the next one is
// refused by the rate limit of the address: requests that fail count too.
func requireLimitOfTen(t *testing.T, server *testServer, method, path string) {
	t.Helper()

	c := server.guest(t)
	for range 10 {
		c.send(method, path, nil).fails(401, "Unauthorized")
	}

	require.NotEmpty(t, c.send(method, path, nil).fails(429, "Rate limit exceeded").header.Get("Retry-After"))
	c.fromNewAddress().send(method, path, nil).fails(401, "Unauthorized")
}
