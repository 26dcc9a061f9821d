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
	// Title, Company and Path describe the job.
	Title, Company, Path string
	Form                 pages.Form
	// IsDone is set after the report was sent.
	IsDone bool
}

// loadReport collects what the page shows about the job.
func (s *Site) loadReport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (reportView, error) {
	job, err := s.services.Listings.Detail(ctx, actorOf(viewer), c.Params("id"))
	return reportView{Title: job.Title, Company: job.Company, Path: jobPath(job), IsDone: c.Query("done") != ""}, err
}

func (s *Site) showReport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadReport(ctx, c, viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}

	return s.renderer.Render(c, fiber.StatusOK, reportPage, viewer, v)
}

// report stores the report and redirects to the page that confirms it, so that a reload does not send the report again.
func (s *Site) report(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadReport(ctx, c, viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Job not found")
	}

	v.Form = pages.FormOf(c)

	err = s.createReport(ctx, c, viewer, v.Form)
	if fault.KindOf(err) == fault.NotFound {
		return s.renderMissing(c, viewer, err, "Job not found")
	}

	v.Form.Problem, err = formProblem(err, noFormName)
	if err != nil {
		return err
	}

	if v.Form.Problem != nil {
		return s.renderer.Render(c, v.Form.Problem.Status(), reportPage, viewer, v)
	}

	return c.Redirect(c.Path()+"?done=reported", fiber.StatusSeeOther)
}

// createReport stores the report in the form. The request counts towards the rate limit of the API operation for reports.
func (s *Site) createReport(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	if err := s.renderer.TakeLimit(ctx, c, reportJobOperation); err != nil {
		return err
	}

	in := listings.ReportInput{Reason: form.Value("reason"), Text: form.Value("text"), Email: form.Value("email")}

	return s.services.Listings.ReportJob(ctx, actorOf(viewer), c.Params("id"), in)
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
func (reportView) Reasons() (choices []pages.Choice) {
	for _, reason := range listings.ReportReasons() {
		choices = append(choices, pages.Choice{Value: string(reason), Text: reportTexts[reason]})
	}

	return choices
}
