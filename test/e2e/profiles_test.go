package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobseekerProfile checks a jobseeker's profile: partial updates, validation of every
// member, a change of address that needs a confirmation, and preferences that searches use.
func TestJobseekerProfile(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const path = "/api/jobseekers/profile"
		seeker := server.seeker(t)
		other := server.seeker(t)
		update := func(profile object) *response {
			return seeker.fromNewAddress().put(path, object{"intent": "update-profile", "profile": profile})
		}

		t.Run("GET /api/jobseekers/profile", func(t *testing.T) {
			res := seeker.get(path).ok(200)
			require.Equal(t, seeker.id, res.text("data.id"))
			require.Equal(t, seeker.email, res.text("data.email"))
			require.Equal(t, "Niamh Byrne", res.text("data.name"))
			require.Empty(t, res.text("data.bio"))
			require.Empty(t, res.text("data.location"))
			require.Equal(t, true, res.at("data.preferences.jobAlerts"))
			require.Equal(t, true, res.at("data.preferences.emailNotifications"))
			require.Nil(t, res.at("data.salaryMin"))
			require.Empty(t, res.list("data.employmentTypes"))
			server.guest(t).get(path).fails(401, "Unauthorized")
			server.employer(t).get(path).fails(403, "Forbidden")
		})

		t.Run("PUT /api/jobseekers/profile", func(t *testing.T) {
			res := update(object{
				"firstName":         "Mary Jane",
				"lastName":          "O'Brien",
				"phone":             "+44 20 7946 0000",
				"location":          "Leeds",
				"specialty":         "Theatre",
				"currentRole":       "Band 6 nurse",
				"experience":        "7 years",
				"preferredLocation": "York",
				"locationRadius":    25,
				"employmentTypes":   []string{"permanent", "part-time"},
				"salaryMin":         32000,
				"salaryMax":         45000.5,
			}).ok(200)
			require.NotEmpty(t, res.text("message"))
			require.Equal(t, "update-profile", res.text("data.intent"))
			require.Equal(t, "Mary Jane O'Brien", res.text("data.profile.name"))

			// A number is accepted as experience and stored as text.
			partial := object{"bio": "Nurse <b>and</b> more", "experience": 7, "preferences": object{"jobAlerts": false}}
			require.Equal(t, "Leeds", update(partial).ok(200).text("data.profile.location"), "other members are unchanged")

			res = seeker.get(path).ok(200)
			for field, want := range map[string]any{
				"id":                seeker.id,
				"email":             seeker.email,
				"name":              "Mary Jane O'Brien",
				"firstName":         "Mary Jane",
				"lastName":          "O'Brien",
				"bio":               "Nurse <b>and</b> more",
				"phone":             "+44 20 7946 0000",
				"location":          "Leeds",
				"specialty":         "Theatre",
				"currentRole":       "Band 6 nurse",
				"experience":        "7",
				"preferredLocation": "York",
				"locationRadius":    25.0,
				"employmentTypes":   []any{"permanent", "part-time"},
				"salaryMin":         32000.0,
				"salaryMax":         45000.5,
				"preferences":       object{"jobAlerts": false, "emailNotifications": true},
			} {
				require.Equal(t, want, res.at("data."+field), field)
			}

			require.Equal(t, "Mary Jane O'Brien", seeker.get("/api/auth/me").ok(200).text("data.name"))
			require.Equal(t, "Niamh Byrne", other.get(path).ok(200).text("data.name"))
		})

		t.Run("PUT /api/jobseekers/profile validation errors", func(t *testing.T) {
			for _, body := range []any{
				nil,
				object{},
				object{"intent": ""},
				object{"intent": nil, "profile": object{"phone": 5}},
				object{"profile": object{"bio": "x"}},
			} {
				seeker.fromNewAddress().put(path, body).fails(400, "Intent is required")
			}

			seeker.fromNewAddress().put(path, object{"intent": "save", "profile": object{}}).invalid("intent")
			seeker.fromNewAddress().put(path, object{"intent": 5, "profile": object{}}).invalid("intent")
			seeker.fromNewAddress().put(path, object{"intent": "update-profile"}).invalid("profile")
			seeker.fromNewAddress().put(path, object{"intent": "update-profile", "profile": "me"}).invalid("profile")
			seeker.fromNewAddress().put(path, "{").invalid("body")

			for field, value := range map[string]any{
				"phone":           "12",
				"bio":             strings.Repeat("x", 5001),
				"experience":      true,
				"locationRadius":  501,
				"employmentTypes": []string{"often"},
				"salaryMin":       -1,
				"salaryMax":       1,
				"email":           "nonsense",
				"location":        5,
			} {
				res := update(object{field: value}).fails(400, "Bad Request - Invalid parameters")
				require.True(t, strings.HasPrefix(res.text("details.field"), "profile."+field), "%s", res.raw)
			}

			require.Equal(t, "Leeds", seeker.get(path).ok(200).text("data.location"))
		})

		t.Run("PUT /api/jobseekers/profile with another address", func(t *testing.T) {
			update(object{"email": other.email, "bio": "half done"}).fails(409, "Email already registered")

			// A refused request changes nothing.
			require.NotEqual(t, "half done", seeker.get(path).ok(200).text("data.bio"))

			newAddress := newEmail()
			res := update(object{"email": newAddress}).ok(200)
			require.Equal(t, seeker.email, res.text("data.profile.email"), "the address stays until the new one is confirmed")
			require.Equal(t, newAddress, res.text("data.profile.pendingEmail"))
			server.guest(t).post("/api/auth/verify-email", object{"token": server.token(t, newAddress)}).ok(200)

			res = seeker.get(path).ok(200)
			require.Equal(t, newAddress, res.text("data.email"))
			require.Nil(t, res.at("data.pendingEmail"))

			seeker.email = newAddress
		})

		t.Run("PUT /api/jobseekers/profile is limited by address", func(t *testing.T) {
			client := seeker.fromNewAddress()
			for range 10 {
				client.put(path, object{}).fails(400, "Intent is required")
			}

			refused := client.put(path, object{"intent": "update-profile", "profile": object{}}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, refused.header.Get("Retry-After"))
		})

		t.Run("POST /api/jobseekers/search update-search-preferences changes the same preferences", func(t *testing.T) {
			other.post("/api/jobseekers/search", object{
				"intent":            "update-search-preferences",
				"preferredLocation": "Cork",
				"employmentTypes":   []string{"bank"},
			}).
				ok(200)

			res := other.get(path).ok(200)
			require.Equal(t, "Cork", res.text("data.preferredLocation"))
			require.Equal(t, []any{"bank"}, res.list("data.employmentTypes"))
		})

		// A search without a place sorts by the distance from preferredLocation.
		t.Run("POST /api/listings/search by distance from the profile's location", func(t *testing.T) {
			employer := server.employer(t)
			near := employer.listing(object{"title": "Unusualword nurse", "location": "Cork"})

			far := employer.listing(object{"title": "Unusualword nurse", "location": "Belfast"})
			for place, first := range map[string]string{"Cork": near, "Belfast": far} {
				other.fromNewAddress().put(path, object{"intent": "update-profile", "profile": object{"preferredLocation": place}}).ok(200)

				res := other.post("/api/listings/search", object{"query": "unusualword", "sort": "distance"}).ok(200)
				require.Equal(t, first, res.text("data.results.0.id"))
			}
		})
	})
}
