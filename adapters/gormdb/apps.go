package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/integrations"
)

// Apps implements integrations.Apps.
type Apps struct{ *DB }

type appRow struct {
	ID           string
	OwnerID      string
	Name         string
	Description  string
	Public       bool
	SecretHash   string
	Plan         string
	RedirectURIs jsonText  `gorm:"column:redirect_uris"`
	CreatedAt    time.Time `gorm:"autoCreateTime:false"`
	UpdatedAt    time.Time `gorm:"autoUpdateTime:false"`
	Version      int64
}

// TableName implements schema.Tabler.
func (appRow) TableName() string { return "apps" }

func (r appRow) key() string { return r.ID }

func newAppRow(a integrations.App) (appRow, error) {
	uris, err := json.Marshal(a.RedirectURIs)
	return appRow{ID: a.ID, OwnerID: a.OwnerID, Name: a.Name, Description: a.Description, Public: a.Public, SecretHash: a.SecretHash, Plan: a.Plan,
		RedirectURIs: jsonText(uris), CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, Version: a.Version}, err
}

func (r appRow) app() (integrations.App, error) {
	a := integrations.App{ID: r.ID, OwnerID: r.OwnerID, Name: r.Name, Description: r.Description, Public: r.Public, SecretHash: r.SecretHash, Plan: r.Plan,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Version: r.Version}
	return a, json.Unmarshal([]byte(cmp.Or(r.RedirectURIs, "[]")), &a.RedirectURIs)
}

// Create implements integrations.Apps.
func (d Apps) Create(ctx context.Context, a integrations.App, limit int) error {
	r, err := newAppRow(a)
	if err != nil {
		return err
	}
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.withAdvisoryLock(ctx, "applications of "+a.OwnerID); err != nil {
			return err
		}
		var n int64
		if err := d.q(ctx).Model(&appRow{}).Where("owner_id = ?", a.OwnerID).Count(&n).Error; err != nil {
			return wrap(err)
		}
		if int(n) >= limit {
			return integrations.ErrTooManyApps
		}
		return wrap(d.q(ctx).Create(&r).Error)
	})
}

// Get implements integrations.Apps.
func (d Apps) Get(ctx context.Context, ownerID, id string) (integrations.App, error) {
	var r appRow
	if err := ofAppOwner(d.locked(ctx), ownerID).Where("id = ?", id).Take(&r).Error; err != nil {
		return integrations.App{}, orNotFound(err, integrations.ErrAppNotFound)
	}
	return r.app()
}

// ofAppOwner restricts q to the rows of the owner, unless that is AnyOwner.
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
func (d Apps) List(ctx context.Context, f integrations.AppFilter, r page.Request) (out page.Result[integrations.App], err error) {
	if f.OwnerID == "" {
		return out, nil
	}
	rows, out, err := listOf[appRow, integrations.App](ctx, d.DB, r, list{where: func(q *gorm.DB) *gorm.DB {
		if f.OwnerID != integrations.AnyOwner {
			q = q.Where("owner_id = ?", f.OwnerID)
		}
		if len(f.IDs) > 0 {
			q = q.Where(d.dialect.In("id", f.IDs))
		}
		return q
	}})
	out.Items = make([]integrations.App, len(rows))
	for i, row := range rows {
		if err == nil {
			out.Items[i], err = row.app()
		}
	}
	return out, err
}

// Update implements integrations.Apps.
func (d Apps) Update(ctx context.Context, a integrations.App) error {
	r, err := newAppRow(a)
	if err != nil {
		return err
	}
	r.Version++
	return saved(d.q(ctx).Select("*").Omit("id", "owner_id", "created_at").Where("id = ? AND owner_id = ? AND version = ?", a.ID, a.OwnerID, a.Version).Updates(&r))
}

// Delete implements integrations.Apps.
func (d Apps) Delete(ctx context.Context, ownerID, id string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := one(ofAppOwner(d.q(ctx), ownerID).Where("id = ?", id).Delete(&appRow{}), integrations.ErrAppNotFound); err != nil {
			return err
		}
		return wrap(d.q(ctx).Where("app_id = ?", id).Delete(&usageRow{}).Error)
	})
}

// Keys implements integrations.Keys.
type Keys struct{ *DB }

type apiKeyRow struct {
	ID         string
	AppID      string
	Name       string
	Prefix     string
	Hash       string
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	LastUsedAt *time.Time
}

// TableName implements schema.Tabler.
func (apiKeyRow) TableName() string { return "api_keys" }

// Create implements integrations.Keys.
func (d Keys) Create(ctx context.Context, ownerID string, k integrations.Key) error {
	var owned appRow
	if err := ofAppOwner(d.q(ctx).Select("id"), ownerID).Where("id = ?", k.AppID).Take(&owned).Error; err != nil {
		return orNotFound(err, integrations.ErrAppNotFound)
	}
	r := apiKeyRow(k)
	return orAppDeleted(d.q(ctx).Create(&r).Error)
}

