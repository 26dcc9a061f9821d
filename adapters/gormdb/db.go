// Package gormdb stores the data of the modules in relational databases through GORM. The
// differences between the databases are in their Dialect.
//
// DB.Storage returns the repositories of all modules. The name of a file with repositories
// begins with the name of their module. The other files contain the mechanisms below.
//
// # Handles
//
// A repository gets a GORM handle from DB for each statement. The handle belongs to the
// transaction in the context, if DB.Do has begun one there, and otherwise to the database:
//
//   - conn is the handle for ordinary statements.
//   - locked and skipLocked are for reading rows that the transaction changes afterwards.
//   - unprepared is for statements whose text depends on a filter or on the number of
//     rows. GORM must not cache them as prepared statements.
//   - inQueue is for the tables of events and tasks.
//
// Outside of a transaction, reads use DB.reader and writes use DB.writer. Reads that
// tx.AllowStale permits may use a replica. Operations that GORM does not support use the
// *sql.DB of the reader, DB.pool: streams (DB.streamRows), batches of inserts, bulk loads and
// notifications. Migrations and LISTEN need a session of the server and use DB.direct.
//
// # Rows
//
// Each table has a type for its rows, which is converted to the entity of the module; rows.go
// describes how. statements.go contains functions for statements whose syntax differs between
// databases.
package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/tx"
)

// DB is an open database. It implements tx.Runner, and all repositories are based on it.
type DB struct {
	// reader, writer and pool are the connections to the primary (see the comment of the
	// package). They share one pool, unless the database allows only one writer at a time.
	reader *gorm.DB
	writer *gorm.DB
	pool   *sql.DB
	// direct is for migrations and notifications. It is the same as pool, unless the
	// connections go through a transaction pooler: then it is a separate pool, or nil
	// without a direct URL.
	direct   *sql.DB
	replicas *replicas // nil without replicas
	pools    []*sql.DB // the pools that closePools closes

	dialect Dialect
	url     string
	// modules are the modules whose tables are in this database. None means all.
	modules []string
	// migrations maps the names of modules that were added to the built-in ones to their
	// migrations.
	migrations map[string]fs.FS
	clock      clock.Clock
	newID      id.Source
	log        *slog.Logger
	notifier   *notifier
	// preparedInserts caches a preparedInsert for each type of row.
	preparedInserts sync.Map
	// release ends the reservation of the database for this process. It is nil until Claim has
	// reserved the database.
	release func() error
	// reading is the last reading of the clock, by which nowAndRepair finds that it was set back.
	reading clockReading
	// listingChanges counts the committed transactions that wrote listings.
	listingChanges atomic.Uint64
	// listingsChangedAt is when this process last learned of changed listings.
	listingsChangedAt atomic.Pointer[time.Time]
}

// OpenDB opens a database. It does not connect to it: if the database is unavailable, OpenDB
// succeeds and the statements fail.
func OpenDB(dialect Dialect, url string, deps adapters.Deps) (*DB, error) {
	pools, err := dialect.Open(url, deps.Database)
	if err != nil {
		return nil, err
	}

	db := &DB{
		pool:       pools.Primary,
		dialect:    dialect,
		url:        url,
		modules:    deps.Modules,
		migrations: deps.Database.Migrations,
		clock:      deps.Clock,
		newID:      deps.NewID,
		log:        deps.Log,
	}

	for _, pool := range []*sql.DB{pools.Primary, pools.Direct, pools.Writer} {
		if pool != nil {
			db.pools = append(db.pools, pool)
		}
	}

	db.direct = db.pool
	if deps.Database.TransactionPooler {
		db.direct = pools.Direct
	}

	if err := db.openHandles(pools, deps); err != nil {
		return nil, errors.Join(err, db.replicas.close(), db.closePools())
	}

	db.notifier = newNotifier(db)

	return db, nil
}

// openHandles opens reader, writer and the replicas.
func (db *DB) openHandles(pools Pools, deps adapters.Deps) (err error) {
	if db.reader, err = db.openGORM(pools.Primary); err != nil {
		return err
	}

	db.writer = db.reader
	if pools.Writer != nil {
		if db.writer, err = db.openGORM(pools.Writer); err != nil {
			return err
		}

		if err := db.separateWrites(pools.Writer); err != nil {
			return err
		}
	}

	if db.replicas, err = openReplicas(db.dialect, db.url, deps); err != nil {
		return err
	}

	return db.useReplicas()
}

