package gormdb

import (
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// columnsAs returns the columns of R for a SELECT of a join: those of the table with
// the alias, named with the prefix. A struct reads them with embeddedPrefix.
func columnsAs[R schema.Tabler](db *DB, alias, prefix string) string {
	statement := &gorm.Statement{DB: db.gorm}
	if err := statement.Parse(new(R)); err != nil {
		panic(err) // R is not a struct
	}
	names := make([]string, len(statement.Schema.DBNames))
	for i, name := range statement.Schema.DBNames {
		names[i] = alias + "." + name + " AS " + prefix + name
	}
	return strings.Join(names, ", ")
}

// rowsAtOnce bounds the size of a statement with long texts: MariaDB refuses one of more
// than 16 MiB.
const rowsAtOnce = 20

// updateLocked writes the columns of rows that were read and locked in the same
// transaction, with a statement for some rows. It is an upsert, since databases
// differ in how UPDATE takes values of several rows; key is the primary key.
func updateLocked[R schema.Tabler](q *gorm.DB, rows []R, key string, columns ...string) error {
	if len(rows) == 0 {
		return nil
	}
	set := clause.OnConflict{Columns: columnsOf([]string{key}), DoUpdates: clause.AssignmentColumns(columns)}
	return wrap(q.Clauses(set).CreateInBatches(&rows, rowsAtOnce).Error)
}
