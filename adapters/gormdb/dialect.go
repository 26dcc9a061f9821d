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

// Dialect describes how a database differs from the others. The repositories are written
// with GORM's builder, which translates everything that a Dialect does not describe. A
// Dialect may also implement the optional interfaces Notifier, Streamer, SingleProcess,
// Replicator, QueueSettings, SnapshotReader, ListHinter, Batcher and BulkInserter.
type Dialect interface {
	// Name returns the name of the database in errors and in the names of migrations.
	Name() string
	// Open opens the pools for a URL without connecting. The URL has a scheme that
	// the dialect was registered for.
	Open(url string, settings adapters.DatabaseSettings) (Pools, error)
	// Dialector returns GORM's driver for a pool.
	Dialector(pool *sql.DB) gorm.Dialector
	// PreparesStatements reports whether GORM should cache prepared statements,
	// because the driver does not.
	PreparesStatements() bool
	// Embedded reports whether the database is a file on this machine. Such a database
	// is migrated when a process begins to serve.
	Embedded() bool

	// Migrations returns the dialect of goose for the database.
	Migrations() goose.Dialect
	// Migration translates a migration, which is written with the types of Postgres, to
	// the SQL of the database.
	Migration(sql []byte) []byte
	// MigrationLock returns the lock that allows only one of several processes to
	// migrate, or nil if the database needs none.
	MigrationLock() (lock.SessionLocker, error)

	// Retry reports whether a transaction that failed with the error, for example because
	// of a deadlock, may succeed when it runs again.
	Retry(err error) bool
	// Unavailable returns one of the Reasons if the error means that the database
	// cannot be used at present, and otherwise an empty string.
	Unavailable(err error) Reason

	// In returns the condition that a column is one of the ids. If the database accepts a
	// whole list as one parameter, the condition has only this parameter. The text of the
	// statement then does not depend on the number of ids.
	In(column string, ids []string) clause.Expr
	// Typed returns a parameter with an explicit type, for places from which the database
	// cannot derive the type. postgresType is the name of the type in Postgres.
	Typed(value any, postgresType string) any
	// Excluded returns the expression for the value that an upsert would have inserted into
	// the column if there had been no conflict.
	Excluded(column string) string
	// Returning reports whether UPDATE supports RETURNING, and INSERT supports ON
	// CONFLICT DO NOTHING with RETURNING for the rows that were inserted.
	Returning() bool
	// DeleteLimit reports whether DELETE supports ORDER BY and LIMIT.
	DeleteLimit() bool
	// Locks reports whether SELECT … FOR UPDATE can lock rows. A database that runs one
	// writing transaction at a time needs no locks.
	Locks() bool
	// AdvisoryLock returns a statement that locks a name, its only parameter, until the
	// end of the transaction. It is empty if Locks returns false.
	AdvisoryLock() string
}

// defaults implements the methods of Dialect as they are for most databases.
type defaults struct{}

// PreparesStatements implements Dialect.
func (defaults) PreparesStatements() bool { return false }

// Embedded implements Dialect.
func (defaults) Embedded() bool { return false }

// Typed implements Dialect.
func (defaults) Typed(value any, _ string) any { return value }

// Excluded implements Dialect.
func (defaults) Excluded(column string) string { return "excluded." + column }

// Returning implements Dialect.
func (defaults) Returning() bool { return true }

// DeleteLimit implements Dialect.
func (defaults) DeleteLimit() bool { return false }

// Locks implements Dialect.
func (defaults) Locks() bool { return true }

// Pools are the connection pools of a database.
type Pools struct {
	// Primary is for reads, and also for writes if Writer is nil.
	Primary *sql.DB
	// Writer is for all writes if the database allows one writer at a time, and otherwise
	// nil.
	Writer *sql.DB
	// Direct connects to the DirectURL of the settings, which bypasses a transaction pooler.
	// It is nil without a DirectURL.
	Direct *sql.DB
}

// connections returns the maximum number of connections to a database server.
func connections(settings adapters.DatabaseSettings) int {
	const defaultMaximum = 10
	return cmp.Or(settings.MaxConnections, defaultMaximum)
}

// limitConnections limits the number and the age of the connections of a pool. All of them may
// be idle, so that the pool doesn't close and open connections whenever the load changes.
func limitConnections(pool *sql.DB, maxConnections int) {
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(time.Hour)
}

// Notifier is implemented by dialects that can notify all processes that use the database, for
// example of new tasks. With other dialects, the processes poll.
type Notifier interface {
	// Notify notifies all listeners, the caller's process among them.
	Notify(ctx context.Context, pool *sql.DB) error
	// Listen calls fn at each notification until ctx is done or the connection fails. It may
	// also call fn without a notification.
	Listen(ctx context.Context, pool *sql.DB, fn func()) error
}

// Streamer is implemented by dialects that can read many rows faster than database/sql does.
type Streamer interface {
	// Stream executes the query, whose parameters are written as ?, and calls fn once for each
	// row. fn scans the current row and does not call rows.Next.
	Stream(ctx context.Context, pool *sql.DB, query string, args []any, fn func(rows Rows) error) error
}

// Rows is the result of a query. *sql.Rows implements it.
type Rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}

// SingleProcess is implemented by dialects whose databases can be served by only one process
// at a time.
type SingleProcess interface {
	// Claim reserves the database for this process until release is called.
	Claim(ctx context.Context, db *DB) (release func() error, err error)
}

