package site

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
)

var (
	employersPage    = pages.Parse(files, "html/console-guest.html")
	accessDeniedPage = pages.Parse(files, "html/console-refused.html")
	overviewPage     = pages.Parse(files, "html/console-overview.html", "html/console-parts.html")
)

// EmployerNav is the sub-navigation of the employer console.
var EmployerNav = pages.SubNav{Name: "Employer console", LinksFor: employerLinks}

// employerLinks returns the links of the console that the viewer has the permission for. The last two pages are open to
// every member. A viewer who is not a member of an organization gets no links.
func employerLinks(viewer *pages.Viewer) (links []pages.Link) {
	actor := viewer.Actor()
	if actor.RequireMember() != nil {
		return nil
	}

	for _, restricted := range []struct {
		pages.Link
		permission auth.Permission
	}{
		{pages.Link{Path: "/employer", Text: "Overview"}, auth.AnyPermission},
		{pages.Link{Path: "/employer/jobs", Text: "Jobs"}, auth.AnyPermission},
		{pages.Link{Path: "/employer/applications", Text: "Applications"}, auth.ApplicationsView},
		{pages.Link{Path: "/employer/interviews", Text: "Interviews"}, auth.ApplicationsView},
		{pages.Link{Path: "/employer/analytics", Text: "Analytics"}, auth.ApplicationsView},
		{pages.Link{Path: "/employer/exports", Text: "Exports"}, auth.AnyPermission},
		{pages.Link{Path: "/employer/team", Text: "Team"}, auth.AnyPermission},
	} {
		if actor.May(restricted.permission) {
			links = append(links, restricted.Link)
		}
	}

	return append(
		links,
		pages.Link{Path: "/employer/organization", Text: "Organization"},
		pages.Link{Path: "/employer/settings", Text: "Settings"},
	)
}

// EmployerNotices maps keys to the messages that a page of the employer's console shows after a form. The function
// redirect passes the key to the page in the query parameter done.
var EmployerNotices = map[string]string{
	"joined":               "You have joined the team.",
	"job-published":        "The job is published.",
	"job-waiting":          "The job becomes public when our moderators have approved it.",
	"job-draft":            "The draft is saved. Only your organization can see it.",
	"job-saved":            "The changes are saved.",
	"job-paused":           "The job is paused. It is not public, and takes no applications.",
	"job-closed":           "The job is closed and takes no more applications.",
	"job-archived":         "The job is archived.",
	"job-renewed":          "The job is renewed.",
	"job-restored":         "The job is restored.",
	"job-duplicated":       "This is the copy, a draft that only your organization can see. Edit it, and publish it when it is ready.",
	"jobs-closed":          "The jobs are closed.",
	"jobs-archived":        "The jobs are archived.",
	"jobs-renewed":         "The jobs are renewed for 30 days.",
	"status-changed":       "The status is changed.",
	"status-and-sent":      "The status is changed and the message is on its way.",
	"statuses-changed":     "The applications are moved.",
	"message-sent":         "The message is on its way.",
	"interview-set":        "The interview is scheduled. The applicant gets an invitation by e-mail.",
	"interview-moved":      "The interview is scheduled and the application moved to the interview stage. The applicant gets e-mails about both.",
	"interview-saved":      "The interview is changed.",
	"interview-done":       "The result of the interview is recorded.",
	"interview-off":        "The interview is cancelled. The applicant is notified by e-mail.",
	"note-written":         "The note is saved.",
	"note-deleted":         "The note is deleted.",
	"rated":                "Your rating is saved.",
	"rating-removed":       "Your rating is removed.",
	"invited":              "The invitation is on its way.",
	"role-changed":         "The role is changed, and the permissions are those of the new role.",
	"member-saved":         "The permissions are changed.",
	"invitation-withdrawn": "The invitation is withdrawn. Its link no longer works.",
	"member-removed":       "The person is not in the team any more.",
	"organization":         "The organization is changed.",
	"left":                 "You have left the organization.",
}

