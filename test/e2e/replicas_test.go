package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
)

// metric returns the value of a metric without labels.
func (s *testServer) metric(t *testing.T, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(s.metrics(t))
	require.NotNil(t, m, "no metric %s", name)
	n, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return n
}

// adapter returns the state of an adapter in /readyz.
func (s *testServer) adapter(t *testing.T, name string) string {
	t.Helper()
	resp := s.guest(t).try("GET", "/readyz", nil)
	require.Equal(t, http.StatusOK, resp.status, "%s", resp.raw)
	return resp.text("adapters." + name)
}

// page requests the page of a listing, which is not cached.
func (s *testServer) page(t *testing.T, listing string) *response {
	t.Helper()
	return s.guest(t).try("GET", "/jobs/"+listing, nil)
}

// replicated is a server with a primary and a replica.
type replicated struct {
	*testServer
	primary, replica *services.Server
}

// newReplicated starts a server with new databases.
func newReplicated(t *testing.T) replicated {
	t.Helper()
	primary := kit.OwnPostgres(t)
	replica := kit.PostgresReplica(t, primary)
	return replicated{
		start(t, t.TempDir(), "LOCUM_DATABASE_URL="+primary.URL, "LOCUM_DATABASE_REPLICA_URLS="+replica.URL),
		primary,
		replica,
	}
}

// waitForReplica waits until the server reads the page of the listing from the replica, which
// its metric shows.
func (r replicated) waitForReplica(t *testing.T, listing string) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := r.metric(t, "locum_database_replica_reads_total")
		require.Equal(t, http.StatusOK, r.page(t, listing).status)
		return r.metric(t, "locum_database_replica_reads_total") > before
	}, 30*time.Second, 20*time.Millisecond, "%s", r.log)
}

// countOn returns the number that a query on a server returns.
func countOn(t *testing.T, server *services.Server, query string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), server.URL)
	require.NoError(t, err)
	defer func() { _ = c.Close(context.Background()) }()
	require.NoError(t, c.QueryRow(t.Context(), query).Scan(&n))
	return n
}

