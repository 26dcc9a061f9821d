package relevance

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// TestRelevance runs all queries on both databases and compares their scores
// with the baseline. It runs with make relevance and make check-heavy.
func TestRelevance(t *testing.T) {
	if os.Getenv("LOCUM_TEST_HEAVY") == "" {
		t.Skip("runs with make relevance")
	}

	board, err := readBoard()
	require.NoError(t, err)

	queries, err := readQueries(board)
	require.NoError(t, err)

	onSQLite := run(startServer(t, "sqlite:"+filepath.Join(t.TempDir(), "locum.db")), board, queries)
	report := newReport(onSQLite)
	t.Logf("%d adverts, %d queries\n%s\n%s", len(board.adverts), len(queries), failures(onSQLite), report)

	t.Run("postgres finds the same", func(t *testing.T) {
		onPostgres := run(startServer(t, kit.PostgresURL(t)), board, queries)
		for i, query := range queries {
			require.Equal(t, onSQLite[i].total, onPostgres[i].total, "total of %s", query.id())
			require.Equal(t, titles(onSQLite[i].found), titles(onPostgres[i].found), "results of %s", query.id())
		}
	})

	if os.Getenv("LOCUM_TEST_WRITE") != "" {
		require.NoError(t, writeBaseline(report))
		return
	}

	baseline, err := readBaseline()
	require.NoError(t, err)
	require.Empty(t, report.problems(baseline),
		"search got worse; update the baseline with make relevance UPDATE=1 if that is meant")
}

// run posts the board to the server and evaluates the results of all queries.
func run(server *server, board *board, queries []*query) []result {
	server.t.Helper()
	server.load(board)

	results := make([]result, len(queries))
	for i, query := range queries {
		found, total := server.search(query)
		results[i] = result{query: query, score: evaluate(query, board.adverts, found, total), found: found, total: total}
	}

	return results
}

// titles identify adverts across databases, in their order.
func titles(adverts []*advert) (out []string) {
	for _, advert := range adverts {
		out = append(out, advert.title+" | "+advert.employer.key)
	}

	return out
}