// addConsole registers the pages of the employer console, each with the permission that it requires. Forms with several
// buttons require only what opens their page: the modules check the permission for each action.
func (s *Site) addConsole(app *fiber.App) {
	get := func(path string, required auth.Permission, handle pages.Handler) {
		s.renderer.Get(app, path, s.requirePermission(required, handle))
	}
	post := func(path string, required auth.Permission, handle pages.Handler) {
		s.renderer.Post(app, path, s.requirePermission(required, handle))
	}

	s.renderer.Public(app, "/employer", s.employerHome) // also for guests
	get("/employer/jobs", auth.AnyPermission, s.ownJobs)
	post("/employer/jobs", auth.JobsUpdate, s.changeJobs)
	get("/employer/jobs/new", auth.JobsCreate, s.newPosting)
	post("/employer/jobs/new", auth.JobsCreate, s.submitPosting)
	get("/employer/jobs/:id", auth.AnyPermission, s.ownJob)
	post("/employer/jobs/:id", auth.AnyPermission, s.changeJob)
	get("/employer/jobs/:id/preview", auth.AnyPermission, s.previewJob)
	get("/employer/jobs/:id/edit", auth.JobsUpdate, s.editPosting)
	post("/employer/jobs/:id/edit", auth.JobsUpdate, s.submitPosting)
	get("/employer/applications", auth.ApplicationsView, s.applications)
	post("/employer/applications", auth.ApplicationsUpdate, s.moveApplications(s.showApplications))
	get("/employer/applications/board", auth.ApplicationsView, s.board)
	post("/employer/applications/board", auth.ApplicationsUpdate, s.moveApplications(s.showBoard))
	get("/employer/applications/:id", auth.ApplicationsView, s.application)
	post("/employer/applications/:id", auth.ApplicationsView, s.changeApplication)
	get("/employer/applications/:id/documents/:documentId", auth.ApplicationsView, s.applicationDocument)
	get("/employer/interviews", auth.ApplicationsView, s.interviews)
	get("/employer/analytics", auth.ApplicationsView, s.analytics)
	get("/employer/exports", auth.AnyPermission, s.exports)
	post("/employer/exports", auth.AnyPermission, s.startExport)
	get("/employer/exports/:id", auth.AnyPermission, s.export)
	get("/employer/team", auth.AnyPermission, s.team)
	post("/employer/team", auth.Manage, s.invite)
	get("/employer/audit", auth.Manage, s.auditLog)
	get("/employer/team/:id", auth.AnyPermission, s.member)
	post("/employer/team/:id", auth.Manage, s.changeMember)
	post("/employer/organization", auth.Manage, s.changeOrganization)

	// Members without any permission, and employers whose organization is closed, can open these pages.
	s.renderer.Get(app, "/employer/organization", s.requireActor(auth.Actor.RequireMember, s.organization))
	s.renderer.Get(app, "/employer/settings", s.requireActor(auth.Actor.RequireEmployer, s.employerSettings))
	s.renderer.Post(app, "/employer/settings/:section", s.requireActor(auth.Actor.RequireEmployer, s.saveEmployerSettings))
}

// requirePermission returns a handler that calls handle for members of an organization with
// the permission. If the permission is missing, or handle returns a fault.Forbidden, the user
// gets a page with the reason.
func (s *Site) requirePermission(required auth.Permission, handle pages.Handler) pages.Handler {
	return s.requireActor(func(actor auth.Actor) error { return actor.Require(required) }, handle)
}

// requireActor returns a handler that calls handle if require returns nil for the actor, the signed-in user. Errors of
// require and of handle become pages: a fault.Forbidden a page with the reason (status 403), and a fault.NotFound the page
// "Page not found" (status 404). All other errors are returned.
func (s *Site) requireActor(require func(auth.Actor) error, handle pages.Handler) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		handleIfAllowed := func() error {
			if err := require(viewer.Actor()); err != nil {
				return err
			}

			return handle(ctx, c, viewer)
		}

		err := handleIfAllowed()
		if fault.KindOf(err) == fault.Forbidden {
			return s.renderAccessDenied(c, viewer, err)
		}

		// For any other result than fault.NotFound, renderMissing returns err unchanged.
		return s.renderMissing(c, viewer, err, "Page not found")
	}
}

