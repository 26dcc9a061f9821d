package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// isStalePlan reports a statement that a connection prepared before a migration
// changed the type of its result. The driver prepares it anew the next time.
func isStalePlan(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "0A000" && strings.Contains(pg.Message, "cached plan")
}

// retryPool retries statements with a stale plan, as often as there may be
// connections that have one. Transactions are retried by Do.
type retryPool struct{ *sql.DB }

func (p retryPool) retry(run func() error) {
	for range p.Stats().MaxOpenConnections + 1 {
		if !isStalePlan(run()) {
			return
		}
	}
}

// QueryContext implements gorm.ConnPool.
func (p retryPool) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	p.retry(func() error {
		rows, err = p.DB.QueryContext(ctx, query, args...) //nolint:rowserrcheck,sqlclosecheck // the caller reads them
		return err
	})
	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (p retryPool) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	p.retry(func() error {
		row = p.DB.QueryRowContext(ctx, query, args...)
		return row.Err()
	})
	return row
}

// ExecContext implements gorm.ConnPool.
func (p retryPool) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	p.retry(func() error {
		result, err = p.DB.ExecContext(ctx, query, args...)
		return err
	})
	return result, err
}

// GetDBConn implements gorm.GetDBConnector.
func (p retryPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }
