package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit/stores"
)

// spellings are different addresses of the same mailbox.
var spellings = []string{"zo\u00eb@m\u00fcnchen.example", "Zoe\u0308@mu\u0308nchen.example", "zo\u00eb@xn--mnchen-3ya.example"}

func TestRegister_OtherSpellingOfAMailbox_EmailTaken(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		first := h.jobseeker(spellings[0])
		require.Equal(t, spellings[0], first.Account.Email, "the address stays as it was typed")
		for _, email := range spellings {
			_, err := h.Register(t.Context(), identity.RegisterInput{Email: email, Password: password, Name: "Zoë", UserType: "jobseeker"}, officeClient)
			require.ErrorIs(t, err, identity.ErrEmailTaken)
			in, err := h.Login(t.Context(), identity.LoginInput{Email: email, Password: password}, officeClient)
			require.NoError(t, err)
			require.Equal(t, first.Account.ID, in.Account.ID)
		}
		other := h.jobseeker("jo@example.org")
		require.ErrorIs(t, h.ChangeEmail(t.Context(), h.actor(other), spellings[1]), identity.ErrEmailTaken)
		boss := h.actor(h.employer("boss@example.org"))
		require.NoError(t, h.invite(boss, spellings[2], "viewer"))
		require.ErrorIs(t, h.invite(boss, spellings[1], "viewer"), identity.ErrAlreadyInTeam)
	})
}

func TestRegister_InvitedByOtherSpelling_TakesThePlace(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		boss := h.actor(h.employer("boss@example.org"))
		require.NoError(t, h.invite(boss, spellings[1], "viewer"))
		require.Equal(t, h.team(boss)[spellings[1]].UserID, h.jobseeker(spellings[2]).Account.ID)
	})
}

func TestLogin_RowFromBeforeNormalization_Works(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		hash, err := h.hasher.Hash(t.Context(), password)
		require.NoError(t, err)
		// Stored under the lower-case address, as all rows were once.
		u := identity.NewUser(stores.NewID(), spellings[1], "Zoë", identity.KindJobseeker, hash, h.clock.Now())
		require.NoError(t, h.store.Identity.Users.Create(t.Context(), &u))
		in, err := h.Login(t.Context(), identity.LoginInput{Email: spellings[1], Password: password}, officeClient)
		require.NoError(t, err)
		_, err = h.Register(t.Context(), identity.RegisterInput{Email: spellings[1], Password: password, Name: "Zoë", UserType: "jobseeker"}, officeClient)
		require.ErrorIs(t, err, identity.ErrEmailTaken)
		require.NoError(t, h.Rename(t.Context(), in.Account.ID, "Zoë Ash"))
		_, err = h.Login(t.Context(), identity.LoginInput{Email: spellings[1], Password: password}, officeClient)
		require.NoError(t, err, "a save keeps the key")
	})
}
