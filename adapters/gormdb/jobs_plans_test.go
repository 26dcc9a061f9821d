package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/job"
)

func TestEveryQueryOfTheQueueFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	jobs, outbox := Jobs{db}, Outbox{db}
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, now, ids := t.Context(), time.Now().UTC(), []string{uuid.NewString(), uuid.NewString()}
	_, err := outbox.Claim(ctx, 10, time.Minute)
	require.NoError(t, err)
	require.NoError(t, outbox.MarkSent(ctx, ids...))
	_, _, err = outbox.Lag(ctx)
	require.NoError(t, err)
	_, err = outbox.Forget(ctx, now, 10)
	require.NoError(t, err)
	_, err = jobs.Due(ctx, 10)
	require.NoError(t, err)
	require.NoError(t, jobs.Postpone(ctx, []job.Ticket{{ID: ids[0]}}, now))
	_, err = jobs.Start(ctx, ids, time.Minute)
	require.NoError(t, err)
	_, err = jobs.Extend(ctx, []job.Run{{ID: ids[0], Attempt: 1}}, time.Minute)
	require.NoError(t, err)
	require.NoError(t, jobs.Settle(ctx, job.Outcome{Run: job.Run{ID: ids[0], Attempt: 1}, State: job.Done}, job.Outcome{Run: job.Run{ID: ids[1], Attempt: 1}, State: job.Dead}))
	_, err = jobs.Backlog(ctx)
	require.NoError(t, err)
	for _, state := range []job.State{job.Waiting, job.Dead} {
		_, err = jobs.List(ctx, job.Filter{State: state, Kind: "k", Limit: 10})
		require.NoError(t, err)
	}
	_, err = jobs.Retry(ctx, ids)
	require.NoError(t, err)
	_, err = jobs.Drop(ctx, ids)
	require.NoError(t, err)
	_, err = jobs.Forget(ctx, now, 10)
	require.NoError(t, err)

	require.GreaterOrEqual(t, len(asked.sql), 16)
	// A backlog is counted up to a bound, so its few groups may be sorted, and
	// what is unsent or unfinished has an index of its own that ends soon. Leases of
	// endpoints and pending deliveries are compared with the clock once after a start.
	asked.useIndexes(t, db, "unsent", "unfinished", "b", "sorted", "webhook_endpoints", "webhook_deliveries USING INDEX webhook_deliveries_due",
		"outbox USING INDEX outbox_unsent", "outbox USING COVERING INDEX outbox_unsent", "jobs USING INDEX jobs_due")
}
