package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/locumhq/locum/modules/hiring"
)

// Exports implements hiring.Exports.
type Exports struct{ *DB }

type exportRow struct {
	ID             string
	OrganizationID string
	UserID         string
	Kind           string
	Filters        string
	State          string
	RowsDone       int
	RowsTotal      int
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	FinishedAt     *time.Time
}

// TableName implements schema.Tabler.
func (exportRow) TableName() string { return "exports" }

func (r exportRow) export() (hiring.Export, error) {
	e := hiring.Export{ID: r.ID, OrganizationID: r.OrganizationID, UserID: r.UserID, Kind: r.Kind, State: hiring.ExportState(r.State),
		RowsDone: r.RowsDone, RowsTotal: r.RowsTotal, CreatedAt: r.CreatedAt, FinishedAt: r.FinishedAt}
	return e, json.Unmarshal([]byte(r.Filters), &e.Filters)
}

// Create implements hiring.Exports.
func (d Exports) Create(ctx context.Context, e hiring.Export, limit int) error {
	filters, err := json.Marshal(e.Filters)
	if err != nil {
		return err
	}
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.withAdvisoryLock(ctx, "exports of "+e.OrganizationID); err != nil {
			return err
		}
		var unfinished int64
		if err := d.q(ctx).Model(&exportRow{}).Where("organization_id = ? AND finished_at IS NULL", e.OrganizationID).Count(&unfinished).Error; err != nil {
			return wrap(err)
		}
		if int(unfinished) >= limit {
			return hiring.ErrExportsUnderWay
		}
		return wrap(d.q(ctx).Create(&exportRow{ID: e.ID, OrganizationID: e.OrganizationID, UserID: e.UserID, Kind: e.Kind, Filters: string(filters), State: string(e.State),
			RowsDone: e.RowsDone, RowsTotal: e.RowsTotal, CreatedAt: e.CreatedAt, FinishedAt: e.FinishedAt}).Error)
	})
}

// Get implements hiring.Exports.
func (d Exports) Get(ctx context.Context, organizationID, id string) (hiring.Export, error) {
	var r exportRow
	err := d.q(ctx).Where("id = ? AND organization_id = ?", id, organizationID).Take(&r).Error
	if err := orNotFound(err, hiring.ErrExportNotFound); err != nil {
		return hiring.Export{}, err
	}
	return r.export()
}

// List implements hiring.Exports.
func (d Exports) List(ctx context.Context, f hiring.ExportFilter, n int) ([]hiring.Export, error) {
	q := d.locked(ctx)
	if len(f.OrganizationIDs) > 0 {
		q = q.Where("?", d.dialect.In("organization_id", f.OrganizationIDs))
	}
	if f.Kind != "" {
		q = q.Where("kind = ?", f.Kind)
	}
	if f.Unfinished {
		q = q.Where("finished_at IS NULL")
	}
	if f.Begun {
		q = q.Where("state <> ?", string(hiring.ExportQueued))
	}
	if !f.CreatedBefore.IsZero() {
		q = q.Where("created_at < ?", f.CreatedBefore)
	}
	var rows []exportRow
	if err := q.Limit(n).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	out := make([]hiring.Export, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = r.export(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Update implements hiring.Exports.
func (d Exports) Update(ctx context.Context, e hiring.Export) error {
	return saved(d.q(ctx).Model(&exportRow{}).Where("id = ? AND organization_id = ? AND state <> ?", e.ID, e.OrganizationID, string(hiring.ExportDone)).
		Updates(map[string]any{"state": string(e.State), "rows_done": e.RowsDone, "rows_total": e.RowsTotal, "finished_at": e.FinishedAt}))
}

// Delete implements hiring.Exports.
func (d Exports) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Where("?", d.dialect.In("id", ids)).Delete(&exportRow{}).Error)
}