// GetByHash implements integrations.Keys.
func (d Keys) GetByHash(ctx context.Context, hash string) (integrations.Key, integrations.App, error) {
	var r struct {
		App appRow    `gorm:"embedded;embeddedPrefix:app_of_"`
		Key apiKeyRow `gorm:"embedded;embeddedPrefix:key_of_"`
	}
	err := d.q(ctx).Table("api_keys AS k").Select(columnsAs[apiKeyRow](d.DB, "k", "key_of_")+", "+columnsAs[appRow](d.DB, "a", "app_of_")).
		Joins("JOIN apps AS a ON a.id = k.app_id").Where("k.hash = ?", hash).Take(&r).Error
	if err != nil {
		return integrations.Key{}, integrations.App{}, orNotFound(err, integrations.ErrKeyNotFound)
	}
	a, err := r.App.app()
	return integrations.Key(r.Key), a, err
}

// ofOwner restricts q to the keys of applications of the owner.
func (d Keys) ofOwner(ctx context.Context, q *gorm.DB, ownerID, appID string) *gorm.DB {
	apps := ofAppOwner(d.q(ctx).Model(&appRow{}).Select("id"), ownerID)
	if appID != "" {
		apps, q = apps.Where("id = ?", appID), q.Where("app_id = ?", appID)
	}
	return q.Where("app_id IN (?)", apps)
}

// List implements integrations.Keys.
func (d Keys) List(ctx context.Context, ownerID, appID string) ([]integrations.Key, error) {
	var rows []apiKeyRow
	err := d.ofOwner(ctx, d.q(ctx), ownerID, appID).Order("id DESC").Find(&rows).Error
	out := make([]integrations.Key, len(rows))
	for i, r := range rows {
		out[i] = integrations.Key(r)
	}
	return out, wrap(err)
}

// Delete implements integrations.Keys.
func (d Keys) Delete(ctx context.Context, ownerID string, f integrations.KeyFilter) (int, error) {
	q := d.ofOwner(ctx, d.q(ctx), ownerID, f.AppID)
	if f.ID != "" {
		q = q.Where("id = ?", f.ID)
	}
	if !f.CreatedBefore.IsZero() {
		q = q.Where("created_at < ?", f.CreatedBefore)
	}
	res := q.Delete(&apiKeyRow{})
	return int(res.RowsAffected), wrap(res.Error)
}

// Usage implements integrations.Usage.
type Usage struct{ *DB }

type usageRow struct {
	AppID    string `gorm:"primaryKey"`
	Day      string `gorm:"primaryKey"`
	Requests int
	Errors   int
}

// TableName implements schema.Tabler.
func (usageRow) TableName() string { return "app_usage" }

// Add implements integrations.Usage. Rows are written in one order, so that two
// processes do not deadlock.
func (d Usage) Add(ctx context.Context, days []integrations.DayUsage, lastUsed map[string]time.Time) error {
	rows := make([]usageRow, len(days))
	for i, day := range days {
		rows[i] = usageRow(day)
	}
	slices.SortFunc(rows, func(a, b usageRow) int { return cmp.Or(cmp.Compare(a.AppID, b.AppID), cmp.Compare(a.Day, b.Day)) })
	return d.Do(ctx, func(ctx context.Context) error {
		if len(rows) > 0 {
			add := clause.OnConflict{Columns: columnsOf([]string{"app_id", "day"}), DoUpdates: clause.Assignments(map[string]any{
				"requests": gorm.Expr("app_usage.requests + " + d.dialect.Excluded("requests")),
				"errors":   gorm.Expr("app_usage.errors + " + d.dialect.Excluded("errors")),
			})}
			if err := d.unprepared(ctx).Clauses(add).CreateInBatches(&rows, 1000).Error; err != nil {
				return wrap(err)
			}
		}
		return d.updateLastUsed(ctx, lastUsed)
	})
}

// updateLastUsed stores when keys were last used.
func (d Usage) updateLastUsed(ctx context.Context, at map[string]time.Time) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(at)), 1000) {
		var rows []apiKeyRow
		if err := d.locked(ctx).Where("?", d.dialect.In("id", ids)).Order("id").Find(&rows).Error; err != nil {
			return wrap(err)
		}
		rows = slices.DeleteFunc(rows, func(r apiKeyRow) bool { return r.LastUsedAt != nil && !r.LastUsedAt.Before(at[r.ID]) })
		for i, r := range rows {
			used := at[r.ID]
			rows[i].LastUsedAt = &used
		}
		if err := updateLocked(d.unprepared(ctx), rows, "id", "last_used_at"); err != nil {
			return err
		}
	}
	return nil
}

// List implements integrations.Usage.
func (d Usage) List(ctx context.Context, appID, from, to string) ([]integrations.DayUsage, error) {
	var rows []usageRow
	err := d.q(ctx).Where("app_id = ? AND day BETWEEN ? AND ?", appID, from, to).Order("day").Find(&rows).Error
	out := make([]integrations.DayUsage, len(rows))
	for i, r := range rows {
		out[i] = integrations.DayUsage(r)
	}
	return out, wrap(err)
}

// integrationsExpiry are the kinds of modules/integrations.
var integrationsExpiry = map[retention.Kind]expiry{
	integrations.UsageKind: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return deleteLimited[usageRow](db.q(ctx).Where("day < ?", before.UTC().Format(time.DateOnly)), n, "day", "app_id", "day")
	},
	integrations.GrantsKind:    expireBy[grantRow]("expires_at", "id"),
	integrations.TokensKind:    expireBy[oauthTokenRow]("expires_at", "hash"),
	integrations.MessagesKind:  expireBy[messageRow]("created_at", "event_id"),
	integrations.ListenersKind: expireBy[endpointRow]("listening_until", "id"),
}
