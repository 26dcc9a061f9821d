package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Apps checks the port integrations.Apps.
func Apps(t *testing.T, open IntegrationsOpener) {
	t.Run("other owner", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		a, other := f.app, newID()
		got, err := f.Apps.Get(f.ctx(), a.OwnerID, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
		got, err = f.Apps.Get(f.ctx(), integrations.AnyOwner, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)

		for _, ownerID := range []string{other, newID()} {
			_, err = f.Apps.Get(f.ctx(), ownerID, a.ID)
			require.ErrorIs(t, err, integrations.ErrAppNotFound)
			require.ErrorIs(t, f.Apps.Delete(f.ctx(), ownerID, a.ID), integrations.ErrAppNotFound)
			require.Empty(t, f.apps(integrations.AppFilter{OwnerID: ownerID}, page.Request{Number: 1, Size: 9}).Items)
			require.Empty(t, f.apps(integrations.AppFilter{OwnerID: ownerID, IDs: []string{a.ID}}, page.Request{Number: 1, Size: 9}).Items)
		}
		require.Empty(t, f.apps(integrations.AppFilter{}, page.Request{Number: 1, Size: 9}).Items, "no owner")
		foreign := a
		foreign.OwnerID = other
		require.Error(t, f.Apps.Update(f.ctx(), foreign))
	})

	t.Run("list", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		me := newID()
		var all []integrations.App
		for range 5 {
			all = append([]integrations.App{f.application(me)}, all...)
		}
		mine := integrations.AppFilter{OwnerID: me}
		first := f.apps(mine, page.Request{Number: 1, Size: 3})
		require.Equal(t, all[:3], first.Items)
		require.Equal(t, 5, first.Total)
		rest := f.apps(mine, page.Request{Number: 2, Size: 3, Cursor: first.NextCursor})
		require.Equal(t, all[3:], rest.Items)
		require.Empty(t, rest.NextCursor)
		require.Equal(t, 5, rest.Total)
		whole := f.apps(mine, page.Request{Number: 1, Size: 5})
		require.Equal(t, all, whole.Items)
		require.Equal(t, 5, whole.Total)
		require.Empty(t, whole.NextCursor)
		require.Equal(t, 5, f.apps(mine, page.Request{Number: 9, Size: 3}).Total, "beyond the end")
	})

	t.Run("list of any owner", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		second, third := f.application(newID()), f.application(f.app.OwnerID)
		all := f.apps(integrations.AppFilter{OwnerID: integrations.AnyOwner}, page.Request{Number: 1, Size: 2})
		require.Equal(t, []integrations.App{third, second}, all.Items)
		require.Equal(t, 3, all.Total)
		some := f.apps(integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: []string{f.app.ID, newID(), second.ID}}, page.Request{Number: 1, Size: 3})
		require.Equal(t, []integrations.App{second, f.app}, some.Items)
	})

	t.Run("limit", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		me := newID()
		require.Equal(t, 3, atOnce(t, 10, func(int) (bool, error) {
			err := f.Apps.Create(f.ctx(), integrations.App{ID: newID(), OwnerID: me, Plan: integrations.Free, RedirectURIs: []string{}, CreatedAt: f.now(), UpdatedAt: f.now(), Version: 1}, 3)
			if err != nil {
				require.ErrorIs(t, err, integrations.ErrTooManyApps)
			}
			return err == nil, nil
		}))
	})

	t.Run("concurrent updates", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		together(t, 10, func(int) error {
			return f.Tx.Do(f.ctx(), func(ctx context.Context) error {
				b, err := f.Apps.Get(ctx, f.app.OwnerID, f.app.ID)
				if err != nil {
					return err
				}
				b.Description += "x"
				b.RedirectURIs = []string{}
				return f.Apps.Update(ctx, b)
			})
		})
		got, err := f.Apps.Get(f.ctx(), f.app.OwnerID, f.app.ID)
		require.NoError(t, err)
		require.Equal(t, "dxxxxxxxxxx", got.Description)
		require.Equal(t, []string{}, got.RedirectURIs)
	})
}

