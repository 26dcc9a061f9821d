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
	// ConfirmedAt is zero until the user has entered a first code. Until then the
	// account is used without the second factor.
	ConfirmedAt time.Time
	// LastStep is the newest time step of which a code was used. No code of this
	// or an earlier step is accepted.
	LastStep int64
	// RecoveryCodes are the hashes of the recovery codes that were not used, in any
	// order.
	RecoveryCodes []string
}

// Enabled reports whether sign-ins need the second factor.
func (f *SecondFactor) Enabled() bool { return !f.ConfirmedAt.IsZero() }

// useRecoveryCode reports whether the hash is one of an unused recovery code, and
// removes it.
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
	// RecoveryCodesLeft is the number of recovery codes that were not used.
	RecoveryCodesLeft int
	// Required is set if the user's organization requires a second factor.
	Required bool
}

// MySecondFactor returns the status of the caller's second factor.
func (s *Service) MySecondFactor(ctx context.Context, a auth.Actor) (out SecondFactorStatus, err error) {
	if err := a.RequireUser(); err != nil {
		return out, err
	}
	f, err := s.secondFactor(ctx, a.UserID)
	if err != nil {
		return out, err
	}
	if out.Enabled, out.EnabledAt = f.Enabled(), f.ConfirmedAt; out.Enabled {
		out.RecoveryCodesLeft = len(f.RecoveryCodes)
	}
	m, err := s.Members.GetByUser(ctx, a.UserID)
	if err != nil || m == nil {
		return out, err
	}
	o, err := s.organization(ctx, m.OrganizationID)
	out.Required = o.RequireSecondFactor
	return out, err
}

// secondFactor returns the user's second factor, the zero value without one.
func (s *Service) secondFactor(ctx context.Context, userID string) (SecondFactor, error) {
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

// EnrollSecondFactor returns the secret for the caller's authenticator app.
// ConfirmSecondFactor enables it; until then it can be called again, for another
// secret. The caller must be confirmed.
func (s *Service) EnrollSecondFactor(ctx context.Context, a auth.Actor) (Enrollment, error) {
	if err := cmp.Or(a.RequireUser(), a.RequireConfirmed(s.Clock.Now())); err != nil {
		return Enrollment{}, err
	}
	u, err := s.caller(ctx, a.UserID)
	if err != nil {
		return Enrollment{}, err
	}
	var out Enrollment
	if out.Secret, out.URL, err = s.OneTimeCodes.NewSecret(u.Email); err != nil {
		return Enrollment{}, err
	}
	encrypted, err := s.Vault.Encrypt(out.Secret, u.ID)
	if err != nil {
		return Enrollment{}, err
	}
	return out, s.Tx.Do(ctx, func(ctx context.Context) error {
		switch existing, err := s.secondFactor(ctx, u.ID); {
		case err != nil:
			return err
		case existing.Enabled():
			return ErrSecondFactorEnabled
		}
		return s.SecondFactors.Upsert(ctx, SecondFactor{UserID: u.ID, Secret: encrypted, CreatedAt: s.Clock.Now()})
	})
}

// CodeInput contains a code of an authenticator app.
type CodeInput struct {
	Code string `json:"code" validate:"required,max=64" sample:"\"123456\""`
}

// ConfirmSecondFactor enables the second factor that the caller enrolled, if the
// code is one of the authenticator app's. It returns the recovery codes, which
// are not shown again, and ends the caller's other sessions, which were opened
// without it.
func (s *Service) ConfirmSecondFactor(ctx context.Context, a auth.Actor, in CodeInput) ([]string, error) {
	if err := a.RequireUser(); err != nil {
		return nil, err
	}
	var codes []string
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		f, err := s.SecondFactors.Get(ctx, a.UserID)
		switch {
		case err != nil:
			return fault.IfNotFound(err, ErrNotEnrolled)
		case f.Enabled():
			return ErrSecondFactorEnabled
		}
		step, ok, err := s.matchCode(f, in.Code, now)
		if err != nil {
			return err
		}
		if !ok {
			return fault.InvalidField("code", "is not the current code of the authenticator app")
		}
		f.ConfirmedAt, f.LastStep = now, step
		codes, f.RecoveryCodes = newRecoveryCodes()
		if err := s.SecondFactors.Upsert(ctx, f); err != nil {
			return err
		}
		if err := s.Sessions.EndByUsers(ctx, []string{a.UserID}, a.SessionID, now); err != nil {
			return err
		}
		return s.recordSecondFactor(ctx, a.UserID, audit.SecondFactorEnabled, now)
	})
	return codes, err
}

// DisableSecondFactorInput contains both factors.
type DisableSecondFactorInput struct {
	CurrentPassword string `json:"currentPassword" validate:"required,max=1024"`
	CodeInput
}

