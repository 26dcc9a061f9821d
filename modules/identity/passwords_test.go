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

// requestReset requests a link that sets a new password. The use case only records an event. The
// handler of the event sends the link; mailToken, mailsTo and handleEvents run the handlers.
func (e *testEnv) requestReset(email string) {
	e.t.Helper()
	require.NoError(e.t, e.ForgotPassword(e.t.Context(), identity.ForgotPasswordInput{Email: email}, officeClient))
}

// useResetLink sets a new password with the token of a mailed link.
func (e *testEnv) useResetLink(token, password string) error {
	return e.ResetPassword(e.t.Context(), identity.ResetPasswordInput{Token: token, Password: password})
}

// resetLinkLife is how long the module accepts the link of a password reset.
const resetLinkLife = 30 * time.Minute

// TestResetPassword_ValidLink_ReplacesPassword checks that a link is accepted just before it expires.
// It can be used once. The former password is refused afterwards, and the owner is notified.
func TestResetPassword_ValidLink_ReplacesPassword(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.requestReset("JO@example.org") // the case of the address does not matter

	token := env.mailToken("jo@example.org")
	env.clock.Advance(resetLinkLife - time.Second)
	require.NoError(t, env.useResetLink(token, newPassword))

	_, err := env.login("jo@example.org", password)
	require.ErrorIs(t, err, identity.ErrBadCredentials)

	_, err = env.login("jo@example.org", newPassword)
	require.NoError(t, err)

	require.Equal(t, "Your password was changed", env.newestMail("jo@example.org").Subject)
	require.ErrorIs(t, env.useResetLink(token, password), fault.ErrInvalid, "a second use of the link")
}

// TestResetPassword_OpenSession_Ends checks that a password reset ends the sessions that were opened
// with the former password.
func TestResetPassword_OpenSession_Ends(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	env.requestReset("jo@example.org")
	require.NoError(t, env.useResetLink(env.mailToken("jo@example.org"), newPassword))
	env.requireSignedOut(signedIn)
}

// TestResetPassword_TokenForOtherPurpose_IsRefused checks that a mailed token is valid for its
// purpose only: the token that confirms an address does not reset a password, and the token of a
// reset neither confirms an address nor refreshes a session.
func TestResetPassword_TokenForOtherPurpose_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	verificationToken := env.mailToken("jo@example.org") // from the registration
	env.requestReset("jo@example.org")

	resetToken := env.mailToken("jo@example.org")
	require.ErrorIs(t, env.useResetLink(verificationToken, newPassword), fault.ErrInvalid)
	require.ErrorIs(t, env.verifyEmail(resetToken), fault.ErrInvalid)

	_, err := env.refresh(resetToken)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)
}

// TestResetPassword_WeakPassword_KeepsPassword checks that a reset with a password that is too weak is
// refused, and that the former password stays valid.
func TestResetPassword_WeakPassword_KeepsPassword(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.requestReset("jo@example.org")

	resetToken := env.mailToken("jo@example.org")
	require.ErrorIs(t, env.useResetLink(resetToken, "weak"), fault.ErrInvalid)

	_, err := env.login("jo@example.org", password)
	require.NoError(t, err)
}

// TestResetPassword_ExpiredLink_KeepsPassword checks that a link is refused when it expires, and that
// the former password stays valid.
func TestResetPassword_ExpiredLink_KeepsPassword(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.requestReset("jo@example.org")

	resetToken := env.mailToken("jo@example.org")
	env.clock.Advance(resetLinkLife)
	require.ErrorIs(t, env.useResetLink(resetToken, newPassword), fault.ErrInvalid)

	_, err := env.login("jo@example.org", password)
	require.NoError(t, err)
}

// verificationLinkLife is how long the module accepts the link that confirms an address.
const verificationLinkLife = 24 * time.Hour

// TestVerifyEmail_ExpiredLink_IsRefused checks that the link from the registration does not confirm
// the address any more when it expires.
func TestVerifyEmail_ExpiredLink_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	token := env.mailToken("jo@example.org")
	env.clock.Advance(verificationLinkLife)
	require.ErrorIs(t, env.verifyEmail(token), fault.ErrInvalid)
}

