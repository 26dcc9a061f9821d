package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestIsActive checks that other modules see an account as unusable if it is locked or does not
// exist: its alerts and programs stop then.
func TestIsActive(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		active := func(userID string) bool {
			is, err := env.IsActive(t.Context(), userID)
			require.NoError(t, err)
			return is
		}
		me := env.jobseeker("jo@example.org").Account.ID
		require.True(t, active(me))
		require.False(t, active(stores.NewID()))
		found, err := env.store.Identity.Users.GetByIDs(t.Context(), []string{me})
		require.NoError(t, err)
		found[0].Lock(env.clock.Now())
		require.NoError(t, env.store.Identity.Users.Update(t.Context(), &found[0]))
		require.False(t, active(me))
	})
}

// TestListMemberIDs_ActiveMembersOnly checks that an invited user is not listed: before
// accepting, the user has no access to the organization.
func TestListMemberIDs_ActiveMembersOnly(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.employer("boss@example.org")
		admin := env.actor(boss)
		member := env.addMember(admin, "al@example.org", "viewer")
		require.NoError(t, env.Invite(t.Context(), admin, identity.InviteInput{Name: "Ne W", Email: "new@example.org", Role: "viewer"}))
		ids, err := env.ListMemberIDs(t.Context(), admin.OrganizationID)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{admin.UserID, member.Account.ID}, ids)
		ids, err = env.ListMemberIDs(t.Context(), stores.NewID())
		require.NoError(t, err)
		require.Empty(t, ids)
	})
}
