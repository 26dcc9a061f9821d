package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Apps checks the port integrations.Apps.
func Apps(t *testing.T, open IntegrationsOpener) {
	// The owner of an application can read it, and so can operators, with AnyOwner. Another user can neither read,
	// list, change nor delete it, and gets the error of an unknown id.
	t.Run("other owner", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		app := fixture.app

		// The owner and an operator read the application.
		for _, readerID := range []string{app.OwnerID, integrations.AnyOwner} {
			stored, err := fixture.Apps.Get(fixture.ctx(), readerID, app.ID)
			require.NoError(t, err)
			require.Equal(t, app, stored)
		}

		// Another user, who has an application, and one who has none.
		withApp := fixture.createApp(newID()).OwnerID
		withoutApp := newID()

		for _, otherID := range []string{withApp, withoutApp} {
			_, err := fixture.Apps.Get(fixture.ctx(), otherID, app.ID)
			require.ErrorIs(t, err, integrations.ErrAppNotFound)
			require.ErrorIs(t, fixture.Apps.Delete(fixture.ctx(), otherID, app.ID), integrations.ErrAppNotFound)

			byID := integrations.AppFilter{OwnerID: otherID, IDs: []string{app.ID}}
			require.Empty(t, fixture.listApps(byID, firstHundred).Items)

			changed := app
			changed.OwnerID = otherID
			require.Error(t, fixture.Apps.Update(fixture.ctx(), changed))
		}

		require.Empty(t, fixture.listApps(integrations.AppFilter{OwnerID: withoutApp}, firstHundred).Items)
		require.Empty(t, fixture.listApps(integrations.AppFilter{}, firstHundred).Items, "a filter without an owner")
	})

	// The applications of an owner are listed newest first. Each page has the total, also a page beyond the end.
	t.Run("list", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		ownerID := newID()
		oldest, older := fixture.createApp(ownerID), fixture.createApp(ownerID)
		middle := fixture.createApp(ownerID)
		newer, newest := fixture.createApp(ownerID), fixture.createApp(ownerID)
		ofOwner := integrations.AppFilter{OwnerID: ownerID}

		// Pages of three.
		const total, pageSize = 5, 3

		first := fixture.listApps(ofOwner, page.Request{Number: 1, Size: pageSize})
		require.Equal(t, []integrations.App{newest, newer, middle}, first.Items)
		require.Equal(t, total, first.Total)

		second := fixture.listApps(ofOwner, page.Request{Number: 2, Size: pageSize, Cursor: first.NextCursor})
		require.Equal(t, []integrations.App{older, oldest}, second.Items)
		require.Empty(t, second.NextCursor)
		require.Equal(t, total, second.Total)

		beyond := fixture.listApps(ofOwner, page.Request{Number: 9, Size: pageSize})
		require.Equal(t, total, beyond.Total)

		// One page with all applications.
		whole := fixture.listApps(ofOwner, page.Request{Number: 1, Size: total})
		require.Equal(t, []integrations.App{newest, newer, middle, older, oldest}, whole.Items)
		require.Equal(t, total, whole.Total)
		require.Empty(t, whole.NextCursor)
	})

	// Operators list the applications of all owners, newest first, or those with the given ids. The fixture has one
	// application already.
	t.Run("list of any owner", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		first := fixture.app
		second, third := fixture.createApp(newID()), fixture.createApp(first.OwnerID)

		newestTwo := fixture.listApps(integrations.AppFilter{OwnerID: integrations.AnyOwner},
			page.Request{Number: 1, Size: 2})
		require.Equal(t, []integrations.App{third, second}, newestTwo.Items)
		require.Equal(t, 3, newestTwo.Total)

		unknownID := newID()
		selected := fixture.listApps(
			integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: []string{first.ID, unknownID, second.ID}},
			page.Request{Number: 1, Size: 3},
		)
		require.Equal(t, []integrations.App{second, first}, selected.Items)
	})

	// If an owner may have three applications, three of ten concurrent creations succeed. The others fail with
	// ErrTooManyApps.
	t.Run("limit", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		ownerID := newID()
		const maxApps, creations = 3, 10
		created := countConcurrent(t, creations, func(int) (isCreated bool, _ error) {
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

	// No concurrent update is lost: Get locks the application until the end of its transaction. Each of ten
	// transactions appends a letter to the description.
	t.Run("concurrent updates", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		const updates = 10
		runConcurrently(t, updates, func(int) error {
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
		require.Equal(t, fixture.app.Description+strings.Repeat("x", updates), got.Description)
		require.Equal(t, []string{}, got.RedirectURIs)
	})
}

// Keys checks the port integrations.Keys.
func Keys(t *testing.T, open IntegrationsOpener) {
	// The hash of a key finds the key and its application, because an API request contains nothing else.
	t.Run("get by hash", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		fixture.createKey(fixture.app) // another key of the application

		want := fixture.createKey(fixture.app)
		key, app, err := fixture.Keys.GetByHash(fixture.ctx(), want.Hash)
		require.NoError(t, err)
		require.Equal(t, fixture.app, app)
		require.Equal(t, want, key)

		_, _, err = fixture.Keys.GetByHash(fixture.ctx(), "unknown")
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})

	// A key cannot be created for another owner's application, nor be listed or deleted by
	// another owner or for another application.
	t.Run("other owner", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		key, otherID := fixture.createKey(fixture.app), newID()

		// A new key needs the owner of the application, and an application of the owner.
		foreign := integrations.Key{ID: newID(), AppID: fixture.app.ID, Hash: newID(), CreatedAt: fixture.now()}
		err := fixture.Keys.Create(fixture.ctx(), otherID, foreign)
		require.ErrorIs(t, err, integrations.ErrAppNotFound)

		ofUnknownApp := integrations.Key{ID: newID(), AppID: newID(), Hash: newID(), CreatedAt: fixture.now()}
		err = fixture.Keys.Create(fixture.ctx(), fixture.app.OwnerID, ofUnknownApp)
		require.ErrorIs(t, err, integrations.ErrAppNotFound)

		keys, err := fixture.Keys.List(fixture.ctx(), otherID, fixture.app.ID)
		require.NoError(t, err)
		require.Empty(t, keys)

		// Each deletion is for another owner or for another application than that of the key.
		otherApp := fixture.createApp(fixture.app.OwnerID)
		for _, deletion := range []struct {
			condition string
			ownerID   string
			filter    integrations.KeyFilter
		}{
			{condition: "other owner", ownerID: otherID, filter: integrations.KeyFilter{AppID: fixture.app.ID, ID: key.ID}},
			{condition: "all keys of an other owner", ownerID: newID(), filter: integrations.KeyFilter{}},
			{
				condition: "other application",
				ownerID:   fixture.app.OwnerID,
				filter:    integrations.KeyFilter{AppID: otherApp.ID, ID: key.ID},
			},
		} {
			deleted, err := fixture.Keys.Delete(fixture.ctx(), deletion.ownerID, deletion.filter)
			require.NoError(t, err)
			require.Zero(t, deleted, deletion.condition)
		}
	})

	// One of two keys is deleted. A second deletion deletes nothing, and is no error.
	t.Run("delete", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		kept, deletedKey := fixture.createKey(fixture.app), fixture.createKey(fixture.app)

		for _, want := range []int{1, 0} {
			deleted, err := fixture.Keys.Delete(fixture.ctx(), fixture.app.OwnerID,
				integrations.KeyFilter{AppID: fixture.app.ID, ID: deletedKey.ID})
			require.NoError(t, err)
			require.Equal(t, want, deleted)
		}

		_, _, err := fixture.Keys.GetByHash(fixture.ctx(), deletedKey.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)

		keys, err := fixture.Keys.List(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID)
		require.NoError(t, err)
		require.Equal(t, []integrations.Key{kept}, keys)
	})

	// A deletion by time deletes the owner's keys of all applications that were created before that time, and not at
	// that time. A deletion without a filter deletes all keys of the owner. The keys of other owners stay.
	t.Run("delete by owner and time", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		otherApp, foreignApp := fixture.createApp(fixture.app.OwnerID), fixture.createApp(newID())

		old := []integrations.Key{fixture.createKey(fixture.app), fixture.createKey(otherApp)}
		fixture.clk.Advance(time.Minute)

		boundary := fixture.now()
		atBoundary := fixture.createKey(fixture.app)
		foreign := fixture.createKey(foreignApp)

		deleted, err := fixture.Keys.Delete(fixture.ctx(), fixture.app.OwnerID,
			integrations.KeyFilter{CreatedBefore: boundary})
		require.NoError(t, err)
		require.Equal(t, len(old), deleted)

		for _, key := range old {
			_, _, err := fixture.Keys.GetByHash(fixture.ctx(), key.Hash)
			require.ErrorIs(t, err, integrations.ErrKeyNotFound)
		}

		_, _, err = fixture.Keys.GetByHash(fixture.ctx(), atBoundary.Hash)
		require.NoError(t, err, "created at that time")

		// Without a filter.
		deleted, err = fixture.Keys.Delete(fixture.ctx(), fixture.app.OwnerID, integrations.KeyFilter{})
		require.NoError(t, err)
		require.Equal(t, 1, deleted)

		_, _, err = fixture.Keys.GetByHash(fixture.ctx(), foreign.Hash)
		require.NoError(t, err, "the key of another owner")
	})

	// A key of a deleted application is not found.
	t.Run("deleted application", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		key := fixture.createKey(fixture.app)
		require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))

		_, _, err := fixture.Keys.GetByHash(fixture.ctx(), key.Hash)
		require.ErrorIs(t, err, integrations.ErrKeyNotFound)
	})
}

