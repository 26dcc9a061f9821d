package gormdb

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/list"
)

// The syntax of the statements below differs between databases. Repositories use these
// functions, which choose the syntax by the dialect. q is a GORM handle, which may have
// conditions already. R is the type of a row.

// dialectOf returns the dialect of the database of q.
func dialectOf(q *gorm.DB) Dialect { return q.Dialector.(translator).dialect }

// deleteLimited deletes the first n rows, in the given order, that the conditions of q select.
// It returns the number of deleted rows. key lists the columns of the primary key.
func deleteLimited[R any](q *gorm.DB, n int, order string, key ...string) (int, error) {
	if dialectOf(q).DeleteLimit() {
		res := q.Order(order).Limit(n).Delete(new(R))
		return int(res.RowsAffected), wrap(res.Error)
	}

	firstRows := q.Model(new(R)).Select(key).Order(order).Limit(n)
	res := newStatement(q).Where("("+strings.Join(key, ", ")+") IN (?)", firstRows).Delete(new(R))

	return int(res.RowsAffected), wrap(res.Error)
}

// updateReturning updates the rows that the conditions of q select, and returns the given columns of
// these rows after the update. set maps columns to their new values. key is the column of the primary
// key. q must be a handle of a transaction.
func updateReturning[R any](q *gorm.DB, key string, set map[string]any, columns ...string) (rows []R, err error) {
	if dialectOf(q).Returning() {
		err = q.Model(&rows).Clauses(returning(columns)).Updates(set).Error
		return rows, wrap(err)
	}

	// Without RETURNING, lock the rows, update them and read them again.
	var keys []string

	lock := clause.Locking{Strength: clause.LockingStrengthUpdate}
	if err := q.Model(new(R)).Clauses(lock).Order(key).Pluck(key, &keys).Error; err != nil || len(keys) == 0 {
		return nil, wrap(err)
	}

	isLocked := dialectOf(q).In(key, keys)
	if err := newStatement(q).Model(new(R)).Where(isLocked).Updates(set).Error; err != nil {
		return nil, wrap(err)
	}

	err = newStatement(q).Select(columns).Where(isLocked).Find(&rows).Error

	return rows, wrap(err)
}

// createIfAbsent inserts the row unless a row with the same key exists. key lists the columns of
// a unique index. RowsAffected of the result is 1 or 0.
//
// A database without RETURNING reports a duplicate key as an error. createIfAbsent ignores it. The transaction
// continues, because in such a database this error does not end it.
func createIfAbsent(q *gorm.DB, row any, key ...string) *gorm.DB {
	if dialectOf(q).Returning() {
		return q.Clauses(ignoreOnConflict(key)).Create(row)
	}

	res := q.Create(row)
	if errors.Is(res.Error, gorm.ErrDuplicatedKey) {
		res.Error, res.RowsAffected = nil, 0
	}

	return res
}

// rowLimit is the maximum number of rows that an owner may have.
type rowLimit struct {
	maximum    int
	errReached error
	// counted adds the conditions for the rows that count.
	counted selection
	// lock is the name of an advisory lock for the owner. Without it, concurrent callers could
	// exceed the limit.
	lock string
}

// createBelowLimit inserts the row, or returns limit.errReached if there are as many rows as the limit
// allows.
func createBelowLimit[R any](ctx context.Context, db *DB, row *R, limit rowLimit) error {
	return db.Do(ctx, func(ctx context.Context) error {
		if err := db.withAdvisoryLock(ctx, limit.lock); err != nil {
			return err
		}

		var existing int64
		if err := limit.counted(db.conn(ctx).Model(new(R))).Count(&existing).Error; err != nil {
			return wrap(err)
		}

		if int(existing) >= limit.maximum {
			return limit.errReached
		}

		return wrap(db.conn(ctx).Create(row).Error)
	})
}

