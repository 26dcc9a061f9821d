package hiring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// The e-mails of this file describe the events, and not the current state. An e-mail that is
// sent again after a failure has the same Message-ID.

// maxAdmins is the maximum number of admins who are notified of an event.
const maxAdmins = 10

// receivedMail is the payload of the task that notifies one admin of a new application.
type receivedMail struct {
	Event  event.ApplicationSubmitted `json:"event"`
	UserID string                     `json:"user_id"`
}

// kindReceived is the kind of the tasks with a receivedMail.
const kindReceived = "hiring.mail-application-received"

// Handlers returns the handlers of the tasks that the module adds.
func (s *Service) Handlers() []task.Handler {
	export := task.Handler{
		Kind:     kindExport,
		Queue:    task.Exports,
		Timeout:  exportTaskTimeout,
		Attempts: exportAttempts,
		Do: func(ctx context.Context, t task.Task) error {
			var in exportTask
			if err := json.Unmarshal(t.Payload, &in); err != nil {
				return task.Permanent(err)
			}

			return s.export(ctx, t, in)
		},
	}
	remove := task.Handle(kindRemoveFiles, task.Maintenance, func(ctx context.Context, _ struct{}) error { return s.removeFiles(ctx) }).
		WithTimeout(removeTimeout)

	return []task.Handler{
		task.Handle(kindReceived, task.Mail, s.mailReceived),
		task.Handle(kindWithdrawn, task.Mail, s.mailWithdrawn),
		task.Handle(kindModerated, task.Mail, s.mailModerated),
		export,
		remove,
	}
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return append(
		s.ExportService.Periodic(),
		task.Periodic{Kind: "hiring.files-left", Every: 10 * time.Minute, Timeout: removeTimeout, Do: s.removeFiles},
	)
}

// OnApplicationSubmitted adds a task for each admin of the organization, so that an e-mail
// that cannot be delivered does not delay the others.
func (s *Service) OnApplicationSubmitted(ctx context.Context, eventID string, e event.ApplicationSubmitted) error {
	admins, err := s.Organizations.Admins(ctx, e.OrganizationID, maxAdmins)
	if err != nil {
		return err
	}

	return s.Tasks.Add(ctx, list.Map(admins, func(id string) task.Task {
		return task.New(kindReceived, task.Mail, kindReceived+"/"+eventID+"/"+id, receivedMail{Event: e, UserID: id})
	})...)
}

// mailReceived notifies one admin of a new application. The e-mail does not contain the address
// of the applicant.
func (s *Service) mailReceived(ctx context.Context, m receivedMail) error {
	if wants, err := s.Organizations.WantsAlerts(ctx, m.UserID); err != nil || !wants {
		return err
	}

	c, err := s.correspondence(ctx, m.Event.JobID, m.Event.OrganizationID, m.UserID, m.Event.CandidateID)
	if err != nil || c.address(m.UserID).Email == "" || c.address(m.Event.CandidateID).Email == "" {
		return err // the admin or the applicant has deleted their account
	}

	c.page = s.pageLink("See the application", "/employer/applications/"+m.Event.ApplicationID)

	return s.sendLetter(ctx, c, m.UserID, mail.Letter{
		ID: "received-" + m.Event.ApplicationID + "-" + m.UserID, Subject: "New application: " + c.title,
		Body: []mail.Block{
			{Text: "There is a new application for " + c.title + "."},
			{
				Facts: []mail.Fact{
					{Name: "Applicant", Value: c.people[m.Event.CandidateID].Name},
					{Name: "Received", Value: formatTime(m.Event.SubmittedAt)},
				},
			},
		},
	})
}

// MailSubmitted sends a confirmation of an application to the applicant.
func (s *Service) MailSubmitted(ctx context.Context, e event.ApplicationSubmitted) error {
	if wants, err := s.Preferences.WantsMail(ctx, e.CandidateID); err != nil || !wants {
		return err
	}

	c, err := s.correspondence(ctx, e.JobID, e.OrganizationID, e.CandidateID)
	if err != nil || c.address(e.CandidateID).Email == "" {
		return err
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID: "submitted-" + e.ApplicationID, Subject: "Application sent: " + c.title,
		Body: []mail.Block{
			{Text: "Your application for " + c.title + " is with " + c.organization + "."},
			{Facts: []mail.Fact{{Name: "Sent", Value: formatTime(e.SubmittedAt)}}},
			{Text: "You get another message when its status changes."},
		},
	})
}

// statusWords are the names of the statuses in e-mails.
var statusWords = map[Status]string{
	Pending:   "pending",
	Review:    "in review",
	Interview: "interview",
	Accepted:  "accepted",
	Rejected:  "not successful",
	Withdrawn: "withdrawn",
}

