package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// account returns the account of the signed-in user.
func (e *testEnv) account(s identity.SignedIn) identity.Account {
	e.t.Helper()

	account, err := e.Me(e.t.Context(), e.actor(s))
	require.NoError(e.t, err)

	return account
}

// TestUpdateAccount_Name_IsChanged checks that spaces around a name are removed. A name is refused if
// it is empty, longer than 200 characters, or has a line break, which would end a header of an e-mail.
func TestUpdateAccount_Name_IsChanged(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	require.NoError(t, env.Rename(t.Context(), jo.Account.ID, "  Zoë O'Hara "))
	require.Equal(t, "Zoë O'Hara", env.account(jo).Name)

	for rule, bad := range map[string]string{
		"empty":           "",
		"only spaces":     "  ",
		"201 characters":  strings.Repeat("x", 201),
		"with line break": "a\nb",
	} {
		err := env.Rename(t.Context(), jo.Account.ID, bad)
		require.ErrorIs(t, err, fault.ErrInvalid, rule)
		require.Equal(t, "name", fault.Of(err).Fields[0].Name, rule)
	}
}

// TestUpdateAccount_UnknownUser_NotFound checks that only a user who exists can be renamed.
func TestUpdateAccount_UnknownUser_NotFound(t *testing.T) {
	env := newSQLiteEnv(t)
	require.ErrorIs(t, env.Rename(t.Context(), unknownID, "Jo"), identity.ErrUserNotFound)
}

// pendingEmail returns the requested address of the account that is not yet confirmed, or "".
func (e *testEnv) pendingEmail(s identity.SignedIn) string {
	e.t.Helper()

	pending, err := e.PendingEmail(e.t.Context(), s.Account.ID)
	require.NoError(e.t, err)

	return pending
}

// TestChangeEmail_Confirmed_ReplacesAddress follows a change from the request to the confirmation.
// Only a link in the new mailbox can confirm the change. Links in the old mailbox lose their effect.
// The old address stays reserved for the 24 hours in which the change can be undone.
func TestChangeEmail_Confirmed_ReplacesAddress(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		env.requestReset("jo@example.org")

		resetToken := env.mailToken("jo@example.org")

		// The request changes nothing yet. The old mailbox gets a warning without a token.
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "Jo.New@Example.org"))
		require.Equal(t, "jo@example.org", env.account(jo).Email, "the address stays until the new one is confirmed")
		require.Equal(t, "Jo.New@example.org", env.pendingEmail(jo))

		warning := env.newestMail("jo@example.org")
		require.Contains(t, warning.Subject, "about to change")
		require.NotContains(t, warning.Text, "loc_mt_", "no token (loc_mt_…), so that the old mailbox cannot confirm the change")

		// The link in the new mailbox replaces the address.
		token := env.mailToken("Jo.New@example.org")
		require.NoError(t, env.verifyEmail(token))
		require.Equal(t, "Jo.New@example.org", env.account(jo).Email)
		require.False(t, env.account(jo).EmailVerifiedAt.IsZero())
		require.Empty(t, env.pendingEmail(jo))

		// The new address signs in. The old one, and links that were sent before, are refused.
		_, err := env.login("jo.new@example.org", password)
		require.NoError(t, err)

		_, err = env.login("jo@example.org", password)
		require.ErrorIs(t, err, identity.ErrBadCredentials)
		require.ErrorIs(t, env.verifyEmail(token), fault.ErrInvalid, "a token is valid once")
		require.ErrorIs(t, env.useResetLink(resetToken, newPassword), fault.ErrInvalid, "a link that was sent to the old address")

		// The old address is available again when the change cannot be undone any more.
		_, err = env.Register(t.Context(),
			identity.RegisterInput{Email: "jo@example.org", Password: password, Name: "Jo", UserType: "jobseeker"},
			officeClient)
		require.ErrorIs(t, err, identity.ErrEmailTaken, "the change can still be undone")
		env.clock.Advance(undoLife)
		env.jobseeker("jo@example.org")
	})
}

// TestChangeEmail_RequestedTwice_LastCounts checks that a request replaces the earlier one, so
// that only the newest link confirms an address. A repeated request sends no second link.
func TestChangeEmail_RequestedTwice_LastCounts(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "one@example.org"))

	first := env.mailToken("one@example.org")
	env.clock.Advance(time.Second) // so that the requests differ in their time
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "two@example.org"))

	second := env.mailToken("two@example.org")
	require.ErrorIs(t, env.verifyEmail(first), fault.ErrInvalid)
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "two@example.org"), "a repeated request")
	require.Len(t, env.mailsTo("two@example.org"), 1, "the repeated request sends no second link")
	require.NoError(t, env.verifyEmail(second))
}

