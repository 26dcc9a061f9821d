package identity

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// recoveryCodes is the number of recovery codes of an account.
const recoveryCodes = 10

// SecondFactor is the authenticator app of a user.
type SecondFactor struct {
	UserID string
	// Secret is encrypted; see auth.Vault.
	Secret    string
	CreatedAt time.Time
	// ConfirmedAt is the time at which the user entered a first code, or zero. Before, the
	// second factor is not required.
	ConfirmedAt time.Time
	// LastStep is the time step of the newest code that was used: the app shows another code in
	// each step of 30 s (RFC 6238). Codes of this step and earlier steps are refused.
	LastStep int64
	// RecoveryCodes are the hashes of the unused recovery codes, in any order.
	RecoveryCodes []string
}

// Enabled reports whether sign-ins need the second factor.
func (f *SecondFactor) Enabled() bool { return !f.ConfirmedAt.IsZero() }

// useRecoveryCode removes the recovery code with the hash. It returns false if there is no
// such unused code.
func (f *SecondFactor) useRecoveryCode(hash string) bool {
	i := slices.Index(f.RecoveryCodes, hash)
	if i < 0 {
		return false
	}

	f.RecoveryCodes = slices.Delete(f.RecoveryCodes, i, i+1)

	return true
}

// SecondFactorStatus is the second factor as its user sees it.
type SecondFactorStatus struct {
	Enabled   bool
	EnabledAt time.Time
	// RecoveryCodesLeft is the number of unused recovery codes.
	RecoveryCodesLeft int
	// Required is set if the user's organization requires a second factor.
	Required bool
}

// MySecondFactor returns the status of the caller's second factor.
func (s *Service) MySecondFactor(ctx context.Context, a auth.Actor) (out SecondFactorStatus, err error) {
	if err := a.RequireUser(); err != nil {
		return out, err
	}

	f, err := s.getSecondFactor(ctx, a.UserID)
	if err != nil {
		return out, err
	}

	out.Enabled, out.EnabledAt = f.Enabled(), f.ConfirmedAt
	if out.Enabled {
		out.RecoveryCodesLeft = len(f.RecoveryCodes)
	}

	m, err := s.Members.GetByUser(ctx, a.UserID)
	if err != nil || m == nil {
		return out, err
	}

	o, err := s.getOrganization(ctx, m.OrganizationID)
	out.Required = o.RequireSecondFactor

	return out, err
}

// getSecondFactor returns the user's second factor, or the zero value.
func (s *Service) getSecondFactor(ctx context.Context, userID string) (SecondFactor, error) {
	f, err := s.SecondFactors.Get(ctx, userID)
	return f, fault.IfNotFound(err, nil)
}

// Enrollment is the data for an authenticator app.
type Enrollment struct {
	// Secret is in base 32, for typing it in.
	Secret string
	// URL is the otpauth:// address, for a QR code.
	URL string
}

// EnrollSecondFactor returns a new secret for the caller's authenticator app, which
// ConfirmSecondFactor enables. A second call before the confirmation replaces the secret. The
// caller must be confirmed: they must have entered their password a short time ago.
func (s *Service) EnrollSecondFactor(ctx context.Context, a auth.Actor) (Enrollment, error) {
	if err := cmp.Or(a.RequireUser(), a.RequireConfirmed(s.Clock.Now())); err != nil {
		return Enrollment{}, err
	}

	user, err := s.getCaller(ctx, a.UserID)
	if err != nil {
		return Enrollment{}, err
	}

	var out Enrollment
	if out.Secret, out.URL, err = s.OneTimeCodes.NewSecret(user.Email); err != nil {
		return Enrollment{}, err
	}

	encrypted, err := s.Vault.Encrypt(out.Secret, user.ID)
	if err != nil {
		return Enrollment{}, err
	}

	return out, s.Tx.Do(ctx, func(ctx context.Context) error {
		switch existing, err := s.getSecondFactor(ctx, user.ID); {
		case err != nil:
			return err
		case existing.Enabled():
			return ErrSecondFactorEnabled
		}

		return s.SecondFactors.Upsert(ctx, SecondFactor{UserID: user.ID, Secret: encrypted, CreatedAt: s.Clock.Now()})
	})
}

