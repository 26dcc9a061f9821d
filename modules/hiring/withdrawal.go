package hiring

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/mail"
)

// OnApplicationWithdrawn adds tasks that notify the admins of the organization if the applicant has
// withdrawn the application.
func (s *Service) OnApplicationWithdrawn(ctx context.Context, eventID string, e event.ApplicationStatusChanged) error {
	isByApplicant := e.ActorID == e.CandidateID
	if !isByApplicant || Status(e.Status) != Withdrawn {
		return nil
	}

	return addAdminMails(ctx, s, kindWithdrawn, eventID, e.OrganizationID, e)
}

// mailWithdrawn notifies one admin of a withdrawal. A withdrawal that follows from the deletion of the
// applicant's account sends no e-mail, because the applicant cannot be reached any more.
func (s *Service) mailWithdrawn(ctx context.Context, m adminMail[event.ApplicationStatusChanged]) error {
	e := m.Event
	about := Application{ID: e.ApplicationID, ListingID: e.JobID, OrganizationID: e.OrganizationID, ApplicantID: e.CandidateID}

	return s.mailAdmin(ctx, m.UserID, about, func(c correspondence) mail.Letter {
		return mail.Letter{
			ID:      "withdrawn-" + e.ApplicationID + "-" + m.UserID,
			Subject: "Application withdrawn: " + c.title,
			Body: []mail.Block{
				{Text: "An applicant has withdrawn the application for " + c.title + ". An interview that was scheduled is cancelled."},
				{
					Facts: []mail.Fact{
						{Name: "Applicant", Value: c.people[e.CandidateID].Name},
						{Name: "Was", Value: statusWords[Status(e.PreviousStatus)]},
						{Name: "Withdrawn", Value: formatTime(e.ChangedAt)},
					},
				},
			},
		}
	})
}
