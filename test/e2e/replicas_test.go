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

	match := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(s.metrics(t))
	require.NotNil(t, match, "no metric %s", name)

	value, err := strconv.ParseFloat(match[1], 64)
	require.NoError(t, err)

	return value
}

// adapterState returns the state of an adapter in /readyz.
func (s *testServer) adapterState(t *testing.T, name string) string {
	t.Helper()

	resp := s.guest(t).try("GET", "/readyz", nil)
	require.Equal(t, http.StatusOK, resp.status, "%s", resp.raw)

	return resp.text("adapters." + name)
}

// listingPage requests the page of a listing as a new guest. The server reads the listing from a database for each request.
func (s *testServer) listingPage(t *testing.T, listing string) *response {
	t.Helper()
	return s.guest(t).try("GET", "/jobs/"+listing, nil)
}

// replicated is a server whose database is a primary with a replica: a second Postgres that applies the writes of the
// primary a little later. The server may read from the replica for guests. It writes to the primary.
type replicated struct {
	*testServer
	primary, replica *services.Server
}

// newReplicated starts a server with a new primary and a new replica.
func newReplicated(t *testing.T) replicated {
	t.Helper()

	primary := kit.OwnPostgres(t)
	replica := kit.PostgresReplica(t, primary)
	server := start(t, t.TempDir(), "LOCUM_DATABASE_URL="+primary.URL, "LOCUM_DATABASE_REPLICA_URLS="+replica.URL)

	return replicated{testServer: server, primary: primary, replica: replica}
}

// waitForReplica waits until the server reads the page of the listing from the replica, which
// its metric shows.
func (r replicated) waitForReplica(t *testing.T, listing string) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := r.metric(t, "locum_database_replica_reads_total")
		require.Equal(t, http.StatusOK, r.listingPage(t, listing).status)
		return r.metric(t, "locum_database_replica_reads_total") > before
	}, 30*time.Second, 20*time.Millisecond, "the server does not read from the replica\n%s", r.log)
}

// queryNumber returns the number that a query on a database returns.
func queryNumber(t *testing.T, database *services.Server, query string) (number int) {
	t.Helper()

	connection, err := pgx.Connect(t.Context(), database.URL)
	require.NoError(t, err)

	defer func() { _ = connection.Close(context.Background()) }()

	require.NoError(t, connection.QueryRow(t.Context(), query).Scan(&number))

	return number
}

