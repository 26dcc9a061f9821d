package identity

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// The limits of reset links, per mailbox and per client.
var (
	resetsPerMailbox = limit.Rule{Name: "forgot-password", Max: 3, Per: time.Hour}
	resetsPerClient  = limit.Rule{Name: "forgot-password.client", Max: 20, Per: time.Hour}
)

// resetResponseTime is longer than the work for an address that has an account, so that
// the response time does not reveal whether it has one.
const resetResponseTime = 200 * time.Millisecond

// errBadToken is the error for a mailed token that is unknown, used, expired or for
// another purpose. It does not disclose which.
var errBadToken = fault.InvalidField("token", "is not valid or has expired")

// ForgotPasswordInput names an address.
type ForgotPasswordInput struct {
	Email string `json:"email" validate:"required,max=254,email"`
}

// ForgotPassword causes a reset link to be mailed to the address if it has an account.
// The response and its time are the same for an unknown address and for a client or
// mailbox over its limit.
func (s *Service) ForgotPassword(ctx context.Context, in ForgotPasswordInput, from Client) error {
	if err := valid.Check("", in); err != nil {
		return err
	}
	email, _ := text.ParseEmail(in.Email)
	response := time.After(resetResponseTime)
	err := s.requestReset(ctx, email, from)
	select {
	case <-response:
	case <-ctx.Done():
	}
	return err
}

func (s *Service) requestReset(ctx context.Context, email string, from Client) error {
	for _, n := range []count{{resetsPerClient, audit.Prefix(from.Address, 32, 64)}, {resetsPerMailbox, s.Mailboxes.Key(email)}} {
		if d, err := s.Limiter.Take(ctx, n.rule, n.key); err != nil || !d.Allowed {
			return err
		}
	}
	u, err := s.findByEmail(ctx, email)
	if err != nil || u.Status != UserActive {
		return fault.IfNotFound(err, nil)
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Events.Record(ctx, event.PasswordResetRequested{UserID: u.ID, RequestedAt: s.Clock.Now()})
	})
}

// ResetPasswordInput contains a mailed token and the new password.
type ResetPasswordInput struct {
	Token    string `json:"token" validate:"required"`
	Password string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024,password"`
}

// ResetPassword gives the account a new password, ends all of its sessions and
// signs its programs out, so that every earlier sign-in loses access. If the address
// was never verified, its second factor may be a stranger's and is removed too.
func (s *Service) ResetPassword(ctx context.Context, in ResetPasswordInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}
	t, err := s.findMailToken(ctx, in.Token, ForReset)
	if err != nil {
		return err
	}
	hash, err := s.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return err
	}
	return s.redeem(ctx, t, func(ctx context.Context, u *User, now time.Time) error {
		if EmailKey(u.Email) != EmailKey(t.Email) {
			return errBadToken // the account's address has changed since
		}
		wasVerified := !u.EmailVerifiedAt.IsZero()
		u.Verify(now) // the link was in a mail to the address
		if err := s.auditUser(ctx, u.ID, audit.PasswordReset, u.ID); err != nil {
			return err
		}
		if err := s.setPassword(ctx, u, hash, "", true, now); err != nil || wasVerified {
			return err
		}
		return s.dropSecondFactor(ctx, u.ID, time.Time{}, now)
	})
}

// ChangePasswordInput contains the current password and the new one.
type ChangePasswordInput struct {
	CurrentPassword string `json:"currentPassword" validate:"required"`
	NewPassword     string `json:"newPassword" validate:"required,min=8,max=1024,maxbytes=1024,password"`
	// SignOutPrograms also revokes API keys, OAuth grants and consents, and pauses
	// webhooks.
	SignOutPrograms bool `json:"signOutPrograms"`
}

// ChangePassword sets the caller's password and ends every other session.
func (s *Service) ChangePassword(ctx context.Context, a auth.Actor, in ChangePasswordInput, from Client) error {
	if err := cmp.Or(a.RequireUser(), valid.Check("", in)); err != nil {
		return err
	}
	checked, err := s.checkOwnPassword(ctx, a, in.CurrentPassword, from)
	if err != nil {
		return err
	}
	hash, err := s.Hasher.Hash(ctx, in.NewPassword)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.Users.GetForUpdate(ctx, a.UserID)
		if err != nil {
			return err
		}
		if u.PasswordHash != checked.PasswordHash { // changed concurrently
			return fault.InvalidField("currentPassword", "is not right")
		}
		if err := s.Audit.Record(ctx, audit.By(a, audit.PasswordChanged, u.ID)); err != nil {
			return err
		}
		return s.setPassword(ctx, &u, hash, a.SessionID, in.SignOutPrograms, s.Clock.Now())
	})
}