// Usage checks the port integrations.Usage, which counts the API requests of applications by day, and stores when each
// key was last used. Add gets both, of which either may be nil. The port is optional.
func Usage(t *testing.T, open IntegrationsOpener) {
	open = withPort(open, "Usage", func(s adapters.IntegrationsStorage) any { return s.Usage })

	// Ten concurrent additions to the same days are added up, by application and day. Usage is deleted when its day is
	// over, and with its application.
	t.Run("concurrent additions", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		app, otherApp := fixture.app, fixture.createApp(fixture.app.OwnerID)
		require.NoError(t, fixture.Usage.Add(fixture.ctx(), nil, nil), "nothing to add")

		const additions = 10
		runConcurrently(t, additions, func(int) error {
			usage := []integrations.DayUsage{
				{AppID: otherApp.ID, Day: "2026-11-20", Requests: 1},
				{AppID: app.ID, Day: "2026-11-20", Requests: 3, Errors: 1},
				{AppID: app.ID, Day: "2026-11-21", Requests: 1},
			}

			return fixture.Usage.Add(fixture.ctx(), usage, nil)
		})

		// The usage of one application, in a month and on its second day.
		inMonth, err := fixture.Usage.List(fixture.ctx(), app.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Equal(t, []integrations.DayUsage{
			{AppID: app.ID, Day: "2026-11-20", Requests: 3 * additions, Errors: additions},
			{AppID: app.ID, Day: "2026-11-21", Requests: additions},
		}, inMonth)

		onSecondDay, err := fixture.Usage.List(fixture.ctx(), app.ID, "2026-11-21", "2026-11-21")
		require.NoError(t, err)
		require.Len(t, onSecondDay, 1)

		// Shortly before the end of the second day, the usage of the first day is deleted, for both applications.
		const limit, bothApps = 10, 2
		fixture.deleteBefore(integrations.UsageKind, time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC), limit, bothApps)

		// The remaining usage is deleted with its application.
		require.NoError(t, fixture.Apps.Delete(fixture.ctx(), app.OwnerID, app.ID))

		inMonth, err = fixture.Usage.List(fixture.ctx(), app.ID, "2026-11-01", "2026-11-30")
		require.NoError(t, err)
		require.Empty(t, inMonth)
	})

	// The latest use of each key is stored. Servers report uses in any order, so an earlier use that is reported later
	// does not replace it. Unknown keys are ignored.
	t.Run("last use of keys", func(t *testing.T) {
		fixture := newIntegrationsFixture(t, open)
		first, second := fixture.createKey(fixture.app), fixture.createKey(fixture.app)
		now, later := fixture.now(), fixture.now().Add(time.Hour)
		unknownID := newID()

		require.NoError(t, fixture.Usage.Add(fixture.ctx(), nil,
			map[string]time.Time{second.ID: later, first.ID: now, unknownID: later}))

		// Several servers report an earlier use of the second key.
		const servers = 5
		runConcurrently(t, servers, func(int) error {
			return fixture.Usage.Add(fixture.ctx(), nil, map[string]time.Time{second.ID: now, first.ID: now})
		})

		keys, err := fixture.Keys.List(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID)
		require.NoError(t, err)

		first.LastUsedAt, second.LastUsedAt = &now, &later
		require.Equal(t, []integrations.Key{second, first}, keys, "with the latest uses")
	})
}
