package hiring

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
)

// takenDown is event.JobModerated.Decision of a listing that was taken down.
const takenDown = "taken-down"

// moderatedMail is the payload of the task that mails an admin of the employer or an
// applicant about a decision of the moderators.
type moderatedMail struct {
	Event       event.JobModerated `json:"event"`
	UserID      string             `json:"user_id"`
	IsApplicant bool               `json:"is_applicant"`
}

const (
	kindModerated = "hiring.mail-job-moderated"
	// applicantsAtOnce is the number of applications that are read with a statement.
	applicantsAtOnce = 500
)

// OnJobModerated adds a task for each admin of the employer and, after a take-down, for
// each applicant who has not withdrawn.
func (s *Service) OnJobModerated(ctx context.Context, eventID string, e event.JobModerated) error {
	admins, err := s.Organizations.Admins(ctx, e.OrganizationID, maxAdmins)
	if err != nil {
		return err
	}
	if err := s.addModeratedMails(ctx, eventID, e, admins, false); err != nil || e.Decision != takenDown {
		return err
	}
	for r := page.After("", applicantsAtOnce); ; {
		found, err := s.Applications.List(ctx, Visibility{OrganizationID: e.OrganizationID}, ApplicationFilter{ListingIDs: []string{e.JobID}, Statuses: []Status{Pending, Review, Interview, Accepted}}, r)
		if err != nil {
			return err
		}
		applicants := list.Distinct(found.Items, func(a Application) string { return a.ApplicantID })
		if err := s.addModeratedMails(ctx, eventID, e, applicants, true); err != nil {
			return err
		}
		if r.Cursor = found.NextCursor; r.Cursor == "" {
			return nil
		}
	}
}

func (s *Service) addModeratedMails(ctx context.Context, eventID string, e event.JobModerated, userIDs []string, isApplicant bool) error {
	return s.Tasks.Add(ctx, list.Map(userIDs, func(id string) task.Task {
		return task.New(kindModerated, task.Mail, kindModerated+"/"+eventID+"/"+id, moderatedMail{Event: e, UserID: id, IsApplicant: isApplicant})
	})...)
}

// mailModerated mails one recipient. Applicants who want no optional mails are mailed as
// well, because they may be about to lose money or documents.
func (s *Service) mailModerated(ctx context.Context, m moderatedMail) error {
	c, err := s.correspondence(ctx, m.Event.JobID, m.Event.OrganizationID, m.UserID)
	if err != nil || c.to(m.UserID).Email == "" {
		return err
	}
	l := mail.Letter{ID: "moderated-" + m.Event.JobID + "-" + m.UserID + "-" + m.Event.DecidedAt.UTC().Format("20060102T150405.000000")}
	switch {
	case m.IsApplicant:
		l.Subject = "Job removed: " + c.title
		l.Body = []mail.Block{
			{Text: "You applied for " + c.title + " at " + c.organization + ". Our moderators have removed this job."},
			{Text: "Do not pay anything for the application, and do not send copies of documents or bank details to the employer. If you have paid, contact your bank and the police."},
			{Text: "You can withdraw your application in your account. Your other applications are not affected."},
		}
	case m.Event.Decision == takenDown:
		l.Subject = "Job removed by moderators: " + c.title
		l.Body = []mail.Block{{Text: "Our moderators have removed your job " + c.title + ". It is not public, and applicants were notified."}}
	default:
		l.Subject = "Job public again: " + c.title
		l.Body = []mail.Block{{Text: "Our moderators have checked your job " + c.title + " and do not hide it any more. It is public if it is active and its closing date has not passed."}}
	}
	if m.Event.Message != "" && !m.IsApplicant {
		l.Body = append(l.Body, mail.Block{Text: "The moderators write:"}, mail.Block{Quote: m.Event.Message})
	}
	return s.write(ctx, c, m.UserID, l)
}
