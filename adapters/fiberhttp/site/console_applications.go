package site

import (
	"context"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

var (
	applicationsPage = pages.Parse(files, "html/console-applications.html", "html/console-parts.html")
	boardPage        = pages.Parse(files, "html/console-board.html", "html/console-parts.html")
	applicationPage  = pages.Parse(files, "html/console-application.html", "html/console-notes.html", "html/console-parts.html")
)

// applicationRow is an application in a list.
type applicationRow struct {
	hiring.View
	Path    string
	State   badge
	Average string // of the ratings, empty without any
}

// applicationRows returns the rows of a list without their averages. addAverages sets the averages.
func applicationRows(views []hiring.View) []applicationRow {
	rows := make([]applicationRow, len(views))
	for i, v := range views {
		rows[i] = applicationRow{View: v, Path: "/employer/applications/" + v.ID, State: applicationBadge(v.Status)}
	}

	return rows
}

// applicationsView holds the applications to an organization's jobs, as a list, or as a board with a column for each
// status. Employers know the statuses as stages.
type applicationsView struct {
	Status, JobID string         // the filters, empty for all
	Jobs          []pages.Choice // the choices for JobID
	MayUpdate     bool

	// The list.
	Stages []countLink // to the lists of each status
	Rows   []applicationRow
	Next   string // the path of the next page, empty on the last one

	// The board.
	Columns []column

	// The form that moves the selected applications to another status, after it has failed.
	Problem  *pages.Problem
	Selected map[string]bool // ids of the selected applications
	To       string          // the status
}

// column is a column of the board: a status with its applications.
type column struct {
	countLink
	Rows []applicationRow
}

// Statuses returns the statuses that an employer can give an application.
func (applicationsView) Statuses() []pages.Choice { return statusChoices() }

// Query returns the filters as a query string that begins with "?". It is empty without filters.
func (v applicationsView) Query() string { return withQuery("", "job", v.JobID, "status", v.Status) }

// maxJobChoices is the number of jobs that the filter offers. The newest ones are offered.
const maxJobChoices = 100

// setFilters sets the fields of v that the list and the board share: the filters of the request and the choices for them.
func (s *Site) setFilters(ctx context.Context, c *fiber.Ctx, actor auth.Actor, v *applicationsView) error {
	v.Status = c.Query("status")
	v.JobID = c.Query("job")
	v.MayUpdate = actor.May(auth.ApplicationsUpdate)

	const anyStatus, firstPage = "", ""

	jobs, err := s.services.Listings.List(ctx, actor, anyStatus, page.After(firstPage, maxJobChoices))
	if err != nil {
		return err
	}

	v.Jobs = []pages.Choice{{Value: "", Text: "All jobs"}}
	for _, job := range jobs.Items {
		v.Jobs = append(v.Jobs, pages.Choice{Value: job.ID, Text: job.Title})
	}

	// The selected job must be among the choices, even if it is older than all of them.
	isOffered := slices.ContainsFunc(v.Jobs, func(choice pages.Choice) bool { return choice.Value == v.JobID })
	if v.JobID != "" && !isOffered {
		selected, err := s.services.Listings.Get(ctx, actor, v.JobID)
		if err != nil {
			return err
		}

		v.Jobs = append(v.Jobs, pages.Choice{Value: selected.ID, Text: selected.Title})
	}

	return nil
}

// applications handles GET /employer/applications.
func (s *Site) applications(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showApplications(ctx, c, viewer, applicationsView{})
}

// showApplications shows the applications as a list. v has the problem and the input of a form that has failed, if there is
// one.
func (s *Site) showApplications(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v applicationsView) error {
	actor := viewer.Actor()
	if err := s.setFilters(ctx, c, actor, &v); err != nil {
		return err
	}

	applications, err := s.services.Hiring.FindReceived(ctx, actor,
		hiring.StatsInput{Status: v.Status, JobID: v.JobID}, page.After(c.Query("after"), consolePageSize))
	if err != nil {
		return err
	}

	v.Rows = applicationRows(applications.Items)
	if err := s.addAverages(ctx, actor, v.Rows); err != nil {
		return err
	}

	if applications.NextCursor != "" {
		v.Next = withQuery("/employer/applications", "job", v.JobID, "status", v.Status, "after", applications.NextCursor)
	}

	if v.Stages, err = s.applicationCounts(ctx, actor, v.JobID, v.Status); err != nil {
		return err
	}

	return s.renderer.Render(c, v.Problem.Status(), applicationsPage, viewer, v)
}

// boardColumnSize is the number of applications that each column of the board shows.
const boardColumnSize = 20

// board handles GET /employer/applications/board.
func (s *Site) board(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showBoard(ctx, c, viewer, applicationsView{})
}

// showBoard shows the applications in a column for each status. v has the problem and the input of a form that has failed,
// if there is one.
func (s *Site) showBoard(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v applicationsView) error {
	actor := viewer.Actor()
	if err := s.setFilters(ctx, c, actor, &v); err != nil {
		return err
	}

	counts, err := s.applicationCounts(ctx, actor, v.JobID, noStatus)
	if err != nil {
		return err
	}

	const firstPage = ""

	stages := counts[1:] // the first count is of all applications, for which there is no column
	for _, stage := range stages {
		applications, err := s.services.Hiring.FindReceived(ctx, actor,
			hiring.StatsInput{Status: stage.Value, JobID: v.JobID}, page.After(firstPage, boardColumnSize))
		if err != nil {
			return err
		}

		v.Columns = append(v.Columns, column{countLink: stage, Rows: applicationRows(applications.Items)})
	}

	// The rows of all columns get their averages together, with one query.
	rowsOfColumns := list.Map(v.Columns, func(c column) []applicationRow { return c.Rows })
	if err := s.addAverages(ctx, actor, rowsOfColumns...); err != nil {
		return err
	}

	return s.renderer.Render(c, v.Problem.Status(), boardPage, viewer, v)
}

// moveApplications returns a handler that sets the status of the selected applications. If
// the user can correct an error, show renders the list or the board with the problem.
func (s *Site) moveApplications(show func(context.Context, *fiber.Ctx, *pages.Viewer, applicationsView) error) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
		form := pages.FormOf(c)
		v := applicationsView{Selected: map[string]bool{}, To: form.Value("to")}

		var decisions []hiring.Decision
		for _, id := range form.Values["id"] {
			v.Selected[id] = true
			decisions = append(decisions, hiring.Decision{ID: id, Status: v.To})
		}

		err := s.doLimited(ctx, c, moveOperation, func() error { return s.decideAll(ctx, viewer.Actor(), decisions) })
		if err == nil {
			return redirect(c, c.Path(), "statuses-changed", "job", c.Query("job"), "status", c.Query("status"))
		}

		v.Problem = pages.FormProblem(err, noFormName)
		if v.Problem == nil {
			return err
		}

		return show(ctx, c, viewer, v)
	}
}

