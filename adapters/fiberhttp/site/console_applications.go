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
	Status, JobID string
	Jobs          []pages.Choice // the newest jobs, for the filter
	Stages        []countLink
	Rows          []applicationRow
	Next          string
	Columns       []column
	MayUpdate     bool
	Problem       *pages.Problem
	Selected      map[string]bool // ids of the selected applications
	To            string          // the status to which they are moved
}

// column is a column of the board: a status with its applications.
type column struct {
	countLink
	Rows []applicationRow
}

// Statuses returns the statuses that an employer can give an application.
func (applicationsView) Statuses() []pages.Choice { return statusChoices() }

// Query returns the filters as a query string that begins with "?", or an empty one.
func (v applicationsView) Query() string { return withQuery("", "job", v.JobID, "status", v.Status) }

// maxJobChoices is the number of jobs that the filter offers.
const maxJobChoices = 100

// setFilters sets the filters of the request in v, and the choices that the page offers.
func (s *Site) setFilters(ctx context.Context, c *fiber.Ctx, actor auth.Actor, v *applicationsView) error {
	v.Status = c.Query("status")
	v.JobID = c.Query("job")
	v.MayUpdate = actor.May(auth.ApplicationsUpdate)

	jobs, err := s.services.Listings.List(ctx, actor, "", page.After("", maxJobChoices))
	if err != nil {
		return err
	}

	v.Jobs = []pages.Choice{{Value: "", Text: "All jobs"}}
	for _, l := range jobs.Items {
		v.Jobs = append(v.Jobs, pages.Choice{Value: l.ID, Text: l.Title})
	}

	// The selected job must be among the choices, also if it is older.
	isOffered := slices.ContainsFunc(v.Jobs, func(choice pages.Choice) bool { return choice.Value == v.JobID })
	if v.JobID != "" && !isOffered {
		l, err := s.services.Listings.Get(ctx, actor, v.JobID)
		if err != nil {
			return err
		}

		v.Jobs = append(v.Jobs, pages.Choice{Value: l.ID, Text: l.Title})
	}

	return nil
}

func (s *Site) applications(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showApplications(ctx, c, viewer, applicationsView{})
}

// showApplications shows the applications as a list.
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

func (s *Site) board(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showBoard(ctx, c, viewer, applicationsView{})
}

// showBoard shows the applications in a column for each status. The first of the counts is that
// of all applications, which has no column.
func (s *Site) showBoard(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, v applicationsView) error {
	actor := viewer.Actor()
	if err := s.setFilters(ctx, c, actor, &v); err != nil {
		return err
	}

	stages, err := s.applicationCounts(ctx, actor, v.JobID, "")
	if err != nil {
		return err
	}

	for _, stage := range stages[1:] {
		applications, err := s.services.Hiring.FindReceived(ctx, actor,
			hiring.StatsInput{Status: stage.Value, JobID: v.JobID}, page.After("", boardColumnSize))
		if err != nil {
			return err
		}

		v.Columns = append(v.Columns, column{stage, applicationRows(applications.Items)})
	}

	if err := s.addAverages(ctx, actor, list.Map(v.Columns, func(c column) []applicationRow { return c.Rows })...); err != nil {
		return err
	}

	return s.renderer.Render(c, v.Problem.Status(), boardPage, viewer, v)
}

// moveApplications returns a handler that sets the status of the selected applications. If
// that fails, show renders the list or the board with the problem.
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

