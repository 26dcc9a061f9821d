package site

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

var (
	myApplicationsPage = pages.Parse(files, "html/my-applications.html", "html/account-parts.html")
	myApplicationPage  = pages.Parse(files, "html/my-application.html", "html/account-parts.html")
	mySentPage         = pages.Parse(files, "html/my-application-sent.html", "html/account-parts.html")
)

// accountPageSize is the number of rows of each list of a clinician's account.
const accountPageSize = 20

// statusTexts maps the statuses that applicants see to the words on pages. Applicants can note "in-progress" or
// "completed" for their own overview. They then see this status instead of the employer's.
var statusTexts = map[hiring.Status]string{
	hiring.Pending:      "Sent",
	hiring.Review:       "In review",
	hiring.Interviewing: "Interview",
	hiring.Accepted:     "Accepted",
	hiring.Rejected:     "Not successful",
	hiring.Withdrawn:    "Withdrawn",
	"in-progress":       "In progress",
	"completed":         "Completed",
}

// myApplicationRow is an application in a list. StatusClass is the CSS class of the status: "good", "bad", or empty.
type myApplicationRow struct {
	hiring.View
	Title, StatusText, StatusClass string
}

// newMyApplicationRow chooses the words and the colour of the status. The application to a deleted job is kept, but has no
// title.
func newMyApplicationRow(v hiring.View) myApplicationRow {
	row := myApplicationRow{View: v, Title: v.JobTitle, StatusText: statusTexts[v.ApplicantStatus()]}
	if row.Title == "" {
		row.Title = "A deleted job"
	}

	switch v.ApplicantStatus() {
	case hiring.Accepted, hiring.Interviewing:
		row.StatusClass = "good"
	case hiring.Rejected, hiring.Withdrawn:
		row.StatusClass = "bad"
	}

	return row
}

// nextPagePath returns the path of the next page of a list, empty on the last page.
func nextPagePath(path, cursor string) string {
	if cursor == "" {
		return ""
	}

	return path + "?cursor=" + url.QueryEscape(cursor)
}

func (s *Site) myApplications(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	applications, err := s.services.Hiring.MyHistory(ctx, viewer.Actor(), pages.PageRequest(c, accountPageSize))
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myApplicationsPage, viewer, struct {
		Applications []myApplicationRow
		Next         string
	}{web.Each(applications.Items, newMyApplicationRow), nextPagePath("/account/applications", applications.NextCursor)})
}

// myAnswer is an answer with the text of its question.
type myAnswer struct{ Question, Answer string }

// myApplicationView is the page of an application.
type myApplicationView struct {
	myApplicationRow
	Detail  hiring.Detail
	Answers []myAnswer
	// Timeline has the changes of the status.
	Timeline  []myChange
	Documents []myFile
	// IsWithdrawn is set if the clinician has withdrawn the application, which is final.
	IsWithdrawn bool
	// IsUpcoming is set for an interview that will take place.
	IsUpcoming bool
	// JobPath is the page of the job, empty if it is not public.
	JobPath string
}

// myChange is a change of the status in the words for the applicant.
type myChange struct {
	Text string
	At   time.Time
}

// myFile is a link to a document that was sent with the application. Kind is the name of its file format.
type myFile struct{ Title, Path, Kind, Size string }

// loadApplication collects what the page shows. If the job is no longer public, the page has no link to it.
func (s *Site) loadApplication(ctx context.Context, viewer *pages.Viewer, id string) (v myApplicationView, err error) {
	if v.Detail, err = s.services.Hiring.MyHistoryEntry(ctx, viewer.Actor(), id); err != nil {
		return v, err
	}

	v.myApplicationRow = newMyApplicationRow(v.Detail.View)
	v.IsWithdrawn = v.WithdrawnAt != nil

	job, _, err := s.services.Listings.GetForPage(ctx, viewer.Actor(), v.ListingID)
	hasNoPage := errors.Is(err, listings.ErrGone) || fault.KindOf(err) == fault.NotFound

	switch {
	case err == nil:
		v.JobPath = jobPath(job)
	case !hasNoPage:
		return v, err
	}

	for _, a := range v.Detail.Answers {
		v.Answers = append(v.Answers, myAnswer{Question: questionText(job, a.QuestionID), Answer: a.Answer})
	}

	for _, change := range v.Detail.Timeline {
		v.Timeline = append(v.Timeline, myChange{Text: changeText(change, v.Company), At: change.At})
	}

	for _, d := range v.Detail.Documents {
		v.Documents = append(v.Documents, myFile{
			Title: d.Title,
			Path:  "/account/applications/" + v.ID + "/documents/" + d.ID,
			Kind:  mediaText(d.MediaType),
			Size:  sizeText(d.Size),
		})
	}

	interview := v.Detail.Interview
	v.IsUpcoming = interview != nil && interview.Status == hiring.Scheduled && interview.ScheduledAt.After(s.now())

	return v, nil
}

