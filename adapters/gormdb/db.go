// Package gormdb stores everything in Postgres or SQLite through GORM, in one
// code path: what the two databases write differently is in dialect.go, and
// the few statements that one of them cannot say stand beside each other.
package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/tx"
)

// DB is an open database: the tx.Runner, and what every repository is built on.
type DB struct {
	gorm    *gorm.DB
	sql     *sql.DB
	dialect dialect
	path    string // of a SQLite file
	clock   clock.Clock
	newID   id.Source
	log     *slog.Logger
	bell    *bell
	// writer is what writes. SQLite has one writer at a time: its pool has one
	// connection, for whose turn the others wait, and the connections that read
	// cannot write. SQLite itself would let all of them ask again and again, and
	// refuse whoever has bad luck for 5 s.
	writer *gorm.DB
	// queue is another pool of Postgres with settings of its own (queueSettings).
	queue *gorm.DB
	more  []*sql.DB
	// release ends what Claim has begun.
	release func() error
	watch   clockWatch
	// listingChanges counts the committed transactions that wrote listings.
	listingChanges atomic.Uint64
}

// Options are what a database needs beside its URL.
type Options struct {
	Clock clock.Clock
	NewID id.Source
	Log   *slog.Logger
}

// OpenDB opens the database that the URL names: sqlite:PATH or postgres://….
// It does not connect: a database that is away is noticed, and waited for, by
// whoever uses it.
func OpenDB(url string, o Options) (*DB, error) {
	d, err := dialectOf(url)
	if err != nil {
		return nil, err
	}
	pool, err := d.open(url)
	if err != nil {
		return nil, err
	}
	options := gorm.Config{
		QueryFields:            true, // SELECT * costs lists 2.6 times as much
		PrepareStmt:            d == sqlite,
		PrepareStmtMaxSize:     256, // a batch has a statement of its own for each number of items
		SkipDefaultTransaction: true,
		TranslateError:         true,
		DisableAutomaticPing:   true,
		Logger:                 logger.Discard,
		NowFunc:                o.Clock.Now,
	}
	g, err := gorm.Open(d.dialector(pool), &options)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	db := &DB{gorm: g, sql: pool, dialect: d, path: strings.TrimPrefix(url, "sqlite:"), clock: o.Clock, newID: o.NewID, log: o.Log}
	if err := db.openMore(url, options); err != nil {
		return nil, errors.Join(err, db.closePools())
	}
	db.bell = newBell(db)
	return db, nil
}

// openMore opens the pools beside the first.
func (db *DB) openMore(url string, options gorm.Config) error {
	db.writer, db.queue = db.gorm, db.gorm
	another := func(as **gorm.DB, open func() (*sql.DB, error)) error {
		pool, err := open()
		if err != nil {
			return err
		}
		db.more = append(db.more, pool)
		*as, err = gorm.Open(db.dialect.dialector(pool), &options)
		return err
	}
	if db.pg() {
		return another(&db.queue, func() (*sql.DB, error) { return openPostgres(url, queueSettings, queueConnections) })
	}
	if err := another(&db.writer, func() (*sql.DB, error) { return db.dialect.openWriter(url) }); err != nil {
		return err
	}
	return db.writesApart(db.more[0])
}

