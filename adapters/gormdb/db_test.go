package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

// openTestSQLite returns a database in a new file with the current schema.
func openTestSQLite(t *testing.T) *DB {
	t.Helper()
	db, err := OpenDB(
		SQLite{},
		"sqlite:"+t.TempDir()+"/test.db",
		adapters.Deps{
			Clock: clock.System{},
			NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
			Log:   slog.New(slog.DiscardHandler),
		},
	)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = schemas{db}.Up(t.Context())
	require.NoError(t, err)
	return db
}

// TestSQLite_Timestamps_CompareCorrectly checks that timestamps have a format in which SQLite,
// which compares them as text, finds the later one: half a second later than a whole second,
// whose fraction must not be omitted.
func TestSQLite_Timestamps_CompareCorrectly(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	whole := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var later bool
	require.NoError(t, db.reader.Raw("SELECT ? > ?", whole.Add(500*time.Millisecond), whole).Scan(&later).Error)
	require.True(t, later)
}

// TestSQLite_TwentyWriters_AllSucceed checks that concurrent transactions neither fail with
// "database is locked" nor overwrite each other: each reads the counter and writes it plus 1.
func TestSQLite_TwentyWriters_AllSucceed(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	require.NoError(t, db.reader.Exec("CREATE TABLE counter (n INTEGER)").Error)
	require.NoError(t, db.reader.Exec("INSERT INTO counter VALUES (0)").Error)
	var wg sync.WaitGroup
	errs := make(chan error, 200)
	for range 20 {
		wg.Go(func() {
			for range 10 {
				errs <- db.Do(context.Background(), func(ctx context.Context) error {
					var n int
					if err := db.conn(ctx).Raw("SELECT n FROM counter").Scan(&n).Error; err != nil {
						return err
					}
					return db.conn(ctx).Exec("UPDATE counter SET n = ?", n+1).Error
				})
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	var n int
	require.NoError(t, db.reader.Raw("SELECT n FROM counter").Scan(&n).Error)
	require.Equal(t, 200, n)
}

// TestSQLite_WriterWaits_UntilContextEnds checks that writers wait for the only connection that
// writes, for as long as their contexts allow. SQLite itself would retry for five seconds and
// then fail for the writers that were unlucky, although each transaction is short.
func TestSQLite_WriterWaits_UntilContextEnds(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	require.NoError(t, db.reader.Exec("CREATE TABLE counter (n INTEGER)").Error)
	inside, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	count := func(ctx context.Context) error {
		var n int
		return wrap(db.conn(ctx).Raw("SELECT count(*) FROM counter").Scan(&n).Error)
	}
	all.Go(func() {
		assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
			err := count(ctx)
			close(inside)
			<-release
			return err
		}))
	})
	<-inside
	require.NoError(t, count(t.Context()), "reads do not wait for writes") // outside of a transaction

	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, db.Do(hurried, count), fault.ErrUnavailable)
	require.ErrorIs(t, wrap(db.conn(hurried).Exec("INSERT INTO counter VALUES (1)").Error), fault.ErrUnavailable)

	for range 20 {
		all.Go(func() { assert.NoError(t, db.Do(t.Context(), count)) })
		all.Go(func() { assert.NoError(t, db.conn(t.Context()).Exec("INSERT INTO counter VALUES (1)").Error) })
	}
	writer, err := db.writer.DB()
	require.NoError(t, err)
	// 20 transactions and 20 inserts wait.
	require.Eventually(t, func() bool { return writer.Stats().WaitCount >= 40 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, writer.Stats().InUse)
	close(release)
	all.Wait()
	var n int
	require.NoError(t, db.reader.Raw("SELECT count(*) FROM counter").Scan(&n).Error)
	require.Equal(t, 20, n)
}

// TestSQLite_ReadConnection_CannotWrite checks that a statement that is sent to the pool for
// reads by mistake fails, instead of competing with the connection for writes.
func TestSQLite_ReadConnection_CannotWrite(t *testing.T) {
	t.Parallel()
	_, err := openTestSQLite(t).pool.ExecContext(t.Context(), "CREATE TABLE counter (n INTEGER)")
	require.ErrorContains(t, err, "readonly")
}

// TestDo_ContextAfterItsEnd_Fails checks that the context of a transaction, if a goroutine keeps
// it beyond the end of Do, does not silently write outside of the transaction.
func TestDo_ContextAfterItsEnd_Fails(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	contexts := make(chan context.Context, 1)
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error { contexts <- ctx; return nil }))
	ended := <-contexts
	require.ErrorIs(t, db.conn(ended).Exec("SELECT 1").Error, sql.ErrTxDone)
	require.ErrorIs(t, outbox{db}.Record(ended, event.JobCreated{}), sql.ErrTxDone)
	_, err := Conn(ended)
	require.ErrorIs(t, err, sql.ErrTxDone)
	_, err = Conn(t.Context())
	require.ErrorIs(t, err, ErrNoTransaction)
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error { return db.conn(ctx).Exec("SELECT 1").Error }))
}

// TestDo_ErrorOfFunction_IsReturnedUnchanged checks that Do does not translate errors of the
// function, as wrap would do with this one: the function decides what its errors mean.
func TestDo_ErrorOfFunction_IsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	require.Equal(t, gorm.ErrRecordNotFound,
		openTestSQLite(t).Do(t.Context(), func(context.Context) error { return gorm.ErrRecordNotFound }))
}