// TestVerifyEmail_NoToken_IsRefused checks a request without the token of a link.
func TestVerifyEmail_NoToken_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	require.ErrorIs(t, env.VerifyEmail(t.Context(), identity.VerifyEmailInput{}), fault.ErrInvalid)
}

// requestVerification requests another link that confirms the address.
func (e *testEnv) requestVerification(email string) {
	e.t.Helper()

	input := identity.RequestVerificationInput{Email: email}
	require.NoError(e.t, e.RequestVerification(e.t.Context(), input, officeClient))
}

// TestRequestVerification_UnconfirmedAddress_SendsAnotherLink checks that another link can be
// requested when the one of the registration has expired. A confirmed address gets no further link.
func TestRequestVerification_UnconfirmedAddress_SendsAnotherLink(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	first := env.mailToken("jo@example.org")
	env.clock.Advance(verificationLinkLife + time.Hour)
	env.requestVerification("JO@example.org") // the case of the address does not matter

	second := env.mailToken("jo@example.org")
	require.NotEqual(t, first, second)
	require.ErrorIs(t, env.verifyEmail(first), fault.ErrInvalid)
	require.NoError(t, env.verifyEmail(second))

	// The address is confirmed now.
	env.requestVerification("jo@example.org")
	require.Len(t, env.mailsTo("jo@example.org"), 2, "one from the registration and one with the second link")
}

// TestRequestVerification_ManyRequests_SendsThreeLinks checks that three requests in an hour send a
// link. Further requests get the same response and send none.
func TestRequestVerification_ManyRequests_SendsThreeLinks(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("sam@example.org")

	for range 5 {
		env.clock.Advance(time.Minute)
		env.requestVerification("sam@example.org")
	}

	require.Len(t, env.mailsTo("sam@example.org"), 1+3, "one from the registration and three links")
}

// TestRequestVerification_UnknownAddress_SameResponse checks that the response does not reveal whether
// an address has an account. Only an input that is no address is refused.
func TestRequestVerification_UnknownAddress_SameResponse(t *testing.T) {
	env := newSQLiteEnv(t)
	env.requestVerification("nobody@example.org") // requires success
	require.Empty(t, env.mailsTo("nobody@example.org"))

	malformed := identity.RequestVerificationInput{Email: "jo"}
	require.ErrorIs(t, env.RequestVerification(t.Context(), malformed, officeClient), fault.ErrInvalid)
}

// TestResetPassword_OtherLinkUsed_IsRefused checks that the use of one reset link invalidates the
// other ones of the account.
func TestResetPassword_OtherLinkUsed_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.requestReset("jo@example.org")

	first := env.mailToken("jo@example.org")
	env.clock.Advance(time.Second) // so that the two requests differ in their time
	env.requestReset("jo@example.org")

	second := env.mailToken("jo@example.org")
	require.NotEqual(t, first, second)
	require.NoError(t, env.useResetLink(second, newPassword))
	require.ErrorIs(t, env.useResetLink(first, password), fault.ErrInvalid)
}