// decideAll makes the decisions: each sets the status of an application. It returns an error that the user can correct
// if there are no decisions, or if some of them were refused.
func (s *Site) decideAll(ctx context.Context, actor auth.Actor, decisions []hiring.Decision) error {
	// This call comes first, even if there are no decisions, because it checks the permission. The ids of the changed
	// applications do not matter: the page is loaded again.
	_, refused, err := s.services.Hiring.DecideBatch(ctx, actor, decisions)
	switch {
	case err != nil:
		return err
	case len(decisions) == 0:
		return fault.New(fault.Invalid, "nothing_selected", "Select at least one application")
	case len(refused) > 0:
		return fault.New(fault.Invalid, "some_not_moved", "Some of the applications were not moved: "+refused[0].Error)
	}

	return nil
}

// applicationView is the page of an application.
type applicationView struct {
	hiring.Detail
	discussion // the notes and ratings of the organization's members
	State      badge
	Answers    []answer
	Files      []receivedFile
	Changes    []change // the timeline
	Sent       []hiring.SentMessage
	// IsOpen is set unless the applicant has withdrawn.
	IsOpen    bool
	MayUpdate bool
	// Moves are the links to the decision form for each other status. They have no counts.
	Moves []countLink
	// OffersClosing is set if the application is accepted and its job is still open or paused.
	OffersClosing bool
	// To is the new status that the decision form sets, and ToText the label of its button. If To is empty, the page shows
	// Moves in place of the form.
	To, ToText string
	// The forms that decide on the application, schedule its interview and write to the applicant.
	Decision, Schedule, Contact pages.Form
	// OffersMove is set if the interview form can move the application to the interview stage.
	OffersMove     bool
	Outcomes       []pages.Choice
	InterviewState string
}

// answer is an answer with the text of its question. Answer is empty if the applicant has not
// answered an optional question.
type answer struct{ Question, Answer string }

// change is an entry of a timeline.
type change struct {
	hiring.Change
	Text string
}

// The names of the forms on the page of an application, for pages.Problem.FormName.
const (
	decisionForm  = "decision"
	interviewForm = "interview"
	contactForm   = "contact"
)

// application handles GET /employer/applications/:id.
func (s *Site) application(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	var noForm pages.Form
	return s.showApplication(ctx, c, viewer, c.Query("to"), noForm)
}

