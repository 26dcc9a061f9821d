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

// schemas implements adapters.Schema with goose. It creates and updates the tables of all modules
// that the database stores, including modules that were added to the built-in ones.
//
// Each module has a folder of migrations. For each folder, the database has a table with the versions
// that have been applied (see versionTable).
//
// Earlier versions of locum had one folder for all modules, which is now called legacy, and one table
// of versions. Such a database is called legacy here. Up divides its schema by module: it applies the
// rest of the legacy migrations and then records the first version of each module as applied.
type schemas struct{ *DB }

// folders returns the folders of the migrations that the database needs, in the order in which
// they are applied.
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

// versionTable returns the name of the table with the versions of a folder that have been applied.
func versionTable(folder string) string {
	if folder == legacyFolder {
		return legacyTable
	}

	return "schema_" + folder
}

// migrationFiles returns the migrations of a folder, which belongs either to an added module or to
// a built-in one.
func (s schemas) migrationFiles(folder string) (fs.FS, error) {
	if added, isAdded := s.migrations[folder]; isAdded {
		return translate(s.dialect, added)
	}

	builtIn, err := fs.Sub(migrations.Files, folder)
	if err != nil {
		return nil, err
	}

	return translate(s.dialect, builtIn)
}

// translate returns the migrations in the SQL of the dialect. A file NNNN_name.DIALECT.sql
// replaces NNNN_name.sql for its dialect, and is ignored for others.
func translate(d Dialect, files fs.FS) (fs.FS, error) {
	translated := fstest.MapFS{}

	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}

	for _, name := range names {
		// stem is NNNN_name. In the order of names, NNNN_name.DIALECT.sql precedes NNNN_name.sql.
		stem, dialect, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), ".")
		target := stem + ".sql"
		_, isReplaced := translated[target]

		isForAll := dialect == ""
		isForOther := !isForAll && dialect != d.Name()

		if isForOther || (isForAll && isReplaced) {
			continue
		}

		body, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}

		translated[target] = &fstest.MapFile{Data: d.Migration(body)}
	}

	return translated, nil
}

// withMigrator calls fn with a migrator. For SQLite, the migrator has a separate pool, without the
// options of the driver for timestamps: goose's timestamps have another format than those of the
// repositories.
func (s schemas) withMigrator(fn func(m migrator) error) (err error) {
	pool := cmp.Or(s.direct, s.pool)
	if _, isSQLite := s.dialect.(SQLite); isSQLite {
		const noOptions, maxConnections = "", 1
		if pool, err = openSQLite(sqlitePath(s.url), noOptions, maxConnections); err != nil {
			return err
		}

		defer func() { err = errors.Join(err, pool.Close()) }()
	}

	return wrap(markUnavailable(s.dialect, fn(migrator{schemas: s, pool: pool})))
}

