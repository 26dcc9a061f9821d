package identity

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
)

// E-mails are sent by event handlers, so that no request waits for a mail server and no event
// contains a token. A handler that runs twice creates a second token and sends the e-mail again.
// Both tokens are then valid until one is used. The e-mails have the same id, so that a mail server
// can recognize the second one.

// OnUserRegistered sends a new user the link that confirms the address.
func (s *Service) OnUserRegistered(ctx context.Context, e event.UserRegistered) error {
	user, err := s.recipient(ctx, e.UserID)
	if err != nil || user.ID == "" { // the account was deleted
		return err
	}

	isVerified := !user.EmailVerifiedAt.IsZero()
	if isVerified {
		return nil
	}

	return s.sendVerification(ctx, user, verificationMail{
		id:      "verify-email-" + user.ID,
		subject: "Please confirm your e-mail address",
		first:   "Welcome to locum. Please confirm that this is your e-mail address.",
		last:    "If you did not register, you need not do anything.",
	})
}

// verificationMail is an e-mail with a link that confirms an address. The texts first and last
// surround the link.
type verificationMail struct{ id, subject, first, last string }

// sendVerification sends an e-mail with a link that confirms the address of the user.
func (s *Service) sendVerification(ctx context.Context, user User, m verificationMail) error {
	token, err := s.createMailToken(ctx, user, ForVerification, noOrganization, s.Clock.Now())
	if err != nil {
		return fault.IfNotFound(err, nil) // the account was deleted
	}

	programs, err := s.programBlocks(ctx, user.ID)
	if err != nil {
		return err
	}

	body := slices.Concat([]mail.Block{
		{Text: m.first},
		s.link("Confirm the address", "verify-email", token),
		{Text: "The link works once, for 24 hours."},
	}, programs, []mail.Block{{Text: m.last}, apiHint, {Code: token}})

	return s.send(ctx, user, m.id, m.subject, body...)
}

// programBlocks lists the programs of the account (API keys, applications, webhooks), for an e-mail
// that asks to confirm the address. Someone else may have registered the account and connected the
// programs.
func (s *Service) programBlocks(ctx context.Context, userID string) ([]mail.Block, error) {
	programs, err := s.Programs.List(ctx, userID)
	if err != nil || len(programs) == 0 {
		return nil, err
	}

	return []mail.Block{
		{Text: "These programs belong to the account. If you do not know them, set a new password: that ends their access."},
		listBlock(describePrograms(programs)),
		s.newPasswordLink(),
	}, nil
}

// listBlock returns a list with the lines as items.
func listBlock(lines []string) mail.Block {
	return mail.Block{Items: list.Map(lines, func(line string) mail.Entry { return mail.Entry{Title: line} })}
}

// OnPasswordResetRequested sends the link that sets a new password.
func (s *Service) OnPasswordResetRequested(ctx context.Context, e event.PasswordResetRequested) error {
	user, err := s.recipient(ctx, e.UserID)
	if err != nil || user.ID == "" { // the account was deleted
		return err
	}

	token, err := s.createMailToken(ctx, user, ForReset, noOrganization, s.Clock.Now())
	if err != nil {
		return fault.IfNotFound(err, nil) // the account was deleted
	}

	return s.send(ctx, user, "reset-password-"+user.ID+"-"+encodeTime(e.RequestedAt), "Set a new password",
		mail.Block{Text: "Somebody, hopefully you, asked for a new password for your account."},
		s.link("Set a new password", "reset-password", token),
		mail.Block{Text: "The link works once, for 30 minutes."},
		mail.Block{Text: "If it was not you, your password stays as it is and you need not do anything."},
		apiHint, mail.Block{Code: token})
}

// OnSecondFactorChanged notifies the owner of the account, in case someone else has made the
// change.
func (s *Service) OnSecondFactorChanged(ctx context.Context, e event.SecondFactorChanged) error {
	subject, text := "Two-step sign-in is off", "The second factor of your account was removed on "
	if e.Change == string(audit.SecondFactorEnabled) {
		subject, text = "Two-step sign-in is on", "A second factor was added to your account on "
	}

	return s.notify(ctx, e.UserID, "second-factor-"+e.UserID+"-"+encodeTime(e.ChangedAt), subject,
		mail.Block{Text: text + formatTime(e.ChangedAt) + "."},
		mail.Block{Text: "If it was not you, set a new password now."}, s.newPasswordLink())
}

// OnPasswordChanged notifies the owner of the account, in case someone else has made the change.
func (s *Service) OnPasswordChanged(ctx context.Context, e event.PasswordChanged) error {
	body := []mail.Block{
		{
			Text: "The password of your account was changed on " + formatTime(e.ChangedAt) + ", and your other devices were signed out. " +
				"If another e-mail address was waiting to be confirmed, it is not any more: your address stays the one that it is.",
		},
	}
	if len(e.Programs) > 0 {
		body = append(body, mail.Block{Text: "Access by these programs was revoked, and webhooks were paused:"}, listBlock(e.Programs))
	}

	body = append(body, mail.Block{Text: "If it was not you, please set a new password now."}, s.newPasswordLink())

	return s.notify(ctx, e.UserID, "password-changed-"+e.UserID+"-"+encodeTime(e.ChangedAt), "Your password was changed", body...)
}

