package integrations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

func TestTokens_Expire_NotAfterTheirGrant(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		ctx, me := t.Context(), d.developer(t)
		a, _, err := d.CreateApp(ctx, me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		scopes := []integrations.Scope{integrations.JobsRead}
		code := integrations.NewToken(integrations.Code)
		hash := integrations.HashToken(integrations.Code, code)
		require.NoError(t, d.Authorize(ctx, a.ID, me.UserID, scopes, hash, "", "c"))
		active := func(kind integrations.TokenKind, hash string) bool {
			_, is, err := d.Issued(ctx, kind, hash)
			require.NoError(t, err)
			return is
		}
		issued, _, err := d.Issued(ctx, integrations.Code, hash)
		require.NoError(t, err)
		g := issued.Grant
		issue := func(kind integrations.TokenKind) (token, hash string) {
			token = integrations.NewToken(kind)
			hash = integrations.HashToken(kind, token)
			require.NoError(t, d.IssueToken(ctx, kind, g, scopes, hash))
			return token, hash
		}

		d.clock.Advance(integrations.CodeLife - time.Second)
		require.True(t, active(integrations.Code, hash))
		d.clock.Advance(time.Second)
		require.False(t, active(integrations.Code, hash))

		access, accessHash := issue(integrations.Access)
		d.clock.Advance(integrations.AccessLife - time.Second)
		caller, err := d.AuthenticateToken(ctx, access)
		require.NoError(t, err)
		require.Equal(t, me.UserID, caller.UserID)
		require.Equal(t, scopes, caller.Scopes)
		d.clock.Advance(time.Second)
		require.False(t, active(integrations.Access, accessHash))
		_, err = d.AuthenticateToken(ctx, access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		for range 4 { // each refresh lasts for a week, until the authorization has lasted for 30 days
			_, hash = issue(integrations.Refresh)
			d.clock.Advance(integrations.RefreshLife - time.Second)
			require.True(t, active(integrations.Refresh, hash))
		}
		_, hash = issue(integrations.Refresh)
		access, _ = issue(integrations.Access)
		d.clock.Advance(integrations.GrantLife - 4*integrations.RefreshLife)
		require.False(t, active(integrations.Refresh, hash))
		_, err = d.AuthenticateToken(ctx, access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestAuthenticateToken_ConsentOrAccountEnds_Unauthorized(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		ctx, owner := t.Context(), d.developer(t)
		a, _, err := d.CreateApp(ctx, owner, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		me := d.developer(t)
		scopes := []integrations.Scope{integrations.JobsRead}
		token := func() string {
			hash := integrations.HashToken(integrations.Code, integrations.NewToken(integrations.Code))
			require.NoError(t, d.Consent(ctx, me, a.ID, scopes))
			require.NoError(t, d.Authorize(ctx, a.ID, me.UserID, scopes, hash, "", "c"))
			issued, _, err := d.Issued(ctx, integrations.Code, hash)
			require.NoError(t, err)
			g := issued.Grant
			access := integrations.NewToken(integrations.Access)
			require.NoError(t, d.IssueToken(ctx, integrations.Access, g, scopes, integrations.HashToken(integrations.Access, access)))
			_, err = d.AuthenticateToken(ctx, access)
			require.NoError(t, err)
			return access
		}
		for _, end := range []func(){
			func() { require.NoError(t, d.WithdrawConsent(ctx, me, a.ID)) },
			func() { d.tell(t, event.AccountDeleted{UserID: me.UserID}) },
			func() { require.NoError(t, d.DeleteApp(ctx, owner, a.ID)) },
		} {
			access := token()
			end()
			_, err := d.AuthenticateToken(ctx, access)
			require.ErrorIs(t, err, fault.ErrUnauthorized)
			given, err := d.Consented(ctx, me.UserID, a.ID, scopes)
			require.NoError(t, err)
			require.False(t, given)
		}
		for _, wrong := range []string{"", "loc_at_", integrations.NewToken(integrations.Access), integrations.NewToken(integrations.Refresh), integrations.NewToken(integrations.Code)} {
			_, err := d.AuthenticateToken(ctx, wrong)
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}
	})
}

func TestRedirectsTo_RegisteredURIsOnly(t *testing.T) {
	t.Parallel()
	app := integrations.App{RedirectURIs: []string{"https://a.example.com/cb?x=1", "http://127.0.0.1/cb", "http://[::1]:7/cb", "https://127.0.0.2/cb", "http://localhost/cb"}}
	for _, uri := range []string{"https://a.example.com/cb?x=1", "http://127.0.0.1/cb", "http://127.0.0.1:49152/cb", "http://[::1]/cb", "http://[::1]:8/cb", "http://localhost/cb"} {
		require.True(t, app.RedirectsTo(uri), uri)
	}
	for _, uri := range []string{"", "https://a.example.com/cb", "https://a.example.com/cb?x=1&y=2", "https://a.example.com/cb?x=1#f", "https://a.example.com:443/cb?x=1", "http://a.example.com/cb?x=1", "https://A.example.com/cb?x=1",
		"http://127.0.0.1:5/cb/", "http://127.0.0.1:5/%63b", "http://u:p@127.0.0.1:5/cb", "http://127.0.0.1:99999/cb", "http://127.0.0.1:0/cb", "http://127.0.0.1:x/cb", "http://127.0.0.3:5/cb", "http://127.0.0.2:5/cb",
		"https://127.0.0.1:5/cb", "http://127.0.0.1:5/cb?x", "http://127.0.0.1:5/cb#f", "HTTP://127.0.0.1:5/cb", "http://localhost:5/cb", "http://[0:0:0:0:0:0:0:2]/cb"} {
		require.False(t, app.RedirectsTo(uri), uri)
	}
}

func TestAppName_ControlCharacters_Refused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"\u202e", "a\r\nb", "\x1b]0;x\x07", "a\u2028b", "a\tb", " "} {
		require.NotEmpty(t, integrations.AppInput{Name: name}.Problems(), "%q", name)
	}
	for _, name := range []string{"Ward Finder", "Клиника", "مستشفى", "Zoë’s 👩‍⚕️ board"} {
		require.Empty(t, integrations.AppInput{Name: name, Description: "One line\nand another"}.Problems(), "%q", name)
	}
	require.NotEmpty(t, integrations.AppInput{Name: "x", Description: "a\u202eb"}.Problems())
}