// TestForgotPassword_AnyAddress_SameResponse checks that the response reveals neither whether
// an address has an account nor that its limit of three links in an hour is reached. Only an input that
// is no address is refused.
func TestForgotPassword_AnyAddress_SameResponse(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", defaultRole))

	// Request five links for an account, an unknown address and an invited user. requestReset requires
	// that each request succeeds.
	for range 5 {
		for _, email := range []string{"jo@example.org", "nobody@example.org", "new@example.org"} {
			env.requestReset(email)
		}

		env.clock.Advance(time.Minute)
	}

	require.Len(t, env.mailsTo("jo@example.org"), 1+3, "one from the registration and three links")
	require.Empty(t, env.mailsTo("nobody@example.org"))
	require.Len(t, env.mailsTo("new@example.org"), 1, "only the invitation: an invited user has no password to reset")

	// After an hour, a link is sent again.
	env.clock.Advance(time.Hour)
	env.requestReset("jo@example.org")
	require.Len(t, env.mailsTo("jo@example.org"), 1+3+1, "another link")

	err := env.ForgotPassword(t.Context(), identity.ForgotPasswordInput{Email: "no address"}, officeClient)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestForgotPassword_UnknownAddress_TakesAsLongAsKnown checks that the response time does not
// reveal whether an address has an account: each request takes 200 ms, which is longer than the work
// for any address. A request with an unknown address records no event.
func TestForgotPassword_UnknownAddress_TakesAsLongAsKnown(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	env.handleEvents() // those of the registration, so that only events of this test remain
	const requestsPerAddress = 3

	// responseTime returns the shortest of several response times, since a busy machine makes some
	// of them longer.
	responseTime := func(email string) (shortest time.Duration) {
		for range requestsPerAddress {
			begun := time.Now()

			env.requestReset(email)

			took := time.Since(begun)
			if shortest == 0 || took < shortest {
				shortest = took
			}
		}

		return shortest
	}

	known := responseTime("jo@example.org")
	unknown := responseTime("unknown@example.org")

	// Timers of a busy machine fire a few milliseconds late. A tenth of 200 ms is 20 ms.
	const maxRelativeDifference = 0.1
	require.InEpsilon(t, known, unknown, maxRelativeDifference)

	const (
		moreThanAll = 10          // events, so that all of them are claimed at once
		lease       = time.Minute // longer than the test
	)

	events, err := env.store.Identity.Outbox.Claim(t.Context(), moreThanAll, lease)
	require.NoError(t, err)
	require.Len(t, events, requestsPerAddress, "one event for each request with the known address")
}

// TestForgotPassword_ClientOverItsLimit_SendsNothing checks that one client can request links
// for at most 20 addresses in an hour. The refusal is silent, because the response must not
// reveal which addresses have an account.
func TestForgotPassword_ClientOverItsLimit_SendsNothing(t *testing.T) {
	const limit = 20

	env := newSQLiteEnv(t)
	addressOf := func(i int) string { return fmt.Sprintf("p%d@example.org", i) } // of account i

	// One account more than a client can request links for.
	for i := range limit + 1 {
		env.jobseeker(addressOf(i))
	}

	// The requests run at the same time, because each takes 200 ms.
	var requests sync.WaitGroup
	for i := range limit {
		requests.Go(func() { env.requestReset(addressOf(i)) })
	}

	requests.Wait()

	// One more request of the same client sends nothing.
	last := addressOf(limit)
	env.requestReset(last)
	require.Len(t, env.mailsTo(last), 1, "only the message from the registration")

	otherClient := identity.Client{Address: "198.51.100.8"}
	input := identity.ForgotPasswordInput{Email: last}
	require.NoError(t, env.ForgotPassword(t.Context(), input, otherClient))
	require.Len(t, env.mailsTo(last), 1+1, "another client has its own limit")
}

// TestChangePassword_EndsOtherSessions checks that the session in which the password is changed
// continues, and that all other sessions end. The new password opens a session.
func TestChangePassword_EndsOtherSessions(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	other, err := env.login("jo@example.org", password)
	require.NoError(t, err)

	input := identity.ChangePasswordInput{CurrentPassword: password, NewPassword: newPassword}
	require.NoError(t, env.ChangePassword(t.Context(), env.actor(signedIn), input, officeClient))
	env.actor(signedIn) // requires that this session is still valid
	env.requireSignedOut(other)

	_, err = env.login("jo@example.org", newPassword)
	require.NoError(t, err)
}

// TestChangePassword_WrongPassword_IsThrottled checks that wrong passwords count like failed
// sign-ins, so that a stolen access token does not help to guess the password. Invalid input
// does not count.
func TestChangePassword_WrongPassword_IsThrottled(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.actor(env.jobseeker("jo@example.org"))
	change := func(current, next string) error {
		input := identity.ChangePasswordInput{CurrentPassword: current, NewPassword: next}
		return env.ChangePassword(t.Context(), jo, input, officeClient)
	}

	const noPassword = ""

	// Invalid input is not counted: all allowed failures are still possible.
	require.ErrorIs(t, change(password, "weak"), fault.ErrInvalid)
	require.ErrorIs(t, change(noPassword, newPassword), fault.ErrInvalid)

	for range allowedFailures {
		err := change(wrongPassword, newPassword)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.Equal(t, "currentPassword", fault.Of(err).Fields[0].Name)
	}

	// Now even the right password is refused.
	require.ErrorIs(t, change(password, newPassword), fault.ErrRateLimit)
}

// TestResetPassword_LoginAtOnce_LeavesNoOldSession checks sign-ins with the old password that run
// at the same time as a reset: each of them either fails, or its session is ended by the reset.
func TestResetPassword_LoginAtOnce_LeavesNoOldSession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		env.jobseeker("jo@example.org")
		env.requestReset("jo@example.org")

		token := env.mailToken("jo@example.org")
		var resetErr error
		var signedIn [9]identity.SignedIn // one for each concurrent sign-in
		var loginErrs []error
		atOnce(
			func() { resetErr = env.useResetLink(token, newPassword) },
			func() {
				loginErrs = concurrently(len(signedIn), func(i int) (err error) {
					signedIn[i], err = env.login("jo@example.org", password)
					return err
				})
			},
		)
		require.NoError(t, resetErr)

		// The sign-ins that succeeded have no session any more.
		for i, err := range loginErrs {
			hasSignedIn := err == nil
			if hasSignedIn {
				env.requireSignedOut(signedIn[i])
			}
		}
	})
}

