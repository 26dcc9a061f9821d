package gormdb

import (
	"context"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/page"
)

// listed is a row of a list.
type listed interface {
	TableName() string
	// key is the value of the column that orders the list.
	key() string
}

// pageOf reads one page of a table in descending order of id: the rows that the
// condition selects. The columns may be nil for all. The caller sets the items of
// the result.
func pageOf[R listed, T any](ctx context.Context, db *DB, columns []string, r page.Request, where string, args ...any) (rows []R, out page.Result[T], err error) {
	return listOf[R, T](ctx, db, r, list{columns: columns, where: func(q *gorm.DB) *gorm.DB { return q.Where(where, args...) }})
}

// list describes a list for listOf.
type list struct {
	// columns are those that are read, nil for all.
	columns []string
	// orderedBy is the column by which the list is ordered. Its values are unique in
	// the list. If it is empty, that is "id", and an index other than the primary key
	// has the order of the list.
	orderedBy string
	// oldestFirst makes the order ascending.
	oldestFirst bool
	// where adds the conditions that select rows. An index returns those rows in the
	// order of the list.
	where func(q *gorm.DB) *gorm.DB
	// locked locks the rows of the page until the end of the transaction.
	locked bool
}

// listOf reads one page of a list, the newest first unless it is oldestFirst. It
// counts rows up to page.MaxExact, and only if the page does not contain the end of
// the list. The caller sets the items of the result.
func listOf[R listed, T any](ctx context.Context, db *DB, r page.Request, l list) (rows []R, out page.Result[T], err error) {
	q := db.q(ctx)
	if l.locked {
		q = db.locked(ctx)
	}
	if l.orderedBy == "" {
		l.orderedBy = "id"
		if h, ok := db.dialect.(ListHinter); ok {
			q = q.Clauses(tableHint(h.ListHint()))
		}
	}
	order, after := l.orderedBy+" DESC", l.orderedBy+" < ?"
	if l.oldestFirst {
		order, after = l.orderedBy, l.orderedBy+" > ?"
	}
	q = l.where(q).Order(order).Limit(r.Size + 1)
	if l.columns != nil {
		q = q.Select(l.columns)
	}
	if r.Cursor != "" {
		q = q.Where(after, r.Cursor)
	} else {
		q = q.Offset(r.Offset())
	}
	if err := q.Find(&rows).Error; err != nil {
		return nil, out, wrap(err)
	}
	switch {
	case r.WithoutTotal:
	case r.Cursor == "" && len(rows) <= r.Size && (len(rows) > 0 || r.Offset() == 0):
		out.Total = r.Offset() + len(rows)
	default:
		if out.Total, err = countLimited(l.where(db.q(ctx).Model(new(R)))); err != nil {
			return nil, out, err
		}
	}
	if out.Total > page.MaxExact {
		out.Total, out.TotalIsEstimate = page.MaxExact, true
	}
	if len(rows) > r.Size {
		rows = rows[:r.Size]
		out.NextCursor = rows[r.Size-1].key()
	}
	return rows, out, nil
}

// tableHint follows the name of the table in a query.
type tableHint string

// Build implements clause.Expression.
func (h tableHint) Build(b clause.Builder) { _, _ = b.WriteString(string(h)) }

// ModifyStatement implements gorm.StatementModifier.
func (h tableHint) ModifyStatement(s *gorm.Statement) {
	from := s.Clauses["FROM"]
	from.AfterExpression = h
	s.Clauses["FROM"] = from
}

// countLimited counts the rows that the conditions of q select, at most
// page.MaxExact + 1.
func countLimited(q *gorm.DB) (int, error) {
	var n int64
	err := fresh(q).Table("(?) AS counted", q.Select("1").Limit(page.MaxExact+1)).Count(&n).Error
	return int(n), wrap(err)
}