// renderAccessDenied renders a page that explains why the user may not open the requested one. The first reason that
// applies is shown, because it must be removed before the next one matters.
func (s *Site) renderAccessDenied(c *fiber.Ctx, viewer *pages.Viewer, err error) error {
	actor := viewer.Actor()

	text := "You do not have the permission that this needs. Ask an admin of your organization for it."
	switch {
	case errors.Is(err, auth.ErrEnrollmentRequired):
		text = "Your organization requires two-step sign-in. Set it up for your account first."
	case actor.OrganizationID == "" && actor.Seeker:
		text = "This page is for employers. You are signed in as a clinician."
	case actor.OrganizationID == "":
		text = "You are not a member of an organization. Ask for an invitation, or register with another e-mail address."
	case !actor.May(auth.AnyPermission):
		text = "You do not have any permissions in your organization yet. Ask an admin for them."
	}

	return s.renderer.Render(c, fiber.StatusForbidden, accessDeniedPage, viewer, missingView{Title: "You cannot open this page", Text: text})
}

// overviewView is the first page of the employer console.
type overviewView struct {
	Organization identity.Organization
	Jobs         []countLink // by state
	MayCreate    bool        // the viewer may post jobs
	MayView      bool        // the viewer may see applications, and the fields below are set

	Applications []countLink      // by status
	New          []applicationRow // the newest ones without a decision
	Interviews   []hiring.View    // the next ones
}

// countLink is a count with its label and a link to the list of what was counted. Some pages show only the link.
type countLink struct {
	Value   string // the status that was counted, empty for all
	Label   string
	Path    string
	N       int  // the count
	Current bool // the page shows this list
}

const (
	maxNewApplications = 5
	maxNextInterviews  = 5
	// noStatus is no status of jobs or applications. As the current status, it makes jobCounts and applicationCounts
	// mark none of their links, for pages that show none of the lists.
	noStatus = "none"
)

// employerHome shows the first page below /employer. For guests, this page presents what the service offers to
// employers. For members of an organization, it is the overview of their console.
func (s *Site) employerHome(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if viewer == nil {
		return s.renderer.Render(c, fiber.StatusOK, employersPage, viewer, nil)
	}

	return s.requirePermission(auth.AnyPermission, s.overview)(ctx, c, viewer)
}

// overview shows the counts of jobs. To viewers who may see applications, it also shows the counts of applications,
// the newest applications and the next interviews.
func (s *Site) overview(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (err error) {
	actor := viewer.Actor()

	v := overviewView{MayCreate: actor.May(auth.JobsCreate), MayView: actor.May(auth.ApplicationsView)}
	if v.Organization, err = s.services.Identity.MyOrganization(ctx, actor); err != nil {
		return err
	}

	if v.Jobs, err = s.jobCounts(ctx, actor, noStatus); err != nil {
		return err
	}

	if !v.MayView {
		return s.renderer.Render(c, fiber.StatusOK, overviewPage, viewer, v)
	}

	if v.Applications, err = s.applicationCounts(ctx, actor, allJobs, noStatus); err != nil {
		return err
	}

	pending, err := s.services.Hiring.FindReceived(ctx, actor,
		hiring.StatsInput{Status: string(hiring.Pending)}, page.After("", maxNewApplications))
	if err != nil {
		return err
	}

	v.New = applicationRows(pending.Items)
	if v.Interviews, err = s.services.Hiring.NextInterviews(ctx, actor, maxNextInterviews); err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, overviewPage, viewer, v)
}

// allJobs is the jobID argument of applicationCounts for all jobs of the organization.
const allJobs = ""

