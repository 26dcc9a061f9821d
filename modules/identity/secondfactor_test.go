package identity_test

import (
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// enroll enables a second factor and returns its secret and recovery codes.
func (h *house) enroll(s identity.SignedIn) (secret string, recovery []string) {
	h.t.Helper()
	e, err := h.EnrollSecondFactor(h.t.Context(), h.actor(s))
	require.NoError(h.t, err)
	recovery, err = h.ConfirmSecondFactor(h.t.Context(), h.actor(s), identity.CodeInput{Code: h.code(e.Secret)})
	require.NoError(h.t, err)
	require.Len(h.t, recovery, 10)
	return e.Secret, recovery
}

// code is the current code of the authenticator app.
func (h *house) code(secret string) string {
	h.t.Helper()
	code, err := totp.GenerateCode(secret, h.clock.Now())
	require.NoError(h.t, err)
	return code
}

func (h *house) loginWith(email, password, code string) (identity.SignedIn, error) {
	return h.Login(h.t.Context(), identity.LoginInput{Email: email, Password: password, TOTP: code}, office)
}

func TestSecondFactor_SignIn(t *testing.T) {
	onEach(t, func(t *testing.T, h *house) {
		jo := h.jobseeker("jo@example.org")
		other, err := h.loginWith("jo@example.org", password, "")
		require.NoError(t, err)
		secret, recovery := h.enroll(jo)
		h.isOut(other)
		h.actor(jo)

		_, err = h.loginWith("jo@example.org", password, "")
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
		_, err = h.LoginBrowser(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, office, "")
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
		for _, code := range []string{"", h.code(secret), recovery[0]} {
			_, err = h.loginWith("jo@example.org", "Wr0ng-password", code)
			require.ErrorIs(t, err, identity.ErrBadCredentials, "a wrong password does not reveal the second factor")
		}
		_, err = h.loginWith("jo@example.org", password, h.code(secret))
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "the code was used to enable the second factor")
		h.clock.Advance(30 * time.Second)
		_, err = h.loginWith("jo@example.org", password, h.code(secret))
		require.NoError(t, err)
		_, err = h.loginWith("jo@example.org", password, h.code(secret))
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "a code works once")

		_, err = h.loginWith("jo@example.org", password, recovery[3])
		require.NoError(t, err)
		_, err = h.loginWith("jo@example.org", password, recovery[3])
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "a recovery code works once")
		status, err := h.MySecondFactor(t.Context(), h.actor(jo))
		require.NoError(t, err)
		require.True(t, status.Enabled)
		require.Equal(t, 9, status.RecoveryCodesLeft)
	})
}

func TestSecondFactor_ConcurrentCode(t *testing.T) {
	onEach(t, func(t *testing.T, h *house) {
		secret, _ := h.enroll(h.jobseeker("jo@example.org"))
		h.clock.Advance(time.Minute)
		code := h.code(secret)
		errs := atOnce(5, func(int) error {
			_, err := h.loginWith("jo@example.org", password, code)
			return err
		})
		require.Equal(t, 1, count(errs, nil))
	})
}

func TestSecondFactor_GuessedCodes(t *testing.T) {
	h := sqlite(t)
	h.enroll(h.jobseeker("jo@example.org"))
	for range 10 {
		_, err := h.loginWith("jo@example.org", password, "000000")
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid)
	}
	_, err := h.loginWith("jo@example.org", password, "000000")
	require.ErrorIs(t, err, fault.ErrRateLimit, "the right password does not reset the failures")
}

func TestSecondFactor_PasswordReset(t *testing.T) {
	h := sqlite(t)
	_, recovery := h.enroll(h.jobseeker("jo@example.org"))
	require.NoError(t, h.ForgotPassword(t.Context(), identity.ForgotPasswordInput{Email: "jo@example.org"}, office))
	require.NoError(t, h.ResetPassword(t.Context(), identity.ResetPasswordInput{Token: h.token("jo@example.org"), Password: "N3w-password"}))
	_, err := h.loginWith("jo@example.org", "N3w-password", "")
	require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
	_, err = h.loginWith("jo@example.org", "N3w-password", recovery[0])
	require.NoError(t, err)
}

func TestSecondFactor_Enrollment(t *testing.T) {
	h := sqlite(t)
	jo := h.jobseeker("jo@example.org")
	_, err := h.ConfirmSecondFactor(t.Context(), h.actor(jo), identity.CodeInput{Code: "000000"})
	require.ErrorIs(t, err, identity.ErrNotEnrolled)
	first, err := h.EnrollSecondFactor(t.Context(), h.actor(jo))
	require.NoError(t, err)
	second, err := h.EnrollSecondFactor(t.Context(), h.actor(jo))
	require.NoError(t, err)
	_, err = h.loginWith("jo@example.org", password, "")
	require.NoError(t, err, "it is not enabled yet")
	_, err = h.ConfirmSecondFactor(t.Context(), h.actor(jo), identity.CodeInput{Code: h.code(first.Secret)})
	require.ErrorIs(t, err, fault.ErrInvalid, "another secret took its place")
	h.clock.Advance(10 * time.Minute)
	_, err = h.EnrollSecondFactor(t.Context(), h.actor(jo))
	require.ErrorIs(t, err, auth.ErrReauthenticate)
	_, err = h.ConfirmSecondFactor(t.Context(), h.actor(jo), identity.CodeInput{Code: h.code(second.Secret)})
	require.NoError(t, err)
	h.clock.Advance(time.Minute)
	confirmed, err := h.Confirm(t.Context(), h.actor(jo), password, office)
	require.NoError(t, err)
	_, err = h.EnrollSecondFactor(t.Context(), confirmed)
	require.ErrorIs(t, err, identity.ErrSecondFactorEnabled)

	disable := func(password, code string) error {
		return h.DisableSecondFactor(t.Context(), h.actor(jo), identity.DisableSecondFactorInput{CurrentPassword: password, CodeInput: identity.CodeInput{Code: code}}, office)
	}
	require.ErrorIs(t, disable("Wr0ng-password", h.code(second.Secret)), fault.ErrInvalid)
	require.ErrorIs(t, disable(password, "000000"), fault.ErrInvalid)
	require.NoError(t, disable(password, h.code(second.Secret)))
	require.ErrorIs(t, disable(password, "000000"), identity.ErrNotEnrolled)
	_, err = h.loginWith("jo@example.org", password, "")
	require.NoError(t, err)
	var subjects []string
	for _, m := range h.mails("jo@example.org") {
		subjects = append(subjects, m.Subject)
	}
	require.Subset(t, subjects, []string{"Two-step sign-in is on", "Two-step sign-in is off"})
}

func TestSecondFactor_RequiredByOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, h *house) {
		boss := h.employer("boss@example.org")
		member := h.member(h.actor(boss), "jo@example.org", "recruiter")
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
		require.Empty(t, acting.OrganizationID, "neither has a key of theirs")
		may, err := h.MemberMay(t.Context(), o.ID, member.Account.ID, "")
		require.NoError(t, err)
		require.False(t, may)
		h.enroll(member)
		require.Equal(t, o.ID, h.actor(member).OrganizationID)
	})
}
