package gormdb

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
)

// scanning is a result as both pgx and database/sql give it out.
type scanning interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

// each runs a query of many rows outside of any transaction and hands its rows
// to fn one after the other. It goes past GORM and, on Postgres, past
// database/sql, which together take several times as long for a row as reading
// it does. Parameters are written as ?.
func (db *DB) each(ctx context.Context, query string, args []any, fn func(rows scanning) error) error {
	query = placed(query, db.pg())
	if !db.pg() {
		rows, err := db.sql.QueryContext(ctx, query, args...)
		if err != nil {
			return wrap(err)
		}
		defer func() { _ = rows.Close() }()
		return walkRows(rows, fn)
	}
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return wrap(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driver any) error {
		rows, err := driver.(*stdlib.Conn).Conn().Query(ctx, query, args...)
		if err != nil {
			return wrap(err)
		}
		defer rows.Close()
		return walkRows(rows, fn)
	})
}

func walkRows(rows scanning, fn func(scanning) error) error {
	for rows.Next() {
		if err := fn(rows); err != nil {
			return wrap(err)
		}
	}
	return wrap(rows.Err())
}

// placed writes parameters as the database does, on Postgres $1, $2, ….
func placed(query string, numbered bool) string {
	if !numbered {
		return query
	}
	var b strings.Builder
	for i := 1; ; i++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(i))
		query = after
	}
}
