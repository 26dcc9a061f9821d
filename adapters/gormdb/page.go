package gormdb

import (
	"context"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// selection adds conditions to a query.
type selection func(q *gorm.DB) *gorm.DB

// listQuery describes a list.
type listQuery struct {
	// columns are the columns to read, nil for all.
	columns []string
	// orderedBy is the column by which the list is ordered, with a unique text for each row. The
	// default is id. Without a value, the list must have an index of its own that ends with id:
	// the query gets the ListHint of the dialect, which excludes the primary key.
	orderedBy string
	// oldestFirst makes the order ascending.
	oldestFirst bool
	// where adds the conditions that select rows. An index returns those rows in the
	// order of the list.
	where selection
	// locked locks the rows of the page until the end of the transaction.
	locked bool
}

// listPage reads one page of a list and converts its rows.
func listPage[R any, T any](ctx context.Context, db *DB, r page.Request, l listQuery, item func(R) T) (page.Result[T], error) {
	rows, result, err := listRows[R, T](ctx, db, r, l)
	result.Items = list.Map(rows, item)
	return result, err
}

// listRows reads the rows of one page of a list, in descending order unless oldestFirst is set.
// The caller sets the items of the result.
func listRows[R any, T any](ctx context.Context, db *DB, r page.Request, l listQuery) (rows []R, result page.Result[T], err error) {
	q := db.conn(ctx)
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

	// One row more than the page shows that there is a next page.
	q = whereIfSet(l.where(q), after, r.Cursor).Order(order).Limit(r.Size + 1)
	if l.columns != nil {
		q = q.Select(l.columns)
	}

	if r.Cursor == "" {
		q = q.Offset(r.Offset())
	}

	q = q.Find(&rows)
	if q.Error != nil {
		return nil, result, wrap(q.Error)
	}

	if !r.WithoutTotal {
		result.Total, result.TotalIsEstimate, err = totalOf(ctx, db, r, l, rows)
		if err != nil {
			return nil, result, err
		}
	}

	if len(rows) > r.Size {
		rows = rows[:r.Size]
		last, _ := q.Statement.Schema.LookUpField(l.orderedBy).ValueOf(ctx, reflect.ValueOf(rows[r.Size-1]))
		result.NextCursor = last.(string) // orderedBy is a column of texts
	}

	return rows, result, nil
}

// totalOf returns the number of rows of a list. rows are those of the page, and the row after it. The
// number follows from the page if it is the last one. Otherwise totalOf counts the rows up to
// page.MaxExact.
func totalOf[R any](ctx context.Context, db *DB, r page.Request, l listQuery, rows []R) (total int, isEstimate bool, err error) {
	hasPosition := r.Cursor == "" // the position of a cursor in the list is not known
	isLastPage := len(rows) <= r.Size

	isBeyondEnd := len(rows) == 0 && r.Offset() > 0
	if hasPosition && isLastPage && !isBeyondEnd {
		return r.Offset() + len(rows), false, nil
	}

	n, err := countLimited(l.where(db.conn(ctx).Model(new(R))))

	return min(n, page.MaxExact), n > page.MaxExact, err
}

// tableHint is a hint that follows the name of the table in a query.
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
	err := newStatement(q).Table("(?) AS counted", q.Select("1").Limit(page.MaxExact+1)).Count(&n).Error
	return int(n), wrap(err)
}
