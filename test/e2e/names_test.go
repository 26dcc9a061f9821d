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
		const typed, stored = "\u202eSt\u200b Mary\u2060's\ufeff \u200d", "St Mary's \u200d"
		boss, seeker := server.employer(t), server.seeker(t)
		boss.put("/api/employers/organization", object{"name": typed}).ok(200)
		require.Equal(t, stored, boss.get("/api/employers/organization").ok(200).text("data.company.name"))
		job := boss.listing(object{"title": typed})
		require.Equal(t, stored, boss.get("/api/employers/jobs/"+job).ok(200).text("data.job.title"))
		boss.post("/api/employers/jobs", object{"title": "\u202e", "description": "D"}).invalid("title")

		seeker.put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": object{"name": typed}}).ok(200)
		require.Equal(t, stored, seeker.get("/api/auth/me").ok(200).text("data.name"))
		require.Equal(t, stored,
			seeker.get("/api/jobseekers/documents/"+seeker.document(object{"title": typed})).ok(200).text("data.document.title"))
		app := seeker.fromNewAddress().post("/api/developers/apps", object{"name": typed}).ok(201)
		require.Equal(t, stored, app.text("data.app.name"))
		key := seeker.fromNewAddress().post("/api/developers/apps/"+app.text("data.app.id")+"/keys", object{"name": typed}).ok(201)
		require.Equal(t, stored, key.text("data.key.name"))

		name := object{"email": newEmail(), "password": password, "name": typed, "userType": "jobseeker"}
		require.Equal(t, stored, server.guest(t).post("/api/auth/register", name).ok(201).text("data.user.name"))
	})
}