// TestChangeEmail_CurrentAddress_CancelsRequest checks that a request for the current address, in any
// spelling, cancels the earlier request: its link is refused.
func TestChangeEmail_CurrentAddress_CancelsRequest(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "new@example.org"))

	token := env.mailToken("new@example.org")
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "JO@example.org"))
	require.ErrorIs(t, env.verifyEmail(token), fault.ErrInvalid)
	require.Equal(t, "jo@example.org", env.account(jo).Email)
}

// TestChangeEmail_Unconfirmed_ExpiresAfterADay checks that a request expires when its link does, and
// that Forget, a periodic task, deletes the request a week later.
func TestChangeEmail_Unconfirmed_ExpiresAfterADay(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "new@example.org"))

	token := env.mailToken("new@example.org")
	env.clock.Advance(verificationLinkLife)
	require.ErrorIs(t, env.verifyEmail(token), fault.ErrInvalid)
	require.Empty(t, env.pendingEmail(jo))

	const moreThanAWeek = 8 * 24 * time.Hour
	env.clock.Advance(moreThanAWeek)
	require.NoError(t, env.Forget(t.Context()))

	history, err := env.store.Identity.EmailChanges.Get(t.Context(), jo.Account.ID)
	require.NoError(t, err)
	require.Nil(t, history.Requested)
}

// TestChangeEmail_TakenOrInvalid_IsRefused checks requests for the address of another account, in
// another spelling, and for a text that is no address.
func TestChangeEmail_TakenOrInvalid_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.actor(env.jobseeker("jo@example.org"))
		env.jobseeker("al@example.org")
		require.ErrorIs(t, env.ChangeEmail(t.Context(), jo, "AL@example.org"), identity.ErrEmailTaken)
		require.ErrorIs(t, env.ChangeEmail(t.Context(), jo, "nonsense"), fault.ErrInvalid)
	})
}

// TestChangeEmail_ConfirmedAtOnce_OneSucceeds checks that two accounts cannot get the same address, even
// if both confirm it at the same time.
func TestChangeEmail_ConfirmedAtOnce_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo, al := env.jobseeker("jo@example.org"), env.jobseeker("al@example.org")

		// Both accounts request the address, and both have a link that confirms it.
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "both@example.org"))

		tokenOfJo := env.mailToken("both@example.org")
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(al), "both@example.org"))

		tokenOfAl := env.mailToken("both@example.org")
		tokens := []string{tokenOfJo, tokenOfAl}
		errs := concurrently(len(tokens), func(i int) error { return env.verifyEmail(tokens[i]) })
		require.Equal(t, 1, countErrors(errs, nil), "confirmed changes: %v", errs)
		require.Equal(t, 1, countErrors(errs, identity.ErrEmailTaken), "refused changes: %v", errs)
	})
}

// TestChangeEmail_InvitedAddress_MergesInvitation checks that an account that moves to an invited
// address can accept the invitation. The invitation has created a user without an account, which the
// change of address merges into the account.
func TestChangeEmail_InvitedAddress_MergesInvitation(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss, jo := env.actor(env.employer("boss@example.org")), env.jobseeker("jo@example.org")
		require.NoError(t, env.invite(boss, "jo@work.example", "viewer"))

		invitation := env.mailToken("jo@work.example")

		// Jo changes the address to the invited one and confirms it.
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "jo@work.example"))
		require.NoError(t, env.verifyEmail(env.mailToken("jo@work.example")))

		_, err := env.accept(env.actor(jo), invitation)
		require.NoError(t, err)
		require.Equal(t, boss.OrganizationID, env.actor(jo).OrganizationID)
	})
}

// changesPerHour is how many changes of address an account can request in an hour.
const changesPerHour = 5

// TestChangeEmail_TooManyRequests_SendsNoMail checks that an account can request five changes
// in an hour. The number is limited, because each sends an e-mail to an address that the caller may
// not own.
func TestChangeEmail_TooManyRequests_SendsNoMail(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")

	for i := range changesPerHour {
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), fmt.Sprintf("v%d@victim.example", i)))
	}

	require.ErrorIs(t, env.ChangeEmail(t.Context(), env.actor(jo), "last@victim.example"), fault.ErrRateLimit)
	require.Empty(t, env.mailsTo("last@victim.example"))
}

// TestChangeEmail_OldMailboxUnreachable_CanBeChanged checks that the link is sent to the new address
// although the mail server refuses the warning to the old one. A lost mailbox may be the reason for
// the change.
func TestChangeEmail_OldMailboxUnreachable_CanBeChanged(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.mailer.refusedAddress = "jo@example.org"
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "new@example.org"))
	require.NoError(t, env.verifyEmail(env.mailToken("new@example.org")))
	require.Equal(t, "new@example.org", env.account(jo).Email)
}

