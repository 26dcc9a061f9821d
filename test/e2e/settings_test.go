package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettings checks the settings of jobseekers and employers under one path: each kind of
// user has its intents, and the settings are the same as those of the profile.
func TestSettings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const path = "/api/jobseekers/settings"
		t.Run("GET /api/jobseekers/settings of a jobseeker", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			employer := server.employer(t)
			listing := employer.listing(object{"title": "Theatre Nurse"})
			seeker.post("/api/jobseekers/saved", object{"listingId": listing}).ok(201)
			seeker.post("/api/jobseekers/search", object{"intent": "save-search", "name": "Nights", "query": "nurse"}).ok(200)

			resp := seeker.get(path).ok(200)

			// The id is a number that stays the same; uuid is the id of the user elsewhere.
			require.GreaterOrEqual(t, resp.number("data.settings.id"), 1.)
			require.Equal(t, seeker.id, resp.text("data.settings.uuid"))
			require.Equal(t, seeker.email, resp.text("data.settings.email"))

			// A new account is not shown to employers and gets all e-mail.
			require.Equal(t, object{"name": seekerName, "bio": "", "showProfile": false}, resp.at("data.settings.profile"))
			require.Equal(t, object{
				"notifications":  object{"email": true, "jobAlerts": true},
				"jobPreferences": object{"preferredLocation": "", "employmentTypes": []any{}},
			}, resp.at("data.settings.preferences"))

			// The settings contain what the user has saved.
			require.Equal(t, "Theatre Nurse", resp.text("data.settings.bookmarks.savedJobs.0.title"))
			require.Equal(t, "Nights", resp.text("data.settings.bookmarks.savedSearches.0.name"))
			require.Equal(t, resp.number("data.settings.id"), seeker.get(path).ok(200).number("data.settings.id"))
			require.NotEqual(t, resp.at("data.settings.id"), server.seeker(t).get(path).ok(200).at("data.settings.id"))
			server.guest(t).get(path).fails(401, "Unauthorized")
		})

		t.Run("PUT /api/jobseekers/settings of a jobseeker", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			put := func(body object) *response { return seeker.put(path, body) }
			updated := put(object{
				"intent":  "update-profile",
				"profile": object{"name": "Niamh O'Byrne", "bio": "Twelve years in theatre."},
			}).ok(200)
			require.Equal(t, "update-profile", updated.text("data.intent"))
			put(object{"intent": "update-notifications", "email": false, "jobAlerts": false}).ok(200)
			put(object{"intent": "update-privacy", "showProfile": true}).ok(200)
			put(object{
				"intent":            "update-job-preferences",
				"preferredLocation": "York",
				"employmentTypes":   []string{"bank", "permanent"},
			}).ok(200)

			resp := seeker.get(path).ok(200)
			require.Equal(t,
				object{"name": "Niamh O'Byrne", "bio": "Twelve years in theatre.", "showProfile": true},
				resp.at("data.settings.profile"))
			require.Equal(t, object{
				"notifications":  object{"email": false, "jobAlerts": false},
				"jobPreferences": object{"preferredLocation": "York", "employmentTypes": []any{"bank", "permanent"}},
			}, resp.at("data.settings.preferences"))

			// The profile has the same values.
			profile := seeker.get("/api/jobseekers/profile").ok(200)
			require.Equal(t, object{"jobAlerts": false, "emailNotifications": false}, profile.at("data.preferences"))
			require.Equal(t, "York", profile.text("data.preferredLocation"))
		})

		t.Run("PUT /api/jobseekers/settings of a jobseeker refuses invalid input", func(t *testing.T) {
			t.Parallel()

			seeker := server.seeker(t)
			put := func(body object) *response { return seeker.put(path, body) }

			// The intent is required, and must be one of those of a jobseeker. Each has required members.
			put(object{}).fails(400, "Intent is required")
			put(object{"email": 7}).fails(400, "Intent is required")
			put(object{"intent": "update-everything"}).invalid("intent")
			put(object{"intent": "update-contact", "contact": object{"name": "Jo"}}).invalid("intent")
			put(object{"intent": "update-profile"}).invalid("profile")
			put(object{"intent": "update-notifications"}).invalid("email")
			put(object{"intent": "update-notifications", "email": "no"}).invalid("email")
			put(object{"intent": "update-privacy"}).invalid("showProfile")
			put(object{"intent": "update-job-preferences", "employmentTypes": []string{"never"}}).invalid("employmentTypes.0")

			addressOfAnother := object{"email": server.employer(t).email}
			put(object{"intent": "update-profile", "profile": addressOfAnother}).fails(409, "Email already registered")
			server.guest(t).put(path, object{"intent": "update-privacy", "showProfile": true}).fails(401, "Unauthorized")
		})

		t.Run("GET and PUT /api/jobseekers/settings of an employer", func(t *testing.T) {
			t.Parallel()

			boss := server.employer(t)
			put := func(body object) *response { return boss.put(path, body) }

			require.Equal(t, boss.get("/api/employers/settings").ok(200).at("data"), boss.get(path).ok(200).at("data.settings"))

			updated := put(object{
				"intent":  "update-contact",
				"contact": object{"name": "Ward desk", "email": "desk@brigid.example", "phone": "+44 20 7946 0000"},
			}).ok(200)
			require.Equal(t, "update-contact", updated.text("data.intent"))
			put(object{
				"intent":      "update-employer-profile",
				"profile":     object{"name": "Zoë Patel", "jobTitle": "Matron"},
				"companyName": "St Columba's",
				"industry":    "care home",
				"companySize": "11-50",
			}).ok(200)
			put(object{"intent": "update-notifications", "email": false}).ok(200)

			resp := boss.get(path).ok(200)
			require.Equal(t,
				object{"name": "Ward desk", "email": "desk@brigid.example", "phone": "+44 20 7946 0000"},
				resp.at("data.settings.contact"))
			require.Equal(t, "St Columba's", resp.text("data.settings.company.name"))
			require.Equal(t, false, resp.at("data.settings.preferences.notifications.emailAlerts"))
			require.Equal(t, object{"name": "Zoë Patel", "jobTitle": "Matron"},
				boss.get("/api/employers/profile").ok(200).at("data.profile"))
			put(object{"intent": "update-profile", "profile": object{"name": "Asha Patel"}}).ok(200)
			require.Equal(t, "Asha Patel", boss.get("/api/auth/me").ok(200).text("data.name"))

			// Members see the settings of the organization, and change only their own.
			member := boss.inviteMember("recruiter")
			require.Equal(t, "St Columba's", member.get(path).ok(200).text("data.settings.company.name"))
			member.put(path, object{"intent": "update-employer-profile", "companyName": "Mine"}).fails(403, "Forbidden")
			member.put(path, object{"intent": "update-contact", "contact": object{"phone": "+44 20 7946 0001"}}).ok(200)
		})

		t.Run("PUT /api/jobseekers/settings of an employer refuses invalid input", func(t *testing.T) {
			t.Parallel()

			employer := server.employer(t)
			put := func(body object) *response { return employer.put(path, body) }

			// An employer has no intent for privacy. Incomplete and invalid members are refused.
			put(object{"intent": "update-privacy", "showProfile": true}).invalid("intent")
			put(object{"intent": "update-contact"}).invalid("contact")
			put(object{"intent": "update-contact", "contact": object{"email": "nowhere"}}).invalid("contact.email")
			put(object{"intent": "update-contact", "contact": object{"phone": "12"}}).invalid("contact.phone")
			put(object{"intent": "update-contact", "contact": object{"name": strings.Repeat("x", 201)}}).invalid("contact.name")
			put(object{"intent": "update-notifications"}).invalid("email")
		})
	})
}
