package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit/stores"
)

// TestIsActive_LockedOrUnknown_IsFalse checks that other modules see an account as unusable if
// it is locked or does not exist: its alerts and programs stop then.
func TestIsActive_LockedOrUnknown_IsFalse(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		isActive := func(userID string) bool {
			active, err := env.IsActive(t.Context(), userID)
			require.NoError(t, err)
			return active
		}

		jo := env.jobseeker("jo@example.org").Account.ID
		require.True(t, isActive(jo))
		require.False(t, isActive(stores.NewID()), "an id of no account")

		// Lock the account.
		user, err := env.store.Identity.Users.GetForUpdate(t.Context(), jo)
		require.NoError(t, err)
		user.Lock(env.clock.Now())
		require.NoError(t, env.store.Identity.Users.Update(t.Context(), &user))
		require.False(t, isActive(jo))
	})
}

// TestListMemberIDs_ActiveMembersOnly checks that an invited user is not listed: before
// accepting, the user has no access to the organization.
func TestListMemberIDs_ActiveMembersOnly(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.employer("boss@example.org")
		admin := env.actor(boss)
		member := env.addMember(admin, "al@example.org", "viewer")
		require.NoError(t, env.invite(admin, "new@example.org", "viewer"))

		ids, err := env.ListMemberIDs(t.Context(), admin.OrganizationID)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{admin.UserID, member.Account.ID}, ids)

		ids, err = env.ListMemberIDs(t.Context(), stores.NewID())
		require.NoError(t, err)
		require.Empty(t, ids, "an unknown organization has no members")
	})
}
