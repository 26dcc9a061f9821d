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
	// Another user can neither read nor delete an application, and gets the error of an unknown
	// id.
	t.Run("other owner", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		app, otherID := fixture.app, newID()
		got, err := fixture.Apps.Get(fixture.ctx(), app.OwnerID, app.ID)
		require.NoError(t, err)
		require.Equal(t, app, got)

		got, err = fixture.Apps.Get(fixture.ctx(), integrations.AnyOwner, app.ID)
		require.NoError(t, err)
		require.Equal(t, app, got)

		for _, ownerID := range []string{otherID, newID()} {
			_, err = fixture.Apps.Get(fixture.ctx(), ownerID, app.ID)
			require.ErrorIs(t, err, integrations.ErrAppNotFound)
			require.ErrorIs(t, fixture.Apps.Delete(fixture.ctx(), ownerID, app.ID), integrations.ErrAppNotFound)
			require.Empty(t, fixture.listApps(integrations.AppFilter{OwnerID: ownerID},
				page.Request{Number: 1, Size: 9}).Items)
			require.Empty(
				t,
				fixture.listApps(integrations.AppFilter{OwnerID: ownerID, IDs: []string{app.ID}},
					page.Request{Number: 1, Size: 9}).Items,
			)
		}

		require.Empty(t, fixture.listApps(integrations.AppFilter{}, page.Request{Number: 1, Size: 9}).Items, "no owner")

		// An update with the id of an owner who does not own the application.
		foreign := app
		foreign.OwnerID = otherID
		require.Error(t, fixture.Apps.Update(fixture.ctx(), foreign))
	})

	// The pages of an owner's applications, newest first.
	t.Run("list", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		ownerID := newID()

		var want []integrations.App
		for range 5 {
			want = append([]integrations.App{fixture.createApp(ownerID)}, want...)
		}

		ofOwner := integrations.AppFilter{OwnerID: ownerID}
		first := fixture.listApps(ofOwner, page.Request{Number: 1, Size: 3})
		require.Equal(t, want[:3], first.Items)
		require.Equal(t, 5, first.Total)

		second := fixture.listApps(ofOwner, page.Request{Number: 2, Size: 3, Cursor: first.NextCursor})
		require.Equal(t, want[3:], second.Items)
		require.Empty(t, second.NextCursor)
		require.Equal(t, 5, second.Total)

		whole := fixture.listApps(ofOwner, page.Request{Number: 1, Size: 5})
		require.Equal(t, want, whole.Items)
		require.Equal(t, 5, whole.Total)
		require.Empty(t, whole.NextCursor)
		require.Equal(t, 5, fixture.listApps(ofOwner, page.Request{Number: 9, Size: 3}).Total, "beyond the end")
	})

	// Operators list the applications of all owners.
	t.Run("list of any owner", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		second, third := fixture.createApp(newID()), fixture.createApp(fixture.app.OwnerID)
		all := fixture.listApps(integrations.AppFilter{OwnerID: integrations.AnyOwner},
			page.Request{Number: 1, Size: 2})
		require.Equal(t, []integrations.App{third, second}, all.Items)
		require.Equal(t, 3, all.Total)

		some := fixture.listApps(
			integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: []string{fixture.app.ID, newID(), second.ID}},
			page.Request{Number: 1, Size: 3},
		)
		require.Equal(t, []integrations.App{second, fixture.app}, some.Items)
	})

	// Three of ten concurrent creations succeed if an owner may have three applications.
	t.Run("limit", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		ownerID := newID()
		const maxApps = 3
		created := countConcurrent(t, 10, func(int) (bool, error) {
			app := integrations.App{
				ID:           newID(),
				OwnerID:      ownerID,
				Plan:         integrations.Free,
				RedirectURIs: []string{},
				CreatedAt:    fixture.now(),
				UpdatedAt:    fixture.now(),
				Version:      1,
			}

			err := fixture.Apps.Create(fixture.ctx(), app, maxApps)
			if err != nil {
				require.ErrorIs(t, err, integrations.ErrTooManyApps)
			}

			return err == nil, nil
		})
		require.Equal(t, maxApps, created)
	})

	// Get in a transaction locks the application, so that each of ten updates appends its x.
	t.Run("concurrent updates", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		runConcurrently(t, 10, func(int) error {
			return fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				app, err := fixture.Apps.Get(ctx, fixture.app.OwnerID, fixture.app.ID)
				if err != nil {
					return err
				}

				app.Description += "x"
				app.RedirectURIs = []string{}

				return fixture.Apps.Update(ctx, app)
			})
		})

		got, err := fixture.Apps.Get(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID)
		require.NoError(t, err)
		require.Equal(t, fixture.app.Description+"xxxxxxxxxx", got.Description)
		require.Equal(t, []string{}, got.RedirectURIs)
	})
}