// TestChangeEmail_ChangeIsOver_SendsNoMail checks that the event handler sends no link for a
// change that was replaced, or whose account was deleted, before the event was handled.
func TestChangeEmail_ChangeIsOver_SendsNoMail(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	requested := event.EmailChangeRequested{UserID: jo.Account.ID, RequestedAt: env.clock.Now()}
	require.NoError(t, env.OnEmailChangeRequested(t.Context(), requested), "no change is pending")

	// ChangeEmail records an event, which the test does not handle yet.
	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "new@example.org"))

	replaced := requested
	replaced.RequestedAt = env.clock.Now().Add(-time.Second)
	require.NoError(t, env.OnEmailChangeRequested(t.Context(), replaced), "the event of an earlier request")
	require.Empty(t, env.mailer.sentTo("new@example.org"), "messages before the event of the last request is handled")

	// The event of the last request sends a link, but not after the account was deleted.
	env.handleEvents()
	require.Len(t, env.mailer.sentTo("new@example.org"), 1)
	require.NoError(t, env.DeleteAccount(t.Context(), env.actor(jo)))
	require.NoError(t, env.OnEmailChangeRequested(t.Context(), requested), "the account is deleted")
	require.Len(t, env.mailer.sentTo("new@example.org"), 1)
}

// TestChangeEmail_PasswordChanged_EndsPendingChange checks that a new password cancels a
// requested address. Someone with a stolen session may have requested it, and would otherwise
// take over the account by confirming it later.
func TestChangeEmail_PasswordChanged_EndsPendingChange(t *testing.T) {
	// Each function sets newPassword in another way.
	for name, setPassword := range map[string]func(env *testEnv, jo identity.SignedIn) error{
		"by a reset": func(env *testEnv, _ identity.SignedIn) error {
			env.requestReset("jo@example.org")
			return env.useResetLink(env.mailToken("jo@example.org"), newPassword)
		},
		"by a change": func(env *testEnv, jo identity.SignedIn) error {
			input := identity.ChangePasswordInput{CurrentPassword: password, NewPassword: newPassword}
			return env.ChangePassword(env.t.Context(), env.actor(jo), input, officeClient)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, env *testEnv) {
				jo := env.jobseeker("jo@example.org")
				require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "evil@example.org"))

				confirm := env.mailToken("evil@example.org")
				require.NoError(t, setPassword(env, jo))
				require.ErrorIs(t, env.verifyEmail(confirm), fault.ErrInvalid)

				require.Empty(t, env.pendingEmail(jo))

				_, err := env.login("jo@example.org", newPassword)
				require.NoError(t, err)
			})
		})
	}
}

// TestChangeEmail_ManyProbes_AreThrottled checks that requests for taken addresses count towards the
// limit of five. Above the limit, a taken and a free address get the same response. Otherwise the
// user of an account could find out which addresses are registered.
func TestChangeEmail_ManyProbes_AreThrottled(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.jobseeker("al@example.org")

	for range changesPerHour {
		require.ErrorIs(t, env.ChangeEmail(t.Context(), env.actor(jo), "al@example.org"), identity.ErrEmailTaken)
	}

	for _, email := range []string{"al@example.org", "free@example.org"} {
		err := env.ChangeEmail(t.Context(), env.actor(jo), email)
		require.ErrorIs(t, err, fault.ErrRateLimit, email)
		require.Positive(t, fault.Of(err).RetryAfter, email)
	}

	require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "jo@example.org"), "the current address needs no confirmation")
}

// TestChangeEmail_CancelledWhileConfirmed_StaysConsistent confirms a change of address, and
// concurrently requests the old address, which cancels the change. If the cancellation comes first,
// the link is refused. If the confirmation comes first, the old address is the address of a new request.
func TestChangeEmail_CancelledWhileConfirmed_StaysConsistent(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		for attempt := range 20 { // both orders occur in most runs
			old := fmt.Sprintf("jo%d@example.org", attempt)
			next := fmt.Sprintf("new%d@example.org", attempt)
			jo := env.jobseeker(old)
			actor := env.actor(jo)
			require.NoError(t, env.ChangeEmail(t.Context(), actor, next))

			token := env.mailToken(next)
			var confirmErr, cancelErr error
			atOnce(
				func() { confirmErr = env.verifyEmail(token) },
				func() { cancelErr = env.ChangeEmail(t.Context(), actor, old) },
			)
			require.NoError(t, cancelErr)

			wasCancelledFirst := confirmErr != nil
			if wasCancelledFirst {
				require.ErrorIs(t, confirmErr, fault.ErrInvalid)
				require.Equal(t, old, env.account(jo).Email)
				require.Empty(t, env.pendingEmail(jo))
			} else {
				require.Equal(t, next, env.account(jo).Email)
				require.Equal(t, old, env.pendingEmail(jo), "the old address was requested after the confirmation")
			}
		}
	})
}
