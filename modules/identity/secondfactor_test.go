package identity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// enroll enables a second factor and returns its secret and recovery codes.
func (h *testEnv) enroll(s identity.SignedIn) (secret string, recovery []string) {
	h.t.Helper()
	e, err := h.EnrollSecondFactor(h.t.Context(), h.actor(s))
	require.NoError(h.t, err)
	recovery, err = h.ConfirmSecondFactor(h.t.Context(), h.actor(s), identity.CodeInput{Code: h.currentCode(e.Secret)})
	require.NoError(h.t, err)
	require.Len(h.t, recovery, 10)
	return e.Secret, recovery
}

// currentCode returns the current code of the authenticator app.
func (h *testEnv) currentCode(secret string) string {
	h.t.Helper()
	code, err := totp.GenerateCode(secret, h.clock.Now())
	require.NoError(h.t, err)
	return code
}

func (h *testEnv) loginWith(email, password, code string) (identity.SignedIn, error) {
	return h.Login(h.t.Context(), identity.LoginInput{Email: email, Password: password, TOTP: code}, officeClient)
}

func TestSecondFactor_SignIn(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		jo := h.jobseeker("jo@example.org")
		other, err := h.loginWith("jo@example.org", password, "")
		require.NoError(t, err)
		secret, recovery := h.enroll(jo)
		h.requireSignedOut(other)
		h.actor(jo)

		_, err = h.loginWith("jo@example.org", password, "")
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
		_, err = h.LoginBrowser(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient, "")
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
		for _, code := range []string{"", h.currentCode(secret), recovery[0]} {
			_, err = h.loginWith("jo@example.org", "Wr0ng-password", code)
			require.ErrorIs(t, err, identity.ErrBadCredentials, "a wrong password does not reveal the second factor")
		}
		_, err = h.loginWith("jo@example.org", password, h.currentCode(secret))
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "the code was used to enable the second factor")
		h.clock.Advance(30 * time.Second)
		_, err = h.loginWith("jo@example.org", password, h.currentCode(secret))
		require.NoError(t, err)
		_, err = h.loginWith("jo@example.org", password, h.currentCode(secret))
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "a code is valid once")

		_, err = h.loginWith("jo@example.org", password, recovery[3])
		require.NoError(t, err)
		_, err = h.loginWith("jo@example.org", password, recovery[3])
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "a recovery code is valid once")
		status, err := h.MySecondFactor(t.Context(), h.actor(jo))
		require.NoError(t, err)
		require.True(t, status.Enabled)
		require.Equal(t, 9, status.RecoveryCodesLeft)
	})
}

func TestSecondFactor_ConcurrentCode(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		secret, _ := h.enroll(h.jobseeker("jo@example.org"))
		h.clock.Advance(time.Minute)
		code := h.currentCode(secret)
		errs := concurrently(5, func(int) error {
			_, err := h.loginWith("jo@example.org", password, code)
			return err
		})
		require.Equal(t, 1, countErrors(errs, nil))
	})
}

func TestSecondFactor_GuessedCodes(t *testing.T) {
	h := newSQLiteEnv(t)
	h.enroll(h.jobseeker("jo@example.org"))
	for range 10 {
		_, err := h.loginWith("jo@example.org", password, "000000")
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid)
	}
	_, err := h.loginWith("jo@example.org", password, "000000")
	require.ErrorIs(t, err, fault.ErrRateLimit, "the right password does not reset the failures")
}

func TestSecondFactor_CodesGuessedFromManyNetworks(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	secret, _ := h.enroll(jo)
	h.clock.Advance(time.Minute)
	network := 0
	guess := func(code string) error {
		network++
		_, err := h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password, TOTP: code}, identity.Client{Address: fmt.Sprintf("2001:db8:%x::1", network)})
		return err
	}
	for range 10 {
		require.ErrorIs(t, guess("000000"), identity.ErrSecondFactorInvalid)
	}
	err := guess(h.currentCode(secret))
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)
	disable := identity.DisableSecondFactorInput{CurrentPassword: password, CodeInput: identity.CodeInput{Code: h.currentCode(secret)}}
	require.ErrorIs(t, h.DisableSecondFactor(t.Context(), h.actor(jo), disable, officeClient), fault.ErrRateLimit)
	require.ErrorIs(t, guess(""), identity.ErrSecondFactorRequired, "a missing code does not count as a guess")
	h.clock.Advance(15 * time.Minute)
	require.NoError(t, guess(h.currentCode(secret)))
}

