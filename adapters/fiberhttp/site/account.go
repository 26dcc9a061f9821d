package site

import (
	"context"
	"errors"
	"html/template"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
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

// AccountNotices are the messages that pages of a clinician's account show after a form was handled. The redirect
// to the page names the message by its key.
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

// addAccount registers the pages of a clinician's account. Forms are registered with post, and forms that may contain a
// file with upload.
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
					Title: "This page is for clinicians",
					Text:  "You are signed in as an employer. Sign out, and register as a clinician, to apply for jobs.",
				},
			)
		}

		return s.renderMissing(c, viewer, handle(ctx, c, viewer), "Page not found")
	}
}

// renderProblem shows the page again, with err as the problem of its form. It sets form.Problem, and then calls newView,
// which returns the data of the page. It returns err if the user cannot correct it. The field "form" of a page with
// several forms names the form that was sent.
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

	view, err := newView()
	if err != nil {
		return err
	}

	return s.renderer.Render(c, form.Problem.Status(), page, viewer, view)
}

// trimFieldPrefix removes the prefix from the field names in an error about invalid fields. Modules name fields as the
// API does, such as "profile.name", and the form has the shorter name "name". Other errors are returned unchanged.
func trimFieldPrefix(err error, prefix string) error {
	var invalid *fault.Error
	if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
		return err
	}

	fields := make([]fault.Field, len(invalid.Fields))
	for i, field := range invalid.Fields {
		fields[i] = fault.Field{Name: strings.TrimPrefix(field.Name, prefix), Message: field.Message}
	}

	return invalid.WithFields(fields...)
}

// sendFile sends a file as a download. A file that a user uploaded may contain scripts, so its headers keep browsers from
// displaying or executing it.
func sendFile(c *fiber.Ctx, file web.File) error {
	c.Set(fiber.HeaderContentType, file.MediaType)
	c.Set(fiber.HeaderContentDisposition, file.Disposition())
	c.Set(fiber.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")

	return c.SendStream(file.Body, int(file.Size))
}

// myStep is a step of the onboarding, the guide through the first steps on the site, with a link to the page where the
// user completes it.
type myStep struct {
	jobseeker.Step
	Text, Path string
	IsDone     bool
	IsSkipped  bool
}

// stepLink is the text of an onboarding step and the path of the page on which the user completes it.
type stepLink struct{ text, path string }

// stepLinks has the text and the page of each onboarding step, by the name of the step.
var stepLinks = map[string]stepLink{
	"account":           {"Create an account", ""}, // no page: a signed-in user has an account
	"profile":           {"Say what you do", "/account/profile"},
	"preferences":       {"Say what you look for", "/account/profile#preferredLocation"},
	"documents":         {"Add your CV", "/account/documents"},
	"first-search":      {"Save a search", "/account/searches#new"},
	"first-application": {"Apply for a job", "/jobs"},
}

// myOverview is the first page of a clinician's account.
type myOverview struct {
	Name  string
	Steps []myStep
	// Done is the number of completed steps.
	Done int
	// IsComplete is set if no step is left to do.
	IsComplete bool
	// Applications counts the applications that are not withdrawn. Pending counts the ones among them whose
	// status is "Sent".
	Applications int
	Pending      int
	// Saved counts the saved jobs, and Searches the saved searches.
	Saved         int
	Searches      int
	Notifications []notificationRow
	Latest        []myApplicationRow
}

// The maximum numbers of notifications and applications on the overview, which shows the newest
// ones.
const (
	overviewNotifications = 5
	overviewApplications  = 3
)

// account shows the overview: the steps of the onboarding, the counts, and the newest notifications and applications.
func (s *Site) account(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor, seekers := viewer.Actor(), s.services.Seekers
	v := myOverview{Name: viewer.User.Name}

	onboarding, _, err := seekers.MyOnboarding(ctx, actor, noGuestSecret)
	if err != nil {
		return err
	}

	v.IsComplete = onboarding.Complete
	v.setSteps(onboarding.Steps)

	if err := s.countMine(ctx, actor, &v); err != nil {
		return err
	}

	notifications, err := seekers.MyNotifications(ctx, actor, page.Request{Number: 1, Size: overviewNotifications})
	if err != nil {
		return err
	}

	v.Notifications = web.Each(notifications.Items, newNotificationRow)

	applications, err := s.services.Hiring.MyApplications(ctx, actor, page.Request{Number: 1, Size: overviewApplications})
	if err != nil {
		return err
	}

	v.Latest = web.Each(applications.Items, newMyApplicationRow)

	return s.renderer.Render(c, fiber.StatusOK, myOverviewPage, viewer, v)
}

// setSteps sets the onboarding steps and counts those that are done. Steps without a text are left out: another client
// of the API has added them.
func (v *myOverview) setSteps(steps []jobseeker.Step) {
	for _, step := range steps {
		link, hasText := stepLinks[step.Step]
		if !hasText {
			continue
		}

		status := step.Status()
		if status == jobseeker.StepCompleted {
			v.Done++
		}

		v.Steps = append(v.Steps, myStep{
			Step:      step,
			Text:      link.text,
			Path:      link.path,
			IsDone:    status == jobseeker.StepCompleted,
			IsSkipped: status == jobseeker.StepSkipped,
		})
	}
}

// countMine sets the counts of the actor's applications, saved jobs and saved searches.
func (s *Site) countMine(ctx context.Context, actor auth.Actor, v *myOverview) (err error) {
	if v.Applications, v.Pending, err = s.services.Hiring.ApplicantStats(ctx, actor.UserID); err != nil {
		return err
	}

	if v.Saved, err = s.services.Seekers.CountSaved(ctx, actor.UserID); err != nil {
		return err
	}

	searches, err := s.services.Seekers.MySearches(ctx, actor)
	v.Searches = len(searches)

	return err
}

// noGuestSecret is passed for signed-in users. The onboarding of a guest is found by a secret in the guest's browser.
const noGuestSecret = ""

// skipStep marks a step of the onboarding as skipped.
func (s *Site) skipStep(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.renderer.TakeLimit(ctx, c, onboardingOperation); err != nil {
		return err
	}

	in := jobseeker.OnboardingInput{Action: "track_step", Step: c.Params("step"), ActionType: "skipped"}
	if _, err := s.services.Seekers.Onboard(ctx, viewer.Actor(), noGuestSecret, in); err != nil {
		return err
	}

	return redirect(c, "/account", "step-skipped")
}
