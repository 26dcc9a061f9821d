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
