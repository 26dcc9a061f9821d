package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

func TestEveryQueryOfApplicationsFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()

	_, _ = s.Apps.Find(ctx, id, id)
	_, _ = s.Apps.ByID(ctx, id)
	_, _ = s.Apps.Owners(ctx, []string{id})
	_, _ = s.Apps.Count(ctx, id)
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Apps.Page(ctx, id, r)
	}
	_ = s.Apps.Save(ctx, integrations.App{ID: id, OwnerID: id})
	_ = s.Apps.AddKey(ctx, id, integrations.Key{ID: id, AppID: id, CreatedAt: now})
	_, _ = s.Apps.Keys(ctx, id, id)
	_, _, _ = s.Apps.ByKey(ctx, id)
	require.NoError(t, s.Apps.Used(ctx, map[string]time.Time{id: now}))
	_ = s.Apps.DeleteKey(ctx, id, id, id)
	_ = s.Apps.Delete(ctx, id, id)
	_, _ = s.Usage.Of(ctx, id, "2026-11-01", "2026-11-30")
	_, _ = s.Usage.Forget(ctx, "2026-11-01", 10)

	asked.useIndexes(t, db, "counted", "v", "CONSTANT ROW")
}
