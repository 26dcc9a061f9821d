package gormdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/list"
)

// The statements below are written differently by some databases. Repositories use
// these functions instead of writing them.

// dialectOf returns the dialect of the database of q.
func dialectOf(q *gorm.DB) Dialect { return q.Dialector.(translator).dialect }

// deleteLimited deletes at most n of the rows that the conditions of q select, the
// first ones in the order, and returns their number. key are the columns of the
// primary key.
func deleteLimited[R any](q *gorm.DB, n int, order string, key ...string) (int, error) {
	if dialectOf(q).DeleteLimit() {
		res := q.Order(order).Limit(n).Delete(new(R))
		return int(res.RowsAffected), wrap(res.Error)
	}
	first := q.Model(new(R)).Select(key).Order(order).Limit(n)
	res := fresh(q).Where("("+strings.Join(key, ", ")+") IN (?)", first).Delete(new(R))
	return int(res.RowsAffected), wrap(res.Error)
}

// updateReturning updates the rows that the conditions of q, a handle of a transaction,
// select, and returns the columns of those rows as they are then. key is the primary
// key.
func updateReturning[R any](q *gorm.DB, key string, set map[string]any, columns ...string) (rows []R, err error) {
	if dialectOf(q).Returning() {
		err = q.Model(&rows).Clauses(returning(columns)).Updates(set).Error
		return rows, wrap(err)
	}
	var keys []string
	lock := clause.Locking{Strength: clause.LockingStrengthUpdate}
	if err := q.Model(new(R)).Clauses(lock).Order(key).Pluck(key, &keys).Error; err != nil || len(keys) == 0 {
		return nil, wrap(err)
	}
	where := dialectOf(q).In(key, keys)
	err = cmp.Or(
		fresh(q).Model(new(R)).Where(where).Updates(set).Error,
		fresh(q).Select(columns).Where(where).Find(&rows).Error)
	return rows, wrap(err)
}

// createNew inserts the row unless its key, the columns of a unique index, exists. The
// result has the number of inserted rows.
func createNew(q *gorm.DB, row any, key ...string) *gorm.DB {
	if dialectOf(q).Returning() {
		return q.Clauses(onConflict(key)).Create(row)
	}
	res := q.Create(row)
	if errors.Is(res.Error, gorm.ErrDuplicatedKey) { // which does not end the transaction
		res.Error, res.RowsAffected = nil, 0
	}
	return res
}

// createBelow inserts the row, unless there are limit rows that a condition selects: then
// the error is exceeded. The advisory lock with the name makes callers wait for each other.
func createBelow[R any](ctx context.Context, db *DB, row *R, lock string, limit int, exceeded error, where string, args ...any) error {
	return db.Do(ctx, func(ctx context.Context) error {
		if err := db.withAdvisoryLock(ctx, lock); err != nil {
			return err
		}
		var n int64
		if err := db.q(ctx).Model(new(R)).Where(where, args...).Count(&n).Error; err != nil {
			return wrap(err)
		}
		if int(n) >= limit {
			return exceeded
		}
		return wrap(db.q(ctx).Create(row).Error)
	})
}

// insertNew inserts the rows whose key, the columns of a unique index, does not
// exist, and returns those. q is a handle of a transaction.
func insertNew[R any](q *gorm.DB, rows []R, key ...string) (inserted []R, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	if !dialectOf(q).Returning() {
		return insertMissing(q, rows, key)
	}
	insert := q.Session(&gorm.Session{DryRun: true}).Clauses(onConflict(key), returning(nil)).Create(&rows).Statement
	return inserted, wrap(fresh(q).Raw(insert.SQL.String(), insert.Vars...).Scan(&inserted).Error)
}

// insertMissing reads which keys exist and inserts the other rows. Rows that other
// transactions insert meanwhile make the transaction run again.
func insertMissing[R any](q *gorm.DB, rows []R, key []string) ([]R, error) {
	table := fresh(q).Model(new(R))
	if err := table.Statement.Parse(new(R)); err != nil {
		return nil, err
	}
	keyOf := func(r R) (values []any) {
		for _, column := range key {
			v, _ := table.Statement.Schema.LookUpField(column).ValueOf(q.Statement.Context, reflect.ValueOf(r))
			values = append(values, v)
		}
		return values
	}
	nameOf := func(r R) string { return fmt.Sprint(keyOf(r)...) }
	var existing, missing []R
	if err := table.Select(key).Where("("+strings.Join(key, ", ")+") IN ?", list.Map(rows, keyOf)).Find(&existing).Error; err != nil {
		return nil, wrap(err)
	}
	exists := list.ToMap(existing, func(r R) (string, bool) { return nameOf(r), true })
	for _, r := range rows {
		if !exists[nameOf(r)] {
			exists[nameOf(r)], missing = true, append(missing, r)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	err := fresh(q).Create(&missing).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return nil, errStale
	}
	return missing, wrap(err)
}

// isTrue returns the condition that a boolean column is true. Partial indexes need the
// column by itself, and an index of MariaDB needs the comparison.
func isTrue(column string) string { return column + " AND " + column + " = TRUE" }

// precedes returns the condition that rows come after another one in the descending
// order of a column and id; its parameters are the values of the column, of id and again
// of the column. An index of MariaDB needs the second comparison.
func precedes(column string) string {
	return "(" + column + ", id) < (?, ?) AND " + column + " <= ?"
}

// caseOf returns an expression for the value of each id in a column.
func caseOf(column string, ids []string, value func(i int) any) clause.Expr {
	var args []any
	for i, id := range ids {
		args = append(args, id, value(i))
	}
	return gorm.Expr("CASE "+column+strings.Repeat(" WHEN ? THEN ?", len(ids))+" END", args...)
}

// onConflict ignores rows whose key exists.
func onConflict(key []string) clause.OnConflict {
	return clause.OnConflict{Columns: columnsOf(key), DoNothing: true}
}

func returning(columns []string) clause.Returning {
	return clause.Returning{Columns: columnsOf(columns)}
}

func columnsOf(names []string) []clause.Column {
	var out []clause.Column
	for _, name := range names {
		out = append(out, clause.Column{Name: name})
	}
	return out
}

// fresh returns a handle on the transaction of q, without its conditions.
func fresh(q *gorm.DB) *gorm.DB { return q.Session(&gorm.Session{NewDB: true}) }
