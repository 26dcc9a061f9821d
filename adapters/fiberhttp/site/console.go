package site

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

var (
	employersPage = pages.Parse(files, "html/console-guest.html")
	refusedPage   = pages.Parse(files, "html/console-refused.html")
	overviewPage  = pages.Parse(files, "html/console-overview.html", "html/console-parts.html")
)

// EmployerNav are the links of the employer's console that the viewer may use.
var EmployerNav = pages.SubNav{Name: "Employer console", LinksFor: func(who *pages.Viewer) (out []pages.Link) {
	a := who.Actor()
	if a.RequireMember() != nil {
		return nil
	}
	for _, l := range []struct {
		pages.Link
		p auth.Permission
	}{
		{pages.Link{Path: "/employer", Text: "Overview"}, auth.AnyPermission},
		{pages.Link{Path: "/employer/jobs", Text: "Jobs"}, auth.AnyPermission},
		{pages.Link{Path: "/employer/applications", Text: "Applications"}, auth.ApplicationsView},
		{pages.Link{Path: "/employer/interviews", Text: "Interviews"}, auth.ApplicationsView},
		{pages.Link{Path: "/employer/analytics", Text: "Analytics"}, auth.ApplicationsView},
		{pages.Link{Path: "/employer/exports", Text: "Exports"}, auth.AnyPermission},
		{pages.Link{Path: "/employer/team", Text: "Team"}, auth.AnyPermission},
	} {
		if a.May(l.p) {
			out = append(out, l.Link)
		}
	}
	return append(out, pages.Link{Path: "/employer/organization", Text: "Organization"})
}}

// EmployerNotices are the messages after the forms of the employer's console.
var EmployerNotices = map[string]string{
	"joined":           "You have joined the team.",
	"job-published":    "The job is published.",
	"job-draft":        "The draft is saved. Only your organization can see it.",
	"job-saved":        "The changes are saved.",
	"job-closed":       "The job is closed. Nobody can apply to it any more.",
	"job-archived":     "The job is archived.",
	"job-renewed":      "The job is renewed.",
	"job-restored":     "The job is restored and published.",
	"job-duplicated":   "This is the copy. It is public already; edit it, or close it until it is ready.",
	"jobs-closed":      "The jobs are closed.",
	"jobs-archived":    "The jobs are archived.",
	"jobs-renewed":     "The jobs are renewed for 30 days.",
	"status-changed":   "The status is changed.",
	"status-and-sent":  "The status is changed and the message is on its way.",
	"statuses-changed": "The applications are moved.",
	"message-sent":     "The message is on its way.",
	"interview-set":    "The interview is scheduled. The applicant gets an invitation by mail.",
	"interview-saved":  "The interview is changed.",
	"interview-off":    "The interview is cancelled. The applicant is told by mail.",
	"invited":          "The invitation is on its way.",
	"member-saved":     "The permissions are changed.",
	"member-removed":   "The person is not in the team any more.",
	"organization":     "The organization is changed.",
}

// addConsole serves the employer's console.
func (s *Site) addConsole(app *fiber.App) {
	get := func(path string, p auth.Permission, handle pages.Handler) {
		s.renderer.Get(app, path, s.forMembers(p, handle))
	}
	post := func(path string, p auth.Permission, handle pages.Handler) {
		s.renderer.Post(app, path, s.forMembers(p, handle))
	}
	s.renderer.Public(app, "/employer", s.employerHome)
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
	post("/employer/applications/:id", auth.ApplicationsUpdate, s.changeApplication)
	get("/employer/interviews", auth.ApplicationsView, s.interviews)
	get("/employer/analytics", auth.ApplicationsView, s.analytics)
	get("/employer/exports", auth.AnyPermission, s.exports)
	post("/employer/exports", auth.AnyPermission, s.startExport)
	get("/employer/exports/:id", auth.AnyPermission, s.export)
	get("/employer/team", auth.AnyPermission, s.team)
	post("/employer/team", auth.Manage, s.invite)
	get("/employer/team/:id", auth.AnyPermission, s.member)
	post("/employer/team/:id", auth.Manage, s.changeMember)
	s.renderer.Get(app, "/employer/organization", s.forActors(auth.Actor.RequireMember, s.organization))
	post("/employer/organization", auth.Manage, s.changeOrganization)
}

