package site

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

var (
	applicationsPage = pages.Parse(files, "html/console-applications.html", "html/console-parts.html")
	boardPage        = pages.Parse(files, "html/console-board.html", "html/console-parts.html")
	applicationPage  = pages.Parse(files, "html/console-application.html", "html/console-parts.html")
)

// applicationRow is an application in a list.
type applicationRow struct {
	hiring.View
	Path  string
	State badge
}

func applicationRows(views []hiring.View) []applicationRow {
	out := make([]applicationRow, len(views))
	for i, v := range views {
		out[i] = applicationRow{v, "/employer/applications/" + v.ID, badgeOf(v.Status)}
	}
	return out
}

// applicationsView is the list, or the board, of applications to an organization's jobs.
type applicationsView struct {
	Status, JobID string
	Jobs          []pages.Choice // the newest ones
	Stages        []count
	Rows          []applicationRow
	Next          string
	Columns       []column
	MayUpdate     bool
	Problem       *pages.Problem
	Selected      map[string]bool
	To            string
}

// column is a status on the board.
type column struct {
	count
	Rows []applicationRow
}

// Statuses returns the statuses that an employer sets.
func (applicationsView) Statuses() []pages.Choice { return statusChoices() }

// Query returns the filters as the query of an address, with its question mark.
func (v applicationsView) Query() string { return withQuery("", "job", v.JobID, "status", v.Status) }

// jobChoices are the jobs that the filter offers.
const jobChoices = 100

// filter sets the filters of the request, and the choices.
func (s *Site) filter(ctx context.Context, c *fiber.Ctx, by auth.Actor, v *applicationsView) error {
	v.Status, v.JobID, v.MayUpdate = c.Query("status"), c.Query("job"), by.May(auth.ApplicationsUpdate)
	found, err := s.services.Listings.List(ctx, by, "", page.After("", jobChoices))
	if err != nil {
		return err
	}
	v.Jobs = []pages.Choice{{Value: "", Text: "All jobs"}}
	for _, l := range found.Items {
		v.Jobs = append(v.Jobs, pages.Choice{Value: l.ID, Text: l.Title})
	}
	if v.JobID != "" && !slices.ContainsFunc(v.Jobs, func(o pages.Choice) bool { return o.Value == v.JobID }) {
		l, err := s.services.Listings.Get(ctx, by, v.JobID)
		if err != nil {
			return err
		}
		v.Jobs = append(v.Jobs, pages.Choice{Value: l.ID, Text: l.Title})
	}
	return nil
}

func (s *Site) applications(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return s.showApplications(ctx, c, who, applicationsView{})
}

func (s *Site) showApplications(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, v applicationsView) error {
	by := who.Actor()
	if err := s.filter(ctx, c, by, &v); err != nil {
		return err
	}
	found, err := s.services.Hiring.FindReceived(ctx, by, hiring.StatsInput{Status: v.Status, JobID: v.JobID}, page.After(c.Query("after"), rowsShown))
	if err != nil {
		return err
	}
	v.Rows = applicationRows(found.Items)
	if found.NextCursor != "" {
		v.Next = withQuery("/employer/applications", "job", v.JobID, "status", v.Status, "after", found.NextCursor)
	}
	if v.Stages, err = s.applicationCounts(ctx, by, v.JobID, v.Status); err != nil {
		return err
	}
	return s.renderer.Render(c, v.Problem.Status(), applicationsPage, who, v)
}

// cardsShown is the number of applications of a column of the board.
const cardsShown = 20

func (s *Site) board(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return s.showBoard(ctx, c, who, applicationsView{})
}

func (s *Site) showBoard(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, v applicationsView) error {
	by := who.Actor()
	if err := s.filter(ctx, c, by, &v); err != nil {
		return err
	}
	stages, err := s.applicationCounts(ctx, by, v.JobID, "")
	if err != nil {
		return err
	}
	for _, stage := range stages[1:] {
		found, err := s.services.Hiring.FindReceived(ctx, by, hiring.StatsInput{Status: stage.Value, JobID: v.JobID}, page.After("", cardsShown))
		if err != nil {
			return err
		}
		v.Columns = append(v.Columns, column{stage, applicationRows(found.Items)})
	}
	return s.renderer.Render(c, v.Problem.Status(), boardPage, who, v)
}

// moveApplications sets the status of the selected applications, and shows the list or the
// board again.
func (s *Site) moveApplications(show func(context.Context, *fiber.Ctx, *pages.Viewer, applicationsView) error) pages.Handler {
	return func(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
		form := pages.FormOf(c)
		v := applicationsView{Selected: map[string]bool{}, To: form.Value("to")}
		var decisions []hiring.Decision
		for _, id := range form.Values["id"] {
			v.Selected[id] = true
			decisions = append(decisions, hiring.Decision{ID: id, Status: v.To})
		}
		_, refused, err := s.services.Hiring.DecideBatch(ctx, who.Actor(), decisions)
		v.Problem, err = problemOf(err, "")
		switch {
		case err != nil:
			return err
		case v.Problem != nil:
		case len(decisions) == 0:
			v.Problem = invalid("Select at least one application", "")
		case len(refused) > 0:
			v.Problem = invalid("Some of the applications were not moved: "+refused[0].Error, "")
		default:
			return redirect(c, c.Path(), "statuses-changed", "job", c.Query("job"), "status", c.Query("status"))
		}
		return show(ctx, c, who, v)
	}
}