// insertIfAbsent inserts those rows whose key does not exist, and returns the inserted rows. key
// lists the columns of a unique index. q must be a handle of a transaction.
func insertIfAbsent[R any](q *gorm.DB, rows []R, key ...string) (inserted []R, err error) {
	if len(rows) == 0 {
		return nil, nil
	}

	if !dialectOf(q).Returning() {
		return insertMissing(q, rows, key)
	}

	// GORM's Create would store the returned values in rows, where inserted rows cannot be distinguished from the
	// others. So Create only builds the statement (DryRun). The statement is then executed like a query, whose
	// result is the inserted rows.
	insert := q.Session(&gorm.Session{DryRun: true}).Clauses(ignoreOnConflict(key), returning(nil)).Create(&rows).Statement
	err = newStatement(q).Raw(insert.SQL.String(), insert.Vars...).Scan(&inserted).Error

	return inserted, wrap(err)
}

// insertMissing does the same as insertIfAbsent for databases without RETURNING: it reads which keys
// exist, and inserts and returns the other rows. If another transaction inserts one of these keys in the
// meantime, insertMissing returns errStale, so that the transaction runs again.
func insertMissing[R any](q *gorm.DB, rows []R, key []string) ([]R, error) {
	table := newStatement(q).Model(new(R))
	if err := table.Statement.Parse(new(R)); err != nil {
		return nil, err
	}

	// keyOf returns the values of the key's columns.
	keyOf := func(row R) (values []any) {
		for _, column := range key {
			field := table.Statement.Schema.LookUpField(column)
			value, _ := field.ValueOf(q.Statement.Context, reflect.ValueOf(row))
			values = append(values, value)
		}

		return values
	}

	keyText := func(row R) string { return fmt.Sprint(keyOf(row)...) }

	var existing []R
	sameKey := table.Select(key).Where("("+strings.Join(key, ", ")+") IN ?", list.Map(rows, keyOf))

	if err := sameKey.Find(&existing).Error; err != nil {
		return nil, wrap(err)
	}

	isKnown := list.ToMap(existing, func(row R) (string, bool) { return keyText(row), true })

	var missing []R
	for _, row := range rows {
		if !isKnown[keyText(row)] {
			isKnown[keyText(row)] = true // of several rows with the same key, only the first one is inserted
			missing = append(missing, row)
		}
	}

	if len(missing) == 0 {
		return nil, nil
	}

	err := newStatement(q).Create(&missing).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return nil, errStale
	}

	return missing, wrap(err)
}

// isTrue returns the condition that a boolean column is true, in two forms. Each database uses an index only for one of
// them. SQLite and Postgres need the column alone, as it is written in the condition of a partial index. MariaDB needs
// the comparison.
func isTrue(column string) string { return column + " AND " + column + " = TRUE" }

// rowsAfter returns the condition for the rows that come after a given row when rows are sorted by a column and by id,
// both descending. Its three parameters are values of the given row: of the column, of id, and again of the column. The
// second comparison follows from the first one, but MariaDB uses an index only with it.
func rowsAfter(column string) string {
	return "(" + column + ", id) < (?, ?) AND " + column + " <= ?"
}

// caseExpr returns an expression that maps each of the ids in a column to a value. value returns that
// of the id with the index i.
func caseExpr(column string, ids []string, value func(i int) any) clause.Expr {
	var args []any
	for i, id := range ids {
		args = append(args, id, value(i))
	}

	return gorm.Expr("CASE "+column+strings.Repeat(" WHEN ? THEN ?", len(ids))+" END", args...)
}

// ignoreOnConflict returns the clause with which an insert ignores rows whose key exists.
func ignoreOnConflict(key []string) clause.OnConflict {
	return clause.OnConflict{Columns: columnsOf(key), DoNothing: true}
}

// returning returns the clause RETURNING with the columns, or with all if there are none.
func returning(columns []string) clause.Returning {
	return clause.Returning{Columns: columnsOf(columns)}
}

// columnsOf returns the names of columns as GORM's clauses expect them.
func columnsOf(names []string) []clause.Column {
	var columns []clause.Column
	for _, name := range names {
		columns = append(columns, clause.Column{Name: name})
	}

	return columns
}

// newStatement returns a handle of the same transaction as q, without the conditions of q.
func newStatement(q *gorm.DB) *gorm.DB { return q.Session(&gorm.Session{NewDB: true}) }
