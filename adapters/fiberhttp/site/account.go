package site

import (
	"context"
	"errors"
	"html/template"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

var myOverviewPage = pages.Parse(files, "html/account.html", "html/account-parts.html")

// AccountNav are the links of a clinician's account.
var AccountNav = pages.SubNav{Name: "My account", Links: []pages.Link{
	{Path: "/account", Text: "Overview"},
	{Path: "/account/applications", Text: "Applications"},
	{Path: "/account/documents", Text: "Documents"},
	{Path: "/account/saved", Text: "Saved"},
	{Path: "/account/searches", Text: "Searches"},
	{Path: "/account/notifications", Text: "Notifications"},
	{Path: "/account/profile", Text: "Profile"},
	{Path: "/account/settings", Text: "Settings"},
}}

// AccountNotices are the messages after the forms of a clinician's account.
var AccountNotices = map[string]string{
	"withdrawn":          "Your application is withdrawn. Documents that you sent with it are deleted.",
	"document-added":     "The document is uploaded.",
	"document-changed":   "The document is changed.",
	"document-deleted":   "The document is deleted.",
	"job-kept":           "The job is saved.",
	"job-removed":        "The job is removed from your saved jobs.",
	"note-saved":         "Your note is saved.",
	"search-saved":       "The search is saved.",
	"search-known":       "You have saved this search already.",
	"search-deleted":     "The search is deleted.",
	"alerts-on":          "You will get an e-mail when there are new jobs, at most once a day.",
	"alerts-off":         "You will not get e-mails about this search any more.",
	"read":               "The notification is marked.",
	"notice-deleted":     "The notification is deleted.",
	"step-skipped":       "The step is skipped. You can still do it at any time.",
	"profile-saved":      "Your profile is saved.",
	"preferences-saved":  "Your choices are saved.",
	"password-changed":   "Your password is changed, and all other devices are signed out.",
	"email-requested":    "Open the link in the e-mail that we have sent to the new address. Until then we use your current address.",
	"account-deleted":    "Your account is deleted.",
	"session-ended":      "The device is signed out.",
	"sessions-ended":     "All other devices are signed out.",
	"application-change": "You can change your application before you send it.",
}

// addAccount registers the pages of a clinician's account.
func (s *Site) addAccount(app *fiber.App) {
	get := func(path string, handle pages.Handler) { s.renderer.Get(app, path, s.requireClinician(handle)) }
	post := func(path string, handle pages.Handler) { s.renderer.Post(app, path, s.requireClinician(handle)) }
	upload := func(path string, handle pages.Handler) {
		s.renderer.PostFiles(app, path, s.requireClinician(handle))
	}

	get("/jobs/:id/apply", s.newApplication)
	upload("/jobs/:id/apply", s.submitApplication)
	post("/jobs/:id/save", s.saveJob)
	get("/account", s.account)
	post("/account/steps/:step", s.skipStep)
	get("/account/applications", s.myApplications)
	get("/account/applications/:id", s.myApplication)
	get("/account/applications/:id/sent", s.sentApplication)
	get("/account/applications/:id/interview.ics", s.myInterview)
	get("/account/applications/:id/documents/:documentId", s.mySentDocument)
	post("/account/applications/:id/withdraw", s.withdrawApplication)
	get("/account/documents", s.myDocuments)
	upload("/account/documents", s.addDocument)
	get("/account/documents/:id", s.myDocument)
	upload("/account/documents/:id", s.changeDocument)
	get("/account/documents/:id/file", s.myDocumentFile)
	post("/account/documents/:id/default", s.setDefaultDocument)
	post("/account/documents/:id/delete", s.deleteDocument)
	get("/account/saved", s.myJobs)
	post("/account/saved/:id/note", s.saveJobNote)
	post("/account/saved/:id/remove", s.removeSavedJob)
	get("/account/searches", s.mySearches)
	post("/account/searches", s.saveSearch)
	post("/account/searches/:id/alerts", s.setAlerts)
	post("/account/searches/:id/delete", s.deleteSearch)
	get("/account/notifications", s.myNotifications)
	post("/account/notifications/:id/read", s.readNotification)
	post("/account/notifications/:id/delete", s.deleteNotification)
	get("/account/profile", s.myProfile)
	post("/account/profile", s.saveProfile)
	get("/account/settings", s.mySettings)
	post("/account/settings/:section", s.saveSettings)
	get("/account/export/:kind", s.myExport)
}

// requireClinician returns a handler that calls handle for clinicians. Employers get a page
// with status 403. If handle returns a fault.NotFound, the user gets a page with status 404.
func (s *Site) requireClinician(handle pages.Handler) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		if !viewer.Actor().Seeker {
			return s.renderer.Render(
				c,
				fiber.StatusForbidden,
				missingPage,
				viewer,
				missingView{
					"This page is for clinicians",
					"You are signed in as an employer. Sign out, and register as a clinician, to apply for jobs.",
				},
			)
		}

		return s.renderMissing(c, viewer, handle(ctx, c, viewer), "Page not found")
	}
}

