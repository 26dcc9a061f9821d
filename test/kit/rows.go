package kit

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of Postgres
	_ "github.com/ncruces/go-sqlite3/driver"
	"github.com/stretchr/testify/require"
)

// Holding names the columns (table.column) of the database at the URL, which is
// one of database.url, that have one of the words in some row, in whatever case,
// with an example of each.
func Holding(t testing.TB, url string, words ...string) map[string]string {
	t.Helper()
	driver, source := "pgx", url
	tables := "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		driver, source = "sqlite3", "file:"+path+"?mode=ro"
		// The tables behind a text index are its own, and read by reading it.
		tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	names, err := firstColumn(db, tables)
	require.NoError(t, err)
	require.Greater(t, len(names), 10, "this is no database of ours")
	found := map[string]string{}
	for _, name := range names {
		require.NoError(t, holding(db, name, words, found), name)
	}
	return found
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

func holding(db *sql.DB, table string, words []string, found map[string]string) error {
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
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			text := fmt.Sprint(v)
			if b, isBytes := v.([]byte); isBytes {
				text = string(b)
			}
			for _, w := range words {
				if strings.Contains(strings.ToLower(text), strings.ToLower(w)) {
					found[table+"."+columns[i]] = text
				}
			}
		}
	}
	return rows.Err()
}
