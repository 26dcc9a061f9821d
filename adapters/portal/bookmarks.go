package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/jobseeker"
)

func bookmarkRoutes(s *jobseeker.Service) []web.Route {
	const tag = "Saved jobs"
	return []web.Route{
		{Method: http.MethodPost, Path: "/api/jobseekers/saved", Auth: web.Required, Audience: web.Seeker, Status: 201, Errors: []int{404}, Tag: tag, Summary: "Keep a listing", Op: web.Op(
			func(ctx context.Context, c web.Call, in jobseeker.SaveJobInput) (web.Reply[savedJobView], error) {
				j, err := s.SaveJob(ctx, c.Actor, in)
				return web.OK(viewSavedJob(j), "Job saved successfully"), err
			})},
		{Method: http.MethodGet, Path: "/api/jobseekers/bookmarks", Auth: web.Required, Audience: web.Seeker, Tag: tag, Summary: "The listings that the caller keeps, latest first", Op: web.Op(
			func(ctx context.Context, c web.Call, in PageInput) (web.Reply[bookmarksView], error) {
				r, err := s.MyBookmarks(ctx, c.Actor, in.Request())
				if err != nil {
					return web.Reply[bookmarksView]{}, err
				}
				v := bookmarksView{Pagination: seekerPagination(r, in.Paging), Beyond: beyond(r)}
				v.Bookmarks.SavedJobs = viewSavedJobs(r.Items)
				return web.OK(v, ""), nil
			})},
		{Method: http.MethodPost, Path: "/api/jobseekers/bookmarks", Auth: web.Required, Audience: web.Seeker, Limit: web.PerQuarterHour(10), Status: 201, Errors: []int{404}, Tag: tag, Summary: "Keep a listing, which is the same as saving it", Op: web.Op(
			func(ctx context.Context, c web.Call, in jobseeker.SaveJobInput) (web.Reply[savedJobView], error) {
				j, err := s.Bookmark(ctx, c.Actor, in)
				return web.OK(viewSavedJob(j), "Bookmark added successfully"), err
			})},
		{Method: http.MethodGet, Path: "/api/jobseekers/bookmarks/:id", Auth: web.Required, Audience: web.Seeker, Tag: tag, Summary: "One of the listings that the caller keeps", Op: web.Op(
			func(ctx context.Context, c web.Call, in BookmarkPath) (web.Reply[bookmarkView], error) {
				j, err := s.MyBookmark(ctx, c.Actor, in.ID)
				return web.OK(bookmarkView{Bookmark: viewSavedJob(j)}, ""), err
			})},
		{Method: http.MethodPut, Path: "/api/jobseekers/bookmarks/:id", Auth: web.Required, Audience: web.Seeker, Tag: tag, Summary: "Note something on a listing that the caller keeps", Op: web.Op(
			func(ctx context.Context, c web.Call, in NoteInput) (web.Done, error) {
				return web.Message("Bookmark updated successfully"), s.Note(ctx, c.Actor, in.ID, in.NoteInput)
			})},
		{Method: http.MethodDelete, Path: "/api/jobseekers/bookmarks/:id", Auth: web.Required, Audience: web.Seeker, Tag: tag, Summary: "Keep a listing no longer", Op: web.Op(
			func(ctx context.Context, c web.Call, in BookmarkPath) (web.Reply[removedBookmarkView], error) {
				id, err := s.RemoveBookmark(ctx, c.Actor, in.ID)
				return web.OK(removedBookmarkView{ID: id, Type: jobBookmark}, "Bookmark removed successfully"), err
			})},
	}
}

// BookmarkPath identifies a bookmark.
type BookmarkPath struct {
	ID string `path:"id"`
}

// NoteInput changes the note of a bookmark.
type NoteInput struct {
	BookmarkPath
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

func viewSavedJobs(js []jobseeker.SavedJob) []savedJobView {
	out := make([]savedJobView, len(js))
	for i, j := range js {
		out[i] = viewSavedJob(j)
	}
	return out
}

type bookmarksView struct {
	Bookmarks struct {
		SavedJobs []savedJobView `json:"savedJobs"`
	} `json:"bookmarks"`
	Pagination SeekerPagination `json:"pagination"`
	Beyond
}

type bookmarkView struct {
	Bookmark savedJobView `json:"bookmark"`
}

type removedBookmarkView struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}
