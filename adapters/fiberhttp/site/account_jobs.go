package site

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
)

var (
	myJobsPage          = pages.Parse(files, "html/my-jobs.html", "html/account-parts.html")
	mySearchesPage      = pages.Parse(files, "html/my-searches.html", "html/account-parts.html")
	myNotificationsPage = pages.Parse(files, "html/my-notifications.html", "html/account-parts.html")
)

// myState is what a clinician has done with a job.
type myState struct {
	// IsClinician is set for clinicians.
	IsClinician, IsSaved, HasApplied bool
}

// stateOf returns what the viewer has done with the job.
func (s *Site) stateOf(ctx context.Context, who *pages.Viewer, listingID string) (v myState, err error) {
	if who == nil || !who.Actor().Seeker {
		return v, nil
	}
	ids := []string{listingID}
	saved, err := s.services.Seekers.SavedAmong(ctx, who.Actor().UserID, ids)
	if err != nil {
		return v, err
	}
	applied, err := s.services.Hiring.AppliedAmong(ctx, who.Actor().UserID, ids)
	return myState{true, saved[listingID], applied[listingID]}, err
}

// keepJob saves a job.
func (s *Site) keepJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	err := s.renderer.TakeLimit(ctx, c, fiber.MethodPost+" /api/jobseekers/saved")
	if err == nil {
		_, err = s.services.Seekers.SaveJob(ctx, who.Actor(), jobseeker.SaveJobInput{ListingID: c.Params("id")})
	}
	if err != nil && fault.KindOf(err) != fault.Conflict {
		return err
	}
	return redirect(c, "/jobs/"+url.PathEscape(c.Params("id")), "job-kept")
}

// myJob is a saved job.
type myJob struct {
	jobseeker.SavedJob
	Heading string
}

// myJobsView is the list of saved jobs.
type myJobsView struct {
	Jobs []myJob
	Next string
	Form *pages.Form
}

func (s *Site) jobsView(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, form *pages.Form) (myJobsView, error) {
	found, err := s.services.Seekers.MyBookmarks(ctx, who.Actor(), pages.PageRequest(c, accountPageSize))
	jobs := web.Each(found.Items, func(j jobseeker.SavedJob) myJob {
		if j.Title == "" {
			return myJob{j, "A deleted job"}
		}
		return myJob{j, j.Title}
	})
	return myJobsView{jobs, next("/account/saved", found.NextCursor), form}, err
}

func (s *Site) myJobs(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	v, err := s.jobsView(ctx, c, who, &pages.Form{})
	if err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, myJobsPage, who, v)
}

func (s *Site) noteJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	if err := s.services.Seekers.Note(ctx, who.Actor(), c.Params("id"), jobseeker.NoteInput{Notes: new(form.Value("notes"))}); err != nil {
		return s.problemPage(c, myJobsPage, who, &form, err, func() (any, error) { return s.jobsView(ctx, c, who, &form) })
	}
	return redirect(c, "/account/saved", "note-saved")
}

func (s *Site) removeJob(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	if _, err := s.services.Seekers.RemoveBookmark(ctx, who.Actor(), c.Params("id")); err != nil {
		return err
	}
	return redirect(c, "/account/saved", "job-removed")
}

// mySearch is a saved search.
type mySearch struct {
	jobseeker.Search
	Path, Contract string
}

// mySearchesView is the list of saved searches, with the form for another one.
type mySearchesView struct {
	Searches  []mySearch
	Form      *pages.Form
	Contracts []pages.Choice
}

// contractChoices are the contracts that a saved search can have.
var contractChoices = []pages.Choice{
	{Value: "", Text: "Any"}, {Value: "permanent", Text: "Permanent"}, {Value: "temporary", Text: "Temporary"}, {Value: "contract", Text: "Fixed-term contract"},
}

func (s *Site) searchesView(ctx context.Context, who *pages.Viewer, form *pages.Form) (mySearchesView, error) {
	all, err := s.services.Seekers.MySearches(ctx, who.Actor())
	return mySearchesView{web.Each(all, func(k jobseeker.Search) mySearch {
		path := newSearchForm(nil).Path("/jobs", "q", k.Query, "where", k.Location, "contract", k.ContractType)
		return mySearch{k, path, valueTexts[k.ContractType]}
	}), form, contractChoices}, err
}

func (s *Site) mySearches(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	v, err := s.searchesView(ctx, who, &pages.Form{})
	if err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, mySearchesPage, who, v)
}

func (s *Site) saveSearch(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	err := s.renderer.TakeLimit(ctx, c, fiber.MethodPost+" /api/jobseekers/search")
	if err == nil {
		_, err = s.services.Seekers.SaveSearch(ctx, who.Actor(), jobseeker.SaveSearchInput{
			Name: form.Value("name"), Query: form.Value("query"), Location: form.Value("location"), ContractType: form.Value("contractType"), EmailAlerts: form.Value("emailAlerts") != "",
		})
	}
	if err != nil {
		return s.problemPage(c, mySearchesPage, who, &form, err, func() (any, error) { return s.searchesView(ctx, who, &form) })
	}
	return redirect(c, "/account/searches", "search-saved")
}

func (s *Site) setAlerts(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	on := pages.FormOf(c).Value("alerts") == "on"
	if err := s.services.Seekers.SetAlerts(ctx, who.Actor(), c.Params("id"), on); err != nil {
		return err
	}
	if on {
		return redirect(c, "/account/searches", "alerts-on")
	}
	return redirect(c, "/account/searches", "alerts-off")
}

func (s *Site) deleteSearch(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	if _, err := s.services.Seekers.DeleteSearch(ctx, who.Actor(), c.Params("id")); err != nil {
		return err
	}
	return redirect(c, "/account/searches", "search-deleted")
}

func (s *Site) myNotifications(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	found, err := s.services.Seekers.MyNotifications(ctx, who.Actor(), pages.PageRequest(c, accountPageSize))
	if err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, myNotificationsPage, who, struct {
		Notifications []jobseeker.Notification
		Next          string
	}{found.Items, next("/account/notifications", found.NextCursor)})
}

func (s *Site) readNotification(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	read := pages.FormOf(c).Value("read") != "no"
	err := s.renderer.TakeLimit(ctx, c, fiber.MethodPut+" /api/jobseekers/notifications/:id")
	if err == nil {
		err = s.services.Seekers.MarkNotification(ctx, who.Actor(), c.Params("id"), jobseeker.MarkInput{Read: &read})
	}
	if err != nil {
		return err
	}
	return redirect(c, "/account/notifications", "read")
}

func (s *Site) deleteNotification(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	if err := s.services.Seekers.DeleteNotification(ctx, who.Actor(), c.Params("id")); err != nil {
		return err
	}
	return redirect(c, "/account/notifications", "notice-deleted")
}
