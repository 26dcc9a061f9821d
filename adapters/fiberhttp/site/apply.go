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

// applyView is the form for an application, and the page on which the applicant reviews it.
type applyView struct {
	Job       listings.Listing
	JobPath   string
	Path      string
	Form      *pages.Form
	Questions []applyQuestion
	Documents []applyDocument
	Types     []pages.Choice
	// HasApplied is set if the viewer has applied to the job.
	HasApplied   bool
	Name         string
	Email        string
	MaxDocuments int
}

// applyQuestion is a question with the answer so far.
type applyQuestion struct {
	listings.Question
	Name, Answer string
}

// applyDocument is a document that the clinician can select for the application.
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

// loadApply returns the form for an application to the job. In a form that was not sent
// yet, the default CV is selected.
func (s *Site) loadApply(ctx context.Context, viewer *pages.Viewer, id string, form *pages.Form) (v applyView, err error) {
	job, err := s.services.Listings.Detail(ctx, viewer.Actor(), id)
	if err != nil {
		return v, err
	}

	v = applyView{
		Job:          job,
		JobPath:      jobPath(job),
		Path:         "/jobs/" + job.ID + "/apply",
		Form:         form,
		Types:        documentTypes,
		Name:         viewer.User.Name,
		Email:        viewer.User.Email,
		MaxDocuments: hiring.MaxDocuments,
	}

	applied, err := s.services.Hiring.AppliedAmong(ctx, viewer.Actor().UserID, []string{job.ID})
	if err != nil {
		return v, err
	}

	v.HasApplied = applied[job.ID]
	for i, q := range job.Questions {
		name := "answer-" + strconv.Itoa(i)
		v.Questions = append(v.Questions, applyQuestion{Question: q, Name: name, Answer: form.Values.Get(name)})
	}

	stored, err := s.loadDocuments(ctx, viewer, form)
	if err != nil {
		return v, err
	}

	for _, d := range stored.Documents {
		isSelected := slices.Contains(form.Values["documentIds"], d.ID)
		if form.Values == nil { // the form was not sent yet
			isSelected = d.IsDefault && d.Type == jobseeker.CV
		}

		v.Documents = append(v.Documents, applyDocument{d, isSelected})
	}

	return v, nil
}

// input converts the form to an application.
func (v applyView) input() hiring.ApplyInput {
	in := hiring.ApplyInput{ListingID: v.Job.ID, CoverLetter: v.Form.Value("coverLetter"), DocumentIDs: v.Form.Values["documentIds"]}
	for _, q := range v.Questions {
		if answer := v.Form.Value(q.Name); answer != "" {
			in.Answers = append(in.Answers, hiring.Answer{QuestionID: q.ID, Answer: answer})
		}
	}

	return in
}

func (s *Site) newApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadApply(ctx, viewer, c.Params("id"), &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, applyPage, viewer, v)
}

// submitApplication handles the form, and the page on which the applicant reviews the application. The step "edit"
// shows the form again, "send" sends the application, and any other step shows the review. A file that was sent with
// the form becomes a document of the clinician and is selected.
func (s *Site) submitApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	v, err := s.loadApply(ctx, viewer, c.Params("id"), &form)
	if err != nil {
		return err
	}

	step := form.Value("step")
	if step == "send" {
		return s.sendApplication(ctx, c, viewer, v)
	}

	file, fileErr := pages.FileOf(c, "file")
	if hasFile := file != nil || fileErr != nil; hasFile {
		// upload returns fileErr. The title of the document is the name of its file, because
		// the empty form has none.
		d, err := s.upload(ctx, c, viewer, pages.Form{}, form.Value("type"))
		if err != nil {
			return s.renderApplyProblem(c, viewer, v, err)
		}

		form.Values.Add("documentIds", d.ID)

		if v, err = s.loadApply(ctx, viewer, v.Job.ID, &form); err != nil {
			return err
		}
	}

	if step == "edit" {
		return s.renderer.Render(c, fiber.StatusOK, applyPage, viewer, v)
	}

	if err := s.services.Hiring.CheckApply(ctx, viewer.Actor(), v.input()); err != nil {
		return s.renderApplyProblem(c, viewer, v, err)
	}

	return s.renderer.Render(c, fiber.StatusOK, reviewPage, viewer, v)
}

// sendApplication sends the application and redirects to its confirmation.
func (s *Site) sendApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v applyView) error {
	if err := s.renderer.TakeLimit(ctx, c, applyOperation); err != nil {
		return s.renderApplyProblem(c, viewer, v, err)
	}

	sent, err := s.services.Hiring.Apply(ctx, viewer.Actor(), v.input())
	if err != nil {
		return s.renderApplyProblem(c, viewer, v, err)
	}

	const noNotice = "" // the page itself confirms it

	return redirect(c, "/account/applications/"+sent.ID+"/sent", noNotice)
}

// renderApplyProblem renders the form with the error, in the words of the page.
func (s *Site) renderApplyProblem(c *fiber.Ctx, viewer *pages.Viewer, v applyView, err error) error {
	switch {
	case errors.Is(err, hiring.ErrDocumentNotFound):
		err = fault.InvalidField("documentIds", "contain a document that was deleted in the meantime; please select again")
	case errors.Is(err, hiring.ErrAlreadyApplied):
		v.HasApplied = true
	}

	return s.renderProblem(c, applyPage, viewer, v.Form, err, func() (any, error) { return v, nil })
}
