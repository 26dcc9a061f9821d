package site

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

var (
	applyPage  = pages.Parse(files, "html/apply.html", "html/account-parts.html")
	reviewPage = pages.Parse(files, "html/apply-review.html", "html/account-parts.html")
)

// applyView is the form of an application, and its review.
type applyView struct {
	Job       listings.Listing
	JobPath   string
	Path      string
	Form      *pages.Form
	Questions []applyQuestion
	Documents []applyDocument
	Types     []pages.Choice
	// HasApplied is set if the viewer has applied to the job.
	HasApplied bool
	Name       string
	Email      string
	Maximum    int
}

// applyQuestion is a question with the answer so far.
type applyQuestion struct {
	listings.Question
	Name, Answer string
}

// applyDocument is a document that can be sent.
type applyDocument struct {
	myDocumentRow
	IsSelected bool
}

// Selected returns the documents that will be sent.
func (v applyView) Selected() (out []applyDocument) {
	for _, d := range v.Documents {
		if d.IsSelected {
			out = append(out, d)
		}
	}
	return out
}

// applyView returns the page for a job. Without input, the default CV is selected.
func (s *Site) applyView(ctx context.Context, who *pages.Viewer, id string, form *pages.Form) (v applyView, err error) {
	job, err := s.services.Listings.Detail(ctx, who.Actor(), id)
	if err != nil {
		return v, err
	}
	v = applyView{Job: job, JobPath: jobPath(job), Path: "/jobs/" + job.ID + "/apply", Form: form, Types: documentTypes, Name: who.User.Name, Email: who.User.Email, Maximum: hiring.MaxDocuments}
	applied, err := s.services.Hiring.AppliedAmong(ctx, who.Actor().UserID, []string{job.ID})
	if err != nil {
		return v, err
	}
	v.HasApplied = applied[job.ID]
	for i, q := range job.Questions {
		name := "answer-" + strconv.Itoa(i)
		v.Questions = append(v.Questions, applyQuestion{q, name, form.Values.Get(name)})
	}
	all, err := s.documentsView(ctx, who, form)
	for _, d := range all.Documents {
		selected := slices.Contains(form.Values["documentIds"], d.ID)
		if form.Values == nil {
			selected = d.IsDefault && d.Type == jobseeker.CV
		}
		v.Documents = append(v.Documents, applyDocument{d, selected})
	}
	return v, err
}

// input returns the application that the form describes.
func (v applyView) input() hiring.ApplyInput {
	in := hiring.ApplyInput{ListingID: v.Job.ID, CoverLetter: v.Form.Value("coverLetter"), DocumentIDs: v.Form.Values["documentIds"]}
	for _, q := range v.Questions {
		if answer := v.Form.Value(q.Name); answer != "" {
			in.Answers = append(in.Answers, hiring.Answer{QuestionID: q.ID, Answer: answer})
		}
	}
	return in
}

func (s *Site) newApplication(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	v, err := s.applyView(ctx, who, c.Params("id"), &pages.Form{})
	if err != nil {
		return err
	}
	return s.renderer.Render(c, fiber.StatusOK, applyPage, who, v)
}

// submitApplication shows the review of an application, shows the form again, or sends the
// application. A file of the form becomes a document of the clinician, which is sent.
func (s *Site) submitApplication(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	v, err := s.applyView(ctx, who, c.Params("id"), &form)
	if err != nil {
		return err
	}
	step := form.Value("step")
	if file, failed := pages.FileOf(c, "file"); step != "send" && (file != nil || failed != nil) {
		d, err := s.upload(ctx, c, who, pages.Form{}, form.Value("type"))
		if err != nil {
			return s.problemPage(c, applyPage, who, &form, err, func() (any, error) { return v, nil })
		}
		form.Values.Add("documentIds", d.ID)
		if v, err = s.applyView(ctx, who, v.Job.ID, &form); err != nil {
			return err
		}
	}
	var sent hiring.Application
	switch step {
	case "edit":
		return s.renderer.Render(c, fiber.StatusOK, applyPage, who, v)
	case "send":
		if err = s.renderer.TakeLimit(ctx, c, fiber.MethodPost+" /api/jobseekers/applications"); err == nil {
			sent, err = s.services.Hiring.Apply(ctx, who.Actor(), v.input())
		}
	default:
		err = s.services.Hiring.CheckApply(ctx, who.Actor(), v.input())
	}
	switch {
	case errors.Is(err, hiring.ErrDocumentNotFound):
		err = fault.InvalidField("documentIds", "contain one that you have deleted meanwhile; please select again")
	case errors.Is(err, hiring.ErrAlreadyApplied):
		v.HasApplied = true
	}
	if err != nil {
		return s.problemPage(c, applyPage, who, &form, err, func() (any, error) { return v, nil })
	}
	if step != "send" {
		return s.renderer.Render(c, fiber.StatusOK, reviewPage, who, v)
	}
	return redirect(c, "/account/applications/"+sent.ID+"/sent", "")
}
