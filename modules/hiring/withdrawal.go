package hiring

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
)

// kindWithdrawn is the kind of the tasks with a withdrawnMail.
const kindWithdrawn = "hiring.mail-application-withdrawn"

// withdrawnMail is the payload of the task that notifies one admin of a withdrawal.
type withdrawnMail struct {
	Event  event.ApplicationStatusChanged `json:"event"`
	UserID string                         `json:"user_id"`
}

// OnApplicationWithdrawn adds a task for each admin of the organization if the applicant has withdrawn
// the application. Each task sends one e-mail, so that an e-mail that cannot be delivered does not
// delay the others.
func (s *Service) OnApplicationWithdrawn(ctx context.Context, eventID string, e event.ApplicationStatusChanged) error {
	isByApplicant := e.ActorID == e.CandidateID
	if !isByApplicant || Status(e.Status) != Withdrawn {
		return nil
	}

	admins, err := s.Organizations.Admins(ctx, e.OrganizationID, maxAdmins)
	if err != nil {
		return err
	}

	return s.Tasks.Add(ctx, list.Map(admins, func(adminID string) task.Task {
		key := kindWithdrawn + "/" + eventID + "/" + adminID
		return task.New(kindWithdrawn, task.Mail, key, withdrawnMail{Event: e, UserID: adminID})
	})...)
}

// mailWithdrawn notifies one admin of a withdrawal, unless the admin has deleted the account or does
// not want e-mails about applications. A withdrawal that follows from the deletion of the
// applicant's account sends no e-mail either.
func (s *Service) mailWithdrawn(ctx context.Context, m withdrawnMail) error {
	wantsAlerts, err := s.Organizations.WantsAlerts(ctx, m.UserID)
	if err != nil || !wantsAlerts {
		return err
	}

	c, err := s.loadCorrespondence(ctx, m.Event.JobID, m.Event.OrganizationID, m.UserID, m.Event.CandidateID)
	if err != nil || !c.canReach(m.UserID) || !c.canReach(m.Event.CandidateID) {
		return err
	}

	c.page = s.pageLink("See the application", "/employer/applications/"+m.Event.ApplicationID)

	return s.sendLetter(ctx, c, m.UserID, mail.Letter{
		ID:      "withdrawn-" + m.Event.ApplicationID + "-" + m.UserID,
		Subject: "Application withdrawn: " + c.title,
		Body: []mail.Block{
			{Text: "An applicant has withdrawn the application for " + c.title + ". An interview that was scheduled is cancelled."},
			{
				Facts: []mail.Fact{
					{Name: "Applicant", Value: c.people[m.Event.CandidateID].Name},
					{Name: "Was", Value: statusWords[Status(m.Event.PreviousStatus)]},
					{Name: "Withdrawn", Value: formatTime(m.Event.ChangedAt)},
				},
			},
		},
	})
}