// showApplication renders the page of an application. If targetStatus is not empty, the page
// has the form that sets this status. If sent has a problem, its input is shown again in the
// form that Problem.FormName names.
func (s *Site) showApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, targetStatus string, sent pages.Form) error {
	actor := viewer.Actor()

	detail, err := s.services.Hiring.ReceivedApplication(ctx, actor, c.Params("id"))
	if err != nil {
		return err
	}

	// A job that was deleted has no questions, and nothing to close: job is the zero value then.
	job, err := s.services.Listings.Get(ctx, actor, detail.ListingID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}

	isJobOpen := job.Status == listings.Active || job.Status == listings.Inactive // inactive jobs are paused
	v := applicationView{
		Detail:        detail,
		State:         applicationBadge(detail.Status),
		Answers:       answersOf(job, detail),
		Files:         list.Map(detail.Documents, newReceivedFile),
		IsOpen:        detail.WithdrawnAt == nil,
		MayUpdate:     actor.May(auth.ApplicationsUpdate),
		OffersClosing: detail.Status == hiring.Accepted && isJobOpen,
	}

	if v.discussion, err = s.discussionOf(ctx, actor, detail.ID, c.Query("notes"), sent); err != nil {
		return err
	}

	if v.Sent, err = s.services.Hiring.SentMessages(ctx, actor, detail.ID); err != nil {
		return err
	}

	for _, entry := range detail.Timeline {
		v.Changes = append(v.Changes, change{Change: entry, Text: employerChangeText(entry)})
	}

	v.addMoves(targetStatus)
	v.addInterview()
	v.addForms(sent)

	return s.renderer.Render(c, sent.Problem.Status(), applicationPage, viewer, v)
}

// addMoves adds the links to the decision form for each status that the application does not have. If targetStatus is
// one of these, it becomes the status that the form sets.
func (v *applicationView) addMoves(targetStatus string) {
	for _, status := range hiring.Statuses {
		if status == v.Status {
			continue
		}

		path := withQuery("/employer/applications/"+v.ID, "to", string(status)) + "#decision"
		v.Moves = append(v.Moves, countLink{Label: moveLabels[status], Path: path})

		if targetStatus == string(status) {
			v.To, v.ToText = targetStatus, moveLabels[status]
		}
	}
}

// addInterview adds the state of the interview and the choices of its form.
func (v *applicationView) addInterview() {
	// The box that also moves the application is offered to schedule an interview, but not to change a scheduled one.
	isScheduled := v.Interview != nil && v.Interview.Status == hiring.Scheduled

	v.OffersMove = v.Status != hiring.Interviewing && !isScheduled
	if v.Interview != nil {
		v.InterviewState = interviewText(v.Interview)
	}

	for _, outcome := range []hiring.Outcome{hiring.Pass, hiring.Fail, hiring.Undecided} {
		v.Outcomes = append(v.Outcomes, pages.Choice{Value: string(outcome), Text: outcomeTexts[outcome]})
	}
}

// addForms sets the initial values of the forms. A form that was sent with a problem is shown as it was sent.
func (v *applicationView) addForms(sent pages.Form) {
	v.Decision.Values = draftMessage(hiring.Status(v.To), v.Detail)
	v.Schedule.Values = interviewValues(v.Detail)
	v.Contact.Values = url.Values{}

	if sent.Problem == nil {
		return
	}

	switch sent.Problem.FormName {
	case decisionForm:
		v.Decision = sent
	case interviewForm:
		v.Schedule = sent
	case contactForm:
		v.Contact = sent
	}
}

// answersOf returns the answers with the texts of their questions, and after them the questions
// of the job that were not answered. A question that was removed from the job is shown by its id.
// There are no unanswered questions for a withdrawn application, which may have lost its answers.
func answersOf(job listings.Listing, application hiring.Detail) (answers []answer) {
	questionTexts := map[string]string{}
	for _, question := range job.Questions {
		questionTexts[question.ID] = question.Text
	}

	for _, given := range application.Answers {
		text, exists := questionTexts[given.QuestionID]
		if !exists {
			text = "Question " + given.QuestionID
		}

		answers = append(answers, answer{Question: text, Answer: given.Answer})
	}

	if application.WithdrawnAt != nil {
		return answers
	}

	for _, question := range job.Questions {
		isAnswered := slices.ContainsFunc(application.Answers, func(given hiring.Answer) bool { return given.QuestionID == question.ID })
		if !isAnswered {
			answers = append(answers, answer{Question: question.Text})
		}
	}

	return answers
}

// employerChangeText describes an entry of the timeline for the employer.
func employerChangeText(entry hiring.Change) string {
	switch {
	case entry.From == "": // the first entry
		return "Applied"
	case entry.Actor == hiring.ByApplicant && entry.To == hiring.Withdrawn:
		return "Withdrawn by the applicant"
	}

	return "Moved from " + stageTexts[entry.From] + " to " + stageTexts[entry.To]
}
