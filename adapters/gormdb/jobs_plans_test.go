package gormdb

import (
	"strings"
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
	asked := recordStatements(t, db)
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
	for i, sql := range asked.sql {
		var plan []struct{ Detail string }
		require.NoError(t, db.gorm.Raw("EXPLAIN QUERY PLAN "+sql, asked.vars[i]...).Scan(&plan).Error, sql)
		for _, step := range plan {
			// What is counted has been limited before, and the list of ids is short.
			of, bare := strings.CutPrefix(step.Detail, "SCAN ")
			small := strings.Contains(of, "json_each") || strings.Contains(of, "USING") || of == "unsent" || of == "unfinished" || of == "b" || of == "d"
			require.False(t, bare && !small, "%s\n%s", step.Detail, sql)
		}
	}
}
