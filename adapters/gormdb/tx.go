package gormdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/locumhq/locum/core/fault"
)

// transaction is the transaction in the context of a tx.Do. It begins with its first
// statement other than an insert. Inserts before that are deferred: a transaction of
// inserts alone takes one round trip instead of four.
type transaction struct {
	db       *DB
	start    func() *gorm.DB // with the context of Do
	gorm     *gorm.DB        // nil until the transaction begins
	inserts  []insert        // deferred until the transaction begins or commits
	err      error           // why the transaction cannot commit, such as a deadlock
	ended    bool
	recorded bool // events were recorded or tasks added: the commit notifies the relay
	listings bool // listings were written: the commit invalidates what was read of them
}

// insert is a row, or a pointer to several.
type insert struct {
	rows any
	// duplicate is the error if a row has the same key, the columns of a unique index.
	key       []string
	duplicate error
}

// run executes the insert. The transaction can continue after the error duplicate.
func (i insert) run(q *gorm.DB) error {
	if i.duplicate != nil {
		return one(createNew(q, i.rows, i.key...), i.duplicate)
	}
	return wrap(q.Create(i.rows).Error)
}

// maxTries bounds how often a transaction that lost a race is run again.
const maxTries = 12

// Do implements tx.Runner.
func (db *DB) Do(ctx context.Context, fn func(context.Context) error) error {
	if db.current(ctx) != nil {
		return fn(ctx)
	}
	for try := 1; ; try++ {
		t, err := db.runOnce(ctx, fn)
		if err == nil {
			if t.listings {
				db.noteListingsChanged()
				db.listingChanges.Add(1)
			}
			if t.recorded {
				db.notifier.notify()
			}
			return nil
		}
		if !db.retry(err) {
			return err
		}
		if try == maxTries {
			return fault.ErrUnavailable.WithCause(err).WithReason(string(Busy)).WithRetryAfter(time.Second)
		}
		pause(ctx, time.Duration(rand.Int64N(int64(min(try, 6))*int64(5*time.Millisecond)))) //nolint:gosec // jitter needs no secrecy
		if ctx.Err() != nil {
			return wrap(ctx.Err())
		}
	}
}

func (db *DB) runOnce(ctx context.Context, fn func(context.Context) error) (*transaction, error) {
	t := &transaction{db: db, start: func() *gorm.DB { return db.writer.WithContext(ctx).Begin() }}
	defer t.end()
	if err := fn(context.WithValue(context.WithValue(ctx, txKey{db}, t), innermostKey{}, t)); err != nil {
		return t, wrapUnavailable(err)
	}
	return t, wrap(t.commit(ctx))
}

// conn returns the handle for a statement. If the transaction has ended or cannot
// begin, all statements fail with that error.
func (t *transaction) conn(ctx context.Context) *gorm.DB {
	if err := t.begin(); err != nil {
		q := t.db.reader.WithContext(ctx)
		_ = q.AddError(err)
		return q
	}
	return t.gorm.WithContext(ctx)
}

// begin begins the transaction, unless it has begun, and executes the deferred inserts.
func (t *transaction) begin() error {
	if t.ended {
		return sql.ErrTxDone
	}
	if t.gorm != nil {
		return t.err
	}
	t.gorm = t.start()
	t.err = t.gorm.Error
	for _, i := range t.inserts {
		if t.err == nil {
			t.err = i.run(t.gorm)
		}
	}
	return t.err
}

func (t *transaction) commit(ctx context.Context) error {
	if batcher, ok := t.db.dialect.(Batcher); ok && t.gorm == nil && len(t.inserts) > 0 {
		return t.commitBatch(ctx, batcher)
	}
	if t.gorm == nil && len(t.inserts) == 0 {
		return nil
	}
	if err := t.begin(); err != nil {
		return err
	}
	t.ended = true
	return t.gorm.Commit().Error
}

func (t *transaction) commitBatch(ctx context.Context, batcher Batcher) error {
	statements := make([]Statement, len(t.inserts))
	var duplicate error
	for n, i := range t.inserts {
		var err error
		if statements[n], err = t.db.insertStatement(ctx, i.rows); err != nil {
			return err
		}
		duplicate = cmp.Or(duplicate, i.duplicate)
	}
	err := batcher.ExecBatch(ctx, t.db.pool, statements)
	err = wrap(t.db.writer.Dialector.(gorm.ErrorTranslator).Translate(err))
	if duplicate != nil && errors.Is(err, errDuplicate) {
		return duplicate
	}
	return err
}

