package gormdb

import (
	"context"
	"time"

	"github.com/locumhq/locum/modules/hiring"
)

// exports implements hiring.Exports.
type exports struct{ *DB }

type exportRow struct {
	ID             string
	OrganizationID string
	UserID         string
	Kind           string
	Filters        map[string]string `gorm:"serializer:json_column"`
	State          hiring.ExportState
	RowsDone       int
	RowsTotal      int
	CreatedAt      time.Time
	FinishedAt     *time.Time
}

func (r exportRow) export() hiring.Export { return hiring.Export(r) }

// Create implements hiring.Exports.
func (d exports) Create(ctx context.Context, e hiring.Export, limit int) error {
	r := exportRow(e)
	return createBelow(ctx, d.DB, &r, "exports of "+e.OrganizationID, limit, hiring.ErrExportsUnderWay, "organization_id = ? AND finished_at IS NULL", e.OrganizationID)
}

// Get implements hiring.Exports.
func (d exports) Get(ctx context.Context, organizationID, id string) (hiring.Export, error) {
	r, err := take[exportRow](d.q(ctx).Where("id = ? AND organization_id = ?", id, organizationID), hiring.ErrExportNotFound)
	return r.export(), err
}

// List implements hiring.Exports.
func (d exports) List(ctx context.Context, f hiring.ExportFilter, n int) ([]hiring.Export, error) {
	q := equal(among(d.locked(ctx), "organization_id", f.OrganizationIDs), "kind", f.Kind)
	if f.Unfinished {
		q = q.Where("finished_at IS NULL")
	}
	if f.Begun {
		q = q.Where("state <> ?", hiring.ExportQueued)
	}
	return find(optional(q, "created_at < ?", f.CreatedBefore).Limit(n), exportRow.export)
}

// Update implements hiring.Exports.
func (d exports) Update(ctx context.Context, e hiring.Export) error {
	return one(d.q(ctx).Select("state", "rows_done", "rows_total", "finished_at").
		Where("id = ? AND organization_id = ? AND state <> ?", e.ID, e.OrganizationID, hiring.ExportDone).Updates((*exportRow)(&e)), errStale)
}

// Delete implements hiring.Exports.
func (d exports) Delete(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Where("?", d.dialect.In("id", ids)).Delete(&exportRow{}).Error)
}
