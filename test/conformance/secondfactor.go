package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
)

func secondFactorIsStored(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	ctx := t.Context()
	_, err := p.Identity.SecondFactors.Get(ctx, u.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)
	f := identity.SecondFactor{UserID: u.ID, Secret: "first", CreatedAt: p.now}
	require.NoError(t, p.Identity.SecondFactors.Upsert(ctx, f))
	f.Secret, f.ConfirmedAt, f.LastStep = "second", p.now, 7
	require.NoError(t, p.Identity.SecondFactors.Upsert(ctx, f))
	require.NoError(t, p.Identity.SecondFactors.Upsert(ctx, identity.SecondFactor{UserID: other.ID, Secret: "theirs", CreatedAt: p.now}))
	got, err := p.Identity.SecondFactors.Get(ctx, u.ID)
	require.NoError(t, err)
	require.Equal(t, f, got)

	for step, want := range map[int64]bool{6: false, 7: false} {
		ok, err := p.Identity.SecondFactors.AdvanceStep(ctx, u.ID, step)
		require.NoError(t, err)
		require.Equal(t, want, ok)
	}
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) { return p.Identity.SecondFactors.AdvanceStep(ctx, u.ID, 8) }))

	require.NoError(t, p.Identity.SecondFactors.ReplaceRecoveryCodes(ctx, u.ID, []string{"a", "b"}))
	require.NoError(t, p.Identity.SecondFactors.ReplaceRecoveryCodes(ctx, u.ID, []string{"c", "d", "e"}))
	require.NoError(t, p.Identity.SecondFactors.ReplaceRecoveryCodes(ctx, other.ID, []string{"c"}))
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) { return p.Identity.SecondFactors.UseRecoveryCode(ctx, u.ID, "c") }))
	ok, err := p.Identity.SecondFactors.UseRecoveryCode(ctx, u.ID, "a")
	require.NoError(t, err)
	require.False(t, ok)
	n, err := p.Identity.SecondFactors.CountRecoveryCodes(ctx, u.ID)
	require.NoError(t, err)
	require.Equal(t, 2, n)

	require.NoError(t, p.Identity.SecondFactors.Delete(ctx, u.ID))
	_, err = p.Identity.SecondFactors.Get(ctx, u.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)
	n, err = p.Identity.SecondFactors.CountRecoveryCodes(ctx, u.ID)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = p.Identity.SecondFactors.CountRecoveryCodes(ctx, other.ID)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func secondFactorIsRequired(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	o := p.organization(u.ID)
	s, _ := p.session(u)
	missing := func() bool {
		principal, err := p.Identity.Sessions.Principal(t.Context(), s.ID)
		require.NoError(t, err)
		m, err := p.Identity.Organizations.MembershipOf(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, principal.Membership.SecondFactorMissing, m.SecondFactorMissing)
		return m.SecondFactorMissing
	}
	require.False(t, missing())
	o.RequireSecondFactor = true
	require.NoError(t, p.Identity.Organizations.Save(t.Context(), &o))
	require.True(t, missing())
	f := identity.SecondFactor{UserID: u.ID, Secret: "secret", CreatedAt: p.now}
	require.NoError(t, p.Identity.SecondFactors.Upsert(t.Context(), f))
	require.True(t, missing(), "it is not confirmed")
	f.ConfirmedAt = p.now
	require.NoError(t, p.Identity.SecondFactors.Upsert(t.Context(), f))
	require.False(t, missing())
}
