package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit/stores"
)

// Three addresses of the same mailbox.
const (
	composedAddress  = "zo\u00eb@m\u00fcnchen.example"   // ë and ü are one character each
	combiningAddress = "Zoe\u0308@mu\u0308nchen.example" // ë and ü are a letter and a combining accent
	punycodeAddress  = "zo\u00eb@xn--mnchen-3ya.example" // the domain is in its ASCII form
)

// registerZoe registers a jobseeker with the address.
func (e *testEnv) registerZoe(email string) error {
	_, err := e.Register(e.t.Context(),
		identity.RegisterInput{Email: email, Password: password, Name: "Zoë", UserType: "jobseeker"},
		officeClient)

	return err
}

// TestRegister_OtherSpellingOfAMailbox_EmailTaken checks that no spelling of a registered address can be
// registered again, and that each of them signs in to the same account.
func TestRegister_OtherSpellingOfAMailbox_EmailTaken(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		first := env.jobseeker(composedAddress)
		require.Equal(t, composedAddress, first.Account.Email, "the address stays as it was typed")

		for _, email := range []string{composedAddress, combiningAddress, punycodeAddress} {
			require.ErrorIs(t, env.registerZoe(email), identity.ErrEmailTaken, email)

			signedIn, err := env.login(email, password)
			require.NoError(t, err, email)
			require.Equal(t, first.Account.ID, signedIn.Account.ID, email)
		}
	})
}

// TestChangeEmail_OtherSpellingOfAMailbox_EmailTaken checks that an account cannot get another spelling of
// a registered address.
func TestChangeEmail_OtherSpellingOfAMailbox_EmailTaken(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		env.jobseeker(composedAddress)

		other := env.actor(env.jobseeker("jo@example.org"))
		require.ErrorIs(t, env.ChangeEmail(t.Context(), other, combiningAddress), identity.ErrEmailTaken)
	})
}

// TestInvite_OtherSpellingOfAMailbox_AlreadyInTeam checks that an organization cannot invite two spellings of
// one address.
func TestInvite_OtherSpellingOfAMailbox_AlreadyInTeam(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		env.jobseeker(composedAddress)

		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.invite(boss, punycodeAddress, "viewer"))
		require.ErrorIs(t, env.invite(boss, combiningAddress, "viewer"), identity.ErrAlreadyInTeam)
	})
}

// TestRegister_InvitedByOtherSpelling_KeepsUserID checks that a registration uses the id of
// the user who was invited under another spelling of the address.
func TestRegister_InvitedByOtherSpelling_KeepsUserID(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.invite(boss, combiningAddress, "viewer"))

		invited := env.team(boss)[combiningAddress]
		registered := env.jobseeker(punycodeAddress)
		require.Equal(t, invited.UserID, registered.Account.ID)
	})
}

// TestLogin_RowFromBeforeNormalization_Works checks that an account whose key is the lower-case
// address, as earlier versions stored it, is found by that key.
func TestLogin_RowFromBeforeNormalization_Works(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		hash, err := env.hasher.Hash(t.Context(), password)
		require.NoError(t, err)

		// NewUser sets the key of earlier versions, EmailKey.
		user := identity.NewUser(
			stores.NewID(),
			combiningAddress,
			"Zoë",
			identity.KindJobseeker,
			hash,
			env.clock.Now(),
		)
		require.NoError(t, env.store.Identity.Users.Create(t.Context(), &user))

		signedIn, err := env.login(combiningAddress, password)
		require.NoError(t, err)

		require.ErrorIs(t, env.registerZoe(combiningAddress), identity.ErrEmailTaken)

		// A change of the name stores the row again.
		require.NoError(t, env.Rename(t.Context(), signedIn.Account.ID, "Zoë Ash"))

		_, err = env.login(combiningAddress, password)
		require.NoError(t, err, "the key is unchanged")
	})
}
