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

// The e-mails of this file describe events, and not the current state. If a status has changed again
// since its event, another e-mail describes that change. An e-mail that is sent again after a failure
// has the same Message-ID.

// maxAdmins is the maximum number of admins who are notified of an event.
const maxAdmins = 10

// The kinds of the tasks with an adminMail.
const (
	kindReceived  = "hiring.mail-application-received"
	kindWithdrawn = "hiring.mail-application-withdrawn"
)

// adminMail is the payload of a task that sends one admin of an organization an e-mail about an
// application.
type adminMail[E any] struct {
	Event  E      `json:"event"`
	UserID string `json:"user_id"`
}

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

			return s.runExportTask(ctx, t, in)
		},
	}
	removeFiles := task.Handle(kindRemoveFiles, task.Maintenance, func(ctx context.Context, _ struct{}) error {
		return s.removeFiles(ctx)
	})

	return []task.Handler{
		task.Handle(kindReceived, task.Mail, s.mailReceived),
		task.Handle(kindWithdrawn, task.Mail, s.mailWithdrawn),
		task.Handle(kindModerated, task.Mail, s.mailModerated),
		export,
		removeFiles.WithTimeout(removeTimeout),
	}
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return append(
		s.ExportService.Periodic(),
		task.Periodic{Kind: "hiring.files-left", Every: 10 * time.Minute, Timeout: removeTimeout, Do: s.removeFiles},
	)
}

// OnApplicationSubmitted adds tasks that notify the admins of the organization.
func (s *Service) OnApplicationSubmitted(ctx context.Context, eventID string, e event.ApplicationSubmitted) error {
	return addAdminMails(ctx, s, kindReceived, eventID, e.OrganizationID, e)
}

// addAdminMails adds a task of the kind for each admin of the organization. Each task sends one e-mail
// about the event e, so that an e-mail that cannot be delivered does not delay the others.
func addAdminMails[E any](ctx context.Context, s *Service, kind, eventID, organizationID string, e E) error {
	admins, err := s.Organizations.Admins(ctx, organizationID, maxAdmins)
	if err != nil {
		return err
	}

	// The keys contain the event, so that a handler that runs again adds no second task.
	return s.Tasks.Add(ctx, list.Map(admins, func(adminID string) task.Task {
		key := kind + "/" + eventID + "/" + adminID
		return task.New(kind, task.Mail, key, adminMail[E]{Event: e, UserID: adminID})
	})...)
}

// mailAdmin sends one admin a letter about an application. It sends none if the admin does not want
// e-mails about the organization, or if the admin or the applicant has deleted the account.
func (s *Service) mailAdmin(
	ctx context.Context,
	adminID string,
	about Application,
	write func(c correspondence) mail.Letter,
) error {
	wantsAlerts, err := s.Organizations.WantsAlerts(ctx, adminID)
	if err != nil || !wantsAlerts {
		return err
	}

	c, err := s.loadCorrespondence(ctx, about.ListingID, about.OrganizationID, adminID, about.ApplicantID)
	if err != nil || !c.canReach(adminID) || !c.canReach(about.ApplicantID) {
		return err
	}

	c.page = s.pageLink("See the application", "/employer/applications/"+about.ID)

	return s.sendLetter(ctx, c, adminID, write(c))
}

// mailReceived notifies one admin of a new application. The e-mail does not contain the address of the
// applicant.
func (s *Service) mailReceived(ctx context.Context, m adminMail[event.ApplicationSubmitted]) error {
	e := m.Event
	about := Application{ID: e.ApplicationID, ListingID: e.JobID, OrganizationID: e.OrganizationID, ApplicantID: e.CandidateID}

	return s.mailAdmin(ctx, m.UserID, about, func(c correspondence) mail.Letter {
		return mail.Letter{
			ID:      "received-" + e.ApplicationID + "-" + m.UserID,
			Subject: "New application: " + c.title,
			Body: []mail.Block{
				{Text: "There is a new application for " + c.title + "."},
				{
					Facts: []mail.Fact{
						{Name: "Applicant", Value: c.people[e.CandidateID].Name},
						{Name: "Received", Value: formatTime(e.SubmittedAt)},
					},
				},
			},
		}
	})
}

// MailSubmitted sends a confirmation of an application to the applicant, unless the applicant does not
// want optional e-mails.
func (s *Service) MailSubmitted(ctx context.Context, e event.ApplicationSubmitted) error {
	wantsMail, err := s.Preferences.WantsMail(ctx, e.CandidateID)
	if err != nil || !wantsMail {
		return err
	}

	c, err := s.loadCorrespondence(ctx, e.JobID, e.OrganizationID, e.CandidateID)
	if err != nil || !c.canReach(e.CandidateID) {
		return err
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID:      "submitted-" + e.ApplicationID,
		Subject: "Application sent: " + c.title,
		Body: []mail.Block{
			{Text: "Your application for " + c.title + " is with " + c.organization + "."},
			{Facts: []mail.Fact{{Name: "Sent", Value: formatTime(e.SubmittedAt)}}},
			{Text: "You get another message when its status changes."},
		},
	})
}

