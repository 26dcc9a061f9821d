package site

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/listings"
)

var reportPage = pages.Parse(files, "html/report.html")

// addReports registers the form with which visitors report a job to the moderators.
func (s *Site) addReports(app *fiber.App) {
	s.renderer.Public(app, "/jobs/:id/report", s.showReport)
	s.renderer.PublicPost(app, "/jobs/:id/report", s.report)
}

// reportView is the form for a report of a job.
type reportView struct {
	Title, Company, Path string
	Form                 pages.Form
	IsDone               bool
}

func (s *Site) reportView(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (reportView, error) {
	l, err := s.services.Listings.Detail(ctx, actorOf(viewer), c.Params("id"))
	return reportView{Title: l.Title, Company: l.Company, Path: jobPath(l), IsDone: c.Query("done") != ""}, err
}

func (s *Site) showReport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.reportView(ctx, c, viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}
	return s.renderer.Render(c, fiber.StatusOK, reportPage, viewer, v)
}

func (s *Site) report(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.reportView(ctx, c, viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}
	v.Form = pages.FormOf(c)
	if err = s.renderer.TakeLimit(ctx, c, reportJobOperation); err == nil {
		in := listings.ReportInput{Reason: v.Form.Value("reason"), Text: v.Form.Value("text"), Email: v.Form.Value("email")}
		err = s.services.Listings.ReportJob(ctx, actorOf(viewer), c.Params("id"), in)
	}
	switch {
	case err == nil:
		return c.Redirect(c.Path()+"?done=reported", fiber.StatusSeeOther)
	case fault.KindOf(err) == fault.NotFound:
		return s.renderMissing(c, viewer, err, "Job not found")
	}
	if v.Form.Problem = pages.FormProblem(err, ""); v.Form.Problem == nil {
		return err
	}
	return s.renderer.Render(c, v.Form.Problem.Status(), reportPage, viewer, v)
}

// reportTexts maps the reasons for a report to their texts.
var reportTexts = map[listings.ReportReason]string{
	listings.ReportFraud:          "It looks like a scam or a false employer",
	listings.ReportFees:           "It asks applicants for money",
	listings.ReportMisleading:     "Its description is wrong or misleading",
	listings.ReportDiscrimination: "It discriminates against people",
	listings.ReportFilled:         "The job is filled or does not exist",
	listings.ReportOther:          "Something else",
}

// Reasons returns the reasons that a visitor can choose from.
func (reportView) Reasons() (out []pages.Choice) {
	for _, reason := range listings.ReportReasons() {
		out = append(out, pages.Choice{Value: string(reason), Text: reportTexts[reason]})
	}
	return out
}
