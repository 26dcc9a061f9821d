package gormdb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"iter"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/adapters"
)

// Dialect contains the differences between databases. The repositories are written with
// GORM's builder, for which the rest is the same. A Dialect may also implement Notifier,
// Streamer, SingleProcess, Replicator, QueueSettings, SnapshotReader, ListHinter, Batcher
// and BulkInserter.
type Dialect interface {
	// Name is the name of the database in errors and of its migrations.
	Name() string
	// Open opens the pools for a URL without connecting. The URL has a scheme that
	// the dialect was registered for.
	Open(url string, s adapters.DatabaseSettings) (Pools, error)
	// Dialector returns GORM's driver for a pool.
	Dialector(pool *sql.DB) gorm.Dialector
	// PreparesStatements reports whether GORM should keep prepared statements,
	// because the driver does not.
	PreparesStatements() bool
	// Embedded reports whether the database is a file of this machine, which is
	// migrated when a process begins to serve.
	Embedded() bool

	// Migrations returns goose's name of the database.
	Migrations() goose.Dialect
	// Migration returns a migration, written with the types of Postgres, in the SQL
	// of the database.
	Migration(sql []byte) []byte
	// MigrationLock returns the lock with which one of several processes migrates,
	// or nil if the database needs none.
	MigrationLock() (lock.SessionLocker, error)

	// Retry reports whether a transaction that failed with the error may succeed
	// when it runs again, after a deadlock for example.
	Retry(err error) bool
	// Unavailable returns one of the Reasons if the error means that the database
	// cannot be used at present, and otherwise an empty string.
	Unavailable(err error) Reason

	// In returns the condition that a column is one of the ids, as one parameter if
	// the database has lists: statements then do not differ by their number.
	In(column string, ids []string) clause.Expr
	// Typed returns a parameter whose type the database cannot derive from its
	// place; name is a type of Postgres.
	Typed(v any, name string) any
	// Excluded returns the value that an upsert would have inserted.
	Excluded(column string) string
	// Returning reports whether UPDATE has RETURNING and INSERT has ON CONFLICT DO
	// NOTHING, which reports and returns the new rows.
	Returning() bool
	// DeleteLimit reports whether DELETE has ORDER BY and LIMIT.
	DeleteLimit() bool
	// Locks reports whether rows can be locked. A database that runs one writing
	// transaction at a time needs no locks.
	Locks() bool
	// AdvisoryLock returns a statement with which transactions take turns that lock
	// the same name, which is its parameter, or an empty string without Locks.
	AdvisoryLock() string
}

// defaults are the answers of most dialects.
type defaults struct{}

// PreparesStatements implements Dialect.
func (defaults) PreparesStatements() bool { return false }

// Embedded implements Dialect.
func (defaults) Embedded() bool { return false }

// Typed implements Dialect.
func (defaults) Typed(v any, _ string) any { return v }

// Excluded implements Dialect.
func (defaults) Excluded(column string) string { return "excluded." + column }

// Returning implements Dialect.
func (defaults) Returning() bool { return true }

// DeleteLimit implements Dialect.
func (defaults) DeleteLimit() bool { return false }

// Locks implements Dialect.
func (defaults) Locks() bool { return true }

// Pools are the connections of a database.
type Pools struct {
	Primary *sql.DB
	// Writer is for all writes if the database has one writer at a time, and
	// otherwise nil.
	Writer *sql.DB
	// Direct is the pool of the DirectURL of the settings, nil without one.
	Direct *sql.DB
}

// connections returns the number of connections to a database server.
func connections(s adapters.DatabaseSettings) int { return cmp.Or(s.MaxConnections, 10) }

// limitConnections configures the pool of a database server.
func limitConnections(pool *sql.DB, n int) {
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(time.Hour)
}

// Notifier is implemented by dialects that can notify other processes of commits.
// Without it processes poll.
type Notifier interface {
	// Notify notifies all listeners, the caller's process among them.
	Notify(ctx context.Context, pool *sql.DB) error
	// Listen calls fn at each notification, until ctx is done or the connection
	// fails.
	Listen(ctx context.Context, pool *sql.DB, fn func()) error
}

// Streamer is implemented by dialects that read many rows faster than
// database/sql. Parameters are written as ?.
type Streamer interface {
	Stream(ctx context.Context, pool *sql.DB, query string, args []any, fn func(rows Rows) error) error
}

// Rows is the result of a query.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

// SingleProcess is implemented by dialects whose database one process at a time may
// serve.
type SingleProcess interface {
	// Claim makes this process the one that serves the database, until release.
	Claim(ctx context.Context, db *DB) (release func() error, err error)
}

