// Package stores opens the databases that tests run against: migrated and empty.
package stores

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/migrations"
	"github.com/locumhq/locum/test/kit"
)

// NewID makes a UUIDv7.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// migratedSQLite returns a database file with the schema. Applying all migrations takes longer
// than most tests, so they are applied once, and every test gets a copy of the result.
var migratedSQLite = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "locum-migrated-")
	if err != nil {
		return nil, err
	}

	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	path := filepath.Join(dir, "test.db")
	if err := migrate("sqlite:" + path); err != nil {
		return nil, err
	}

	if _, err := os.Stat(path + "-wal"); err == nil {
		return nil, errors.New("the file is incomplete: the write-ahead log holds changes")
	}

	return os.ReadFile(path)
})

// migrationsName returns a name that differs for each set of migrations.
var migrationsName = sync.OnceValues(func() (string, error) {
	all := sha256.New()
	err := fs.WalkDir(migrations.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}

		body, err := fs.ReadFile(migrations.Files, path)
		_, _ = fmt.Fprintf(all, "%s %d\n%s\n", path, len(body), body)

		return err
	})

	return hex.EncodeToString(all.Sum(nil)[:8]), err
})

// migrate applies all migrations to the database.
func migrate(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	storage, err := gormdb.Open(ctx, url, newDeps(clock.System{}))
	if err != nil {
		return err
	}

	_, err = storage.Identity.Schema.Up(ctx)

	return errors.Join(err, storage.Identity.Close())
}

// newDeps returns the dependencies of an adapter that logs nothing.
func newDeps(clk clock.Clock) adapters.Deps {
	return adapters.Deps{Clock: clk, NewID: NewID, Log: slog.New(slog.DiscardHandler)}
}

// SQLite opens a database in a temporary file.
func SQLite(t testing.TB, clk clock.Clock) adapters.Storage {
	t.Helper()

	file, err := migratedSQLite()
	require.NoError(t, err)

	path := filepath.Join(t.TempDir(), "test.db")
	require.NoError(t, os.WriteFile(path, file, 0o600))

	return open(t, "sqlite:"+path, clk)
}

// Postgres opens an empty database that only this test uses, or skips the test if
// there is no server.
func Postgres(t testing.TB, clk clock.Clock) adapters.Storage {
	t.Helper()
	return open(t, PostgresURL(t), clk)
}

// PostgresURL returns the URL of a database with all migrations that only this test uses,
// or skips the test if there is no server.
func PostgresURL(t testing.TB) string {
	t.Helper()

	name, err := migrationsName()
	require.NoError(t, err)

	return kit.PostgresLike(t, name, migrate)
}

// MariaDB opens an empty database that only this test uses, or skips the test
// without LOCUM_TEST_HEAVY.
func MariaDB(t testing.TB, clk clock.Clock) adapters.Storage {
	t.Helper()

	url := kit.MariaDBURL(t)
	require.NoError(t, migrate(url))

	return open(t, url, clk)
}

// Each runs the test on SQLite and on Postgres.
func Each(t *testing.T, test func(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage)) {
	t.Helper()

	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite)
	})

	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres)
	})
}

// open opens the database until the end of the test, and checks its schema.
func open(t testing.TB, url string, clk clock.Clock) adapters.Storage {
	t.Helper()

	storage := Open(t, url, clk)
	t.Cleanup(func() { require.NoError(t, storage.Identity.Close()) })
	require.NoError(t, storage.Identity.Schema.Check(context.Background()))

	return storage
}

// Open opens the database at the URL; the caller closes it. It retries, because a
// busy machine may not connect within the adapter's timeout of two seconds.
func Open(t testing.TB, url string, clk clock.Clock) adapters.Storage {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	for {
		storage, err := gormdb.Open(ctx, url, newDeps(clk))
		if fault.KindOf(err) == fault.Unavailable && ctx.Err() == nil {
			continue
		}

		require.NoError(t, err)

		return storage
	}
}
