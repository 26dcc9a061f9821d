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
	Open(url string, s adapters.DatabaseSettings) (Pools, error)
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

	// In returns the condition that a column is one of the ids. If the database has
	// lists, the condition has one parameter, so that statements do not differ by the
	// number of ids.
	In(column string, ids []string) clause.Expr
	// Typed returns a parameter with an explicit type, for places from which the database
	// cannot derive the type. name is a type of Postgres.
	Typed(v any, name string) any
	// Excluded returns the value that an upsert would have inserted.
	Excluded(column string) string
	// Returning reports whether UPDATE supports RETURNING, and INSERT supports ON
	// CONFLICT DO NOTHING with RETURNING for the rows that were inserted.
	Returning() bool
	// DeleteLimit reports whether DELETE has ORDER BY and LIMIT.
	DeleteLimit() bool
	// Locks reports whether rows can be locked. A database that runs one writing
	// transaction at a time needs no locks.
	Locks() bool
	// AdvisoryLock returns a statement that locks a name, its only parameter, until the
	// end of the transaction. It is empty if the database has no Locks.
	AdvisoryLock() string
}

// defaults implements the methods of Dialect as they are for most databases.
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
	// Writer is for all writes if the database allows one writer at a time, and otherwise
	// nil.
	Writer *sql.DB
	// Direct is the pool for the DirectURL of the settings, nil without a DirectURL.
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

// Notifier is implemented by dialects that can notify other processes of commits. With other
// dialects, the processes poll.
type Notifier interface {
	// Notify notifies all listeners, the caller's process among them.
	Notify(ctx context.Context, pool *sql.DB) error
	// Listen calls fn at each notification, until ctx is done or the connection
	// fails.
	Listen(ctx context.Context, pool *sql.DB, fn func()) error
}

// Streamer is implemented by dialects that can read many rows faster than database/sql does.
// Parameters in the query are written as ?.
type Streamer interface {
	Stream(ctx context.Context, pool *sql.DB, query string, args []any, fn func(rows Rows) error) error
}

// Rows is the result of a query.
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

// SnapshotReader is implemented by dialects that can determine which transactions a statement
// sees, and in which the column listing_changes.xid has a transaction number as default. With
// other dialects, a counter in the row of listing_feed numbers the changes, which serializes
// the transactions that write listings.
type SnapshotReader interface {
	// Cluster returns an expression that identifies the server, so that transaction
	// numbers are not compared with those of a restored copy. It may be empty.
	Cluster() string
	// Snapshot returns an expression for the snapshot of a statement in the format of
	// Postgres: xmin:xmax:, followed by the running transactions in between, separated by
	// commas. If no transaction with a lower number is running, the expression may be
	// xmin alone.
	Snapshot() string
	// OldestRunning returns an expression for the lowest number of a transaction that
	// may be running.
	OldestRunning() string
}

// BulkInserter is implemented by dialects that insert many rows faster than with
// INSERT.
type BulkInserter interface {
	// BulkInsert inserts the rows and calls finish in one transaction. A row has a value for each
	// of the columns.
	BulkInsert(
		ctx context.Context,
		pool *sql.DB,
		table string,
		columns []string,
		rows iter.Seq[[]any],
		finish func(tx *sql.Tx) error,
	) error
}

// ListHinter is implemented by dialects of databases that may choose the primary key for a
// list, because it has the right order, although it also contains the rows of other lists.
type ListHinter interface {
	// ListHint returns the hint that follows the name of the table in the query of a list
	// that has its own index.
	ListHint() string
}

// QueueSettings is implemented by dialects with settings for the transactions that claim,
// start and finish tasks and events. These transactions need not wait for the disk: if the
// server crashes and the last of them are lost, the work is done again, as after a crash of
// the worker.
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
	// OpenReplica opens a pool for a URL without connecting. The same method opens the
	// pool of the primary with whose position the replicas are compared.
	OpenReplica(url string, connections int, s adapters.DatabaseSettings) (*sql.DB, error)
	// CommittedPosition returns a position in the log of the primary that is not before
	// the end of any committed transaction.
	CommittedPosition(ctx context.Context, primary *sql.DB) (LogPosition, error)
	// ReplayedPosition returns the position up to which a replica has applied the log.
	ReplayedPosition(ctx context.Context, replica *sql.DB) (LogPosition, error)
}

// LogPosition is a position in the log of a database.
type LogPosition struct {
	// Database identifies the database. Positions in different databases are not
	// comparable.
	Database string
	Offset   int64
}

// Reason is why a database is unavailable.
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

// translator is GORM's driver for a dialect. It marks errors that mean, according to the
// dialect, that the database is unavailable.
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

// markUnavailable marks an error that means that the database cannot be used. GORM calls it
// through translator. Code that does not use GORM has to call it.
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