// withLock calls fn with a migrator, like withMigrator, while it holds the lock that allows only one
// process at a time to migrate.
func (s schemas) withLock(ctx context.Context, fn func(m migrator) error) error {
	if s.direct == nil {
		return errNoDirectURL
	}

	locker, err := s.dialect.MigrationLock()
	if err != nil {
		return err
	}

	return s.withMigrator(func(m migrator) (err error) {
		if locker == nil { // the database needs no lock
			return fn(m)
		}

		// The lock belongs to a session of the server, and therefore to one connection.
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

// errNoDirectURL is the error of migrations through a transaction pooler. Behind a pooler, clients
// share the sessions of the server, so that a lock of a session does not exclude other processes.
var errNoDirectURL = errors.New("migrations do not work behind a transaction pooler; set database.direct_url")

// migrator applies, reverts and lists the migrations of folders through a pool.
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

// schemaOrigin says whether an earlier version of locum has created the schema of a database.
type schemaOrigin int

const (
	createdByModule  schemaOrigin = iota // the schema has always been divided by module, or is empty
	createdUndivided                     // the schema has to be divided by Up
	dividedByUp                          // the schema was created undivided, and Up has divided it
)

// isLegacy reports whether the schema has to be divided by module.
func (m migrator) isLegacy(ctx context.Context) (bool, error) {
	origin, err := m.origin(ctx)
	return origin == createdUndivided, err
}

// origin returns the origin of the schema. Only earlier versions of locum have created
// legacyTable, and Up adds dividedVersion to it.
func (m migrator) origin(ctx context.Context) (schemaOrigin, error) {
	store, err := database.NewStore(m.dialect.Migrations(), legacyTable)
	if err != nil {
		return 0, err
	}

	exists, err := m.legacyTableExists(ctx, store)
	if err != nil || !exists {
		return createdByModule, err
	}

	_, err = store.GetMigration(ctx, m.pool, dividedVersion)
	if errors.Is(err, database.ErrVersionNotFound) {
		return createdUndivided, nil
	}

	return dividedByUp, err
}

// legacyTableExists reports whether legacyTable exists. It uses GORM for the dialects whose goose
// store cannot look for a table.
func (m migrator) legacyTableExists(ctx context.Context, store database.Store) (bool, error) {
	if extended, canLookForTables := store.(database.StoreExtender); canLookForTables {
		exists, err := extended.TableExists(ctx, m.pool)
		if !errors.Is(err, errors.ErrUnsupported) {
			return exists, err
		}
	}

	return m.reader.WithContext(ctx).Migrator().HasTable(legacyTable), nil
}

// divideSchema applies the remaining legacy migrations, and returns their names. After them, the schema
// is the same as after the first version of every module, so that divideSchema records these versions
// as applied.
func (m migrator) divideSchema(ctx context.Context) (names []string, err error) {
	names, err = m.up(ctx, legacyFolder)
	if err != nil {
		return names, err
	}

	return names, m.recordDivision(ctx)
}

// recordDivision creates the version tables of the modules with their first version, and records
// dividedVersion in legacyTable, all in one transaction. It does nothing if another process has already
// divided the schema.
func (m migrator) recordDivision(ctx context.Context) error {
	tx, err := m.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}

	defer func() { _ = tx.Rollback() }()

	var isDivided bool

	query := fmt.Sprintf("SELECT COUNT(*) > 0 FROM %s WHERE version_id = %d", legacyTable, dividedVersion)
	if err := tx.QueryRowContext(ctx, query).Scan(&isDivided); err != nil || isDivided {
		return err
	}

	for _, folder := range append([]string{"database"}, migrations.Modules()...) {
		if err := m.recordFirstVersion(ctx, tx, folder); err != nil {
			return err
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

// recordFirstVersion creates the version table of the folder, and records in it that the first
// migration has been applied.
func (m migrator) recordFirstVersion(ctx context.Context, tx *sql.Tx, folder string) error {
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

	return nil
}

// up applies the missing migrations of a folder and returns the names of those that it has applied.
//
// SQLite has no lock between processes. Another process may therefore apply a migration after this
// process has read the version. The same migration then fails here, and up tries again if the version
// has changed.
func (m migrator) up(ctx context.Context, folder string) (names []string, err error) {
	provider, err := m.provider(folder)
	if err != nil {
		return nil, err
	}

	for {
		versionBefore, err := provider.GetDBVersion(ctx)
		if err != nil {
			return names, err
		}

		applied, err := provider.Up(ctx)
		for _, migration := range applied {
			names = append(names, path.Join(folder, migration.Source.Path))
		}

		if err == nil {
			return names, nil
		}

		versionAfter, versionErr := provider.GetDBVersion(ctx)
		if versionErr != nil || versionAfter == versionBefore {
			return names, err
		}
	}
}

// Up implements adapters.Schema. It applies the missing migrations of all folders and returns the names
// of those that it has applied, also if a later one fails. A database with module listings then gets an
// epoch of its own, which tells the search indexes of different databases apart.
func (s schemas) Up(ctx context.Context) (names []string, err error) {
	err = s.withLock(ctx, func(m migrator) error {
		isLegacy, err := m.isLegacy(ctx)
		if err != nil {
			return err
		}

		if isLegacy {
			if names, err = m.divideSchema(ctx); err != nil {
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

	// Sort by time. The name of a file begins with the number of the migration.
	slices.SortStableFunc(applied, func(a, b adapters.SchemaStep) int {
		return cmp.Or(a.AppliedAt.Compare(b.AppliedAt), cmp.Compare(path.Base(a.Name), path.Base(b.Name)))
	})

	latest := applied[len(applied)-1].Name // FOLDER/FILE
	folder, file := path.Dir(latest), path.Base(latest)

	return latest, s.withLock(ctx, func(m migrator) error {
		origin, err := m.origin(ctx)
		if err != nil {
			return err
		}

		// Of the built-in modules, Up has only recorded the first version, but not applied its migration.
		_, isAddedModule := m.migrations[folder]
		isFirst := strings.HasPrefix(file, "0001_")

		if origin == dividedByUp && isFirst && !isAddedModule {
			return errors.New("the schema cannot be reverted to that of an earlier locum; restore a backup from before the upgrade")
		}

		provider, err := m.provider(folder)
		if err != nil {
			return err
		}

		_, err = provider.Down(ctx)

		return err
	})
}

// Status implements adapters.Schema. It returns the migrations of all folders, applied or not. Of a
// legacy database it returns the legacy migrations.
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
			provider, err := m.provider(folder)
			if err != nil {
				return err
			}

			statuses, err := provider.Status(ctx)
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

// Check implements adapters.Schema. It compares the version of each folder with the newest migration of
// this binary.
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
	provider, err := m.provider(folder)
	if err != nil {
		return err
	}

	current, expected, err := provider.GetVersions(ctx)
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

	statuses, err := provider.Status(ctx)
	if err != nil {
		return err
	}

	// A migration may be missing although a later one has been applied.
	for _, status := range statuses {
		if status.State != goose.StateApplied {
			const remedy = "migrations are applied in their order, " +
				"so restore a backup or revert the later ones with `locum migrate down`"

			return fmt.Errorf("%s without migration %s, which is older; %s", schema, status.Source.Path, remedy)
		}
	}

	return nil
}
