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

// transaction is the transaction of a DB.Do. It saves round trips to the database by deferring inserts.
//
// An insert by DB.insert is only noted at first. With the first other statement, the transaction begins in the
// database, and the deferred inserts are executed. If there is no other statement, the transaction consists of
// these inserts alone. It is then sent as one batch, which takes one round trip instead of four.
type transaction struct {
	db        *DB
	beginGORM func() *gorm.DB // begins the transaction in the context of Do
	gorm      *gorm.DB        // nil until the transaction begins
	inserts   []insert        // deferred until the transaction begins or commits
	err       error           // why the transaction cannot commit, such as a deadlock
	hasEnded  bool
	// addedWork is set if the transaction has added events or tasks, so that the commit has to
	// notify the processes that wait for them.
	addedWork bool
	// wroteListings is set if cached listings are outdated after the commit.
	wroteListings bool
}

// insert is an insert of one or several rows that a transaction can defer.
type insert struct {
	rows any      // a pointer to a row or to a slice of rows
	key  []string // the columns of a unique index, if errDuplicate is set
	// errDuplicate is the error if a row with the same key exists. Without errDuplicate, such a row
	// makes the transaction fail.
	errDuplicate error
}

// execute executes the insert at once. After errDuplicate, the transaction can continue.
func (i insert) execute(q *gorm.DB) error {
	if i.errDuplicate != nil {
		return requireRow(createIfAbsent(q, i.rows, i.key...), i.errDuplicate)
	}

	return wrap(q.Create(i.rows).Error)
}

// maxAttempts is how often a transaction is run if it keeps failing because of concurrent
// transactions.
const maxAttempts = 12

// Do implements tx.Runner. Within a transaction of this database, fn becomes a part of it.
func (db *DB) Do(ctx context.Context, fn func(context.Context) error) error {
	if isNested := db.currentTx(ctx) != nil; isNested {
		return fn(ctx)
	}

	for attempt := 1; ; attempt++ {
		t, err := db.runOnce(ctx, fn)
		if err == nil {
			db.announce(t)
			return nil
		}

		if !db.shouldRetry(err) {
			return err
		}

		if attempt == maxAttempts {
			return fault.ErrUnavailable.WithCause(err).WithReason(string(Busy)).WithRetryAfter(time.Second)
		}

		// Pause for a random time of at most 30 ms, so that the same transactions do not collide again.
		const step, maxSteps = 5 * time.Millisecond, 6
		maxPause := time.Duration(min(attempt, maxSteps)) * step
		pause(ctx, rand.N(maxPause)) //nolint:gosec // jitter needs no secrecy

		if ctx.Err() != nil {
			return wrap(ctx.Err())
		}
	}
}

// announce informs the other parts of the process about a committed transaction.
func (db *DB) announce(t *transaction) {
	if t.wroteListings {
		db.noteListingsChanged()
		db.listingChanges.Add(1)
	}

	if t.addedWork {
		db.notifier.notify()
	}
}

// runOnce runs one attempt of the transaction. fn gets a context with the transaction: as that of this
// database, and as the innermost one of all databases.
func (db *DB) runOnce(ctx context.Context, fn func(context.Context) error) (*transaction, error) {
	t := &transaction{db: db, beginGORM: func() *gorm.DB { return db.writer.WithContext(ctx).Begin() }}
	defer t.end()

	ofThisDatabase := context.WithValue(ctx, txKey{db}, t)
	txCtx := context.WithValue(ofThisDatabase, innermostKey{}, t)

	if err := fn(txCtx); err != nil {
		return t, wrapUnavailable(err)
	}

	return t, wrap(t.commit(ctx))
}

// conn returns the handle for a statement, before which the transaction begins. If the transaction has
// ended or cannot begin, the statement fails with that error.
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
	if t.hasEnded {
		return sql.ErrTxDone
	}

	if hasBegun := t.gorm != nil; hasBegun {
		return t.err
	}

	t.gorm = t.beginGORM()
	t.err = t.gorm.Error

	for _, i := range t.inserts {
		if t.err == nil {
			t.err = i.execute(t.gorm)
		}
	}

	return t.err
}

// commit commits the transaction. It does nothing if there was no statement. A transaction that has not begun yet
// consists of deferred inserts alone. They are executed as a batch if the dialect supports batches.
func (t *transaction) commit(ctx context.Context) error {
	hasBegun := t.gorm != nil
	if !hasBegun && len(t.inserts) == 0 {
		return nil
	}

	if batcher, ok := t.db.dialect.(Batcher); ok && !hasBegun {
		return t.commitBatch(ctx, batcher)
	}

	if err := t.begin(); err != nil {
		return err
	}

	t.hasEnded = true

	return t.gorm.Commit().Error
}

// commitBatch executes the deferred inserts in one round trip and one transaction of the database.
func (t *transaction) commitBatch(ctx context.Context, batcher Batcher) error {
	statements := make([]Statement, len(t.inserts))

	// A duplicate key in a batch is reported without the insert that has failed. So at most one insert of a batch may
	// have an errDuplicate, and the duplicate is taken to be its own.
	var errOfDuplicate error
	for n, insert := range t.inserts {
		var err error
		if statements[n], err = t.db.insertStatement(ctx, insert.rows); err != nil {
			return err
		}

		errOfDuplicate = cmp.Or(errOfDuplicate, insert.errDuplicate)
	}

	driverErr := batcher.ExecBatch(ctx, t.db.pool, statements)
	err := wrap(t.db.writer.Dialector.(gorm.ErrorTranslator).Translate(driverErr))

	if errOfDuplicate != nil && errors.Is(err, errDuplicate) {
		return errOfDuplicate
	}

	return err
}

