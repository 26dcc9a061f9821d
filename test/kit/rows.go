package kit

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of Postgres
	_ "github.com/ncruces/go-sqlite3/driver"
	"github.com/stretchr/testify/require"
)

// ColumnsContaining returns the columns (table.column) that contain one of the words in some
// row, ignoring case, with an example value for each. url is the value of database.url.
func ColumnsContaining(t testing.TB, url string, words ...string) map[string]string {
	t.Helper()

	exampleByColumn := map[string]string{}
	forEachRow(t, url, func(table string, columns, values []string) {
		for i, value := range values {
			if containsAny(value, words) {
				exampleByColumn[table+"."+columns[i]] = value
			}
		}
	})

	return exampleByColumn
}

// RowsContaining returns, for each table, the rows that contain one of the words in some
// column, as text and ignoring case. omitted lists tables and columns (table.column) that are
// not searched and not returned.
func RowsContaining(t testing.TB, url string, omitted []string, words ...string) map[string][]string {
	t.Helper()

	rowsByTable := map[string][]string{}
	forEachRow(t, url, func(table string, columns, values []string) {
		if slices.Contains(omitted, table) {
			return
		}

		var row strings.Builder
		for i, value := range values {
			if !slices.Contains(omitted, table+"."+columns[i]) {
				fmt.Fprintf(&row, "%s: %s\n", columns[i], value)
			}
		}

		if containsAny(row.String(), words) {
			rowsByTable[table] = append(rowsByTable[table], row.String())
		}
	})

	return rowsByTable
}

// containsAny reports whether the text contains one of the words, in any case.
func containsAny(text string, words []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, strings.ToLower(w)) })
}

// ExecSQL executes a statement on the database while the server uses it. Timestamps in the
// statement are literals with microseconds: 2006-01-02T15:04:05.000000Z.
func ExecSQL(t testing.TB, url, statement string) {
	t.Helper()

	db := openDatabase(t, url, "_pragma=busy_timeout(5000)")
	defer func() { _ = db.Close() }()

	_, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

// forEachRow calls fn for every row of every table. The values are converted to text.
func forEachRow(t testing.TB, url string, fn func(table string, columns, values []string)) {
	t.Helper()

	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
	if strings.HasPrefix(url, "sqlite:") {
		// The type table excludes the shadow tables of a full-text index, whose content the index returns.
		query = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
	}

	db := openDatabase(t, url, "mode=ro")
	defer func() { _ = db.Close() }()

	tables, err := queryStrings(db, query)
	require.NoError(t, err)

	const minTables = 10 // fewer than the schema has
	require.Greater(t, len(tables), minTables, "not a database of the tests")

	for _, table := range tables {
		err := scanRows(db, table, func(columns, values []string) { fn(table, columns, values) })
		require.NoError(t, err, table)
	}
}

// openDatabase opens a PostgreSQL or SQLite database, which the caller closes. The options
// apply to SQLite only.
func openDatabase(t testing.TB, url, sqliteOptions string) *sql.DB {
	t.Helper()

	driver, source := "pgx", url
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, source = "sqlite3", "file:"+path+"?"+sqliteOptions
	}

	db, err := sql.Open(driver, source)
	require.NoError(t, err)

	return db
}

// queryStrings returns the result of a query with one column.
func queryStrings(db *sql.DB, query string) (values []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}

	defer func() { _ = rows.Close() }()

	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}

		values = append(values, value)
	}

	return values, rows.Err()
}

// scanRows calls fn for every row of the table. fn must not retain values.
func scanRows(db *sql.DB, table string, fn func(columns, values []string)) error {
	rows, err := db.Query(`SELECT * FROM "` + table + `"`)
	if err != nil {
		return err
	}

	defer func() { _ = rows.Close() }()

	columns, err := rows.Columns()
	if err != nil {
		return err
	}

	values := make([]any, len(columns))
	texts := make([]string, len(columns))

	destinations := make([]any, len(columns))
	for i := range values {
		destinations[i] = &values[i]
	}

	for rows.Next() {
		if err := rows.Scan(destinations...); err != nil {
			return err
		}

		for i, value := range values {
			texts[i] = fmt.Sprint(value)
			if bytes, isBytes := value.([]byte); isBytes {
				texts[i] = string(bytes)
			}
		}

		fn(columns, texts)
	}

	return rows.Err()
}