// CodeInput contains a code of an authenticator app.
type CodeInput struct {
	Code string `json:"code" validate:"required,max=64" sample:"\"123456\""`
}

// ConfirmSecondFactor enables the second factor that the caller has enrolled, if the code is
// correct. It returns the recovery codes, which are not shown again. It also ends the caller's
// other sessions, which were opened without the second factor.
func (s *Service) ConfirmSecondFactor(ctx context.Context, actor auth.Actor, in CodeInput) ([]string, error) {
	if err := actor.RequireUser(); err != nil {
		return nil, err
	}

	var codes []string

	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()

		factor, err := s.SecondFactors.Get(ctx, actor.UserID)
		switch {
		case err != nil:
			return fault.IfNotFound(err, ErrNotEnrolled)
		case factor.Enabled():
			return ErrSecondFactorEnabled
		}

		step, isCorrect, err := s.matchCode(ctx, factor, in.Code, now)
		if err != nil {
			return err
		}

		if !isCorrect {
			return ErrSecondFactorInvalid
		}

		factor.ConfirmedAt, factor.LastStep = now, step

		codes, factor.RecoveryCodes = newRecoveryCodes()
		if err := s.SecondFactors.Upsert(ctx, factor); err != nil {
			return err
		}

		if err := s.Sessions.EndByUsers(ctx, []string{actor.UserID}, actor.SessionID, now); err != nil {
			return err
		}

		return s.recordSecondFactor(ctx, actor.UserID, audit.SecondFactorEnabled, now)
	})
	if !errors.Is(err, ErrSecondFactorInvalid) {
		return codes, err
	}

	// Someone with a stolen session must not guess the code of a secret that its owner enrolled:
	// the recovery codes and all other sessions would be lost.
	if err := limit.Take(ctx, s.Limiter, failedCodes, actor.UserID); err != nil {
		return nil, err
	}

	return nil, fault.InvalidField("code", "is not the current code of the authenticator app")
}

// DisableSecondFactorInput contains the password and a code.
type DisableSecondFactorInput struct {
	CurrentPassword string `json:"currentPassword" validate:"required,max=1024"`
	CodeInput
}

// DisableSecondFactor removes the caller's second factor and its recovery codes.
func (s *Service) DisableSecondFactor(ctx context.Context, actor auth.Actor, in DisableSecondFactorInput, from Client) error {
	if err := actor.RequireUser(); err != nil {
		return err
	}

	user, err := s.checkOwnPassword(ctx, actor, in.CurrentPassword, from)
	if err != nil {
		return err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		switch f, err := s.getSecondFactor(ctx, actor.UserID); {
		case err != nil:
			return err
		case !f.Enabled():
			return ErrNotEnrolled
		}

		if err := s.useSecondFactor(ctx, actor.UserID, in.Code, now); err != nil {
			return err
		}

		if err := s.SecondFactors.Delete(ctx, actor.UserID); err != nil {
			return err
		}

		return s.recordSecondFactor(ctx, actor.UserID, audit.SecondFactorDisabled, now)
	})
	if !errors.Is(err, ErrSecondFactorInvalid) {
		return err
	}

	if err := s.secondFactorFailed(ctx, user, from); !errors.Is(err, ErrSecondFactorInvalid) {
		return err
	}

	return fault.InvalidField("code", "is not a current code or a recovery code")
}

// ResetSecondFactor removes the second factor of the account with the address. An operator
// calls it for a user who has lost the device and the recovery codes.
func (s *Service) ResetSecondFactor(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.SecondFactorReset, func(ctx context.Context, u *User, now time.Time) error {
		if _, err := s.SecondFactors.Get(ctx, u.ID); err != nil {
			return err
		}

		if err := s.SecondFactors.Delete(ctx, u.ID); err != nil {
			return err
		}

		return s.Events.Record(ctx, event.SecondFactorChanged{UserID: u.ID, Change: string(audit.SecondFactorReset), ChangedAt: now})
	})
}

