package gormdb

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/test/kit"
)

// isReplica reports whether a replica executes queries with the context.
func isReplica(ctx context.Context, t *testing.T, db *DB) bool {
	t.Helper()
	var found []bool
	require.NoError(t, db.conn(ctx).Table("(SELECT pg_is_in_recovery() AS standby) s").Select("standby").Find(&found).Error)
	require.Len(t, found, 1)
	return found[0]
}

// TestReplicas checks when a read that may be stale for a second uses the replica, and that it
// succeeds on the primary in all other cases. The primary and the replica are servers of the
// test.
func TestReplicas(t *testing.T) {
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
	// stale is the context of such a read.
	stale := tx.AllowStale(t.Context(), time.Second)
	usable := func() bool { return isReplica(stale, t, db) }
	require.Eventually(t, usable, 30*time.Second, 10*time.Millisecond)

	t.Run("reads that must be current", func(t *testing.T) {
		require.False(t, isReplica(t.Context(), t, db))
	})
	t.Run("in a transaction", func(t *testing.T) {
		require.NoError(t, db.Do(stale, func(ctx context.Context) error {
			require.False(t, isReplica(ctx, t, db))
			standby := true
			err := db.streamFromReplica(ctx, "SELECT pg_is_in_recovery()", nil, func() {}, func(r Rows) error { return r.Scan(&standby) })
			require.False(t, standby)
			return err
		}))
	})
	// A replica that has not replayed the latest change of listings would return rows that the
	// search index no longer contains, so that the permitted staleness does not matter.
	t.Run("it lacks a change of listings", func(t *testing.T) {
		kit.Exec(t, replica.URL, "SELECT pg_wal_replay_pause()")
		require.NoError(
			t,
			db.Do(t.Context(), func(ctx context.Context) error { return db.recordListings(ctx, []string{uuid.NewString()}) }),
		)
		require.False(t, isReplica(tx.AllowStale(t.Context(), 0), t, db))
		require.False(t, isReplica(tx.AllowStale(t.Context(), time.Second), t, db))
		kit.Exec(t, replica.URL, "SELECT pg_wal_replay_resume()")
		ctx := tx.AllowStale(t.Context(), 0)
		require.Eventually(t, func() bool { return isReplica(ctx, t, db) }, 30*time.Second, 10*time.Millisecond)
	})
	// A read does not wait for a connection of the replica.
	t.Run("all connections are in use", func(t *testing.T) {
		rep := db.replicas.all[0]
		require.Eventually(t, usable, 30*time.Second, 10*time.Millisecond)
		for range cap(rep.slots) {
			rep.slots <- struct{}{}
		}
		require.False(t, usable())
		for range cap(rep.slots) {
			<-rep.slots
		}
		require.Eventually(t, usable, 30*time.Second, 10*time.Millisecond)
	})
	// The failing query divides by zero on the replica, after 499 rows. It is repeated on the
	// primary; a stream must first discard the rows that it has returned.
	t.Run("a query fails on the replica", func(t *testing.T) {
		const standby, failing = "CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END", "1 / (CASE WHEN pg_is_in_recovery() AND n = 500 THEN 0 ELSE 1 END)"
		for _, x := range []struct {
			column string
			sum    int
		}{{standby, 1000}, {failing + " * 0 + " + standby, 0}} {
			require.Eventually(t, usable, 30*time.Second, 10*time.Millisecond)
			rows, sum := 0, 0
			require.NoError(
				t,
				db.streamFromReplica(
					stale,
					"SELECT "+x.column+" FROM generate_series(1, 1000) n",
					nil,
					func() { rows, sum = 0, 0 },
					func(r Rows) error {
						var n int
						err := r.Scan(&n)
						rows, sum = rows+1, sum+n
						return err
					},
				),
			)
			require.Equal(t, 1000, rows)
			require.Equal(t, x.sum, sum)
			var found []int
			require.NoError(
				t,
				db.conn(stale).
					Table(fmt.Sprintf("(SELECT %s AS x FROM generate_series(1, 1000) n) s", x.column)).
					Select("x").
					Find(&found).
					Error,
			)
			require.Len(t, found, 1000)
			require.Equal(t, x.sum, found[0]*1000)
		}
	})
	// Without commits, the replica replays nothing. It is current all the same.
	t.Run("the primary is idle", func(t *testing.T) {
		begun := time.Now()
		require.Eventually(t, func() bool { return time.Since(begun) > 2*maxReplicaLag && usable() }, 30*time.Second, 50*time.Millisecond)
	})
	// A paused process accepts connections and does not respond.
	t.Run("the replica hangs", func(t *testing.T) {
		replica.Pause()
		defer replica.Resume()
		for range 5 {
			begun := time.Now()
			require.False(t, usable())
			require.Less(t, time.Since(begun), 5*time.Second)
		}
	})
	require.Eventually(t, usable, 30*time.Second, 10*time.Millisecond)
}

// TestReplica_IsRestarted_IsUsedAfterItHasCaughtUp checks that a replica whose replayed position
// went back, because it was restored or replaced, is not used until it contains the commits that
// earlier reads have seen. Offsets are positions in the log of the primary.
func TestReplica_IsRestarted_IsUsedAfterItHasCaughtUp(t *testing.T) {
	t.Parallel()
	rep := &replica{slots: make(chan struct{}, 1)}
	isUsed := func(asOf time.Time) bool {
		return rep.execute(t.Context(), asOf, func(context.Context) error { return nil }) == nil
	}
	start := time.Now()
	commits := []commit{{start.Add(-time.Millisecond), LogPosition{Offset: 10}}, {start, LogPosition{Offset: 20}}}
	measure := func(replayed int64) {
		var err error
		commits, err = rep.addMeasurement(LogPosition{Offset: replayed}, commits)
		require.NoError(t, err)
	}
	require.False(t, isUsed(start.Add(-time.Second)))
	measure(20)
	require.True(t, isUsed(start))

	for _, restart := range []func(){func() {}, func() { rep.markUnavailable(errNotConnected) }} {
		restart()
		measure(15)
		require.False(t, isUsed(start.Add(-time.Second)))
		require.ErrorContains(t, rep.problem(), "lags")
		measure(20)
		require.True(t, isUsed(start))
		require.NoError(t, rep.problem())
	}
}

// TestReplica_LagsForLong_RemembersFewCommits checks that the list of commits that wait for the
// replica stays below 600, and that the last one that it contains is kept.
func TestReplica_LagsForLong_RemembersFewCommits(t *testing.T) {
	t.Parallel()
	rep := &replica{}
	start := time.Now()
	commits := []commit{{start, LogPosition{Offset: 10}}}
	for i := range 2000 {
		var err error
		commits, err = rep.addMeasurement(
			LogPosition{Offset: 10},
			append(commits, commit{start.Add(time.Duration(i) * time.Millisecond), LogPosition{Offset: 11 + int64(i)}}),
		)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(commits), 600)
	require.Equal(t, start, rep.currentAsOf)
}

// TestReplicas_Connections checks how the connections of a process are divided between the
// primary and the replicas. Rows are the number of replicas' connections in
// adapters.DatabaseSettings and the result for primary and replica.
func TestReplicas_Connections(t *testing.T) {
	t.Parallel()
	for replicas, want := range [][2]int{{10, 0}, {5, 4}, {5, 2}, {3, 2}} {
		o := adapters.DatabaseSettings{ReplicaURLs: make([]string, replicas)}
		require.Equal(t, want, [2]int{primaryConnections(o), replicaConnections(o)})
	}
}