// preparedInsert is the statement that inserts one row of a type. Building it each
// time takes GORM longer than sending it.
type preparedInsert struct {
	sql    string
	fields []*schema.Field
}

func (p preparedInsert) args(ctx context.Context, row any) []any {
	v := reflect.ValueOf(row).Elem()
	args := make([]any, len(p.fields))
	for i, f := range p.fields {
		args[i], _ = f.ValueOf(ctx, v)
	}
	return args
}

// insertStatement returns the statement that inserts a row or several.
func (db *DB) insertStatement(ctx context.Context, rows any) (Statement, error) {
	t := reflect.TypeOf(rows)
	if p, ok := db.preparedInserts.Load(t); ok {
		p := p.(preparedInsert)
		return Statement{p.sql, p.args(ctx, rows)}, nil
	}
	s := db.writer.Session(&gorm.Session{Context: ctx, DryRun: true}).Create(rows).Statement
	if s.Error != nil {
		return Statement{}, s.Error
	}
	if t.Elem().Kind() == reflect.Struct {
		p := preparedInsert{sql: s.SQL.String()}
		for _, name := range s.Schema.DBNames {
			p.fields = append(p.fields, s.Schema.FieldsByDBName[name])
		}
		if reflect.DeepEqual(p.args(ctx, rows), s.Vars) { // no value of the database's
			db.preparedInserts.Store(t, p)
		}
	}
	return Statement{s.SQL.String(), s.Vars}, nil
}

// end rolls the transaction back unless it is committed. Later statements fail.
func (t *transaction) end() {
	if t.gorm != nil && !t.ended {
		t.gorm.Rollback()
	}
	t.ended = true
}

// insert executes an insert, or defers it if the transaction in ctx has not begun: then
// the transaction fails with its error.
func (db *DB) insert(ctx context.Context, i insert) error {
	if t := db.current(ctx); t != nil && t.gorm == nil && !t.ended {
		t.inserts = append(t.inserts, i)
		return nil
	}
	return i.run(db.q(ctx))
}

type txKey struct{ db *DB }

func (db *DB) current(ctx context.Context) *transaction {
	t, _ := ctx.Value(txKey{db}).(*transaction)
	return t
}

// innermostKey is the key of the innermost transaction of any database.
type innermostKey struct{}

// Read implements tx.Reader. Conn then returns a handle of the pool for reads.
func (db *DB) Read(ctx context.Context, fn func(context.Context) error) error {
	if db.current(ctx) != nil {
		return fn(ctx)
	}
	t := &transaction{db: db, gorm: db.reader.WithContext(ctx)}
	defer func() { t.ended = true }()
	return wrapUnavailable(fn(context.WithValue(ctx, innermostKey{}, t)))
}

// ErrNoTransaction is the error of Conn outside of a transaction.
var ErrNoTransaction = errors.New("there is no transaction in the context")

// Conn returns a handle of the transaction in ctx, or of the tx.Read in ctx, for
// repositories outside of this package. The error is ErrNoTransaction outside of a
// transaction, or the reason why the transaction cannot begin.
func Conn(ctx context.Context) (*gorm.DB, error) {
	t, ok := ctx.Value(innermostKey{}).(*transaction)
	if !ok {
		return nil, ErrNoTransaction
	}
	if err := t.begin(); err != nil {
		return nil, wrapUnavailable(err)
	}
	q := t.gorm.WithContext(ctx)
	q.Statement.SkipHooks, q.NamingStrategy = false, schema.NamingStrategy{}
	return q, nil
}

// markListingsWritten marks the transaction as one that writes listings.
func (db *DB) markListingsWritten(ctx context.Context) {
	if t := db.current(ctx); t != nil {
		t.listings = true
	} else {
		db.noteListingsChanged()
		db.listingChanges.Add(1)
	}
}

// markRecorded marks the transaction as one whose commit notifies the relay.
func (db *DB) markRecorded(ctx context.Context) {
	if t := db.current(ctx); t != nil {
		t.recorded = true
	} else {
		db.notifier.notify()
	}
}