// forMembers returns the handler for members of an organization with the permission. For
// others, and for what the handler refuses, it renders a page that says why.
func (s *Site) forMembers(p auth.Permission, handle pages.Handler) pages.Handler {
	return s.forActors(func(a auth.Actor) error { return a.Require(p) }, handle)
}

// forActors is forMembers for users whom require does not refuse.
func (s *Site) forActors(require func(auth.Actor) error, handle pages.Handler) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
		err := require(who.Actor())
		if err == nil {
			err = handle(ctx, c, who)
		}
		if fault.KindOf(err) == fault.Forbidden {
			return s.renderRefused(c, who, err)
		}
		return s.renderMissing(c, who, err, "Page not found")
	}
}

// renderRefused renders a page for a user who may not open it.
func (s *Site) renderRefused(c *fiber.Ctx, who *pages.Viewer, err error) error {
	a, text := who.Actor(), "You do not have the permission that this needs. Ask an admin of your organization for it."
	switch {
	case errors.Is(err, auth.ErrEnrollmentRequired):
		text = "Your organization requires two-step sign-in. Set it up for your account first."
	case a.OrganizationID == "" && a.Seeker:
		text = "This page is for employers. You are signed in as a clinician."
	case a.OrganizationID == "":
		text = "You are not a member of an organization. Ask for an invitation, or register with another e-mail address."
	case !a.May(auth.AnyPermission):
		text = "You do not have any permissions in your organization yet. Ask an admin for them."
	}
	return s.renderer.Render(c, fiber.StatusForbidden, refusedPage, who, missing{"You cannot open this page", text})
}

// overviewView is the first page of the console.
type overviewView struct {
	Organization identity.Organization
	Jobs         []count
	Applications []count
	New          []applicationRow
	Interviews   []hiring.View
	MayCreate    bool
	MayView      bool
}

// count is a number with its label and a link to what was counted.
type count struct {
	Value, Label, Path string
	N                  int
	Current            bool
}

const (
	newShown  = 5
	nextShown = 5
	// noStatus is for counts of which none is the list that the page shows.
	noStatus = "none"
)

func (s *Site) employerHome(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	if who == nil {
		return s.renderer.Render(c, fiber.StatusOK, employersPage, who, nil)
	}
	return s.forMembers(auth.AnyPermission, s.overview)(ctx, c, who)
}

func (s *Site) overview(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) (err error) {
	by := who.Actor()
	v := overviewView{MayCreate: by.May(auth.JobsCreate), MayView: by.May(auth.ApplicationsView)}
	if v.Organization, err = s.services.Identity.MyOrganization(ctx, by); err != nil {
		return err
	}
	if v.Jobs, err = s.jobCounts(ctx, by, noStatus); err != nil {
		return err
	}
	if !v.MayView {
		return s.renderer.Render(c, fiber.StatusOK, overviewPage, who, v)
	}
	if v.Applications, err = s.applicationCounts(ctx, by, "", noStatus); err != nil {
		return err
	}
	pending, err := s.services.Hiring.FindReceived(ctx, by, hiring.StatsInput{Status: string(hiring.Pending)}, page.After("", newShown))
	if err != nil {
		return err
	}
	v.New = applicationRows(pending.Items)
	if v.Interviews, err = s.services.Hiring.NextInterviews(ctx, by, nextShown); err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, overviewPage, who, v)
}

