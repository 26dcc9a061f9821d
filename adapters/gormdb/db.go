// Package gormdb stores the modules in relational databases through GORM. What the
// databases do differently is in their Dialect.
//
// DB.Storage returns the repositories. A file contains those of one part of a module and
// begins with the name of the module; the other files are the mechanisms below.
//
// # Handles
//
// Repositories use GORM with handles that DB returns for one statement each. They belong
// to the transaction in the context, if DB.Do has begun one there, and otherwise to the
// database:
//
//   - q is the handle of ordinary statements.
//   - locked and skipLocked are for reading rows that the transaction changes afterwards.
//   - unprepared is for statements whose text depends on a filter or on the number of
//     rows, which GORM must not keep.
//   - inQueue is for the tables of events and tasks.
//
// Outside of a transaction, reads use DB.reader and writes DB.writer, which GORM chooses
// by the statement, and reads that tx.AllowStale permits may use a replica. What GORM
// cannot do uses the *sql.DB of the reader, DB.pool: streams (DB.each), batches of
// inserts, bulk loads and notifications. Migrations and LISTEN use DB.direct, since they
// need a session of the server.
//
// # Rows
//
// Each table has a type for its rows, which converts to the entity of the module; rows.go
// says how. Statements that databases write differently are functions in statements.go.
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

// DB is an open database: the tx.Runner, and what every repository is based on.
type DB struct {
	// reader, writer and pool are the connections to the primary. See the comment of
	// the package. They are one pool, unless the database has one writer at a time.
	reader *gorm.DB
	writer *gorm.DB
	pool   *sql.DB
	// direct is for migrations and notifications. It is nil behind a transaction
	// pooler without a direct URL, and otherwise pool or a pool of its own.
	direct   *sql.DB
	replicas *replicas // nil without replicas
	pools    []*sql.DB // those that Close closes

	dialect Dialect
	url     string
	modules []string
	// migrations are those of added modules.
	migrations map[string]fs.FS
	clock      clock.Clock
	newID      id.Source
	log        *slog.Logger
	notifier   *notifier
	// preparedInserts has a preparedInsert for each type of row.
	preparedInserts sync.Map
	// release ends what Claim has begun.
	release func() error
	reading clockReading
	// listingChanges counts the committed transactions that wrote listings.
	listingChanges atomic.Uint64
	// listingsChangedAt is when this process last learned of changed listings.
	listingsChangedAt atomic.Pointer[time.Time]
}