// preparedInsert is the statement that inserts one row of a type. It is cached because GORM
// takes longer to build the statement than the database takes to execute it.
type preparedInsert struct {
	sql    string
	fields []*schema.Field // whose values are the parameters of the statement
}

// args returns the parameters of the statement for the row.
func (p preparedInsert) args(ctx context.Context, row any) []any {
	value := reflect.ValueOf(row).Elem()

	args := make([]any, len(p.fields))
	for i, field := range p.fields {
		args[i], _ = field.ValueOf(ctx, value)
	}

	return args
}

// insertStatement returns the statement that inserts one or several rows. rows is a pointer to a row or to
// a slice of rows. The statement for a single row is cached by the type of the row.
func (db *DB) insertStatement(ctx context.Context, rows any) (Statement, error) {
	rowType := reflect.TypeOf(rows)
	if cached, isCached := db.preparedInserts.Load(rowType); isCached {
		prepared := cached.(preparedInsert)
		return Statement{SQL: prepared.sql, Args: prepared.args(ctx, rows)}, nil
	}

	// Let GORM build the statement without executing it.
	built := db.writer.Session(&gorm.Session{Context: ctx, DryRun: true}).Create(rows).Statement
	if built.Error != nil {
		return Statement{}, built.Error
	}

	if isSingleRow := rowType.Elem().Kind() == reflect.Struct; isSingleRow {
		prepared := preparedInsert{sql: built.SQL.String()}
		for _, name := range built.Schema.DBNames {
			prepared.fields = append(prepared.fields, built.Schema.FieldsByDBName[name])
		}

		// GORM leaves out parameters for values that the database computes. The parameters of args would then not be
		// those of the statement, so that it is not cached.
		if reflect.DeepEqual(prepared.args(ctx, rows), built.Vars) {
			db.preparedInserts.Store(rowType, prepared)
		}
	}

	return Statement{SQL: built.SQL.String(), Args: built.Vars}, nil
}

// end rolls the transaction back unless it is committed. Later statements fail.
func (t *transaction) end() {
	if t.gorm != nil && !t.hasEnded {
		t.gorm.Rollback()
	}

	t.hasEnded = true
}

// insert executes an insert, or defers it if the transaction in ctx has not begun. The error
// of a deferred insert becomes the error of the transaction.
func (db *DB) insert(ctx context.Context, i insert) error {
	t := db.currentTx(ctx)

	canDefer := t != nil && t.gorm == nil && !t.hasEnded
	if canDefer {
		t.inserts = append(t.inserts, i)
		return nil
	}

	return i.execute(db.conn(ctx))
}

// txKey is the key of the transaction of a database in a context. Each database has its own key, because
// a context can have transactions of several databases.
type txKey struct{ db *DB }

// currentTx returns the transaction of this database in ctx, or nil.
func (db *DB) currentTx(ctx context.Context) *transaction {
	t, _ := ctx.Value(txKey{db}).(*transaction)
	return t
}

// innermostKey is the key of the innermost transaction in a context, of any database.
type innermostKey struct{}

// Read implements tx.Reader. It begins no transaction: in the context of fn, Conn returns a handle of the
// pool for reads.
func (db *DB) Read(ctx context.Context, fn func(context.Context) error) error {
	if isInTransaction := db.currentTx(ctx) != nil; isInTransaction {
		return fn(ctx)
	}

	// Conn expects a transaction in the context. This one seems to have begun: its handle is that of the pool, so that
	// its statements are executed without a transaction.
	t := &transaction{db: db, gorm: db.reader.WithContext(ctx)}
	defer func() { t.hasEnded = true }()

	return wrapUnavailable(fn(context.WithValue(ctx, innermostKey{}, t)))
}

// ErrNoTransaction is the error of Conn outside of a transaction.
var ErrNoTransaction = errors.New("there is no transaction in the context")

// Conn returns a handle for repositories outside of this package. It belongs to the
// transaction or tx.Read in ctx. Conn returns ErrNoTransaction if ctx has neither, and an
// error if the transaction cannot begin.
func Conn(ctx context.Context) (*gorm.DB, error) {
	t, isInTransaction := ctx.Value(innermostKey{}).(*transaction)
	if !isInTransaction {
		return nil, ErrNoTransaction
	}

	if err := t.begin(); err != nil {
		return nil, wrapUnavailable(err)
	}

	// Types of other packages may have hooks, and GORM's usual names of tables.
	q := t.gorm.WithContext(ctx)
	q.Statement.SkipHooks, q.NamingStrategy = false, schema.NamingStrategy{}

	return q, nil
}

// markListingsWritten records that the transaction in ctx writes listings, which its commit announces.
// Without a transaction, the write is already committed and announced at once.
func (db *DB) markListingsWritten(ctx context.Context) {
	if t := db.currentTx(ctx); t != nil {
		t.wroteListings = true
	} else {
		db.noteListingsChanged()
		db.listingChanges.Add(1)
	}
}

// markWorkAdded records that the transaction in ctx adds events or tasks, so that its commit notifies
// the processes that wait for them. Without a transaction, it notifies them at once.
func (db *DB) markWorkAdded(ctx context.Context) {
	if t := db.currentTx(ctx); t != nil {
		t.addedWork = true
	} else {
		db.notifier.notify()
	}
}
