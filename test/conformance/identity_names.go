package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
)

// VerifiedNames checks the port identity.VerifiedNames, which stores keys for the name of each verified organization.
// Similar names have a key in common. It also checks that the standing of organizations and users is stored: the
// verification, hold and suspension of an organization, and the right of a user to moderate.
func VerifiedNames(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"replace and find":         verifiedNamesReplace,
		"standing of organization": standingReadsBack,
		"moderator":                moderatorReadsBack,
	})
}

// findNames returns at most n organizations that have one of the keys.
func (fixture *identityFixture) findNames(n int, keys ...string) []string {
	fixture.t.Helper()

	found, err := fixture.VerifiedNames.Find(fixture.t.Context(), keys, n)
	require.NoError(fixture.t, err)

	return found
}

// verifiedNamesReplace checks that Replace stores exactly the given keys of an organization,
// and that an organization with several matching keys is found once.
func verifiedNamesReplace(t *testing.T, fixture *identityFixture) {
	first := fixture.organization(fixture.user("a@example.org").ID)
	second := fixture.organization(fixture.user("b@example.org").ID)
	replace := func(organizationID string, keys ...string) {
		require.NoError(t, fixture.VerifiedNames.Replace(t.Context(), organizationID, keys))
	}

	require.Empty(t, fixture.findNames(10, "saintthoma"))
	require.Empty(t, fixture.findNames(10))

	// Two organizations share a key.
	replace(first.ID, "saintthoma", "saintthom", "aintthoma")
	replace(second.ID, "saintthoma")
	require.Equal(t, []string{first.ID}, fixture.findNames(10, "saintthom", "aintthoma", "x"),
		"once, although two keys match")
	require.ElementsMatch(t, []string{first.ID, second.ID}, fixture.findNames(10, "saintthoma"))
	require.Len(t, fixture.findNames(1, "saintthoma"), 1, "at most as many as the limit")

	// The first organization gets another name.
	replace(first.ID, "guy")
	require.Empty(t, fixture.findNames(10, "saintthom"))
	require.Equal(t, []string{first.ID}, fixture.findNames(10, "guy"))

	// Then it has no keys any more.
	replace(first.ID)
	require.Empty(t, fixture.findNames(10, "guy"))
}

// standingReadsBack checks that an organization's verification, hold and suspension are stored.
func standingReadsBack(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("a@example.org").ID)
	require.False(t, org.IsVerified())
	require.False(t, org.HoldsJobs())

	org.VerifiedAt = fixture.now
	org.VerifiedBy = identity.VerifiedByDomain
	org.HeldAt = fixture.now
	org.SuspendedAt = fixture.now
	require.NoError(t, fixture.Organizations.Upsert(t.Context(), &org))

	found, err := fixture.Organizations.GetByIDs(t.Context(), []string{org.ID})
	require.NoError(t, err)
	require.Equal(t, []identity.Organization{org}, found)
}

// moderatorReadsBack checks that the right to moderate is stored.
func moderatorReadsBack(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	require.False(t, user.IsModerator())
	user.GrantModerator(fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &user))

	found, err := fixture.Users.GetByIDs(t.Context(), []string{user.ID})
	require.NoError(t, err)
	require.Equal(t, []identity.User{user}, found)
}
