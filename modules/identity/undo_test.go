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

// changeAddress changes the account's address and returns the time of the change.
func (e *testEnv) changeAddress(s identity.SignedIn, email string) time.Time {
	e.t.Helper()
	require.NoError(e.t, e.ChangeEmail(e.t.Context(), e.actor(s), email))
	require.NoError(e.t, e.VerifyEmail(e.t.Context(), identity.VerifyEmailInput{Token: e.mailToken(email)}))
	return e.clock.Now()
}

// undoToken returns the token that was sent to the account's previous address.
func (e *testEnv) undoToken(s identity.SignedIn, changedAt time.Time) string {
	e.t.Helper()
	token, err := plainSealer{}.Seal(auth.ForEmailUndo, s.Account.ID+"."+strconv.FormatInt(changedAt.UnixMicro(), 36), time.Time{})
	require.NoError(e.t, err)
	return token
}

// TestChangeEmail_BackToPreviousAddress_IsAnUndo checks that a return to a former address
// undoes the changes since, so that the link that was sent to the thief's address cannot
// restore that address. The link of the first address still works.
func TestChangeEmail_BackToPreviousAddress_IsAnUndo(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		var left []time.Time // when jo@, own@, thief@ and other@ were
		for _, next := range []string{"own@example.org", "thief@example.org", "other@example.org", "OWN@example.org"} {
			env.clock.Advance(time.Second)
			left = append(left, env.changeAddress(jo, next))
		}
		for _, changedAt := range left[1:] {
			err := env.UndoEmailChange(
				t.Context(),
				identity.UndoEmailChangeInput{Token: env.undoToken(jo, changedAt), Password: "N3w-password"},
			)
			require.ErrorIs(t, err, fault.ErrInvalid, "tokens sent to later addresses are refused")
		}
		require.Equal(t, "OWN@example.org", env.account(jo).Email)
		require.NoError(t,
			env.UndoEmailChange(t.Context(), identity.UndoEmailChangeInput{Token: env.undoToken(jo, left[0]), Password: "N3w-password"}),
			"an earlier change")
	})
}

// TestChangeEmail_BackAfterADay_CanBeUndone checks that a return to the former address after
// the 24 hours of its link is an ordinary change, which the address in between can undo.
func TestChangeEmail_BackAfterADay_CanBeUndone(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.changeAddress(jo, "next@example.org")
	env.clock.Advance(24 * time.Hour)
	jo, err := env.login("next@example.org", password)
	require.NoError(t, err)
	changedAt := env.changeAddress(jo, "jo@example.org")
	require.NoError(
		t,
		env.UndoEmailChange(t.Context(), identity.UndoEmailChangeInput{Token: env.undoToken(jo, changedAt), Password: "N3w-password"}),
	)
}