// decideAll makes the decisions. It returns an error that the user can correct if there are no
// decisions, or if some of them were refused. DecideBatch comes first, because a user without the
// permission must get its error.
func (s *Site) decideAll(ctx context.Context, actor auth.Actor, decisions []hiring.Decision) error {
	// The ids of the changed applications do not matter: the page is shown again.
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
	discussion
	State   badge
	Answers []answer
	Files   []receivedFile
	Changes []change
	Sent    []hiring.SentMessage
	// IsOpen is set unless the applicant has withdrawn.
	IsOpen    bool
	MayUpdate bool
	Moves     []countLink
	// OffersClosing is set if the application is accepted and its job still open or paused.
	OffersClosing bool
	// To is the new status that the decision form sets. If it is empty, the page shows links
	// to the possible statuses in place of the form.
	To, ToText                  string
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

func (s *Site) application(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showApplication(ctx, c, viewer, c.Query("to"), pages.Form{})
}

// showApplication renders the page of an application. If targetStatus is not empty, the page
// has the form that sets this status. If sent has a problem, its input is shown again in the
// form that Problem.FormName names.
func (s *Site) showApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, targetStatus string, sent pages.Form) error {
	actor := viewer.Actor()

	d, err := s.services.Hiring.ReceivedApplication(ctx, actor, c.Params("id"))
	if err != nil {
		return err
	}

	v := applicationView{
		Detail:    d,
		State:     applicationBadge(d.Status),
		IsOpen:    d.WithdrawnAt == nil,
		MayUpdate: actor.May(auth.ApplicationsUpdate),
	}

	// A job that was deleted has no questions, and nothing to close.
	listing, err := s.services.Listings.Get(ctx, actor, d.ListingID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}

	v.Answers = answersOf(listing, d)
	v.OffersClosing = d.Status == hiring.Accepted && (listing.Status == listings.Active || listing.Status == listings.Inactive)

	if v.discussion, err = s.discussionOf(ctx, actor, d.ID, c.Query("notes"), sent); err != nil {
		return err
	}

	if v.Sent, err = s.services.Hiring.SentMessages(ctx, actor, d.ID); err != nil {
		return err
	}

	v.Files = list.Map(d.Documents, newReceivedFile)
	for _, k := range d.Timeline {
		v.Changes = append(v.Changes, change{k, employerChangeText(k)})
	}

	for _, status := range hiring.Statuses {
		if status == d.Status {
			continue
		}

		v.Moves = append( // links to the decision form, without counts
			v.Moves,
			countLink{Label: moveLabels[status], Path: withQuery("/employer/applications/"+d.ID, "to", string(status)) + "#decision"},
		)
		if targetStatus == string(status) {
			v.To, v.ToText = targetStatus, moveLabels[status]
		}
	}

	v.Decision.Values = draftMessage(hiring.Status(v.To), d)
	v.Schedule.Values, v.Contact.Values = interviewValues(d), url.Values{}

	// An interview that is scheduled already is changed, without the box that moves the application.
	v.OffersMove = d.Status != hiring.Interviewing && (d.Interview == nil || d.Interview.Status != hiring.Scheduled)
	if d.Interview != nil {
		v.InterviewState = interviewText(d.Interview)
	}

	for _, outcome := range []hiring.Outcome{hiring.Pass, hiring.Fail, hiring.Undecided} {
		v.Outcomes = append(v.Outcomes, pages.Choice{Value: string(outcome), Text: outcomeTexts[outcome]})
	}

	if sent.Problem != nil {
		switch sent.Problem.FormName {
		case decisionForm:
			v.Decision = sent
		case interviewForm:
			v.Schedule = sent
		case contactForm:
			v.Contact = sent
		}
	}

	return s.renderer.Render(c, sent.Problem.Status(), applicationPage, viewer, v)
}

// answersOf returns the answers with the texts of their questions, and after them the questions
// of the job that were not answered. A question that was removed from the job is shown by its id.
// There are no unanswered questions for a withdrawn application, which may have lost its answers.
func answersOf(l listings.Listing, d hiring.Detail) (out []answer) {
	questionTexts := map[string]string{}
	for _, q := range l.Questions {
		questionTexts[q.ID] = q.Text
	}

	for _, a := range d.Answers {
		question, exists := questionTexts[a.QuestionID]
		if !exists {
			question = "Question " + a.QuestionID
		}

		out = append(out, answer{question, a.Answer})
	}

	for _, q := range l.Questions {
		isAnswered := slices.ContainsFunc(d.Answers, func(a hiring.Answer) bool { return a.QuestionID == q.ID })
		if !isAnswered && d.WithdrawnAt == nil {
			out = append(out, answer{Question: q.Text})
		}
	}

	return out
}

// employerChangeText describes an entry of the timeline for the employer.
func employerChangeText(k hiring.Change) string {
	switch {
	case k.From == "":
		return "Applied"
	case k.Actor == hiring.ByApplicant && k.To == hiring.Withdrawn:
		return "Withdrawn by the applicant"
	}

	return "Moved from " + stageTexts[k.From] + " to " + stageTexts[k.To]
}