// removeSecondFactor deletes a second factor that someone else may have enrolled, because the
// owner of the mailbox has just proven to own the account. It keeps a second factor that was
// enabled earlier than since. The caller has updated the account, so that concurrent sign-ins
// wait.
func (s *Service) removeSecondFactor(ctx context.Context, userID string, since, now time.Time) error {
	f, err := s.getSecondFactor(ctx, userID)
	if err != nil || f.UserID == "" { // the account has none
		return err
	}

	isOfOwner := f.Enabled() && f.ConfirmedAt.Before(since)
	if isOfOwner {
		return nil
	}

	// An enrollment without a confirmation had no effect, so its deletion is not recorded.
	if err := s.SecondFactors.Delete(ctx, userID); err != nil || !f.Enabled() {
		return err
	}

	return s.recordSecondFactor(ctx, userID, audit.SecondFactorReset, now)
}

// recordSecondFactor records a change of the second factor, as an event and in the audit log.
func (s *Service) recordSecondFactor(ctx context.Context, userID string, action audit.Action, now time.Time) error {
	return s.auditUser(ctx, userID, action, userID, event.SecondFactorChanged{UserID: userID, Change: string(action), ChangedAt: now})
}

// useSecondFactor checks the code and marks it as used, in the transaction of ctx. It fails
// with ErrSecondFactorRequired if the code is empty, and with ErrSecondFactorInvalid if the
// code is wrong or was used before. It returns nil for an account without a second factor.
func (s *Service) useSecondFactor(ctx context.Context, userID, code string, now time.Time) error {
	factor, err := s.getSecondFactor(ctx, userID)
	switch {
	case err != nil || !factor.Enabled():
		return err
	case code == "":
		return ErrSecondFactorRequired
	}

	step, isCodeOfApp, err := s.matchCode(ctx, factor, code, now)
	if err != nil {
		return err
	}

	if isCodeOfApp {
		wasUsed := step <= factor.LastStep
		if wasUsed {
			return ErrSecondFactorInvalid
		}

		factor.LastStep = step

		return s.SecondFactors.Upsert(ctx, factor)
	}

	isRecoveryCode := factor.useRecoveryCode(hashRecoveryCode(code)) // removes the code
	if !isRecoveryCode {
		return ErrSecondFactorInvalid
	}

	if err := s.SecondFactors.Upsert(ctx, factor); err != nil {
		return err
	}

	return s.auditUser(ctx, userID, audit.RecoveryCodeUsed, userID)
}

// matchCode returns the time step of a code of the authenticator app, and whether the code is
// correct. It returns fault.ErrRateLimit after too many wrong codes for the account. The caller
// has locked f, so that concurrent codes are checked one after another.
func (s *Service) matchCode(
	ctx context.Context,
	f SecondFactor,
	code string,
	now time.Time,
) (step int64, isCorrect bool, err error) {
	d, err := s.Limiter.Peek(ctx, failedCodes, f.UserID)
	if err := cmp.Or(err, d.Err()); err != nil {
		return 0, false, err
	}

	secret, err := s.Vault.Decrypt(f.Secret, f.UserID)
	if err != nil {
		return 0, false, err
	}

	step, isCorrect = s.OneTimeCodes.Match(secret, strings.ReplaceAll(code, " ", ""), now)

	return step, isCorrect, nil
}

// secondFactorFailed counts and records a wrong code like a failed sign-in. It returns
// ErrSecondFactorInvalid.
func (s *Service) secondFactorFailed(ctx context.Context, u User, from Client) error {
	if err := limit.Take(ctx, s.Limiter, failedCodes, u.ID); err != nil {
		return err
	}

	if err := s.addFailure(ctx, s.failuresOf(u.Email, from)); err != nil {
		return err
	}

	if err := s.signInFailed(ctx, u.ID); !errors.Is(err, ErrBadCredentials) {
		return err
	}

	return ErrSecondFactorInvalid
}

// newRecoveryCodes returns new recovery codes of 80 random bits, and their hashes.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveryCodes {
		text := rand.Text() // in base 32: 5 bits per character, of which 16 are used
		code := text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16]
		codes, hashes = append(codes, code), append(hashes, hashRecoveryCode(code))
	}

	return codes, hashes
}

// hashRecoveryCode returns the hash of a recovery code. Codes that differ only in case, spaces
// and hyphens have the same hash.
func hashRecoveryCode(code string) string {
	return auth.HashSecret("recovery " + strings.NewReplacer("-", "", " ", "").Replace(strings.ToUpper(code)))
}
