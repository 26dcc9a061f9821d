package gormdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/migrations"
)

// schemas implements adapters.Schema. It manages the tables of all modules that the database
// stores, including modules that were added to the built-in ones.
//
// Each module has a folder of migrations. Each folder has a table in the database, with the versions
// that have been applied. Databases of earlier versions of locum have the folder legacy instead of the
// folders of modules; Up divides their schema (see divideSchema).
type schemas struct{ *DB }

// folders returns the folders of the migrations that the database needs, in their order.
func (s schemas) folders() []string {
	modules := s.modules
	if len(modules) == 0 {
		modules = migrations.Modules()
	}

	return slices.Concat([]string{"database"}, modules, slices.Sorted(maps.Keys(s.migrations)))
}

const (
	// legacyFolder contains the migrations of databases that were created before the
	// schema was divided by module. legacyTable contains their versions.
	legacyFolder = "legacy"
	legacyTable  = "goose_db_version"
	// dividedVersion is in legacyTable if the schema has been divided, so that the versions
	// of the modules are in separate tables. Earlier versions of locum reject a database
	// with this version.
	dividedVersion = 1000
)

// versionTable returns the name of the table with the versions of a folder.
func versionTable(folder string) string {
	if folder == legacyFolder {
		return legacyTable
	}

	return "schema_" + folder
}

// migrationFiles returns the migrations of a folder.
func (s schemas) migrationFiles(folder string) (fs.FS, error) {
	files, ok := s.migrations[folder]
	if !ok {
		var err error
		if files, err = fs.Sub(migrations.Files, folder); err != nil {
			return nil, err
		}
	}

	return translate(s.dialect, files)
}

// translate returns the migrations in the SQL of the dialect. A file NNNN_name.DIALECT.sql
// replaces NNNN_name.sql for its dialect, and is ignored for others.
func translate(d Dialect, files fs.FS) (fs.FS, error) {
	translated := fstest.MapFS{}

	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}

	dialectSuffix := "." + d.Name() + ".sql"
	for _, name := range names {
		target := name
		if stem, _, hasDialect := strings.Cut(strings.TrimSuffix(name, ".sql"), "."); hasDialect {
			if !strings.HasSuffix(name, dialectSuffix) {
				continue // for another dialect
			}

			target = stem + ".sql"
		} else if _, isReplaced := translated[target]; isReplaced {
			continue // NNNN_name.DIALECT.sql precedes this file in the order of names
		}

		body, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}

		translated[target] = &fstest.MapFile{Data: d.Migration(body)}
	}

	return translated, nil
}

// withMigrator calls fn with the connections for migrations. For SQLite it opens a separate
// pool, because goose writes timestamps in another format than the repositories read.
func (s schemas) withMigrator(fn func(m migrator) error) (err error) {
	pool := cmp.Or(s.direct, s.pool)
	if _, ok := s.dialect.(SQLite); ok {
		if pool, err = openSQLite(sqlitePath(s.url), "", 1); err != nil {
			return err
		}

		defer func() { err = errors.Join(err, pool.Close()) }()
	}

	return wrap(markUnavailable(s.dialect, fn(migrator{s, pool})))
}

