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

// statusTexts maps the statuses that applicants see to the words on pages. The last two are statuses that only
// applicants set, for their own overview.
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

// myApplicationRow is an application in a list.
type myApplicationRow struct {
	hiring.View
	Title, StatusText, StatusClass string
}

// newMyApplicationRow chooses the words and the colour of the status. An application stays when
// its job is deleted.
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
	Detail    hiring.Detail
	Answers   []myAnswer
	Timeline  []myChange
	Documents []myFile
	// IsWithdrawn is set if the clinician has withdrawn the application, which is final.
	IsWithdrawn bool
	// IsUpcoming is set for an interview that will take place.
	IsUpcoming bool
	// JobPath is the page of the job, empty if it is not public.
	JobPath string
}

// myChange is an entry of a timeline.
type myChange struct {
	Text string
	At   time.Time
}

// myFile is a link to a file that can be downloaded.
type myFile struct{ Title, Path, Kind, Size string }

// loadApplication collects what the page shows. A job that is no longer public has no link, and
// is no error.
func (s *Site) loadApplication(ctx context.Context, viewer *pages.Viewer, id string) (v myApplicationView, err error) {
	if v.Detail, err = s.services.Hiring.MyHistoryEntry(ctx, viewer.Actor(), id); err != nil {
		return v, err
	}

	v.myApplicationRow = newMyApplicationRow(v.Detail.View)
	v.IsWithdrawn = v.WithdrawnAt != nil

	job, _, err := s.services.Listings.Page(ctx, viewer.Actor(), v.ListingID)
	switch {
	case err == nil:
		v.JobPath = jobPath(job)
	case !errors.Is(err, listings.ErrGone) && fault.KindOf(err) != fault.NotFound:
		return v, err
	}

	for _, a := range v.Detail.Answers {
		v.Answers = append(v.Answers, myAnswer{questionText(job, a.QuestionID), a.Answer})
	}

	for _, ch := range v.Detail.Timeline {
		v.Timeline = append(v.Timeline, myChange{changeText(ch, v.Company), ch.At})
	}

	for _, d := range v.Detail.Documents {
		v.Documents = append(
			v.Documents,
			myFile{
				Title: d.Title,
				Path:  "/account/applications/" + v.ID + "/documents/" + d.ID,
				Kind:  mediaText(d.MediaType),
				Size:  sizeText(d.Size),
			},
		)
	}

	i := v.Detail.Interview
	v.IsUpcoming = i != nil && i.Status == hiring.Scheduled && i.ScheduledAt.After(s.now())

	return v, nil
}

// questionText returns the text of a question of the job. The job may no longer have the
// question, or may be deleted.
func questionText(job listings.Listing, id string) string {
	for _, q := range job.Questions {
		if q.ID == id {
			return q.Text
		}
	}

	return "Answer"
}

// changeText describes an entry of the timeline for the applicant.
func changeText(c hiring.Change, company string) string {
	switch {
	case c.From == "":
		return "You applied."
	case c.Actor == hiring.ByApplicant:
		return "You withdrew your application."
	}

	if company == "" {
		company = "The employer"
	}

	switch c.To {
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

	i := d.Interview
	if i == nil {
		return hiring.ErrInterviewNotFound
	}

	calendar := ics.NewCalendarFor("locum")
	calendar.SetMethod(ics.MethodPublish)

	event := calendar.AddEvent(i.ID + "@interviews")
	event.SetSequence(i.Sequence)
	event.SetDtStampTime(i.ChangedAt.UTC())
	event.SetStartAt(i.ScheduledAt.UTC())
	event.SetEndAt(i.ScheduledAt.Add(interviewDuration).UTC())
	event.SetSummary(oneLine("Interview: " + d.JobTitle + ", " + d.Company))
	event.SetLocation(oneLine(i.Location))
	event.SetDescription(oneLine("With " + i.Interviewer))
	event.SetURL(s.publicURL + "/account/applications/" + d.ID)
	event.SetStatus(ics.ObjectStatusConfirmed)

	if i.Status == hiring.Cancelled {
		event.SetStatus(ics.ObjectStatusCancelled)
	}

	c.Set(fiber.HeaderContentType, "text/calendar; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="interview.ics"`)

	return c.SendString(calendar.Serialize(ics.WithNewLine("\r\n")))
}

// oneLine replaces each run of white space by a single space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
