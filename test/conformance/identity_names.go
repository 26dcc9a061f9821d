package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
)

// VerifiedNames checks the port identity.VerifiedNames, and the standing of organizations and
// users.
func VerifiedNames(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"replace and find":         verifiedNamesReplace,
		"standing of organization": standingReadsBack,
		"moderator":                moderatorReadsBack,
	})
}

func (p *people) findNames(n int, keys ...string) []string {
	p.t.Helper()
	found, err := p.VerifiedNames.Find(p.t.Context(), keys, n)
	require.NoError(p.t, err)
	return found
}

func verifiedNamesReplace(t *testing.T, p *people) {
	first, second := p.organization(p.user("a@example.org").ID), p.organization(p.user("b@example.org").ID)
	require.Empty(t, p.findNames(10, "saintthoma"))
	require.Empty(t, p.findNames(10))
	require.NoError(t, p.VerifiedNames.Replace(t.Context(), first.ID, []string{"saintthoma", "saintthom", "aintthoma"}))
	require.NoError(t, p.VerifiedNames.Replace(t.Context(), second.ID, []string{"saintthoma"}))
	require.Equal(t, []string{first.ID}, p.findNames(10, "saintthom", "aintthoma", "x"), "each once")
	require.ElementsMatch(t, []string{first.ID, second.ID}, p.findNames(10, "saintthoma"))
	require.Len(t, p.findNames(1, "saintthoma"), 1)
	require.NoError(t, p.VerifiedNames.Replace(t.Context(), first.ID, []string{"guy"}))
	require.Empty(t, p.findNames(10, "saintthom"))
	require.Equal(t, []string{first.ID}, p.findNames(10, "guy"))
	require.NoError(t, p.VerifiedNames.Replace(t.Context(), first.ID, nil))
	require.Empty(t, p.findNames(10, "guy"))
}

func standingReadsBack(t *testing.T, p *people) {
	o := p.organization(p.user("a@example.org").ID)
	require.False(t, o.IsVerified())
	require.False(t, o.HoldsJobs())
	o.VerifiedAt, o.VerifiedBy, o.HeldAt, o.SuspendedAt = p.now, identity.VerifiedByDomain, p.now, p.now
	require.NoError(t, p.Organizations.Upsert(t.Context(), &o))
	found, err := p.Organizations.GetByIDs(t.Context(), []string{o.ID})
	require.NoError(t, err)
	require.Equal(t, []identity.Organization{o}, found)
}

func moderatorReadsBack(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	require.False(t, u.IsModerator())
	u.GrantModerator(p.now)
	require.NoError(t, p.Users.Update(t.Context(), &u))
	found, err := p.Users.GetByIDs(t.Context(), []string{u.ID})
	require.NoError(t, err)
	require.Equal(t, []identity.User{u}, found)
}