// Keys checks the port integrations.Keys.
func Keys(t *testing.T, open IntegrationsOpener) {
	// An API request has only the key, so its hash must find the key and the application.
	t.Run("get by hash", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		fixture.createKey(fixture.app)

		want := fixture.createKey(fixture.app)
		key, app, err := fixture.Keys.GetByHash(fixture.ctx(), want.Hash)
		require.NoError(t, err)
		require.Equal(t, fixture.app, app)
		require.Equal(t, want, key)

		_, _, err = fixture.Keys.GetByHash(fixture.ctx(), "nothing")
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})

	// A key cannot be created for another owner's application, nor be listed or deleted by
	// another owner or for another application.
	t.Run("other owner", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		key, otherID := fixture.createKey(fixture.app), newID()
		require.ErrorIs(
			t,
			fixture.Keys.Create(fixture.ctx(), otherID,
				integrations.Key{ID: newID(), AppID: fixture.app.ID, Hash: newID(), CreatedAt: fixture.now()}),
			integrations.ErrAppNotFound,
		)
		require.ErrorIs(
			t,
			fixture.Keys.Create(fixture.ctx(), fixture.app.OwnerID,
				integrations.Key{ID: newID(), AppID: newID(), Hash: newID(), CreatedAt: fixture.now()}),
			integrations.ErrAppNotFound,
		)

		keys, err := fixture.Keys.List(fixture.ctx(), otherID, fixture.app.ID)
		require.NoError(t, err)
		require.Empty(t, keys)

		otherApp := fixture.createApp(fixture.app.OwnerID)
		for ownerID, filter := range map[string]integrations.KeyFilter{
			otherID:             {AppID: fixture.app.ID, ID: key.ID},
			newID():             {},
			fixture.app.OwnerID: {AppID: otherApp.ID, ID: key.ID},
		} {
			n, err := fixture.Keys.Delete(fixture.ctx(), ownerID, filter)
			require.NoError(t, err)
			require.Zero(t, n)
		}
	})

	t.Run("delete", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)

		first, second := fixture.createKey(fixture.app), fixture.createKey(fixture.app)
		for _, want := range []int{1, 0} {
			n, err := fixture.Keys.Delete(fixture.ctx(), fixture.app.OwnerID,
				integrations.KeyFilter{AppID: fixture.app.ID, ID: second.ID})
			require.NoError(t, err)
			require.Equal(t, want, n)
		}

		_, _, err := fixture.Keys.GetByHash(fixture.ctx(), second.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)

		keys, err := fixture.Keys.List(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID)
		require.NoError(t, err)
		require.Equal(t, []integrations.Key{first}, keys)
	})

	// A deletion by time spares the keys that were created at that time, and one without a
	// filter deletes all keys of the owner.
	t.Run("delete by owner and time", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		otherApp, theirs := fixture.createApp(fixture.app.OwnerID), fixture.createApp(newID())
		old := []integrations.Key{fixture.createKey(fixture.app), fixture.createKey(otherApp)}
		fixture.clk.Advance(time.Minute)

		boundary := fixture.now()
		kept := fixture.createKey(fixture.app)
		foreign := fixture.createKey(theirs)
		n, err := fixture.Keys.Delete(fixture.ctx(), fixture.app.OwnerID,
			integrations.KeyFilter{CreatedBefore: boundary})
		require.NoError(t, err)
		require.Equal(t, 2, n)

		for _, key := range old {
			_, _, err := fixture.Keys.GetByHash(fixture.ctx(), key.Hash)
			require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		}

		_, _, err = fixture.Keys.GetByHash(fixture.ctx(), kept.Hash)
		require.NoError(t, err, "created at that time")

		n, err = fixture.Keys.Delete(fixture.ctx(), fixture.app.OwnerID, integrations.KeyFilter{})
		require.NoError(t, err)
		require.Equal(t, 1, n)

		_, _, err = fixture.Keys.GetByHash(fixture.ctx(), foreign.Hash)
		require.NoError(t, err)
	})

	// The keys of a deleted application are invalid.
	t.Run("deleted application", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		key := fixture.createKey(fixture.app)
		require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))

		_, _, err := fixture.Keys.GetByHash(fixture.ctx(), key.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})
}