// withLock does the same as withMigrator while it holds the lock that allows only one process
// at a time to migrate.
func (s schemas) withLock(ctx context.Context, fn func(m migrator) error) error {
	if s.direct == nil {
		return errNoDirectURL
	}

	locker, err := s.dialect.MigrationLock()
	if err != nil {
		return err
	}

	return s.withMigrator(func(m migrator) (err error) {
		if locker == nil {
			return fn(m)
		}

		conn, err := m.pool.Conn(ctx)
		if err != nil {
			return err
		}

		defer func() { err = errors.Join(err, conn.Close()) }()

		if err := locker.SessionLock(ctx, conn); err != nil {
			return err
		}

		defer func() { err = errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()

		return fn(m)
	})
}

// errNoDirectURL is the error of migrations behind a transaction pooler. A lock would not work
// there, since processes share the sessions of the server.
var errNoDirectURL = errors.New("migrations do not work behind a transaction pooler; set database.direct_url")

// migrator runs the migrations of folders.
type migrator struct {
	schemas
	pool *sql.DB
}

// provider returns goose's provider for the migrations of a folder.
func (m migrator) provider(folder string) (*goose.Provider, error) {
	files, err := m.migrationFiles(folder)
	if err != nil {
		return nil, err
	}

	return goose.NewProvider(
		m.dialect.Migrations(),
		m.pool,
		files,
		goose.WithTableName(versionTable(folder)),
		goose.WithDisableGlobalRegistry(true),
	)
}

// isLegacy reports whether the database was created before the schema was divided by module,
// and has not been divided yet.
func (m migrator) isLegacy(ctx context.Context) (bool, error) {
	exists, isDivided, err := m.legacyState(ctx)
	return exists && !isDivided, err
}

// legacyState reports whether the database was created before the schema was divided
// by module, and whether it has been divided.
func (m migrator) legacyState(ctx context.Context) (exists, isDivided bool, err error) {
	store, err := database.NewStore(m.dialect.Migrations(), legacyTable)
	if err != nil {
		return false, false, err
	}

	exists, err = m.legacyTableExists(ctx, store)
	if err != nil || !exists {
		return false, false, err
	}

	_, err = store.GetMigration(ctx, m.pool, dividedVersion)
	if errors.Is(err, database.ErrVersionNotFound) {
		return true, false, nil
	}

	return true, err == nil, err
}

// legacyTableExists reports whether legacyTable exists. It uses GORM for the dialects whose goose
// store cannot look for a table.
func (m migrator) legacyTableExists(ctx context.Context, store database.Store) (bool, error) {
	if extended, ok := store.(database.StoreExtender); ok {
		exists, err := extended.TableExists(ctx, m.pool)
		if !errors.Is(err, errors.ErrUnsupported) {
			return exists, err
		}
	}

	return m.reader.WithContext(ctx).Migrator().HasTable(legacyTable), nil
}

// divideSchema applies the remaining legacy migrations, after which the schema is the same as after
// the first version of every module. It then records these versions as applied.
func (m migrator) divideSchema(ctx context.Context) (names []string, err error) {
	if names, err = m.up(ctx, legacyFolder); err != nil {
		return names, err
	}

	return names, m.recordDivision(ctx)
}

// recordDivision creates the version tables of the modules with their first version, and records
// dividedVersion. It does nothing if another process has already divided the schema.
func (m migrator) recordDivision(ctx context.Context) error {
	tx, err := m.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}

	defer func() { _ = tx.Rollback() }()

	var divisions int

	query := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE version_id = %d", legacyTable, dividedVersion)
	if err := tx.QueryRowContext(ctx, query).Scan(&divisions); err != nil || divisions > 0 {
		return err
	}

	for _, folder := range append([]string{"database"}, migrations.Modules()...) {
		store, err := database.NewStore(m.dialect.Migrations(), versionTable(folder))
		if err != nil {
			return err
		}

		if err := store.CreateVersionTable(ctx, tx); err != nil {
			return err
		}

		for _, version := range []int64{0, 1} { // goose expects a row of version 0 in each table
			if err := store.Insert(ctx, tx, database.InsertRequest{Version: version}); err != nil {
				return err
			}
		}
	}

	store, err := database.NewStore(m.dialect.Migrations(), legacyTable)
	if err != nil {
		return err
	}

	if err := store.Insert(ctx, tx, database.InsertRequest{Version: dividedVersion}); err != nil {
		return err
	}

	return tx.Commit()
}

// up applies the missing migrations of a folder and returns their names.
//
// SQLite has no lock between processes. There, a migration fails if another process has applied it
// after this process had read the version. Then the version has changed, and up tries again.
func (m migrator) up(ctx context.Context, folder string) (names []string, err error) {
	p, err := m.provider(folder)
	if err != nil {
		return nil, err
	}

	for {
		before, err := p.GetDBVersion(ctx)
		if err != nil {
			return names, err
		}

		results, err := p.Up(ctx)
		for _, r := range results {
			names = append(names, path.Join(folder, r.Source.Path))
		}

		if err == nil {
			return names, nil
		}

		after, versionErr := p.GetDBVersion(ctx)
		if versionErr != nil || after == before {
			return names, err
		}
	}
}

