package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// OAuth is the suite of what users allow applications, of what is issued to
// these, and of the sessions of browsers.
func OAuth(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	user := func(t *testing.T, s adapters.Storage, now time.Time) string {
		t.Helper()
		u := identity.NewUser(id(), id()+"@example.org", "Zoë", identity.KindJobseeker, "hash", now)
		require.NoError(t, s.Identity.Users.Create(ctx, &u))
		return u.ID
	}
	app := func(t *testing.T, s adapters.Storage, now time.Time) integrations.App {
		t.Helper()
		a := integrations.App{ID: id(), OwnerID: user(t, s, now), Name: "Ward Finder", Description: "d", Plan: integrations.Free, RedirectURIs: []string{"https://a.example/cb"}, CreatedAt: now, UpdatedAt: now, Version: 1}
		require.NoError(t, s.Integrations.Apps.Add(ctx, a))
		return a
	}
	grant := func(t *testing.T, s adapters.Storage, a integrations.App, userID string, now time.Time) (integrations.Grant, integrations.Token) {
		t.Helper()
		g := integrations.Grant{ID: id(), AppID: a.ID, UserID: userID, Scopes: []integrations.Scope{integrations.JobsRead, integrations.ApplicationsWrite}, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
		code := integrations.Token{Hash: id(), GrantID: g.ID, Kind: integrations.Code, Scopes: g.Scopes, RedirectURI: "https://a.example/cb?x=1", Challenge: "c", IssuedAt: now, ExpiresAt: now.Add(time.Minute)}
		require.NoError(t, s.Integrations.Grants.Add(ctx, g, code))
		return g, code
	}
	issue := func(t *testing.T, s adapters.Storage, g integrations.Grant, kind integrations.TokenKind, now time.Time) integrations.Token {
		t.Helper()
		token := integrations.Token{Hash: id(), GrantID: g.ID, Kind: kind, Scopes: g.Scopes[:1], IssuedAt: now, ExpiresAt: now.Add(time.Minute)}
		require.NoError(t, s.Integrations.Grants.AddToken(ctx, token))
		return token
	}

	t.Run("a token is found by its hash and its kind alone", func(t *testing.T) {
		s, now := start(t)
		a, me := app(t, s, now), user(t, s, now)
		g, code := grant(t, s, a, me, now)
		access := issue(t, s, g, integrations.Access, now)
		foundCode, foundGrant, err := s.Integrations.Grants.Find(ctx, integrations.Code, code.Hash)
		require.NoError(t, err)
		require.Equal(t, code, foundCode)
		require.Equal(t, g, foundGrant)
		foundToken, foundGrant, foundApp, err := s.Integrations.Grants.Access(ctx, access.Hash)
		require.NoError(t, err)
		require.Equal(t, access, foundToken)
		require.Equal(t, g, foundGrant)
		require.Equal(t, a, foundApp)
		for kind, hash := range map[integrations.TokenKind]string{integrations.Refresh: access.Hash, integrations.Access: code.Hash, integrations.Code: "nothing"} {
			_, _, err := s.Integrations.Grants.Find(ctx, kind, hash)
			require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		}
		_, _, _, err = s.Integrations.Grants.Access(ctx, code.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})

	t.Run("of twenty who spend the same token one does", func(t *testing.T) {
		s, now := start(t)
		g, code := grant(t, s, app(t, s, now), user(t, s, now), now)
		for _, token := range []integrations.Token{code, issue(t, s, g, integrations.Refresh, now)} {
			require.Equal(t, 1, atOnce(t, 20, func(int) (spent bool, err error) {
				err = s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
					if _, _, err := s.Integrations.Grants.Find(ctx, token.Kind, token.Hash); err != nil {
						return err
					}
					spent, err = s.Integrations.Grants.Spend(ctx, token.Hash, now)
					return err
				})
				return spent, err
			}))
			found, _, err := s.Integrations.Grants.Find(ctx, token.Kind, token.Hash)
			require.NoError(t, err)
			require.Equal(t, now, *found.UsedAt)
		}
	})

	t.Run("an authorization ends with all that came from it, and no other does", func(t *testing.T) {
		s, now := start(t)
		a, me := app(t, s, now), user(t, s, now)
		g, _ := grant(t, s, a, me, now)
		other, _ := grant(t, s, a, me, now)
		access, refresh, theirs := issue(t, s, g, integrations.Access, now), issue(t, s, g, integrations.Refresh, now), issue(t, s, other, integrations.Access, now)
		require.NoError(t, s.Integrations.Grants.EndAccess(ctx, g.ID, now))
		active := func(kind integrations.TokenKind, hash string) bool {
			token, g, err := s.Integrations.Grants.Find(ctx, kind, hash)
			require.NoError(t, err)
			return token.Active(g, now)
		}
		require.False(t, active(integrations.Access, access.Hash))
		require.True(t, active(integrations.Refresh, refresh.Hash))
		require.NoError(t, s.Integrations.Grants.End(ctx, g.ID, now))
		require.NoError(t, s.Integrations.Grants.End(ctx, g.ID, now.Add(time.Hour)))
		require.False(t, active(integrations.Refresh, refresh.Hash))
		require.True(t, active(integrations.Access, theirs.Hash))
		_, ended, err := s.Integrations.Grants.Find(ctx, integrations.Refresh, refresh.Hash)
		require.NoError(t, err)
		require.Equal(t, now, *ended.EndedAt)
	})

	t.Run("what was issued ends with the account that gave it", func(t *testing.T) {
		s, now := start(t)
		me := user(t, s, now)
		g, code := grant(t, s, app(t, s, now), me, now)
		access := issue(t, s, g, integrations.Access, now)
		u, err := s.Identity.Users.GetForUpdate(ctx, me)
		require.NoError(t, err)
		u.Status = identity.UserDeleted
		require.NoError(t, s.Identity.Users.Update(ctx, &u))
		_, _, err = s.Integrations.Grants.Find(ctx, integrations.Code, code.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		_, _, _, err = s.Integrations.Grants.Access(ctx, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})

	t.Run("tokens of a locked account are refused", func(t *testing.T) {
		s, now := start(t)
		u := user(t, s, now)
		g, code := grant(t, s, app(t, s, now), u, now)
		access := issue(t, s, g, integrations.Access, now)
		locked, err := s.Identity.Users.GetForUpdate(ctx, u)
		require.NoError(t, err)
		locked.Lock(now)
		require.NoError(t, s.Identity.Users.Update(ctx, &locked))
		_, _, err = s.Integrations.Grants.Find(ctx, integrations.Code, code.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		_, _, _, err = s.Integrations.Grants.Access(ctx, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})

	t.Run("what was issued ends with the application that it was issued to", func(t *testing.T) {
		s, now := start(t)
		a := app(t, s, now)
		g, _ := grant(t, s, a, user(t, s, now), now)
		access := issue(t, s, g, integrations.Access, now)
		require.NoError(t, s.Integrations.Apps.Delete(ctx, a.OwnerID, a.ID))
		_, _, _, err := s.Integrations.Grants.Access(ctx, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})

	t.Run("nothing is issued to an application that is gone", func(t *testing.T) {
		s, now := start(t)
		a, me := app(t, s, now), user(t, s, now)
		g, code := grant(t, s, a, me, now)
		require.NoError(t, s.Integrations.Apps.Delete(ctx, a.OwnerID, a.ID))
		g.ID = id()
		require.ErrorIs(t, s.Integrations.Grants.Add(ctx, g, code), integrations.ErrAppNotFound)
		require.ErrorIs(t, s.Integrations.Consents.Give(ctx, integrations.Consent{UserID: me, AppID: a.ID, GivenAt: now}), integrations.ErrAppNotFound)
	})

	t.Run("a consent is its user's, and ends what was issued by it", func(t *testing.T) {
		s, now := start(t)
		a, b, me, other := app(t, s, now), app(t, s, now), user(t, s, now), user(t, s, now)
		give := func(userID, appID string, scopes ...integrations.Scope) integrations.Consent {
			c := integrations.Consent{UserID: userID, AppID: appID, Scopes: scopes, GivenAt: now}
			require.NoError(t, s.Integrations.Consents.Give(ctx, c))
			return c
		}
		give(me, a.ID, integrations.JobsRead)
		mine := give(me, a.ID, integrations.JobsRead, integrations.ApplicationsRead)
		more := give(me, b.ID, integrations.JobsRead)
		theirs := give(other, a.ID, integrations.JobsRead)
		found, err := s.Integrations.Consents.Find(ctx, me, a.ID)
		require.NoError(t, err)
		require.Equal(t, mine, found)
		first, err := s.Integrations.Consents.Page(ctx, me, page.Request{Number: 1, Size: 1})
		require.NoError(t, err)
		require.Equal(t, []integrations.Allowed{{Consent: more, Name: b.Name, Description: b.Description}}, first.Items)
		require.Equal(t, 2, first.Total)
		rest, err := s.Integrations.Consents.Page(ctx, me, page.Request{Number: 2, Size: 1, Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Equal(t, mine, rest.Items[0].Consent)
		require.Empty(t, rest.NextCursor)

		_, gone := grant(t, s, a, me, now)
		_, stays := grant(t, s, b, me, now)
		_, foreign := grant(t, s, a, other, now)
		require.NoError(t, s.Integrations.Consents.Withdraw(ctx, me, a.ID))
		require.ErrorIs(t, s.Integrations.Consents.Withdraw(ctx, me, a.ID), integrations.ErrConsentNotFound)
		_, err = s.Integrations.Consents.Find(ctx, me, a.ID)
		require.ErrorIs(t, err, integrations.ErrConsentNotFound)
		_, _, err = s.Integrations.Grants.Find(ctx, integrations.Code, gone.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		for _, token := range []integrations.Token{stays, foreign} {
			_, _, err = s.Integrations.Grants.Find(ctx, integrations.Code, token.Hash)
			require.NoError(t, err)
		}
		require.NoError(t, s.Integrations.Consents.DeleteOf(ctx, me))
		_, _, err = s.Integrations.Grants.Find(ctx, integrations.Code, stays.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		found, err = s.Integrations.Consents.Find(ctx, other, a.ID)
		require.NoError(t, err)
		require.Equal(t, theirs, found)
	})

	t.Run("what has expired is forgotten a few at a time", func(t *testing.T) {
		s, now := start(t)
		a, me := app(t, s, now), user(t, s, now)
		for range 3 {
			g, _ := grant(t, s, a, me, now)
			issue(t, s, g, integrations.Refresh, now)
		}
		last, _ := grant(t, s, a, me, now.Add(time.Hour))
		issue(t, s, last, integrations.Access, now)
		refresh := issue(t, s, last, integrations.Refresh, now.Add(2*time.Hour))
		for _, n := range []int{2, 2, 0} {
			got, err := s.Integrations.Grants.Forget(ctx, now.Add(90*time.Minute), 2)
			require.NoError(t, err)
			require.Equal(t, n, got)
		}
		_, _, err := s.Integrations.Grants.Find(ctx, integrations.Refresh, refresh.Hash)
		require.NoError(t, err)
	})
}
