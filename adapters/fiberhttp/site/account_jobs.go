package site

import (
	"cmp"
	"context"
	"net/url"
	"strings"

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

// viewerState says whether the viewer of a job has saved the job or applied for it. It is zero for guests and employers.
type viewerState struct {
	IsClinician, IsSaved, HasApplied bool
}

// loadViewerState returns the state of a listing for the viewer, who is nil for a guest.
func (s *Site) loadViewerState(ctx context.Context, viewer *pages.Viewer, listingID string) (v viewerState, err error) {
	if viewer == nil || !viewer.Actor().Seeker {
		return v, nil
	}

	ids := []string{listingID}

	saved, err := s.services.Seekers.FindSaved(ctx, viewer.Actor().UserID, ids)
	if err != nil {
		return v, err
	}

	applied, err := s.services.Hiring.FindApplied(ctx, viewer.Actor().UserID, ids)

	return viewerState{IsClinician: true, IsSaved: saved[listingID], HasApplied: applied[listingID]}, err
}

// saveJob bookmarks a job. Saving a job twice is not an error.
func (s *Site) saveJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.renderer.TakeLimit(ctx, c, saveJobOperation); err != nil {
		return err
	}

	_, err := s.services.Seekers.SaveJob(ctx, viewer.Actor(), jobseeker.SaveJobInput{ListingID: c.Params("id")})
	if err != nil && fault.KindOf(err) != fault.Conflict {
		return err
	}

	return redirect(c, "/jobs/"+url.PathEscape(c.Params("id")), "job-kept")
}

// myJob is a saved job. Heading is the title of the job, or a text for a deleted job.
type myJob struct {
	jobseeker.SavedJob
	Heading    string
	HasApplied bool
}

// myJobsView is the list of saved jobs.
type myJobsView struct {
	Jobs []myJob
	Next string
	Form *pages.Form
}

// loadMyJobs collects what the page of saved jobs shows. The page also lists saved jobs that were deleted.
func (s *Site) loadMyJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form *pages.Form) (myJobsView, error) {
	bookmarks, err := s.services.Seekers.MyBookmarks(ctx, viewer.Actor(), pages.PageRequest(c, accountPageSize))
	if err != nil {
		return myJobsView{}, err
	}

	listingIDs := web.Each(bookmarks.Items, func(saved jobseeker.SavedJob) string { return saved.ListingID })
	applied, err := s.services.Hiring.FindApplied(ctx, viewer.Actor().UserID, listingIDs)

	jobs := web.Each(bookmarks.Items, func(saved jobseeker.SavedJob) myJob {
		return myJob{SavedJob: saved, Heading: cmp.Or(saved.Title, "A deleted job"), HasApplied: applied[saved.ListingID]}
	})

	return myJobsView{Jobs: jobs, Next: nextPagePath("/account/saved", bookmarks.NextCursor), Form: form}, err
}

func (s *Site) myJobs(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadMyJobs(ctx, c, viewer, &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myJobsPage, viewer, v)
}

// saveJobNote stores the clinician's own note about a saved job.
func (s *Site) saveJobNote(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	in := jobseeker.NoteInput{Notes: new(form.Value("notes"))}
	if err := s.services.Seekers.SetNotes(ctx, viewer.Actor(), c.Params("id"), in); err != nil {
		return s.renderProblem(c, myJobsPage, viewer, &form, err, func() (any, error) { return s.loadMyJobs(ctx, c, viewer, &form) })
	}

	return redirect(c, "/account/saved", "note-saved")
}

func (s *Site) removeSavedJob(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if _, err := s.services.Seekers.RemoveBookmark(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return err
	}

	return redirect(c, "/account/saved", "job-removed")
}

// mySearch is a saved search. Path is the page of its results, and Contract its type of contract in words.
type mySearch struct {
	jobseeker.Search
	Path, Contract string
}

// mySearchesView is the list of saved searches, with the form for another search.
type mySearchesView struct {
	Searches  []mySearch
	Form      *pages.Form
	Contracts []pages.Choice
	// AreEmailsOff is set if the settings of the account turn off e-mails about new jobs.
	AreEmailsOff bool
}

// contractChoices are the types of contract in the form for a saved search or a job alert.
var contractChoices = []pages.Choice{
	{Value: "", Text: "Any"},
	{Value: "permanent", Text: "Permanent"},
	{Value: "temporary", Text: "Temporary"},
	{Value: "contract", Text: "Fixed-term contract"},
}

// loadSearches collects what the page of saved searches shows.
func (s *Site) loadSearches(ctx context.Context, viewer *pages.Viewer, form *pages.Form) (mySearchesView, error) {
	stored, err := s.services.Seekers.MySearches(ctx, viewer.Actor())
	if err != nil {
		return mySearchesView{}, err
	}

	searches := web.Each(stored, func(search jobseeker.Search) mySearch {
		path := newSearchForm(nil).Path("/jobs", "q", search.Query, "where", search.Location, "contract", search.ContractType)
		return mySearch{Search: search, Path: path, Contract: valueTexts[search.ContractType]}
	})

	profile, err := s.services.Seekers.MyProfile(ctx, viewer.Actor())

	return mySearchesView{
		Searches:     searches,
		Form:         form,
		Contracts:    contractChoices,
		AreEmailsOff: !profile.EmailNotifications || !profile.JobAlerts,
	}, err
}

