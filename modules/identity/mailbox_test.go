package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit/stores"
)

// spellings are addresses of the same mailbox: with a composed ë and ü, with combining accents,
// and with the domain in its ASCII form (punycode).
var spellings = []string{"zo\u00eb@m\u00fcnchen.example", "Zoe\u0308@mu\u0308nchen.example", "zo\u00eb@xn--mnchen-3ya.example"}

// TestRegister_OtherSpellingOfAMailbox_EmailTaken checks that all spellings identify the same
// account in a registration, a sign-in, a change of address and an invitation.
func TestRegister_OtherSpellingOfAMailbox_EmailTaken(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		first := env.jobseeker(spellings[0])
		require.Equal(t, spellings[0], first.Account.Email, "the address stays as it was typed")
		for _, email := range spellings {
			_, err := env.Register(t.Context(),
				identity.RegisterInput{Email: email, Password: password, Name: "Zoë", UserType: "jobseeker"},
				officeClient)
			require.ErrorIs(t, err, identity.ErrEmailTaken)
			in, err := env.Login(t.Context(), identity.LoginInput{Email: email, Password: password}, officeClient)
			require.NoError(t, err)
			require.Equal(t, first.Account.ID, in.Account.ID)
		}
		other := env.jobseeker("jo@example.org")
		require.ErrorIs(t, env.ChangeEmail(t.Context(), env.actor(other), spellings[1]), identity.ErrEmailTaken)
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.invite(boss, spellings[2], "viewer"))
		require.ErrorIs(t, env.invite(boss, spellings[1], "viewer"), identity.ErrAlreadyInTeam)
	})
}

// TestRegister_InvitedByOtherSpelling_TakesThePlace checks that a registration uses the id of
// the user who was invited under another spelling of the address.
func TestRegister_InvitedByOtherSpelling_TakesThePlace(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.invite(boss, spellings[1], "viewer"))
		require.Equal(t, env.team(boss)[spellings[1]].UserID, env.jobseeker(spellings[2]).Account.ID)
	})
}

// TestLogin_RowFromBeforeNormalization_Works checks that an account whose key is the lower-case
// address, as earlier versions stored it, is found by that key.
func TestLogin_RowFromBeforeNormalization_Works(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		hash, err := env.hasher.Hash(t.Context(), password)
		require.NoError(t, err)
		// Stored under the lower-case address, as all rows were once.
		u := identity.NewUser(stores.NewID(), spellings[1], "Zoë", identity.KindJobseeker, hash, env.clock.Now())
		require.NoError(t, env.store.Identity.Users.Create(t.Context(), &u))
		in, err := env.Login(t.Context(), identity.LoginInput{Email: spellings[1], Password: password}, officeClient)
		require.NoError(t, err)
		_, err = env.Register(t.Context(),
			identity.RegisterInput{Email: spellings[1], Password: password, Name: "Zoë", UserType: "jobseeker"},
			officeClient)
		require.ErrorIs(t, err, identity.ErrEmailTaken)
		require.NoError(t, env.Rename(t.Context(), in.Account.ID, "Zoë Ash"))
		_, err = env.Login(t.Context(), identity.LoginInput{Email: spellings[1], Password: password}, officeClient)
		require.NoError(t, err, "a save keeps the key")
	})
}
