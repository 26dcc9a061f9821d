package identity_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// changeAddress requests another address for the account, confirms it, and returns the time of the
// change.
func (e *testEnv) changeAddress(s identity.SignedIn, email string) time.Time {
	e.t.Helper()
	require.NoError(e.t, e.ChangeEmail(e.t.Context(), e.actor(s), email))
	require.NoError(e.t, e.VerifyEmail(e.t.Context(), identity.VerifyEmailInput{Token: e.mailToken(email)}))

	return e.clock.Now()
}

// undoLife is the time in which a change of address can be undone.
const undoLife = 24 * time.Hour

// undoToken returns the token of the link that was sent to the account's previous address when
// the address was changed. Its subject is the id of the account and the time of the change, in
// microseconds and with the base 36.
func (e *testEnv) undoToken(s identity.SignedIn, changedAt time.Time) string {
	e.t.Helper()

	const base = 36

	subject := s.Account.ID + "." + strconv.FormatInt(changedAt.UnixMicro(), base)
	neverExpires := time.Time{} // plainSealer has no expiry
	token, err := plainSealer{}.Seal(auth.ForEmailUndo, subject, neverExpires)
	require.NoError(e.t, err)

	return token
}

// undoEmailChange undoes a change of address and sets newPassword.
func (e *testEnv) undoEmailChange(token string) error {
	return e.UndoEmailChange(e.t.Context(), identity.UndoEmailChangeInput{Token: token, Password: newPassword})
}

// TestChangeEmail_BackToPreviousAddress_IsAnUndo checks that a return to a former address undoes the
// changes since then: their links, one of which was sent to the thief's address, cannot restore an
// address any more. The link that was sent to the first address still works.
func TestChangeEmail_BackToPreviousAddress_IsAnUndo(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		change := func(email string) time.Time {
			t.Helper()
			env.clock.Advance(time.Second)
			return env.changeAddress(jo, email)
		}

		// The account has the addresses jo@, own@, thief@, other@ and own@ again. Each time is the
		// one at which the account left an address.
		leftJoAt := change("own@example.org")
		leftOwnAt := change("thief@example.org")
		leftThiefAt := change("other@example.org")
		leftOtherAt := change("OWN@example.org") // the case of letters does not matter

		for _, changedAt := range []time.Time{leftOwnAt, leftThiefAt, leftOtherAt} {
			err := env.undoEmailChange(env.undoToken(jo, changedAt))
			require.ErrorIs(t, err, fault.ErrInvalid, "the return to own@ has undone these changes")
		}

		require.Equal(t, "OWN@example.org", env.account(jo).Email)
		require.NoError(t, env.undoEmailChange(env.undoToken(jo, leftJoAt)), "the first change")
	})
}

// TestChangeEmail_BackAfterADay_CanBeUndone checks a return to the former address after the 24 hours in
// which a change can be undone. It is an ordinary change, which the owner of the address in between can
// undo.
func TestChangeEmail_BackAfterADay_CanBeUndone(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.changeAddress(jo, "next@example.org")
	env.clock.Advance(undoLife)

	jo, err := env.login("next@example.org", password) // a change requires a recent sign-in
	require.NoError(t, err)

	changedAt := env.changeAddress(jo, "jo@example.org")
	require.NoError(t, env.undoEmailChange(env.undoToken(jo, changedAt)))
}