// applicationView is an application.
type applicationView struct {
	hiring.Detail
	State   badge
	Answers []answer
	Changes []change
	// IsOpen is set unless the applicant has withdrawn.
	IsOpen    bool
	MayUpdate bool
	Moves     []count
	// To is the status of the form for a decision, empty to show the choices.
	To, ToText                   string
	Decision, Schedule, Contact  pages.Form
	Outcomes                     []pages.Choice
	InterviewState, OutcomeState string
}

// answer is an answer with the text of its question.
type answer struct{ Question, Answer string }

// change is an entry of a timeline.
type change struct {
	hiring.Change
	Text string
}

// The names of the forms of an application.
const (
	decisionForm  = "decision"
	interviewForm = "interview"
	contactForm   = "contact"
)

func (s *Site) application(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return s.showApplication(ctx, c, who, c.Query("to"), pages.Form{})
}

// showApplication renders an application with the form for a status, if to is not empty, and
// with the input of the form that has a problem.
func (s *Site) showApplication(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, to string, sent pages.Form) error {
	by := who.Actor()
	d, err := s.services.Hiring.ReceivedApplication(ctx, by, c.Params("id"))
	if err != nil {
		return err
	}
	v := applicationView{Detail: d, State: badgeOf(d.Status), IsOpen: d.WithdrawnAt == nil, MayUpdate: by.May(auth.ApplicationsUpdate)}
	if v.Answers, err = s.answersOf(ctx, by, d); err != nil {
		return err
	}
	for _, k := range d.Timeline {
		v.Changes = append(v.Changes, change{k, employerChangeText(k)})
	}
	for _, status := range hiring.Statuses {
		if status == d.Status {
			continue
		}
		v.Moves = append(v.Moves, count{Label: moveTexts[status], Path: withQuery("/employer/applications/"+d.ID, "to", string(status)) + "#decision"})
		if to == string(status) {
			v.To, v.ToText = to, moveTexts[status]
		}
	}
	v.Decision.Values = draftMessage(hiring.Status(v.To), d)
	v.Schedule.Values, v.Contact.Values = interviewValues(d.Interview), url.Values{}
	if d.Interview != nil {
		v.InterviewState, v.OutcomeState = interviewTexts[d.Interview.Status], outcomeTexts[d.Interview.Outcome]
	}
	v.Outcomes = []pages.Choice{{Value: string(hiring.Pass), Text: outcomeTexts[hiring.Pass]}, {Value: string(hiring.Fail), Text: outcomeTexts[hiring.Fail]}, {Value: string(hiring.Undecided), Text: outcomeTexts[hiring.Undecided]}}
	if sent.Problem != nil {
		switch sent.Problem.At {
		case decisionForm:
			v.Decision = sent
		case interviewForm:
			v.Schedule = sent
		case contactForm:
			v.Contact = sent
		}
	}
	return s.renderer.Render(c, sent.Problem.Status(), applicationPage, who, v)
}

