package gormdb

import "context"

// each runs a query of many rows outside of any transaction and calls fn for each
// row. It goes past GORM, and on some databases past database/sql, which together
// take several times as long for a row as reading it does. Parameters are written
// as ?.
func (db *DB) each(ctx context.Context, query string, args []any, fn func(rows Rows) error) error {
	return wrap(markUnavailable(db.dialect, db.stream(ctx, query, args, fn)))
}

func (db *DB) stream(ctx context.Context, query string, args []any, fn func(rows Rows) error) error {
	if s, ok := db.dialect.(Streamer); ok {
		return s.Stream(ctx, db.sql, query, args, fn)
	}
	rows, err := db.sql.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	return readRows(rows, fn)
}

func readRows(rows Rows, fn func(Rows) error) error {
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
