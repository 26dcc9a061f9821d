package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSavedJobsAndBookmarks checks that /saved and /bookmarks are two interfaces of the same
// bookmarks, each with its own messages. A bookmark is its owner's, and survives the deletion
// of the job. The subtests run in their order, and share the bookmarks that the first two create.
func TestSavedJobsAndBookmarks(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker, otherSeeker := server.employer(t), server.seeker(t), server.seeker(t)
		const (
			path      = "/api/jobseekers/bookmarks"
			savedPath = "/api/jobseekers/saved"
		)

		savedJob := employer.listing(object{"title": "Theatre Nurse", "location": "Leeds"})
		bookmarkedJob := employer.listing(object{"title": "Porter"})
		var bookmark string // the id of the bookmark of savedJob, which the first subtest creates

		t.Run("POST /api/jobseekers/saved", func(t *testing.T) {
			saved := seeker.post(savedPath, object{"listingId": savedJob}).ok(201)
			bookmark = saved.text("data.id")
			require.Equal(t, savedJob, saved.text("data.listingId"))
			require.Equal(t, "Theatre Nurse", saved.text("data.title"))
			require.Equal(t, organizationName, saved.text("data.company"))

			_, err := time.Parse(time.RFC3339, saved.text("data.savedAt"))
			require.NoError(t, err)

			// A second time, no listing, and listings that the user cannot find.
			seeker.post(savedPath, object{"listingId": savedJob}).fails(400, "Already saved")
			seeker.post(savedPath, object{}).invalid("listingId")

			for _, absent := range []string{nowhere, "nonsense", employer.listing(object{"status": "draft"})} {
				seeker.post(savedPath, object{"listingId": absent}).fails(404, "Listing not found")
			}
		})

		t.Run("POST /api/jobseekers/bookmarks", func(t *testing.T) {
			client := seeker.fromNewAddress() // the route is limited by address
			require.NotEmpty(t, client.post(path, object{"listingId": bookmarkedJob}).ok(201).text("message"))

			// Each interface finds the bookmarks of the other, and has its own message.
			client.post(path, object{"listingId": bookmarkedJob}).fails(400, "Already bookmarked")
			client.post(path, object{"listingId": savedJob}).fails(400, "Already bookmarked")
			client.post(savedPath, object{"listingId": bookmarkedJob}).fails(400, "Already saved")

			client.post(path, object{"listingId": nowhere}).fails(404, "Listing not found")
			client.post(path, object{"listingId": 5}).invalid("listingId")
		})

		t.Run("POST /api/jobseekers/bookmarks is limited by address", func(t *testing.T) {
			client := seeker.fromNewAddress()
			for range 10 { // as many requests as one address may send in 15 minutes, valid or not
				client.post(path, object{"listingId": savedJob}).fails(400, "Already bookmarked")
			}

			limited := client.post(path, object{"listingId": savedJob}).fails(429, "Rate limit exceeded")
			require.NotEmpty(t, limited.header.Get("Retry-After"))
		})

		t.Run("GET /api/jobseekers/bookmarks", func(t *testing.T) {
			// The newest bookmark is the first.
			list := seeker.get(path).ok(200)
			require.Len(t, list.list("data.bookmarks.savedJobs"), 2)
			require.Equal(t, "Porter", list.text("data.bookmarks.savedJobs.0.title"))
			require.Equal(t, bookmark, list.text("data.bookmarks.savedJobs.1.id"))
			require.Equal(t, organizationName, list.text("data.bookmarks.savedJobs.1.company"))
			require.NotEmpty(t, list.text("data.bookmarks.savedJobs.1.savedAt"))
			require.Equal(t,
				object{"total": 2.0, "page": 1.0, "limit": 20.0, "totalPages": 1.0, "hasNext": false, "hasPrev": false},
				list.at("data.pagination"))

			// Pages of one bookmark: the second by its cursor and by its number.
			firstPage := seeker.get(path + "?limit=1").ok(200)
			require.Equal(t, true, firstPage.at("data.pagination.hasNext"))

			byCursor := seeker.get(path + "?limit=1&cursor=" + firstPage.text("data.nextCursor")).ok(200)
			require.Equal(t, bookmark, byCursor.text("data.bookmarks.savedJobs.0.id"))

			byNumber := seeker.get(path + "?limit=1&page=2").ok(200)
			require.Equal(t, true, byNumber.at("data.pagination.hasPrev"))

			require.Empty(t, otherSeeker.get(path).ok(200).list("data.bookmarks.savedJobs"))
			seeker.get(path + "?page=0").invalid("page")
			seeker.get(path + "?cursor=x").invalid("cursor")
		})

		t.Run("GET /api/jobseekers/bookmarks/:id", func(t *testing.T) {
			found := seeker.get(path + "/" + bookmark).ok(200)
			require.Equal(t, bookmark, found.text("data.bookmark.id"))
			require.Equal(t, "job", found.text("data.bookmark.type"))

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.get(path+"/"+absent).fails(404, "Bookmark not found")
			}

			otherSeeker.get(path+"/"+bookmark).fails(404, "Bookmark not found")
		})

		t.Run("PUT /api/jobseekers/bookmarks/:id", func(t *testing.T) {
			require.NotEmpty(t, seeker.put(path+"/"+bookmark, object{"notes": "call on Monday"}).ok(200).text("message"))
			seeker.put(path+"/"+bookmark, object{}).ok(200) // absent members stay unchanged
			require.Equal(t, "call on Monday", seeker.get(path+"/"+bookmark).ok(200).text("data.bookmark.notes"))

			const maxNotes = 2_000 // characters
			seeker.put(path+"/"+bookmark, object{"notes": strings.Repeat("x", maxNotes+1)}).invalid("notes")
			seeker.put(path+"/"+nowhere, object{"notes": "x"}).fails(404, "Bookmark not found")
			otherSeeker.put(path+"/"+bookmark, object{"notes": "x"}).fails(404, "Bookmark not found")
		})

		t.Run("a bookmark outlives its listing", func(t *testing.T) {
			employer.delete("/api/employers/jobs/" + savedJob).ok(200)

			found := seeker.get(path + "/" + bookmark).ok(200)
			require.Equal(t, "Theatre Nurse", found.text("data.bookmark.title"))
			require.Equal(t, false, found.at("data.bookmark.available"))
		})

		t.Run("DELETE /api/jobseekers/bookmarks/:id", func(t *testing.T) {
			otherSeeker.delete(path+"/"+bookmark).fails(404, "Bookmark not found")

			deleted := seeker.delete(path + "/" + bookmark).ok(200)
			require.Equal(t, object{"id": bookmark, "type": "job"}, deleted.at("data"))
			seeker.delete(path+"/"+bookmark).fails(404, "Bookmark not found")
			seeker.delete(path+"/nonsense").fails(404, "Bookmark not found")

			// The other bookmark is left, and the user's activity reports the deletion.
			require.Len(t, seeker.get(path).ok(200).list("data.bookmarks.savedJobs"), 1)
			require.Equal(t, "removed", seeker.get("/api/jobseekers/activity").ok(200).text("data.activities.0.action"))
		})
	})
}
