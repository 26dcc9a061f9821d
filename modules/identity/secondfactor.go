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

// recoveryCodesPerAccount is the number of recovery codes of an account. Each replaces one code of the
// authenticator app, for a user who has lost the device.
const recoveryCodesPerAccount = 10

// SecondFactor is the authenticator app of a user. It is enrolled when the user gets its secret, and
// enabled when the user has confirmed it with a first code.
type SecondFactor struct {
	UserID string
	// Secret is encrypted; see auth.Vault.
	Secret    string
	CreatedAt time.Time
	// ConfirmedAt is the time at which the user entered a first code, or zero. Until then, sign-ins
	// do not need the second factor.
	ConfirmedAt time.Time
	// LastStep is the time step of the newest code that was used: the app shows another code in
	// each step of 30 s (RFC 6238). Codes of this step and earlier steps are refused.
	LastStep int64
	// RecoveryCodes are the hashes of the unused recovery codes, in any order.
	RecoveryCodes []string
}

// Enabled reports whether sign-ins need the second factor.
func (f *SecondFactor) Enabled() bool { return !f.ConfirmedAt.IsZero() }

// removeRecoveryCode removes the recovery code with the hash. It returns false if there is no
// such unused code.
func (f *SecondFactor) removeRecoveryCode(hash string) (wasUnused bool) {
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
func (s *Service) MySecondFactor(ctx context.Context, actor auth.Actor) (SecondFactorStatus, error) {
	if err := actor.RequireUser(); err != nil {
		return SecondFactorStatus{}, err
	}

	factor, err := s.getSecondFactor(ctx, actor.UserID)
	if err != nil {
		return SecondFactorStatus{}, err
	}

	status := SecondFactorStatus{Enabled: factor.Enabled(), EnabledAt: factor.ConfirmedAt}
	if status.Enabled {
		status.RecoveryCodesLeft = len(factor.RecoveryCodes)
	}

	membership, err := s.Members.GetByUser(ctx, actor.UserID)
	if err != nil || membership == nil { // only organizations require a second factor
		return status, err
	}

	organization, err := s.getOrganization(ctx, membership.OrganizationID)
	status.Required = organization.RequireSecondFactor

	return status, err
}

// getSecondFactor returns the user's second factor, or the zero value if the user has none. Inside a
// transaction, it is locked until the transaction ends.
func (s *Service) getSecondFactor(ctx context.Context, userID string) (SecondFactor, error) {
	f, err := s.SecondFactors.Get(ctx, userID)
	return f, fault.IfNotFound(err, nil)
}

// Enrollment is the data that a user enters into an authenticator app.
type Enrollment struct {
	// Secret is in base 32, for typing it in.
	Secret string
	// URL is the otpauth:// address, for a QR code.
	URL string
}

// EnrollSecondFactor returns a new secret for the caller's authenticator app, which
// ConfirmSecondFactor enables. A second call before the confirmation replaces the secret. The
// caller must be confirmed: they must have entered their password a short time ago.
func (s *Service) EnrollSecondFactor(ctx context.Context, actor auth.Actor) (Enrollment, error) {
	if err := cmp.Or(actor.RequireUser(), actor.RequireConfirmed(s.Clock.Now())); err != nil {
		return Enrollment{}, err
	}

	user, err := s.getCaller(ctx, actor.UserID)
	if err != nil {
		return Enrollment{}, err
	}

	secret, url, err := s.OneTimeCodes.NewSecret(user.Email)
	if err != nil {
		return Enrollment{}, err
	}

	encrypted, err := s.Vault.Encrypt(secret, user.ID)
	if err != nil {
		return Enrollment{}, err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		existing, err := s.getSecondFactor(ctx, user.ID)
		if err != nil {
			return err
		}

		if existing.Enabled() {
			return ErrSecondFactorEnabled
		}

		return s.SecondFactors.Upsert(ctx, SecondFactor{UserID: user.ID, Secret: encrypted, CreatedAt: s.Clock.Now()})
	})

	return Enrollment{Secret: secret, URL: url}, err
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

	err := s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		codes, err = s.enableSecondFactor(ctx, actor, in.Code, s.Clock.Now())
		return err
	})
	if !errors.Is(err, ErrSecondFactorInvalid) {
		return codes, err
	}

	// Count the wrong code. Otherwise, someone with a stolen session could guess the code of a secret
	// that the owner has enrolled, and would get the recovery codes and end all other sessions.
	if err := limit.Take(ctx, s.Limiter, failedCodes, actor.UserID); err != nil {
		return nil, err
	}

	return nil, fault.InvalidField("code", "is not the current code of the authenticator app")
}

