package gormdb

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/migrations"
	"github.com/locumhq/locum/test/kit"
)

// TestSchema_SQLiteAndPostgres_AreEqual checks that both databases have the same columns and indexes.
// The same columns must be required, and the same indexes unique. They could differ, because some
// migrations exist once per dialect.
func TestSchema_SQLiteAndPostgres_AreEqual(t *testing.T) {
	t.Parallel()

	sqlite := migrated(t, sqliteURL(t))
	postgres := migrated(t, kit.PostgresURL(t))
	sqliteColumns := selectOwnLines(t, sqlite, `
		SELECT m.name || '.' || c.name || ': ' || CASE WHEN c."notnull" THEN 'required' ELSE 'optional' END
		FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`)
	postgresColumns := selectOwnLines(t, postgres, `
		SELECT table_name || '.' || column_name || ': ' || CASE WHEN is_nullable = 'NO' THEN 'required' ELSE 'optional' END
		FROM information_schema.columns WHERE table_schema = 'public'`)
	require.Equal(t, sqliteColumns, postgresColumns)
	require.Greater(t, len(sqliteColumns), 50, "the queries return the columns of all modules")

	// Both queries leave out the indexes of primary keys and other constraints.
	sqliteIndexes := selectOwnLines(t, sqlite, `
		SELECT 'index ' || i.name || ': ' || CASE WHEN i."unique" THEN 'unique' ELSE 'plain' END
		FROM sqlite_master m, pragma_index_list(m.name) i WHERE m.type = 'table' AND i.origin = 'c'`)
	postgresIndexes := selectOwnLines(t, postgres, `
		SELECT 'index ' || c.relname || ': ' || CASE WHEN i.indisunique THEN 'unique' ELSE 'plain' END
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)`)
	require.Equal(t, sqliteIndexes, postgresIndexes)
	require.Greater(t, len(sqliteIndexes), 10, "the queries return the indexes of all modules")
}

// TestMigrationFiles_FileOfADialect_ReplacesTheCommonOne checks that SQLite uses the file
// 0001_init.sqlite.sql in place of 0001_init.sql. It has the name of the common file, because the
// database records migrations by that name.
func TestMigrationFiles_FileOfADialect_ReplacesTheCommonOne(t *testing.T) {
	t.Parallel()

	for _, dialect := range []Dialect{Postgres{}, SQLite{}} {
		for _, folder := range []string{"listings", legacyFolder} {
			files, err := schemas{&DB{dialect: dialect}}.migrationFiles(folder)
			require.NoError(t, err)

			names, err := fs.Glob(files, "*")
			require.NoError(t, err)
			require.NotEmpty(t, names)

			for _, name := range names {
				namesNoDialect := strings.Count(name, ".") == 1
				require.True(t, namesNoDialect, "%s names a dialect", name)
			}
		}

		files, err := schemas{&DB{dialect: dialect}}.migrationFiles("listings")
		require.NoError(t, err)

		body, err := fs.ReadFile(files, "0001_init.sql")
		require.NoError(t, err)

		_, isSQLite := dialect.(SQLite)
		require.Equal(t, isSQLite, strings.Contains(string(body), "AUTOINCREMENT"), "only SQLite has this word")
	}
}