// Up implements adapters.Schema.
func (s schemas) Up(ctx context.Context) (names []string, err error) {
	err = s.withLock(ctx, func(m migrator) error {
		isLegacy, err := m.isLegacy(ctx)
		if err != nil {
			return err
		}

		if isLegacy {
			names, err = m.divideSchema(ctx)
			if err != nil {
				return err
			}
		}

		for _, folder := range s.folders() {
			applied, err := m.up(ctx, folder)
			names = append(names, applied...)

			if err != nil {
				return fmt.Errorf("migrations of %s: %w", folder, err)
			}
		}

		if s.storesModule("listings") {
			return feed(s).beginEpoch(ctx)
		}

		return nil
	})

	return names, err
}

// Down implements adapters.Schema. It reverts the latest migration and returns its name. Of migrations
// that were applied in the same second, it reverts the one with the highest number first.
func (s schemas) Down(ctx context.Context) (name string, err error) {
	applied, err := s.Status(ctx)
	if err != nil {
		return "", err
	}

	applied = slices.DeleteFunc(applied, func(step adapters.SchemaStep) bool { return !step.Applied })
	if len(applied) == 0 {
		return "", errors.New("there is no migration to revert")
	}

	slices.SortStableFunc(applied, func(a, b adapters.SchemaStep) int {
		return cmp.Or(a.AppliedAt.Compare(b.AppliedAt), cmp.Compare(path.Base(a.Name), path.Base(b.Name)))
	})

	name = applied[len(applied)-1].Name
	folder, file := path.Dir(name), path.Base(name)

	return name, s.withLock(ctx, func(m migrator) error {
		_, isDivided, err := m.legacyState(ctx)
		if err != nil {
			return err
		}

		// In a divided schema, recordDivision has recorded the first version of the built-in modules.
		_, isAddedModule := m.migrations[folder]
		if isDivided && !isAddedModule && strings.HasPrefix(file, "0001_") {
			return errors.New("the schema cannot be reverted to that of an earlier locum; restore a backup from before the upgrade")
		}

		p, err := m.provider(folder)
		if err != nil {
			return err
		}

		_, err = p.Down(ctx)

		return err
	})
}

// Status implements adapters.Schema.
func (s schemas) Status(ctx context.Context) (steps []adapters.SchemaStep, err error) {
	err = s.withMigrator(func(m migrator) error {
		folders := s.folders()

		isLegacy, err := m.isLegacy(ctx)
		if err != nil {
			return err
		}

		if isLegacy { // the version tables of the modules do not exist yet
			folders = []string{legacyFolder}
		}

		for _, folder := range folders {
			p, err := m.provider(folder)
			if err != nil {
				return err
			}

			statuses, err := p.Status(ctx)
			if err != nil {
				return err
			}

			for _, status := range statuses {
				steps = append(steps, adapters.SchemaStep{
					Name:      path.Join(folder, status.Source.Path),
					Applied:   status.State == goose.StateApplied,
					AppliedAt: status.AppliedAt,
				})
			}
		}

		return nil
	})

	return steps, err
}

// Check implements adapters.Schema.
func (s schemas) Check(ctx context.Context) error {
	return s.withMigrator(func(m migrator) error {
		isLegacy, err := m.isLegacy(ctx)
		if err != nil {
			return err
		}

		if isLegacy {
			return errors.New("the schema is that of an earlier locum; run `locum migrate up`")
		}

		for _, folder := range s.folders() {
			if err := m.check(ctx, folder); err != nil {
				return err
			}
		}

		return nil
	})
}

// check returns an error unless exactly the migrations of the folder have been applied.
func (m migrator) check(ctx context.Context, folder string) error {
	p, err := m.provider(folder)
	if err != nil {
		return err
	}

	current, expected, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}

	schema := fmt.Sprintf("the schema of %s is at version %d", folder, current)
	switch {
	case current < expected:
		return fmt.Errorf("%s and this binary needs %d; run `locum migrate up`", schema, expected)
	case current > expected:
		return fmt.Errorf("%s and this binary knows only %d; run a newer locum, or that one's `locum migrate down`", schema, expected)
	}

	steps, err := p.Status(ctx)
	if err != nil {
		return err
	}

	// A migration may be missing although a later one has been applied.
	for _, step := range steps {
		if step.State != goose.StateApplied {
			const remedy = "migrations are applied in their order, " +
				"so restore a backup or revert the later ones with `locum migrate down`"

			return fmt.Errorf("%s without migration %s, which is older; %s", schema, step.Source.Path, remedy)
		}
	}

	return nil
}
