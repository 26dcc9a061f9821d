package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/identity"
)

// moderator registers a user and makes the user a moderator.
func (h *testEnv) moderator() auth.Actor {
	h.t.Helper()
	s := h.jobseeker("moderator@example.net")
	require.NoError(h.t, h.GrantModerator(h.t.Context(), "moderator@example.net"))
	return h.actor(s)
}

// moderate takes the action of a moderator on the organization.
func (h *testEnv) moderate(by auth.Actor, organizationID string, action identity.OrganizationAction) identity.Organization {
	h.t.Helper()
	o, err := h.Moderate(h.t.Context(), by, organizationID, identity.OrganizationActionInput{Action: string(action)})
	require.NoError(h.t, err)
	return o
}

func TestOrganizationChanges_CountsCommits(t *testing.T) {
	env := newSQLiteEnv(t)
	boss, moderator := env.actor(env.employer("boss@example.org")), env.moderator()
	before := env.OrganizationChanges()
	env.moderate(moderator, boss.OrganizationID, identity.VerifyOrganization)
	require.Equal(t, before+1, env.OrganizationChanges())
	_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("St Brigid's")})
	require.NoError(t, err)
	require.Equal(t, before+2, env.OrganizationChanges())
	require.NoError(t, env.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: env.mailToken("boss@example.org")}))
	require.Equal(t, before+3, env.OrganizationChanges())
	_, err = env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("")})
	require.Error(t, err)
	require.Equal(t, before+3, env.OrganizationChanges())
}
