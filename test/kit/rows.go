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

// Holding returns the columns (table.column) of the database at the URL, which is
// a database.url, that contain one of the words in some row, case-insensitively,
// with an example of each.
func Holding(t testing.TB, url string, parts ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	everyRow(t, url, func(table string, columns, values []string) {
		for i, text := range values {
			if hasAny(text, parts) {
				found[table+"."+columns[i]] = text
			}
		}
	})
	return found
}

// RowsWith returns the rows, as text, that contain one of the words in some
// column, by table. without lists tables and columns (table.column) to omit.
func RowsWith(t testing.TB, url string, without []string, parts ...string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	everyRow(t, url, func(table string, columns, values []string) {
		if slices.Contains(without, table) {
			return
		}
		var row strings.Builder
		for i, text := range values {
			if !slices.Contains(without, table+"."+columns[i]) {
				fmt.Fprintf(&row, "%s: %s\n", columns[i], text)
			}
		}
		if hasAny(row.String(), parts) {
			found[table] = append(found[table], row.String())
		}
	})
	return found
}

func hasAny(text string, words []string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, strings.ToLower(w)) })
}

func everyRow(t testing.TB, url string, fn func(table string, columns, values []string)) {
	t.Helper()
	driver, source := "pgx", url
	tables := "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, source = "sqlite3", "file:"+path+"?mode=ro"
		// The shadow tables of a full-text index are read through the index.
		tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	names, err := firstColumn(db, tables)
	require.NoError(t, err)
	require.Greater(t, len(names), 10, "not a database of the tests")
	for _, name := range names {
		require.NoError(t, rowsOf(db, name, func(columns, values []string) { fn(name, columns, values) }), name)
	}
}

// Alter runs a statement on the database at the URL while the server uses it.
// Timestamps are literals with microseconds, 2006-01-02T15:04:05.000000Z.
func Alter(t testing.TB, url, statement string) {
	t.Helper()
	driver, source := "pgx", url
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, source = "sqlite3", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

func firstColumn(db *sql.DB, query string) (out []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

func rowsOf(db *sql.DB, table string, fn func(columns, values []string)) error {
	rows, err := db.Query(`SELECT * FROM "` + table + `"`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, texts := make([]any, len(columns)), make([]string, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			texts[i] = fmt.Sprint(v)
			if b, isBytes := v.([]byte); isBytes {
				texts[i] = string(b)
			}
		}
		fn(columns, texts)
	}
	return rows.Err()
}
