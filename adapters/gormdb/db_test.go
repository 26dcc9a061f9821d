package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
)

// TestSQLite_Timestamps_CompareCorrectly checks the format of timestamps, which SQLite compares as
// text. A whole second must be written with a fraction, too. Otherwise a time half a second later,
// "00:00:00.5Z", would be less than the whole second, "00:00:00Z", since "." is less than "Z".
func TestSQLite_Timestamps_CompareCorrectly(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	wholeSecond := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	halfASecondLater := wholeSecond.Add(500 * time.Millisecond)

	var isLater bool
	require.NoError(t, db.reader.Raw("SELECT ? > ?", halfASecondLater, wholeSecond).Scan(&isLater).Error)
	require.True(t, isLater, "half a second later does not compare as later")
}

// TestSQLite_TwentyWriters_AllSucceed checks that concurrent transactions neither fail with
// "database is locked" nor overwrite each other: each reads the counter and writes it plus 1.
func TestSQLite_TwentyWriters_AllSucceed(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	require.NoError(t, db.reader.Exec("CREATE TABLE counter (n INTEGER)").Error)
	require.NoError(t, db.reader.Exec("INSERT INTO counter VALUES (0)").Error)

	increment := func(ctx context.Context) error {
		var n int
		if err := db.conn(ctx).Raw("SELECT n FROM counter").Scan(&n).Error; err != nil {
			return err
		}

		return db.conn(ctx).Exec("UPDATE counter SET n = ?", n+1).Error
	}

	const writers, transactionsPerWriter = 20, 10
	errs := make(chan error, writers*transactionsPerWriter)

	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range transactionsPerWriter {
				errs <- db.Do(context.Background(), increment)
			}
		})
	}

	running.Wait()
	close(errs)

	for err := range errs {
		require.NoError(t, err)
	}

	var counted int
	require.NoError(t, db.reader.Raw("SELECT n FROM counter").Scan(&counted).Error)
	require.Equal(t, writers*transactionsPerWriter, counted)
}

// TestSQLite_WriterWaits_UntilContextEnds checks that writers wait for the only connection that
// writes, for as long as their contexts allow, while reads do not wait. If each writer had its own
// connection, SQLite itself would retry for five seconds, and some writers would fail, although each
// transaction is short.
func TestSQLite_WriterWaits_UntilContextEnds(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	require.NoError(t, db.reader.Exec("CREATE TABLE counter (n INTEGER)").Error)

	count := func(ctx context.Context) error {
		var n int
		return wrap(db.conn(ctx).Raw("SELECT count(*) FROM counter").Scan(&n).Error)
	}

	insert := func(ctx context.Context) error {
		return wrap(db.conn(ctx).Exec("INSERT INTO counter VALUES (1)").Error)
	}

	// The first transaction keeps the connection until release is closed.
	inside := make(chan struct{})
	release := make(chan struct{})
	var transactions sync.WaitGroup
	transactions.Go(func() {
		assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
			err := count(ctx)

			close(inside)
			<-release

			return err
		}))
	})

	<-inside
	require.NoError(t, count(t.Context()), "reads outside of a transaction do not wait for writes")

	// A writer whose context has ended does not wait, neither in a transaction nor outside of one.
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, db.Do(canceled, count), fault.ErrUnavailable)
	require.ErrorIs(t, insert(canceled), fault.ErrUnavailable)

	// Others wait: 20 transactions, and 20 inserts outside of a transaction.
	const waitersOfEachKind = 20
	for range waitersOfEachKind {
		transactions.Go(func() { assert.NoError(t, db.Do(t.Context(), count)) })
		transactions.Go(func() { assert.NoError(t, insert(t.Context())) })
	}

	writerPool, err := db.writer.DB()
	require.NoError(t, err)

	const onlyConnection = 1

	doAllWait := func() bool { return writerPool.Stats().WaitCount >= 2*waitersOfEachKind }
	require.Eventually(t, doAllWait, 10*time.Second, time.Millisecond)
	require.Equal(t, onlyConnection, writerPool.Stats().InUse)

	// When the first transaction ends, all that wait succeed.
	close(release)
	transactions.Wait()

	var inserted int
	require.NoError(t, db.reader.Raw("SELECT count(*) FROM counter").Scan(&inserted).Error)
	require.Equal(t, waitersOfEachKind, inserted)
}

