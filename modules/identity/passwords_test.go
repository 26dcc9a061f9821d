package identity_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

const newPassword = "Better-passw0rd"

func (h *testEnv) requestReset(email string) {
	h.t.Helper()
	require.NoError(h.t, h.ForgotPassword(h.t.Context(), identity.ForgotPasswordInput{Email: email}, officeClient))
}

func TestResetPassword_EndsEverySession(t *testing.T) {
	h := newSQLiteEnv(t)
	s := h.jobseeker("jo@example.org")
	h.requestReset("JO@example.org")
	token := h.mailToken("jo@example.org")
	h.clock.Advance(30*time.Minute - time.Second)
	require.NoError(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: token, Password: newPassword}))
	h.requireSignedOut(s)
	_, err := h.login("jo@example.org", password)
	require.ErrorIs(t, err, identity.ErrBadCredentials)
	_, err = h.login("jo@example.org", newPassword)
	require.NoError(t, err)
	all := h.mailsTo("jo@example.org")
	require.Equal(t, "Your password was changed", all[len(all)-1].Subject)
	require.ErrorIs(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: token, Password: password}), fault.ErrInvalid, "a link is valid once")
}

func TestResetPassword_Link_ExpiresAndHasOneUse(t *testing.T) {
	h := newSQLiteEnv(t)
	h.jobseeker("jo@example.org")
	confirm := h.mailToken("jo@example.org")
	h.requestReset("jo@example.org")
	reset := h.mailToken("jo@example.org")
	require.ErrorIs(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: confirm, Password: newPassword}), fault.ErrInvalid)
	require.ErrorIs(t, h.VerifyEmail(h.t.Context(), identity.VerifyEmailInput{Token: reset}), fault.ErrInvalid)
	_, err := h.refresh(reset)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)
	require.ErrorIs(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: reset, Password: "weak"}), fault.ErrInvalid)
	h.clock.Advance(30 * time.Minute)
	require.ErrorIs(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: reset, Password: newPassword}), fault.ErrInvalid)
	_, err = h.login("jo@example.org", password)
	require.NoError(t, err)
}

func TestVerifyEmail_Link_ExpiresAfterADay(t *testing.T) {
	h := newSQLiteEnv(t)
	h.jobseeker("jo@example.org")
	token := h.mailToken("jo@example.org")
	h.clock.Advance(24 * time.Hour)
	require.ErrorIs(t, h.VerifyEmail(h.t.Context(), identity.VerifyEmailInput{Token: token}), fault.ErrInvalid)
	require.ErrorIs(t, h.VerifyEmail(h.t.Context(), identity.VerifyEmailInput{}), fault.ErrInvalid)
}

func TestResetPassword_PasswordChanged_LinksAreVoid(t *testing.T) {
	h := newSQLiteEnv(t)
	h.jobseeker("jo@example.org")
	h.requestReset("jo@example.org")
	first := h.mailToken("jo@example.org")
	h.clock.Advance(time.Second)
	h.requestReset("jo@example.org")
	second := h.mailToken("jo@example.org")
	require.NotEqual(t, first, second)
	require.NoError(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: second, Password: newPassword}))
	require.ErrorIs(t, h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: first, Password: password}), fault.ErrInvalid)
}

func TestForgotPassword_AnyAddress_SameResponse(t *testing.T) {
	h := newSQLiteEnv(t)
	h.jobseeker("jo@example.org")
	admin := h.actor(h.employer("boss@example.org"))
	require.NoError(t, h.Invite(h.t.Context(), admin, identity.InviteInput{Name: "New", Email: "new@example.org"}))
	h.mailsTo("")
	for range 5 {
		for _, email := range []string{"jo@example.org", "nobody@example.org", "new@example.org"} {
			h.requestReset(email)
		}
		h.clock.Advance(time.Minute)
	}
	require.Len(t, h.mailsTo("jo@example.org"), 1+3)
	require.Empty(t, h.mailsTo("nobody@example.org"))
	require.Len(t, h.mailsTo("new@example.org"), 1, "only the invitation: an invited user has no password to reset")
	h.clock.Advance(time.Hour)
	h.requestReset("jo@example.org")
	require.Len(t, h.mailsTo("jo@example.org"), 1+4)
	require.ErrorIs(t, h.ForgotPassword(h.t.Context(), identity.ForgotPasswordInput{Email: "no address"}, officeClient), fault.ErrInvalid)
}

func TestForgotPassword_UnknownAddress_WritesNothingInTheSameTime(t *testing.T) {
	h := newSQLiteEnv(t)
	h.jobseeker("jo@example.org")
	h.mailsTo("")
	// The shortest of several, since a busy machine makes some of them longer.
	took := func(email string) (shortest time.Duration) {
		for range 3 {
			begun := time.Now()
			h.requestReset(email)
			if took := time.Since(begun); shortest == 0 || took < shortest {
				shortest = took
			}
		}
		return shortest
	}
	known, unknown := took("jo@example.org"), took("unknown@example.org")
	require.InEpsilon(t, known, unknown, 0.1)
	events, err := h.store.Identity.Outbox.Claim(h.t.Context(), 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, events, 3, "one event for each request with the known address")
}

