package hiring

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
)

// Moderators can take down a listing, which hides it from the public, and restore it. The employer is
// notified of each decision. Applicants are notified when the listing is taken down, and when it is
// then restored.

// takenDown is the value of event.JobModerated.Decision for a listing that was taken down.
const takenDown = "taken-down"

// moderatedMail is the payload of the task that notifies one user, an admin of the employer
// or an applicant, of a decision of the moderators.
type moderatedMail struct {
	Event       event.JobModerated `json:"event"`
	UserID      string             `json:"user_id"`
	IsApplicant bool               `json:"is_applicant"`
}

// kindModerated is the kind of the tasks with a moderatedMail.
const kindModerated = "hiring.mail-job-moderated"

// applicantsPerPage is the number of applications that OnJobModerated reads at a time.
const applicantsPerPage = 500

// OnJobModerated adds a task for each admin of the employer. If the job was taken down, or
// restored after that, it also adds a task for each applicant who was not rejected and has not
// withdrawn.
func (s *Service) OnJobModerated(ctx context.Context, eventID string, e event.JobModerated) error {
	admins, err := s.Organizations.Admins(ctx, e.OrganizationID, maxAdmins)
	if err != nil {
		return err
	}

	adminMails := list.Map(admins, func(adminID string) moderatedMail { return moderatedMail{Event: e, UserID: adminID} })
	if err := s.addModeratedMails(ctx, eventID, adminMails); err != nil {
		return err
	}

	concernsApplicants := e.Decision == takenDown || e.Reverses
	if !concernsApplicants {
		return nil
	}

	affected := ApplicationFilter{ListingIDs: []string{e.JobID}, Statuses: []Status{Pending, Review, Interviewing, Accepted}}
	for r := page.After("", applicantsPerPage); ; {
		applications, err := s.Applications.List(ctx, Visibility{OrganizationID: e.OrganizationID}, affected, r)
		if err != nil {
			return err
		}

		applicantIDs := list.Distinct(applications.Items, func(a Application) string { return a.ApplicantID })
		applicantMails := list.Map(applicantIDs, func(applicantID string) moderatedMail {
			return moderatedMail{Event: e, UserID: applicantID, IsApplicant: true}
		})

		if err := s.addModeratedMails(ctx, eventID, applicantMails); err != nil {
			return err
		}

		r.Cursor = applications.NextCursor
		if r.Cursor == "" {
			return nil
		}
	}
}

// addModeratedMails adds a task for each mail. The keys of the tasks contain the event, so that
// a handler that runs again adds no second task.
func (s *Service) addModeratedMails(ctx context.Context, eventID string, mails []moderatedMail) error {
	return s.Tasks.Add(ctx, list.Map(mails, func(m moderatedMail) task.Task {
		key := kindModerated + "/" + eventID + "/" + m.UserID
		return task.New(kindModerated, task.Mail, key, m)
	})...)
}

// mailModerated notifies one recipient. It also notifies applicants who do not want optional
// e-mails. The first reason is that a fraudulent employer may cost them money or documents. The
// second is that applicants who were warned need to know that the warning has ended.
func (s *Service) mailModerated(ctx context.Context, m moderatedMail) error {
	c, err := s.loadCorrespondence(ctx, m.Event.JobID, m.Event.OrganizationID, m.UserID)
	if err != nil || !c.canReach(m.UserID) {
		return err
	}

	c.page = s.pageLink("See the job", "/employer/jobs/"+m.Event.JobID)
	if m.IsApplicant {
		c.page = s.pageLink("See your applications", "/account/applications")
	}

	subject, body := moderatedText(m, c)

	// The message of the moderators is for the employer only.
	if m.Event.Message != "" && !m.IsApplicant {
		body = append(body, mail.Block{Text: "The moderators write:"}, mail.Block{Quote: m.Event.Message})
	}

	decidedAt := m.Event.DecidedAt.UTC().Format("20060102T150405.000000")

	return s.sendLetter(ctx, c, m.UserID, mail.Letter{
		ID:      "moderated-" + m.Event.JobID + "-" + m.UserID + "-" + decidedAt,
		Subject: subject,
		Body:    body,
	})
}

// moderatedText returns the subject and the text about the decision of the moderators, for an
// applicant or for an admin of the employer.
func moderatedText(m moderatedMail, c correspondence) (subject string, body []mail.Block) {
	switch {
	case m.IsApplicant && m.Event.Reverses:
		return "Job restored: " + c.title, []mail.Block{
			{
				Text: "We wrote to you that our moderators had removed the job " + c.title + " at " + c.organization +
					". They have checked it again and restored it.",
			},
			{Text: restoredText(m.Event.Public)},
		}
	case m.IsApplicant:
		return "Job removed: " + c.title, []mail.Block{
			{Text: "You applied for " + c.title + " at " + c.organization + ". Our moderators have removed this job."},
			{
				Text: "Do not pay anything for the application, and do not send copies of documents or bank details to the employer. " +
					"If you have paid, contact your bank and the police.",
			},
			{Text: "You can withdraw your application in your account. Your other applications are not affected."},
		}
	case m.Event.Decision == takenDown:
		return "Job removed by moderators: " + c.title, []mail.Block{
			{Text: "Our moderators have removed your job " + c.title + ". It is not public, and applicants were notified."},
		}
	}

	return "Job public again: " + c.title, []mail.Block{
		{
			Text: "Our moderators have checked your job " + c.title + " and do not hide it any more. " +
				"It is public if it is active and its closing date has not passed.",
		},
	}
}

// restoredText returns the text about the effect of a restoration on the application. The job may not
// be public, because the employer has closed it meanwhile.
func restoredText(isPublic bool) string {
	if isPublic {
		return "The job is open again. Your application is with the employer as before: you do not have to apply again."
	}

	return "The job does not take new applications at the moment. Your application is with the employer as before."
}
