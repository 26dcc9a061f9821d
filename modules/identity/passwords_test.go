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

func (e *testEnv) requestReset(email string) {
	e.t.Helper()
	require.NoError(e.t, e.ForgotPassword(e.t.Context(), identity.ForgotPasswordInput{Email: email}, officeClient))
}

func TestResetPassword_EndsEverySession(t *testing.T) {
	env := newSQLiteEnv(t)
	s := env.jobseeker("jo@example.org")
	env.requestReset("JO@example.org")
	token := env.mailToken("jo@example.org")
	env.clock.Advance(30*time.Minute - time.Second)
	require.NoError(t, env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: token, Password: newPassword}))
	env.requireSignedOut(s)
	_, err := env.login("jo@example.org", password)
	require.ErrorIs(t, err, identity.ErrBadCredentials)
	_, err = env.login("jo@example.org", newPassword)
	require.NoError(t, err)
	all := env.mailsTo("jo@example.org")
	require.Equal(t, "Your password was changed", all[len(all)-1].Subject)
	require.ErrorIs(t,
		env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: token, Password: password}),
		fault.ErrInvalid, "a link is valid once")
}

func TestResetPassword_Link_ExpiresAndHasOneUse(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	confirm := env.mailToken("jo@example.org")
	env.requestReset("jo@example.org")
	reset := env.mailToken("jo@example.org")
	require.ErrorIs(t,
		env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: confirm, Password: newPassword}),
		fault.ErrInvalid)
	require.ErrorIs(t, env.VerifyEmail(env.t.Context(), identity.VerifyEmailInput{Token: reset}), fault.ErrInvalid)
	_, err := env.refresh(reset)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)
	require.ErrorIs(t, env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: reset, Password: "weak"}), fault.ErrInvalid)
	env.clock.Advance(30 * time.Minute)
	require.ErrorIs(t,
		env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: reset, Password: newPassword}),
		fault.ErrInvalid)
	_, err = env.login("jo@example.org", password)
	require.NoError(t, err)
}

func TestVerifyEmail_Link_ExpiresAfterADay(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	token := env.mailToken("jo@example.org")
	env.clock.Advance(24 * time.Hour)
	require.ErrorIs(t, env.VerifyEmail(env.t.Context(), identity.VerifyEmailInput{Token: token}), fault.ErrInvalid)
	require.ErrorIs(t, env.VerifyEmail(env.t.Context(), identity.VerifyEmailInput{}), fault.ErrInvalid)
}

func TestRequestVerification_UnconfirmedAddress_SendsAnotherLink(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	first := env.mailToken("jo@example.org")
	request := func(email string) {
		t.Helper()
		require.NoError(t, env.RequestVerification(t.Context(), identity.RequestVerificationInput{Email: email}, officeClient))
	}
	env.clock.Advance(25 * time.Hour)
	request("JO@example.org")
	request("nobody@example.org")
	second := env.mailToken("jo@example.org")
	require.NotEqual(t, first, second)
	require.ErrorIs(t, env.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: first}), fault.ErrInvalid)
	require.NoError(t, env.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: second}))
	request("jo@example.org")
	require.Len(t, env.mailsTo("jo@example.org"), 2, "the address is confirmed")

	env.jobseeker("sam@example.org")
	for range 5 {
		env.clock.Advance(time.Minute)
		request("sam@example.org")
	}
	require.Len(t, env.mailsTo("sam@example.org"), 1+3, "three in an hour")
	require.ErrorIs(
		t,
		env.RequestVerification(t.Context(), identity.RequestVerificationInput{Email: "jo"}, officeClient),
		fault.ErrInvalid,
	)
}

func TestResetPassword_PasswordChanged_LinksAreVoid(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.requestReset("jo@example.org")
	first := env.mailToken("jo@example.org")
	env.clock.Advance(time.Second)
	env.requestReset("jo@example.org")
	second := env.mailToken("jo@example.org")
	require.NotEqual(t, first, second)
	require.NoError(t, env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: second, Password: newPassword}))
	require.ErrorIs(t, env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: first, Password: password}), fault.ErrInvalid)
}

func TestForgotPassword_AnyAddress_SameResponse(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.Invite(env.t.Context(), admin, identity.InviteInput{Name: "New", Email: "new@example.org"}))
	env.mailsTo("")
	for range 5 {
		for _, email := range []string{"jo@example.org", "nobody@example.org", "new@example.org"} {
			env.requestReset(email)
		}
		env.clock.Advance(time.Minute)
	}
	require.Len(t, env.mailsTo("jo@example.org"), 1+3)
	require.Empty(t, env.mailsTo("nobody@example.org"))
	require.Len(t, env.mailsTo("new@example.org"), 1, "only the invitation: an invited user has no password to reset")
	env.clock.Advance(time.Hour)
	env.requestReset("jo@example.org")
	require.Len(t, env.mailsTo("jo@example.org"), 1+4)
	require.ErrorIs(t,
		env.ForgotPassword(env.t.Context(), identity.ForgotPasswordInput{Email: "no address"}, officeClient),
		fault.ErrInvalid)
}

