package gormdb

import (
	"context"

	"github.com/locumhq/locum/core/page"
)

// listed is a row of a list, known by its id.
type listed interface {
	TableName() string
	key() string
}

// pageOf reads one page of a table, the newest first: the rows that the
// condition picks, which an index serves in the order of their ids, and how
// many there are of them, counted up to what readers can page to. The columns
// may be nil for all. The items of the result are left to the caller.
func pageOf[R listed, T any](ctx context.Context, db *DB, columns []string, r page.Request, where string, args ...any) (rows []R, out page.Result[T], err error) {
	q := db.q(ctx).Where(where, args...).Order("id DESC").Limit(r.Size + 1)
	if columns != nil {
		q = q.Select(columns)
	}
	if r.Cursor != "" {
		q = q.Where("id < ?", r.Cursor)
	} else {
		q = q.Offset(r.Offset())
	}
	if err := q.Find(&rows).Error; err != nil {
		return nil, out, wrap(err)
	}
	err = db.q(ctx).Raw("SELECT COUNT(*) FROM (SELECT 1 FROM "+R.TableName(*new(R))+" WHERE "+where+" LIMIT ?) AS counted", append(args, page.MaxExact+1)...).Scan(&out.Total).Error
	if err != nil {
		return nil, out, wrap(err)
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

// idSet are the ids that a query finds.
func (db *DB) idSet(ctx context.Context, query string, args ...any) (map[string]bool, error) {
	var found []string
	err := db.q(ctx).Raw(query, args...).Scan(&found).Error
	out := make(map[string]bool, len(found))
	for _, id := range found {
		out[id] = true
	}
	return out, wrap(err)
}
