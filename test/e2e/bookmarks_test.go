package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSavedJobsAndBookmarks checks that /saved and /bookmarks are two interfaces of the same
// bookmarks, each with its own messages. A bookmark is its owner's, and survives the deletion
// of the job.
func TestSavedJobsAndBookmarks(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker, other := server.employer(t), server.seeker(t), server.seeker(t)
		const path = "/api/jobseekers/bookmarks"
		first := employer.listing(object{"title": "Theatre Nurse", "location": "Leeds"})
		second := employer.listing(object{"title": "Porter"})
		var saved string

		t.Run("POST /api/jobseekers/saved", func(t *testing.T) {
			a := seeker.post("/api/jobseekers/saved", object{"listingId": first}).ok(201)
			saved = a.text("data.id")
			require.Equal(t, first, a.text("data.listingId"))
			require.Equal(t, "Theatre Nurse", a.text("data.title"))
			require.Equal(t, "St Brigid's Hospital", a.text("data.company"))

			_, err := time.Parse(time.RFC3339, a.text("data.savedAt"))
			require.NoError(t, err)
			seeker.post("/api/jobseekers/saved", object{"listingId": first}).fails(400, "Already saved")
			seeker.post("/api/jobseekers/saved", object{}).invalid("listingId")

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.post("/api/jobseekers/saved", object{"listingId": absent}).fails(404, "Listing not found")
			}

			draft := employer.listing(object{"status": "draft"})
			seeker.post("/api/jobseekers/saved", object{"listingId": draft}).fails(404, "Listing not found")
		})

		t.Run("POST /api/jobseekers/bookmarks", func(t *testing.T) {
			s := seeker.fromNewAddress()
			require.NotEmpty(t, s.post(path, object{"listingId": second}).ok(201).text("message"))
			s.post(path, object{"listingId": second}).fails(400, "Already bookmarked")
			s.post(path, object{"listingId": first}).fails(400, "Already bookmarked")
			s.post("/api/jobseekers/saved", object{"listingId": second}).fails(400, "Already saved")
			s.post(path, object{"listingId": nowhere}).fails(404, "Listing not found")
			s.post(path, object{"listingId": 5}).invalid("listingId")
		})

		t.Run("POST /api/jobseekers/bookmarks is limited by address", func(t *testing.T) {
			s := seeker.fromNewAddress()
			for range 10 {
				s.post(path, object{"listingId": first}).fails(400, "Already bookmarked")
			}

			require.NotEmpty(t, s.post(path, object{"listingId": first}).fails(429, "Rate limit exceeded").header.Get("Retry-After"))
		})

		t.Run("GET /api/jobseekers/bookmarks", func(t *testing.T) {
			resp := seeker.get(path).ok(200)
			require.Len(t, resp.list("data.bookmarks.savedJobs"), 2)
			require.Equal(t, "Porter", resp.text("data.bookmarks.savedJobs.0.title"))
			require.Equal(t, saved, resp.text("data.bookmarks.savedJobs.1.id"))
			require.Equal(t, "St Brigid's Hospital", resp.text("data.bookmarks.savedJobs.1.company"))
			require.NotEmpty(t, resp.text("data.bookmarks.savedJobs.1.savedAt"))
			require.Equal(t,
				object{"total": 2.0, "page": 1.0, "limit": 20.0, "totalPages": 1.0, "hasNext": false, "hasPrev": false},
				resp.at("data.pagination"))

			resp = seeker.get(path + "?limit=1").ok(200)
			require.Equal(t, true, resp.at("data.pagination.hasNext"))
			require.Equal(t, saved,
				seeker.get(path+"?limit=1&cursor="+resp.text("data.nextCursor")).ok(200).text("data.bookmarks.savedJobs.0.id"))
			require.Equal(t, true, seeker.get(path+"?limit=1&page=2").ok(200).at("data.pagination.hasPrev"))
			require.Empty(t, other.get(path).ok(200).list("data.bookmarks.savedJobs"))
			seeker.get(path + "?page=0").invalid("page")
			seeker.get(path + "?cursor=x").invalid("cursor")
		})

		t.Run("GET /api/jobseekers/bookmarks/:id", func(t *testing.T) {
			a := seeker.get(path + "/" + saved).ok(200)
			require.Equal(t, saved, a.text("data.bookmark.id"))
			require.Equal(t, "job", a.text("data.bookmark.type"))

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.get(path+"/"+absent).fails(404, "Bookmark not found")
			}

			other.get(path+"/"+saved).fails(404, "Bookmark not found")
		})

		t.Run("PUT /api/jobseekers/bookmarks/:id", func(t *testing.T) {
			require.NotEmpty(t, seeker.put(path+"/"+saved, object{"notes": "call on Monday"}).ok(200).text("message"))
			seeker.put(path+"/"+saved, object{}).ok(200) // absent members stay unchanged
			require.Equal(t, "call on Monday", seeker.get(path+"/"+saved).ok(200).text("data.bookmark.notes"))
			seeker.put(path+"/"+saved, object{"notes": strings.Repeat("x", 2001)}).invalid("notes")
			seeker.put(path+"/"+nowhere, object{"notes": "x"}).fails(404, "Bookmark not found")
			other.put(path+"/"+saved, object{"notes": "x"}).fails(404, "Bookmark not found")
		})

		t.Run("a bookmark outlives its listing", func(t *testing.T) {
			employer.fromNewAddress().delete("/api/employers/jobs/" + first).ok(200)

			a := seeker.get(path + "/" + saved).ok(200)
			require.Equal(t, "Theatre Nurse", a.text("data.bookmark.title"))
			require.Equal(t, false, a.at("data.bookmark.available"))
		})

		t.Run("DELETE /api/jobseekers/bookmarks/:id", func(t *testing.T) {
			other.delete(path+"/"+saved).fails(404, "Bookmark not found")

			a := seeker.delete(path + "/" + saved).ok(200)
			require.Equal(t, object{"id": saved, "type": "job"}, a.at("data"))
			seeker.delete(path+"/"+saved).fails(404, "Bookmark not found")
			seeker.delete(path+"/nonsense").fails(404, "Bookmark not found")
			require.Len(t, seeker.get(path).ok(200).list("data.bookmarks.savedJobs"), 1)
			require.Equal(t, "removed", seeker.get("/api/jobseekers/activity").ok(200).text("data.activities.0.action"))
		})
	})
}
