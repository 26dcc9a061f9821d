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

// listQuery describes a list, of which clients request one page after the other. A request has either
// the number of a page or a cursor, which is the value of orderedBy in the last row of the previous
// page.
type listQuery struct {
	// columns are the columns to read, nil for all.
	columns []string
	// orderedBy is the column by which the list is ordered, with a unique text for each row. The
	// default is id. Then the list must have an index of its own that ends with id, because the
	// query gets the ListHint of the dialect, which excludes the primary key.
	orderedBy string
	// oldestFirst makes the order ascending.
	oldestFirst bool
	// where adds the conditions that select rows. There must be an index that returns these rows
	// in the order of the list.
	where selection
	// locksRows locks the rows of the page until the end of the transaction.
	locksRows bool
}

// listPage reads one page of a list and converts its rows of type R to items of type T.
func listPage[R any, T any](
	ctx context.Context,
	db *DB,
	request page.Request,
	query listQuery,
	item func(R) T,
) (page.Result[T], error) {
	rows, result, err := listRows[R, T](ctx, db, request, query)
	result.Items = list.Map(rows, item)

	return result, err
}

// listRows reads the rows of one page of a list, in descending order unless oldestFirst is set.
// The result has no items yet: the caller converts the rows to items.
func listRows[R any, T any](
	ctx context.Context,
	db *DB,
	request page.Request,
	query listQuery,
) (rows []R, result page.Result[T], err error) {
	q := db.conn(ctx)
	if query.locksRows {
		q = db.locked(ctx)
	}

	if query.orderedBy == "" {
		query.orderedBy = "id"

		if hinter, ok := db.dialect.(ListHinter); ok {
			q = q.Clauses(tableHint(hinter.ListHint()))
		}
	}

	order, isAfterCursor := query.orderedBy+" DESC", query.orderedBy+" < ?"
	if query.oldestFirst {
		order, isAfterCursor = query.orderedBy, query.orderedBy+" > ?"
	}

	// Read one row more than the page has. If it exists, there is a next page.
	q = whereIfSet(query.where(q), isAfterCursor, request.Cursor).Order(order).Limit(request.Size + 1)
	if query.columns != nil {
		q = q.Select(query.columns)
	}

	if request.Cursor == "" {
		q = q.Offset(request.Offset())
	}

	q = q.Find(&rows)
	if q.Error != nil {
		return nil, result, wrap(q.Error)
	}

	if !request.WithoutTotal {
		result.Total, result.TotalIsEstimate, err = countRows(ctx, db, request, query, rows)
		if err != nil {
			return nil, result, err
		}
	}

	if hasNextPage := len(rows) > request.Size; hasNextPage {
		rows = rows[:request.Size]
		lastRow := reflect.ValueOf(rows[request.Size-1])

		cursor, _ := q.Statement.Schema.LookUpField(query.orderedBy).ValueOf(ctx, lastRow)
		result.NextCursor = cursor.(string) // orderedBy is a column of texts
	}

	return rows, result, nil
}

// countRows returns the number of rows of a list. rows are those of the requested page, and one more if there is a next
// page. On the last page of a list, the number follows from the position of the page, without a query. Otherwise
// countRows counts the rows. If there are more than page.MaxExact, it returns this number as an estimate.
func countRows[R any](
	ctx context.Context,
	db *DB,
	request page.Request,
	query listQuery,
	rows []R,
) (total int, isEstimate bool, err error) {
	isPositionKnown := request.Cursor == "" // the position of a cursor in the list is not known
	isLastPage := len(rows) <= request.Size
	isBeyondEnd := len(rows) == 0 && request.Offset() > 0

	if isPositionKnown && isLastPage && !isBeyondEnd {
		return request.Offset() + len(rows), false, nil
	}

	counted, err := countLimited(query.where(db.conn(ctx).Model(new(R))))

	return min(counted, page.MaxExact), counted > page.MaxExact, err
}

// tableHint is a hint that follows the name of the table in a query.
type tableHint string

// Build implements clause.Expression.
func (h tableHint) Build(b clause.Builder) { _, _ = b.WriteString(string(h)) }

// ModifyStatement implements gorm.StatementModifier. It writes the hint after the clause FROM.
func (h tableHint) ModifyStatement(s *gorm.Statement) {
	from := s.Clauses["FROM"]
	from.AfterExpression = h
	s.Clauses["FROM"] = from
}

// countLimited counts the rows that the conditions of q select, but at most page.MaxExact + 1. The
// database stops reading there.
func countLimited(q *gorm.DB) (int, error) {
	firstRows := q.Select("1").Limit(page.MaxExact + 1)

	var n int64
	err := newStatement(q).Table("(?) AS counted", firstRows).Count(&n).Error

	return int(n), wrap(err)
}
