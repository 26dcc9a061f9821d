package gormdb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestClaim_100000FinishedRows_UsesIndex checks PostgreSQL's plans of the two statements that claim work: the one of
// tasks.Due, for which the index tasks_due exists, and the one of outbox.Claim with the index outbox_unsent. Both
// indexes contain only unfinished rows, so that the cost of a claim does not depend on the number of finished
// ones, which are kept for days.
//
// Each table has 100,000 finished rows and 100 others. PostgreSQL chooses a plan by its statistics of the tables.
// It must use the index both before and after it has statistics.
func TestClaim_100000FinishedRows_UsesIndex(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.PostgresURL(t))
	for _, insert := range []string{
		`INSERT INTO tasks
				(id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at, error, created_at, ended_at)
			SELECT gen_random_uuid(), n::text, 'k', 'mail', '{}', '', 'done', 1, 1, now(), now(), '', now(), now()
			FROM generate_series(1, 100000) AS n`,
		`INSERT INTO tasks
				(id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at, error, created_at)
			SELECT gen_random_uuid(), 'w' || n, 'k', 'mail', '{}', '', 'waiting', 0, 1, now(), now(), '', now()
			FROM generate_series(1, 100) AS n`,
		`INSERT INTO outbox (id, type, subject, payload, recorded_at, attempts, sent_at)
			SELECT gen_random_uuid(), 't', 's' || n, '{}', now(), 1, now() FROM generate_series(1, 100000) AS n`,
		`INSERT INTO outbox (id, type, subject, payload, recorded_at)
			SELECT gen_random_uuid(), 't', 'u' || n, '{}', now() FROM generate_series(1, 100) AS n`,
	} {
		require.NoError(t, db.reader.Exec(insert).Error)
	}

	recorded := recordStatements(t, db.reader)
	requireIndexPlans := func(t *testing.T) {
		t.Helper()

		claimTasks := recorded.recordClaim(t, func() error {
			const maxTasks = 500

			_, err := tasks{db}.Due(t.Context(), maxTasks)

			return err
		})
		requireIndexPlan(t, db.genericPlan(t, claimTasks))

		claimEvents := recorded.recordClaim(t, func() error {
			const maxEvents, lease = 1000, time.Minute

			_, err := outbox{db}.Claim(t.Context(), maxEvents, lease)

			return err
		})
		requireIndexPlan(t, db.genericPlan(t, claimEvents))
	}

	t.Run("without statistics", requireIndexPlans)
	require.NoError(t, db.reader.Exec("ANALYZE tasks, outbox").Error)
	t.Run("with statistics", requireIndexPlans)
}

// statement is a statement with the values of its parameters.
type statement struct {
	sql  string
	vars []any
}

// recordClaim calls the function and returns the statement with which it claims rows. The test fails if
// there is none.
func (s *statements) recordClaim(t *testing.T, fn func() error) statement {
	t.Helper()

	before := len(s.sql)

	require.NoError(t, fn())

	for i := before; i < len(s.sql); i++ {
		isClaim := strings.Contains(s.sql[i], "SKIP LOCKED") // rows that other callers have claimed are left out
		if isClaim {
			return statement{sql: s.sql[i], vars: s.vars[i]}
		}
	}

	require.FailNow(t, "no statement claims rows")

	return statement{}
}

// requireIndexPlan checks that the plan of a claim locks rows and has no step that may read a whole table: a
// sequential scan, or a join of tables (of any of PostgreSQL's three kinds: merge, nested loop and hash).
func requireIndexPlan(t *testing.T, plan string) {
	t.Helper()
	require.Contains(t, plan, "LockRows", "the plan of a claim")

	for _, step := range []string{"Merge", "Seq Scan", "Nested"} {
		require.NotContains(t, plan, step, "the plan may read a whole table")
	}

	// One hashed subplan is allowed: it reads the few groups of which a task is running.
	withoutSubplan := strings.ReplaceAll(plan, "NOT (hashed SubPlan", "")
	require.NotContains(t, withoutSubplan, "Hash", "the plan may read a whole table: %s", plan)
}

// genericPlan returns the plan of PostgreSQL for a prepared statement of the queue, with the settings that the
// queue sets in its transactions. The plan is generic: it does not depend on the values of the parameters.
func (db *DB) genericPlan(t *testing.T, claim statement) string {
	t.Helper()

	var values []string // as they are written in SQL
	for _, v := range claim.vars {
		switch v := v.(type) {
		case time.Time:
			values = append(values, "'"+v.Format(time.RFC3339Nano)+"'")
		default:
			values = append(values, fmt.Sprint(v))
		}
	}

	transaction, err := db.pool.BeginTx(t.Context(), nil)
	require.NoError(t, err)

	defer func() { _ = transaction.Rollback() }()

	_, err = transaction.ExecContext(t.Context(), db.dialect.(QueueSettings).QueueSettings())
	require.NoError(t, err)

	name := fmt.Sprintf("p%d", time.Now().UnixNano()) // a connection keeps prepared statements by name
	_, err = transaction.ExecContext(t.Context(), "PREPARE "+name+" AS "+claim.sql)
	require.NoError(t, err)

	rows, err := transaction.QueryContext(t.Context(), "EXPLAIN EXECUTE "+name+"("+strings.Join(values, ", ")+")")
	require.NoError(t, err)

	defer func() { _ = rows.Close() }()

	var plan strings.Builder
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}

	require.NoError(t, rows.Err())

	return plan.String()
}