func (s *Site) mySearches(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadSearches(ctx, viewer, &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, mySearchesPage, viewer, v)
}

// saveSearch saves the search in the form. If the clinician has saved the same search before, no second one is stored, and
// the notice says what has changed.
func (s *Site) saveSearch(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	in := jobseeker.SaveSearchInput{
		Name:         form.Value("name"),
		Query:        form.Value("query"),
		Location:     form.Value("location"),
		ContractType: form.Value("contractType"),
		EmailAlerts:  form.Value("emailAlerts") != "",
	}

	var outcome jobseeker.SaveOutcome

	err := requireSearch(form)
	if err == nil {
		err = s.doLimited(ctx, c, saveSearchOperation, func() (err error) {
			outcome, err = s.services.Seekers.SaveSearchOnce(ctx, viewer.Actor(), in)
			return err
		})
	}

	if err != nil {
		return s.renderProblem(c, mySearchesPage, viewer, &form, err, func() (any, error) { return s.loadSearches(ctx, viewer, &form) })
	}

	return redirect(c, "/account/searches", saveNotices[outcome])
}

// errNoSearch is the error of a form for a saved search or an alert without terms.
var errNoSearch = fault.New(fault.Invalid, "validation_failed", "Enter what or where, or choose a contract")

// requireSearch returns errNoSearch if all fields of the search in the form are empty.
func requireSearch(form pages.Form) error {
	hasTerms := form.Value("query") != "" || form.Value("location") != "" || form.Value("contractType") != ""
	if !hasTerms {
		return errNoSearch
	}

	return nil
}

// saveNotices has the keys of AccountNotices for the outcomes of saving a search.
var saveNotices = map[jobseeker.SaveOutcome]string{
	jobseeker.SearchCreated:   "search-saved",
	jobseeker.AlertsEnabled:   "alerts-on",
	jobseeker.SearchUnchanged: "search-known",
}

// setAlerts turns the e-mails about new jobs of a saved search on or off.
func (s *Site) setAlerts(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	isEnabled := pages.FormOf(c).Value("alerts") == "on"
	if err := s.services.Seekers.SetAlerts(ctx, viewer.Actor(), c.Params("id"), isEnabled); err != nil {
		return err
	}

	if isEnabled {
		return redirect(c, "/account/searches", "alerts-on")
	}

	return redirect(c, "/account/searches", "alerts-off")
}

func (s *Site) deleteSearch(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if _, err := s.services.Seekers.DeleteSearch(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return err
	}

	return redirect(c, "/account/searches", "search-deleted")
}

// notificationRow is a notification on a page.
type notificationRow struct{ jobseeker.Notification }

func newNotificationRow(n jobseeker.Notification) notificationRow { return notificationRow{n} }

// Path returns the path of the page that the notification is about, empty if it is about none. SubjectID is the id of the
// application or of the job.
func (n notificationRow) Path() string {
	switch n.Type {
	case jobseeker.AboutApplication, jobseeker.AboutInterview, jobseeker.AboutMessage:
		return strings.TrimSuffix("/account/applications/"+n.SubjectID, "/") // the list of applications, if the id is empty
	case jobseeker.AboutJobs:
		return "/account/searches"
	case jobseeker.AboutDeadline:
		if n.SubjectID != "" {
			return "/jobs/" + n.SubjectID
		}
	}

	return ""
}

func (s *Site) myNotifications(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	notifications, err := s.services.Seekers.MyNotifications(ctx, viewer.Actor(), pages.PageRequest(c, accountPageSize))
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myNotificationsPage, viewer, struct {
		Notifications []notificationRow
		Next          string
	}{web.Each(notifications.Items, newNotificationRow), nextPagePath("/account/notifications", notifications.NextCursor)})
}

// readNotification marks a notification as read. If the field read has the value "no", it marks the notification as
// unread again. The form that opens a new notification has a field next, with the page to show.
func (s *Site) readNotification(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.renderer.TakeLimit(ctx, c, markNotificationOperation); err != nil {
		return err
	}

	form := pages.FormOf(c)
	isRead := form.Value("read") != "no"

	in := jobseeker.MarkInput{Read: &isRead}
	if err := s.services.Seekers.MarkNotification(ctx, viewer.Actor(), c.Params("id"), in); err != nil {
		return err
	}

	if next := pages.LocalPath(form.Value("next")); next != "" {
		return c.Redirect(next, fiber.StatusSeeOther)
	}

	return redirect(c, "/account/notifications", "read")
}

func (s *Site) deleteNotification(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.services.Seekers.DeleteNotification(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return err
	}

	return redirect(c, "/account/notifications", "notice-deleted")
}
