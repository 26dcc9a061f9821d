package gormdb

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/test/kit"
)

// TestReplicas_StaleRead_UsesReplicaIfPossible checks when a read uses the replica, and that it succeeds
// on the primary in all other cases. A read uses the replica only if it may be stale, which means that it
// may lack the newest changes. tx.AllowStale returns a context for such reads, here of up to a second.
//
// The test starts its own primary and replica, because it stops the replication and the process of the
// replica. The subtests use them one after the other.
func TestReplicas_StaleRead_UsesReplicaIfPossible(t *testing.T) {
	t.Parallel()

	// Open a database with a replica, and create the schema.
	primary := kit.OwnPostgres(t)
	replica := kit.PostgresReplica(t, primary)
	db, err := OpenDB(
		Postgres{},
		primary.URL,
		adapters.Deps{
			Clock:    clock.System{},
			NewID:    uuid.NewString,
			Log:      slog.New(slog.DiscardHandler),
			Database: adapters.DatabaseSettings{ReplicaURLs: []string{replica.URL}},
		},
	)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })

	_, err = schemas{db}.Up(t.Context())
	require.NoError(t, err)

	stale := tx.AllowStale(t.Context(), time.Second)
	staleReadUsesReplica := func() bool { return usesReplica(stale, t, db) }

	// waitForReplica waits until stale reads use the replica, since a busy machine may lag for a while.
	waitForReplica := func(t *testing.T) {
		t.Helper()
		require.Eventually(t, staleReadUsesReplica, 30*time.Second, 10*time.Millisecond)
	}

	waitForReplica(t)

	t.Run("read that must be current", func(t *testing.T) {
		require.False(t, usesReplica(t.Context(), t, db))
	})

	t.Run("read in a transaction", func(t *testing.T) {
		require.NoError(t, db.Do(stale, func(ctx context.Context) error {
			require.False(t, usesReplica(ctx, t, db))
			return nil
		}))
	})

	t.Run("stream in a transaction", func(t *testing.T) {
		require.NoError(t, db.Do(stale, func(ctx context.Context) error {
			require.Equal(t, []int{valueOnPrimary}, streamColumn(ctx, t, db, isReplicaSQL, oneRow))
			return nil
		}))
	})

	// A replica that has not replayed the latest change of listings is never used, however stale a read
	// may be: it would return rows that the search index no longer contains.
	t.Run("replica lacks a change of listings", func(t *testing.T) {
		kit.Exec(t, replica.URL, "SELECT pg_wal_replay_pause()")
		require.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
			return db.recordListings(ctx, []string{uuid.NewString()})
		}))

		const noStaleness = 0 // the read must contain all changes that are committed now
		allowingNoStaleness := tx.AllowStale(t.Context(), noStaleness)
		allowingOneSecond := tx.AllowStale(t.Context(), time.Second)

		require.False(t, usesReplica(allowingNoStaleness, t, db))
		require.False(t, usesReplica(allowingOneSecond, t, db))

		// After replaying the change, the replica is used, even for a read that must contain it.
		kit.Exec(t, replica.URL, "SELECT pg_wal_replay_resume()")

		currentReadUsesReplica := func() bool { return usesReplica(allowingNoStaleness, t, db) }
		require.Eventually(t, currentReadUsesReplica, 30*time.Second, 10*time.Millisecond)
	})

	// A read does not wait for a connection of the replica. A slot is the right to use one of them.
	t.Run("all connections of the replica are in use", func(t *testing.T) {
		onlyReplica := db.replicas.all[0]
		slots := onlyReplica.slots

		waitForReplica(t)

		// Take all slots, and return them after a read.
		for range cap(slots) {
			slots <- struct{}{}
		}

		require.False(t, staleReadUsesReplica())

		for range cap(slots) {
			<-slots
		}

		waitForReplica(t)
	})

	t.Run("query succeeds on the replica", func(t *testing.T) {
		waitForReplica(t)

		fromReplica := slices.Repeat([]int{valueOnReplica}, manyRows)
		require.Equal(t, fromReplica, streamColumn(stale, t, db, isReplicaSQL, manyRows))
		require.Equal(t, fromReplica, selectColumn(stale, t, db, isReplicaSQL, manyRows))
	})

	// The query is repeated on the primary. A stream must first discard the rows that it has got from the replica.
	t.Run("query fails on the replica after 499 rows", func(t *testing.T) {
		// The value of a row is that of isReplicaSQL, but the replica divides by zero in row 500.
		const failsInRow500 = "1 / (CASE WHEN pg_is_in_recovery() AND n = 500 THEN 0 ELSE 1 END) * " + isReplicaSQL
		fromPrimary := slices.Repeat([]int{valueOnPrimary}, manyRows)

		waitForReplica(t)
		require.Equal(t, fromPrimary, streamColumn(stale, t, db, failsInRow500, manyRows))

		waitForReplica(t)
		require.Equal(t, fromPrimary, selectColumn(stale, t, db, failsInRow500, manyRows))
	})

	// Without commits on the primary, the replica replays nothing. It is current all the same.
	t.Run("primary is idle for longer than the maximum lag", func(t *testing.T) {
		idleSince := time.Now()
		isUsedAfterMaxLag := func() bool { return time.Since(idleSince) > 2*maxReplicaLag && staleReadUsesReplica() }
		require.Eventually(t, isUsedAfterMaxLag, 30*time.Second, 50*time.Millisecond)
	})

	// The operating system accepts connections for a paused process, which does not respond.
	t.Run("replica hangs", func(t *testing.T) {
		replica.Pause()
		defer replica.Resume()

		// The first read is sent to the replica and cancelled after observeTimeout. The later
		// ones, which find the replica unavailable, must not wait either.
		for range 5 {
			startedAt := time.Now()

			require.False(t, staleReadUsesReplica())
			require.Less(t, time.Since(startedAt), 5*time.Second, "a read waits for the replica")
		}
	})

	t.Run("replica responds again", func(t *testing.T) { waitForReplica(t) })
}

