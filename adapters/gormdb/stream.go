package gormdb

import (
	"context"
	"database/sql"
)

// each runs a query outside of any transaction and calls fn for each row. It bypasses
// GORM, and database/sql where the dialect can, which take several times as long per row
// as the driver. Parameters are written as ?.
func (db *DB) each(ctx context.Context, query string, args []any, fn func(rows Rows) error) error {
	return wrap(markUnavailable(db.dialect, db.stream(ctx, db.pool, query, args, fn)))
}

// eachOnReplica is each on a replica, if ctx permits it. If the replica fails, reset
// is called and fn is called again from the first row.
func (db *DB) eachOnReplica(ctx context.Context, query string, args []any, reset func(), fn func(rows Rows) error) error {
	if db.onReplica(ctx, func(ctx context.Context, pool *sql.DB) error { return db.stream(ctx, pool, query, args, fn) }) {
		return nil
	}
	reset()
	return db.each(ctx, query, args, fn)
}

func (db *DB) stream(ctx context.Context, pool *sql.DB, query string, args []any, fn func(rows Rows) error) error {
	if s, ok := db.dialect.(Streamer); ok {
		return s.Stream(ctx, pool, query, args, fn)
	}
	rows, err := pool.QueryContext(ctx, query, args...) //nolint:rowserrcheck // readRows checks it
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
