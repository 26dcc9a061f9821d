package gormdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
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
	return eachOf(ctx, db.gorm, query, args, fn)
}

// eachOf is each by a connection of one of the pools.
func eachOf(ctx context.Context, pool *gorm.DB, query string, args []any, fn func(rows scanning) error) error {
	connections, err := pool.DB()
	if err != nil {
		return err
	}
	_, onPostgres := connections.Driver().(*stdlib.Driver)
	query, args = placed(query, args, onPostgres)
	if !onPostgres {
		rows, err := connections.QueryContext(ctx, query, args...)
		if err != nil {
			return wrap(err)
		}
		defer func() { _ = rows.Close() }()
		return walkRows(rows, fn)
	}
	conn, err := connections.Conn(ctx)
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

// columnsOf are the names of the columns of a result.
func columnsOf(rows scanning) ([]string, error) {
	native, ok := rows.(pgx.Rows)
	if !ok {
		return rows.(*sql.Rows).Columns()
	}
	names := make([]string, len(native.FieldDescriptions()))
	for i, c := range native.FieldDescriptions() {
		names[i] = c.Name
	}
	return names, nil
}

// placed writes the parameters as the database does, on Postgres $1, $2, …. A
// list has as many as it is long.
func placed(query string, args []any, numbered bool) (string, []any) {
	var b strings.Builder
	var all []any
	add := func(arg any) {
		all = append(all, arg)
		if numbered {
			b.WriteString("$" + strconv.Itoa(len(all)))
		} else {
			b.WriteByte('?')
		}
	}
	for _, arg := range args {
		before, after, _ := strings.Cut(query, "?")
		b.WriteString(before)
		query = after
		list := reflect.ValueOf(arg)
		if _, valued := arg.(driver.Valuer); valued || list.Kind() != reflect.Slice {
			add(arg)
			continue
		}
		b.WriteByte('(')
		if list.Len() == 0 {
			b.WriteString("NULL")
		}
		for i := range list.Len() {
			if i > 0 {
				b.WriteByte(',')
			}
			add(list.Index(i).Interface())
		}
		b.WriteByte(')')
	}
	b.WriteString(query)
	return b.String(), all
}
