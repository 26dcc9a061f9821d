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

// resetResponseTime is the response time of ForgotPassword and RequestVerification. It is
// longer than the work for an address with an account, so that the response time does not
// reveal whether there is one.
const resetResponseTime = 200 * time.Millisecond

// errBadToken is returned for a mailed token that is unknown, used, expired or for another
// purpose. It does not disclose which.
var errBadToken = fault.InvalidField("token", "is not valid or has expired")

// ForgotPasswordInput contains the address of an account.
type ForgotPasswordInput struct {
	Email string `json:"email" validate:"required,max=254,email"`
}

// ForgotPassword sends a reset link to the address if it has an account. An event handler sends
// the e-mail. The response and its time are the same for an unknown address, and for a client
// or mailbox that has exceeded its limit.
func (s *Service) ForgotPassword(ctx context.Context, in ForgotPasswordInput, from Client) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	return s.requestLink(ctx, in.Email, from, resetsPerClient, resetsPerMailbox, func(u User) event.Event {
		return event.PasswordResetRequested{UserID: u.ID, RequestedAt: s.Clock.Now()}
	})
}

// requestLink records a request for a mailed link within the limits. It takes the same time for
// every address, so that it does not disclose which addresses have an account.
func (s *Service) requestLink(
	ctx context.Context,
	address string,
	from Client,
	perClient, perMailbox limit.Rule,
	newEvent func(User) event.Event,
) error {
	email, _ := text.ParseEmail(address)
	response := time.After(resetResponseTime)
	client := audit.Prefix(from.Address, 32, 64) // one IPv4 address, or an IPv6 network of the size /64
	limits := []limitKey{
		{rule: perClient, key: client},
		{rule: perMailbox, key: s.Mailboxes.Key(email)},
	}

	err := s.recordRequest(ctx, email, limits, newEvent)
	select {
	case <-response:
	case <-ctx.Done():
	}

	return err
}

// recordRequest records an event about the active account with the address, for which an
// event handler sends an e-mail. It does nothing if there is no such account, newEvent returns
// nil, or a limit is exceeded.
func (s *Service) recordRequest(ctx context.Context, email string, limits []limitKey, newEvent func(User) event.Event) error {
	for _, n := range limits {
		if d, err := s.Limiter.Take(ctx, n.rule, n.key); err != nil || !d.Allowed {
			return err
		}
	}

	u, err := s.findByEmail(ctx, email)
	if err != nil || u.Status != UserActive {
		return fault.IfNotFound(err, nil)
	}

	e := newEvent(u)
	if e == nil {
		return nil
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Events.Record(ctx, e) })
}

// ResetPasswordInput contains a mailed token and the new password.
type ResetPasswordInput struct {
	Token    string `json:"token" validate:"required"`
	Password string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024,password"`
}

// ResetPassword sets a new password, ends all sessions of the account and signs out its
// programs. If the address was never verified before, someone else may have registered the
// account, so that its second factor is removed too.
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

	return s.redeem(ctx, t, func(ctx context.Context, user *User, now time.Time) error {
		if LowerCaseKey(user.Email) != LowerCaseKey(t.Email) {
			return errBadToken // the address of the account was changed after the request
		}

		wasVerified := !user.EmailVerifiedAt.IsZero()
		user.Verify(now) // the token was sent to the address

		if err := s.auditUser(ctx, user.ID, audit.PasswordReset, user.ID); err != nil {
			return err
		}

		if err := s.setPassword(ctx, user, hash, "", true, now); err != nil || wasVerified {
			return err
		}

		return s.removeSecondFactor(ctx, user.ID, time.Time{}, now)
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
func (s *Service) ChangePassword(ctx context.Context, actor auth.Actor, in ChangePasswordInput, from Client) error {
	if err := cmp.Or(actor.RequireUser(), valid.Check("", in)); err != nil {
		return err
	}

	checked, err := s.checkOwnPassword(ctx, actor, in.CurrentPassword, from)
	if err != nil {
		return err
	}

	hash, err := s.Hasher.Hash(ctx, in.NewPassword)
	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := s.Users.GetForUpdate(ctx, actor.UserID)
		if err != nil {
			return err
		}

		if u.PasswordHash != checked.PasswordHash { // the password was changed concurrently
			return fault.InvalidField("currentPassword", "is not right")
		}

		if err := s.Audit.Record(ctx, audit.By(actor, audit.PasswordChanged, u.ID)); err != nil {
			return err
		}

		return s.setPassword(ctx, &u, hash, actor.SessionID, in.SignOutPrograms, s.Clock.Now())
	})
}

