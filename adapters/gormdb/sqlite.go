package gormdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
	sqlitedriver "github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/gormlite"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/adapters"
)

// SQLite is the dialect of SQLite. Only one process at a time can serve a database.
type SQLite struct{ defaults }

// Name implements Dialect.
func (SQLite) Name() string { return "sqlite" }

// Open implements Dialect. SQLite has one writer at a time. So there is one pool with a single connection,
// for which writers queue, and one with read-only connections. If writers had several connections, they
// would poll for the lock of the database and fail after 5 s.
func (SQLite) Open(address string, _ adapters.DatabaseSettings) (Pools, error) {
	path := sqlitePath(address)
	if path == "" {
		return Pools{}, errors.New("want sqlite:PATH")
	}

	const maxReaders, maxWriters = 8, 1

	readers, err := openSQLite(path, sqliteTimes+"&_pragma=query_only(1)", maxReaders)
	if err != nil {
		return Pools{}, err
	}

	writer, err := openSQLite(path, sqliteTimes, maxWriters)
	if err != nil {
		return Pools{}, errors.Join(err, readers.Close())
	}

	return Pools{Primary: readers, Writer: writer}, nil
}

// sqlitePath returns the path in a URL of the form sqlite:PATH.
func sqlitePath(address string) string { return strings.TrimPrefix(address, "sqlite:") }

// Dialector implements Dialect.
func (SQLite) Dialector(pool *sql.DB) gorm.Dialector { return gormlite.OpenDB(pool) }

// PreparesStatements implements Dialect.
func (SQLite) PreparesStatements() bool { return true }

// Embedded implements Dialect.
func (SQLite) Embedded() bool { return true }

// Migrations implements Dialect.
func (SQLite) Migrations() goose.Dialect { return goose.DialectSQLite3 }

// MigrationLock implements Dialect. SQLite has no lock that spans several migrations.
func (SQLite) MigrationLock() (lock.SessionLocker, error) { return nil, nil } //nolint:nilnil // the interface says so

// Retry implements Dialect. With one writer at a time, transactions do not conflict.
func (SQLite) Retry(error) bool { return false }

// Unavailable implements Dialect.
func (SQLite) Unavailable(err error) Reason {
	code, _ := errors.AsType[sqlite3.ErrorCode](err)

	// Any other code, and 0 for an error of another type, yields the empty reason.
	return map[sqlite3.ErrorCode]Reason{
		sqlite3.BUSY:      Busy,
		sqlite3.LOCKED:    Busy,
		sqlite3.INTERRUPT: TimedOut,
		sqlite3.FULL:      DiskFull,
		sqlite3.IOERR:     IOError,
		sqlite3.CANTOPEN:  IOError,
		sqlite3.READONLY:  ReadOnly,
	}[code]
}

// In implements Dialect.
func (SQLite) In(column string, ids []string) clause.Expr {
	return gorm.Expr(column+" IN (SELECT value FROM json_each(?))", idJSON(ids))
}

// idJSON is a list of ids as a JSON array, which SQLite can read as rows.
type idJSON []string

// Value implements driver.Valuer.
func (ids idJSON) Value() (driver.Value, error) {
	array, err := json.Marshal([]string(ids))
	return string(array), err
}

// Locks implements Dialect.
func (SQLite) Locks() bool { return false }

// AdvisoryLock implements Dialect.
func (SQLite) AdvisoryLock() string { return "" }

// Cluster implements SnapshotReader. SQLite has no server that could be identified.
func (SQLite) Cluster() string { return "" }

// Snapshot implements SnapshotReader. It is the number of the next change, and no list of running
// transactions: SQLite runs one write transaction at a time, so that all changes with lower numbers are
// committed.
func (d SQLite) Snapshot() string { return d.OldestRunning() }

// OldestRunning implements SnapshotReader. SQLite does not number transactions. Instead, each row
// of listing_changes has a number of its own, and sqlite_sequence contains the last one.
func (SQLite) OldestRunning() string {
	return "(SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'listing_changes')"
}

// sqliteTypes maps the types of the migrations to those of SQLite. The driver recognizes
// timestamps only in a column that is declared as DATETIME.
var sqliteTypes = map[string]string{
	"UUID":             "TEXT",
	"TIMESTAMPTZ":      "DATETIME",
	"JSONB":            "TEXT",
	"BIGINT":           "INTEGER",
	"DOUBLE PRECISION": "REAL",
}

// typeName matches the keys of sqliteTypes.
var typeName = regexp.MustCompile(`\b(UUID|TIMESTAMPTZ|JSONB|BIGINT|DOUBLE PRECISION)\b`)

// Migration implements Dialect.
func (SQLite) Migration(sql []byte) []byte {
	return typeName.ReplaceAllFunc(sql, func(name []byte) []byte { return []byte(sqliteTypes[string(name)]) })
}

// sqliteTime is the format of stored timestamps. They always have six decimals and the time
// zone UTC, so that comparing them as text compares the times.
const sqliteTime = "2006-01-02T15:04:05.000000Z07:00"

