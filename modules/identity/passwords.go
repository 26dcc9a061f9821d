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

// linkLimits limit the requests for mailed links.
type linkLimits struct{ perMailbox, perClient limit.Rule }

// resetLimits limit the links that set a new password.
var resetLimits = linkLimits{
	perMailbox: limit.Rule{Name: "forgot-password", Max: 3, Per: time.Hour},
	perClient:  limit.Rule{Name: "forgot-password.client", Max: 20, Per: time.Hour},
}

// linkResponseTime is the response time of ForgotPassword and RequestVerification for every address. Only
// an address with an account causes work, which takes less than this time. So the response time does not
// reveal whether an address has an account.
const linkResponseTime = 200 * time.Millisecond

// errBadToken is returned for the token of a mailed link if the token is unknown, used, expired or
// for another purpose. It does not disclose which.
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

	return s.requestLink(ctx, in.Email, from, resetLimits, func(u User) event.Event {
		return event.PasswordResetRequested{UserID: u.ID, RequestedAt: s.Clock.Now()}
	})
}

// requestLink records a client's request for a link to the address, within the limits. It takes
// linkResponseTime for every address. See recordRequest for newEvent.
func (s *Service) requestLink(
	ctx context.Context,
	address string,
	from Client,
	limits linkLimits,
	newEvent func(User) event.Event,
) error {
	response := time.After(linkResponseTime)

	email, _ := text.ParseEmail(address)         // validated by the caller
	client := audit.Prefix(from.Address, 32, 64) // one IPv4 address, or an IPv6 network of the size /64
	counted := []limitKey{
		{rule: limits.perClient, key: client},
		{rule: limits.perMailbox, key: s.Mailboxes.Key(email)},
	}

	err := s.recordRequest(ctx, email, counted, newEvent)

	select {
	case <-response:
	case <-ctx.Done():
	}

	return err
}

// recordRequest records the event that newEvent returns for the active account with the address. An
// event handler then sends the e-mail. It does nothing if there is no such account, newEvent
// returns nil, or a limit is exceeded.
func (s *Service) recordRequest(ctx context.Context, email string, limits []limitKey, newEvent func(User) event.Event) error {
	for _, l := range limits {
		decision, err := s.Limiter.Take(ctx, l.rule, l.key)
		if err != nil || !decision.Allowed {
			return err
		}
	}

	user, err := s.findByEmail(ctx, email)
	if err != nil || user.Status != UserActive {
		return fault.IfNotFound(err, nil)
	}

	requested := newEvent(user)
	if requested == nil {
		return nil
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Events.Record(ctx, requested) })
}

// ResetPasswordInput contains a mailed token and the new password.
type ResetPasswordInput struct {
	Token    string `json:"token" validate:"required"`
	Password string `json:"password" validate:"required,min=8,max=1024,maxbytes=1024,password"`
}

// ResetPassword sets a new password, ends all sessions of the account and signs out its programs
// (API keys, OAuth grants, webhooks). If the address was not verified before, ResetPassword also
// removes the second factor, because someone else may have registered the account.
func (s *Service) ResetPassword(ctx context.Context, in ResetPasswordInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	token, err := s.findMailToken(ctx, in.Token, ForReset)
	if err != nil {
		return err
	}

	hash, err := s.Hasher.Hash(ctx, in.Password)
	if err != nil {
		return err
	}

	return s.redeem(ctx, token, func(ctx context.Context, user *User, now time.Time) error {
		if LowerCaseKey(user.Email) != LowerCaseKey(token.Email) {
			return errBadToken // the address of the account was changed after the request
		}

		wasVerified := !user.EmailVerifiedAt.IsZero()
		user.Verify(now) // the token was sent to the address

		if err := s.auditUser(ctx, user.ID, audit.PasswordReset, user.ID); err != nil {
			return err
		}

		change := passwordChange{hash: hash, keptSession: noSession, signOutPrograms: true}
		if err := s.setPassword(ctx, user, change, now); err != nil {
			return err
		}

		if wasVerified {
			return nil // the second factor is the owner's
		}

		return s.removeSecondFactor(ctx, user.ID, enabledAnyTime, now)
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
		user, err := s.Users.GetForUpdate(ctx, actor.UserID)
		if err != nil {
			return err
		}

		wasChangedConcurrently := user.PasswordHash != checked.PasswordHash
		if wasChangedConcurrently {
			return fault.InvalidField("currentPassword", "is not right")
		}

		if err := s.Audit.Record(ctx, audit.By(actor, audit.PasswordChanged, user.ID)); err != nil {
			return err
		}

		change := passwordChange{hash: hash, keptSession: actor.SessionID, signOutPrograms: in.SignOutPrograms}

		return s.setPassword(ctx, &user, change, s.Clock.Now())
	})
}

// checkOwnPassword checks the password of the caller's account and returns the account. It counts
// failures like failed sign-ins, so that a stolen access token does not help to guess the password.
func (s *Service) checkOwnPassword(ctx context.Context, actor auth.Actor, password string, from Client) (User, error) {
	user, err := s.getCaller(ctx, actor.UserID)
	if err != nil {
		return User{}, err
	}

	user, _, err = s.checkPassword(ctx, user.Email, password, from) // only a sign-in stores the renewed hash
	if errors.Is(err, ErrBadCredentials) {
		err = fault.InvalidField("currentPassword", "is not right")
	}

	return user, err
}

