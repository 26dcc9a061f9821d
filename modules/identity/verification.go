package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/valid"
)

// verificationLimits limit the requests for links that confirm an address.
var verificationLimits = linkLimits{
	perMailbox: limit.Rule{Name: "verification", Max: 3, Per: time.Hour},
	perClient:  limit.Rule{Name: "verification.client", Max: 20, Per: time.Hour},
}

// RequestVerificationInput contains the address of an account.
type RequestVerificationInput struct {
	Email string `json:"email" validate:"required,max=254,email"`
}

// RequestVerification sends another link that confirms the address, if an account has the
// address and has not confirmed it. An event handler sends the e-mail. The response and its
// time are the same for other addresses, and for a client or mailbox that has exceeded its
// limit.
func (s *Service) RequestVerification(ctx context.Context, in RequestVerificationInput, from Client) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	return s.requestLink(ctx, in.Email, from, verificationLimits, func(user User) event.Event {
		isVerified := !user.EmailVerifiedAt.IsZero()
		if isVerified {
			return nil
		}

		return event.VerificationRequested{UserID: user.ID, RequestedAt: s.Clock.Now()}
	})
}

// OnVerificationRequested sends a user another link that confirms the address. It sends nothing to
// a user whose account was deleted, or who has confirmed the address since.
func (s *Service) OnVerificationRequested(ctx context.Context, e event.VerificationRequested) error {
	user, err := s.recipient(ctx, e.UserID)
	if err != nil || user.ID == "" { // the account was deleted
		return err
	}

	isVerified := !user.EmailVerifiedAt.IsZero()
	if isVerified {
		return nil
	}

	return s.sendVerification(ctx, user, verificationMail{
		id:      "verify-email-" + user.ID + "-" + encodeTime(e.RequestedAt),
		subject: "Please confirm your e-mail address",
		first:   "You asked for another link to confirm your e-mail address.",
		last:    "If you did not ask for it, you need not do anything.",
	})
}
