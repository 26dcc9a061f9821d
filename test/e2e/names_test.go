package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesAndTitles_InvisibleCharacters_Removed checks that names and titles cannot imitate
// others with invisible characters or a reversed direction. U+200D stays: emoji and some
// scripts need it.
func TestNamesAndTitles_InvisibleCharacters_Removed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			typed  = "\u202eSt\u200b Mary\u2060's\ufeff \u200d"
			stored = "St Mary's \u200d"
		)
		t.Run("organization", func(t *testing.T) {
			employer := server.employer(t)
			employer.put("/api/employers/organization", object{"name": typed}).ok(200)
			require.Equal(t, stored, employer.get("/api/employers/organization").ok(200).text("data.company.name"))
		})

		t.Run("listing", func(t *testing.T) {
			employer := server.employer(t)
			id := employer.listing(object{"title": typed})
			require.Equal(t, stored, employer.get("/api/employers/jobs/"+id).ok(200).text("data.job.title"))
			const nothingVisible = "\u202e"
			employer.post("/api/employers/jobs", object{"title": nothingVisible, "description": "D"}).invalid("title")
		})

		t.Run("jobseeker", func(t *testing.T) {
			seeker := server.seeker(t)
			seeker.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"name": typed}}).ok(200)
			require.Equal(t, stored, seeker.get("/api/auth/me").ok(200).text("data.name"))
		})

		t.Run("document", func(t *testing.T) {
			seeker := server.seeker(t)
			id := seeker.document(object{"title": typed})
			require.Equal(t, stored, seeker.get("/api/jobseekers/documents/"+id).ok(200).text("data.document.title"))
		})

		t.Run("app and API key", func(t *testing.T) {
			developer := server.seeker(t)
			app := developer.post("/api/developers/apps", object{"name": typed}).ok(201)
			require.Equal(t, stored, app.text("data.app.name"))

			key := developer.post("/api/developers/apps/"+app.text("data.app.id")+"/keys", object{"name": typed}).ok(201)
			require.Equal(t, stored, key.text("data.key.name"))
		})

		t.Run("registration", func(t *testing.T) {
			newUser := object{"email": newEmail(), "password": password, "name": typed, "userType": "jobseeker"}
			require.Equal(t, stored, server.guest(t).post("/api/auth/register", newUser).ok(201).text("data.user.name"))
		})
	})
}