// checkOwnPassword checks the password of the caller's account. Failures count as
// failed logins do, so that a stolen access token does not help to guess the password.
func (s *Service) checkOwnPassword(ctx context.Context, a auth.Actor, password string, from Client) (User, error) {
	u, err := s.caller(ctx, a.UserID)
	if err != nil {
		return User{}, err
	}
	u, _, err = s.checkPassword(ctx, u.Email, password, from)
	if errors.Is(err, ErrBadCredentials) {
		err = fault.InvalidField("currentPassword", "is not right")
	}
	return u, err
}

// Confirm returns the caller as confirmed now, for sensitive operations, if the
// password is the account's. Without a password the caller is returned unchanged:
// the operations themselves refuse a caller who is not confirmed.
func (s *Service) Confirm(ctx context.Context, a auth.Actor, currentPassword string, from Client) (auth.Actor, error) {
	if err := a.RequireUser(); err != nil {
		return auth.Actor{}, err
	}
	if currentPassword == "" {
		return a, nil
	}
	if _, err := s.checkOwnPassword(ctx, a, currentPassword, from); err != nil {
		return a, err
	}
	a.ConfirmedAt = s.Clock.Now()
	return a, nil
}

// setPassword stores the verifier and revokes what was possible with the old
// password: all sessions except one, reset links, a requested change of the address
// and, on request, the access of programs.
func (s *Service) setPassword(ctx context.Context, u *User, hash, keep string, signOutPrograms bool, now time.Time) error {
	u.SetPassword(hash, now)
	if err := s.Users.Update(ctx, u); err != nil {
		return err
	}
	if err := s.Sessions.EndByUsers(ctx, []string{u.ID}, keep, now); err != nil {
		return err
	}
	if err := s.revokeTokens(ctx, u.ID, MailTokenFilter{Purpose: ForReset}, now); err != nil {
		return err
	}
	if err := s.cancelChange(ctx, u.ID); err != nil {
		return err
	}
	var ended []Program
	if signOutPrograms {
		// After the update of the account: a program that is created concurrently waits
		// for the account's row (HoldSession) and is not missed here.
		var err error
		if ended, err = s.Programs.SignOut(ctx, u.ID, now); err != nil {
			return err
		}
		if err := s.auditUser(ctx, u.ID, audit.ProgramsSignedOut, u.ID); err != nil {
			return err
		}
	}
	return s.Events.Record(ctx, event.PasswordChanged{UserID: u.ID, ChangedAt: now, Programs: labels(ended), SignedOutPrograms: signOutPrograms})
}

// maxListed bounds the programs that a mail lists.
const maxListed = 50

// labels describes at most maxListed programs, and how many more there are.
func labels(programs []Program) []string {
	out := list.Map(programs[:min(len(programs), maxListed)], func(p Program) string { return p.Kind + " " + p.Name })
	if more := len(programs) - maxListed; more > 0 {
		out = append(out, "and "+strconv.Itoa(more)+" more")
	}
	return out
}

// VerifyEmailInput contains a mailed token.
type VerifyEmailInput struct {
	Token string `json:"token" validate:"required"`
}

// VerifyEmail confirms an address of the user: the account's current one, or the
// requested one, which becomes the account's. It fails with ErrEmailTaken if another
// account has the requested one.
func (s *Service) VerifyEmail(ctx context.Context, in VerifyEmailInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}
	t, err := s.findMailToken(ctx, in.Token, ForVerification)
	if err != nil {
		return err
	}
	return s.redeem(ctx, t, func(ctx context.Context, u *User, now time.Time) error {
		if EmailKey(u.Email) == EmailKey(t.Email) {
			u.Verify(now)
			err = s.Users.Update(ctx, u)
		} else {
			err = s.confirmChange(ctx, u, t.Email, now)
		}
		if err != nil {
			return err
		}
		if err := s.verifyOrganizationOf(ctx, u, now); err != nil {
			return err
		}
		return s.revokeTokens(ctx, u.ID, MailTokenFilter{Purpose: ForVerification}, now)
	})
}

// findMailToken returns a token that can be used for the purpose.
func (s *Service) findMailToken(ctx context.Context, secret string, p Purpose) (MailToken, error) {
	t, err := s.MailTokens.Get(ctx, auth.HashSecret(secret), p)
	if err == nil && !t.Usable(s.Clock.Now()) {
		err = errBadToken
	}
	return t, fault.IfNotFound(err, errBadToken)
}

// redeem marks the token as used and calls fn with its user, who is locked, in the same
// transaction.
func (s *Service) redeem(ctx context.Context, t MailToken, fn func(ctx context.Context, u *User, now time.Time) error) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		if err := s.markUsed(ctx, t, now); err != nil {
			return err
		}
		u, err := s.Users.GetForUpdate(ctx, t.UserID)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}
		return fn(ctx, &u, now)
	})
}

// markUsed marks the token as used. It fails with errBadToken if it was used before.
func (s *Service) markUsed(ctx context.Context, t MailToken, now time.Time) error {
	n, err := s.MailTokens.MarkUsed(ctx, t.UserID, MailTokenFilter{Hash: t.Hash}, now)
	if err == nil && n == 0 {
		return errBadToken
	}
	return err
}