// enableSecondFactor enables the enrolled second factor, in the transaction of ctx, and returns the
// recovery codes. It fails with ErrSecondFactorInvalid if the code is wrong.
func (s *Service) enableSecondFactor(
	ctx context.Context,
	actor auth.Actor,
	code string,
	now time.Time,
) (codes []string, err error) {
	factor, err := s.SecondFactors.Get(ctx, actor.UserID)
	switch {
	case err != nil:
		return nil, fault.IfNotFound(err, ErrNotEnrolled)
	case factor.Enabled():
		return nil, ErrSecondFactorEnabled
	}

	step, isCorrect, err := s.matchCode(ctx, factor, code, now)
	if err != nil {
		return nil, err
	}

	if !isCorrect {
		return nil, ErrSecondFactorInvalid
	}

	factor.ConfirmedAt, factor.LastStep = now, step

	codes, factor.RecoveryCodes = newRecoveryCodes()
	if err := s.SecondFactors.Upsert(ctx, factor); err != nil {
		return nil, err
	}

	if err := s.Sessions.EndByUsers(ctx, []string{actor.UserID}, actor.SessionID, now); err != nil {
		return nil, err
	}

	return codes, s.recordSecondFactor(ctx, actor.UserID, audit.SecondFactorEnabled, now)
}

// DisableSecondFactorInput contains the password and a code.
type DisableSecondFactorInput struct {
	CurrentPassword string `json:"currentPassword" validate:"required,max=1024"`
	CodeInput
}

// DisableSecondFactor removes the caller's second factor and its recovery codes. The code may be a
// recovery code.
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

		factor, err := s.getSecondFactor(ctx, actor.UserID)
		if err != nil {
			return err
		}

		if !factor.Enabled() {
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

	// Count the wrong code. If a limit is exceeded, return the error of the limit.
	if err := s.secondFactorFailed(ctx, user, from); !errors.Is(err, ErrSecondFactorInvalid) {
		return err
	}

	return fault.InvalidField("code", "is not a current code or a recovery code")
}

// ResetSecondFactor removes the second factor of the account with the address. An operator
// calls it for a user who has lost the device and the recovery codes.
func (s *Service) ResetSecondFactor(ctx context.Context, email string) error {
	return s.changeAsOperator(ctx, email, audit.SecondFactorReset, func(ctx context.Context, user *User, now time.Time) error {
		// Fail with ErrNoSecondFactor if there is none.
		if _, err := s.SecondFactors.Get(ctx, user.ID); err != nil {
			return err
		}

		if err := s.SecondFactors.Delete(ctx, user.ID); err != nil {
			return err
		}

		changed := event.SecondFactorChanged{UserID: user.ID, Change: string(audit.SecondFactorReset), ChangedAt: now}

		return s.Events.Record(ctx, changed)
	})
}

// enabledAnyTime makes removeSecondFactor remove the second factor whenever it was enabled.
var enabledAnyTime time.Time

// removeSecondFactor deletes a second factor that someone else may have enrolled. It is called when
// the owner of the mailbox has proven to own the account. A second factor that was enabled before
// the time since is the owner's, so removeSecondFactor keeps it. The caller has updated the
// account, so that concurrent sign-ins wait.
func (s *Service) removeSecondFactor(ctx context.Context, userID string, since, now time.Time) error {
	factor, err := s.getSecondFactor(ctx, userID)
	if err != nil || factor.UserID == "" { // the account has no second factor
		return err
	}

	isOfOwner := factor.Enabled() && factor.ConfirmedAt.Before(since)
	if isOfOwner {
		return nil
	}

	if err := s.SecondFactors.Delete(ctx, userID); err != nil {
		return err
	}

	// An enrollment that was not confirmed had no effect, so its deletion is not recorded.
	if !factor.Enabled() {
		return nil
	}

	return s.recordSecondFactor(ctx, userID, audit.SecondFactorReset, now)
}