// DisableSecondFactor removes the caller's second factor and its recovery codes.
func (s *Service) DisableSecondFactor(ctx context.Context, a auth.Actor, in DisableSecondFactorInput, from Client) error {
	if err := a.RequireUser(); err != nil {
		return err
	}
	u, err := s.checkOwnPassword(ctx, a, in.CurrentPassword, from)
	if err != nil {
		return err
	}
	if err := s.checkCodeFailures(ctx, u.ID, in.Code); err != nil {
		return err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		switch f, err := s.secondFactor(ctx, a.UserID); {
		case err != nil:
			return err
		case !f.Enabled():
			return ErrNotEnrolled
		}
		if err := s.useSecondFactor(ctx, a.UserID, in.Code, now); err != nil {
			return err
		}
		if err := s.SecondFactors.Delete(ctx, a.UserID); err != nil {
			return err
		}
		return s.recordSecondFactor(ctx, a.UserID, audit.SecondFactorDisabled, now)
	})
	if !errors.Is(err, ErrSecondFactorInvalid) {
		return err
	}
	if err := s.secondFactorFailed(ctx, u, from); !errors.Is(err, ErrSecondFactorInvalid) {
		return err
	}
	return fault.InvalidField("code", "is not a current code or a recovery code")
}

// ResetSecondFactor removes the second factor of the account with the address in
// the name of an operator, for a user who has lost the device and the recovery
// codes.
func (s *Service) ResetSecondFactor(ctx context.Context, email string) error {
	return s.operate(ctx, email, audit.SecondFactorReset, func(ctx context.Context, u *User, now time.Time) error {
		if _, err := s.SecondFactors.Get(ctx, u.ID); err != nil {
			return err
		}
		if err := s.SecondFactors.Delete(ctx, u.ID); err != nil {
			return err
		}
		return s.Events.Record(ctx, event.SecondFactorChanged{UserID: u.ID, Change: string(audit.SecondFactorReset), ChangedAt: now})
	})
}

// dropSecondFactor deletes the second factor of an account after its address was proven
// by a mailed link, unless the factor was enabled before the time. The caller has stored
// the account, which serializes it with sign-ins.
func (s *Service) dropSecondFactor(ctx context.Context, userID string, since, now time.Time) error {
	f, err := s.secondFactor(ctx, userID)
	if err != nil || f.UserID == "" || f.Enabled() && f.ConfirmedAt.Before(since) {
		return err
	}
	if err := s.SecondFactors.Delete(ctx, userID); err != nil || !f.Enabled() {
		return err
	}
	return s.recordSecondFactor(ctx, userID, audit.SecondFactorReset, now)
}

func (s *Service) recordSecondFactor(ctx context.Context, userID string, action audit.Action, now time.Time) error {
	return s.auditUser(ctx, userID, action, userID, event.SecondFactorChanged{UserID: userID, Change: string(action), ChangedAt: now})
}

// useSecondFactor uses up the code, which works once, in the transaction of ctx.
// It succeeds for an account without a second factor. Otherwise it fails with
// ErrSecondFactorRequired if the code is empty and with ErrSecondFactorInvalid if
// it is wrong or was used.
func (s *Service) useSecondFactor(ctx context.Context, userID, code string, now time.Time) error {
	f, err := s.secondFactor(ctx, userID)
	switch {
	case err != nil || !f.Enabled():
		return err
	case code == "":
		return ErrSecondFactorRequired
	}
	step, ok, err := s.matchCode(f, code, now)
	if err != nil {
		return err
	}
	switch {
	case ok && step > f.LastStep:
		f.LastStep = step
	case ok || !f.useRecoveryCode(hashRecoveryCode(code)):
		return ErrSecondFactorInvalid
	}
	if err := s.SecondFactors.Upsert(ctx, f); err != nil || ok {
		return err
	}
	return s.auditUser(ctx, userID, audit.RecoveryCodeUsed, userID)
}

// matchCode returns the time step of a code of the authenticator app.
func (s *Service) matchCode(f SecondFactor, code string, now time.Time) (step int64, ok bool, err error) {
	secret, err := s.Vault.Decrypt(f.Secret, f.UserID)
	if err != nil {
		return 0, false, err
	}
	step, ok = s.OneTimeCodes.Match(secret, strings.ReplaceAll(code, " ", ""), now)
	return step, ok, nil
}

// secondFactorFailed counts and records a wrong code as a failed sign-in and
// returns ErrSecondFactorInvalid.
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
		text := rand.Text()
		code := text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:16]
		codes, hashes = append(codes, code), append(hashes, hashRecoveryCode(code))
	}
	return codes, hashes
}

// hashRecoveryCode returns what is stored of a recovery code. Case, spaces and
// hyphens make no difference.
func hashRecoveryCode(code string) string {
	return auth.HashSecret("recovery " + strings.NewReplacer("-", "", " ", "").Replace(strings.ToUpper(code)))
}
