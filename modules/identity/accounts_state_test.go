package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestIsActive(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		active := func(userID string) bool {
			is, err := h.IsActive(t.Context(), userID)
			require.NoError(t, err)
			return is
		}
		me := h.jobseeker("jo@example.org").Account.ID
		require.True(t, active(me))
		require.False(t, active(stores.NewID()))
		found, err := h.store.Identity.Users.GetByIDs(t.Context(), []string{me})
		require.NoError(t, err)
		found[0].Lock(h.clock.Now())
		require.NoError(t, h.store.Identity.Users.Update(t.Context(), &found[0]))
		require.False(t, active(me))
	})
}

func TestListMemberIDs_ActiveMembersOnly(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		boss := h.employer("boss@example.org")
		admin := h.actor(boss)
		member := h.addMember(admin, "al@example.org", "viewer")
		require.NoError(t, h.Invite(t.Context(), admin, identity.InviteInput{Name: "Ne W", Email: "new@example.org", Role: "viewer"}))
		ids, err := h.ListMemberIDs(t.Context(), admin.OrganizationID)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{admin.UserID, member.Account.ID}, ids)
		ids, err = h.ListMemberIDs(t.Context(), stores.NewID())
		require.NoError(t, err)
		require.Empty(t, ids)
	})
}