// writesApart leads what writes outside of a transaction to the writer's pool.
// It goes unprepared: who waits for GORM to prepare a statement for another
// caller fails when that caller is called off.
func (db *DB) writesApart(pool *sql.DB) error {
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

// Close ends the connections.
func (db *DB) Close() error {
	db.bell.close()
	err := db.closePools()
	if db.release != nil {
		err = errors.Join(err, db.release())
	}
	return err
}

func (db *DB) closePools() error {
	err := db.sql.Close()
	for _, pool := range db.more {
		err = errors.Join(err, pool.Close())
	}
	return err
}

// Ping checks that every pool reaches the database and that it takes a write.
func (db *DB) Ping(ctx context.Context) error {
	for _, pool := range append([]*sql.DB{db.sql}, db.more...) {
		if err := pool.PingContext(ctx); err != nil {
			return db.pingError(err)
		}
	}
	return db.pingError(db.writer.WithContext(ctx).Exec("UPDATE storage_probe SET probed_at = ?", db.clock.Now()).Error)
}

// pingError ignores the wait for SQLite's one writer, which a long write of this
// process makes longer than a probe lasts.
func (db *DB) pingError(err error) error {
	if !db.pg() && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return wrap(err)
}

func (db *DB) pg() bool { return db.dialect == postgres }

// transaction is what travels in the context of a tx.Do.
type transaction struct {
	gorm     *gorm.DB
	recorded bool // events were recorded or jobs added: wake the relay after the commit
	listings bool // listings were written: what was read of them before is old
}

type txKey struct{ db *DB }

func (db *DB) current(ctx context.Context) *transaction {
	t, _ := ctx.Value(txKey{db}).(*transaction)
	return t
}

// q is the handle for a statement: bound to ctx, and to its transaction if
// there is one.
func (db *DB) q(ctx context.Context) *gorm.DB {
	if t := db.current(ctx); t != nil {
		return t.gorm.WithContext(ctx)
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

// locked is q for reading rows that the same transaction is about to change:
// they stay locked until its end. SQLite's immediate transactions are alone
// anyway.
func (db *DB) locked(ctx context.Context) *gorm.DB {
	q := db.q(ctx)
	if db.pg() && db.current(ctx) != nil {
		return q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	return q
}

// turn makes the transactions that name the same thing take turns until their
// ends, where rows that are not there yet cannot be locked. SQLite's immediate
// transactions do anyway.
func (db *DB) turn(ctx context.Context, name string) error {
	if !db.pg() || db.current(ctx) == nil {
		return nil
	}
	return wrap(db.q(ctx).Exec("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", name).Error)
}

// aside is q for the queue's own bookkeeping, which is one statement each and
// may be lost with the server's last moments (see queueSettings).
func (db *DB) aside(ctx context.Context) *gorm.DB {
	if db.current(ctx) != nil {
		return db.unprepared(ctx)
	}
	return unprepared(db.queue.WithContext(ctx))
}

// maxTries bounds how often a transaction that lost a race is run again.
const maxTries = 12

// Do implements tx.Runner.
func (db *DB) Do(ctx context.Context, fn func(context.Context) error) error {
	if db.current(ctx) != nil {
		return fn(ctx)
	}
	for try := 1; ; try++ {
		t, err := db.once(ctx, fn)
		if err == nil {
			if t.listings {
				db.listingChanges.Add(1)
			}
			if t.recorded {
				db.bell.ring()
			}
			return nil
		}
		if !lostRace(err) {
			return err
		}
		if try == maxTries {
			return fault.ErrUnavailable.WithCause(err).WithReason(busy).WithRetryAfter(time.Second)
		}
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(min(try, 6)) * int64(5*time.Millisecond)))) //nolint:gosec // jitter needs no secrecy
		select {
		case <-ctx.Done():
			pause.Stop()
			return wrap(ctx.Err())
		case <-pause.C:
		}
	}
}

func (db *DB) once(ctx context.Context, fn func(context.Context) error) (*transaction, error) {
	t := &transaction{}
	err := db.writer.WithContext(ctx).Transaction(func(g *gorm.DB) error {
		t.gorm = g
		return fn(context.WithValue(ctx, txKey{db}, t))
	})
	return t, wrap(err)
}

// listingsChange notes that listings are written, to be told of at the commit.
func (db *DB) listingsChange(ctx context.Context) {
	if t := db.current(ctx); t != nil {
		t.listings = true
	} else {
		db.listingChanges.Add(1)
	}
}

// recorded notes that the relay has something to do, to be told at the commit.
func (db *DB) recorded(ctx context.Context) {
	if t := db.current(ctx); t != nil {
		t.recorded = true
	} else {
		db.bell.ring()
	}
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
		return errNotFound
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return fmt.Errorf("%w: %w", errDuplicate, err)
	}
	if reason := unavailable(err); reason != "" {
		return fault.ErrUnavailable.WithCause(err).WithReason(reason).WithRetryAfter(time.Second)
	}
	return err
}

// saved checks the outcome of an UPDATE … WHERE version = ?.
func saved(res *gorm.DB) error {
	if res.Error != nil {
		return wrap(res.Error)
	}
	if res.RowsAffected == 0 {
		return errStale
	}
	return nil
}

// orNotFound replaces errNotFound by the module's own fault.
func orNotFound(err error, absent error) error {
	if err = wrap(err); errors.Is(err, errNotFound) {
		return absent
	}
	return err
}
