package gormdb

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/kit"
)

// isOwn reports whether a column belongs to a table of the migrations' bookkeeping
// or of SQLite.
func isOwn(column string) bool {
	return strings.HasPrefix(column, "goose_db_version.") || strings.HasPrefix(column, "sqlite_")
}

func migrated(t *testing.T, url string) *DB {
	t.Helper()
	db, err := OpenDB(dialects[strings.SplitN(url, ":", 2)[0]], url, Options{Clock: clock.System{}, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = Schema{db}.Up(t.Context())
	require.NoError(t, err)
	return db
}

// things are the columns, with whether they may be null, and the indexes, with
// what they are unique for, as one line each.
func things(t *testing.T, db *DB, query string) []string {
	t.Helper()
	var all, out []string
	require.NoError(t, db.gorm.Raw(query).Scan(&all).Error)
	for _, thing := range all {
		if name, _, _ := strings.Cut(thing, ":"); !isOwn(name) {
			out = append(out, thing)
		}
	}
	slices.Sort(out)
	return out
}

func TestBothDatabasesHaveTheSameSchema(t *testing.T) {
	t.Parallel()
	lite := migrated(t, "sqlite:"+t.TempDir()+"/test.db")
	pg := migrated(t, kit.PostgresURL(t))
	columns := things(t, lite, `SELECT m.name || '.' || c.name || ': ' || CASE WHEN c."notnull" THEN 'required' ELSE 'optional' END
		FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`)
	require.Equal(t, columns, things(t, pg, `SELECT table_name || '.' || column_name || ': ' || CASE WHEN is_nullable = 'NO' THEN 'required' ELSE 'optional' END
		FROM information_schema.columns WHERE table_schema = 'public'`))
	require.Greater(t, len(columns), 50)
	indexes := things(t, lite, `SELECT 'index ' || i.name || ': ' || CASE WHEN i."unique" THEN 'unique' ELSE 'plain' END
		FROM sqlite_master m, pragma_index_list(m.name) i WHERE m.type = 'table' AND i.origin = 'c'`)
	require.Equal(t, indexes, things(t, pg, `SELECT 'index ' || c.relname || ': ' || CASE WHEN i.indisunique THEN 'unique' ELSE 'plain' END
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)`))
	require.Greater(t, len(indexes), 10)
}

func TestAMigrationThatOneDialectReplacesIsReadOnce(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{Postgres{}, SQLite{}} {
		files, err := dialectFiles(d)
		require.NoError(t, err)
		p, err := files.Open("0001_outbox.sql")
		require.NoError(t, err, fmt.Sprint(d))
		require.NoError(t, p.Close())
		_, err = files.Open("0003_listings.sqlite.sql")
		require.Error(t, err)
	}
}
