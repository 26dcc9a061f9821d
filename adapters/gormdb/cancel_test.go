package gormdb

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/test/kit"
)

// TestQuery_ContextEnds_DatabaseStops checks that a query whose client has disconnected or timed
// out does not continue to use the database. The query counts to 2,000,000,000, which takes
// minutes.
func TestQuery_ContextEnds_DatabaseStops(t *testing.T) {
	t.Parallel()

	for name, url := range map[string]string{"sqlite": sqliteURL(t), "postgres": kit.PostgresURL(t)} {
		t.Run(name, func(t *testing.T) {
			db := migrated(t, url)
			const longQuery = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000)
				SELECT count(*) FROM n`

			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()

			startedAt := time.Now()
			err := db.streamRows(ctx, longQuery, nil, func(Rows) error { return nil })
			require.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
			require.Less(t, time.Since(startedAt), 5*time.Second)

			// SQLite runs in this process. The server of PostgreSQL must stop the query as well.
			if db.dialect.Name() == "postgres" {
				serverHasStopped := func() bool {
					var running int
					require.NoError(t, db.conn(t.Context()).Raw(`SELECT count(*) FROM pg_stat_activity
						WHERE datname = current_database() AND state = 'active' AND query LIKE 'WITH RECURSIVE n(i)%'`).
						Scan(&running).Error)

					return running == 0
				}
				require.Eventually(t, serverHasStopped, 10*time.Second, 20*time.Millisecond)
			}
		})
	}
}