// MailStatusChanged notifies the applicant of a decision of the employer.
func (s *Service) MailStatusChanged(ctx context.Context, eventID string, e event.ApplicationStatusChanged) error {
	if e.ActorID == e.CandidateID { // applicants know of their own withdrawals
		return nil
	}

	if wants, err := s.Preferences.WantsMail(ctx, e.CandidateID); err != nil || !wants {
		return err
	}

	c, err := s.correspondence(ctx, e.JobID, e.OrganizationID, e.CandidateID)
	if err != nil || c.address(e.CandidateID).Email == "" {
		return err
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID: "status-" + eventID, Subject: "Your application: " + c.title,
		Body: []mail.Block{
			{Text: "There is news of your application for " + c.title + " at " + c.organization + "."},
			{
				Facts: []mail.Fact{
					{Name: "It was", Value: statusWords[Status(e.PreviousStatus)]},
					{Name: "It is now", Value: statusWords[Status(e.Status)]},
					{Name: "Since", Value: formatTime(e.ChangedAt)},
				},
			},
		},
	})
}

// MailInterview sends the applicant an invitation to the interview, its change or its
// cancellation. Replies go to the member who made the change.
func (s *Service) MailInterview(ctx context.Context, eventID string, e event.InterviewChanged) error {
	if wants, err := s.Preferences.WantsMail(ctx, e.CandidateID); err != nil || !wants {
		return err
	}

	c, err := s.correspondence(ctx, e.JobID, e.OrganizationID, e.CandidateID, e.ActorID)
	if err != nil || c.address(e.CandidateID).Email == "" {
		return err
	}

	subject := "Interview: " + c.title
	text := "%s invites you to an interview for %s."

	file := "The attached invitation puts this into your calendar, in your own time zone."
	switch e.Change {
	case event.InterviewMoved:
		subject = "Changed interview: " + c.title
		text = "%s changed your interview for %s. This is how it stands now:"
	case event.InterviewCancelled:
		subject = "Cancelled interview: " + c.title
		text = "%s cancelled your interview for %s. It was to be:"
		file = "The attached file takes this out of your calendar."

		if e.ActorID == e.CandidateID {
			text = "Your interview with %s for %s is cancelled, since you withdrew your application. It was to be:"
		}
	}

	// If the applicant has withdrawn the application, there is no member who made the change.
	var replyTo mail.Address
	if e.ActorID != e.CandidateID {
		replyTo = c.address(e.ActorID)
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID: "interview-" + eventID, Subject: subject, ReplyTo: replyTo,
		Body: []mail.Block{
			{Text: fmt.Sprintf(text, c.organization, c.title)},
			{
				Facts: []mail.Fact{
					{Name: "When", Value: formatTime(e.ScheduledAt)},
					{Name: "Where", Value: e.Location},
					{Name: "With", Value: e.Interviewer},
				},
			},
			{Text: file},
		},
		Invite: &mail.Invite{
			UID:         e.InterviewID,
			Sequence:    e.Sequence,
			Cancelled:   e.Change == event.InterviewCancelled,
			Start:       e.ScheduledAt,
			End:         e.ScheduledAt.Add(interviewDuration),
			Stamp:       e.ChangedAt,
			Summary:     "Interview: " + c.title,
			Location:    e.Location,
			Description: "With " + e.Interviewer + " of " + c.organization,
			Organizer:   mail.Address{Name: c.organization},
			Attendee:    c.address(e.CandidateID),
		},
	})
}

// MailContact sends a message of the employer to the applicant, also to applicants who do not
// want optional e-mails, because no page of the applicant shows the message. Replies go to the
// sender.
func (s *Service) MailContact(ctx context.Context, e event.ApplicantContacted) error {
	message, err := s.Messages.Get(ctx, e.OrganizationID, e.MessageID)
	if errors.Is(err, ErrNotFound) {
		return nil // the applicant has deleted their account
	} else if err != nil {
		return err
	}

	c, err := s.correspondence(ctx, e.JobID, e.OrganizationID, e.CandidateID, message.SenderID)
	if err != nil || c.address(e.CandidateID).Email == "" {
		return err
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID: "contact-" + message.ID, Subject: message.Subject, ReplyTo: c.address(message.SenderID),
		Body: []mail.Block{
			{Text: c.organization + " writes about your application for " + c.title + ":"},
			{Quote: message.Text},
			{Text: "Your answer to this message goes to " + c.organization + "."},
		},
	})
}