// Confirm checks the password and returns the caller as confirmed now. Sensitive operations refuse a
// caller who has not entered the password within the last minutes. If the password is empty, Confirm
// returns the caller unchanged.
func (s *Service) Confirm(ctx context.Context, actor auth.Actor, currentPassword string, from Client) (auth.Actor, error) {
	if err := actor.RequireUser(); err != nil {
		return auth.Actor{}, err
	}

	if currentPassword == "" {
		return actor, nil
	}

	if _, err := s.checkOwnPassword(ctx, actor, currentPassword, from); err != nil {
		return actor, err
	}

	actor.ConfirmedAt = s.Clock.Now()

	return actor, nil
}

// passwordChange is a new password and the access that remains after the change.
type passwordChange struct {
	hash        string // of the new password
	keptSession string // the session that is not ended, or noSession
	// signOutPrograms revokes the access of programs, too.
	signOutPrograms bool
}

// setPassword stores the new password and revokes all access that someone with the old password may
// have gained. It ends sessions except keptSession, and revokes reset links and a requested change
// of the address. If signOutPrograms is set, it also revokes the access of programs.
func (s *Service) setPassword(ctx context.Context, user *User, change passwordChange, now time.Time) error {
	user.SetPassword(change.hash, now)

	if err := s.Users.Update(ctx, user); err != nil {
		return err
	}

	if err := s.Sessions.EndByUsers(ctx, []string{user.ID}, change.keptSession, now); err != nil {
		return err
	}

	if err := s.revokeTokens(ctx, user.ID, MailTokenFilter{Purpose: ForReset}, now); err != nil {
		return err
	}

	if err := s.cancelChange(ctx, user.ID); err != nil {
		return err
	}

	var signedOut []Program
	if change.signOutPrograms {
		// A concurrent request must not create a program that keeps its access. Such a request locks
		// the account (HoldSession), and this transaction has locked it by the update above. If the
		// request has finished before, its program is signed out here. Otherwise the request waits for
		// this transaction, and is then refused if its session was ended above.
		var err error
		if signedOut, err = s.Programs.SignOut(ctx, user.ID, now); err != nil {
			return err
		}

		if err := s.auditUser(ctx, user.ID, audit.ProgramsSignedOut, user.ID); err != nil {
			return err
		}
	}

	return s.Events.Record(ctx, event.PasswordChanged{
		UserID:            user.ID,
		ChangedAt:         now,
		Programs:          describePrograms(signedOut),
		SignedOutPrograms: change.signOutPrograms,
	})
}

// maxListedPrograms is the maximum number of programs that an e-mail lists.
const maxListedPrograms = 50

// describePrograms returns a line about each of the first maxListedPrograms programs, and a line
// with the number of the others.
func describePrograms(programs []Program) []string {
	listed := programs[:min(len(programs), maxListedPrograms)]
	lines := list.Map(listed, func(p Program) string { return p.Kind + " " + p.Name })

	if others := len(programs) - len(listed); others > 0 {
		lines = append(lines, "and "+strconv.Itoa(others)+" more")
	}

	return lines
}

// VerifyEmailInput contains a mailed token.
type VerifyEmailInput struct {
	Token string `json:"token" validate:"required"`
}

// VerifyEmail confirms the address to which the token was mailed: the current address of an account
// or the requested one, which then becomes the current one. It fails with ErrEmailTaken if another
// account has the requested address. If the user is an admin, a confirmed address at the domain of
// the organization's website also verifies the organization.
func (s *Service) VerifyEmail(ctx context.Context, in VerifyEmailInput) error {
	if err := valid.Check("", in); err != nil {
		return err
	}

	token, err := s.findMailToken(ctx, in.Token, ForVerification)
	if err != nil {
		return err
	}

	err = s.redeem(ctx, token, func(ctx context.Context, user *User, now time.Time) error {
		isCurrent := LowerCaseKey(user.Email) == LowerCaseKey(token.Email)
		if isCurrent {
			user.Verify(now)

			err = s.Users.Update(ctx, user)
		} else {
			err = s.confirmChange(ctx, user, token.Email, now)
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

// findMailToken returns the mailed token with the secret. It fails with errBadToken if the token
// cannot be used for the purpose.
func (s *Service) findMailToken(ctx context.Context, secret string, p Purpose) (MailToken, error) {
	token, err := s.MailTokens.Get(ctx, auth.HashSecret(secret), p)
	if err != nil {
		return MailToken{}, fault.IfNotFound(err, errBadToken)
	}

	if !token.IsUsable(s.Clock.Now()) {
		return MailToken{}, errBadToken
	}

	return token, nil
}

// redeem marks the token as used, locks its user and calls fn with the user, in one
// transaction.
func (s *Service) redeem(
	ctx context.Context,
	token MailToken,
	fn func(ctx context.Context, user *User, now time.Time) error,
) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		if err := s.markUsed(ctx, token, now); err != nil {
			return err
		}

		user, err := s.Users.GetForUpdate(ctx, token.UserID)
		if err != nil {
			return fault.IfNotFound(err, errBadToken)
		}

		return fn(ctx, &user, now)
	})
}

// markUsed marks the token as used. It fails with errBadToken if the token was used before, perhaps
// by a concurrent request.
func (s *Service) markUsed(ctx context.Context, token MailToken, now time.Time) error {
	marked, err := s.MailTokens.MarkUsed(ctx, token.UserID, MailTokenFilter{Hash: token.Hash}, now)
	if err != nil {
		return err
	}

	if marked == 0 {
		return errBadToken
	}

	return nil
}
