package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

func bookmarkRoutes(s *jobseeker.Service) []web.Route {
	return routesFor(web.Seeker, "Saved jobs", []web.Route{
		{Method: http.MethodPost, Path: "/api/jobseekers/saved", Status: 201, Errors: []int{404}, Summary: "Save a listing",
			Op: answer(s.SaveJob, viewSavedJob, "Job saved successfully")},
		{Method: http.MethodGet, Path: "/api/jobseekers/bookmarks", Summary: "List the caller's saved listings, latest first",
			Op: list(s.MyBookmarks, func(r page.Result[jobseeker.SavedJob], p web.Paging) bookmarksView {
				v := bookmarksView{SeekerPaged: seekerPaged(r, p)}
				v.Bookmarks.SavedJobs = web.Each(r.Items, viewSavedJob)
				return v
			})},
		{Method: http.MethodPost, Path: "/api/jobseekers/bookmarks", Limit: web.PerQuarterHour(10), Status: 201, Errors: []int{404}, Summary: "Save a listing",
			Op: answer(s.Bookmark, viewSavedJob, "Bookmark added successfully")},
		{Method: http.MethodGet, Path: "/api/jobseekers/bookmarks/:id", Summary: "Get one of the caller's saved listings",
			Op: getByID(s.MyBookmark, func(j jobseeker.SavedJob) bookmarkView {
				return bookmarkView{Bookmark: viewSavedJob(j)}
			})},
		{Method: http.MethodPut, Path: "/api/jobseekers/bookmarks/:id", Summary: "Set the note on a saved listing", Op: web.Op(
			func(ctx context.Context, c web.Call, in NoteInput) (web.Done, error) {
				return web.Message("Bookmark updated successfully"), s.Note(ctx, c.Actor, in.ID, in.NoteInput)
			})},
		{Method: http.MethodDelete, Path: "/api/jobseekers/bookmarks/:id", Summary: "Remove a saved listing",
			Op: answer(byID(s.RemoveBookmark), func(id string) removedBookmarkView {
				return removedBookmarkView{ID: id, Type: jobBookmark}
			}, "Bookmark removed successfully")},
	})
}

// NoteInput changes the note of a bookmark.
type NoteInput struct {
	IDPath
	jobseeker.NoteInput
}

// jobBookmark is the type of bookmarks of listings.
const jobBookmark = "job"

type savedJobView struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	ListingID string    `json:"listingId"`
	Title     string    `json:"title"`
	Company   string    `json:"company"`
	Location  string    `json:"location"`
	Notes     string    `json:"notes"`
	SavedAt   time.Time `json:"savedAt"`
	// Available reports whether the listing is still visible.
	Available bool `json:"available"`
}

func viewSavedJob(j jobseeker.SavedJob) savedJobView {
	return savedJobView{ID: j.ID, Type: jobBookmark, ListingID: j.ListingID, Title: j.Title, Company: j.Company, Location: j.Location, Notes: j.Notes, SavedAt: j.SavedAt, Available: j.Public}
}

type bookmarksView struct {
	Bookmarks struct {
		SavedJobs []savedJobView `json:"savedJobs"`
	} `json:"bookmarks"`
	SeekerPaged
}

type bookmarkView struct {
	Bookmark savedJobView `json:"bookmark"`
}

type removedBookmarkView struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}
