// Package libsql is a dialect of SQL for the storage adapter gormdb: libSQL, a fork of
// SQLite with a server and replicas, in a file of this machine. All modules are stored
// in it with the repositories of gormdb.
//
// dialect.go implements gormdb.Dialect, driver.go what the driver of libSQL lacks.
package libsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ncruces/go-sqlite3/gormlite"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
)

// Open opens the storage for libsql:PATH. It is a bootstrap.StorageOpener.
func Open(_ context.Context, url string, d adapters.Deps) (adapters.Storage, error) {
	return gormdb.OpenDialect(Dialect{}, url, d)
}

// Dialect implements gormdb.Dialect.
type Dialect struct{}

// Name implements gormdb.Dialect.
func (Dialect) Name() string { return "libsql" }

// Open implements gormdb.Dialect. One connection writes; the others read at the same
// time.
func (Dialect) Open(url string, _ adapters.DatabaseSettings) (pools gormdb.Pools, err error) {
	path := strings.TrimPrefix(url, "libsql:")
	if path == "" {
		return pools, errors.New("want libsql:PATH")
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return pools, err
	}

	if pools.Writer, err = openPool(path, 1); err != nil {
		return pools, err
	}

	if pools.Primary, err = openPool(path, 8); err != nil {
		err = errors.Join(err, pools.Writer.Close())
	}

	return pools, err
}

// Dialector implements gormdb.Dialect. The SQL is that of SQLite.
func (Dialect) Dialector(pool *sql.DB) gorm.Dialector { return dialector{gormlite.OpenDB(pool)} }

// dialector gives errors the meanings that gorm knows.
type dialector struct{ gorm.Dialector }

// Translate implements gorm.ErrorTranslator.
func (dialector) Translate(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "UNIQUE constraint failed"):
		return gorm.ErrDuplicatedKey
	case strings.Contains(err.Error(), "FOREIGN KEY constraint failed"):
		return gorm.ErrForeignKeyViolated
	}

	return err
}

// PreparesStatements implements gormdb.Dialect. The driver parses a statement again
// whenever it is executed.
func (Dialect) PreparesStatements() bool { return false }

// Embedded implements gormdb.Dialect.
func (Dialect) Embedded() bool { return true }

// Migrations implements gormdb.Dialect.
func (Dialect) Migrations() goose.Dialect { return goose.DialectSQLite3 }

// columnTypes maps the types of the migrations, which are those of PostgreSQL, to the types of SQLite.
var columnTypes = map[string]string{
	"UUID":             "TEXT",
	"TIMESTAMPTZ":      "DATETIME",
	"JSONB":            "TEXT",
	"BIGINT":           "INTEGER",
	"DOUBLE PRECISION": "REAL",
}

// columnType matches the types of columnTypes.
var columnType = regexp.MustCompile(`\b(UUID|TIMESTAMPTZ|JSONB|BIGINT|DOUBLE PRECISION)\b`)

// Migration implements gormdb.Dialect. It replaces the types of columns.
func (Dialect) Migration(sql []byte) []byte {
	return columnType.ReplaceAllFunc(sql, func(name []byte) []byte { return []byte(columnTypes[string(name)]) })
}

// MigrationLock implements gormdb.Dialect. A migration is a transaction, and one process
// at a time writes.
func (Dialect) MigrationLock() (lock.SessionLocker, error) { return nil, nil } //nolint:nilnil // the interface says so

// Retry implements gormdb.Dialect.
func (Dialect) Retry(error) bool { return false }

// Unavailable implements gormdb.Dialect. It recognizes errors by their texts, because the driver has no codes.
func (Dialect) Unavailable(err error) gormdb.Reason {
	for text, reason := range map[string]gormdb.Reason{
		"database is locked":           gormdb.Busy,
		"disk I/O error":               gormdb.IOError,
		"database or disk is full":     gormdb.DiskFull,
		"readonly database":            gormdb.ReadOnly,
		"unable to open database file": gormdb.IOError,
	} {
		if strings.Contains(err.Error(), text) {
			return reason
		}
	}

	return ""
}

// In implements gormdb.Dialect. The ids are one parameter, a JSON array, because the number of parameters is limited.
func (Dialect) In(column string, ids []string) clause.Expr {
	return gorm.Expr(column+" IN (SELECT value FROM json_each(?))", list(ids))
}

// list is a list of ids as one parameter.
type list []string

// Value implements driver.Valuer.
func (l list) Value() (driver.Value, error) {
	text, err := json.Marshal([]string(l))
	return string(text), err
}

// Typed implements gormdb.Dialect.
func (Dialect) Typed(v any, _ string) any { return v }

// Excluded implements gormdb.Dialect.
func (Dialect) Excluded(column string) string { return "excluded." + column }

// Returning implements gormdb.Dialect.
func (Dialect) Returning() bool { return true }

// DeleteLimit implements gormdb.Dialect.
func (Dialect) DeleteLimit() bool { return false }

// Locks implements gormdb.Dialect.
func (Dialect) Locks() bool { return false }

// AdvisoryLock implements gormdb.Dialect.
func (Dialect) AdvisoryLock() string { return "" }