// isReplicaSQL is an SQL expression by which a query shows where it was executed.
const isReplicaSQL = "(CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END)"

// The values of isReplicaSQL.
const (
	valueOnPrimary = 0
	valueOnReplica = 1
)

// Numbers of rows of the queries in these tests.
const (
	oneRow   = 1
	manyRows = 1000
)

// usesReplica reports whether a replica executes queries with the context.
func usesReplica(ctx context.Context, t *testing.T, db *DB) bool {
	t.Helper()
	return selectColumn(ctx, t, db, isReplicaSQL, oneRow)[0] == valueOnReplica
}

// selectColumn returns the values of the SQL expression in the given number of rows, in which n
// is the number of the row, beginning with 1. It uses GORM's builder.
func selectColumn(ctx context.Context, t *testing.T, db *DB, expression string, rows int) []int {
	t.Helper()
	var values []int
	query := db.conn(ctx).Table("(SELECT "+expression+" AS value FROM generate_series(1, ?::int) n) s", rows)
	require.NoError(t, query.Select("value").Find(&values).Error)
	require.Len(t, values, rows)

	return values
}

// streamColumn returns the same values as selectColumn, but reads them from a stream.
func streamColumn(ctx context.Context, t *testing.T, db *DB, expression string, rows int) []int {
	t.Helper()
	var values []int
	discard := func() { values = nil }
	scan := func(r Rows) error {
		var value int
		err := r.Scan(&value)
		values = append(values, value)

		return err
	}

	query := "SELECT " + expression + " FROM generate_series(1, $1::int) n"
	require.NoError(t, db.streamFromReplica(ctx, query, []any{rows}, discard, scan))
	require.Len(t, values, rows)

	return values
}

