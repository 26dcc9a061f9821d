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

// Apps is the suite of what is kept of third parties' applications.
func Apps(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	owner := func(t *testing.T, s adapters.Storage, now time.Time) string {
		t.Helper()
		u := identity.User{ID: id(), Email: id() + "@example.org", Name: "Dev", Kind: identity.KindJobseeker, Status: identity.UserActive, Registered: true, PasswordHash: "h", CreatedAt: now, UpdatedAt: now, Version: 1}
		require.NoError(t, s.Identity.Users.Create(ctx, &u))
		return u.ID
	}
	add := func(t *testing.T, s adapters.Storage, ownerID string, now time.Time) integrations.App {
		t.Helper()
		a := integrations.App{ID: id(), OwnerID: ownerID, Name: "Zoë's \"100%\"", Description: "d", SecretHash: "h", Plan: integrations.Free,
			RedirectURIs: []string{"https://a.example/cb?x=1,2", "http://127.0.0.1/"}, CreatedAt: now, UpdatedAt: now, Version: 1}
		require.NoError(t, s.Integrations.Apps.Add(ctx, a))
		return a
	}
	key := func(t *testing.T, s adapters.Storage, a integrations.App, now time.Time) integrations.Key {
		t.Helper()
		k := integrations.Key{ID: id(), AppID: a.ID, Name: "k", Prefix: "loc_live_abcd", Hash: id(), CreatedAt: now}
		require.NoError(t, s.Integrations.Apps.AddKey(ctx, a.OwnerID, k))
		return k
	}

	t.Run("an application is its owner's alone", func(t *testing.T) {
		s, now := start(t)
		me, other := owner(t, s, now), owner(t, s, now)
		a := add(t, s, me, now)
		got, err := s.Integrations.Apps.Find(ctx, me, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
		got, err = s.Integrations.Apps.ByID(ctx, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
		owners, err := s.Integrations.Apps.Owners(ctx, []string{a.ID, id()})
		require.NoError(t, err)
		require.Equal(t, map[string]string{a.ID: me}, owners)

		_, err = s.Integrations.Apps.Find(ctx, other, a.ID)
		require.ErrorIs(t, err, integrations.ErrAppNotFound)
		require.ErrorIs(t, s.Integrations.Apps.Delete(ctx, other, a.ID), integrations.ErrAppNotFound)
		require.ErrorIs(t, s.Integrations.Apps.AddKey(ctx, other, integrations.Key{ID: id(), AppID: a.ID, Hash: id(), CreatedAt: now}), integrations.ErrAppNotFound)
		foreign := a
		foreign.OwnerID = other
		require.Error(t, s.Integrations.Apps.Save(ctx, foreign))
		k := key(t, s, a, now)
		keys, err := s.Integrations.Apps.Keys(ctx, other, a.ID)
		require.NoError(t, err)
		require.Empty(t, keys)
		require.ErrorIs(t, s.Integrations.Apps.DeleteKey(ctx, other, a.ID, k.ID), integrations.ErrKeyNotFound)
		require.ErrorIs(t, s.Integrations.Apps.DeleteKey(ctx, me, add(t, s, me, now).ID, k.ID), integrations.ErrKeyNotFound)
		n, err := s.Integrations.Apps.Count(ctx, me)
		require.NoError(t, err)
		require.Equal(t, 2, n)
	})

	t.Run("applications are listed the newest first, page after page", func(t *testing.T) {
		s, now := start(t)
		me := owner(t, s, now)
		add(t, s, owner(t, s, now), now)
		var all []integrations.App
		for range 5 {
			all = append([]integrations.App{add(t, s, me, now)}, all...)
		}
		first, err := s.Integrations.Apps.Page(ctx, me, page.Request{Number: 1, Size: 3})
		require.NoError(t, err)
		require.Equal(t, all[:3], first.Items)
		require.Equal(t, 5, first.Total)
		rest, err := s.Integrations.Apps.Page(ctx, me, page.Request{Number: 2, Size: 3, Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Equal(t, all[3:], rest.Items)
		require.Empty(t, rest.NextCursor)
	})

	t.Run("of two who change the same application neither is lost", func(t *testing.T) {
		s, now := start(t)
		me := owner(t, s, now)
		a := add(t, s, me, now)
		together(t, 10, func(int) error {
			return s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				b, err := s.Integrations.Apps.Find(ctx, me, a.ID)
				if err != nil {
					return err
				}
				b.Description += "x"
				b.RedirectURIs = []string{}
				return s.Integrations.Apps.Save(ctx, b)
			})
		})
		got, err := s.Integrations.Apps.Find(ctx, me, a.ID)
		require.NoError(t, err)
		require.Equal(t, "dxxxxxxxxxx", got.Description)
		require.Equal(t, []string{}, got.RedirectURIs)
	})

	t.Run("a key opens its application until it is deleted", func(t *testing.T) {
		s, now := start(t)
		a := add(t, s, owner(t, s, now), now)
		first, second := key(t, s, a, now), key(t, s, a, now)
		app, k, err := s.Integrations.Apps.ByKey(ctx, second.Hash)
		require.NoError(t, err)
		require.Equal(t, a, app)
		require.Equal(t, second, k)
		_, _, err = s.Integrations.Apps.ByKey(ctx, "nothing")
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)

		later := now.Add(time.Hour)
		require.NoError(t, s.Integrations.Apps.Used(ctx, nil))
		require.NoError(t, s.Integrations.Apps.Used(ctx, map[string]time.Time{second.ID: later, first.ID: now, id(): later}))
		require.NoError(t, s.Integrations.Apps.Used(ctx, map[string]time.Time{second.ID: now}))
		keys, err := s.Integrations.Apps.Keys(ctx, a.OwnerID, a.ID)
		require.NoError(t, err)
		first.LastUsedAt, second.LastUsedAt = &now, &later
		require.Equal(t, []integrations.Key{second, first}, keys, "the latest use is kept")

		require.NoError(t, s.Integrations.Apps.DeleteKey(ctx, a.OwnerID, a.ID, second.ID))
		_, _, err = s.Integrations.Apps.ByKey(ctx, second.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		require.ErrorIs(t, s.Integrations.Apps.DeleteKey(ctx, a.OwnerID, a.ID, second.ID), integrations.ErrKeyNotFound)
	})

	t.Run("DeleteKeys removes the keys of one owner", func(t *testing.T) {
		s, now := start(t)
		me, other := owner(t, s, now), owner(t, s, now)
		mine, theirs := add(t, s, me, now), add(t, s, other, now)
		revoked := []integrations.Key{key(t, s, mine, now), key(t, s, add(t, s, me, now), now)}
		kept := key(t, s, theirs, now)
		require.NoError(t, s.Integrations.Apps.DeleteKeys(ctx, me))
		for _, k := range revoked {
			_, _, err := s.Integrations.Apps.ByKey(ctx, k.Hash)
			require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		}
		_, _, err := s.Integrations.Apps.ByKey(ctx, kept.Hash)
		require.NoError(t, err)
	})

	t.Run("a key ends with the account that made it", func(t *testing.T) {
		s, now := start(t)
		a := add(t, s, owner(t, s, now), now)
		orphan := key(t, s, a, now)
		gone, err := s.Identity.Users.GetForUpdate(ctx, a.OwnerID)
		require.NoError(t, err)
		gone.Status = identity.UserDeleted
		require.NoError(t, s.Identity.Users.Update(ctx, &gone))
		_, _, err = s.Integrations.Apps.ByKey(ctx, orphan.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound, "whether or not the account's end has been worked off")
	})

	t.Run("a key of a locked account is refused", func(t *testing.T) {
		s, now := start(t)
		a := add(t, s, owner(t, s, now), now)
		k := key(t, s, a, now)
		u, err := s.Identity.Users.GetForUpdate(ctx, a.OwnerID)
		require.NoError(t, err)
		u.Lock(now)
		require.NoError(t, s.Identity.Users.Update(ctx, &u))
		_, _, err = s.Integrations.Apps.ByKey(ctx, k.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		u.Unlock(now)
		require.NoError(t, s.Identity.Users.Update(ctx, &u))
		_, _, err = s.Integrations.Apps.ByKey(ctx, k.Hash)
		require.NoError(t, err)
	})

	t.Run("a key ends with its application", func(t *testing.T) {
		s, now := start(t)
		a := add(t, s, owner(t, s, now), now)
		orphan := key(t, s, a, now)
		require.NoError(t, s.Integrations.Apps.Delete(ctx, a.OwnerID, a.ID))
		_, _, err := s.Integrations.Apps.ByKey(ctx, orphan.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})

	t.Run("calls add up by day, whoever counts them, and go with their application", func(t *testing.T) {
		s, now := start(t)
		me := owner(t, s, now)
		a, b := add(t, s, me, now), add(t, s, me, now)
		require.NoError(t, s.Integrations.Usage.Add(ctx, nil))
		together(t, 10, func(int) error {
			spent := []integrations.Spent{{AppID: b.ID, Day: "2026-11-20", Requests: 1}, {AppID: a.ID, Day: "2026-11-20", Requests: 3, Errors: 1}, {AppID: a.ID, Day: "2026-11-21", Requests: 1}}
			return s.Identity.Tx.Do(ctx, func(ctx context.Context) error { return s.Integrations.Usage.Add(ctx, spent) })
		})
		got, err := s.Integrations.Usage.Of(ctx, a.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Equal(t, []integrations.Spent{{AppID: a.ID, Day: "2026-11-20", Requests: 30, Errors: 10}, {AppID: a.ID, Day: "2026-11-21", Requests: 10}}, got)
		got, err = s.Integrations.Usage.Of(ctx, a.ID, "2026-11-21", "2026-11-21")
		require.NoError(t, err)
		require.Len(t, got, 1)
		n, err := s.Integrations.Usage.Forget(ctx, "2026-11-21", 10)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.NoError(t, s.Integrations.Apps.Delete(ctx, me, a.ID))
		got, err = s.Integrations.Usage.Of(ctx, a.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Empty(t, got)
	})
}
