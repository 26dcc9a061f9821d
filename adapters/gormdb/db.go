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
	pools    []*sql.DB // the pools that Close closes

	dialect Dialect
	url     string
	modules []string
	// migrations are the migrations of modules that were added to the built-in ones.
	migrations map[string]fs.FS
	clock      clock.Clock
	newID      id.Source
	log        *slog.Logger
	notifier   *notifier
	// preparedInserts caches a preparedInsert for each type of row.
	preparedInserts sync.Map
	// release ends the reservation of the database for this process, which Claim has made. It is nil without one.
	release func() error
	reading clockReading // of the clock of the server
	// listingChanges counts the committed transactions that wrote listings.
	listingChanges atomic.Uint64
	// listingsChangedAt is when this process last learned of changed listings.
	listingsChangedAt atomic.Pointer[time.Time]
}

// OpenDB opens a database. It does not connect to it: if the database is unavailable, OpenDB
// succeeds and the statements fail.
func OpenDB(d Dialect, url string, o adapters.Deps) (*DB, error) {
	pools, err := d.Open(url, o.Database)
	if err != nil {
		return nil, err
	}

	db := &DB{
		pool:       pools.Primary,
		dialect:    d,
		url:        url,
		modules:    o.Modules,
		migrations: o.Database.Migrations,
		clock:      o.Clock,
		newID:      o.NewID,
		log:        o.Log,
	}

	for _, pool := range []*sql.DB{pools.Primary, pools.Direct, pools.Writer} {
		if pool != nil {
			db.pools = append(db.pools, pool)
		}
	}

	db.direct = db.pool
	if o.Database.TransactionPooler {
		db.direct = pools.Direct
	}

	if err := db.open(pools, o); err != nil {
		return nil, errors.Join(err, db.replicas.close(), db.closePools())
	}

	db.notifier = newNotifier(db)

	return db, nil
}

// open opens the handles of GORM and the replicas.
func (db *DB) open(pools Pools, o adapters.Deps) (err error) {
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

	if db.replicas, err = openReplicas(db.dialect, db.url, o); err != nil {
		return err
	}

	return db.useReplicas()
}

// openGORM opens GORM on the pool.
func (db *DB) openGORM(pool *sql.DB) (*gorm.DB, error) {
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

// stopAfterDeadlocks lets all further statements of a transaction fail after the database has
// rolled it back. Otherwise MariaDB would execute and commit each of them on its own.
func (db *DB) stopAfterDeadlocks(g *gorm.DB) error {
	before := func(q *gorm.DB) {
		if t := db.currentTx(q.Statement.Context); t != nil && t.err != nil {
			_ = q.AddError(t.err)
		}
	}

	after := func(q *gorm.DB) {
		if q.Error == nil || !db.dialect.Retry(q.Error) {
			return
		}

		if t := db.currentTx(q.Statement.Context); t != nil {
			t.err = q.Error
		}
	}

	const name = "locum:deadlock"
	on := g.Callback()

	return errors.Join(
		on.Create().Before("*").Register(name, before), on.Create().After("*").Register(name+"-after", after),
		on.Query().Before("*").Register(name, before), on.Query().After("*").Register(name+"-after", after),
		on.Update().Before("*").Register(name, before), on.Update().After("*").Register(name+"-after", after),
		on.Delete().Before("*").Register(name, before), on.Delete().After("*").Register(name+"-after", after),
		on.Row().Before("*").Register(name, before), on.Row().After("*").Register(name+"-after", after),
		on.Raw().Before("*").Register(name, before), on.Raw().After("*").Register(name+"-after", after))
}

// separateWrites directs writes outside of a transaction to the writer's pool, where they are
// not prepared. With prepared statements, the cancellation of one caller could make the write of
// another one fail, because both wait for GORM to prepare the same statement.
func (db *DB) separateWrites(pool *sql.DB) error {
	toWriter := func(q *gorm.DB) { q.Statement.ConnPool = pool }
	writesToWriter := func(q *gorm.DB) {
		switch verb, _, _ := strings.Cut(q.Statement.SQL.String(), " "); verb {
		case "INSERT", "UPDATE", "DELETE": // a write with RETURNING is a query for GORM
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

// Close closes the connections.
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

	probe := db.writer.WithContext(ctx).Table("storage_probe").Where("1 = 1").Update("probed_at", db.clock.Now())

	return db.pingError(probe.Error)
}

// pingError ignores the timeout of a probe of SQLite, which may only mean that a long write
// of this process delays the probe.
func (db *DB) pingError(err error) error {
	if !db.dialect.Locks() && errors.Is(err, context.DeadlineExceeded) {
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

// unprepared is like conn, for a statement whose text depends on a filter or on the number of rows.
// GORM would cache a prepared statement for each variant of the text.
func (db *DB) unprepared(ctx context.Context) *gorm.DB { return unprepared(db.conn(ctx)) }

// unprepared returns the handle without prepared statements.
func unprepared(q *gorm.DB) *gorm.DB {
	switch pool := q.Statement.ConnPool.(type) {
	case *gorm.PreparedStmtDB:
		q.Statement.ConnPool = pool.ConnPool
	case *gorm.PreparedStmtTX:
		q.Statement.ConnPool = pool.Tx
	}

	return q
}

// locked is like conn, and locks the rows that it reads, which the transaction changes
// afterwards.
func (db *DB) locked(ctx context.Context) *gorm.DB {
	q := db.conn(ctx)
	if db.dialect.Locks() && db.currentTx(ctx) != nil {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}

	return q
}

// skipLocked is like locked, but leaves out rows that other transactions have locked.
func (db *DB) skipLocked(ctx context.Context) *gorm.DB {
	return db.skipLockedRows(db.conn(ctx))
}

// skipLockedRows adds the lock of skipLocked to the query.
func (db *DB) skipLockedRows(q *gorm.DB) *gorm.DB {
	if db.dialect.Locks() {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
	}

	return q
}

// withAdvisoryLock locks a name, which has no row, until the end of the transaction. It is for rows that cannot
// be locked because they do not exist yet. It does nothing outside of a transaction, and with databases
// that run one writing transaction at a time.
func (db *DB) withAdvisoryLock(ctx context.Context, name string) error {
	statement := db.dialect.AdvisoryLock()
	if statement == "" || db.currentTx(ctx) == nil {
		return nil
	}

	return wrap(db.conn(ctx).Exec(statement, name).Error)
}

// inQueue calls fn with a handle in a transaction that has the QueueSettings of the dialect.
func (db *DB) inQueue(ctx context.Context, fn func(q *gorm.DB) error) error {
	isNested := db.currentTx(ctx) != nil
	tuned, hasSettings := db.dialect.(QueueSettings)

	return wrap(db.Do(ctx, func(ctx context.Context) error {
		if hasSettings && !isNested { // an outer transaction keeps the usual settings
			if err := db.conn(ctx).Exec(tuned.QueueSettings()).Error; err != nil {
				return err
			}
		}

		return fn(db.unprepared(ctx))
	}))
}

// Errors that repositories replace by errors of their module.
var (
	errNotFound  = errors.New("no such row")
	errDuplicate = errors.New("a row with this key exists")
	// errStale makes Do run the transaction again.
	errStale = tx.ErrStale
)

// wrap translates errors of GORM and of drivers: to errNotFound, to errDuplicate, or to
// fault.ErrUnavailable if the same statement may succeed later.
func wrap(err error) error {
	switch {
	case err == nil, isError[*fault.Error](err):
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