// OpenDB opens a database without connecting to it: statements fail while it is
// unavailable.
func OpenDB(d Dialect, url string, o adapters.Deps) (*DB, error) {
	pools, err := d.Open(url, o.Database)
	if err != nil {
		return nil, err
	}
	db := &DB{pool: pools.Primary, dialect: d, url: url, modules: o.Modules, migrations: o.Database.Migrations, clock: o.Clock, newID: o.NewID, log: o.Log}
	db.pools = slices.DeleteFunc([]*sql.DB{pools.Primary, pools.Direct, pools.Writer}, func(pool *sql.DB) bool { return pool == nil })
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

func (db *DB) openGORM(pool *sql.DB) (*gorm.DB, error) {
	for name, serializer := range serializers {
		schema.RegisterSerializer(name, serializer)
	}
	g, err := gorm.Open(translator{db.dialect.Dialector(pool), db.dialect}, &gorm.Config{
		NamingStrategy:         tableNames{},
		QueryFields:            true, // SELECT * costs lists 2.6 times as much
		PrepareStmt:            db.dialect.PreparesStatements(),
		PrepareStmtMaxSize:     256, // a batch has a statement of its own for each number of items
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

// stopAfterDeadlocks fails the statements of a transaction that the database has rolled
// back. MariaDB would commit each of them on its own.
func (db *DB) stopAfterDeadlocks(g *gorm.DB) error {
	before := func(q *gorm.DB) {
		if t := db.current(q.Statement.Context); t != nil && t.err != nil {
			_ = q.AddError(t.err)
		}
	}
	after := func(q *gorm.DB) {
		if q.Error == nil || !db.dialect.Retry(q.Error) {
			return
		}
		if t := db.current(q.Statement.Context); t != nil {
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

// separateWrites uses the writer's pool for writes outside of a transaction. They
// are not prepared: a caller that waits for GORM to prepare a statement for another
// caller fails when that one is cancelled.
func (db *DB) separateWrites(pool *sql.DB) error {
	toWriter := func(q *gorm.DB) { q.Statement.ConnPool = pool }
	writesToWriter := func(q *gorm.DB) {
		switch verb, _, _ := strings.Cut(q.Statement.SQL.String(), " "); verb {
		case "INSERT", "UPDATE", "DELETE": // with RETURNING
			toWriter(q)
		}
	}
	const name = "locum:writer"
	on := db.reader.Callback()
	return errors.Join(
		on.Create().Before("*").Register(name, toWriter), on.Update().Before("*").Register(name, toWriter), on.Delete().Before("*").Register(name, toWriter), on.Raw().Before("*").Register(name, toWriter),
		on.Row().Before("*").Register(name, writesToWriter), on.Query().Before("*").Register(name, writesToWriter))
}

// stores reports whether the database stores the module.
func (db *DB) stores(module string) bool {
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

func (db *DB) closePools() (err error) {
	for _, pool := range db.pools {
		err = errors.Join(err, pool.Close())
	}
	return err
}

// Claim makes this process the one that serves the database, until Close, if one
// process at a time may.
func (db *DB) Claim(ctx context.Context) (err error) {
	if single, ok := db.dialect.(SingleProcess); ok {
		db.release, err = single.Claim(ctx, db)
	}
	return err
}

// Ping checks that every pool reaches the database and that it accepts a write.
func (db *DB) Ping(ctx context.Context) error {
	for _, pool := range db.pools {
		if err := pool.PingContext(ctx); err != nil {
			return db.pingError(markUnavailable(db.dialect, err))
		}
	}
	return db.pingError(db.writer.WithContext(ctx).Table("storage_probe").Where("1 = 1").Update("probed_at", db.clock.Now()).Error)
}

// pingError ignores the wait for the writer of SQLite, which a long write of this
// process makes longer than a probe lasts.
func (db *DB) pingError(err error) error {
	if !db.dialect.Locks() && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return wrap(err)
}

// q returns a handle for one statement, in the transaction in ctx if there is one.
func (db *DB) q(ctx context.Context) *gorm.DB {
	if t := db.current(ctx); t != nil {
		return t.conn(ctx)
	}
	return db.reader.WithContext(ctx)
}

// unprepared is q for a statement that depends on a filter or on the number of rows.
// GORM would keep a prepared one for each.
func (db *DB) unprepared(ctx context.Context) *gorm.DB { return unprepared(db.q(ctx)) }

func unprepared(q *gorm.DB) *gorm.DB {
	switch pool := q.Statement.ConnPool.(type) {
	case *gorm.PreparedStmtDB:
		q.Statement.ConnPool = pool.ConnPool
	case *gorm.PreparedStmtTX:
		q.Statement.ConnPool = pool.Tx
	}
	return q
}

// locked is q for rows that the transaction changes afterwards: it locks them.
func (db *DB) locked(ctx context.Context) *gorm.DB {
	q := db.q(ctx)
	if db.dialect.Locks() && db.current(ctx) != nil {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	return q
}

// skipLocked is locked without the rows that other transactions have locked.
func (db *DB) skipLocked(ctx context.Context) *gorm.DB {
	return db.skipLockedRows(db.q(ctx))
}

func (db *DB) skipLockedRows(q *gorm.DB) *gorm.DB {
	if db.dialect.Locks() {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
	}
	return q
}

// withAdvisoryLock locks a name until the end of the transaction, for rows that do not
// exist yet and cannot be locked.
func (db *DB) withAdvisoryLock(ctx context.Context, name string) error {
	statement := db.dialect.AdvisoryLock()
	if statement == "" || db.current(ctx) == nil {
		return nil
	}
	return wrap(db.q(ctx).Exec(statement, name).Error)
}

// inQueue runs fn in a transaction with the QueueSettings and a handle for it.
func (db *DB) inQueue(ctx context.Context, fn func(q *gorm.DB) error) error {
	outer := db.current(ctx) != nil
	return wrap(db.Do(ctx, func(ctx context.Context) error {
		if tuned, ok := db.dialect.(QueueSettings); ok && !outer {
			if err := db.q(ctx).Exec(tuned.QueueSettings()).Error; err != nil {
				return err
			}
		}
		return fn(db.unprepared(ctx))
	}))
}

// Errors that a repository replaces by those of its module.
var (
	errNotFound  = errors.New("no such row")
	errDuplicate = errors.New("a row with this key exists")
	// errStale makes Do run the transaction again.
	errStale = tx.ErrStale
)

// wrap replaces errors of GORM and of drivers: by errNotFound and errDuplicate, and by
// fault.ErrUnavailable if the same call may succeed later.
func wrap(err error) error {
	switch {
	case err == nil, is[*fault.Error](err):
		return err
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%w: %w", errNotFound, err)
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return fmt.Errorf("%w: %w", errDuplicate, err)
	}
	return wrapUnavailable(err)
}

// wrapUnavailable replaces an error that means that the database cannot be used.
func wrapUnavailable(err error) error {
	if reason := unavailable(err); reason != "" && !is[*fault.Error](err) {
		return fault.ErrUnavailable.WithCause(err).WithReason(string(reason)).WithRetryAfter(time.Second)
	}
	return err
}

// is reports whether err is of the type, or wraps an error of it.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