// TestSQLite_ReadConnection_CannotWrite checks that a statement that writes fails if it is sent to the
// pool for reads by mistake. It would otherwise compete with the connection for writes.
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

	// Keep the context of a transaction beyond its end.
	contexts := make(chan context.Context, 1)
	require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
		contexts <- ctx
		return nil
	}))

	ended := <-contexts

	// Every way to use it fails: a statement, the record of an event, and the connection for added modules.
	require.ErrorIs(t, db.conn(ended).Exec("SELECT 1").Error, sql.ErrTxDone)
	require.ErrorIs(t, outbox{db}.Record(ended, event.JobCreated{}), sql.ErrTxDone)

	_, err := Conn(ended)
	require.ErrorIs(t, err, sql.ErrTxDone)

	// Other transactions are not affected.
	nextTransaction := func(ctx context.Context) error { return db.conn(ctx).Exec("SELECT 1").Error }
	require.NoError(t, db.Do(t.Context(), nextTransaction))
}

// TestConn_OutsideOfTransaction_Fails checks that a module cannot write outside of a transaction by
// mistake.
func TestConn_OutsideOfTransaction_Fails(t *testing.T) {
	t.Parallel()

	_, err := Conn(t.Context())
	require.ErrorIs(t, err, ErrNoTransaction)
}

// TestDo_ErrorOfFunction_IsReturnedUnchanged checks that Do does not translate errors of the function,
// because the function decides what its errors mean. The function wrap, which translates errors of the
// database, would translate this one.
func TestDo_ErrorOfFunction_IsReturnedUnchanged(t *testing.T) {
	t.Parallel()

	fails := func(context.Context) error { return gorm.ErrRecordNotFound }
	require.Equal(t, gorm.ErrRecordNotFound, openTestSQLite(t).Do(t.Context(), fails))
}

// TestConn_NoServer_IsUnavailable checks that an added module that uses Conn returns a 503
// during an outage. Nothing listens on port 1.
func TestConn_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()

	db := openURL(t, "postgres://locum@127.0.0.1:1/x?sslmode=disable")
	err := db.Do(t.Context(), func(ctx context.Context) error {
		_, err := Conn(ctx)
		return err
	})

	require.ErrorIs(t, err, fault.ErrUnavailable)
}

// TestDo_StaleVersion_IsRetriedThenFails checks that a transaction that lost against a concurrent
// change of the same row is repeated. Such a transaction returns errStale, because the version of the
// row has changed since it was read. Do makes up to maxAttempts attempts.
func TestDo_StaleVersion_IsRetriedThenFails(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	t.Run("third attempt succeeds", func(t *testing.T) {
		const successfulAttempt = 3

		attempts := 0
		require.NoError(t, db.Do(t.Context(), func(context.Context) error {
			attempts++
			if attempts < successfulAttempt {
				return fmt.Errorf("saving: %w", errStale)
			}

			return nil
		}))
		require.Equal(t, successfulAttempt, attempts)
	})

	t.Run("all attempts fail", func(t *testing.T) {
		attempts := 0
		require.Error(t, db.Do(t.Context(), func(context.Context) error {
			attempts++
			return errStale
		}))
		require.Equal(t, maxAttempts, attempts)
	})
}

// TestDo_ErrorOfFunction_RollsBackEvents checks that an event is never sent for a change that was not
// committed. Events are rows of the table outbox, which a background process claims and sends.
func TestDo_ErrorOfFunction_RollsBackEvents(t *testing.T) {
	t.Parallel()

	// Record an event in a transaction that fails.
	db := openTestSQLite(t)
	recorder := outbox{db}
	errOfFunction := errors.New("boom")
	err := db.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, recorder.Record(ctx, event.JobCreated{JobID: uuid.NewString()}))
		return errOfFunction
	})

	require.ErrorIs(t, err, errOfFunction)

	// There is no event to send.
	const maxEvents, lease = 10, time.Minute

	events, err := recorder.Claim(t.Context(), maxEvents, lease)
	require.NoError(t, err)
	require.Empty(t, events)
}

// Permissions of the files of a database.
const (
	onlyThisUser  os.FileMode = 0o600
	groupMayRead  os.FileMode = 0o640
	everyoneReads os.FileMode = 0o644
)

