package gormdb

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/test/kit"
)

// TestTasks_Claim_100000Done_UsesIndex checks that the cost of claiming tasks and events does
// not depend on the finished ones, which are kept for days. The plan must use the index both
// before and after PostgreSQL has statistics of the table.
func TestTasks_Claim_100000Done_UsesIndex(t *testing.T) {
	t.Parallel()
	db, err := OpenDB(Postgres{}, kit.PostgresURL(t),
		adapters.Deps{Clock: clock.System{}, NewID: uuid.NewString, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = schemas{db}.Up(t.Context())
	require.NoError(t, err)
	for _, fill := range []string{
		`INSERT INTO tasks (id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at, error, created_at, ended_at)
			SELECT gen_random_uuid(), n::text, 'k', 'mail', '{}', '', 'done', 1, 1, now(), now(), '', now(), now() FROM generate_series(1, 100000) AS n`,
		`INSERT INTO tasks (id, key, kind, class, payload, trace, state, attempts, hand_outs, run_at, due_at, error, created_at)
			SELECT gen_random_uuid(), 'w' || n, 'k', 'mail', '{}', '', 'waiting', 0, 1, now(), now(), '', now() FROM generate_series(1, 100) AS n`,
		`INSERT INTO outbox (id, type, subject, payload, recorded_at, attempts, sent_at) SELECT gen_random_uuid(), 't', 's' || n, '{}', now(), 1, now() FROM generate_series(1, 100000) AS n`,
		`INSERT INTO outbox (id, type, subject, payload, recorded_at) SELECT gen_random_uuid(), 't', 'u' || n, '{}', now() FROM generate_series(1, 100) AS n`,
	} {
		require.NoError(t, db.reader.Exec(fill).Error)
	}
	asked := recordStatements(t, db.reader)
	for _, known := range []bool{false, true} {
		if known {
			require.NoError(t, db.reader.Exec("ANALYZE tasks, outbox").Error)
		}
		for name, query := range map[string]func() error{
			"Due":   func() error { _, err := tasks{db}.Due(t.Context(), 500); return err },
			"Claim": func() error { _, err := outbox{db}.Claim(t.Context(), 1000, time.Minute); return err },
		} {
			before := len(asked.sql)
			require.NoError(t, query())
			i := before + slices.IndexFunc(asked.sql[before:], func(sql string) bool { return strings.Contains(sql, "SKIP LOCKED") })
			plan := db.genericPlan(t, asked.sql[i], asked.vars[i])
			require.Contains(t, plan, "LockRows", name)
			// These steps of a plan read the whole table. A hashed subplan is that of the few
			// running groups.
			for _, walk := range []string{"Hash", "Merge", "Seq Scan", "Nested"} {
				if walk == "Hash" {
					plan = strings.ReplaceAll(plan, "NOT (hashed SubPlan", "")
				}
				require.NotContains(t, plan, walk, "%s with statistics: %t\n%s", name, known, plan)
			}
		}
	}
}

// genericPlan returns the plan of PostgreSQL for a prepared statement of the queue, with the
// settings of the queue.
func (db *DB) genericPlan(t *testing.T, statement string, vars []any) string {
	t.Helper()
	var values []string
	for _, v := range vars {
		switch v := v.(type) {
		case time.Time:
			values = append(values, "'"+v.Format(time.RFC3339Nano)+"'")
		default:
			values = append(values, fmt.Sprint(v))
		}
	}
	var plan strings.Builder
	conn, err := db.pool.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = conn.Rollback() }()
	_, err = conn.ExecContext(t.Context(), db.dialect.(QueueSettings).QueueSettings())
	require.NoError(t, err)
	name := fmt.Sprintf("p%d", time.Now().UnixNano())
	_, err = conn.ExecContext(t.Context(), "PREPARE "+name+" AS "+statement)
	require.NoError(t, err)
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN EXECUTE "+name+"("+strings.Join(values, ", ")+")")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	require.NoError(t, rows.Err())
	return plan.String()
}
