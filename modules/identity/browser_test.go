package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// noOldSecret is the secret of the earlier session of a browser without one.
const noOldSecret = ""

// TestBrowserSession_TwelveHoursIdleOrAWeek_Expires checks the lifetimes of the sessions of browsers,
// which have a cookie with a secret: 12 hours without a request, and 7 days in any case.
func TestBrowserSession_TwelveHoursIdleOrAWeek_Expires(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	signIn := func() string {
		secret, err := env.LoginBrowser(t.Context(),
			identity.LoginInput{Email: "jo@example.org", Password: password}, identity.Client{}, noOldSecret)
		require.NoError(t, err)

		return secret
	}

	isSignedIn := func(secret string) bool {
		_, err := env.AuthenticateBrowser(t.Context(), secret)
		if err != nil {
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}

		hasSession := err == nil

		return hasSession
	}

	// A session that is not used expires after 12 hours.
	idle := signIn()

	env.clock.Advance(12*time.Hour - time.Second)

	used := signIn()

	env.clock.Advance(time.Second)
	require.False(t, isSignedIn(idle), "12 hours after the sign-in")

	// A session that is used every 11 hours expires after 7 days. 15 × 11 h = 165 h, which is 3 h less than 7 days.
	for range 15 {
		require.True(t, isSignedIn(used))
		env.clock.Advance(11 * time.Hour)
	}

	require.True(t, isSignedIn(used))
	env.clock.Advance(3 * time.Hour)
	require.False(t, isSignedIn(used), "use does not extend the session beyond its maximum")
}

// TestAcceptInvitationBrowser_OpensSession checks that the page of an invitation shows what the
// organization entered, and that accepting it opens a session with a cookie.
func TestAcceptInvitationBrowser_OpensSession(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "viewer"))

	token := env.mailToken("new@example.org")
	invitation, err := env.FindInvitation(t.Context(), token)
	require.NoError(t, err)

	organization, err := env.MyOrganization(t.Context(), admin)
	require.NoError(t, err)
	require.Equal(
		t,
		identity.Invitation{
			Organization: organization.Name,
			UserID:       env.team(admin)["new@example.org"].UserID,
			Name:         "Me Mber",
			Email:        "new@example.org",
		},
		invitation,
	)

	secret, err := env.AcceptInvitationBrowser(t.Context(), guest,
		identity.AcceptInvitationInput{Token: token, Password: password}, officeClient, noOldSecret)
	require.NoError(t, err)

	principal, err := env.AuthenticateBrowser(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, admin.OrganizationID, principal.Actor().OrganizationID)

	_, err = env.FindInvitation(t.Context(), token)
	require.ErrorIs(t, err, fault.ErrInvalid, "a token works once")
}

// TestFindInvitation_WithdrawnOrExpired_Invalid checks that the link of an invitation shows
// nothing after the invitation was withdrawn, or after 7 days.
func TestFindInvitation_WithdrawnOrExpired_Invalid(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	env.jobseeker("jo@example.org")
	require.NoError(t, env.invite(admin, "jo@example.org", "viewer"))

	withdrawn := env.mailToken("jo@example.org")
	invitation, err := env.FindInvitation(t.Context(), withdrawn)
	require.NoError(t, err)
	require.True(t, invitation.HasAccount)

	// The admin withdraws the invitation.
	require.NoError(t, env.RemoveMember(t.Context(), admin, invitation.UserID))

	_, err = env.FindInvitation(t.Context(), withdrawn)
	require.ErrorIs(t, err, fault.ErrInvalid)

	// The link of another invitation expires after 7 days.
	require.NoError(t, env.invite(admin, "new@example.org", "viewer"))

	expired := env.mailToken("new@example.org")
	env.clock.Advance(7 * 24 * time.Hour)

	for _, token := range []string{expired, "", "loc_mt_unknown"} {
		_, err = env.FindInvitation(t.Context(), token)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
}