// TestSchema_LegacyDatabase_GetsTheSameSchema checks the upgrade of a database of an earlier release,
// whose migrations were not divided by module. The upgrade is called the division.
//
// An upgraded database has the same schema as a new one. Three processes may upgrade it at the same
// time. Migrations that were added after the division can be reverted. The division itself cannot.
func TestSchema_LegacyDatabase_GetsTheSameSchema(t *testing.T) {
	t.Parallel()

	for name, url := range map[string]func() string{
		"sqlite":   func() string { return sqliteURL(t) },
		"postgres": func() string { return kit.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := openLegacy(t, url())
			s := schemas{db}
			require.ErrorContains(t, s.Check(t.Context()), "run `locum migrate up`")

			steps, err := s.Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, "legacy/0001_outbox.sql", steps[0].Name)

			var upgrades sync.WaitGroup
			for range 3 {
				upgrades.Go(func() {
					_, err := s.Up(context.Background())
					assert.NoError(t, err)
				})
			}

			upgrades.Wait()
			require.NoError(t, s.Check(t.Context()))

			newDatabase := migrated(t, url())
			require.Equal(t, catalog(t, newDatabase), catalog(t, db))

			// The migrations that were added after the division.
			later := []string{
				"database/0002_task_groups.sql",
				"identity/0002_moderators.sql",
				"identity/0003_standing.sql",
				"listings/0002_moderation.sql",
				"hiring/0002_documents.sql",
				"hiring/0003_notes.sql",
				"jobseeker/0002_no_leases.sql",
				"jobseeker/0003_subscribers.sql",
				"jobseeker/0004_notification_subjects.sql",
				"billing/0002_charge_actions.sql",
				"integrations/0002_no_leases.sql",
			}

			// The others are the first versions of the folder database and of each module, which the
			// division has recorded.
			steps, err = s.Status(t.Context())
			require.NoError(t, err)
			require.Len(t, steps, 1+len(migrations.Modules())+len(later))

			reverted := []string{}
			for range later {
				name, err := s.Down(t.Context())
				require.NoError(t, err)

				reverted = append(reverted, name)
			}

			require.ElementsMatch(t, later, reverted)

			// The division cannot be reverted.
			_, err = s.Down(t.Context())
			require.ErrorContains(t, err, "restore a backup")
		})
	}
}

// TestSchema_AddedModule_IsReverted checks that the migration of an added module, one that is not a
// part of the product, is applied last and reverted first. The numbers of its files need not begin
// with 1.
func TestSchema_AddedModule_IsReverted(t *testing.T) {
	t.Parallel()

	for name, open := range map[string]func(t *testing.T, url string) *DB{
		"new database":    openURL,
		"legacy database": openLegacy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			db := open(t, kit.PostgresURL(t))
			db.migrations = notesMigration("0003_notes.sql")
			applied, err := schemas{db}.Up(t.Context())
			require.NoError(t, err)
			require.Equal(t, "notes/0003_notes.sql", applied[len(applied)-1])
			require.NoError(t, schemas{db}.Check(t.Context()))

			reverted, err := schemas{db}.Down(t.Context())
			require.NoError(t, err)
			require.Equal(t, "notes/0003_notes.sql", reverted)
			require.False(t, db.reader.Migrator().HasTable("notes"))
		})
	}
}

// TestSchema_AddedModule_FirstMigrationIsRevertedAfterTheUpgrade checks that the upgrade of a
// legacy database, which cannot be reverted itself, does not prevent that migrations of an added
// module are reverted.
func TestSchema_AddedModule_FirstMigrationIsRevertedAfterTheUpgrade(t *testing.T) {
	t.Parallel()

	db := openLegacy(t, sqliteURL(t))
	db.migrations = notesMigration("0001_notes.sql")
	_, err := schemas{db}.Up(t.Context())
	require.NoError(t, err)

	reverted := ""
	for reverted != "notes/0001_notes.sql" {
		reverted, err = schemas{db}.Down(t.Context())
		require.NoError(t, err)
	}
}

// TestSchema_LegacyMigrationIsMissing_IsRefused checks that a database of an earlier release is not
// upgraded before all migrations of that release are applied.
func TestSchema_LegacyMigrationIsMissing_IsRefused(t *testing.T) {
	t.Parallel()

	db := openLegacy(t, kit.PostgresURL(t))
	const someVersion = 24
	require.NoError(t, db.reader.Exec("DELETE FROM "+legacyTable+" WHERE version_id = ?", someVersion).Error)

	_, err := schemas{db}.Up(t.Context())
	require.ErrorContains(t, err, "missing")
	require.ErrorContains(t, schemas{db}.Check(t.Context()), "earlier locum")
}

