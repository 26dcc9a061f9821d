package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// TestIntegrationsApps_Queries_UseIndexes checks which index serves each query of applications, their API keys
// and their usage, and that no query scans a table. Every request with an API key looks up the key, with one
// statement.
//
// One id stands for the ids of all rows. Where a row does not exist, the results and errors of the calls are
// ignored: the statements are the same.
func TestIntegrationsApps_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage().Integrations
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()
	app := integrations.App{ID: id, OwnerID: id}

	// One application, for its owner or for an administrator.
	for _, ownerID := range []string{id, integrations.AnyOwner} {
		recorded.requireIndex(t, db, primaryKey("apps"), func() { _, _ = storage.Apps.Get(ctx, ownerID, id) })
	}

	recorded.requireIndex(t, db, primaryKey("apps"), func() { _ = storage.Apps.Update(ctx, app) })

	// Create counts the owner's applications, and then fails because the limit allows none.
	const limit = 0
	recorded.requireIndex(t, db, "apps_owner", func() { _ = storage.Apps.Create(ctx, app, limit) })

	// The owner's applications, newest first: the index has the ids of each owner in order.
	byNumber := page.Request{Number: 3, Size: 20}
	afterCursor := page.Request{Number: 1, Size: 20, Cursor: id}

	for _, request := range []page.Request{byNumber, afterCursor} {
		recorded.requireIndex(t, db, "apps_owner", func() {
			_, err := storage.Apps.List(ctx, integrations.AppFilter{OwnerID: id}, request)
			require.NoError(t, err)
		})
	}

	// A key and its application, which is a part of every request with a key.
	recorded.requireIndex(t, db, "api_keys_hash", func() {
		recorded.requireOneStatement(t, func() { _, _, _ = storage.Keys.GetByHash(ctx, id) })
	})

	// The keys of an application.
	key := integrations.Key{ID: id, AppID: id, CreatedAt: now}
	_ = storage.Keys.Create(ctx, id, key)

	recorded.requireIndex(t, db, "api_keys_app", func() { _, _ = storage.Keys.List(ctx, id, id) })

	// The deletion of one key, of all keys of an owner, and of the owner's keys up to a time.
	for _, deletion := range []struct {
		filter integrations.KeyFilter
		index  string
	}{
		{filter: integrations.KeyFilter{AppID: id, ID: id}, index: primaryKey("api_keys")},
		{filter: integrations.KeyFilter{}, index: "api_keys_app"},
		{filter: integrations.KeyFilter{CreatedBefore: now}, index: "api_keys_app"},
	} {
		recorded.requireIndex(t, db, deletion.index, func() {
			_, err := storage.Keys.Delete(ctx, id, deletion.filter)
			require.NoError(t, err)
		})
	}

	// The deletion of an application deletes its webhooks, grants, consents and keys. Each of their tables needs an
	// index of its own by application.
	ofApp := []string{"webhook_endpoints_app", "oauth_grants_app", "oauth_consents_app", "api_keys_app"}
	recorded.requireEachIndex(t, db, ofApp, func() { _ = storage.Apps.Delete(ctx, id, id) })

	// Usage, whose primary key is the application and the day. Old usage of all applications is deleted by day.
	var noRequests []integrations.DayUsage

	keyLastUsed := map[string]time.Time{id: now}
	require.NoError(t, storage.Usage.Add(ctx, noRequests, keyLastUsed))
	recorded.requireIndex(t, db, primaryKey("app_usage"), func() {
		_, _ = storage.Usage.List(ctx, id, "2026-11-01", "2026-11-30")
	})
	recorded.requireIndex(t, db, "app_usage_day", func() {
		const maxDeleted = 10

		_, err := storage.Retention.DeleteBefore(ctx, integrations.UsageKind, now, maxDeleted)
		require.NoError(t, err)
	})

	// Usage.Add joins the keys with a list of values named v.
	recorded.requireIndexes(t, db, totalOfList, constantRow, "v")
}

// TestIntegrationsApps_ListByIDs_UsesPrimaryKey checks that applications are read by id with one
// statement that need not sort them. This is a part of every OAuth request.
func TestIntegrationsApps_ListByIDs_UsesPrimaryKey(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	byID := integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: []string{uuid.NewString()}}

	recorded.requireIndex(t, db, primaryKey("apps"), func() {
		recorded.requireOneStatement(t, func() {
			_, err := db.Storage().Integrations.Apps.List(t.Context(), byID, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
		})
	})
	recorded.requireIndexes(t, db)
}
