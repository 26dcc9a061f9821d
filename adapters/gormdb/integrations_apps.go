package gormdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/integrations"
)

// apps implements integrations.Apps.
type apps struct{ *DB }

type appRow struct {
	ID           string
	OwnerID      string
	Name         string
	Description  string
	Public       bool
	SecretHash   string
	Plan         string
	RedirectURIs []string `gorm:"column:redirect_uris;serializer:json_column"`
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Version      int64
}

// app returns the application of the row.
func (r appRow) app() integrations.App {
	if r.RedirectURIs == nil {
		r.RedirectURIs = []string{}
	}

	return integrations.App(r)
}

// Create implements integrations.Apps.
func (d apps) Create(ctx context.Context, a integrations.App, limit int) error {
	row := appRow(a)
	lock := "applications of " + a.OwnerID

	return createBelowLimit(ctx, d.DB, &row, lock, limit, integrations.ErrTooManyApps, "owner_id = ?", a.OwnerID)
}

// Get implements integrations.Apps.
func (d apps) Get(ctx context.Context, ownerID, id string) (integrations.App, error) {
	r, err := takeRow[appRow](ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id), integrations.ErrAppNotFound)
	return r.app(), err
}

// ofAppOwner restricts q to the rows of the owner, unless the owner is AnyOwner.
func ofAppOwner(q *gorm.DB, ownerID string) *gorm.DB {
	switch ownerID {
	case integrations.AnyOwner:
		return q
	case "":
		return q.Where("1 = 0")
	}

	return q.Where("owner_id = ?", ownerID)
}

// List implements integrations.Apps.
func (d apps) List(ctx context.Context, f integrations.AppFilter, r page.Request) (out page.Result[integrations.App], err error) {
	if f.OwnerID == "" {
		return out, nil
	}

	return listPage(ctx, d.DB, r, listQuery{where: func(q *gorm.DB) *gorm.DB {
		return whereInIfSet(ofAppOwner(q, f.OwnerID), "id", f.IDs)
	}}, appRow.app)
}

// Update implements integrations.Apps.
func (d apps) Update(ctx context.Context, a integrations.App) error {
	r := appRow(a)
	r.Version++
	q := d.conn(ctx).Model(&appRow{}).Where("id = ? AND owner_id = ? AND version = ?", a.ID, a.OwnerID, a.Version)

	return updateVersion(q, &r, except{"id", "owner_id", "created_at"})
}

// Delete implements integrations.Apps.
func (d apps) Delete(ctx context.Context, ownerID, id string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		deleted := ofAppOwner(d.conn(ctx), ownerID).Where("id = ?", id).Delete(&appRow{})
		if err := requireRow(deleted, integrations.ErrAppNotFound); err != nil {
			return err
		}

		return wrap(d.conn(ctx).Where("app_id = ?", id).Delete(&usageRow{}).Error)
	})
}

// keys implements integrations.Keys.
type keys struct{ *DB }

type apiKeyRow integrations.Key

func (r apiKeyRow) apiKey() integrations.Key { return integrations.Key(r) }

// Create implements integrations.Keys.
func (d keys) Create(ctx context.Context, ownerID string, k integrations.Key) error {
	ownApp := ofAppOwner(d.conn(ctx).Select("id"), ownerID).Where("id = ?", k.AppID)
	if _, err := takeRow[appRow](ownApp, integrations.ErrAppNotFound); err != nil {
		return err
	}

	return orAppDeleted(d.conn(ctx).Create((*apiKeyRow)(&k)).Error)
}

// GetByHash implements integrations.Keys.
func (d keys) GetByHash(ctx context.Context, hash string) (integrations.Key, integrations.App, error) {
	type keyWithApp struct {
		App appRow    `gorm:"embedded;embeddedPrefix:app_of_"`
		Key apiKeyRow `gorm:"embedded;embeddedPrefix:key_of_"`
	}
	columns := columnsAs[apiKeyRow](d.DB, "k", "key_of_") + ", " + columnsAs[appRow](d.DB, "a", "app_of_")
	selected := d.conn(ctx).
		Table("api_keys AS k").
		Select(columns).
		Joins("JOIN apps AS a ON a.id = k.app_id").
		Where("k.hash = ?", hash)

	row, err := takeRow[keyWithApp](selected, integrations.ErrKeyNotFound)

	return row.Key.apiKey(), row.App.app(), err
}

