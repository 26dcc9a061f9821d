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

// TestReplicas_StaleRead_UsesReplicaIfPossible checks when a read that may be stale for a second
// uses the replica, and that it succeeds on the primary in all other cases. A read is stale if it does
// not contain the newest changes; tx.AllowStale returns a context that allows it.
//
// The test starts its own primary and replica, because it stops the replication and the process of the
// replica.
func TestReplicas_StaleRead_UsesReplicaIfPossible(t *testing.T) {
	t.Parallel()

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
			require.Equal(t, []int{0}, streamColumn(ctx, t, db, isReplicaSQL, 1))
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

		allowingNoStaleness := tx.AllowStale(t.Context(), 0)
		allowingOneSecond := tx.AllowStale(t.Context(), time.Second)

		require.False(t, usesReplica(allowingNoStaleness, t, db))
		require.False(t, usesReplica(allowingOneSecond, t, db))

		// After replaying the change, the replica is used, even for a read that must contain it.
		kit.Exec(t, replica.URL, "SELECT pg_wal_replay_resume()")
		require.Eventually(t, func() bool {
			return usesReplica(allowingNoStaleness, t, db)
		}, 30*time.Second, 10*time.Millisecond)
	})

	// A read does not wait for a connection of the replica.
	t.Run("all connections of the replica are in use", func(t *testing.T) {
		slots := db.replicas.all[0].slots

		waitForReplica(t)

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

		fromReplica := slices.Repeat([]int{1}, 1000)
		require.Equal(t, fromReplica, streamColumn(stale, t, db, isReplicaSQL, 1000))
		require.Equal(t, fromReplica, selectColumn(stale, t, db, isReplicaSQL, 1000))
	})

	// The query is repeated on the primary; a stream must first discard the rows of the replica.
	t.Run("query fails on the replica after 499 rows", func(t *testing.T) {
		// The value of a row is that of isReplicaSQL, but the replica divides by zero in row 500.
		const failsInRow500 = "1 / (CASE WHEN pg_is_in_recovery() AND n = 500 THEN 0 ELSE 1 END) * " + isReplicaSQL
		fromPrimary := slices.Repeat([]int{0}, 1000)

		waitForReplica(t)
		require.Equal(t, fromPrimary, streamColumn(stale, t, db, failsInRow500, 1000))

		waitForReplica(t)
		require.Equal(t, fromPrimary, selectColumn(stale, t, db, failsInRow500, 1000))
	})

	// Without commits on the primary, the replica replays nothing. It is current all the same.
	t.Run("primary is idle for longer than the maximum lag", func(t *testing.T) {
		idleSince := time.Now()
		require.Eventually(t, func() bool {
			return time.Since(idleSince) > 2*maxReplicaLag && staleReadUsesReplica()
		}, 30*time.Second, 50*time.Millisecond)
	})

	// A paused process accepts connections and does not respond.
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

// isReplicaSQL is 1 on a replica and 0 on the primary.
const isReplicaSQL = "(CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END)"

// usesReplica reports whether a replica executes queries with the context.
func usesReplica(ctx context.Context, t *testing.T, db *DB) bool {
	t.Helper()
	return selectColumn(ctx, t, db, isReplicaSQL, 1)[0] == 1
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

// TestReplica_ReplayedLessThanBefore_IsUsedAfterCatchingUp checks that a replica whose position in the
// log went back, because it was restored or replaced, is not used until it contains the commits that
// earlier reads have seen.
func TestReplica_ReplayedLessThanBefore_IsUsedAfterCatchingUp(t *testing.T) {
	t.Parallel()

	for name, disconnect := range map[string]func(rep *replica){
		"still connected": func(*replica) {},
		"reconnected":     func(rep *replica) { rep.markUnavailable(errNotConnected) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			rep := &replica{slots: make(chan struct{}, 1)}
			isUsed := func(asOf time.Time) bool {
				return rep.execute(t.Context(), asOf, func(context.Context) error { return nil }) == nil
			}

			// Two positions of the primary, which measurements have read one after the other.
			latestReadAt := time.Now()
			primary := []primaryPosition{
				{readAt: latestReadAt.Add(-time.Millisecond), position: LogPosition{Offset: 10}},
				{readAt: latestReadAt, position: LogPosition{Offset: 20}},
			}
			measureReplayed := func(offset int64) {
				var err error
				primary, err = rep.addMeasurement(LogPosition{Offset: offset}, primary)
				require.NoError(t, err)
			}

			longAgo := latestReadAt.Add(-time.Second)
			require.False(t, isUsed(longAgo), "nothing is measured yet")
			measureReplayed(20)
			require.True(t, isUsed(latestReadAt))

			// The replica has applied less of the log than before, and then as much again.
			disconnect(rep)
			measureReplayed(15)
			require.False(t, isUsed(longAgo))
			require.ErrorContains(t, rep.problem(), "lags")
			measureReplayed(20)
			require.True(t, isUsed(latestReadAt))
			require.NoError(t, rep.problem())
		})
	}
}

// TestReplica_LagsForLong_RemembersFewPositions checks that the number of positions of the primary
// that are remembered for a lagging replica is bounded, and that the last one that the replica has
// reached is kept.
func TestReplica_LagsForLong_RemembersFewPositions(t *testing.T) {
	t.Parallel()
	const (
		measurements = 2000
		maxPositions = 600 // of one minute, with ten measurements per second
	)
	rep := &replica{}
	start := time.Now()
	replayed := LogPosition{Offset: 10} // the replica applies nothing

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
// between the primary and each replica. A process has ten connections by default. Two fifths of them
// are for the replicas, at least two for each. One measures the position of the primary. The others
// are for the primary, at least three.
func TestConnections_WithReplicas_AreDivided(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ replicas, connectionsToPrimary, connectionsToEachReplica int }{
		{replicas: 0, connectionsToPrimary: 10, connectionsToEachReplica: 0},
		{replicas: 1, connectionsToPrimary: 5, connectionsToEachReplica: 4},
		{replicas: 2, connectionsToPrimary: 5, connectionsToEachReplica: 2},
		{replicas: 3, connectionsToPrimary: 3, connectionsToEachReplica: 2},
	} {
		settings := adapters.DatabaseSettings{ReplicaURLs: make([]string, test.replicas)}
		require.Equal(t, test.connectionsToPrimary, primaryConnections(settings), "%d replicas", test.replicas)
		require.Equal(t, test.connectionsToEachReplica, replicaConnections(settings), "%d replicas", test.replicas)
	}
}