// renderProblem renders the page again with the problem of its form. newView is called after
// the problem is set. Errors that the user cannot correct are returned.
func (s *Site) renderProblem(
	c *fiber.Ctx,
	page *template.Template,
	viewer *pages.Viewer,
	form *pages.Form,
	err error,
	newView func() (any, error),
) error {
	form.Problem = pages.FormProblem(err, form.Value("form"))
	if form.Problem == nil {
		return err
	}

	v, err := newView()
	if err != nil {
		return err
	}

	return s.renderer.Render(c, form.Problem.Status(), page, viewer, v)
}

// trimFieldPrefix removes the prefix from the names of the fields of a fault, for forms
// whose fields have shorter names than those of the API.
func trimFieldPrefix(err error, prefix string) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return err
	}

	fields := make([]fault.Field, len(f.Fields))
	for i, field := range f.Fields {
		fields[i] = fault.Field{Name: strings.TrimPrefix(field.Name, prefix), Message: field.Message}
	}

	return f.WithFields(fields...)
}

// sendFile sends a file that a user uploaded. Its headers make browsers save the file, and
// neither display nor execute it.
func sendFile(c *fiber.Ctx, f web.File) error {
	c.Set(fiber.HeaderContentType, f.MediaType)
	c.Set(fiber.HeaderContentDisposition, f.Disposition())
	c.Set(fiber.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")

	return c.SendStream(f.Body, int(f.Size))
}

// myStep is a step of the onboarding, the guide through the first steps on the site, with a link to the page where the
// user completes it.
type myStep struct {
	jobseeker.Step
	Text, Path string
	IsDone     bool
	IsSkipped  bool
}

// stepTexts maps each onboarding step to its text and the path of its page.
var stepTexts = map[string][2]string{
	"account":           {"Create an account", ""},
	"profile":           {"Say what you do", "/account/profile"},
	"preferences":       {"Say what you look for", "/account/profile#preferredLocation"},
	"documents":         {"Add your CV", "/account/documents"},
	"first-search":      {"Save a search", "/account/searches#new"},
	"first-application": {"Apply for a job", "/jobs"},
}

// myOverview is the first page of a clinician's account.
type myOverview struct {
	Name          string
	Steps         []myStep
	Done          int
	IsComplete    bool
	Applications  int
	Pending       int
	Saved         int
	Searches      int
	Notifications []notificationRow
	Latest        []myApplicationRow
}

// The numbers of notifications and applications on the overview.
const (
	overviewNotifications = 5
	overviewApplications  = 3
)

// account shows the overview: the steps of the onboarding, the counts and the newest
// notifications.
func (s *Site) account(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor, seekers := viewer.Actor(), s.services.Seekers
	v := myOverview{Name: viewer.User.Name}

	const noGuest = "" // the viewer is signed in, and needs no secret of a guest

	onboarding, _, err := seekers.MyOnboarding(ctx, actor, noGuest)
	if err != nil {
		return err
	}

	v.IsComplete = onboarding.Complete
	for _, step := range onboarding.Steps {
		text, isKnown := stepTexts[step.Step]
		if !isKnown { // a step that another client has added
			continue
		}

		m := myStep{
			Step:      step,
			Text:      text[0],
			Path:      text[1],
			IsDone:    step.Status() == jobseeker.StepCompleted,
			IsSkipped: step.Status() == jobseeker.StepSkipped,
		}
		if m.IsDone {
			v.Done++
		}

		v.Steps = append(v.Steps, m)
	}

	// The counts "at a glance".
	if v.Applications, v.Pending, err = s.services.Hiring.ApplicantStats(ctx, actor.UserID); err != nil {
		return err
	}

	if v.Saved, err = seekers.SavedCount(ctx, actor.UserID); err != nil {
		return err
	}

	searches, err := seekers.MySearches(ctx, actor)
	if err != nil {
		return err
	}

	v.Searches = len(searches)

	notifications, err := seekers.MyNotifications(ctx, actor, page.Request{Number: 1, Size: overviewNotifications})
	if err != nil {
		return err
	}

	v.Notifications = web.Each(notifications.Items, newNotificationRow)

	applications, err := s.services.Hiring.Mine(ctx, actor, page.Request{Number: 1, Size: overviewApplications})
	if err != nil {
		return err
	}

	v.Latest = web.Each(applications.Items, newMyApplicationRow)

	return s.renderer.Render(c, fiber.StatusOK, myOverviewPage, viewer, v)
}

// skipStep skips a step of the onboarding.
func (s *Site) skipStep(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.renderer.TakeLimit(ctx, c, onboardingOperation); err != nil {
		return err
	}

	in := jobseeker.OnboardingInput{Action: "track_step", Step: c.Params("step"), ActionType: "skipped"}
	if _, err := s.services.Seekers.Onboard(ctx, viewer.Actor(), "", in); err != nil {
		return err
	}

	return redirect(c, "/account", "step-skipped")
}