// ofOwner restricts q to the keys of applications of the owner. If appID is not empty, it restricts q to
// the keys of this application.
func (d keys) ofOwner(ctx context.Context, q *gorm.DB, ownerID, appID string) *gorm.DB {
	apps := ofAppOwner(d.conn(ctx).Model(&appRow{}).Select("id"), ownerID)
	apps = whereEqual(apps, "id", appID)

	return whereEqual(q, "app_id", appID).Where("app_id IN (?)", apps)
}

// List implements integrations.Keys.
func (d keys) List(ctx context.Context, ownerID, appID string) ([]integrations.Key, error) {
	return findRows(d.ofOwner(ctx, d.conn(ctx), ownerID, appID).Order("id DESC"), apiKeyRow.apiKey)
}

// Delete implements integrations.Keys.
func (d keys) Delete(ctx context.Context, ownerID string, f integrations.KeyFilter) (int, error) {
	q := whereEqual(d.ofOwner(ctx, d.conn(ctx), ownerID, f.AppID), "id", f.ID)
	res := whereIfSet(q, "created_at < ?", f.CreatedBefore).Delete(&apiKeyRow{})
	return int(res.RowsAffected), wrap(res.Error)
}

// usage implements integrations.Usage.
type usage struct{ *DB }

type usageRow integrations.DayUsage

// TableName implements schema.Tabler.
func (usageRow) TableName() string { return "app_usage" }

// Add implements integrations.Usage. Rows are written in one order, so that two
// processes do not deadlock.
func (d usage) Add(ctx context.Context, days []integrations.DayUsage, lastUsed map[string]time.Time) error {
	rows := list.Map(days, func(day integrations.DayUsage) usageRow { return usageRow(day) })
	slices.SortFunc(rows, func(a, b usageRow) int { return cmp.Or(cmp.Compare(a.AppID, b.AppID), cmp.Compare(a.Day, b.Day)) })

	return d.Do(ctx, func(ctx context.Context) error {
		if len(rows) > 0 {
			add := d.addOnConflict("app_usage", []string{"app_id", "day"}, "requests", "errors")
			if err := d.unprepared(ctx).Clauses(add).CreateInBatches(&rows, usageBatchSize).Error; err != nil {
				return wrap(err)
			}
		}

		return d.updateLastUsed(ctx, lastUsed)
	})
}

// usageBatchSize is the maximum number of rows in a statement.
const usageBatchSize = 1_000

// updateLastUsed stores when keys were last used, by the ids of the keys. Another process may already
// have stored a later time.
func (d usage) updateLastUsed(ctx context.Context, lastUsed map[string]time.Time) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(lastUsed)), usageBatchSize) {
		var rows []apiKeyRow
		if err := whereIn(d.locked(ctx), "id", ids).Order("id").Find(&rows).Error; err != nil {
			return wrap(err)
		}

		rows = slices.DeleteFunc(rows, func(r apiKeyRow) bool {
			return r.LastUsedAt != nil && !r.LastUsedAt.Before(lastUsed[r.ID])
		})
		for i, r := range rows {
			usedAt := lastUsed[r.ID]
			rows[i].LastUsedAt = &usedAt
		}

		if err := updateLocked(d.unprepared(ctx), rows, "id", "last_used_at"); err != nil {
			return err
		}
	}

	return nil
}

// List implements integrations.Usage.
func (d usage) List(ctx context.Context, appID, from, to string) ([]integrations.DayUsage, error) {
	return findRows(d.conn(ctx).Where("app_id = ? AND day BETWEEN ? AND ?", appID, from, to).Order("day"),
		func(r usageRow) integrations.DayUsage { return integrations.DayUsage(r) })
}

// integrationsExpiry contains the kinds of expiring rows of module integrations.
var integrationsExpiry = map[retention.Kind]expiry{
	integrations.UsageKind: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		expired := db.conn(ctx).Where("day < ?", before.UTC().Format(time.DateOnly))
		return deleteLimited[usageRow](expired, n, "day", "app_id", "day")
	},
	integrations.GrantsKind:    deleteExpiredBy[oauthGrantRow]("expires_at", "id"),
	integrations.TokensKind:    deleteExpiredBy[oauthTokenRow]("expires_at", "hash"),
	integrations.MessagesKind:  deleteExpiredBy[webhookMessageRow]("created_at", "event_id"),
	integrations.ListenersKind: deleteExpiredBy[webhookEndpointRow]("listening_until", "id"),
}