// TestReplica_ReplayedLessThanBefore_IsUsedAfterCatchingUp checks a replica whose position in the log
// went back, because it was restored or replaced. The replica is not used until it contains the commits
// that earlier reads have seen.
//
// A measurement compares two positions in the log (the write-ahead log of PostgreSQL, which a replica
// applies): the one that the replica has reached, and those of the primary at given times.
func TestReplica_ReplayedLessThanBefore_IsUsedAfterCatchingUp(t *testing.T) {
	t.Parallel()

	// What happens to the connection when the position goes back.
	for name, disconnect := range map[string]func(rep *replica){
		"still connected": func(*replica) { /* the connection stays */ },
		"reconnected":     func(rep *replica) { rep.markUnavailable(errNotConnected) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			// isUsed reports whether the replica is used for a read that must contain all commits from before asOf.
			rep := &replica{slots: make(chan struct{}, 1)} // a slot for one read at a time
			read := func(context.Context) error { return nil }
			isUsed := func(asOf time.Time) bool { return rep.execute(t.Context(), asOf, read) == nil }

			// Two positions of the primary, which measurements have read one after the other.
			latestReadAt := time.Now()
			primary := []primaryPosition{
				{readAt: latestReadAt.Add(-time.Millisecond), position: LogPosition{Offset: 10}},
				{readAt: latestReadAt, position: LogPosition{Offset: 20}},
			}
			measureReplayed := func(offset int64) {
				t.Helper()

				var err error
				primary, err = rep.addMeasurement(LogPosition{Offset: offset}, primary)
				require.NoError(t, err)
			}

			longAgo := latestReadAt.Add(-time.Second)
			require.False(t, isUsed(longAgo), "nothing is measured yet")

			// The replica has reached the latest position of the primary.
			measureReplayed(20)
			require.True(t, isUsed(latestReadAt))

			// The replica has applied less of the log than before. It is not used even for an outdated read.
			disconnect(rep)
			measureReplayed(15)
			require.False(t, isUsed(longAgo))
			require.ErrorContains(t, rep.problem(), "lags")

			// The replica has applied as much as before.
			measureReplayed(20)
			require.True(t, isUsed(latestReadAt))
			require.NoError(t, rep.problem())
		})
	}
}

// TestReplica_LagsForLong_RemembersFewPositions checks that the number of positions of the primary that
// are remembered for a lagging replica is bounded, and that the last position that the replica has
// reached is among them. Its time tells how current the replica is.
func TestReplica_LagsForLong_RemembersFewPositions(t *testing.T) {
	t.Parallel()
	const (
		measurements = 2000
		maxPositions = 600 // of one minute, with ten measurements per second
	)
	rep := &replica{}
	start := time.Now()
	replayed := LogPosition{Offset: 10} // of the replica, which applies nothing more

	// At first, the primary has the same position. Then its position grows with each measurement.
	primary := []primaryPosition{{readAt: start, position: replayed}}
	for i := range measurements {
		primary = append(primary, primaryPosition{
			readAt:   start.Add(time.Duration(i) * time.Millisecond),
			position: LogPosition{Offset: replayed.Offset + 1 + int64(i)},
		})
		var err error
		primary, err = rep.addMeasurement(replayed, primary)
		require.NoError(t, err)
	}

	require.LessOrEqual(t, len(primary), maxPositions, "positions that are remembered")
	require.Equal(t, start, rep.currentAsOf, "the time of the last position that the replica has reached")
}

// TestConnections_WithReplicas_AreDivided checks how the connections of a process are divided
// between the primary and each replica. A process has ten connections by default. With replicas, two
// fifths of them are for the replicas, at least two for each. One measures the position of the primary.
// The others are for the primary, at least three: with one replica, 4 + 1 + 5 connections, and with three
// replicas, 3 · 2 + 1 + 3.
func TestConnections_WithReplicas_AreDivided(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ replicas, connectionsToPrimary, connectionsToEachReplica int }{
		{replicas: 0, connectionsToPrimary: 10, connectionsToEachReplica: 0},
		{replicas: 1, connectionsToPrimary: 5, connectionsToEachReplica: 4},
		{replicas: 2, connectionsToPrimary: 5, connectionsToEachReplica: 2},
		{replicas: 3, connectionsToPrimary: 3, connectionsToEachReplica: 2},
	} {
		settings := adapters.DatabaseSettings{ReplicaURLs: make([]string, test.replicas)} // only their number matters
		require.Equal(t, test.connectionsToPrimary, primaryConnections(settings), "%d replicas", test.replicas)
		require.Equal(t, test.connectionsToEachReplica, replicaConnections(settings), "%d replicas", test.replicas)
	}
}
