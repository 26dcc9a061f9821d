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

	_, _ = s.Integrations.Apps.Find(ctx, id, id)
	_, _ = s.Integrations.Apps.ByID(ctx, id)
	_, _ = s.Integrations.Apps.Owners(ctx, []string{id})
	_, _ = s.Integrations.Apps.Count(ctx, id)
	for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
		_, _ = s.Integrations.Apps.Page(ctx, id, r)
	}
	_ = s.Integrations.Apps.Save(ctx, integrations.App{ID: id, OwnerID: id})
	_ = s.Integrations.Apps.AddKey(ctx, id, integrations.Key{ID: id, AppID: id, CreatedAt: now})
	_, _ = s.Integrations.Apps.Keys(ctx, id, id)
	_, _, _ = s.Integrations.Apps.ByKey(ctx, id)
	require.NoError(t, s.Integrations.Apps.Used(ctx, map[string]time.Time{id: now}))
	_ = s.Integrations.Apps.DeleteKey(ctx, id, id, id)
	_ = s.Integrations.Apps.Delete(ctx, id, id)
	_, _ = s.Integrations.Usage.Of(ctx, id, "2026-11-01", "2026-11-30")
	_, _ = s.Integrations.Usage.Forget(ctx, "2026-11-01", 10)

	asked.useIndexes(t, db, "counted", "v", "CONSTANT ROW")
}
