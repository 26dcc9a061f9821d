package gormdb

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Apps stores third parties' applications and their keys.
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

// TableName tells GORM the table.
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

// Add implements integrations.Apps.
func (d Apps) Add(ctx context.Context, a integrations.App) error {
	r, err := newAppRow(a)
	if err != nil {
		return err
	}
	return wrap(d.q(ctx).Create(&r).Error)
}

// Find implements integrations.Apps.
func (d Apps) Find(ctx context.Context, ownerID, id string) (integrations.App, error) {
	var r appRow
	if err := d.locked(ctx).Where("id = ? AND owner_id = ?", id, ownerID).Take(&r).Error; err != nil {
		return integrations.App{}, orNotFound(err, integrations.ErrAppNotFound)
	}
	return r.app()
}

// ByID implements integrations.Apps.
func (d Apps) ByID(ctx context.Context, id string) (integrations.App, error) {
	var r appRow
	if err := d.q(ctx).Where("id = ?", id).Take(&r).Error; err != nil {
		return integrations.App{}, orNotFound(err, integrations.ErrAppNotFound)
	}
	return r.app()
}

// First implements integrations.Apps.
func (d Apps) First(ctx context.Context, n int) ([]integrations.App, error) {
	var rows []appRow
	err := d.q(ctx).Where("id > ?", firstID).Order("id").Limit(n).Find(&rows).Error
	out := make([]integrations.App, len(rows))
	for i, row := range rows {
		if err == nil {
			out[i], err = row.app()
		}
	}
	return out, wrap(err)
}

// Page implements integrations.Apps.
func (d Apps) Page(ctx context.Context, ownerID string, r page.Request) (page.Result[integrations.App], error) {
	rows, out, err := pageOf[appRow, integrations.App](ctx, d.DB, nil, r, "owner_id = ?", ownerID)
	out.Items = make([]integrations.App, len(rows))
	for i, row := range rows {
		if err == nil {
			out.Items[i], err = row.app()
		}
	}
	return out, err
}

// Count implements integrations.Apps.
func (d Apps) Count(ctx context.Context, ownerID string) (n int, err error) {
	if err := d.turn(ctx, "applications of "+ownerID); err != nil {
		return 0, err
	}
	err = d.q(ctx).Raw("SELECT COUNT(*) FROM apps WHERE owner_id = ?", ownerID).Scan(&n).Error
	return n, wrap(err)
}

// Save implements integrations.Apps.
func (d Apps) Save(ctx context.Context, a integrations.App) error {
	r, err := newAppRow(a)
	if err != nil {
		return err
	}
	r.Version++
	return saved(d.q(ctx).Select("*").Omit("id", "owner_id", "created_at").Where("id = ? AND owner_id = ? AND version = ?", a.ID, a.OwnerID, a.Version).Updates(&r))
}

// Delete implements integrations.Apps.
func (d Apps) Delete(ctx context.Context, ownerID, id string) error {
	if err := one(d.q(ctx).Exec("DELETE FROM apps WHERE id = ? AND owner_id = ?", id, ownerID), integrations.ErrAppNotFound); err != nil {
		return err
	}
	return wrap(d.q(ctx).Exec("DELETE FROM app_usage WHERE app_id = ?", id).Error)
}

// Owners implements integrations.Apps.
func (d Apps) Owners(ctx context.Context, ids []string) (map[string]string, error) {
	var rows []appRow
	err := d.q(ctx).Select("id", "owner_id").Where("?", d.dialect.In("id", ids)).Find(&rows).Error
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.OwnerID
	}
	return out, wrap(err)
}

type apiKeyRow struct {
	ID         string
	AppID      string
	Name       string
	Prefix     string
	Hash       string
	CreatedAt  time.Time `gorm:"autoCreateTime:false"`
	LastUsedAt *time.Time
}

// TableName tells GORM the table.
func (apiKeyRow) TableName() string { return "api_keys" }

// AddKey implements integrations.Apps.
func (d Apps) AddKey(ctx context.Context, ownerID string, k integrations.Key) error {
	res := d.q(ctx).Exec(`INSERT INTO api_keys (id, app_id, name, prefix, hash, created_at)
		SELECT `+d.uuid("?")+`, id, ?, ?, ?, ? FROM apps WHERE id = ? AND owner_id = ?`,
		k.ID, k.Name, k.Prefix, k.Hash, d.dialect.Typed(k.CreatedAt, "timestamptz"), k.AppID, ownerID)
	return one(res, integrations.ErrAppNotFound)
}