// Keys checks the port integrations.Keys.
func Keys(t *testing.T, open IntegrationsOpener) {
	t.Run("get by hash", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		f.key(f.app)
		want := f.key(f.app)
		k, a, err := f.Keys.GetByHash(f.ctx(), want.Hash)
		require.NoError(t, err)
		require.Equal(t, f.app, a)
		require.Equal(t, want, k)
		_, _, err = f.Keys.GetByHash(f.ctx(), "nothing")
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})

	t.Run("other owner", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		k, other := f.key(f.app), newID()
		require.ErrorIs(t, f.Keys.Create(f.ctx(), other, integrations.Key{ID: newID(), AppID: f.app.ID, Hash: newID(), CreatedAt: f.now()}), integrations.ErrAppNotFound)
		require.ErrorIs(t, f.Keys.Create(f.ctx(), f.app.OwnerID, integrations.Key{ID: newID(), AppID: newID(), Hash: newID(), CreatedAt: f.now()}), integrations.ErrAppNotFound)
		keys, err := f.Keys.List(f.ctx(), other, f.app.ID)
		require.NoError(t, err)
		require.Empty(t, keys)
		mine := f.application(f.app.OwnerID)
		for ownerID, filter := range map[string]integrations.KeyFilter{other: {AppID: f.app.ID, ID: k.ID}, newID(): {}, f.app.OwnerID: {AppID: mine.ID, ID: k.ID}} {
			n, err := f.Keys.Delete(f.ctx(), ownerID, filter)
			require.NoError(t, err)
			require.Zero(t, n)
		}
	})

	t.Run("delete", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		first, second := f.key(f.app), f.key(f.app)
		for _, want := range []int{1, 0} {
			n, err := f.Keys.Delete(f.ctx(), f.app.OwnerID, integrations.KeyFilter{AppID: f.app.ID, ID: second.ID})
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		_, _, err := f.Keys.GetByHash(f.ctx(), second.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		keys, err := f.Keys.List(f.ctx(), f.app.OwnerID, f.app.ID)
		require.NoError(t, err)
		require.Equal(t, []integrations.Key{first}, keys)
	})

	t.Run("delete by owner and time", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		mine, theirs := f.application(f.app.OwnerID), f.application(newID())
		old := []integrations.Key{f.key(f.app), f.key(mine)}
		f.clk.Advance(time.Minute)
		boundary, kept, foreign := f.now(), f.key(f.app), f.key(theirs)
		n, err := f.Keys.Delete(f.ctx(), f.app.OwnerID, integrations.KeyFilter{CreatedBefore: boundary})
		require.NoError(t, err)
		require.Equal(t, 2, n)
		for _, k := range old {
			_, _, err := f.Keys.GetByHash(f.ctx(), k.Hash)
			require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		}
		_, _, err = f.Keys.GetByHash(f.ctx(), kept.Hash)
		require.NoError(t, err, "created at that time")
		n, err = f.Keys.Delete(f.ctx(), f.app.OwnerID, integrations.KeyFilter{})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, _, err = f.Keys.GetByHash(f.ctx(), foreign.Hash)
		require.NoError(t, err)
	})

	t.Run("deleted application", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		k := f.key(f.app)
		require.NoError(t, f.Apps.Delete(f.ctx(), f.app.OwnerID, f.app.ID))
		_, _, err := f.Keys.GetByHash(f.ctx(), k.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})
}

// Usage checks the port integrations.Usage.
func Usage(t *testing.T, open IntegrationsOpener) {
	open = withPort(open, "Usage", func(s adapters.IntegrationsStorage) any { return s.Usage })
	t.Run("concurrent additions", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		a, b := f.app, f.application(f.app.OwnerID)
		require.NoError(t, f.Usage.Add(f.ctx(), nil, nil))
		together(t, 10, func(int) error {
			return f.Usage.Add(f.ctx(), []integrations.DayUsage{{AppID: b.ID, Day: "2026-11-20", Requests: 1}, {AppID: a.ID, Day: "2026-11-20", Requests: 3, Errors: 1}, {AppID: a.ID, Day: "2026-11-21", Requests: 1}}, nil)
		})
		got, err := f.Usage.List(f.ctx(), a.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Equal(t, []integrations.DayUsage{{AppID: a.ID, Day: "2026-11-20", Requests: 30, Errors: 10}, {AppID: a.ID, Day: "2026-11-21", Requests: 10}}, got)
		got, err = f.Usage.List(f.ctx(), a.ID, "2026-11-21", "2026-11-21")
		require.NoError(t, err)
		require.Len(t, got, 1)
		f.deleteBefore(integrations.UsageKind, time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC), 10, 2)
		require.NoError(t, f.Apps.Delete(f.ctx(), a.OwnerID, a.ID))
		got, err = f.Usage.List(f.ctx(), a.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Empty(t, got)
	})

	t.Run("last use of keys", func(t *testing.T) {
		f := newIntegrationsFixture(t, open)
		first, second := f.key(f.app), f.key(f.app)
		now, later := f.now(), f.now().Add(time.Hour)
		require.NoError(t, f.Usage.Add(f.ctx(), nil, map[string]time.Time{second.ID: later, first.ID: now, newID(): later}))
		together(t, 5, func(int) error { return f.Usage.Add(f.ctx(), nil, map[string]time.Time{second.ID: now, first.ID: now}) })
		keys, err := f.Keys.List(f.ctx(), f.app.OwnerID, f.app.ID)
		require.NoError(t, err)
		first.LastUsedAt, second.LastUsedAt = &now, &later
		require.Equal(t, []integrations.Key{second, first}, keys, "the latest use is stored")
	})
}
