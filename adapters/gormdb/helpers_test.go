package gormdb

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
)

// testDeps returns dependencies with the clock of the system and without a log.
func testDeps() adapters.Deps {
	return adapters.Deps{
		Clock: clock.System{},
		NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Log:   slog.New(slog.DiscardHandler),
	}
}

// openURL opens the database of the URL without its schema.
func openURL(t *testing.T, url string) *DB {
	t.Helper()

	scheme, _, _ := strings.Cut(url, ":")
	db, err := OpenDB(dialects[scheme], url, testDeps())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })

	return db
}

// migrated opens the database of the URL and applies all migrations.
func migrated(t *testing.T, url string) *DB {
	t.Helper()

	db := openURL(t, url)
	_, err := schemas{db}.Up(t.Context())
	require.NoError(t, err)

	return db
}

// sqliteURL returns the URL of a database in a file that does not exist yet.
func sqliteURL(t *testing.T) string {
	t.Helper()
	return "sqlite:" + t.TempDir() + "/test.db"
}

// openTestSQLite returns a database in a new file with the current schema.
func openTestSQLite(t *testing.T) *DB {
	t.Helper()
	return migrated(t, sqliteURL(t))
}

// statements records the statements that a database receives. It does not record the inserts of GORM's Create,
// which have no plan, and the requests for plans.
type statements struct {
	sql  []string
	vars [][]any // the values of each statement
}

// recordStatements returns a record of the statements that the pools receive from now on.
func recordStatements(t *testing.T, pools ...*gorm.DB) *statements {
	t.Helper()

	recorded := &statements{}
	record := func(g *gorm.DB) {
		sql := g.Statement.SQL.String()
		isSubquery := g.DryRun // a part of another statement, which is recorded itself

		if isSubquery || strings.HasPrefix(sql, "EXPLAIN ") {
			return
		}

		recorded.sql = append(recorded.sql, sql)
		recorded.vars = append(recorded.vars, g.Statement.Vars)
	}

	for _, pool := range pools {
		callbacks := pool.Callback()
		require.NoError(t, callbacks.Query().After("gorm:query").Register("test:query", record))
		require.NoError(t, callbacks.Row().After("gorm:row").Register("test:row", record))
		require.NoError(t, callbacks.Raw().After("gorm:raw").Register("test:raw", record))
		require.NoError(t, callbacks.Update().After("gorm:update").Register("test:update", record))
		require.NoError(t, callbacks.Delete().After("gorm:delete").Register("test:delete", record))
	}

	return recorded
}

// requireOneStatement checks that call executes exactly one statement.
func (s *statements) requireOneStatement(t *testing.T, call func()) {
	t.Helper()

	before := len(s.sql)

	call()
	require.Len(t, s.sql, before+1)
}

// requireIndex checks that SQLite plans to use the index for a statement that call executes. A call may execute
// other statements as well: a list also counts its rows, and a deletion also deletes the rows of other tables.
func (s *statements) requireIndex(t *testing.T, db *DB, index string, call func()) {
	t.Helper()
	s.requireEachIndex(t, db, []string{index}, call)
}

// requireEachIndex checks that SQLite plans to use each of the indexes for a statement that call executes.
func (s *statements) requireEachIndex(t *testing.T, db *DB, indexes []string, call func()) {
	t.Helper()

	before := len(s.sql)

	call()

	var steps []string // of the plans of all statements
	for i := before; i < len(s.sql); i++ {
		steps = append(steps, sqlitePlan(t, db, s.sql[i], s.vars[i])...)
	}

	for _, index := range indexes {
		// A step is a text such as "SEARCH charges USING INDEX charges_owner (owner_kind=? AND owner_id=?)".
		usesIndex := func(step string) bool { return slices.Contains(strings.Fields(step), index) }
		require.True(t, slices.ContainsFunc(steps, usesIndex), "index %s is not used: %q", index, steps)
	}
}

// primaryKey returns SQLite's name for the index of a table's primary key.
func primaryKey(table string) string { return "sqlite_autoindex_" + table + "_1" }

// allowSorting is an argument of requireIndexes for statements that may sort their rows.
const allowSorting = "sorted"

// Scans that several tests allow.
const (
	// totalOfList is the name of the subquery whose rows a list counts for its total. A limit of page.MaxExact+1
	// rows keeps it small.
	totalOfList = "counted"
	// constantRow is a row of values in the statement itself, which belongs to no table.
	constantRow = "CONSTANT ROW"
)

// requireIndexes checks SQLite's plan of every recorded statement: no statement reads a whole table (a step
// "SCAN" of the plan), and no statement sorts rows. Both would become slower as the table grows. SQLite chooses
// a plan by the existing indexes, not by the rows, so that the tables may be empty.
//
// The argument allowed has the scans that are allowed, as they are written in the plan after "SCAN", such as
// the names of subqueries with few rows. If it contains allowSorting, statements may also sort rows.
func (s *statements) requireIndexes(t *testing.T, db *DB, allowed ...string) {
	t.Helper()

	maySort := slices.Contains(allowed, allowSorting)

	for i, sql := range s.sql {
		for _, step := range sqlitePlan(t, db, sql, s.vars[i]) {
			scanned, isScan := strings.CutPrefix(step, "SCAN ")
			isListParameter := strings.HasPrefix(scanned, "json_each ") // a list of values, not a table
			isAllowed := isListParameter || slices.Contains(allowed, scanned)
			require.False(t, isScan && !isAllowed, "a table is scanned: %s\n%s", step, sql)

			// SQLite sorts rows with a temporary tree.
			if !maySort {
				require.NotContains(t, step, "TEMP B-TREE", "rows are sorted: %s", sql)
			}
		}
	}
}

// sqlitePlan returns the steps of SQLite's plan for the statement.
func sqlitePlan(t *testing.T, db *DB, sql string, vars []any) (steps []string) {
	t.Helper()
	var plan []struct{ Detail string }
	require.NoError(t, db.reader.Raw("EXPLAIN QUERY PLAN "+sql, vars...).Scan(&plan).Error, sql)

	for _, step := range plan {
		steps = append(steps, step.Detail)
	}

	return steps
}

// requireRowsInMariaDBPlan checks the plans of the recorded statements on MariaDB: no step reads
// more than maxRows according to MariaDB's estimate.
func (s *statements) requireRowsInMariaDBPlan(t *testing.T, db *DB, maxRows int) {
	t.Helper()

	for i, sql := range s.sql {
		var plan []struct {
			Table, Type, Key, Extra string
			Rows                    string
		}
		require.NoError(t, db.reader.Raw("EXPLAIN "+sql, s.vars[i]...).Scan(&plan).Error, sql)

		for _, step := range plan {
			// The estimate is a text: "20", or "20 (1%)" with a filter. A step without a table has none.
			rows := 0
			_, _ = fmt.Sscan(step.Rows, &rows)
			require.LessOrEqual(t, rows, maxRows, "a step reads too many rows: %+v\n%s", step, sql)
		}
	}
}
