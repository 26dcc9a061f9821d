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

	const (
		maxIdle = 12 * time.Hour
		maxAge  = 7 * 24 * time.Hour
	)

	// signIn opens a session and returns the secret of its cookie.
	signIn := func() string {
		secret, err := env.LoginBrowser(t.Context(),
			identity.LoginInput{Email: "jo@example.org", Password: password}, identity.Client{}, noOldSecret)
		require.NoError(t, err)

		return secret
	}

	// isSignedIn makes a request with the cookie, which counts as use of the session.
	isSignedIn := func(secret string) bool {
		_, err := env.AuthenticateBrowser(t.Context(), secret)
		if err != nil {
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}

		return err == nil
	}

	// A session that is not used expires after 12 hours.
	idle := signIn()

	env.clock.Advance(maxIdle)
	require.False(t, isSignedIn(idle))

	// A session that is used every 11 hours is valid until 7 days have passed.
	used := signIn()

	const (
		interval = 11 * time.Hour
		uses     = 15 // 165 of the 168 hours of 7 days
	)

	for range uses {
		env.clock.Advance(interval)
		require.True(t, isSignedIn(used))
	}

	env.clock.Advance(maxAge - uses*interval)
	require.False(t, isSignedIn(used), "use does not extend the session beyond its maximum")
}

// TestAcceptInvitationBrowser_NewUser_OpensSession checks that the page of an invitation shows what the
// organization entered, and that accepting it opens a session with a cookie. Its link works once.
func TestAcceptInvitationBrowser_NewUser_OpensSession(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "viewer"))

	token := env.mailToken("new@example.org")
	invitation, err := env.FindInvitation(t.Context(), token)
	require.NoError(t, err)

	organization, err := env.MyOrganization(t.Context(), admin)
	require.NoError(t, err)
	require.Equal(t, identity.Invitation{
		Organization: organization.Name,
		UserID:       env.team(admin)["new@example.org"].UserID,
		Name:         "Me Mber", // which invite has entered
		Email:        "new@example.org",
	}, invitation)

	// A guest accepts the invitation with a new password.
	secret, err := env.AcceptInvitationBrowser(t.Context(), guest,
		identity.AcceptInvitationInput{Token: token, Password: password}, officeClient, noOldSecret)
	require.NoError(t, err)

	principal, err := env.AuthenticateBrowser(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, admin.OrganizationID, principal.Actor().OrganizationID)

	_, err = env.FindInvitation(t.Context(), token)
	require.ErrorIs(t, err, fault.ErrInvalid, "a token works once")
}

// invitationLife is how long the link of an invitation can be used.
const invitationLife = 7 * 24 * time.Hour

// TestFindInvitation_Withdrawn_Invalid checks that the link of an invitation shows nothing after the
// admin has withdrawn the invitation.
func TestFindInvitation_Withdrawn_Invalid(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	env.jobseeker("jo@example.org")
	require.NoError(t, env.invite(admin, "jo@example.org", "viewer"))

	token := env.mailToken("jo@example.org")
	invitation, err := env.FindInvitation(t.Context(), token)
	require.NoError(t, err)
	require.True(t, invitation.HasAccount)

	// The admin withdraws the invitation.
	require.NoError(t, env.RemoveMember(t.Context(), admin, invitation.UserID))

	_, err = env.FindInvitation(t.Context(), token)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestFindInvitation_ExpiredOrUnknown_Invalid checks that the link of an invitation shows nothing after
// 7 days, as a link with an unknown or missing token.
func TestFindInvitation_ExpiredOrUnknown_Invalid(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "viewer"))

	expired := env.mailToken("new@example.org")
	env.clock.Advance(invitationLife)

	for name, token := range map[string]string{"expired": expired, "missing": "", "unknown": "loc_mt_unknown"} {
		_, err := env.FindInvitation(t.Context(), token)
		require.ErrorIs(t, err, fault.ErrInvalid, name)
	}
}
