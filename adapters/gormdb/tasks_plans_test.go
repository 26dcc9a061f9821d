package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

// TestTasks_Queries_UseIndexes checks that no query of the task queue and the outbox scans a
// table.
func TestTasks_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	tasks := tasks{db}
	outbox := outbox{db}
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	now := time.Now().UTC()
	ids := []string{uuid.NewString(), uuid.NewString()} // of rows that do not exist

	// Events.
	_, err := outbox.Claim(ctx, 10, time.Minute)
	require.NoError(t, err)
	require.NoError(t, outbox.MarkSent(ctx, ids...))

	_, _, err = outbox.Lag(ctx)
	require.NoError(t, err)

	_, err = expiries{db}.DeleteBefore(ctx, event.Sent, now, 10)
	require.NoError(t, err)

	// Tasks.
	_, err = tasks.Due(ctx, 10)
	require.NoError(t, err)
	require.NoError(t, tasks.Postpone(ctx, []task.Reference{{ID: ids[0]}}, now))

	refs, err := tasks.AddAndReserve(ctx, task.Task{Kind: "k", Group: "g", Payload: []byte("{}")})
	require.NoError(t, err)

	_, err = tasks.Start(ctx, append(ids, refs[0].ID), time.Minute)
	require.NoError(t, err)

	_, err = tasks.Extend(ctx, []task.Run{{ID: ids[0], Attempt: 1}}, time.Minute)
	require.NoError(t, err)

	done := task.Outcome{Run: task.Run{ID: ids[0], Attempt: 1}, State: task.Done}
	dead := task.Outcome{Run: task.Run{ID: refs[0].ID, Attempt: 1}, Group: "g", State: task.Dead}
	require.NoError(t, tasks.RecordOutcomes(ctx, done, dead))

	_, err = tasks.Backlog(ctx)
	require.NoError(t, err)

	for _, state := range []task.State{task.Waiting, task.Dead} {
		_, err = tasks.List(ctx, task.Filter{State: state, Kind: "k", Limit: 10})
		require.NoError(t, err)
	}

	_, err = tasks.Retry(ctx, ids)
	require.NoError(t, err)

	_, err = tasks.Drop(ctx, ids)
	require.NoError(t, err)

	_, err = expiries{db}.DeleteBefore(ctx, task.DoneTasks, now, 10)
	require.NoError(t, err)

	const calls = 16 // those above
	require.GreaterOrEqual(t, len(recorded.sql), calls, "each of the calls executes a statement")
	recorded.requireIndexes(t, db,
		// These subqueries count the backlog up to a maximum, and their few groups may be sorted.
		"unsent", "unfinished", "b", allowSorting,
		// Unsent events and unfinished tasks have indexes of their own, with few rows.
		"outbox USING INDEX outbox_unsent", "outbox USING COVERING INDEX outbox_unsent", "tasks USING INDEX tasks_due",
		// Pending deliveries are compared with the clock once after a start.
		"webhook_deliveries USING INDEX webhook_deliveries_due",
	)
}