// SnapshotReader is implemented by dialects that know which transactions a statement
// sees, and whose listing_changes.xid numbers the rows by default. Without it the row of
// listing_feed numbers them: transactions that write listings have it one after the
// other.
type SnapshotReader interface {
	// Cluster returns an expression for what identifies the server: numbers are not
	// compared with those of a restored copy. It may be empty.
	Cluster() string
	// Snapshot returns an expression for the snapshot of a statement as Postgres writes
	// it: xmin:xmax:, and the running transactions in between separated by commas. It
	// may be a number alone if none run below it.
	Snapshot() string
	// OldestRunning returns an expression for the lowest number of a transaction that
	// may be running.
	OldestRunning() string
}

// BulkInserter is implemented by dialects that insert many rows faster than with
// INSERT.
type BulkInserter interface {
	// BulkInsert inserts the rows and calls finish in one transaction.
	BulkInsert(ctx context.Context, pool *sql.DB, table string, columns []string, rows iter.Seq[[]any], finish func(tx *sql.Tx) error) error
}

// ListHinter is implemented by dialects that may read the rows of other lists too if the
// primary key has the order of a list.
type ListHinter interface {
	// ListHint returns what follows the name of the table in the query of a list that
	// has an index of its own.
	ListHint() string
}

// QueueSettings is implemented by dialects with settings for the transactions that
// claim, start and finish tasks and events. If the server crashes, the last of them
// may be lost, and the work is done again, as if the worker had crashed: they do
// not wait for the disk.
type QueueSettings interface {
	// QueueSettings returns a statement that makes the settings for the current
	// transaction.
	QueueSettings() string
}

// Statement is a statement in the SQL of the database.
type Statement struct {
	SQL  string
	Args []any
}

// Batcher is implemented by dialects that can send several statements at once.
type Batcher interface {
	// ExecBatch executes the statements in one transaction.
	ExecBatch(ctx context.Context, pool *sql.DB, statements []Statement) error
}

// Replicator is implemented by dialects whose databases can have read replicas.
type Replicator interface {
	// OpenReplica opens a pool for a URL without connecting. The pool of the primary
	// is opened with the same function for the observation of replicas.
	OpenReplica(url string, connections int, s adapters.DatabaseSettings) (*sql.DB, error)
	// CommittedPosition returns a position in the log of the primary: it is not before the end
	// of any transaction that has been committed.
	CommittedPosition(ctx context.Context, primary *sql.DB) (LogPosition, error)
	// ReplayedPosition returns the position up to which a replica has applied the log.
	ReplayedPosition(ctx context.Context, replica *sql.DB) (LogPosition, error)
}

// LogPosition is a position in the log of a database.
type LogPosition struct {
	// Database identifies the database; positions in others are not comparable.
	Database string
	Offset   int64
}

// Reason returns why a database is unavailable.
type Reason string

// Reasons.
const (
	TimedOut           Reason = "database: timeout"
	DiskFull           Reason = "database: disk full"
	ReadOnly           Reason = "database: read-only"
	TooManyConnections Reason = "database: too many connections"
	NoConnection       Reason = "database: no connection"
	IOError            Reason = "database: I/O error"
	Busy               Reason = "database: busy"
)

// retry reports whether running the whole transaction again may succeed.
func (db *DB) retry(err error) bool { return errors.Is(err, errStale) || db.dialect.Retry(err) }

// unavailableError is an error that means that the database cannot be used at
// present.
type unavailableError struct {
	error
	reason Reason
}

// Unwrap returns the error of the driver.
func (e unavailableError) Unwrap() error { return e.error }

// translator is GORM's driver with the dialect's opinion on errors.
type translator struct {
	gorm.Dialector
	dialect Dialect
}

// Translate implements gorm.ErrorTranslator.
func (t translator) Translate(err error) error {
	translated := err
	if inner, ok := t.Dialector.(gorm.ErrorTranslator); ok {
		translated = inner.Translate(err)
	}
	return markUnavailable(t.dialect, translated)
}

// markUnavailable marks an error that means that the database cannot be used. GORM
// calls it; statements that go past GORM do so themselves.
func markUnavailable(d Dialect, err error) error {
	if err == nil || d.Unavailable(err) == "" {
		return err
	}
	return unavailableError{err, d.Unavailable(err)}
}

// unavailable returns why the database could not be reached or did not answer in
// time, so that the same call may succeed later. It is empty for other errors.
func unavailable(err error) Reason {
	switch marked, isMarked := errors.AsType[unavailableError](err); {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return TimedOut
	case errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone):
		return NoConnection
	case isMarked:
		return marked.reason
	}
	return ""
}