// Usage checks the port integrations.Usage.
func Usage(t *testing.T, open IntegrationsOpener) {
	open = withPort(open, "Usage", func(s adapters.IntegrationsStorage) any { return s.Usage })

	// Concurrent additions to the same days are added up. Usage is deleted by day, or with its
	// application.
	t.Run("concurrent additions", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		app, otherApp := fixture.app, fixture.createApp(fixture.app.OwnerID)
		require.NoError(t, fixture.Usage.Add(fixture.ctx(), nil, nil))

		runConcurrently(t, 10, func(int) error {
			return fixture.Usage.Add(
				fixture.ctx(),
				[]integrations.DayUsage{
					{AppID: otherApp.ID, Day: "2026-11-20", Requests: 1},
					{AppID: app.ID, Day: "2026-11-20", Requests: 3, Errors: 1},
					{AppID: app.ID, Day: "2026-11-21", Requests: 1},
				},
				nil,
			)
		})

		got, err := fixture.Usage.List(fixture.ctx(), app.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Equal(
			t,
			[]integrations.DayUsage{
				{AppID: app.ID, Day: "2026-11-20", Requests: 30, Errors: 10},
				{AppID: app.ID, Day: "2026-11-21", Requests: 10},
			},
			got,
		)

		got, err = fixture.Usage.List(fixture.ctx(), app.ID, "2026-11-21", "2026-11-21")
		require.NoError(t, err)
		require.Len(t, got, 1)
		fixture.deleteBefore(integrations.UsageKind, time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC), 10, 2)
		require.NoError(t, fixture.Apps.Delete(fixture.ctx(), app.OwnerID, app.ID))

		got, err = fixture.Usage.List(fixture.ctx(), app.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Empty(t, got)
	})

	// Servers report uses in any order. An earlier use does not replace a later one, and
	// unknown keys are ignored.
	t.Run("last use of keys", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		first, second := fixture.createKey(fixture.app), fixture.createKey(fixture.app)
		now, later := fixture.now(), fixture.now().Add(time.Hour)
		require.NoError(t, fixture.Usage.Add(fixture.ctx(), nil,
			map[string]time.Time{second.ID: later, first.ID: now, newID(): later}))
		runConcurrently(t, 5, func(int) error {
			return fixture.Usage.Add(fixture.ctx(), nil, map[string]time.Time{second.ID: now, first.ID: now})
		})

		keys, err := fixture.Keys.List(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID)
		require.NoError(t, err)

		first.LastUsedAt, second.LastUsedAt = &now, &later
		require.Equal(t, []integrations.Key{second, first}, keys, "the latest use is stored")
	})
}
