package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

func TestBrowserSession_TwelveHoursIdleOrAWeek_Expires(t *testing.T) {
	h := newSQLiteEnv(t)
	h.jobseeker("jo@example.org")
	signIn := func() string {
		secret, err := h.LoginBrowser(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, identity.Client{}, "")
		require.NoError(t, err)
		return secret
	}
	here := func(secret string) bool {
		_, err := h.AuthenticateBrowser(t.Context(), secret)
		if err != nil {
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}
		return err == nil
	}
	alone := signIn()
	h.clock.Advance(12*time.Hour - time.Second)
	busy := signIn()
	h.clock.Advance(time.Second)
	require.False(t, here(alone))
	for range 15 {
		require.True(t, here(busy))
		h.clock.Advance(11 * time.Hour)
	}
	require.True(t, here(busy))
	h.clock.Advance(3 * time.Hour)
	require.False(t, here(busy), "use does not extend the session beyond its maximum")
}

func TestAcceptInvitationBrowser_OpensSession(t *testing.T) {
	h := newSQLiteEnv(t)
	admin := h.actor(h.employer("boss@example.org"))
	require.NoError(t, h.invite(admin, "new@example.org", "viewer"))
	token := h.mailToken("new@example.org")
	found, err := h.FindInvitation(t.Context(), token)
	require.NoError(t, err)
	o, err := h.MyOrganization(t.Context(), admin)
	require.NoError(t, err)
	require.Equal(t, identity.Invitation{Organization: o.Name, UserID: h.team(admin)["new@example.org"].UserID, Name: "Me Mber", Email: "new@example.org"}, found)

	secret, err := h.AcceptInvitationBrowser(t.Context(), guest, identity.AcceptInvitationInput{Token: token, Password: password}, officeClient, "")
	require.NoError(t, err)
	p, err := h.AuthenticateBrowser(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, admin.OrganizationID, p.Actor().OrganizationID)
	_, err = h.FindInvitation(t.Context(), token)
	require.ErrorIs(t, err, fault.ErrInvalid, "a token works once")
}

func TestFindInvitation_WithdrawnOrExpired_Invalid(t *testing.T) {
	h := newSQLiteEnv(t)
	admin := h.actor(h.employer("boss@example.org"))
	h.jobseeker("jo@example.org")
	require.NoError(t, h.invite(admin, "jo@example.org", "viewer"))
	token := h.mailToken("jo@example.org")
	found, err := h.FindInvitation(t.Context(), token)
	require.NoError(t, err)
	require.True(t, found.HasAccount)
	require.NoError(t, h.RemoveMember(t.Context(), admin, found.UserID))
	_, err = h.FindInvitation(t.Context(), token)
	require.ErrorIs(t, err, fault.ErrInvalid)
	require.NoError(t, h.invite(admin, "new@example.org", "viewer"))
	token = h.mailToken("new@example.org")
	h.clock.Advance(7 * 24 * time.Hour)
	for _, token := range []string{token, "", "loc_mt_unknown"} {
		_, err = h.FindInvitation(t.Context(), token)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
}
