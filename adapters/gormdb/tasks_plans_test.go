package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

// TestOutbox_Queries_UseIndexes checks which index serves each query of the outbox, the table of the domain
// events that wait to be sent, and that no query scans a table. Sent events are kept for days: a query of
// unsent ones must not read them.
func TestOutbox_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	outbox := outbox{db}
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()

	const limit, lease = 10, time.Minute

	// Claim reads the unsent events in their order, and leaves out those whose subject has a claimed event.
	recorded.requireEachIndex(t, db, []string{"outbox_unsent", "outbox_claimed"}, func() {
		_, err := outbox.Claim(ctx, limit, lease)
		require.NoError(t, err)
	})

	eventIDs := []string{uuid.NewString(), uuid.NewString()} // of rows that do not exist
	recorded.requireIndex(t, db, primaryKey("outbox"), func() { require.NoError(t, outbox.MarkSent(ctx, eventIDs...)) })

	// Lag counts the unsent events and finds the oldest one.
	recorded.requireIndex(t, db, "outbox_unsent", func() {
		_, _, err := outbox.Lag(ctx)
		require.NoError(t, err)
	})
	recorded.requireIndex(t, db, "outbox_sent", func() {
		_, err := expiries{db}.DeleteBefore(ctx, event.Sent, time.Now().UTC(), limit)
		require.NoError(t, err)
	})

	recorded.requireIndexes(t, db,
		"outbox USING INDEX outbox_unsent", // contains only unsent events, which are few
		"unsent",                           // the subquery that limits how many events Lag counts
	)
}

// TestTasks_Queries_UseIndexes checks which index serves each query of the task queue, and that no query scans
// a table. Finished tasks are kept for days: a query of unfinished ones must not read them.
func TestTasks_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	tasks := tasks{db}
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	now := time.Now().UTC()
	ids := []string{uuid.NewString(), uuid.NewString()} // of rows that do not exist

	const limit, lease = 10, time.Minute

	// The unfinished tasks that are due. The index contains only unfinished tasks, by the time at which they are due.
	recorded.requireIndex(t, db, "tasks_due", func() {
		_, err := tasks.Due(ctx, limit)
		require.NoError(t, err)
	})
	recorded.requireIndex(t, db, primaryKey("tasks"), func() {
		require.NoError(t, tasks.Postpone(ctx, []task.Reference{{ID: ids[0]}}, now))
	})

	// A new task of a group waits for the other tasks of the group, which the index finds.
	var refs []task.Reference

	recorded.requireIndex(t, db, "tasks_group", func() {
		var err error
		refs, err = tasks.AddAndReserve(ctx, task.Task{Kind: "k", Group: "g", Payload: []byte("{}")})
		require.NoError(t, err)
	})

	// Start finds tasks by id, and the groups of these tasks by the id of the task that runs in each group.
	recorded.requireEachIndex(t, db, []string{primaryKey("tasks"), "task_groups_task"}, func() {
		_, err := tasks.Start(ctx, append(ids, refs[0].ID), lease)
		require.NoError(t, err)
	})

	// The leases and outcomes of running tasks. A dead task releases its group, whose next task becomes due.
	run := task.Run{ID: ids[0], Attempt: 1}
	recorded.requireIndex(t, db, primaryKey("tasks"), func() {
		_, err := tasks.Extend(ctx, []task.Run{run}, lease)
		require.NoError(t, err)
	})

	done := task.Outcome{Run: run, State: task.Done}
	dead := task.Outcome{Run: task.Run{ID: refs[0].ID, Attempt: 1}, Group: "g", State: task.Dead}

	recorded.requireEachIndex(t, db, []string{primaryKey("tasks"), "tasks_group", "task_groups_task"}, func() {
		require.NoError(t, tasks.RecordOutcomes(ctx, done, dead))
	})

	// What operators see and do: the number of unfinished tasks, lists of tasks in a state, retries and deletions.
	recorded.requireIndex(t, db, "tasks_due", func() {
		_, err := tasks.Backlog(ctx)
		require.NoError(t, err)
	})

	for _, list := range []struct {
		state task.State
		index string
	}{
		{state: task.Waiting, index: "tasks_due"},
		{state: task.Dead, index: "tasks_ended"},
	} {
		recorded.requireIndex(t, db, list.index, func() {
			_, err := tasks.List(ctx, task.Filter{State: list.state, Kind: "k", Limit: limit})
			require.NoError(t, err)
		})
	}

	recorded.requireIndex(t, db, primaryKey("tasks"), func() {
		_, err := tasks.Retry(ctx, ids)
		require.NoError(t, err)
	})
	recorded.requireIndex(t, db, primaryKey("tasks"), func() {
		_, err := tasks.Drop(ctx, ids)
		require.NoError(t, err)
	})
	recorded.requireIndex(t, db, "tasks_ended", func() {
		_, err := expiries{db}.DeleteBefore(ctx, task.DoneTasks, now, limit)
		require.NoError(t, err)
	})

	recorded.requireIndexes(t, db,
		"tasks USING INDEX tasks_due", // contains only unfinished tasks
		"unfinished",                  // the subquery that limits how many tasks Backlog counts
		allowSorting,                  // of the few groups of a backlog, and of tasks that ended or are due at the same time
		// The first call of Due after a start compares the times of pending deliveries with the clock. The index
		// contains only pending deliveries.
		"webhook_deliveries USING INDEX webhook_deliveries_due",
	)
}