// Keys implements integrations.Apps.
func (d Apps) Keys(ctx context.Context, ownerID, appID string) ([]integrations.Key, error) {
	var rows []apiKeyRow
	err := d.q(ctx).Where("app_id = (SELECT id FROM apps WHERE id = ? AND owner_id = ?)", appID, ownerID).Order("id DESC").Find(&rows).Error
	out := make([]integrations.Key, len(rows))
	for i, r := range rows {
		out[i] = integrations.Key(r)
	}
	return out, wrap(err)
}

// DeleteKey implements integrations.Apps.
func (d Apps) DeleteKey(ctx context.Context, ownerID, appID, keyID string) error {
	return one(d.q(ctx).Exec("DELETE FROM api_keys WHERE id = ? AND app_id = (SELECT id FROM apps WHERE id = ? AND owner_id = ?)", keyID, appID, ownerID), integrations.ErrKeyNotFound)
}

// DeleteKeys implements integrations.Apps.
func (d Apps) DeleteKeys(ctx context.Context, ownerID string) error {
	return wrap(d.q(ctx).Exec("DELETE FROM api_keys WHERE app_id IN (SELECT id FROM apps WHERE owner_id = ?)", ownerID).Error)
}

// ByKey implements integrations.Apps.
func (d Apps) ByKey(ctx context.Context, hash string) (integrations.App, integrations.Key, error) {
	var r struct {
		App appRow    `gorm:"embedded"`
		Key apiKeyRow `gorm:"embedded;embeddedPrefix:key_"`
	}
	err := d.q(ctx).Raw(`SELECT a.*, k.id AS key_id, k.app_id AS key_app_id, k.name AS key_name, k.prefix AS key_prefix, k.created_at AS key_created_at, k.last_used_at AS key_last_used_at
		FROM api_keys k JOIN apps a ON a.id = k.app_id JOIN users u ON u.id = a.owner_id AND u.status = 'active' AND u.locked_at IS NULL WHERE k.hash = ?`, hash).Take(&r).Error
	if err != nil {
		return integrations.App{}, integrations.Key{}, orNotFound(err, integrations.ErrKeyNotFound)
	}
	r.Key.Hash = hash
	a, err := r.App.app()
	return a, integrations.Key(r.Key), err
}

// Used implements integrations.Apps.
func (d Apps) Used(ctx context.Context, at map[string]time.Time) error {
	if len(at) == 0 {
		return nil
	}
	var args []any
	for _, id := range slices.Sorted(maps.Keys(at)) { // in one order, so that two processes do not wait for each other
		args = append(args, id, d.dialect.Typed(at[id], "timestamptz"))
	}
	return wrap(d.unprepared(ctx).Exec("UPDATE api_keys SET last_used_at = v.column2 FROM (VALUES "+tuples(len(at), "("+d.uuid("?")+", ?)")+
		") AS v WHERE api_keys.id = v.column1 AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < v.column2)", args...).Error)
}

// Usage counts what applications called.
type Usage struct{ *DB }

// Add implements integrations.Usage.
func (d Usage) Add(ctx context.Context, spent []integrations.Spent) error {
	spent = slices.SortedFunc(slices.Values(spent), func(a, b integrations.Spent) int {
		return cmp.Or(cmp.Compare(a.AppID, b.AppID), cmp.Compare(a.Day, b.Day))
	})
	var args []any
	for _, s := range spent {
		args = append(args, s.AppID, s.Day, s.Requests, s.Errors)
	}
	if len(args) == 0 {
		return nil
	}
	return wrap(d.unprepared(ctx).Exec("INSERT INTO app_usage (app_id, day, requests, errors) VALUES "+tuples(len(spent), "(?, ?, ?, ?)")+
		" ON CONFLICT (app_id, day) DO UPDATE SET requests = app_usage.requests + excluded.requests, errors = app_usage.errors + excluded.errors", args...).Error)
}

// Of implements integrations.Usage.
func (d Usage) Of(ctx context.Context, appID, from, to string) (out []integrations.Spent, err error) {
	err = d.q(ctx).Raw("SELECT app_id, day, requests, errors FROM app_usage WHERE app_id = ? AND day BETWEEN ? AND ? ORDER BY day", appID, from, to).Scan(&out).Error
	return out, wrap(err)
}

// Forget implements integrations.Usage.
func (d Usage) Forget(ctx context.Context, day string, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM app_usage WHERE (app_id, day) IN (SELECT app_id, day FROM app_usage WHERE day < ? ORDER BY day LIMIT ?)", day, n)
	return int(res.RowsAffected), wrap(res.Error)
}