func TestForgotPassword_ClientOverItsLimit_SendsNothing(t *testing.T) {
	h := newSQLiteEnv(t)
	for i := range 21 {
		h.jobseeker(fmt.Sprintf("p%d@example.org", i))
	}
	h.mailsTo("")
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() { h.requestReset(fmt.Sprintf("p%d@example.org", i)) })
	}
	calls.Wait()
	h.requestReset("p20@example.org")
	require.Len(t, h.mailsTo("p20@example.org"), 1, "the registration")
	require.NoError(t, h.ForgotPassword(t.Context(), identity.ForgotPasswordInput{Email: "p20@example.org"}, identity.Client{Address: "198.51.100.8"}))
	require.Len(t, h.mailsTo("p20@example.org"), 2, "from another address")
}

func TestChangePassword_EndsOtherSessions(t *testing.T) {
	h := newSQLiteEnv(t)
	s := h.jobseeker("jo@example.org")
	other, err := h.login("jo@example.org", password)
	require.NoError(t, err)
	require.NoError(t, h.ChangePassword(h.t.Context(), h.actor(s), identity.ChangePasswordInput{CurrentPassword: password, NewPassword: newPassword}, officeClient))
	h.actor(s)
	h.requireSignedOut(other)
	_, err = h.login("jo@example.org", newPassword)
	require.NoError(t, err)
}

func TestChangePassword_WrongPassword_IsThrottled(t *testing.T) {
	h := newSQLiteEnv(t)
	a := h.actor(h.jobseeker("jo@example.org"))
	change := func(current, next string) error {
		return h.ChangePassword(h.t.Context(), a, identity.ChangePasswordInput{CurrentPassword: current, NewPassword: next}, officeClient)
	}
	require.ErrorIs(t, change(password, "weak"), fault.ErrInvalid)
	require.ErrorIs(t, change("", newPassword), fault.ErrInvalid)
	for range 10 {
		err := change("Wr0ng-pass", newPassword)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.Equal(t, "currentPassword", fault.Of(err).Fields[0].Name)
	}
	require.ErrorIs(t, change(password, newPassword), fault.ErrRateLimit)
}

func TestResetPassword_LoginAtOnce_LeavesNoOldSession(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		h.jobseeker("jo@example.org")
		h.requestReset("jo@example.org")
		token := h.mailToken("jo@example.org")
		out := make([]identity.SignedIn, 10)
		errs := concurrently(10, func(i int) (err error) {
			if i == 5 {
				return h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: token, Password: newPassword})
			}
			out[i], err = h.login("jo@example.org", password)
			return err
		})
		require.NoError(t, errs[5])
		for i, s := range out {
			if i != 5 && errs[i] == nil {
				h.requireSignedOut(s)
			}
		}
	})
}

// A reset link is created after the request: the address of the account may change in
// between.
func TestResetPassword_LinkOfAFormerAddress_IsRefused(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	h.changeAddress(jo, "next@example.org")
	link, secret := identity.NewMailToken(jo.Account.ID, "jo@example.org", identity.ForReset, h.clock.Now())
	require.NoError(t, h.store.Identity.MailTokens.Create(t.Context(), link))
	err := h.ResetPassword(t.Context(), identity.ResetPasswordInput{Token: secret, Password: newPassword})
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = h.login("next@example.org", password)
	require.NoError(t, err)
}

func TestResetPassword_ConcurrentUse_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		h.jobseeker("jo@example.org")
		h.requestReset("jo@example.org")
		token := h.mailToken("jo@example.org")
		errs := concurrently(10, func(int) error {
			return h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: token, Password: newPassword})
		})
		require.Equal(t, 1, countErrors(errs, nil), "%v", errs)
		require.Equal(t, 9, countErrors(errs, fault.ErrInvalid), "%v", errs)
	})
}

func TestReaction_RunsTwice_SendsTheSameMessage(t *testing.T) {
	h := newSQLiteEnv(t)
	s := h.jobseeker("jo@example.org")
	first := h.mailToken("jo@example.org")
	require.NoError(t, h.OnUserRegistered(h.t.Context(), event.UserRegistered{UserID: s.Account.ID}))
	all := h.mailsTo("jo@example.org")
	require.Len(t, all, 2)
	require.Equal(t, all[0].ID, all[1].ID)
	require.NoError(t, h.VerifyEmail(h.t.Context(), identity.VerifyEmailInput{Token: first}))
	require.NoError(t, h.OnUserRegistered(h.t.Context(), event.UserRegistered{UserID: s.Account.ID}))
	require.Len(t, h.mailsTo("jo@example.org"), 2, "a confirmed address gets no further message")
}