// openGORM opens GORM on the pool, with the settings and callbacks that the repositories need.
func (db *DB) openGORM(pool *sql.DB) (*gorm.DB, error) {
	// The tags of row types refer to serializers by name. GORM registers them globally.
	for name, serializer := range serializers {
		schema.RegisterSerializer(name, serializer)
	}

	g, err := gorm.Open(translator{db.dialect.Dialector(pool), db.dialect}, &gorm.Config{
		NamingStrategy:         tableNames{},
		QueryFields:            true, // lists take 2.6 times as long with SELECT *
		PrepareStmt:            db.dialect.PreparesStatements(),
		PrepareStmtMaxSize:     256, // each number of items in a batch is another statement
		SkipDefaultTransaction: true,
		TranslateError:         true,
		DisableAutomaticPing:   true,
		Logger:                 logger.Discard,
		NowFunc:                db.clock.Now,
	})
	if err != nil {
		return nil, err
	}

	// Rows have no hooks, and GORM must not set their UpdatedAt.
	g = g.Session(&gorm.Session{SkipHooks: true})

	// GORM does not translate the errors of Raw with Scan.
	err = g.Callback().Row().After("gorm:row").Register("locum:translate", func(q *gorm.DB) {
		if q.Error != nil {
			q.Error = q.Dialector.(gorm.ErrorTranslator).Translate(q.Error)
		}
	})

	return g, errors.Join(err, db.stopAfterDeadlocks(g))
}

// stopAfterDeadlocks makes all further statements of a transaction fail after the database has rolled it back because of
// a deadlock. Otherwise MariaDB would execute them outside of any transaction and commit each of them. It adds two
// callbacks to each kind of statement: one notes the rollback, and one refuses the statements after it.
func (db *DB) stopAfterDeadlocks(g *gorm.DB) error {
	failIfRolledBack := func(q *gorm.DB) {
		if t := db.currentTx(q.Statement.Context); t != nil && t.err != nil {
			_ = q.AddError(t.err) // GORM does not execute a statement that has an error
		}
	}

	noteRollback := func(q *gorm.DB) {
		// After an error for which the transaction must run again, the database may have rolled it back.
		mayBeRolledBack := q.Error != nil && db.dialect.Retry(q.Error)
		if !mayBeRolledBack {
			return
		}

		if t := db.currentTx(q.Statement.Context); t != nil {
			t.err = q.Error
		}
	}

	const before, after = "locum:deadlock", "locum:deadlock-after" // names of the callbacks
	on := g.Callback()

	return errors.Join(
		on.Create().Before("*").Register(before, failIfRolledBack), on.Create().After("*").Register(after, noteRollback),
		on.Query().Before("*").Register(before, failIfRolledBack), on.Query().After("*").Register(after, noteRollback),
		on.Update().Before("*").Register(before, failIfRolledBack), on.Update().After("*").Register(after, noteRollback),
		on.Delete().Before("*").Register(before, failIfRolledBack), on.Delete().After("*").Register(after, noteRollback),
		on.Row().Before("*").Register(before, failIfRolledBack), on.Row().After("*").Register(after, noteRollback),
		on.Raw().Before("*").Register(before, failIfRolledBack), on.Raw().After("*").Register(after, noteRollback))
}

// separateWrites adds callbacks to the reader, which direct its writes to the writer's pool. Transactions have a handle
// of their own, so that these are the writes outside of a transaction. They bypass GORM's cache of prepared statements.
// In that cache, several callers would wait until one of them has prepared a statement, and if this one is cancelled,
// the writes of the others could fail, too.
func (db *DB) separateWrites(writerPool *sql.DB) error {
	toWriter := func(q *gorm.DB) { q.Statement.ConnPool = writerPool }

	// GORM executes a write with RETURNING as a query or row. The SQL of such a write is in the statement before the
	// callbacks run, because it is written by hand.
	writesToWriter := func(q *gorm.DB) {
		switch verb, _, _ := strings.Cut(q.Statement.SQL.String(), " "); verb {
		case "INSERT", "UPDATE", "DELETE":
			toWriter(q)
		}
	}

	const name = "locum:writer"
	on := db.reader.Callback()

	return errors.Join(
		on.Create().Before("*").Register(name, toWriter),
		on.Update().Before("*").Register(name, toWriter),
		on.Delete().Before("*").Register(name, toWriter),
		on.Raw().Before("*").Register(name, toWriter),
		on.Row().Before("*").Register(name, writesToWriter),
		on.Query().Before("*").Register(name, writesToWriter),
	)
}

// storesModule reports whether the database stores the module.
func (db *DB) storesModule(module string) bool {
	return len(db.modules) == 0 || slices.Contains(db.modules, module)
}

// Close closes the connections, and ends the reservation of the database that Claim has made.
func (db *DB) Close() error {
	db.notifier.close()

	err := errors.Join(db.replicas.close(), db.closePools())
	if db.release != nil {
		err = errors.Join(err, db.release())
	}

	return err
}

// closePools closes all connection pools.
func (db *DB) closePools() (err error) {
	for _, pool := range db.pools {
		err = errors.Join(err, pool.Close())
	}

	return err
}

// Claim reserves the database for this process until Close, if the dialect allows only one
// process at a time to serve it.
func (db *DB) Claim(ctx context.Context) (err error) {
	if single, ok := db.dialect.(SingleProcess); ok {
		db.release, err = single.Claim(ctx, db)
	}

	return err
}