// recordSecondFactor records a change of the second factor, as an event and in the audit log.
func (s *Service) recordSecondFactor(ctx context.Context, userID string, action audit.Action, now time.Time) error {
	changed := event.SecondFactorChanged{UserID: userID, Change: string(action), ChangedAt: now}

	return s.auditUser(ctx, userID, action, userID, changed)
}

// useSecondFactor checks a code of the authenticator app or a recovery code and marks it as used, in
// the transaction of ctx. It fails with ErrSecondFactorRequired if the code is empty, and with
// ErrSecondFactorInvalid if the code is wrong or was used before. It returns nil for an account
// without an enabled second factor.
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
		wasUsed := step <= factor.LastStep // this code, or a code of a later step, was used
		if wasUsed {
			return ErrSecondFactorInvalid
		}

		factor.LastStep = step

		return s.SecondFactors.Upsert(ctx, factor)
	}

	isRecoveryCode := factor.removeRecoveryCode(hashRecoveryCode(code))
	if !isRecoveryCode {
		return ErrSecondFactorInvalid
	}

	if err := s.SecondFactors.Upsert(ctx, factor); err != nil {
		return err
	}

	return s.auditUser(ctx, userID, audit.RecoveryCodeUsed, userID)
}

// matchCode reports whether the code is one that the authenticator app shows at the time, and returns
// its time step. It returns fault.ErrRateLimit after too many wrong codes for the account. The caller
// has locked f, so that concurrent codes are checked one after another.
func (s *Service) matchCode(
	ctx context.Context,
	f SecondFactor,
	code string,
	now time.Time,
) (step int64, isCorrect bool, err error) {
	decision, err := s.Limiter.Peek(ctx, failedCodes, f.UserID) // Peek does not count; callers count wrong codes
	if err := cmp.Or(err, decision.Err()); err != nil {
		return 0, false, err
	}

	secret, err := s.Vault.Decrypt(f.Secret, f.UserID)
	if err != nil {
		return 0, false, err
	}

	digits := strings.ReplaceAll(code, " ", "") // apps show the code in two groups
	step, isCorrect = s.OneTimeCodes.Match(secret, digits, now)

	return step, isCorrect, nil
}

// secondFactorFailed counts and records a wrong code like a failed sign-in. It returns
// ErrSecondFactorInvalid, or fault.ErrRateLimit after too many wrong codes.
func (s *Service) secondFactorFailed(ctx context.Context, user User, from Client) error {
	if err := limit.Take(ctx, s.Limiter, failedCodes, user.ID); err != nil {
		return err
	}

	if err := s.addFailure(ctx, s.failuresOf(user.Email, from)); err != nil {
		return err
	}

	// ErrBadCredentials means that the failure is recorded.
	if err := s.signInFailed(ctx, user.ID); !errors.Is(err, ErrBadCredentials) {
		return err
	}

	return ErrSecondFactorInvalid
}

// newRecoveryCodes returns new recovery codes of 80 random bits, and their hashes.
func newRecoveryCodes() (codes, hashes []string) {
	for range recoveryCodesPerAccount {
		text := rand.Text() // base 32, so the 16 characters that are used have 5 bits each
		code := text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16]

		codes = append(codes, code)
		hashes = append(hashes, hashRecoveryCode(code))
	}

	return codes, hashes
}

// hashRecoveryCode returns the hash of a recovery code. Codes that differ only in case, spaces
// and hyphens have the same hash.
func hashRecoveryCode(code string) string {
	removeSeparators := strings.NewReplacer("-", "", " ", "")
	normalized := removeSeparators.Replace(strings.ToUpper(code))

	return auth.HashSecret("recovery " + normalized)
}