// correspondence contains the names and addresses for an e-mail.
type correspondence struct {
	title, organization string            // of the job and of the employer, safe for an e-mail
	people              map[string]Person // by user id
	// page is a link to the page that the e-mail is about, or nil.
	page *mail.Link
}

// address returns the address of the user, which is empty for a deleted one.
func (c correspondence) address(userID string) mail.Address {
	return mail.Address{Name: c.people[userID].Name, Email: c.people[userID].Email}
}

// correspondence reads the names and addresses for an e-mail. Deleted users have no address.
func (s *Service) correspondence(ctx context.Context, listingID, organizationID string, userIDs ...string) (c correspondence, err error) {
	// The actor is empty if the organization was closed.
	userIDs = slices.DeleteFunc(userIDs, func(id string) bool { return id == "" })
	if c.people, err = s.People.ByIDs(ctx, userIDs); err != nil {
		return c, err
	}

	briefs, err := s.Listings.Briefs(ctx, []string{listingID})
	if err != nil {
		return c, err
	}

	c.title = mail.SafeName(briefs[listingID].Title, "the job")
	name, err := s.Organizations.Name(ctx, organizationID)
	c.organization = mail.SafeName(name, "the employer")

	return c, err
}

// pageLink returns a link to a page of the site, or nil without the site.
func (s *Shared) pageLink(label, path string) *mail.Link {
	if !s.HasSite {
		return nil
	}

	return &mail.Link{Label: label, URL: s.PublicURL + path}
}

// sendLetter completes the letter with the recipient and the link to its page, and sends it.
func (s *Shared) sendLetter(ctx context.Context, c correspondence, userID string, l mail.Letter) error {
	l.To = c.address(userID)
	l.Greeting = c.people[userID].Name

	l.Home = s.PublicURL
	if c.page != nil {
		l.Body = append(l.Body, mail.Block{Link: c.page})
	}

	return mail.Deliver(ctx, s.Mailer, l)
}

// formatTime formats a time for the text of an e-mail.
func formatTime(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006, 15:04 UTC") }

// DeletedName replaces the name of an applicant who has deleted their account.
const DeletedName = "Deleted user"

// withdrawBatchSize is the maximum number of applications that one transaction withdraws.
const withdrawBatchSize = 20

// OnAccountDeleted removes the personal data of an applicant. Employers keep the applications
// and their outcomes. Applications without a decision are withdrawn and their interviews
// cancelled. It deletes:
//   - the texts of the applicant, the messages to the applicant and the documents,
//   - the notes about interviews and applications, and the ratings,
//   - the files of exports that may name the applicant.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	err := tx.DoBatches(ctx, s.Tx, withdrawBatchSize, func(ctx context.Context) (int, error) { return s.withdrawBatch(ctx, e.UserID) })
	if err != nil {
		return err
	}

	if err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.PersonalData.EraseByApplicant(ctx, e.UserID) }); err != nil {
		return err
	}

	return s.deleteExportsMentioning(ctx, e.UserID, e.DeletedAt)
}

// withdrawBatch withdraws at most withdrawBatchSize applications of a deleted applicant and
// returns their number.
func (s *Service) withdrawBatch(ctx context.Context, applicantID string) (int, error) {
	active, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After("", withdrawBatchSize))
	if err != nil {
		return 0, err
	}

	by := auth.Actor{UserID: applicantID}
	for i := range active.Items {
		a := &active.Items[i]
		if err := s.cancelInterview(ctx, by, a); err != nil {
			return 0, err
		}

		from := a.Status
		if err := s.storeWithdrawal(ctx, by, a, from, a.Abandon(s.Clock.Now())); err != nil {
			return 0, err
		}
	}

	return len(active.Items), nil
}

// deleteExportsMentioning deletes the exports of applications that may contain the applicant:
// those of all organizations that the applicant has applied to, created at the given time or
// earlier. If an export is being written, the task finds no row at its end and deletes the
// file.
func (s *Service) deleteExportsMentioning(ctx context.Context, applicantID string, createdBy time.Time) error {
	const pageSize = 1_000
	for r := page.After("", pageSize); ; {
		applications, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{Withdrawn: OnlyWithdrawn}, r)
		if err != nil || len(applications.Items) == 0 {
			return err
		}

		f := ExportFilter{
			OrganizationIDs: list.Distinct(applications.Items, func(a Application) string { return a.OrganizationID }),
			Kind:            "applications",
			Begun:           true,
			CreatedBefore:   createdBy.Add(time.Microsecond),
		}
		if err := s.deleteExports(ctx, f); err != nil {
			return err
		}

		r.Cursor = applications.NextCursor
		if r.Cursor == "" {
			return nil
		}
	}
}