// checkOwnPassword checks the password of the caller's account. It counts failures like failed
// sign-ins, so that a stolen access token does not help to guess the password.
func (s *Service) checkOwnPassword(ctx context.Context, a auth.Actor, password string, from Client) (User, error) {
	u, err := s.getCaller(ctx, a.UserID)
	if err != nil {
		return User{}, err
	}

	u, _, err = s.checkPassword(ctx, u.Email, password, from)
	if errors.Is(err, ErrBadCredentials) {
		err = fault.InvalidField("currentPassword", "is not right")
	}

	return u, err
}

// Confirm checks the password and returns the caller as confirmed now, for sensitive
// operations. If the password is empty, it returns the caller unchanged; the operations refuse a
// caller who is not confirmed.
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

// setPassword stores the password hash and revokes all access that someone with the old
// password may have gained: sessions except keptSession, reset links, a requested change of the
// address and, if signOutPrograms is set, the access of programs.
func (s *Service) setPassword(
	ctx context.Context,
	user *User,
	hash, keptSession string,
	signOutPrograms bool,
	now time.Time,
) error {
	user.SetPassword(hash, now)

	if err := s.Users.Update(ctx, user); err != nil {
		return err
	}

	if err := s.Sessions.EndByUsers(ctx, []string{user.ID}, keptSession, now); err != nil {
		return err
	}

	if err := s.revokeTokens(ctx, user.ID, MailTokenFilter{Purpose: ForReset}, now); err != nil {
		return err
	}

	if err := s.cancelChange(ctx, user.ID); err != nil {
		return err
	}

	var signedOut []Program
	if signOutPrograms {
		// The account was updated before, so that a concurrent creation of a program, which
		// locks the account (HoldSession), is either seen here or refused.
		var err error
		if signedOut, err = s.Programs.SignOut(ctx, user.ID, now); err != nil {
			return err
		}

		if err := s.auditUser(ctx, user.ID, audit.ProgramsSignedOut, user.ID); err != nil {
			return err
		}
	}

	return s.Events.Record(
		ctx,
		event.PasswordChanged{UserID: user.ID, ChangedAt: now, Programs: describePrograms(signedOut), SignedOutPrograms: signOutPrograms},
	)
}

// maxListedPrograms is the maximum number of programs that an e-mail lists.
const maxListedPrograms = 50

// describePrograms describes at most maxListedPrograms programs, and the number of the others.
func describePrograms(programs []Program) []string {
	out := list.Map(programs[:min(len(programs), maxListedPrograms)], func(p Program) string { return p.Kind + " " + p.Name })
	if more := len(programs) - maxListedPrograms; more > 0 {
		out = append(out, "and "+strconv.Itoa(more)+" more")
	}

	return out
}

// VerifyEmailInput contains a mailed token.
type VerifyEmailInput struct {
	Token string `json:"token" validate:"required"`
}

// VerifyEmail confirms the current address of an account, or the requested address, which
// becomes the current one. It fails with ErrEmailTaken if another account has the requested
// address.
func (s *Service) VerifyEmail(ctx context.Context, in VerifyEmailInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	t, err := s.findMailToken(ctx, in.Token, ForVerification)
	if err != nil {
		return err
	}

	err = s.redeem(ctx, t, func(ctx context.Context, user *User, now time.Time) error {
		if LowerCaseKey(user.Email) == LowerCaseKey(t.Email) {
			user.Verify(now)

			err = s.Users.Update(ctx, user)
		} else {
			err = s.confirmChange(ctx, user, t.Email, now)
		}

		if err != nil {
			return err
		}

		if err := s.verifyOrganizationOf(ctx, user, now); err != nil {
			return err
		}

		return s.revokeTokens(ctx, user.ID, MailTokenFilter{Purpose: ForVerification}, now)
	})

	return s.countOrganizationChange(err)
}

// findMailToken returns the token with the secret, or errBadToken if it cannot be used for the
// purpose.
func (s *Service) findMailToken(ctx context.Context, secret string, p Purpose) (MailToken, error) {
	t, err := s.MailTokens.Get(ctx, auth.HashSecret(secret), p)
	if err != nil {
		return MailToken{}, fault.IfNotFound(err, errBadToken)
	}

	if !t.Usable(s.Clock.Now()) {
		return MailToken{}, errBadToken
	}

	return t, nil
}

// redeem marks the token as used, locks its user and calls fn with the user, in one
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
	if err != nil {
		return err
	}

	if n == 0 {
		return errBadToken
	}

	return nil
}