// questionText returns the text of a question of the job. It returns a heading if the job no longer has the question. The
// zero Listing, which stands for a deleted job, has no questions.
func questionText(job listings.Listing, questionID string) string {
	for _, q := range job.Questions {
		if q.ID == questionID {
			return q.Text
		}
	}

	return "Answer"
}

// changeText describes a change of the status for the applicant. company is the name of the employer, empty if it is
// unknown.
func changeText(change hiring.Change, company string) string {
	switch {
	case change.From == "": // the first status
		return "You applied."
	case change.Actor == hiring.ByApplicant: // applicants can only withdraw
		return "You withdrew your application."
	}

	if company == "" {
		company = "The employer"
	}

	switch change.To {
	case hiring.Review:
		return company + " is reviewing your application."
	case hiring.Interviewing:
		return company + " wants to interview you."
	case hiring.Accepted:
		return company + " accepted your application."
	case hiring.Rejected:
		return company + " decided not to continue with your application."
	case hiring.Withdrawn:
		return company + " closed your application."
	}

	return company + " set your application back to new."
}

func (s *Site) myApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadApplication(ctx, viewer, c.Params("id"))
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myApplicationPage, viewer, v)
}

// sentApplication confirms that an application was sent.
func (s *Site) sentApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadApplication(ctx, viewer, c.Params("id"))
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, mySentPage, viewer, v)
}

// mySentDocument sends the copy of a document that was sent with an application.
func (s *Site) mySentDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	d, body, err := s.services.Hiring.OpenMyDocument(ctx, viewer.Actor(), c.Params("id"), c.Params("documentId"))
	if err != nil {
		return err
	}

	return sendFile(c, web.File{Name: d.FileName, MediaType: d.MediaType, Size: d.Size, Body: body})
}

func (s *Site) withdrawApplication(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.services.Hiring.Withdraw(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return err
	}

	return redirect(c, "/account/applications", "withdrawn")
}

// interviewDuration is the duration of an interview in calendars. E-mailed invitations have
// the same duration.
const interviewDuration = time.Hour

// myInterview sends the interview as a calendar file. Its times are in UTC, which calendars
// convert to the time zone of their user.
func (s *Site) myInterview(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	d, err := s.services.Hiring.MyApplication(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	interview := d.Interview
	if interview == nil {
		return hiring.ErrInterviewNotFound
	}

	calendar := ics.NewCalendarFor("locum")
	calendar.SetMethod(ics.MethodPublish)

	// Calendars replace an event by one with the same id and a higher sequence number.
	event := calendar.AddEvent(interview.ID + "@interviews")
	event.SetSequence(interview.Sequence)
	event.SetDtStampTime(interview.ChangedAt.UTC())
	event.SetStartAt(interview.ScheduledAt.UTC())
	event.SetEndAt(interview.ScheduledAt.Add(interviewDuration).UTC())
	event.SetSummary(oneLine("Interview: " + d.JobTitle + ", " + d.Company))
	event.SetLocation(oneLine(interview.Location))
	event.SetDescription(oneLine("With " + interview.Interviewer))
	event.SetURL(s.publicURL + "/account/applications/" + d.ID)
	event.SetStatus(ics.ObjectStatusConfirmed)

	if interview.Status == hiring.Cancelled {
		event.SetStatus(ics.ObjectStatusCancelled)
	}

	c.Set(fiber.HeaderContentType, "text/calendar; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="interview.ics"`)

	return c.SendString(calendar.Serialize(ics.WithNewLine("\r\n")))
}

// oneLine replaces each run of white space by a single space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
