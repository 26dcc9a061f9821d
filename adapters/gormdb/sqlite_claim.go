package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	sqlitedriver "github.com/ncruces/go-sqlite3/driver"
)

// claimTimeout is how long Claim waits for another process to shut down.
const claimTimeout = 30 * time.Second

// Claim implements SingleProcess.
//
// It locks a file beside the database, so that commands of operators can use the
// database. The operating system releases the lock when the process ends.
func (SQLite) Claim(ctx context.Context, db *DB) (release func() error, err error) {
	path := sqlitePath(db.url)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	path += "-serve"
	// An existing file is not opened: see copyPermissions.
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		_ = file.Close()
	}
	pool, err := sqlitedriver.Open("file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(0)&modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20"))
	if err != nil {
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}
	locked, err := db.lockExclusively(ctx, pool)
	if err != nil {
		err = errors.Join(err, pool.Close())
		if errors.Is(err, sqlite3.BUSY) {
			return nil, fmt.Errorf("another `locum serve` has this database; one process at a time can serve a SQLite database: stop the other one, or use postgres://…")
		}
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}
	return func() error { return errors.Join(locked.Close(), pool.Close()) }, nil
}

// lockExclusively acquires the lock. If another process has it, it waits for claimTimeout.
func (db *DB) lockExclusively(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	if errors.Is(err, sqlite3.BUSY) {
		db.log.Warn("another process uses this database; waiting for it to end", "database", sqlitePath(db.url), "within", claimTimeout.String())
		if _, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", claimTimeout.Milliseconds())); err == nil {
			_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
