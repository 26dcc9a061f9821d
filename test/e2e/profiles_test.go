package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobseekerProfile checks a jobseeker's profile: partial updates, validation of every
// member, a change of address that needs a confirmation, and preferences that searches use. The
// subtests run in their order, and each sees the changes of those before.
func TestJobseekerProfile(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const path = "/api/jobseekers/profile"

		seeker := server.seeker(t)
		otherSeeker := server.seeker(t)

		// update changes members of the seeker's profile, from a new address because the route is limited by address.
		update := func(profile object) *response {
			return seeker.fromNewAddress().put(path, object{"intent": "update-profile", "profile": profile})
		}

		t.Run("GET /api/jobseekers/profile", func(t *testing.T) {
			// A new profile has the members of the registration and the defaults.
			profile := seeker.get(path).ok(200)
			require.Equal(t, seeker.id, profile.text("data.id"))
			require.Equal(t, seeker.email, profile.text("data.email"))
			require.Equal(t, seekerName, profile.text("data.name"))
			require.Empty(t, profile.text("data.bio"))
			require.Empty(t, profile.text("data.location"))
			require.Equal(t, true, profile.at("data.preferences.jobAlerts"))
			require.Equal(t, true, profile.at("data.preferences.emailNotifications"))
			require.Nil(t, profile.at("data.salaryMin"))
			require.Empty(t, profile.list("data.employmentTypes"))

			server.guest(t).get(path).fails(401, "Unauthorized")
			server.employer(t).get(path).fails(403, "Forbidden")
		})

		t.Run("PUT /api/jobseekers/profile", func(t *testing.T) {
			changed := update(object{
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
			require.NotEmpty(t, changed.text("message"))
			require.Equal(t, "update-profile", changed.text("data.intent"))
			require.Equal(t, "Mary Jane O'Brien", changed.text("data.profile.name"))

			// A second change leaves the members that it does not contain. A number is accepted as experience
			// and stored as text.
			partial := object{"bio": "Nurse <b>and</b> more", "experience": 7, "preferences": object{"jobAlerts": false}}
			require.Equal(t, "Leeds", update(partial).ok(200).text("data.profile.location"), "other members are unchanged")

			// The profile has the members of both changes.
			profile := seeker.get(path).ok(200)
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
				require.Equal(t, want, profile.at("data."+field), field)
			}

			require.Equal(t, "Mary Jane O'Brien", seeker.get("/api/auth/me").ok(200).text("data.name"))
			require.Equal(t, seekerName, otherSeeker.get(path).ok(200).text("data.name"))
		})

		t.Run("PUT /api/jobseekers/profile validation errors", func(t *testing.T) {
			for _, withoutIntent := range []any{
				nil,
				object{},
				object{"intent": ""},
				object{"intent": nil, "profile": object{"phone": 5}},
				object{"profile": object{"bio": "x"}},
			} {
				seeker.fromNewAddress().put(path, withoutIntent).fails(400, "Intent is required")
			}

			seeker.fromNewAddress().put(path, object{"intent": "save", "profile": object{}}).invalid("intent")
			seeker.fromNewAddress().put(path, object{"intent": 5, "profile": object{}}).invalid("intent")
			seeker.fromNewAddress().put(path, object{"intent": "update-profile"}).invalid("profile")
			seeker.fromNewAddress().put(path, object{"intent": "update-profile", "profile": "me"}).invalid("profile")
			seeker.fromNewAddress().put(path, "{").invalid("body")

			const maxBio, maxRadius = 5_000, 500 // characters and miles
			for field, invalidValue := range map[string]any{
				"phone":           "12",
				"bio":             strings.Repeat("x", maxBio+1),
				"experience":      true,
				"locationRadius":  maxRadius + 1,
				"employmentTypes": []string{"often"},
				"salaryMin":       -1,
				"salaryMax":       1, // less than salaryMin
				"email":           "nonsense",
				"location":        5,
			} {
				// The reported field may be an item of an array.
				refused := update(object{field: invalidValue}).fails(400, "Bad Request - Invalid parameters")
				require.True(t, strings.HasPrefix(refused.text("details.field"), "profile."+field), "%s", refused.raw)
			}

			// Refused requests have changed nothing.
			require.Equal(t, "Leeds", seeker.get(path).ok(200).text("data.location"))
		})

		t.Run("PUT /api/jobseekers/profile with another address", func(t *testing.T) {
			update(object{"email": otherSeeker.email, "bio": "half done"}).fails(409, "Email already registered")

			// A refused request changes nothing.
			require.NotEqual(t, "half done", seeker.get(path).ok(200).text("data.bio"))

			newAddress := newEmail()
			changed := update(object{"email": newAddress}).ok(200)
			require.Equal(t, seeker.email, changed.text("data.profile.email"), "the address stays until the new one is confirmed")
			require.Equal(t, newAddress, changed.text("data.profile.pendingEmail"))

			// The confirmation, with the token in the e-mail to the new address.
			server.guest(t).post("/api/auth/verify-email", object{"token": server.token(t, newAddress)}).ok(200)

			profile := seeker.get(path).ok(200)
			require.Equal(t, newAddress, profile.text("data.email"))
			require.Nil(t, profile.at("data.pendingEmail"))

			seeker.email = newAddress
		})

		t.Run("PUT /api/jobseekers/profile is limited by address", func(t *testing.T) {
			client := seeker.fromNewAddress()
			for range 10 { // as many requests as one address may send in 15 minutes, valid or not
				client.put(path, object{}).fails(400, "Intent is required")
			}

			refused := client.put(path, object{"intent": "update-profile", "profile": object{}}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, refused.header.Get("Retry-After"))
		})

		t.Run("POST /api/jobseekers/search update-search-preferences changes the same preferences", func(t *testing.T) {
			otherSeeker.post("/api/jobseekers/search", object{
				"intent":            "update-search-preferences",
				"preferredLocation": "Cork",
				"employmentTypes":   []string{"bank"},
			}).
				ok(200)

			profile := otherSeeker.get(path).ok(200)
			require.Equal(t, "Cork", profile.text("data.preferredLocation"))
			require.Equal(t, []any{"bank"}, profile.list("data.employmentTypes"))
		})

		// A search without a place sorts by the distance from preferredLocation.
		t.Run("POST /api/listings/search by distance from the profile's location", func(t *testing.T) {
			employer := server.employer(t)
			inCork := employer.listing(object{"title": "Unusualword nurse", "location": "Cork"})
			inBelfast := employer.listing(object{"title": "Unusualword nurse", "location": "Belfast"})

			for preferredLocation, nearest := range map[string]string{"Cork": inCork, "Belfast": inBelfast} {
				otherSeeker.fromNewAddress().
					put(path, object{"intent": "update-profile", "profile": object{"preferredLocation": preferredLocation}}).
					ok(200)

				found := otherSeeker.post("/api/listings/search", object{"query": "unusualword", "sort": "distance"}).ok(200)
				require.Equal(t, nearest, found.text("data.results.0.id"))
			}
		})
	})
}
