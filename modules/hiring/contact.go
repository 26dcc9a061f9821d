package hiring

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/valid"
)

// Message is a message of an employer to an applicant.
type Message struct {
	ID             string
	ApplicationID  string
	OrganizationID string
	SenderID       string
	Subject        string
	Text           string
	SentAt         time.Time
}

// messagesPerDay limits the messages of an organization, so that a stolen account cannot be
// used to send spam.
var messagesPerDay = limit.Rule{Name: "hiring-contact", Max: 50, Per: 24 * time.Hour}

// interviewNoticesPerDay limits the e-mails about scheduled and moved interviews that an applicant is
// sent about one application.
var interviewNoticesPerDay = limit.Rule{Name: "hiring-interview", Max: 20, Per: 24 * time.Hour}

// ContactInput is a message to an applicant.
type ContactInput struct {
	Subject string `json:"subject" validate:"required,notblank,max=200"`
	Message string `json:"message" validate:"required,notblank,max=10000"`
}

// Contact stores a message to an applicant and returns the applicant's e-mail address. An event handler
// sends the message (MailContact).
func (s *Service) Contact(
	ctx context.Context,
	by auth.Actor,
	applicationID string,
	in ContactInput,
) (address string, err error) {
	if err := cmp.Or(by.Require(auth.ApplicationsUpdate), valid.Check("", in)); err != nil {
		return "", err
	}

	in.Subject, in.Message = strings.TrimSpace(in.Subject), strings.TrimSpace(in.Message)

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return "", err
	}

	people, err := s.People.ByIDs(ctx, []string{application.ApplicantID})
	if err != nil {
		return "", err
	}

	address = people[application.ApplicantID].Email
	if address == "" {
		return "", ErrNotFound // the applicant has deleted their account
	}

	if err := limit.Take(ctx, s.Limiter, messagesPerDay, by.OrganizationID); err != nil {
		return "", err
	}

	return address, s.Tx.Do(ctx, func(ctx context.Context) error {
		message := Message{
			ID:             s.NewID(),
			ApplicationID:  application.ID,
			OrganizationID: application.OrganizationID,
			SenderID:       by.UserID,
			Subject:        in.Subject,
			Text:           in.Message,
			SentAt:         s.Clock.Now(),
		}
		if err := s.Messages.Create(ctx, message); err != nil {
			return err
		}

		return s.Events.Record(ctx, event.ApplicantContacted{
			MessageID:      message.ID,
			ApplicationID:  application.ID,
			JobID:          application.ListingID,
			OrganizationID: application.OrganizationID,
			CandidateID:    application.ApplicantID,
			SentAt:         message.SentAt,
		})
	})
}

// DecideAndContact sets the status of an application and sends a message to the applicant,
// in one transaction.
func (s *Service) DecideAndContact(ctx context.Context, by auth.Actor, d Decision, in ContactInput) error {
	if err := cmp.Or(by.Require(auth.ApplicationsUpdate), valid.Check("", in)); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Decide(ctx, by, d); err != nil {
			return err
		}

		_, err := s.Contact(ctx, by, d.ID, in)

		return err
	})
}

// maxSentMessages is the maximum number of messages that SentMessages returns.
const maxSentMessages = 50

// SentMessage is a message to an applicant with the name of its sender.
type SentMessage struct {
	Message
	Sender string
}

// SentMessages returns the newest messages of the organization about an application, the newest
// first.
func (s *Service) SentMessages(ctx context.Context, by auth.Actor, applicationID string) ([]SentMessage, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return nil, err
	}

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return nil, err
	}

	messages, err := s.Messages.List(ctx, by.OrganizationID, application.ID, maxSentMessages)
	if err != nil || len(messages) == 0 {
		return nil, err
	}

	senderIDs := list.Distinct(messages, func(m Message) string { return m.SenderID })

	senders, err := s.People.ByIDs(ctx, senderIDs)
	if err != nil {
		return nil, err
	}

	return list.Map(messages, func(m Message) SentMessage {
		return SentMessage{Message: m, Sender: cmp.Or(senders[m.SenderID].Name, DeletedName)}
	}), nil
}
