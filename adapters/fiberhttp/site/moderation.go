package site

import (
	"context"
	"html/template"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

var (
	casesPage = pages.Parse(files, "html/moderation.html")
	casePage  = pages.Parse(files, "html/moderation-job.html")
)

// moderationNav is the sub-navigation of the pages for moderators.
var moderationNav = pages.SubNav{
	Name:  "Moderation",
	Links: []pages.Link{{Path: "/moderation", Text: "Queue"}, {Path: "/moderation/decided", Text: "Taken down"}},
}

// addModeration registers the pages for moderators. The case of a job collects reports of visitors and suspicions of the
// automatic check. It is in the queue until a moderator decides to take the job down or to keep it. A job that is kept is
// public again.
func (s *Site) addModeration(app *fiber.App) {
	s.addOrganizationModeration(app)
	s.renderer.GetModerator(app, "/moderation", s.listCases(listings.CaseOpen))
	s.renderer.GetModerator(app, "/moderation/decided", s.listCases(listings.CaseTakenDown))
	s.renderer.GetModerator(app, "/moderation/jobs/:id", s.showCase)
	s.renderer.PostModerator(app, "/moderation/jobs/:id/take-down", s.decideCase((*listings.Service).TakeDown, "taken-down"))
	s.renderer.PostModerator(app, "/moderation/jobs/:id/restore", s.decideCase((*listings.Service).Keep, "kept"))
}

// casesView is a page of the list of cases in a state. Total is the number of cases on all pages, and Next the path of the
// next page, empty on the last one.
type casesView struct {
	State listings.CaseState
	Cases []listings.ModeratedCase
	Total int
	Next  string
}

// listCases returns the handler of the page that lists the cases in the state.
func (s *Site) listCases(state listings.CaseState) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		filter := listings.CaseFilter{State: state}
		request := page.Request{Number: 1, Size: pageSize, Cursor: c.Query("after")}

		cases, err := s.services.Listings.Queue(ctx, viewer.Actor(), filter, request)
		if err != nil {
			return err
		}

		v := casesView{State: state, Cases: cases.Items, Total: cases.Total}
		if cases.NextCursor != "" {
			v.Next = c.Path() + "?after=" + cases.NextCursor
		}

		return s.renderer.Render(c, fiber.StatusOK, casesPage, viewer, v)
	}
}

// caseView is the page of one case: the job, its reports and the form for the decision.
type caseView struct {
	listings.CaseDetail
	Facts []fact
	// Text is the description of the job.
	Text    template.HTML
	JobPath string
	// IsHidden is set if the job is not public, because a moderator has taken it down or a decision is awaited.
	IsHidden bool
	Form     pages.Form
	// Done is the decision that led to the page, empty for none.
	Done string
}

// loadCase collects what the page of a case shows.
func (s *Site) loadCase(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (caseView, error) {
	detail, err := s.services.Listings.GetCase(ctx, viewer.Actor(), c.Params("id"))
	job := detail.Listing

	return caseView{
		CaseDetail: detail,
		Facts:      jobFacts(job),
		Text:       markdown(job.Description),
		JobPath:    jobPath(job),
		IsHidden:   job.HiddenAt != nil,
		Done:       c.Query("done"),
	}, err
}

func (s *Site) showCase(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadCase(ctx, c, viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}

	return s.renderer.Render(c, fiber.StatusOK, casePage, viewer, v)
}

// decideCase returns the handler of a form that decides about a job. apply is the method that takes the job down or
// restores it. The user is redirected to the page of the case with decision as a query parameter, so that the page confirms
// it.
func (s *Site) decideCase(
	apply func(*listings.Service, context.Context, auth.Actor, string, listings.DecisionInput) (listings.Listing, error),
	decision string,
) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		form, jobID := pages.FormOf(c), c.Params("id")
		in := listings.DecisionInput{Message: form.Value("message")}

		_, err := apply(s.services.Listings, ctx, viewer.Actor(), jobID, in)
		if err == nil {
			return c.Redirect("/moderation/jobs/"+jobID+"?done="+decision, fiber.StatusSeeOther)
		}

		form.Problem = pages.FormProblem(err, noFormName)
		if form.Problem == nil {
			return s.renderMissing(c, viewer, err, "Job not found")
		}

		v, err := s.loadCase(ctx, c, viewer)
		if err != nil {
			return err
		}

		v.Form = form

		return s.renderer.Render(c, form.Problem.Status(), casePage, viewer, v)
	}
}

// ReasonText returns the text for the reason of a report.
func (caseView) ReasonText(reason listings.ReportReason) string { return reportTexts[reason] }