// OnProgramsSignedOut notifies the owner of an account that the access of its programs was
// revoked. It sends nothing if the account had no programs.
func (s *Service) OnProgramsSignedOut(ctx context.Context, e event.ProgramsSignedOut) error {
	if len(e.Programs) == 0 {
		return nil
	}

	return s.notify(
		ctx,
		e.UserID,
		"programs-signed-out-"+e.UserID+"-"+encodeTime(e.SignedOutAt),
		"Programs of your account were signed out",
		mail.Block{
			Text: "You joined an organization with an account whose e-mail address had not been confirmed before. To be safe, access by these programs was revoked, and webhooks were paused:",
		},
		listBlock(e.Programs),
		mail.Block{
			Text: "If they are yours, create new API keys and resume the webhooks in the developer dashboard. If they are not, set a new password.",
		},
		s.newPasswordLink(),
	)
}

// OnSessionReuseDetected notifies the owner that a session was ended because its
// refresh token was used twice.
func (s *Service) OnSessionReuseDetected(ctx context.Context, e event.SessionReuseDetected) error {
	return s.notify(
		ctx,
		e.UserID,
		"session-reuse-"+e.SessionID,
		"We signed out one of your devices",
		mail.Block{
			Text: "A sign-in of your account was used from two places with the same key. That can be a fault in an app; it can also mean that somebody copied it. To be safe we ended that sign-in. Please sign in again.",
		},
		mail.Block{Text: "If you are not sure what happened, set a new password."},
		s.newPasswordLink(),
	)
}

// OnMemberInvited sends an organization's invitation, unless it was withdrawn or accepted meanwhile.
func (s *Service) OnMemberInvited(ctx context.Context, e event.MemberInvited) error {
	member, err := s.Members.Get(ctx, e.OrganizationID, e.UserID)
	if errors.Is(err, ErrNotInTeam) { // the invitation was withdrawn
		return nil
	}

	if err != nil || member.Status != MemberInvited { // the invitation was accepted
		return err
	}

	organization, err := s.getOrganization(ctx, e.OrganizationID)
	if err != nil {
		return err
	}

	user, err := s.getUser(ctx, e.UserID)
	if err != nil {
		return fault.IfNotFound(err, nil) // the user was deleted
	}

	token, err := s.createMailToken(ctx, user, ForInvitation, e.OrganizationID, s.Clock.Now())
	if err != nil {
		return fault.IfNotFound(err, nil) // the account was deleted
	}

	mailbox := s.Mailboxes.Key(user.Email)

	optOutToken, err := s.Sealer.Seal(auth.ForOptOut, optOutSubject(mailbox), e.InvitedAt.Add(optOutLife))
	if err != nil {
		return err
	}

	name := mail.SafeName(organization.Name, "an organization")

	// An invited user without an account is greeted with the name that this organization has entered.
	nextStep := "choose a password and start"
	if user.Status == UserActive {
		nextStep = "you have an account already, so sign in with it and accept"
	} else {
		user.Name = member.InvitedName
	}

	optOutURL := s.PublicURL + "/unsubscribe?invitations=" + url.QueryEscape(optOutToken)

	return s.send(
		ctx,
		user,
		"invitation-"+member.ID+"-"+encodeTime(e.InvitedAt),
		"Join "+name+" on locum",
		mail.Block{Text: name + " would like you to join its team on locum. If you agree, " + nextStep + "."},
		s.link("Join the team", "accept-invitation", token),
		mail.Block{Text: "The link works once, for 7 days."},
		mail.Block{Text: "If you do not know " + name + ", you need not do anything."},
		mail.Block{Link: &mail.Link{Label: "Do not send me invitations", URL: optOutURL}},
		apiHint,
		mail.Block{Code: token},
	)
}

// optOutLife is the lifetime of the opt-out link in an invitation.
const optOutLife = 90 * 24 * time.Hour

// recipient returns the user to whom an e-mail is sent. If the account is not active, for example
// because it was deleted, it returns the zero User. The callers recognize the zero User by its
// empty ID and send no e-mail.
func (s *Service) recipient(ctx context.Context, userID string) (User, error) {
	u, err := s.getUser(ctx, userID)
	if err != nil || u.Status != UserActive {
		return User{}, fault.IfNotFound(err, nil)
	}

	return u, nil
}

// notify sends an e-mail to the user if the account is active. See send for the id.
func (s *Service) notify(ctx context.Context, userID, id, subject string, body ...mail.Block) error {
	u, err := s.recipient(ctx, userID)
	if err != nil || u.ID == "" {
		return err
	}

	return s.send(ctx, u, id, subject, body...)
}

// apiHint precedes the token of a link at the end of an e-mail, after everything that most readers
// need.
var apiHint = mail.Block{Text: "The link is all that you need. Only for developers who call the API, this is its token:"}

// send sends an e-mail. A mail server that receives two messages with the same id can recognize
// the second one as a duplicate.
func (s *Service) send(ctx context.Context, u User, id, subject string, body ...mail.Block) error {
	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID:       id,
		To:       mail.Address{Name: u.Name, Email: u.Email},
		Subject:  subject,
		Greeting: u.FirstName(),
		Body:     body,
		Home:     s.PublicURL,
	})
}

// link returns a link to a page that posts the token after a confirmation. Programs that scan
// e-mails open links, and must not use up the token.
func (s *Service) link(label, page, token string) mail.Block {
	return mail.Block{Link: &mail.Link{Label: label, URL: s.PublicURL + "/" + page + "?token=" + token}}
}

// newPasswordLink returns a link to the page on which a user requests a reset link.
func (s *Service) newPasswordLink() mail.Block {
	return mail.Block{Link: &mail.Link{Label: "Set a new password", URL: s.PublicURL + "/forgot-password"}}
}

// formatTime formats a time for the text of an e-mail.
func formatTime(t time.Time) string { return t.UTC().Format("2 January 2006 at 15:04 UTC") }

// encodeTime formats a time for the ids of e-mails and tasks.
func encodeTime(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 36) }