// answersOf returns the answers with the questions of the job. Questions that the job does
// not have any more are named by their ids.
func (s *Site) answersOf(ctx context.Context, by auth.Actor, d hiring.Detail) ([]answer, error) {
	if len(d.Answers) == 0 {
		return nil, nil
	}
	l, err := s.services.Listings.Get(ctx, by, d.ListingID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	texts := map[string]string{}
	for _, q := range l.Questions {
		texts[q.ID] = q.Text
	}
	var out []answer
	for _, a := range d.Answers {
		question, exists := texts[a.QuestionID]
		if !exists {
			question = "Question " + a.QuestionID
		}
		out = append(out, answer{question, a.Answer})
	}
	return out, nil
}

// employerChangeText describes an entry of a timeline.
func employerChangeText(k hiring.Change) string {
	switch {
	case k.From == "":
		return "Applied"
	case k.Actor == hiring.ByApplicant && k.To == hiring.Withdrawn:
		return "Withdrawn by the applicant"
	}
	return "Moved from " + stageTexts[k.From] + " to " + stageTexts[k.To]
}

// moveTexts are the buttons that set a status.
var moveTexts = map[hiring.Status]string{
	hiring.Pending: "Move back to new", hiring.Review: "Move to review", hiring.Interview: "Move to interview", hiring.Accepted: "Accept",
	hiring.Rejected: "Reject", hiring.Withdrawn: "Mark as withdrawn",
}

var interviewTexts = map[hiring.InterviewStatus]string{hiring.Scheduled: "Scheduled", hiring.Completed: "Completed", hiring.Cancelled: "Cancelled"}

var outcomeTexts = map[hiring.Outcome]string{hiring.Pass: "Passed", hiring.Fail: "Not passed", hiring.Undecided: "Not decided"}

// messages are the drafts of messages about a status. NAME, JOB and COMPANY are replaced.
var messages = map[hiring.Status]struct{ subject, text string }{
	hiring.Review:    {"Your application is being reviewed", "Dear NAME,\n\nThank you for your application for JOB. We are reading it now and will write to you when we have decided.\n\nCOMPANY"},
	hiring.Interview: {"Your application: interview", "Dear NAME,\n\nThank you for your application for JOB. We would like to meet you. You will get an invitation with the date and the place.\n\nCOMPANY"},
	hiring.Accepted:  {"Your application was successful", "Dear NAME,\n\nWe are pleased to offer you the post of JOB. We will contact you about the next steps: references, checks and your start date.\n\nCOMPANY"},
	hiring.Rejected:  {"Your application", "Dear NAME,\n\nThank you for your application for JOB, and for the time that you gave to it. We have decided not to take it further this time.\n\nWe wish you success with your search.\n\nCOMPANY"},
}

// draftMessage returns the values of the form for a decision.
func draftMessage(to hiring.Status, d hiring.Detail) url.Values {
	m := messages[to]
	if m.subject == "" {
		return url.Values{}
	}
	text := strings.NewReplacer("NAME", d.Applicant.Name, "JOB", d.JobTitle, "COMPANY", d.Company).Replace(m.text)
	return url.Values{"subject": {m.subject}, "message": {text}, "send": {"yes"}}
}

// utcField is the format of a datetime-local field.
const utcField = "2006-01-02T15:04"

func interviewValues(i *hiring.Appointment) url.Values {
	if i == nil {
		return url.Values{}
	}
	return url.Values{"scheduledAt": {i.ScheduledAt.UTC().Format(utcField)}, "location": {i.Location}, "interviewer": {i.Interviewer}, "notes": {i.Notes}, "outcome": {string(i.Outcome)}}
}

// asUTC returns the value of a datetime-local field as an RFC 3339 date-time in UTC.
func asUTC(value string) string {
	switch len(value) {
	case len("2006-01-02T15:04"):
		return value + ":00Z"
	case len("2006-01-02T15:04:05"):
		return value + "Z"
	}
	return value
}

// changeApplication handles the forms of an application.
func (s *Site) changeApplication(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	by, form, id := who.Actor(), pages.FormOf(c), c.Params("id")
	at, to, done := interviewForm, "", ""
	var err error
	text := func(name string) *string { return new(form.Value(name)) }
	switch form.Value("action") {
	case "decide":
		at, to, done = decisionForm, form.Value("status"), "status-changed"
		d := hiring.Decision{ID: id, Status: to}
		if err = s.renderer.TakeLimit(ctx, c, fiber.MethodPut+" /api/employers/applications/:id"); err != nil {
			break
		}
		if !form.Values.Has("send") {
			err = s.services.Hiring.Decide(ctx, by, d)
			break
		}
		done, err = "status-and-sent", s.services.Hiring.DecideAndContact(ctx, by, d, hiring.ContactInput{Subject: form.Value("subject"), Message: form.Value("message")})
	case "schedule":
		done = "interview-set"
		_, err = s.services.Hiring.Schedule(ctx, by, id, hiring.AppointmentInput{ScheduledAt: new(asUTC(form.Value("scheduledAt"))), Location: text("location"), Interviewer: text("interviewer"), Notes: text("notes")})
	case "reschedule":
		done = "interview-saved"
		_, err = s.services.Hiring.Reschedule(ctx, by, id, hiring.AppointmentInput{ScheduledAt: new(asUTC(form.Value("scheduledAt"))), Location: text("location"), Interviewer: text("interviewer"), Notes: text("notes")})
	case "cancel":
		done = "interview-off"
		_, err = s.services.Hiring.Reschedule(ctx, by, id, hiring.AppointmentInput{Status: new(hiring.Cancelled)})
	case "complete":
		done = "interview-saved"
		_, err = s.services.Hiring.Reschedule(ctx, by, id, hiring.AppointmentInput{Status: new(hiring.Completed), Outcome: new(hiring.Outcome(form.Value("outcome")))})
	case "contact":
		at, done = contactForm, "message-sent"
		_, err = s.services.Hiring.Contact(ctx, by, id, hiring.ContactInput{Subject: form.Value("subject"), Message: form.Value("message")})
	default:
		err = fault.New(fault.Invalid, "no_action_selected", "Select what to do with the application")
	}
	if err == nil {
		return redirect(c, "/employer/applications/"+id, done)
	}
	if form.Problem, err = problemOf(err, at); err != nil {
		return err
	}
	return s.showApplication(ctx, c, who, to, form)
}