func TestSecondFactor_WrongPasswords_LeaveItsCodes(t *testing.T) {
	h := newSQLiteEnv(t)
	secret, _ := h.enroll(h.jobseeker("jo@example.org"))
	h.clock.Advance(time.Minute)
	for i := range 11 {
		_, err := h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: "Wr0ng-password", TOTP: "000000"}, identity.Client{Address: fmt.Sprintf("2001:db8:%x::1", i)})
		require.ErrorIs(t, err, identity.ErrBadCredentials)
	}
	_, err := h.loginWith("jo@example.org", password, h.currentCode(secret))
	require.NoError(t, err)
}

// resetPassword sets a new password by email.
func (h *testEnv) resetPassword(email, password string) {
	h.t.Helper()
	require.NoError(h.t, h.ForgotPassword(h.t.Context(), identity.ForgotPasswordInput{Email: email}, officeClient))
	require.NoError(h.t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: h.mailToken(email), Password: password}))
}

// hasSecondFactor reports whether sign-ins need a code.
func (h *testEnv) hasSecondFactor(email, password string) bool {
	h.t.Helper()
	_, err := h.loginWith(email, password, "")
	if err != nil {
		require.ErrorIs(h.t, err, identity.ErrSecondFactorRequired)
	}
	return err != nil
}

// auditedReset reports whether the audit log says that the account's second factor
// was removed.
func (h *testEnv) auditedReset(userID string) bool {
	h.t.Helper()
	entries, err := h.store.Identity.AuditLog.List(h.t.Context(), audit.Filter{Action: audit.SecondFactorReset, About: userID}, page.Request{Number: 1, Size: 10})
	require.NoError(h.t, err)
	return len(entries.Items) == 1
}

func TestSecondFactor_Squatter_MailboxOwnerResets(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		squatter := h.jobseeker("jo@example.org")
		h.enroll(squatter)
		h.resetPassword("jo@example.org", "N3w-password")
		require.False(t, h.hasSecondFactor("jo@example.org", "N3w-password"))
		require.True(t, h.auditedReset(squatter.Account.ID))

		again, err := h.loginWith("jo@example.org", "N3w-password", "")
		require.NoError(t, err)
		h.enroll(again)
		h.clock.Advance(time.Second)
		h.resetPassword("jo@example.org", "N3wer-password")
		require.True(t, h.hasSecondFactor("jo@example.org", "N3wer-password"), "a second factor that the owner enabled later stays")
	})
}

func TestSecondFactor_Squatter_ConfirmsAfterReset(t *testing.T) {
	h := newSQLiteEnv(t)
	squatter := h.actor(h.jobseeker("jo@example.org"))
	e, err := h.EnrollSecondFactor(t.Context(), squatter)
	require.NoError(t, err)
	h.resetPassword("jo@example.org", "N3w-password")
	_, err = h.ConfirmSecondFactor(t.Context(), squatter, identity.CodeInput{Code: h.currentCode(e.Secret)})
	require.ErrorIs(t, err, identity.ErrNotEnrolled, "a concurrent request")
	require.False(t, h.auditedReset(squatter.UserID), "it was not enabled")
}

func TestSecondFactor_UnverifiedAccount_AcceptsInvitation(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	h.enroll(jo)
	h.mailsTo("")
	require.NoError(t, h.invite(h.actor(h.employer("boss@example.org")), "jo@example.org", ""))
	_, err := h.accept(h.actor(jo), h.mailToken("jo@example.org"))
	require.NoError(t, err)
	require.False(t, h.hasSecondFactor("jo@example.org", password))
	require.True(t, h.auditedReset(jo.Account.ID))
}

func TestSecondFactor_AddressChangeUndone(t *testing.T) {
	for name, thief := range map[string]bool{"enabled before": false, "enabled since": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, h *testEnv) {
				jo := h.jobseeker("jo@example.org")
				if !thief {
					h.enroll(jo)
					h.clock.Advance(time.Second)
				}
				changedAt := h.changeAddress(jo, "thief@example.org")
				if thief {
					h.enroll(jo)
				}
				h.clock.Advance(time.Second)
				require.NoError(t, h.UndoEmailChange(t.Context(), identity.UndoEmailChangeInput{Token: h.undoToken(jo, changedAt), Password: "N3w-password"}))
				require.Equal(t, !thief, h.hasSecondFactor("jo@example.org", "N3w-password"))
				require.Equal(t, thief, h.auditedReset(jo.Account.ID))
			})
		})
	}
}

