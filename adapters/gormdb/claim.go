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

// handover is how long a process that begins to serve a SQLite file waits for
// the one before it, which may be about to end and has that long for it.
const handover = 30 * time.Second

// Claim makes this the one process that serves the database, until Close. Any
// number may serve one in Postgres.
//
// What is locked is a file beside the database's, so that operators' commands
// are not kept out, and by the driver itself, which knows how on every system.
// The lock is the system's: it ends with the process, however that ends.
func (db *DB) Claim(ctx context.Context) error {
	if db.pg() {
		return nil
	}
	path := db.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	path += "-serve"
	// Never one that is there: see likeDatabase.
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		_ = file.Close()
	}
	pool, err := sqlitedriver.Open("file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(0)&modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20"))
	if err != nil {
		return fmt.Errorf("the file %s: %w", path, err)
	}
	held, err := db.hold(ctx, pool)
	if err != nil {
		err = errors.Join(err, pool.Close())
		if errors.Is(err, sqlite3.BUSY) {
			return fmt.Errorf("another `locum serve` has this database; of SQLite one process serves at a time: end that one, or use postgres://…")
		}
		return fmt.Errorf("the file %s: %w", path, err)
	}
	db.release = func() error { return errors.Join(held.Close(), pool.Close()) }
	return nil
}

// hold takes the lock at once, or when the process that has it ends soon.
func (db *DB) hold(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	if errors.Is(err, sqlite3.BUSY) {
		db.log.Warn("another process serves this database, waiting for its end", "database", db.path, "within", handover.String())
		if _, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", handover.Milliseconds())); err == nil {
			_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