func TestForgotPassword_UnknownAddress_WritesNothingInTheSameTime(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.mailsTo("")
	// The shortest of several, since a busy machine makes some of them longer.
	took := func(email string) (shortest time.Duration) {
		for range 3 {
			begun := time.Now()
			env.requestReset(email)
			if took := time.Since(begun); shortest == 0 || took < shortest {
				shortest = took
			}
		}
		return shortest
	}
	known, unknown := took("jo@example.org"), took("unknown@example.org")
	require.InEpsilon(t, known, unknown, 0.1)
	events, err := env.store.Identity.Outbox.Claim(env.t.Context(), 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, events, 3, "one event for each request with the known address")
}

func TestForgotPassword_ClientOverItsLimit_SendsNothing(t *testing.T) {
	env := newSQLiteEnv(t)
	for i := range 21 {
		env.jobseeker(fmt.Sprintf("p%d@example.org", i))
	}
	env.mailsTo("")
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() { env.requestReset(fmt.Sprintf("p%d@example.org", i)) })
	}
	calls.Wait()
	env.requestReset("p20@example.org")
	require.Len(t, env.mailsTo("p20@example.org"), 1, "the registration")
	require.NoError(
		t,
		env.ForgotPassword(t.Context(), identity.ForgotPasswordInput{Email: "p20@example.org"}, identity.Client{Address: "198.51.100.8"}),
	)
	require.Len(t, env.mailsTo("p20@example.org"), 2, "from another address")
}

func TestChangePassword_EndsOtherSessions(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	other, err := env.login("jo@example.org", password)
	require.NoError(t, err)
	require.NoError(
		t,
		env.ChangePassword(
			env.t.Context(),
			env.actor(signedIn),
			identity.ChangePasswordInput{CurrentPassword: password, NewPassword: newPassword},
			officeClient,
		),
	)
	env.actor(signedIn)
	env.requireSignedOut(other)
	_, err = env.login("jo@example.org", newPassword)
	require.NoError(t, err)
}

func TestChangePassword_WrongPassword_IsThrottled(t *testing.T) {
	env := newSQLiteEnv(t)
	a := env.actor(env.jobseeker("jo@example.org"))
	change := func(current, next string) error {
		return env.ChangePassword(
			env.t.Context(),
			a,
			identity.ChangePasswordInput{CurrentPassword: current, NewPassword: next},
			officeClient,
		)
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
	onEach(t, func(t *testing.T, env *testEnv) {
		env.jobseeker("jo@example.org")
		env.requestReset("jo@example.org")
		token := env.mailToken("jo@example.org")
		out := make([]identity.SignedIn, 10)
		errs := concurrently(10, func(i int) (err error) {
			if i == 5 {
				return env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: token, Password: newPassword})
			}
			out[i], err = env.login("jo@example.org", password)
			return err
		})
		require.NoError(t, errs[5])
		for i, s := range out {
			if i != 5 && errs[i] == nil {
				env.requireSignedOut(s)
			}
		}
	})
}

// A reset link is created after the request: the address of the account may change in
// between.
func TestResetPassword_LinkOfAFormerAddress_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.changeAddress(jo, "next@example.org")
	link, secret := identity.NewMailToken(jo.Account.ID, "jo@example.org", identity.ForReset, env.clock.Now())
	require.NoError(t, env.store.Identity.MailTokens.Create(t.Context(), link))
	err := env.ResetPassword(t.Context(), identity.ResetPasswordInput{Token: secret, Password: newPassword})
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = env.login("next@example.org", password)
	require.NoError(t, err)
}

func TestResetPassword_ConcurrentUse_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		env.jobseeker("jo@example.org")
		env.requestReset("jo@example.org")
		token := env.mailToken("jo@example.org")
		errs := concurrently(10, func(int) error {
			return env.ResetPassword(env.t.Context(), identity.ResetPasswordInput{Token: token, Password: newPassword})
		})
		require.Equal(t, 1, countErrors(errs, nil), "%v", errs)
		require.Equal(t, 9, countErrors(errs, fault.ErrInvalid), "%v", errs)
	})
}

func TestReaction_RunsTwice_SendsTheSameMessage(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	first := env.mailToken("jo@example.org")
	require.NoError(t, env.OnUserRegistered(env.t.Context(), event.UserRegistered{UserID: signedIn.Account.ID}))
	all := env.mailsTo("jo@example.org")
	require.Len(t, all, 2)
	require.Equal(t, all[0].ID, all[1].ID)
	require.NoError(t, env.VerifyEmail(env.t.Context(), identity.VerifyEmailInput{Token: first}))
	require.NoError(t, env.OnUserRegistered(env.t.Context(), event.UserRegistered{UserID: signedIn.Account.ID}))
	require.Len(t, env.mailsTo("jo@example.org"), 2, "a confirmed address gets no further message")
}