// statusWords are the names of the statuses in e-mails.
var statusWords = map[Status]string{
	Pending:      "pending",
	Review:       "in review",
	Interviewing: "interview",
	Accepted:     "accepted",
	Rejected:     "not successful",
	Withdrawn:    "withdrawn",
}

// MailStatusChanged notifies the applicant of a decision of the employer, unless the applicant does not
// want optional e-mails.
func (s *Service) MailStatusChanged(ctx context.Context, eventID string, e event.ApplicationStatusChanged) error {
	isByApplicant := e.ActorID == e.CandidateID
	if isByApplicant { // applicants know of their own withdrawals
		return nil
	}

	wantsMail, err := s.Preferences.WantsMail(ctx, e.CandidateID)
	if err != nil || !wantsMail {
		return err
	}

	c, err := s.loadCorrespondence(ctx, e.JobID, e.OrganizationID, e.CandidateID)
	if err != nil || !c.canReach(e.CandidateID) {
		return err
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID:      "status-" + eventID,
		Subject: "Your application: " + c.title,
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
// cancellation, unless the applicant does not want optional e-mails. Replies go to the member who
// made the change.
func (s *Service) MailInterview(ctx context.Context, eventID string, e event.InterviewChanged) error {
	wantsMail, err := s.Preferences.WantsMail(ctx, e.CandidateID)
	if err != nil || !wantsMail {
		return err
	}

	c, err := s.loadCorrespondence(ctx, e.JobID, e.OrganizationID, e.CandidateID, e.ActorID)
	if err != nil || !c.canReach(e.CandidateID) {
		return err
	}

	// A withdrawal by the applicant also cancels the interview. Then no member has made the change.
	isByApplicant := e.ActorID == e.CandidateID

	var replyTo mail.Address
	if !isByApplicant {
		replyTo = c.address(e.ActorID)
	}

	text := interviewTexts(e.Change, isByApplicant)
	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID:      "interview-" + eventID,
		Subject: text.subject + c.title,
		ReplyTo: replyTo,
		Body: []mail.Block{
			{Text: fmt.Sprintf(text.change, c.organization, c.title)},
			{
				Facts: []mail.Fact{
					{Name: "When", Value: formatTime(e.ScheduledAt)},
					{Name: "Where", Value: e.Location},
					{Name: "With", Value: e.Interviewer},
				},
			},
			{Text: text.attachment},
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

// interviewText contains the texts of an e-mail about an interview.
type interviewText struct {
	subject    string // the title of the job follows
	change     string // a format for the names of the employer and of the job
	attachment string // describes the attached calendar file
}

// interviewTexts returns the texts for the kind of change. For a cancellation, isByApplicant
// reports whether it follows from the applicant's own withdrawal.
func interviewTexts(change string, isByApplicant bool) interviewText {
	const (
		addsToCalendar      = "The attached invitation puts this into your calendar, in your own time zone."
		removesFromCalendar = "The attached file takes this out of your calendar."
	)

	switch {
	case change == event.InterviewMoved:
		return interviewText{
			subject:    "Changed interview: ",
			change:     "%s changed your interview for %s. This is how it stands now:",
			attachment: addsToCalendar,
		}
	case change == event.InterviewCancelled && isByApplicant:
		return interviewText{
			subject:    "Cancelled interview: ",
			change:     "Your interview with %s for %s is cancelled, since you withdrew your application. It was to be:",
			attachment: removesFromCalendar,
		}
	case change == event.InterviewCancelled:
		return interviewText{
			subject:    "Cancelled interview: ",
			change:     "%s cancelled your interview for %s. It was to be:",
			attachment: removesFromCalendar,
		}
	}

	return interviewText{
		subject:    "Interview: ",
		change:     "%s invites you to an interview for %s.",
		attachment: addsToCalendar,
	}
}

// MailContact sends a message of the employer to the applicant. It also sends it to applicants who do
// not want optional e-mails, because they can read the message nowhere else. Replies go to the
// sender.
func (s *Service) MailContact(ctx context.Context, e event.ApplicantContacted) error {
	message, err := s.Messages.Get(ctx, e.OrganizationID, e.MessageID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil // the applicant has deleted their account
	case err != nil:
		return err
	}

	c, err := s.loadCorrespondence(ctx, e.JobID, e.OrganizationID, e.CandidateID, message.SenderID)
	if err != nil || !c.canReach(e.CandidateID) {
		return err
	}

	c.page = s.pageLink("See your application", "/account/applications/"+e.ApplicationID)

	return s.sendLetter(ctx, c, e.CandidateID, mail.Letter{
		ID:      "contact-" + message.ID,
		Subject: message.Subject,
		ReplyTo: c.address(message.SenderID),
		Body: []mail.Block{
			{Text: c.organization + " writes about your application for " + c.title + ":"},
			{Quote: message.Text},
			{Text: "Your answer to this message goes to " + c.organization + "."},
		},
	})
}

// correspondence contains the names and addresses for an e-mail about a job. The title and the
// organization are texts of an employer. If one contains a link, it is replaced (mail.SafeName).
type correspondence struct {
	title        string            // of the job
	organization string            // the name of the employer
	people       map[string]Person // by user id, without users who have deleted their account
	// page is a link to the page that the e-mail is about, or nil.
	page *mail.Link
}

// address returns the address of the user, which is empty for a user who has deleted their account.
func (c correspondence) address(userID string) mail.Address {
	return mail.Address{Name: c.people[userID].Name, Email: c.people[userID].Email}
}

// canReach reports whether the user has an address. Users who have deleted their account have none.
func (c correspondence) canReach(userID string) bool { return c.people[userID].Email != "" }

// loadCorrespondence reads the names and addresses for an e-mail about a listing. The userIDs are the
// ids of the recipient and of the other users whom the e-mail mentions. Empty ids are ignored, because
// the event about a closed organization has no actor.
func (s *Service) loadCorrespondence(
	ctx context.Context,
	listingID, organizationID string,
	userIDs ...string,
) (correspondence, error) {
	userIDs = slices.DeleteFunc(userIDs, func(userID string) bool { return userID == "" })

	people, err := s.People.ByIDs(ctx, userIDs)
	if err != nil {
		return correspondence{}, err
	}

	briefs, err := s.Listings.ListBriefs(ctx, []string{listingID})
	if err != nil {
		return correspondence{}, err
	}

	organization, err := s.Organizations.Name(ctx, organizationID)

	return correspondence{
		title:        mail.SafeName(briefs[listingID].Title, "the job"),
		organization: mail.SafeName(organization, "the employer"),
		people:       people,
	}, err
}

// pageLink returns a link to a page of the site, or nil without the site.
func (s *Shared) pageLink(label, path string) *mail.Link {
	if !s.HasSite {
		return nil
	}

	return &mail.Link{Label: label, URL: s.PublicURL + path}
}

// sendLetter completes the letter with its recipient, who is the user, and with the link to its page,
// and sends it.
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
// and their outcomes. OnAccountDeleted withdraws applications without a decision, cancels their
// interviews, and deletes:
//   - the texts of the applicant, the messages to the applicant and the documents,
//   - the notes about interviews and applications, and the ratings,
//   - the files of exports that may name the applicant.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	err := tx.DoBatches(ctx, s.Tx, withdrawBatchSize, func(ctx context.Context) (int, error) {
		return s.withdrawBatch(ctx, e.UserID)
	})
	if err != nil {
		return err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error { return s.PersonalData.EraseByApplicant(ctx, e.UserID) })
	if err != nil {
		return err
	}

	return s.deleteExportsMentioning(ctx, e.UserID, e.DeletedAt)
}

// withdrawBatch withdraws at most withdrawBatchSize applications of a deleted applicant and
// returns their number.
func (s *Service) withdrawBatch(ctx context.Context, applicantID string) (int, error) {
	visible := Visibility{ApplicantID: applicantID}

	// The empty filter excludes withdrawn applications. So each call gets applications that no
	// earlier call has withdrawn.
	active, err := s.Applications.List(ctx, visible, ApplicationFilter{}, page.After("", withdrawBatchSize))
	if err != nil {
		return 0, err
	}

	by := auth.Actor{UserID: applicantID}
	for i := range active.Items {
		application := &active.Items[i]
		if err := s.cancelInterview(ctx, by, application); err != nil {
			return 0, err
		}

		previous := application.Status

		hasChanged := application.Abandon(s.Clock.Now())
		if err := s.storeWithdrawal(ctx, by, application, previous, hasChanged); err != nil {
			return 0, err
		}
	}

	return len(active.Items), nil
}

// deleteExportsMentioning deletes the exports of applications that may contain the applicant. The
// exports of an organization may contain the applicant if the applicant has applied to it. Only
// exports that were created at the time until or earlier are deleted. An export may be deleted while
// its task is writing the file. The task then fails to update the export, and its next attempt finds
// no export and deletes the file.
func (s *Service) deleteExportsMentioning(ctx context.Context, applicantID string, until time.Time) error {
	const pageSize = 1_000

	// All applications of the applicant are withdrawn at this point.
	withdrawn := ApplicationFilter{Withdrawn: OnlyWithdrawn}
	for r := page.After("", pageSize); ; {
		applications, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, withdrawn, r)
		if err != nil || len(applications.Items) == 0 {
			return err
		}

		mentioning := ExportFilter{
			OrganizationIDs: list.Distinct(applications.Items, func(a Application) string { return a.OrganizationID }),
			Kind:            applicationsKind,
			Begun:           true,                        // a queued export has not read any rows yet
			CreatedBefore:   until.Add(time.Microsecond), // stored times have microseconds
		}
		if err := s.deleteExports(ctx, mentioning); err != nil {
			return err
		}

		r.Cursor = applications.NextCursor
		if r.Cursor == "" {
			return nil
		}
	}
}