// TestReplica_GuestsReadFromIt_OwnWritesAreVisible checks that guests read from the replica and
// still see each write at once, and that the server keeps to its limit of ten connections in
// total.
func TestReplica_GuestsReadFromIt_OwnWritesAreVisible(t *testing.T) {
	t.Parallel()

	server := newReplicated(t)
	employer := server.employer(t)
	seeker := server.seeker(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	server.waitForReplica(t, listing)

	// The statistics of the replica confirm what the metric of the server says. Postgres updates them with a delay.
	require.Eventually(t, func() bool {
		return queryNumber(t, server.replica,
			"SELECT CAST(sum(seq_scan + idx_scan) AS INTEGER) FROM pg_stat_user_tables WHERE relname = 'listings'") > 0
	}, waitTimeout, 100*time.Millisecond, "the replica has not read the table")
	require.Equal(t, "ok", server.adapterState(t, "replicas"))
	require.Equal(t, 1.0, server.metric(t, "locum_database_replicas_usable"))

	// After each of 20 writes, a guest sees the new title on the page and in the list, and the employer in the console.
	const writes = 20
	for i := range writes {
		title := fmt.Sprint("Theatre Nurse ", i)
		employer.fromNewAddress().put("/api/employers/jobs/"+listing, object{"title": title}).ok(200)
		require.Contains(t, string(server.listingPage(t, listing).raw), title+"<")
		require.True(t, server.isListed(t, title))
		require.Equal(t, title, employer.fromNewAddress().get("/api/employers/jobs/"+listing).ok(200).text("data.job.title"))
	}

	application := seeker.application(listing, nil)
	require.Contains(t, string(server.guest(t).get(employer.exportLink("applications")).raw), application)

	const (
		// The server names its connections "locum".
		countConnections = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'locum'`
		maxConnections   = 10 // the default of the server
	)

	connections := queryNumber(t, server.primary, countConnections) + queryNumber(t, server.replica, countConnections)
	require.LessOrEqual(t, connections, maxConnections, "connections to both databases")
}

// TestReplica_Lags_IsSkipped checks that the server does not read from a replica that has not
// applied the newest writes, its own and those of other processes, until the replica has caught
// up.
func TestReplica_Lags_IsSkipped(t *testing.T) {
	t.Parallel()

	server := newReplicated(t)
	dir := t.TempDir()
	second := &testServer{
		dir:    server.dir,
		env:    append(serverEnv(dir), "LOCUM_DATABASE_URL="+server.primary.URL, "LOCUM_SEARCH_URL=embedded:"+dir),
		log:    &kit.Log{},
		exited: make(chan error, 1),
	}
	second.serve(t) // with the same primary, and without a replica

	employer := server.employer(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	server.waitForReplica(t, listing)

	// From here the replica applies no writes.
	kit.Exec(t, server.replica.URL, "SELECT pg_wal_replay_pause()")
	employer.fromNewAddress().put("/api/employers/jobs/"+listing, object{"title": "Ward Sister"}).ok(200)
	require.Contains(t, string(server.listingPage(t, listing).raw), "Ward Sister", "a write of this server")
	require.Eventually(t, func() bool { return server.adapterState(t, "replicas") == "degraded" }, waitTimeout, 50*time.Millisecond)

	// A fallback is a read from the primary because the replica lags.
	reads := server.metric(t, "locum_database_replica_reads_total")
	fallbacks := server.metric(t, "locum_database_replica_fallbacks_total")

	employer.fromNewAddress().on(second).put("/api/employers/jobs/"+listing, object{"title": "Matron"}).ok(200)
	require.Contains(t, string(server.listingPage(t, listing).raw), "Matron", "a write of another process")
	require.Equal(t, reads, server.metric(t, "locum_database_replica_reads_total"), "no read from the lagging replica")
	require.Greater(t, server.metric(t, "locum_database_replica_fallbacks_total"), fallbacks)
	require.Greater(t, server.metric(t, "locum_database_replica_lag_seconds"), 1.0)
	require.Zero(t, server.metric(t, "locum_database_replicas_usable"))

	// The replica catches up, and the server reads from it again.
	kit.Exec(t, server.replica.URL, "SELECT pg_wal_replay_resume()")
	server.waitForReplica(t, listing)
	require.Contains(t, string(server.listingPage(t, listing).raw), "Matron")
	require.Eventually(t, func() bool { return server.adapterState(t, "replicas") == "ok" }, waitTimeout, 50*time.Millisecond)
}

// TestReplica_IsLost_NoRequestFails checks that requests are served from the primary during an outage of the
// replica, and from the replica again afterwards. The helper outages returns two kinds of outages: the replica refuses
// connections, or hangs.
func TestReplica_IsLost_NoRequestFails(t *testing.T) {
	t.Parallel()

	server := newReplicated(t)
	employer := server.employer(t)

	const (
		groups           = 20
		requestsPerGroup = 5
		maxGroupTime     = 4 * time.Second // far more than the primary needs
	)

	listing := employer.listing(object{"title": "Theatre Nurse"})
	for _, outage := range outages(t, server.replica) {
		t.Run(outage.name, func(t *testing.T) {
			server.waitForReplica(t, listing)

			applicationBefore := server.seeker(t).application(listing, nil)
			seeker := server.seeker(t)

			outage.begin()

			// Every request during the outage succeeds in time, because it is served from the primary.
			for range groups {
				begun := time.Now()
				statuses := concurrently(t, requestsPerGroup, func(int) *response { return server.listingPage(t, listing) })
				require.Equal(t, requestsPerGroup, statuses[http.StatusOK], "a request failed: %v", statuses)
				require.Less(t, time.Since(begun), maxGroupTime, "requests waited for the replica")
			}

			// An export that is read during the outage has the applications from before it and from within it.
			applicationDuring := seeker.application(listing, nil)
			export := string(server.guest(t).get(employer.exportLink("applications")).raw)
			require.Eventually(t, func() bool { return server.adapterState(t, "replicas") == "degraded" }, waitTimeout, 50*time.Millisecond)
			outage.end()
			server.waitForReplica(t, listing)
			require.Eventually(t, func() bool { return server.adapterState(t, "replicas") == "ok" }, waitTimeout, 50*time.Millisecond)
			require.Contains(t, export, applicationBefore)
			require.Contains(t, export, applicationDuring)
		})
	}
}

// TestReplica_BehindPgBouncer_IsUsed checks a primary and a replica that are both reached
// through PgBouncer.
func TestReplica_BehindPgBouncer_IsUsed(t *testing.T) {
	t.Parallel()

	primary := kit.OwnPostgres(t)
	replica := kit.PostgresReplica(t, primary)
	server := replicated{
		testServer: start(t, t.TempDir(),
			"LOCUM_DATABASE_URL="+kit.PgBouncer(t, primary.URL).URL,
			"LOCUM_DATABASE_DIRECT_URL="+primary.URL,
			"LOCUM_DATABASE_POOLER=transaction",
			"LOCUM_DATABASE_REPLICA_URLS="+kit.PgBouncer(t, replica.URL).URL),
		primary: primary,
		replica: replica,
	}
	employer := server.employer(t)
	listing := employer.listing(object{"title": "Theatre Nurse"})
	server.waitForReplica(t, listing)
	employer.fromNewAddress().put("/api/employers/jobs/"+listing, object{"title": "Ward Sister"}).ok(200)
	server.waitForReplica(t, listing)
	require.Contains(t, string(server.listingPage(t, listing).raw), "Ward Sister")
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
		// The log has a message for each of the two wrong URLs.
		return strings.Contains(server.log.String(), "is not a replica of the primary") &&
			strings.Contains(server.log.String(), "is not a standby server")
	}, waitTimeout, 20*time.Millisecond)
	require.Equal(t, http.StatusOK, server.listingPage(t, listing).status)
	require.Equal(t, "degraded", server.adapterState(t, "replicas"))
	require.Zero(t, server.metric(t, "locum_database_replica_reads_total"))
}

// TestReplica_SQLite_IsRefused checks that a server does not start with replicas of SQLite.
func TestReplica_SQLite_IsRefused(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	server := &testServer{dir: dir, env: append(serverEnv(dir), "LOCUM_DATABASE_REPLICA_URLS=sqlite:replica.db")}
	require.Contains(t, server.fails(t, "serve"), "sqlite does not support database.replica_urls")
}