// applicationCounts counts the applications to a job, or to all jobs of the organization for allJobs. It returns a link
// to the list of all these applications, and after it a link to the list of each status. The link for the status
// current, which is empty for all, is marked as the current one.
func (s *Site) applicationCounts(ctx context.Context, actor auth.Actor, jobID, current string) ([]countLink, error) {
	counts, err := s.services.Hiring.Stats(ctx, actor, hiring.StatsInput{JobID: jobID})
	if err != nil {
		return nil, err
	}

	const path = "/employer/applications"

	links := []countLink{{Value: "", Label: "All", Path: withQuery(path, "job", jobID), N: counts.Total(), Current: current == ""}}
	for _, status := range hiring.Statuses {
		links = append(
			links,
			countLink{
				Value:   string(status),
				Label:   stageTexts[status],
				Path:    withQuery(path, "job", jobID, "status", string(status)),
				N:       counts[status],
				Current: current == string(status),
			},
		)
	}

	return links, nil
}

// withQuery returns the path with query parameters. pairs are the name of each parameter followed by its value. Parameters
// with an empty value are left out.
func withQuery(path string, pairs ...string) string {
	values := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if name, value := pair[0], pair[1]; value != "" {
			values.Set(name, value)
		}
	}

	if len(values) == 0 {
		return path
	}

	return path + "?" + values.Encode()
}

// stageTexts maps the statuses of applications to the texts that employers see.
var stageTexts = map[hiring.Status]string{
	hiring.Pending:      "New",
	hiring.Review:       "In review",
	hiring.Interviewing: "Interview",
	hiring.Accepted:     "Accepted",
	hiring.Rejected:     "Rejected",
	hiring.Withdrawn:    "Withdrawn",
}

// statusChoices returns the statuses that an employer can give an application.
func statusChoices() []pages.Choice {
	var choices []pages.Choice
	for _, status := range hiring.Statuses {
		choices = append(choices, pages.Choice{Value: string(status), Text: stageTexts[status]})
	}

	return choices
}

// badge is a short text in a colour. Look is the CSS class: good, bad or empty.
type badge struct{ Text, Look string }

// applicationBadge returns the badge for the status of an application.
func applicationBadge(status hiring.Status) badge {
	b := badge{Text: cmp.Or(stageTexts[status], string(status))}
	switch status {
	case hiring.Accepted:
		b.Look = "good"
	case hiring.Rejected, hiring.Withdrawn:
		b.Look = "bad"
	}

	return b
}

// redirect answers a form with a redirect to the next page. notice selects the message that the next page shows. It
// is a key of the messages of that part of the site, such as EmployerNotices. An empty notice selects no message.
// pairs are further query parameters, each name followed by its value.
func redirect(c *fiber.Ctx, path, notice string, pairs ...string) error {
	parameters := append(slices.Clone(pairs), "done", notice)
	return c.Redirect(withQuery(path, parameters...), fiber.StatusSeeOther)
}

// noFormName is the name of a form whose problems need no name. The page has only one form, or it shows the problems
// of all its forms in one place.
const noFormName = ""

// formProblem separates errors that the user can correct from all others. It returns an error of the first kind as the
// problem that the form shows, and any other error unchanged. Both results are nil if err is nil.
func formProblem(err error, formName string) (*pages.Problem, error) {
	if problem := pages.FormProblem(err, formName); problem != nil {
		return problem, nil
	}

	return nil, err
}

// newFormProblem returns a problem of a form as a whole rather than of a field.
func newFormProblem(message, formName string) *pages.Problem {
	return pages.FormProblem(fault.New(fault.Invalid, "invalid_form", message), formName)
}

// nonEmptyLines returns the trimmed lines of a text field that are not empty.
func nonEmptyLines(text string) []string {
	lines := []string{} // not nil: an empty list clears the value
	for _, line := range splitLines(text) {
		if line != "" {
			lines = append(lines, line)
		}
	}

	return lines
}