// TestResetPassword_LinkOfAFormerAddress_IsRefused checks that a link to a former address is
// refused. An event handler creates a link some time after its request, and the account may have
// changed its address in between. The test stores a link to the former address after the change, as
// such a late handler would do.
func TestResetPassword_LinkOfAFormerAddress_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.changeAddress(jo, "next@example.org")

	link, token := identity.NewMailToken(jo.Account.ID, "jo@example.org", identity.ForReset, env.clock.Now())
	require.NoError(t, env.store.Identity.MailTokens.Create(t.Context(), link))
	require.ErrorIs(t, env.useResetLink(token, newPassword), fault.ErrInvalid)

	_, err := env.login("next@example.org", password)
	require.NoError(t, err, "the password is unchanged")
}

// TestResetPassword_ConcurrentUse_OneSucceeds checks that a reset link works once, even if ten
// requests use it at the same time. The others get the error of a used link.
func TestResetPassword_ConcurrentUse_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		env.jobseeker("jo@example.org")
		env.requestReset("jo@example.org")

		token := env.mailToken("jo@example.org")
		const uses = 10
		errs := concurrently(uses, func(int) error {
			return env.useResetLink(token, newPassword)
		})
		require.Equal(t, 1, countErrors(errs, nil), "successes among %v", errs)
		require.Equal(t, uses-1, countErrors(errs, fault.ErrInvalid), "refused uses among %v", errs)
	})
}

// TestOnUserRegistered_Twice_SendsTheSameMessage checks that a repeated event handler sends a
// message with the same id, which mail servers and clients can recognize as a duplicate.
func TestOnUserRegistered_Twice_SendsTheSameMessage(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	env.handleEvents() // calls the handler for the first time

	// The handler is called with the same event again.
	registered := event.UserRegistered{UserID: signedIn.Account.ID}
	require.NoError(t, env.OnUserRegistered(t.Context(), registered))

	messages := env.mailsTo("jo@example.org")
	require.Len(t, messages, 2)
	require.Equal(t, messages[0].ID, messages[1].ID)
}

// TestOnUserRegistered_ConfirmedAddress_SendsNoMessage checks that a repeated event handler sends
// nothing after the address was confirmed.
func TestOnUserRegistered_ConfirmedAddress_SendsNoMessage(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	require.NoError(t, env.verifyEmail(env.mailToken("jo@example.org")))

	registered := event.UserRegistered{UserID: signedIn.Account.ID}
	require.NoError(t, env.OnUserRegistered(t.Context(), registered))
	require.Len(t, env.mailsTo("jo@example.org"), 1, "only the message before the confirmation")
}
