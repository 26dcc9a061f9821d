package gormdb

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// The statements below are written differently by some databases. Repositories use
// these functions instead of writing them.

// deleteLimited deletes at most n of the rows that the conditions of q select, the
// first ones in the order, and returns their number. key are the columns of the
// primary key.
func deleteLimited[R schema.Tabler](q *gorm.DB, n int, order string, key ...string) (int, error) {
	first := q.Model(new(R)).Select(key).Order(order).Limit(n)
	res := fresh(q).Where("("+strings.Join(key, ", ")+") IN (?)", first).Delete(new(R))
	return int(res.RowsAffected), wrap(res.Error)
}

// updateReturning updates the rows that the conditions of q select and returns the
// columns of those rows as they are then. Outside of a transaction it is one
// statement, or a transaction of its own.
func updateReturning[R schema.Tabler](q *gorm.DB, set map[string]any, columns ...string) (rows []R, err error) {
	err = q.Model(&rows).Clauses(returning(columns)).Updates(set).Error
	return rows, wrap(err)
}

// insertNew inserts the rows whose key, the columns of a unique index, does not
// exist, and returns those.
func insertNew[R schema.Tabler](q *gorm.DB, rows []R, key ...string) (inserted []R, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	insert := q.Session(&gorm.Session{DryRun: true}).Clauses(onConflict(key), returning(nil)).Create(&rows).Statement
	found, err := q.Statement.ConnPool.QueryContext(q.Statement.Context, insert.SQL.String(), insert.Vars...)
	if err != nil {
		return nil, wrap(q.Dialector.(gorm.ErrorTranslator).Translate(err))
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var r R
		if err := fresh(q).ScanRows(found, &r); err != nil {
			return nil, wrap(err)
		}
		inserted = append(inserted, r)
	}
	if err := found.Err(); err != nil {
		return nil, wrap(q.Dialector.(gorm.ErrorTranslator).Translate(err))
	}
	return inserted, nil
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
