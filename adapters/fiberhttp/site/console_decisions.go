package site

import (
	"context"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/hiring"
)

// moveLabels maps each status to the label of the button that sets it.
var moveLabels = map[hiring.Status]string{
	hiring.Pending:      "Move back to new",
	hiring.Review:       "Move to review",
	hiring.Interviewing: "Move to interview",
	hiring.Accepted:     "Accept",
	hiring.Rejected:     "Reject",
	hiring.Withdrawn:    "Mark as withdrawn",
}

// interviewTexts maps the statuses of interviews to the texts that employers see.
var interviewTexts = map[hiring.InterviewStatus]string{
	hiring.Scheduled: "Scheduled",
	hiring.Completed: "Completed",
	hiring.Cancelled: "Cancelled",
}

// outcomeTexts maps the outcomes of completed interviews to the texts that employers see.
var outcomeTexts = map[hiring.Outcome]string{hiring.Pass: "Passed", hiring.Fail: "Not passed", hiring.Undecided: "Not decided"}

// interviewText describes the status of an interview, with the outcome of a completed one: "Completed, passed".
func interviewText(interview *hiring.Appointment) string {
	text := interviewTexts[interview.Status]
	if interview.Status == hiring.Completed {
		text += ", " + strings.ToLower(outcomeTexts[interview.Outcome])
	}

	return text
}

// messageDrafts maps a status to the message that the decision form suggests. Other statuses have no
// suggestion. draftMessage replaces NAME, JOB and COMPANY.
var messageDrafts = map[hiring.Status]struct{ subject, text string }{
	hiring.Review: {
		"Your application is being reviewed",
		"Dear NAME,\n\nThank you for your application for JOB. We are reading it now and will write to you when we have decided.\n\nCOMPANY",
	},
	hiring.Interviewing: {
		"Your application: interview",
		"Dear NAME,\n\nThank you for your application for JOB. We would like to meet you. You will get an invitation with the date and the place.\n\nCOMPANY",
	},
	hiring.Accepted: {
		"Your application was successful",
		"Dear NAME,\n\nWe are pleased to offer you the post of JOB. We will contact you about the next steps: references, checks and your start date.\n\nCOMPANY",
	},
	hiring.Rejected: {
		"Your application",
		"Dear NAME,\n\nThank you for your application for JOB, and for the time that you gave to it. We have decided not to take it further this time.\n\nWe wish you success with your search.\n\nCOMPANY",
	},
}

// draftMessage returns the initial values of the decision form for the new status. With a suggested message,
// the box that sends it is checked.
func draftMessage(newStatus hiring.Status, application hiring.Detail) url.Values {
	draft, exists := messageDrafts[newStatus]
	if !exists {
		return url.Values{}
	}

	names := strings.NewReplacer("NAME", application.Applicant.Name, "JOB", application.JobTitle, "COMPANY", application.Company)

	return url.Values{"subject": {draft.subject}, "message": {names.Replace(draft.text)}, "send": {"yes"}}
}

// dateTimeField is the format of the value of an HTML field of the type datetime-local.
const dateTimeField = "2006-01-02T15:04"

// interviewValues returns the initial values of the interview form. The box that moves the
// application to the interview stage is checked for applications in an earlier stage.
func interviewValues(application hiring.Detail) url.Values {
	values := url.Values{}
	if application.Status == hiring.Pending || application.Status == hiring.Review {
		values.Set("move", "yes")
	}

	if interview := application.Interview; interview != nil {
		values.Set("scheduledAt", interview.ScheduledAt.UTC().Format(dateTimeField))
		values.Set("location", interview.Location)
		values.Set("interviewer", interview.Interviewer)
		values.Set("notes", interview.Notes)
	}

	return values
}

// dateTimeFromField converts the value of a datetime-local field to an RFC 3339 date-time. The form asks for a time in
// UTC. Some browsers add seconds to the value. Other values are returned unchanged, and the module rejects them.
func dateTimeFromField(value string) string {
	switch len(value) {
	case len(dateTimeField):
		return value + ":00Z"
	case len("2006-01-02T15:04:05"):
		return value + "Z"
	}

	return value
}