// TestReplica_GuestsReadFromIt_OwnWritesAreVisible checks that guests read from the replica and
// still see each write at once, and that the server keeps to its limit of ten connections in
// total.
func TestReplica_GuestsReadFromIt_OwnWritesAreVisible(t *testing.T) {
	t.Parallel()
	replicas := newReplicated(t)
	employer, seeker := replicas.employer(t), replicas.seeker(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	replicas.waitForReplica(t, listing)
	require.Eventually(t, func() bool {
		return countOn(t, replicas.replica,
			"SELECT CAST(sum(seq_scan + idx_scan) AS INTEGER) FROM pg_stat_user_tables WHERE relname = 'listings'") > 0
	}, waitTimeout, 100*time.Millisecond, "the replica has read the table")
	require.Equal(t, "ok", replicas.adapter(t, "replicas"))
	require.Equal(t, 1.0, replicas.metric(t, "locum_database_replicas_usable"))
	for i := range 20 {
		title := fmt.Sprint("Theatre Nurse ", i)
		employer.fromNewAddress().put("/api/employers/jobs/"+listing, object{"title": title}).ok(200)
		require.Contains(t, string(replicas.page(t, listing).raw), title+"<")
		require.True(t, replicas.isListed(t, title))
		require.Equal(t, title, employer.fromNewAddress().get("/api/employers/jobs/"+listing).ok(200).text("data.job.title"))
	}
	application := seeker.application(listing, nil)
	require.Contains(t, string(replicas.guest(t).get(employer.exportLink("applications")).raw), application)
	const connections = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'locum'`
	require.LessOrEqual(t, countOn(t, replicas.primary, connections)+countOn(t, replicas.replica, connections), 10)
}

// TestReplica_Lags_IsSkipped checks that the server does not read from a replica that has not
// applied the newest writes, its own and those of other processes, until the replica has caught
// up.
func TestReplica_Lags_IsSkipped(t *testing.T) {
	t.Parallel()
	replicas := newReplicated(t)
	dir := t.TempDir()
	second := &testServer{
		dir:    replicas.dir,
		env:    append(serverEnv(dir), "LOCUM_DATABASE_URL="+replicas.primary.URL, "LOCUM_SEARCH_URL=embedded:"+dir),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	second.serve(t)
	employer := replicas.employer(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	replicas.waitForReplica(t, listing)

	kit.Exec(t, replicas.replica.URL, "SELECT pg_wal_replay_pause()")
	employer.fromNewAddress().put("/api/employers/jobs/"+listing, object{"title": "Ward Sister"}).ok(200)
	require.Contains(t, string(replicas.page(t, listing).raw), "Ward Sister", "its own write")
	require.Eventually(t, func() bool { return replicas.adapter(t, "replicas") == "degraded" }, waitTimeout, 50*time.Millisecond)
	reads := replicas.metric(t, "locum_database_replica_reads_total")
	fallbacks := replicas.metric(t, "locum_database_replica_fallbacks_total")
	employer.fromNewAddress().on(second).put("/api/employers/jobs/"+listing, object{"title": "Matron"}).ok(200)
	require.Contains(t, string(replicas.page(t, listing).raw), "Matron", "a write of another process")
	require.InDelta(t, reads, replicas.metric(t, "locum_database_replica_reads_total"), 0)
	require.Greater(t, replicas.metric(t, "locum_database_replica_fallbacks_total"), fallbacks)
	require.Greater(t, replicas.metric(t, "locum_database_replica_lag_seconds"), 1.0)
	require.Zero(t, replicas.metric(t, "locum_database_replicas_usable"))

	kit.Exec(t, replicas.replica.URL, "SELECT pg_wal_replay_resume()")
	replicas.waitForReplica(t, listing)
	require.Contains(t, string(replicas.page(t, listing).raw), "Matron")
	require.Eventually(t, func() bool { return replicas.adapter(t, "replicas") == "ok" }, waitTimeout, 50*time.Millisecond)
}

// TestReplica_IsLost_NoRequestFails checks that requests are served from the primary while the
// replica refuses connections or hangs, and from the replica again afterwards.
func TestReplica_IsLost_NoRequestFails(t *testing.T) {
	t.Parallel()
	replicas := newReplicated(t)
	employer := replicas.employer(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	for _, outage := range outages(t, replicas.replica) {
		t.Run(outage.name, func(t *testing.T) {
			replicas.waitForReplica(t, listing)
			seekers := []*account{replicas.seeker(t), replicas.seeker(t)}
			applications := []string{seekers[0].application(listing, nil)}
			outage.begin()
			for range 20 {
				begun := time.Now()
				counts := concurrently(t, 5, func(int) *response { return replicas.page(t, listing) })
				require.Equal(t, 5, counts[http.StatusOK], "%v", counts)
				require.Less(t, time.Since(begun), 4*time.Second)
			}
			applications = append(applications, seekers[1].application(listing, nil))
			export := string(replicas.guest(t).get(employer.exportLink("applications")).raw)
			require.Eventually(t, func() bool { return replicas.adapter(t, "replicas") == "degraded" }, waitTimeout, 50*time.Millisecond)
			outage.end()
			replicas.waitForReplica(t, listing)
			require.Eventually(t, func() bool { return replicas.adapter(t, "replicas") == "ok" }, waitTimeout, 50*time.Millisecond)
			for _, application := range applications {
				require.Contains(t, export, application)
			}
		})
	}
}

// TestReplica_BehindPgBouncer_IsUsed checks a primary and a replica that are both reached
// through PgBouncer.
func TestReplica_BehindPgBouncer_IsUsed(t *testing.T) {
	t.Parallel()
	primary := kit.OwnPostgres(t)
	replica := kit.PostgresReplica(t, primary)
	replicas := replicated{
		start(t, t.TempDir(), "LOCUM_DATABASE_URL="+kit.PgBouncer(t, primary.URL).URL,
			"LOCUM_DATABASE_DIRECT_URL="+primary.URL, "LOCUM_DATABASE_POOLER=transaction",
			"LOCUM_DATABASE_REPLICA_URLS="+kit.PgBouncer(t, replica.URL).URL),
		primary,
		replica,
	}
	employer := replicas.employer(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	replicas.waitForReplica(t, listing)
	employer.fromNewAddress().put("/api/employers/jobs/"+listing, object{"title": "Ward Sister"}).ok(200)
	replicas.waitForReplica(t, listing)
	require.Contains(t, string(replicas.page(t, listing).raw), "Ward Sister")
}

// TestReplica_AnotherDatabase_IsNotUsed checks that a wrong replica URL is reported and not
// used: a standby of another database, and the primary itself.
func TestReplica_AnotherDatabase_IsNotUsed(t *testing.T) {
	t.Parallel()
	primary := kit.OwnPostgres(t)
	replica := kit.PostgresReplica(t, primary)
	kit.Exec(t, primary.URL, "CREATE DATABASE other")
	server := start(t, t.TempDir(),
		"LOCUM_DATABASE_URL="+strings.Replace(primary.URL, "/postgres?", "/other?", 1),
		"LOCUM_DATABASE_REPLICA_URLS="+replica.URL+","+primary.URL)
	listing := server.employer(t).listing(object{"title": "Theatre Nurse"})
	require.Eventually(t, func() bool {
		return strings.Contains(server.log.String(), "is not a replica of the primary") &&
			strings.Contains(server.log.String(), "is not a standby server")
	}, waitTimeout, 20*time.Millisecond)
	require.Equal(t, http.StatusOK, server.page(t, listing).status)
	require.Equal(t, "degraded", server.adapter(t, "replicas"))
	require.Zero(t, server.metric(t, "locum_database_replica_reads_total"))
}

// TestReplica_SQLite_IsRefused checks that a server does not start with replicas of SQLite.
func TestReplica_SQLite_IsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := &testServer{dir: dir, env: append(serverEnv(dir), "LOCUM_DATABASE_REPLICA_URLS=sqlite:replica.db")}
	require.Contains(t, server.fails(t, "serve"), "sqlite does not support database.replica_urls")
}
