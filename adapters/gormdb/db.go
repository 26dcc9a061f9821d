// Package gormdb stores the modules in relational databases through GORM. What the
// databases do differently is in their Dialect.
package gormdb

import (
	"cmp"
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

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/metrics"
	"github.com/locumhq/locum/core/tx"
)

// DB is an open database: the tx.Runner, and what every repository is based on.
type DB struct {
	gorm    *gorm.DB
	sql     *sql.DB
	dialect Dialect
	url     string
	modules []string
	// migrations are those of added modules.
	migrations map[string]fs.FS
	clock      clock.Clock
	newID      id.Source
	log        *slog.Logger
	notifier   *notifier
	// writer is for all writes. It is another pool than gorm only if the database has
	// one writer at a time.
	writer *gorm.DB
	// dryRun builds statements without executing them.
	dryRun *gorm.DB
	// preparedInserts has a preparedInsert for each type of row.
	preparedInserts sync.Map
	// direct is for migrations and notifications. It is nil behind a transaction
	// pooler without a direct URL, and otherwise sql or a pool of its own.
	direct *sql.DB
	pools  []*sql.DB
	// release ends what Claim has begun.
	release func() error
	watch   clockWatch
	// listingChanges counts the committed transactions that wrote listings.
	listingChanges atomic.Uint64
	// listingsChangedAt is when this process last learned of changed listings.
	listingsChangedAt atomic.Pointer[time.Time]
	replicas          *replicas // nil without replicas
}

// Options are the settings of a database other than its URL.
type Options struct {
	Clock clock.Clock
	NewID id.Source
	Log   *slog.Logger
	// Modules are the modules that the database stores, all if it is empty.
	Modules []string
	// MaxConnections is the most connections to a database server, 10 if it is zero.
	MaxConnections int
	// TransactionPooler and DirectURL are those of adapters.DatabaseSettings.
	TransactionPooler bool
	DirectURL         string
	// ReplicaURLs are those of adapters.DatabaseSettings. Their connections are part
	// of MaxConnections.
	ReplicaURLs []string
	// Migrations are those of adapters.DatabaseSettings.
	Migrations map[string]fs.FS
	// Metrics may be nil.
	Metrics metrics.Registry
}

func (o Options) connections() int { return cmp.Or(o.MaxConnections, 10) }

// OpenDB opens a database without connecting: one that is unavailable is noticed by
// its users, who wait for it.
func OpenDB(d Dialect, url string, o Options) (*DB, error) {
	pools, err := d.Open(url, o)
	if err != nil {
		return nil, err
	}
	db := &DB{sql: pools.Primary, dialect: d, url: url, modules: o.Modules, migrations: o.Migrations, clock: o.Clock, newID: o.NewID, log: o.Log, pools: []*sql.DB{pools.Primary}}
	if db.gorm, err = db.openGORM(pools.Primary); err != nil {
		return nil, errors.Join(err, db.closePools())
	}
	db.writer, db.direct = db.gorm, db.sql
	if o.TransactionPooler {
		db.direct = pools.Direct
	}
	if pools.Direct != nil {
		db.pools = append(db.pools, pools.Direct)
	}
	if pools.Writer != nil {
		db.pools = append(db.pools, pools.Writer)
		if db.writer, err = db.openGORM(pools.Writer); err == nil {
			err = db.separateWrites(pools.Writer)
		}
		if err != nil {
			return nil, errors.Join(err, db.closePools())
		}
	}
	db.dryRun = db.writer.Session(&gorm.Session{DryRun: true})
	if db.replicas, err = openReplicas(d, url, o); err == nil {
		err = db.useReplicas()
	}
	if err != nil {
		return nil, errors.Join(err, db.replicas.close(), db.closePools())
	}
	db.notifier = newNotifier(db)
	return db, nil
}

func (db *DB) openGORM(pool *sql.DB) (*gorm.DB, error) {
	for name, serializer := range serializers {
		schema.RegisterSerializer(name, serializer)
	}
	g, err := gorm.Open(translator{db.dialect.Dialector(pool), db.dialect}, &gorm.Config{
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
	away := func(q *gorm.DB) { q.Statement.ConnPool = pool }
	awayIfItWrites := func(q *gorm.DB) {
		switch verb, _, _ := strings.Cut(q.Statement.SQL.String(), " "); verb {
		case "INSERT", "UPDATE", "DELETE": // with RETURNING
			away(q)
		}
	}
	const name = "locum:writer"
	on := db.gorm.Callback()
	return errors.Join(
		on.Create().Before("*").Register(name, away), on.Update().Before("*").Register(name, away), on.Delete().Before("*").Register(name, away), on.Raw().Before("*").Register(name, away),
		on.Row().Before("*").Register(name, awayIfItWrites), on.Query().Before("*").Register(name, awayIfItWrites))
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

// Conn returns the handle for a statement: of the transaction in ctx, or of the
// database outside of a transaction.
func (db *DB) Conn(ctx context.Context) *gorm.DB { return db.q(ctx) }

// q is the handle for a statement: bound to ctx, and to its transaction if
// there is one.
func (db *DB) q(ctx context.Context) *gorm.DB {
	if t := db.current(ctx); t != nil {
		return t.conn(ctx)
	}
	return db.gorm.WithContext(ctx)
}

// unprepared is q for a statement that a client gives its shape: kept for the
// next time, each would stay in memory, and there is no end of them.
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

// locked is q for reading rows that the same transaction is about to change: they
// stay locked until its end.
func (db *DB) locked(ctx context.Context) *gorm.DB {
	q := db.q(ctx)
	if db.dialect.Locks() && db.current(ctx) != nil {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	return q
}

// skipLocked is locked for rows that no other transaction has locked; locked ones are
// skipped.
func (db *DB) skipLocked(ctx context.Context) *gorm.DB {
	return db.skipLockedRows(db.q(ctx))
}

func (db *DB) skipLockedRows(q *gorm.DB) *gorm.DB {
	if db.dialect.Locks() {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
	}
	return q
}

// withAdvisoryLock makes the transactions that name the same lock take turns until
// their ends, where rows that do not exist yet cannot be locked.
func (db *DB) withAdvisoryLock(ctx context.Context, name string) error {
	statement := db.dialect.AdvisoryLock()
	if statement == "" || db.current(ctx) == nil {
		return nil
	}
	return wrap(db.q(ctx).Exec(statement, name).Error)
}

// inQueue runs fn in a transaction with a handle for the tables of events and tasks.
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

// What a repository turns into its module's own words.
var (
	errNotFound  = errors.New("no such row")
	errDuplicate = errors.New("a row with this key is there already")
	// errStale makes Do run the transaction again.
	errStale = tx.ErrStale
)

// wrap sorts the drivers' errors: what a repository answers to, what a caller
// may try again, and the rest, which is a defect.
func wrap(err error) error {
	var f *fault.Error
	switch {
	case err == nil, errors.As(err, &f):
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
	var f *fault.Error
	if reason := unavailable(err); reason != "" && !errors.As(err, &f) {
		return fault.ErrUnavailable.WithCause(err).WithReason(string(reason)).WithRetryAfter(time.Second)
	}
	return err
}

// saved returns the error of an UPDATE … WHERE version = ?.
func saved(res *gorm.DB) error { return one(res, errStale) }

// orNotFound replaces errNotFound by the module's own fault.
func orNotFound(err error, absent error) error {
	if err = wrap(err); errors.Is(err, errNotFound) {
		return absent
	}
	return err
}