// TestSchema_OneModule_HasOnlyItsTables checks that a database that stores one module has the
// tables of that module and those of the queue.
func TestSchema_OneModule_HasOnlyItsTables(t *testing.T) {
	t.Parallel()

	for _, url := range []string{sqliteURL(t), kit.PostgresURL(t)} {
		db := openURL(t, url)
		db.modules = []string{"billing"}
		applied, err := schemas{db}.Up(t.Context())
		require.NoError(t, err)
		require.Equal(t,
			[]string{"database/0001_init.sql", "database/0002_task_groups.sql", "billing/0001_init.sql", "billing/0002_charge_actions.sql"},
			applied)
		require.True(t, db.reader.Migrator().HasTable("charges"))
		require.False(t, db.reader.Migrator().HasTable("users"))
	}
}

// notesMigration returns a file of migrations of an added module, notes, which creates a table.
func notesMigration(name string) map[string]fs.FS {
	const text = "-- +goose Up\nCREATE TABLE notes (id UUID);\n-- +goose Down\nDROP TABLE notes;\n"
	return map[string]fs.FS{"notes": fstest.MapFS{name: &fstest.MapFile{Data: []byte(text)}}}
}

// openLegacy returns a database with the schema from before it was divided by module: that of the
// migrations in legacyFolder.
func openLegacy(t *testing.T, url string) *DB {
	t.Helper()

	db := openURL(t, url)
	require.NoError(t, schemas{db}.withMigrator(func(m migrator) error {
		_, err := m.up(t.Context(), legacyFolder)
		return err
	}))

	return db
}

// catalog describes the schema of the database: its columns, constraints and indexes, as sorted lines. Two
// databases of the same kind have the same schema if and only if their lines are equal.
func catalog(t *testing.T, db *DB) (catalogLines []string) {
	t.Helper()

	// Each line begins with the name of its table.
	queries := []string{
		`SELECT m.name || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk
			FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'`,
		`SELECT m.name || ' references ' || f."table" || ' ' || f."from" || ' ' || f.on_delete
			FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
		`SELECT tbl_name || ' index ' || sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL`,
	}
	if db.dialect.Name() == "postgres" {
		queries = []string{
			`SELECT table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '')
				FROM information_schema.columns WHERE table_schema = 'public'`,
			`SELECT c.relname || ' constraint ' || pg_get_constraintdef(k.oid)
				FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
				WHERE n.nspname = 'public'`,
			`SELECT tablename || ' index ' || indexdef
				FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%_pkey'`,
			`SELECT relname || ' options ' || array_to_string(reloptions, ',')
				FROM pg_class WHERE reloptions IS NOT NULL AND relkind = 'r'`,
		}
	}

	for _, query := range queries {
		var lines []string
		require.NoError(t, db.reader.Raw(query).Scan(&lines).Error)

		for _, line := range lines {
			table, _, _ := strings.Cut(line, " ")
			if isBookkeeping(table) {
				continue
			}

			// The migrations write quotes and spaces differently.
			words := strings.Fields(strings.ReplaceAll(line, `"`, ""))
			catalogLines = append(catalogLines, strings.Join(words, " "))
		}
	}

	slices.Sort(catalogLines)

	return catalogLines
}

// selectOwnLines returns the lines that the query selects, sorted, without those of tables that
// the migrations or SQLite own. Each line begins with the name of a column or an index and a colon.
func selectOwnLines(t *testing.T, db *DB, query string) []string {
	t.Helper()
	var lines, own []string
	require.NoError(t, db.reader.Raw(query).Scan(&lines).Error)

	for _, line := range lines {
		if name, _, _ := strings.Cut(line, ":"); !isBookkeeping(name) {
			own = append(own, line)
		}
	}

	slices.Sort(own)

	return own
}

// isBookkeeping reports whether a table, or a column TABLE.COLUMN, belongs to the bookkeeping of
// the migrations or of SQLite.
func isBookkeeping(name string) bool {
	return strings.HasPrefix(name, legacyTable) || strings.HasPrefix(name, "schema_") || strings.HasPrefix(name, "sqlite_")
}
