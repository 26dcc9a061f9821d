package gormdb

import (
	"context"
	"database/sql"
)

// streamRows runs a query outside of any transaction and calls fn for each row. Parameters in the query are written
// as ?. To be fast, it bypasses GORM, and also database/sql if the dialect supports that: both take several times as
// long for a row as the driver of the database.
func (db *DB) streamRows(ctx context.Context, query string, args []any, fn func(rows Rows) error) error {
	return wrap(markUnavailable(db.dialect, db.stream(ctx, db.pool, query, args, fn)))
}

// streamFromReplica does the same as streamRows, but reads from a replica if ctx permits outdated reads. If the replica
// fails, it starts again with the primary: it calls reset, so that the caller discards the rows that it has got, and
// then calls fn for all rows. It also calls reset if no replica was used, when there is nothing to discard.
func (db *DB) streamFromReplica(ctx context.Context, query string, args []any, reset func(), fn func(rows Rows) error) error {
	streamReplica := func(ctx context.Context, pool *sql.DB) error { return db.stream(ctx, pool, query, args, fn) }
	if db.onReplica(ctx, streamReplica) {
		return nil
	}

	reset()

	return db.streamRows(ctx, query, args, fn)
}

// stream runs a query on the pool and calls fn for each row. It uses database/sql if the dialect is no
// Streamer.
func (db *DB) stream(ctx context.Context, pool *sql.DB, query string, args []any, fn func(rows Rows) error) error {
	if streamer, ok := db.dialect.(Streamer); ok {
		return streamer.Stream(ctx, pool, query, args, fn)
	}

	rows, err := pool.QueryContext(ctx, query, args...) //nolint:rowserrcheck // readRows checks it
	if err != nil {
		return err
	}

	defer func() { _ = rows.Close() }()

	return readRows(rows, fn)
}

// readRows calls fn for each row, until fn returns an error.
func readRows(rows Rows, fn func(Rows) error) error {
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}

	return rows.Err()
}