// jobCounts counts the organization's jobs by status, with links to the lists.
func (s *Site) jobCounts(ctx context.Context, by auth.Actor, current string) ([]count, error) {
	counts, err := s.services.Listings.CountByStatus(ctx, by.OrganizationID)
	if err != nil {
		return nil, err
	}
	out := []count{{"", "All", "/employer/jobs", 0, current == ""}}
	for _, status := range []listings.Status{listings.Active, listings.Draft, listings.Inactive, listings.Closed, listings.Archived} {
		out[0].N += counts[status]
		out = append(out, count{string(status), jobStates[status], withQuery("/employer/jobs", "status", string(status)), counts[status], current == string(status)})
	}
	return out, nil
}

// applicationCounts counts the applications to the organization's jobs, or to one, by status,
// with links to the lists.
func (s *Site) applicationCounts(ctx context.Context, by auth.Actor, jobID, current string) ([]count, error) {
	counts, err := s.services.Hiring.Stats(ctx, by, hiring.StatsInput{JobID: jobID})
	if err != nil {
		return nil, err
	}
	const path = "/employer/applications"
	out := []count{{"", "All", withQuery(path, "job", jobID), counts.Total(), current == ""}}
	for _, status := range hiring.Statuses {
		out = append(out, count{string(status), stageTexts[status], withQuery(path, "job", jobID, "status", string(status)), counts[status], current == string(status)})
	}
	return out, nil
}

// withQuery returns the path with those parameters, NAME, VALUE, …, whose value is not empty.
func withQuery(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// jobStates are the statuses of jobs in words.
var jobStates = map[listings.Status]string{
	listings.Active: "Published", listings.Draft: "Draft", listings.Inactive: "Paused", listings.Closed: "Closed", listings.Archived: "Archived",
}

// stageTexts are the statuses of applications in words.
var stageTexts = map[hiring.Status]string{
	hiring.Pending: "New", hiring.Review: "In review", hiring.Interview: "Interview", hiring.Accepted: "Accepted", hiring.Rejected: "Rejected", hiring.Withdrawn: "Withdrawn",
}

// statusChoices returns the statuses of applications that an employer sets.
func statusChoices() []pages.Choice {
	var out []pages.Choice
	for _, status := range hiring.Statuses {
		out = append(out, pages.Choice{Value: string(status), Text: stageTexts[status]})
	}
	return out
}

// badge is a short text with a look: good, bad or none.
type badge struct{ Text, Look string }

// stateOf returns the state of a job for its organization.
func stateOf(l listings.Listing, now time.Time) badge {
	switch {
	case l.HiddenAt != nil:
		return badge{"Hidden by an operator", "bad"}
	case l.Status == listings.Active && !l.Public(now):
		return badge{"Expired", "bad"}
	case l.Status == listings.Active:
		return badge{"Published", "good"}
	}
	return badge{cmp.Or(jobStates[l.Status], string(l.Status)), ""}
}

// badgeOf returns the status of an application.
func badgeOf(status hiring.Status) badge {
	b := badge{Text: cmp.Or(stageTexts[status], string(status))}
	switch status {
	case hiring.Accepted:
		b.Look = "good"
	case hiring.Rejected, hiring.Withdrawn:
		b.Look = "bad"
	}
	return b
}

// redirect answers a form that was processed.
func redirect(c *fiber.Ctx, path, done string, pairs ...string) error {
	return c.Redirect(withQuery(path, append(slices.Clone(pairs), "done", done)...), fiber.StatusSeeOther)
}

// problemOf returns the problem of a form, or err if the user cannot correct it.
func problemOf(err error, form string) (*pages.Problem, error) {
	if problem := pages.FormProblem(err, form); problem != nil {
		return problem, nil
	}
	return nil, err
}

// invalid returns a problem of a form that concerns no field.
func invalid(message, form string) *pages.Problem {
	return pages.FormProblem(fault.New(fault.Invalid, "invalid_form", message), form)
}

// lines returns the trimmed lines of a text field that are not empty.
func lines(text string) []string {
	out := []string{}
	for _, line := range splitLines(text) {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}
