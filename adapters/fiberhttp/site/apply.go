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
	Job     listings.Listing
	JobPath string
	// Path is the address of the form.
	Path      string
	Form      *pages.Form
	Questions []applyQuestion
	// Documents are all documents of the clinician, Types the types that an uploaded file can have.
	Documents []applyDocument
	Types     []pages.Choice
	// HasApplied is set if the viewer has applied to the job.
	HasApplied   bool
	Name         string
	Email        string
	MaxDocuments int
}

// applyQuestion is a question of the job, with the answer that the form contains. Name is the name of its field.
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
func (v applyView) Selected() (selected []applyDocument) {
	for _, d := range v.Documents {
		if d.IsSelected {
			selected = append(selected, d)
		}
	}

	return selected
}

// loadApply returns the form for an application to the job. In a form that was not sent
// yet, the default CV is selected.
func (s *Site) loadApply(ctx context.Context, viewer *pages.Viewer, jobID string, form *pages.Form) (v applyView, err error) {
	job, err := s.services.Listings.Detail(ctx, viewer.Actor(), jobID)
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

	applied, err := s.services.Hiring.FindApplied(ctx, viewer.Actor().UserID, []string{job.ID})
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

	isFirstView := form.Values == nil // the form was not sent yet
	for _, d := range stored.Documents {
		isSelected := slices.Contains(form.Values["documentIds"], d.ID)
		if isFirstView {
			isSelected = d.IsDefault && d.Type == jobseeker.CV
		}

		v.Documents = append(v.Documents, applyDocument{myDocumentRow: d, IsSelected: isSelected})
	}

	return v, nil
}

// input converts the form to an application. Questions without an answer are left out.
func (v applyView) input() hiring.ApplyInput {
	in := hiring.ApplyInput{ListingID: v.Job.ID, CoverLetter: v.Form.Value("coverLetter"), DocumentIDs: v.Form.Values["documentIds"]}
	for _, q := range v.Questions {
		if answer := v.Form.Value(q.Name); answer != "" {
			in.Answers = append(in.Answers, hiring.Answer{QuestionID: q.ID, Answer: answer})
		}
	}

	return in
}

// newApplication shows the form for an application.
func (s *Site) newApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadApply(ctx, viewer, c.Params("id"), &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, applyPage, viewer, v)
}

// submitApplication handles the form, and the page on which the applicant reviews the application. The field "step" says
// what follows: "send" sends the application, "edit" shows the form again, and any other value shows the review. In the
// last two cases, a file in the form is stored as a document of the clinician, which the application will contain.
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

	hasFile, err := s.selectUpload(ctx, c, viewer, form)
	if err != nil {
		return s.renderApplyProblem(c, viewer, v, err)
	}

	if hasFile { // load the view again, because the clinician has one more document
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

// selectUpload stores the file that was sent with the form as a document of the clinician, and adds the document to the
// selected ones in form.Values. It reports whether there was a file.
func (s *Site) selectUpload(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) (hasFile bool, err error) {
	file, err := pages.FileOf(c, "file")
	if file == nil || err != nil {
		return false, err
	}

	// The title of the document is the name of its file, because the empty form has no title.
	d, err := s.upload(ctx, c, viewer, pages.Form{}, form.Value("type"))
	if err != nil {
		return true, err
	}

	form.Values.Add("documentIds", d.ID)

	return true, nil
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

	const noNotice = "" // the page itself confirms that the application was sent

	return redirect(c, "/account/applications/"+sent.ID+"/sent", noNotice)
}

// renderApplyProblem renders the form with the error. An error because a selected document was deleted is shown at the
// field of the documents. For a job to which the clinician has applied already, the page links to the applications.
func (s *Site) renderApplyProblem(c *fiber.Ctx, viewer *pages.Viewer, v applyView, err error) error {
	switch {
	case errors.Is(err, hiring.ErrDocumentNotFound):
		err = fault.InvalidField("documentIds", "contain a document that was deleted in the meantime; please select again")
	case errors.Is(err, hiring.ErrAlreadyApplied):
		v.HasApplied = true
	}

	return s.renderProblem(c, applyPage, viewer, v.Form, err, func() (any, error) { return v, nil })
}
