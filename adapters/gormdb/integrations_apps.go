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

// apps implements integrations.Apps. An app is a program that uses the API. Its owner is the user who has
// registered it.
type apps struct{ *DB }

// appRow is a row of the table apps.
type appRow struct {
	ID           string
	OwnerID      string
	Name         string
	Description  string
	Public       bool // an app that cannot keep a secret, such as one in a browser
	SecretHash   string
	Plan         string
	RedirectURIs []string `gorm:"column:redirect_uris;serializer:json_column"`
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Version      int64
}

// app returns the app of the row. Its redirect URIs are never nil, because they are a list in the API.
func (r appRow) app() integrations.App {
	if r.RedirectURIs == nil {
		r.RedirectURIs = []string{}
	}

	return integrations.App(r)
}

// Create implements integrations.Apps. The limit is for the apps of the owner.
func (d apps) Create(ctx context.Context, a integrations.App, limit int) error {
	row := appRow(a)

	return createBelowLimit(ctx, d.DB, &row, rowLimit{
		maximum:    limit,
		errReached: integrations.ErrTooManyApps,
		counted:    func(q *gorm.DB) *gorm.DB { return q.Where("owner_id = ?", a.OwnerID) },
		lock:       "applications of " + a.OwnerID,
	})
}

// Get implements integrations.Apps. Inside a transaction, it locks the row until the end.
func (d apps) Get(ctx context.Context, ownerID, id string) (integrations.App, error) {
	r, err := takeRow[appRow](ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id), integrations.ErrAppNotFound)
	return r.app(), err
}

// ofAppOwner restricts q to the rows of the owner. With AnyOwner, it selects the rows of all owners, which a
// caller must ask for explicitly: an empty owner has no rows.
func ofAppOwner(q *gorm.DB, ownerID string) *gorm.DB {
	switch ownerID {
	case integrations.AnyOwner:
		return q
	case "":
		return q.Where("1 = 0")
	}

	return q.Where("owner_id = ?", ownerID)
}

// List implements integrations.Apps. Without an owner in the filter, the list is empty.
func (d apps) List(
	ctx context.Context,
	f integrations.AppFilter,
	request page.Request,
) (result page.Result[integrations.App], err error) {
	if f.OwnerID == "" {
		return result, nil
	}

	selected := func(q *gorm.DB) *gorm.DB { return whereInIfSet(ofAppOwner(q, f.OwnerID), "id", f.IDs) }

	return listPage(ctx, d.DB, request, listQuery{where: selected}, appRow.app)
}

// Update implements integrations.Apps. It increments the version, and returns errStale if another
// transaction has changed the app since it was read.
func (d apps) Update(ctx context.Context, a integrations.App) error {
	row := appRow(a)
	row.Version++
	previous := d.conn(ctx).Model(&appRow{}).Where("id = ? AND owner_id = ? AND version = ?", a.ID, a.OwnerID, a.Version)

	return updateVersion(previous, &row, except{"id", "owner_id", "created_at"})
}

// Delete implements integrations.Apps. It also deletes the app's usage. The database deletes the rows that
// refer to the app with foreign keys.
func (d apps) Delete(ctx context.Context, ownerID, id string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		deleted := ofAppOwner(d.conn(ctx), ownerID).Where("id = ?", id).Delete(&appRow{})
		if err := requireRow(deleted, integrations.ErrAppNotFound); err != nil {
			return err
		}

		return wrap(d.conn(ctx).Where("app_id = ?", id).Delete(&usageRow{}).Error)
	})
}

// keys implements integrations.Keys, the API keys of apps.
type keys struct{ *DB }

// apiKeyRow is an API key, which is stored as a hash.
type apiKeyRow integrations.Key

func (r apiKeyRow) apiKey() integrations.Key { return integrations.Key(r) }

// Create implements integrations.Keys. The app of the key must belong to the owner.
func (d keys) Create(ctx context.Context, ownerID string, k integrations.Key) error {
	ownApp := ofAppOwner(d.conn(ctx).Select("id"), ownerID).Where("id = ?", k.AppID)
	if _, err := takeRow[appRow](ownApp, integrations.ErrAppNotFound); err != nil {
		return err
	}

	return orAppDeleted(d.conn(ctx).Create((*apiKeyRow)(&k)).Error)
}

// GetByHash implements integrations.Keys. It runs for every request with a key, so that it reads the key and
// its app with one statement.
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

// Delete implements integrations.Keys. It returns the number of deleted keys.
func (d keys) Delete(ctx context.Context, ownerID string, f integrations.KeyFilter) (int, error) {
	q := whereEqual(d.ofOwner(ctx, d.conn(ctx), ownerID, f.AppID), "id", f.ID)
	res := whereIfSet(q, "created_at < ?", f.CreatedBefore).Delete(&apiKeyRow{})
	return int(res.RowsAffected), wrap(res.Error)
}

// usage implements integrations.Usage.
type usage struct{ *DB }

// usageRow is the number of requests of an app on a day.
type usageRow integrations.DayUsage

// TableName implements schema.Tabler.
func (usageRow) TableName() string { return "app_usage" }

// Add implements integrations.Usage. It adds the numbers of the days to those that are stored, and stores when
// keys were last used. lastUsed maps the ids of keys to these times.
func (d usage) Add(ctx context.Context, days []integrations.DayUsage, lastUsed map[string]time.Time) error {
	rows := list.Map(days, func(day integrations.DayUsage) usageRow { return usageRow(day) })

	// A fixed order avoids deadlocks between two processes.
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

// updateLastUsed stores when keys were last used, by the ids of the keys. It leaves out keys for which
// another process has stored a later time.
func (d usage) updateLastUsed(ctx context.Context, lastUsed map[string]time.Time) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(lastUsed)), usageBatchSize) {
		var rows []apiKeyRow
		if err := whereIn(d.locked(ctx), "id", ids).Order("id").Find(&rows).Error; err != nil {
			return wrap(err)
		}

		hasLaterTime := func(r apiKeyRow) bool { return r.LastUsedAt != nil && !r.LastUsedAt.Before(lastUsed[r.ID]) }
		rows = slices.DeleteFunc(rows, hasLaterTime)

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

// List implements integrations.Usage. It lists the days from the first to the last day, both included, on
// which the app was used.
func (d usage) List(ctx context.Context, appID, from, to string) ([]integrations.DayUsage, error) {
	return findRows(d.conn(ctx).Where("app_id = ? AND day BETWEEN ? AND ?", appID, from, to).Order("day"),
		func(r usageRow) integrations.DayUsage { return integrations.DayUsage(r) })
}

// integrationsExpiry maps the kinds of data of module integrations that expire to functions that delete them.
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