// sqliteTimes is the option of the driver for sqliteTime.
var sqliteTimes = "&_timefmt=" + url.QueryEscape(sqliteTime)

// openSQLite opens a pool. It creates the file, and its folder, if they do not exist. moreOptions
// are further options for the driver, each of the form &NAME=VALUE.
func openSQLite(path, moreOptions string, maxConnections int) (*sql.DB, error) {
	if err := createDatabaseFile(path); err != nil {
		return nil, err
	}

	if err := copyPermissions(path); err != nil {
		return nil, err
	}

	// Transactions are immediate: they wait for the lock at BEGIN. Deferred transactions lock at the first
	// write, and fail if another one has written since they began to read (190 of 200 with 20 concurrent
	// writers). The timeout is in milliseconds. A negative size of the cache is in KiB.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_txlock=immediate&modeof=" + escapeQuery(path) +
		"&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_pragma=cache_size(-16000)" + moreOptions

	// Each new connection may create the write-ahead log.
	pool, err := sqlitedriver.Open(dsn, func(*sqlite3.Conn) error { return copyPermissions(path) })
	if err != nil {
		return nil, err
	}

	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)

	return pool, nil
}

// createDatabaseFile creates the file and its folder if they do not exist. Only this user may read
// them.
func createDatabaseFile(path string) error {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("the database's folder: %w", err)
		}
	}

	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("the database's file: %w", err)
	}

	return file.Close()
}

// copyPermissions sets the permissions of the write-ahead log (-wal) and of its index (-shm) to those
// of the database, because they contain pages of the database. The driver does so for a new log
// (option modeof), but neither for its index nor for existing files.
//
// copyPermissions does not open existing files: on some systems, closing one would release the locks
// of the driver.
func copyPermissions(path string) error {
	database, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the database's file: %w", err)
	}

	mode := database.Mode().Perm()
	log, index := path+"-wal", path+"-shm"

	// Create the index before the driver does, unless it exists.
	if file, err := os.OpenFile(index, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err == nil {
		_ = file.Close()
	}

	for _, file := range []string{log, index} {
		err := setPermissions(file, mode)
		isAbsent := errors.Is(err, fs.ErrNotExist)
		belongsToOtherUser := errors.Is(err, fs.ErrPermission)

		if err != nil && !isAbsent && !belongsToOtherUser {
			return fmt.Errorf("a file beside the database's: %w", err)
		}
	}

	return nil
}

// setPermissions changes the permissions of a file that has other permissions.
func setPermissions(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}

	if info.Mode().Perm() == mode {
		return nil
	}

	return os.Chmod(path, mode)
}

// escapeQuery escapes a value of a URL's query. The SQLite driver does not decode a plus.
func escapeQuery(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

// claimTimeout is the maximum time for which Claim waits for another process to shut down.
const claimTimeout = 30 * time.Second

// Claim implements SingleProcess.
//
// It locks the file PATH-serve and not the database itself, so that operators can run commands on
// the database meanwhile. This file is a SQLite database too: the lock is an exclusive transaction in
// it. The operating system releases the lock when the process ends.
func (SQLite) Claim(ctx context.Context, db *DB) (release func() error, err error) {
	// Different links to a database must lead to the same lock.
	path := sqlitePath(db.url)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}

	path += "-serve"

	// An existing file is not opened: closing it would release the lock on some systems.
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
		_ = file.Close()
	}

	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=busy_timeout(0)&modeof=" + escapeQuery(path)

	pool, err := sqlitedriver.Open(dsn)
	if err != nil {
		return nil, fmt.Errorf("the file %s: %w", path, err)
	}

	lockHolder, err := db.lockExclusively(ctx, pool)
	if err != nil {
		err = errors.Join(err, pool.Close())
		if errors.Is(err, sqlite3.BUSY) {
			return nil, errors.New("another `locum serve` has this database; " +
				"one process at a time can serve a SQLite database: stop the other one, or use postgres://…")
		}

		return nil, fmt.Errorf("the file %s: %w", path, err)
	}

	return func() error { return errors.Join(lockHolder.Close(), pool.Close()) }, nil
}

// lockExclusively returns a connection of the pool that holds the exclusive lock of its database.
// Closing the connection releases the lock.
func (db *DB) lockExclusively(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}

	if err := db.beginExclusively(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}

	return conn, nil
}

// beginExclusively begins a transaction that excludes other processes. If another process holds
// the lock, beginExclusively logs this and waits up to claimTimeout.
func (db *DB) beginExclusively(ctx context.Context, conn *sql.Conn) error {
	const begin = "BEGIN EXCLUSIVE"

	_, err := conn.ExecContext(ctx, begin)
	if !errors.Is(err, sqlite3.BUSY) {
		return err
	}

	path, limit := sqlitePath(db.url), claimTimeout.String()
	db.log.Warn("another process uses this database; waiting for it to end", "database", path, "within", limit)

	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", claimTimeout.Milliseconds()))
	if err != nil {
		return err
	}

	_, err = conn.ExecContext(ctx, begin)

	return err
}