// SnapshotReader is implemented by dialects that number transactions and can determine which of
// them a statement sees. The feed of changed listings needs this: each row of listing_changes
// has the number of its transaction in the column xid, as the column's default value. With other
// dialects, a counter in the table listing_feed numbers the rows instead, so that transactions
// that write listings wait for each other.
//
// The methods return SQL expressions.
type SnapshotReader interface {
	// Cluster returns an expression that identifies the server, so that transaction
	// numbers are not compared with those of a restored copy. It may be empty.
	Cluster() string
	// Snapshot returns an expression for the snapshot of a statement in the format of
	// Postgres, "xmin:xmax:running". All transactions before xmin have ended. Those from
	// xmax on had not begun. running lists the running ones in between, separated by commas.
	// If none of them can be running, the expression may be xmin alone.
	Snapshot() string
	// OldestRunning returns an expression for the lowest number of a transaction that
	// may be running.
	OldestRunning() string
}

// BulkInserter is implemented by dialects that have a faster way to insert many rows than
// INSERT.
type BulkInserter interface {
	// BulkInsert inserts the rows into the table and then calls finish, both in one
	// transaction. Each row has one value for each of the columns, in the same order.
	BulkInsert(
		ctx context.Context,
		pool *sql.DB,
		table string,
		columns []string,
		rows iter.Seq[[]any],
		finish func(tx *sql.Tx) error,
	) error
}

// ListHinter is implemented by dialects of databases that may choose the wrong index for a page
// of a list: they read the rows in the order of the primary key, in which the rows of all lists
// are mixed, although the list has an index of its own.
type ListHinter interface {
	// ListHint returns a hint that excludes the primary key. It is written after the name of
	// the table.
	ListHint() string
}

// QueueSettings is implemented by dialects with special settings for the transactions that
// claim, start and finish tasks and events. These transactions need not wait until they are on
// disk: if the server crashes and the last of them are lost, the work is done again, as after a
// crash of the worker.
type QueueSettings interface {
	// QueueSettings returns a statement that changes the settings of the current transaction.
	QueueSettings() string
}

// Statement is a statement in the SQL of the database, with the values of its parameters.
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
	// OpenReplica opens a pool for a URL without connecting. It also opens a second pool to
	// the primary, from which CommittedPosition reads.
	OpenReplica(url string, connections int, settings adapters.DatabaseSettings) (*sql.DB, error)
	// CommittedPosition returns a position in the log of the primary. All transactions that
	// have been committed so far end at or before it.
	CommittedPosition(ctx context.Context, primary *sql.DB) (LogPosition, error)
	// ReplayedPosition returns the position up to which a replica has applied the log of its
	// primary.
	ReplayedPosition(ctx context.Context, replica *sql.DB) (LogPosition, error)
}

// LogPosition is a position in the write-ahead log of a database, which replicas apply.
type LogPosition struct {
	// Database identifies the database. Positions in different databases are not
	// comparable.
	Database string
	Offset   int64
}

// Reason says why a database is unavailable.
type Reason string

// The reasons that Dialect.Unavailable returns.
const (
	TimedOut           Reason = "database: timeout"
	DiskFull           Reason = "database: disk full"
	ReadOnly           Reason = "database: read-only"
	TooManyConnections Reason = "database: too many connections"
	NoConnection       Reason = "database: no connection"
	IOError            Reason = "database: I/O error"
	Busy               Reason = "database: busy"
)

// shouldRetry reports whether running the whole transaction again may succeed. A repository
// returns errStale if another transaction has changed what this one has read.
func (db *DB) shouldRetry(err error) bool { return errors.Is(err, errStale) || db.dialect.Retry(err) }

// unavailableError marks an error of the driver that means that the database cannot be used at
// present.
type unavailableError struct {
	error
	reason Reason
}

// Unwrap returns the error of the driver.
func (e unavailableError) Unwrap() error { return e.error }

// translator is GORM's driver for a dialect. It also translates errors: those that mean that the
// database is unavailable become an unavailableError.
type translator struct {
	gorm.Dialector
	dialect Dialect
}

// Translate implements gorm.ErrorTranslator. It calls the translator of GORM's driver first, which
// returns errors such as gorm.ErrDuplicatedKey.
func (t translator) Translate(err error) error {
	translated := err
	if inner, ok := t.Dialector.(gorm.ErrorTranslator); ok {
		translated = inner.Translate(err)
	}

	return markUnavailable(t.dialect, translated)
}

// markUnavailable returns the error as an unavailableError if it means that the database cannot
// be used, and otherwise unchanged. GORM calls it through translator. Code that uses a pool
// without GORM has to call it itself.
func markUnavailable(d Dialect, err error) error {
	if err == nil {
		return nil
	}

	reason := d.Unavailable(err)
	if reason == "" {
		return err
	}

	return unavailableError{error: err, reason: reason}
}

// unavailable returns the reason if the error means that the database could not be reached or
// did not answer in time, so that the same statement may succeed later. It returns "" for
// other errors.
func unavailable(err error) Reason {
	marked, isMarked := errors.AsType[unavailableError](err)

	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return TimedOut
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return NoConnection
	case isMarked:
		return marked.reason
	}

	return ""
}