// Ping checks that every pool reaches the database, and that the database accepts a write.
func (db *DB) Ping(ctx context.Context) error {
	for _, pool := range db.pools {
		if err := pool.PingContext(ctx); err != nil {
			return db.pingError(markUnavailable(db.dialect, err))
		}
	}

	// GORM refuses an update without a condition. The table has one row.
	probe := db.writer.WithContext(ctx).Table("storage_probe").Where("1 = 1").Update("probed_at", db.clock.Now())

	return db.pingError(probe.Error)
}

// pingError returns the error of Ping. A timeout is no error if the database has only one writer
// at a time, because a long write of this process may have delayed the probe.
func (db *DB) pingError(err error) error {
	hasOneWriter := !db.dialect.Locks() // databases with several writers lock rows
	if hasOneWriter && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}

	return wrap(err)
}

// conn returns a handle for one statement, in the transaction in ctx if there is one.
func (db *DB) conn(ctx context.Context) *gorm.DB {
	if t := db.currentTx(ctx); t != nil {
		return t.conn(ctx)
	}

	return db.reader.WithContext(ctx)
}

// unprepared returns the same handle as conn, but without prepared statements. It is for statements
// whose text depends on a filter or on the number of rows: GORM would cache a prepared statement
// for each variant of the text.
func (db *DB) unprepared(ctx context.Context) *gorm.DB { return withoutPreparing(db.conn(ctx)) }

// withoutPreparing lets the handle use the pool or the transaction directly, instead of through
// GORM's cache of prepared statements.
func withoutPreparing(q *gorm.DB) *gorm.DB {
	switch pool := q.Statement.ConnPool.(type) {
	case *gorm.PreparedStmtDB:
		q.Statement.ConnPool = pool.ConnPool
	case *gorm.PreparedStmtTX:
		q.Statement.ConnPool = pool.Tx
	}

	return q
}

// locked returns a handle for a query, which locks the rows that it reads until the end of the
// transaction. It is for rows that the transaction changes afterwards. Outside of a transaction,
// it is the same as conn.
func (db *DB) locked(ctx context.Context) *gorm.DB {
	q := db.conn(ctx)
	if db.dialect.Locks() && db.currentTx(ctx) != nil {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}

	return q
}

// skipLocked returns a handle for a query, which locks the rows that it reads and leaves out rows
// that other transactions have locked.
func (db *DB) skipLocked(ctx context.Context) *gorm.DB {
	return db.skipLockedRows(db.conn(ctx))
}

// skipLockedRows adds the lock of skipLocked to a query.
func (db *DB) skipLockedRows(q *gorm.DB) *gorm.DB {
	if db.dialect.Locks() {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
	}

	return q
}

// withAdvisoryLock locks a name until the end of the transaction. It is for rows that cannot be locked
// because they do not exist yet. It does nothing outside of a transaction, and with databases that
// run one writing transaction at a time.
func (db *DB) withAdvisoryLock(ctx context.Context, name string) error {
	statement := db.dialect.AdvisoryLock()

	needsNoLock := statement == ""
	if needsNoLock || db.currentTx(ctx) == nil {
		return nil
	}

	return wrap(db.conn(ctx).Exec(statement, name).Error)
}

// inQueue calls fn with a handle in a transaction for the tables of events and tasks. A new transaction gets the
// QueueSettings of the dialect, with which it need not wait for the disk. Within a transaction of the caller, the settings
// stay as they are, because the commit must wait until the caller's own writes are on the disk.
func (db *DB) inQueue(ctx context.Context, fn func(q *gorm.DB) error) error {
	isNested := db.currentTx(ctx) != nil
	settings, hasSettings := db.dialect.(QueueSettings)

	return wrap(db.Do(ctx, func(ctx context.Context) error {
		if hasSettings && !isNested {
			if err := db.conn(ctx).Exec(settings.QueueSettings()).Error; err != nil {
				return err
			}
		}

		return fn(db.unprepared(ctx))
	}))
}

var (
	// Repositories replace errNotFound and errDuplicate by errors of their module.
	errNotFound  = errors.New("no such row")
	errDuplicate = errors.New("a row with this key exists")
	// errStale means that another transaction has changed a row since it was read. It makes
	// Do run the transaction again.
	errStale = tx.ErrStale
)

// wrap translates errors of GORM and of drivers to errNotFound and errDuplicate, or to
// fault.ErrUnavailable if the same statement may succeed later. Other errors stay as they are.
func wrap(err error) error {
	switch {
	case err == nil, isError[*fault.Error](err): // already translated
		return err
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %w", errNotFound, err)
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return fmt.Errorf("%w: %w", errDuplicate, err)
	}

	return wrapUnavailable(err)
}

// wrapUnavailable translates an error to fault.ErrUnavailable if it means that the database
// cannot be used at present.
func wrapUnavailable(err error) error {
	if reason := unavailable(err); reason != "" && !isError[*fault.Error](err) {
		return fault.ErrUnavailable.WithCause(err).WithReason(string(reason)).WithRetryAfter(time.Second)
	}

	return err
}

// isError reports whether err is, or wraps, an error of the type E.
func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