// TestSQLite_File_HasMode0600 checks that other users of the host cannot read the database, its
// write-ahead log (-wal) and its shared memory (-shm). If an operator makes the database readable for a
// group, the log and the shared memory get the same mode, since the group needs them to read.
func TestSQLite_File_HasMode0600(t *testing.T) {
	t.Parallel()

	t.Run("new files", func(t *testing.T) {
		path, _ := createSQLiteFile(t)
		requireSQLiteModes(t, path, onlyThisUser)
	})

	t.Run("files that another program has created with the usual mode", func(t *testing.T) {
		path, _ := createSQLiteFile(t)
		require.NoError(t, os.Chmod(path+"-wal", everyoneReads))
		require.NoError(t, os.Chmod(path+"-shm", everyoneReads))

		openSQLiteFile(t, path)
		requireSQLiteModes(t, path, onlyThisUser)
	})

	// SQLite deletes -wal and -shm with the last connection, and creates them with the next one.
	t.Run("files that SQLite creates again", func(t *testing.T) {
		path, pool := createSQLiteFile(t)
		pool.SetMaxIdleConns(0) // closes the connection of the pool
		require.NoFileExists(t, path+"-shm")

		pool.SetMaxIdleConns(1)
		require.NoError(t, pool.PingContext(t.Context())) // opens a connection
		requireSQLiteModes(t, path, onlyThisUser)
	})

	t.Run("database that a group may read", func(t *testing.T) {
		path, pool := createSQLiteFile(t)
		require.NoError(t, pool.Close())
		require.NoError(t, os.Chmod(path, groupMayRead))

		reopened := openSQLiteFile(t, path)
		require.NoError(t, reopened.PingContext(t.Context()))
		requireSQLiteModes(t, path, groupMayRead)
	})
}

// createSQLiteFile creates a database with a table, and returns the path of its file. The folder of the
// file does not exist before, and its name has characters that are special in a URL.
func createSQLiteFile(t *testing.T) (path string, pool *sql.DB) {
	t.Helper()

	path = t.TempDir() + "/made/a b%&+.db"
	pool = openSQLiteFile(t, path)
	_, err := pool.ExecContext(t.Context(), "CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('a')")
	require.NoError(t, err)

	return path, pool
}

// openSQLiteFile opens a pool of one connection, and closes it after the test.
func openSQLiteFile(t *testing.T, path string) *sql.DB {
	t.Helper()

	const noOptions, maxConnections = "", 1
	pool, err := openSQLite(path, noOptions, maxConnections)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })

	return pool
}

// requireSQLiteModes checks the permissions of the database file, of -wal and of -shm, and that only this
// user may enter their folder.
func requireSQLiteModes(t *testing.T, path string, want os.FileMode) {
	t.Helper()

	const onlyThisUserEnters = 0o700
	requireMode(t, filepath.Dir(path), onlyThisUserEnters)

	for _, suffix := range []string{"", "-wal", "-shm"} {
		requireMode(t, path+suffix, want)
	}
}

// requireMode checks the permissions of a file or directory.
func requireMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()

	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, want, info.Mode().Perm(), path)
}

// TestPostgres_NoServer_IsUnavailable checks that each way to use the database reports an outage
// as a 503. Nothing listens on port 1.
func TestPostgres_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	requireUnavailable(t, "postgres://locum@127.0.0.1:1/x?sslmode=disable")
}

// requireUnavailable checks that all kinds of statements return fault.Unavailable with the
// reason NoConnection while no server listens at the URL.
func requireUnavailable(t *testing.T, url string) {
	t.Helper()

	db := openURL(t, url)
	ctx := t.Context()
	selectOne := func(ctx context.Context) error { return db.conn(ctx).Exec("SELECT 1").Error }
	recordEvent := func(ctx context.Context) error { return outbox{db}.Record(ctx, event.JobCreated{}) }
	_, readOpenErr := feed{db}.ReadOpen(ctx, nil) // the function for listings is never called

	// The error of each kind of statement, in the way in which the repositories of this package execute it.
	for name, err := range map[string]error{
		"builder":     wrap(db.conn(ctx).Table("users").Count(new(int64)).Error),
		"raw":         wrap(db.conn(ctx).Raw("SELECT 1").Scan(new(int)).Error),
		"exec":        wrap(selectOne(ctx)),
		"transaction": db.Do(ctx, selectOne),
		"inserts":     db.Do(ctx, recordEvent),
		"stream":      db.streamRows(ctx, "SELECT 1", nil, func(Rows) error { return nil }),
		"ping":        db.Ping(ctx),
		"schema":      schemas{db}.Check(ctx),
		"queue":       tasks{db}.RecordOutcomes(ctx, task.Outcome{State: task.Done}),
		"feed":        readOpenErr,
	} {
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "%s: %v", name, err)
		require.Equal(t, string(NoConnection), fault.Of(err).Reason, name)
	}
}
