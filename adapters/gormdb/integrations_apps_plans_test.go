package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// TestIntegrationsApps_Queries_UseIndexes checks that no query of applications and their keys
// scans a table, and that a key is found with one statement. Results and errors are ignored where a row
// does not exist: only the statements matter.
func TestIntegrationsApps_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage()
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	_, _ = storage.Integrations.Apps.Get(ctx, id, id)
	_, _ = storage.Integrations.Apps.Get(ctx, integrations.AnyOwner, id)

	const limit = 0
	_ = storage.Integrations.Apps.Create(ctx, integrations.App{ID: id, OwnerID: id}, limit)

	for _, request := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, err := storage.Integrations.Apps.List(ctx, integrations.AppFilter{OwnerID: id}, request)
		require.NoError(t, err)
	}

	// This is a part of every request with a key.
	recorded.requireOneStatement(t, func() { _, _, _ = storage.Integrations.Keys.GetByHash(ctx, id) })

	_ = storage.Integrations.Apps.Update(ctx, integrations.App{ID: id, OwnerID: id})
	_ = storage.Integrations.Keys.Create(ctx, id, integrations.Key{ID: id, AppID: id, CreatedAt: now})
	_, _ = storage.Integrations.Keys.List(ctx, id, id)
	require.NoError(t, storage.Integrations.Usage.Add(ctx, nil, map[string]time.Time{id: now}))

	for _, f := range []integrations.KeyFilter{{}, {AppID: id, ID: id}, {CreatedBefore: now}} {
		_, err := storage.Integrations.Keys.Delete(ctx, id, f)
		require.NoError(t, err)
	}

	_ = storage.Integrations.Apps.Delete(ctx, id, id)
	_, _ = storage.Integrations.Usage.List(ctx, id, "2026-11-01", "2026-11-30")

	_, err := storage.Integrations.Retention.DeleteBefore(ctx, integrations.UsageKind, now, 10)
	require.NoError(t, err)

	recorded.requireIndexes(t, db, "counted", "v", "CONSTANT ROW")
}

// TestIntegrationsApps_ListByIDs_UsesPrimaryKey checks that applications are read by id with one
// statement that need not sort them.
func TestIntegrationsApps_ListByIDs_UsesPrimaryKey(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)
	byID := integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: []string{uuid.NewString()}}

	// This is a part of every OAuth request.
	recorded.requireOneStatement(t, func() {
		_, err := db.Storage().Integrations.Apps.List(t.Context(), byID, page.Request{Number: 1, Size: 1})
		require.NoError(t, err)
	})
	recorded.requireIndexes(t, db)
}
