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

// Claim implements SingleProcess.
//
// What is locked is a file beside that of the database, so that operators' commands
// are not excluded, and by the driver itself, which knows how on every system. The
// lock belongs to the system: it ends with the process, however that ends.
func (SQLite) Claim(ctx context.Context, db *DB) (release func() error, err error) {
	path := sqlitePath(db.url)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	path += "-serve"
	// Never one that is there: see copyPermissions.
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		_ = file.Close()
	}
	pool, err := sqlitedriver.Open("file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(0)&modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20"))
	if err != nil {
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}
	held, err := db.hold(ctx, pool)
	if err != nil {
		err = errors.Join(err, pool.Close())
		if errors.Is(err, sqlite3.BUSY) {
			return nil, fmt.Errorf("another `locum serve` has this database; of SQLite one process serves at a time: end that one, or use postgres://…")
		}
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}
	return func() error { return errors.Join(held.Close(), pool.Close()) }, nil
}

// hold takes the lock at once, or when the process that has it ends soon.
func (db *DB) hold(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	if errors.Is(err, sqlite3.BUSY) {
		db.log.Warn("another process uses this database; waiting for it to end", "database", sqlitePath(db.url), "within", handover.String())
		if _, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", handover.Milliseconds())); err == nil {
			_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
