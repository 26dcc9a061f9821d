package gormdb

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/page"
)

// Audit stores the audit log.
type Audit struct{ *DB }

type auditRow struct {
	ID             string
	At             time.Time
	Action         string
	Actor          string
	OrganizationID *string
	Network        string
	Object         string
	Detail         string
}

// TableName implements schema.Tabler.
func (auditRow) TableName() string { return "audit_entries" }

func (r auditRow) key() string { return r.ID }

// Record implements audit.Recorder.
func (d Audit) Record(ctx context.Context, e audit.Entry) error {
	if e.ID == "" {
		e.ID, e.At, e.Network = d.newID(), d.clock.Now(), audit.NetworkOf(ctx)
	}
	return wrap(d.q(ctx).Clauses(onConflict([]string{"id"})).Create(&auditRow{
		ID: e.ID, At: e.At, Action: string(e.Action), Actor: e.Actor, OrganizationID: nilIfZero(e.OrganizationID),
		Network: e.Network, Object: e.Object, Detail: e.Detail,
	}).Error)
}

// List implements audit.Log.
func (d Audit) List(ctx context.Context, f audit.Filter, r page.Request) (page.Result[audit.Entry], error) {
	where, args := []string{"1 = 1"}, []any{}
	add := func(wanted bool, condition string, values ...any) {
		if wanted {
			where, args = append(where, condition), append(args, values...)
		}
	}
	add(f.OrganizationID != "", "organization_id = ?", f.OrganizationID)
	add(f.Actor != "", "actor = ?", f.Actor)
	add(f.About != "", "(actor = ? OR object = ?)", f.About, f.About)
	add(f.Action != "", "action = ?", string(f.Action))
	add(!f.From.IsZero(), "at >= ?", f.From)
	add(!f.To.IsZero(), "at < ?", f.To)
	rows, out, err := listOf[auditRow, audit.Entry](ctx, d.DB, r, list{orderedBy: "id", where: func(q *gorm.DB) *gorm.DB { return q.Where(strings.Join(where, " AND "), args...) }})
	out.Items = make([]audit.Entry, len(rows))
	for i, row := range rows {
		out.Items[i] = audit.Entry{
			ID: row.ID, At: row.At, Action: audit.Action(row.Action), Actor: row.Actor, OrganizationID: orZero(row.OrganizationID),
			Network: row.Network, Object: row.Object, Detail: row.Detail,
		}
	}
	return out, err
}