// changeApplication handles POST /employer/applications/:id, the forms on the page of an application. The button that
// was pressed is the value of the field action. After an error that the user can correct, the page is shown again with
// the error in the form that was sent.
func (s *Site) changeApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	actor := viewer.Actor()
	form := pages.FormOf(c)
	id := c.Params("id")

	var (
		formName     string // the form that was sent, in which an error is shown
		notice       string // the key in EmployerNotices of the message about the result
		targetStatus string // the status of the decision form, to show the form for it again
		err          error
	)

	switch form.Value("action") {
	case "decide":
		formName, targetStatus = decisionForm, form.Value("status")
		notice, err = s.decide(ctx, c, actor, id, form)
	case "schedule", "reschedule", "cancel", "complete":
		formName = interviewForm
		notice, err = s.changeInterview(ctx, c, actor, id, form)
	case "contact":
		formName, notice = contactForm, "message-sent"
		_, err = s.services.Hiring.Contact(ctx, actor, id, contactInput(form))
	default: // write-note, delete-note, rate, remove-rating, or no known action
		formName, notice, err = s.discuss(ctx, actor, id, form)
	}

	if err == nil {
		return redirect(c, "/employer/applications/"+id, notice)
	}

	// Show an error that the user can correct beside the form. Any other error is returned.
	if form.Problem, err = formProblem(err, formName); err != nil {
		return err
	}

	return s.showApplication(ctx, c, viewer, targetStatus, form)
}

// contactInput returns the message to the applicant in a form.
func contactInput(form pages.Form) hiring.ContactInput {
	return hiring.ContactInput{Subject: form.Value("subject"), Message: form.Value("message")}
}

// decide sets the status of an application, and sends a message to the applicant if the box for it is checked. It
// returns the key in EmployerNotices of the message for the user. Each decision sends an e-mail. So it counts towards
// the rate limit of the API operation that changes a status.
func (s *Site) decide(ctx context.Context, c *fiber.Ctx, actor auth.Actor, id string, form pages.Form) (notice string, err error) {
	if err := s.renderer.TakeLimit(ctx, c, decisionOperation); err != nil {
		return "", err
	}

	decision := hiring.Decision{ID: id, Status: form.Value("status")}
	if form.Values.Has("send") {
		return "status-and-sent", s.services.Hiring.DecideAndContact(ctx, actor, decision, contactInput(form))
	}

	return "status-changed", s.services.Hiring.Decide(ctx, actor, decision)
}

// changeInterview schedules, changes, cancels or completes the interview of an application, as the field action of the form
// says. It returns the key in EmployerNotices of the message for the user.
func (s *Site) changeInterview(
	ctx context.Context,
	c *fiber.Ctx,
	actor auth.Actor,
	id string,
	form pages.Form,
) (notice string, err error) {
	text := func(name string) *string { return new(form.Value(name)) }
	appointment := hiring.AppointmentInput{
		ScheduledAt:   new(dateTimeFromField(form.Value("scheduledAt"))),
		Location:      text("location"),
		Interviewer:   text("interviewer"),
		Notes:         text("notes"),
		RequireFuture: true,
	}

	switch form.Value("action") {
	case "schedule":
		if form.Values.Has("move") { // the status changes too, which has a rate limit
			if err := s.renderer.TakeLimit(ctx, c, decisionOperation); err != nil {
				return "", err
			}

			return "interview-moved", s.services.Hiring.ScheduleAndMove(ctx, actor, id, appointment)
		}

		notice = "interview-set"
		_, err = s.services.Hiring.Schedule(ctx, actor, id, appointment)
	case "reschedule":
		notice = "interview-saved"
		_, err = s.services.Hiring.Reschedule(ctx, actor, id, appointment)
	case "cancel":
		notice = "interview-off"
		_, err = s.services.Hiring.Reschedule(ctx, actor, id, hiring.AppointmentInput{Status: new(hiring.Cancelled)})
	case "complete":
		notice = "interview-done"
		result := hiring.AppointmentInput{Status: new(hiring.Completed), Outcome: new(hiring.Outcome(form.Value("outcome")))}
		_, err = s.services.Hiring.Reschedule(ctx, actor, id, result)
	}

	return notice, err
}