// TestConn_NoServer_IsUnavailable checks that an added module that uses Conn returns a 503
// during an outage. Nothing listens on port 1.
func TestConn_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	db, err := OpenDB(Postgres{}, "postgres://locum@127.0.0.1:1/x?sslmode=disable",
		adapters.Deps{Clock: clock.System{}, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.ErrorIs(t, db.Do(t.Context(), func(ctx context.Context) error {
		_, err := Conn(ctx)
		return err
	}), fault.ErrUnavailable)
}

// TestDo_StaleVersion_IsRetriedThenFails checks that a transaction that lost against a
// concurrent change of the same row is repeated, up to maxAttempts times.
func TestDo_StaleVersion_IsRetriedThenFails(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	tries := 0
	require.NoError(t, db.Do(t.Context(), func(context.Context) error {
		if tries++; tries < 3 {
			return fmt.Errorf("saving: %w", errStale)
		}
		return nil
	}))
	require.Equal(t, 3, tries)
	tries = 0
	require.Error(t, db.Do(t.Context(), func(context.Context) error { tries++; return errStale }))
	require.Equal(t, maxAttempts, tries)
}

// TestDo_ErrorOfFunction_RollsBackWritesAndEvents checks that an event is never sent for a
// change that was not committed.
func TestDo_ErrorOfFunction_RollsBackWritesAndEvents(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	box := outbox{db}
	boom := errors.New("boom")
	require.ErrorIs(t, db.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, box.Record(ctx, event.JobCreated{JobID: uuid.NewString()}))
		return boom
	}), boom)
	got, err := box.Claim(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	require.Empty(t, got)
}

// TestSQLite_File_HasMode0600 checks that other users of the host cannot read the database, its
// write-ahead log (-wal) and its shared memory (-shm), also when the files are created anew or
// had other modes before. An operator may make the database readable for a group; the other
// files then get the same mode.
func TestSQLite_File_HasMode0600(t *testing.T) {
	t.Parallel()
	// The directory does not exist yet, and the name has characters that are special in a URL.
	path := t.TempDir() + "/made/a b%&+.db"
	modes := func() map[string]os.FileMode {
		out := map[string]os.FileMode{}
		for _, name := range []string{filepath.Dir(path), path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(name)
			require.NoError(t, err)
			out[strings.TrimPrefix(name, filepath.Dir(path))] = info.Mode().Perm()
		}
		return out
	}
	// The directory, and its files.
	alone := map[string]os.FileMode{"": 0o700, "/a b%&+.db": 0o600, "/a b%&+.db-wal": 0o600, "/a b%&+.db-shm": 0o600}
	pool, err := openSQLite(path, "", 1)
	require.NoError(t, err)
	_, err = pool.ExecContext(t.Context(), "CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('a')")
	require.NoError(t, err)
	require.Equal(t, alone, modes())

	// As a program that cared less has left them.
	for name, mode := range alone {
		// Another program may have created the files with the usual mode.
		if mode == 0o600 && name != "/a b%&+.db" {
			require.NoError(t, os.Chmod(filepath.Dir(path)+name, 0o644))
		}
	}
	second, err := openSQLite(path, "", 1)
	require.NoError(t, err)
	require.Equal(t, alone, modes())

	// SQLite deletes -wal and -shm with the last connection, and creates them with the next one.
	pool.SetMaxIdleConns(0)
	second.SetMaxIdleConns(0)
	require.NoError(t, second.Close())
	_, err = os.Stat(path + "-shm")
	require.ErrorIs(t, err, os.ErrNotExist)
	pool.SetMaxIdleConns(1)
	require.NoError(t, pool.PingContext(t.Context()))
	require.Equal(t, alone, modes())

	// Who lets a group read the database lets it read all of it.
	require.NoError(t, pool.Close())
	// A group that may read the database needs the other files, too.
	require.NoError(t, os.Chmod(path, 0o640))
	pool, err = openSQLite(path, "", 1)
	require.NoError(t, err)
	require.NoError(t, pool.PingContext(t.Context()))
	require.Equal(t, map[string]os.FileMode{"": 0o700, "/a b%&+.db": 0o640, "/a b%&+.db-wal": 0o640, "/a b%&+.db-shm": 0o640}, modes())
	require.NoError(t, pool.Close())
}

// TestPostgres_NoServer_IsUnavailable checks that each way to use the database reports an outage
// as a 503. Nothing listens on port 1.
func TestPostgres_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	requireUnavailable(t, Postgres{}, "postgres://locum@127.0.0.1:1/x?sslmode=disable")
}

// requireUnavailable checks that all kinds of statements return fault.Unavailable with the
// reason NoConnection while no server listens at the URL.
func requireUnavailable(t *testing.T, d Dialect, url string) {
	t.Helper()
	db, err := OpenDB(d, url, adapters.Deps{Clock: clock.System{}, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	ctx := t.Context()
	var n int
	for name, err := range map[string]error{
		"builder":     wrap(db.conn(ctx).Table("users").Count(new(int64)).Error),
		"raw":         wrap(db.conn(ctx).Raw("SELECT 1").Scan(&n).Error),
		"exec":        wrap(db.conn(ctx).Exec("SELECT 1").Error),
		"transaction": db.Do(ctx, func(ctx context.Context) error { return db.conn(ctx).Exec("SELECT 1").Error }),
		"inserts":     db.Do(ctx, func(ctx context.Context) error { return outbox{db}.Record(ctx, event.JobCreated{}) }),
		"stream":      db.streamRows(ctx, "SELECT 1", nil, func(Rows) error { return nil }),
		"ping":        db.Ping(ctx),
		"schema":      schemas{db}.Check(ctx),
		"queue":       tasks{db}.RecordOutcomes(ctx, task.Outcome{State: task.Done}),
		"feed":        func() error { _, err := feed{db}.ReadOpen(ctx, nil); return err }(),
	} {
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "%s: %v", name, err)
		require.Equal(t, string(NoConnection), fault.Of(err).Reason, name)
	}
}
