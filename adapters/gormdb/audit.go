package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/page"
)

// auditLog implements audit.Recorder and audit.Log.
type auditLog struct{ *DB }

type auditEntryRow struct {
	ID             string
	At             time.Time
	Action         audit.Action
	Actor          string
	OrganizationID string `gorm:"serializer:nullable_string"`
	Network        string
	Object         string
	Detail         string
}

// Record implements audit.Recorder.
func (d auditLog) Record(ctx context.Context, e audit.Entry) error {
	if e.ID == "" {
		e.ID, e.At, e.Network = d.newID(), d.clock.Now(), audit.NetworkOf(ctx)
	}
	return wrap(d.q(ctx).Clauses(onConflict([]string{"id"})).Create((*auditEntryRow)(&e)).Error)
}

// List implements audit.Log.
func (d auditLog) List(ctx context.Context, f audit.Filter, r page.Request) (page.Result[audit.Entry], error) {
	return pageOf(ctx, d.DB, r, query{orderedBy: "id", where: func(q *gorm.DB) *gorm.DB {
		q = equal(equal(q, "organization_id", f.OrganizationID), "actor", f.Actor)
		if f.About != "" {
			q = q.Where("(actor = ? OR object = ?)", f.About, f.About)
		}
		q = equal(q, "action", f.Action)
		return optional(optional(q, "at >= ?", f.From), "at < ?", f.To)
	}}, func(r auditEntryRow) audit.Entry { return audit.Entry(r) })
}