func TestSecondFactor_PasswordReset(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	require.NoError(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: h.mailToken("jo@example.org")}))
	_, recovery := h.enroll(jo)
	require.NoError(t, h.ForgotPassword(t.Context(), identity.ForgotPasswordInput{Email: "jo@example.org"}, officeClient))
	require.NoError(t, h.ResetPassword(t.Context(), identity.ResetPasswordInput{Token: h.mailToken("jo@example.org"), Password: "N3w-password"}))
	_, err := h.loginWith("jo@example.org", "N3w-password", "")
	require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
	_, err = h.loginWith("jo@example.org", "N3w-password", recovery[0])
	require.NoError(t, err)
}

func TestSecondFactor_Enrollment(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	_, err := h.ConfirmSecondFactor(t.Context(), h.actor(jo), identity.CodeInput{Code: "000000"})
	require.ErrorIs(t, err, identity.ErrNotEnrolled)
	first, err := h.EnrollSecondFactor(t.Context(), h.actor(jo))
	require.NoError(t, err)
	second, err := h.EnrollSecondFactor(t.Context(), h.actor(jo))
	require.NoError(t, err)
	_, err = h.loginWith("jo@example.org", password, "")
	require.NoError(t, err, "it is not enabled yet")
	_, err = h.ConfirmSecondFactor(t.Context(), h.actor(jo), identity.CodeInput{Code: h.currentCode(first.Secret)})
	require.ErrorIs(t, err, fault.ErrInvalid, "the secret was replaced")
	h.clock.Advance(10 * time.Minute)
	_, err = h.EnrollSecondFactor(t.Context(), h.actor(jo))
	require.ErrorIs(t, err, auth.ErrReauthenticate)
	_, err = h.ConfirmSecondFactor(t.Context(), h.actor(jo), identity.CodeInput{Code: h.currentCode(second.Secret)})
	require.NoError(t, err)
	h.clock.Advance(time.Minute)
	confirmed, err := h.Confirm(t.Context(), h.actor(jo), password, officeClient)
	require.NoError(t, err)
	_, err = h.EnrollSecondFactor(t.Context(), confirmed)
	require.ErrorIs(t, err, identity.ErrSecondFactorEnabled)

	disable := func(password, code string) error {
		return h.DisableSecondFactor(t.Context(), h.actor(jo), identity.DisableSecondFactorInput{CurrentPassword: password, CodeInput: identity.CodeInput{Code: code}}, officeClient)
	}
	require.ErrorIs(t, disable("Wr0ng-password", h.currentCode(second.Secret)), fault.ErrInvalid)
	require.ErrorIs(t, disable(password, "000000"), fault.ErrInvalid)
	require.NoError(t, disable(password, h.currentCode(second.Secret)))
	require.ErrorIs(t, disable(password, "000000"), identity.ErrNotEnrolled)
	_, err = h.loginWith("jo@example.org", password, "")
	require.NoError(t, err)
	var subjects []string
	for _, m := range h.mailsTo("jo@example.org") {
		subjects = append(subjects, m.Subject)
	}
	require.Subset(t, subjects, []string{"Two-step sign-in is on", "Two-step sign-in is off"})
}

func TestSecondFactor_RequiredByOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		boss := h.employer("boss@example.org")
		member := h.addMember(h.actor(boss), "jo@example.org", "recruiter")
		on := true
		_, err := h.UpdateOrganization(t.Context(), h.actor(boss), identity.OrganizationInput{RequireSecondFactor: &on})
		require.ErrorIs(t, err, fault.ErrInvalid, "the admin has none")
		h.enroll(boss)
		o, err := h.UpdateOrganization(t.Context(), h.actor(boss), identity.OrganizationInput{RequireSecondFactor: &on})
		require.NoError(t, err)
		require.True(t, o.RequireSecondFactor)

		require.True(t, h.actor(boss).May(auth.Manage))
		a := h.actor(member)
		require.True(t, a.EnrollmentRequired)
		require.Empty(t, a.OrganizationID)
		require.Empty(t, a.Permissions)
		acting, err := h.ActorFor(t.Context(), member.Account.ID)
		require.NoError(t, err)
		require.Empty(t, acting.OrganizationID, "a member without a required second factor has no access")
		may, err := h.MemberMay(t.Context(), o.ID, member.Account.ID, "")
		require.NoError(t, err)
		require.False(t, may)
		h.enroll(member)
		require.Equal(t, o.ID, h.actor(member).OrganizationID)
	})
}
