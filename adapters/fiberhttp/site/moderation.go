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

// moderationNav are the links of the pages for moderators.
var moderationNav = pages.SubNav{Name: "Moderation", Links: []pages.Link{{Path: "/moderation", Text: "Queue"}, {Path: "/moderation/decided", Text: "Taken down"}}}

// addModeration serves the pages for moderators.
func (s *Site) addModeration(app *fiber.App) {
	s.addStanding(app)
	s.renderer.GetModerator(app, "/moderation", s.cases(listings.CaseOpen))
	s.renderer.GetModerator(app, "/moderation/decided", s.cases(listings.CaseTakenDown))
	s.renderer.GetModerator(app, "/moderation/jobs/:id", s.showCase)
	s.renderer.PostModerator(app, "/moderation/jobs/:id/take-down", s.decide((*listings.Service).TakeDown, "taken-down"))
	s.renderer.PostModerator(app, "/moderation/jobs/:id/restore", s.decide((*listings.Service).Keep, "kept"))
}

// casesView is a page of cases.
type casesView struct {
	State listings.CaseState
	Cases []listings.ModeratedCase
	Total int
	Next  string
}

func (s *Site) cases(state listings.CaseState) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
		r := page.Request{Number: 1, Size: pageSize, Cursor: c.Query("after")}
		found, err := s.services.Listings.Queue(ctx, who.Actor(), listings.CaseFilter{State: state}, r)
		if err != nil {
			return err
		}
		v := casesView{State: state, Cases: found.Items, Total: found.Total}
		if found.NextCursor != "" {
			v.Next = c.Path() + "?after=" + found.NextCursor
		}
		return s.renderer.Render(c, fiber.StatusOK, casesPage, who, v)
	}
}

// caseView is the page of a job for moderators.
type caseView struct {
	listings.CaseDetail
	Facts    []fact
	Text     template.HTML
	JobPath  string
	IsHidden bool
	Form     pages.Form
	// Done is the decision that led to the page, empty for none.
	Done string
}

func (s *Site) caseView(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) (caseView, error) {
	found, err := s.services.Listings.CaseOf(ctx, who.Actor(), c.Params("id"))
	l := found.Listing
	return caseView{CaseDetail: found, Facts: factsOf(l), Text: markdown(l.Description), JobPath: jobPath(l), IsHidden: l.HiddenAt != nil, Done: c.Query("done")}, err
}

func (s *Site) showCase(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	v, err := s.caseView(ctx, c, who)
	if err != nil {
		return s.renderMissing(c, who, err, "Job not found")
	}
	return s.renderer.Render(c, fiber.StatusOK, casePage, who, v)
}

// decide handles the form of a decision.
func (s *Site) decide(do func(*listings.Service, context.Context, auth.Actor, string, listings.DecisionInput) (listings.Listing, error), done string) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
		form := pages.FormOf(c)
		_, err := do(s.services.Listings, ctx, who.Actor(), c.Params("id"), listings.DecisionInput{Message: form.Value("message")})
		if err == nil {
			return c.Redirect("/moderation/jobs/"+c.Params("id")+"?done="+done, fiber.StatusSeeOther)
		}
		if form.Problem = pages.FormProblem(err, ""); form.Problem == nil {
			return s.renderMissing(c, who, err, "Job not found")
		}
		v, err := s.caseView(ctx, c, who)
		if err != nil {
			return err
		}
		v.Form = form
		return s.renderer.Render(c, form.Problem.Status(), casePage, who, v)
	}
}

// ReasonText returns the reason of a report in words.
func (caseView) ReasonText(reason listings.ReportReason) string { return reportTexts[reason] }
