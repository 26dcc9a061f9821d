package e2e

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
	"github.com/locumhq/locum/test/kit/stores"
)

// requestWithin sends a request that may fail with a 5xx, and requires a response
// within the bound. It tries up to three times, because a delay that the load of
// the machine causes does not repeat, while a delay of the server does.
func (c *client) requestWithin(bound time.Duration, method, path string, body any) *response {
	c.t.Helper()

	for range 3 {
		begun := time.Now()

		resp := c.try(method, path, body)
		if time.Since(begun) < bound {
			return resp
		}
	}

	require.Fail(c.t, "no response in time", "%s %s took longer than %s three times", method, path, bound)

	return nil
}

// recoveryTimeout is the time within which a server must work again after an outage, without a restart.
const recoveryTimeout = 20 * time.Second

// outage is a way in which a service is unavailable.
type outage struct {
	name       string
	begin, end func()
	bound      time.Duration // the time in which requests that need the service have to fail
}

// outages returns the ways in which a service can become unavailable: it refuses connections,
// or it accepts them and does not respond, which only a timeout detects.
func outages(t *testing.T, service *services.Server) []outage {
	return []outage{
		{
			name:  "refusing",
			begin: service.Kill,
			end:   func() { require.NoError(t, service.Start()) },
			bound: 2 * time.Second,
		},
		{
			name:  "hanging",
			begin: service.Pause,
			end:   service.Resume,
			bound: 5 * time.Second,
		},
	}
}

// readiness returns the expected body of /readyz, for a server without replicas. All adapters are "ok" except those in
// states.
func readiness(t *testing.T, ready bool, states map[string]string) string {
	t.Helper()

	adapters := map[string]string{}
	for _, name := range []string{"clock", "database", "events", "files", "limiter", "mail", "payments", "queue", "search"} {
		adapters[name] = "ok"
	}

	maps.Copy(adapters, states)

	body, err := json.Marshal(object{"adapters": adapters, "ready": ready})
	require.NoError(t, err)

	return string(body)
}

// TestDatabaseUnavailable_RequestsAreAnsweredInTime checks both databases that can be
// unavailable: requests fail in bounded time, and no event is lost.
func TestDatabaseUnavailable_RequestsAreAnsweredInTime(t *testing.T) {
	t.Parallel()

	t.Run("postgres", func(t *testing.T) {
		t.Parallel()

		pg := kit.OwnPostgres(t)
		requireOutagesSurvived(t, pg, pg.URL)
	})

	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()

		mariaDB := kit.OwnMariaDB(t)
		requireOutagesSurvived(t, mariaDB, kit.NewMariaDB(t, mariaDB.URL))
	})
}

// requireOutagesSurvived checks that requests fail within the bound of the outage while the database is
// unavailable, and that the server works again afterwards and has lost no event. The event is an application right before
// the outage, about which the employer gets an e-mail.
func requireOutagesSurvived(t *testing.T, database *services.Server, url string) {
	t.Helper()

	server := start(t, t.TempDir(), "LOCUM_DATABASE_URL="+url)
	employer := server.employer(t)
	seeker := server.seeker(t)
	seeker.get("/api/auth/me").ok(200)

	browser := server.signedIn(t, seeker)

	for _, outage := range outages(t, database) {
		listing := employer.listing(object{"title": "Nurse " + outage.name})
		seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": listing}).ok(201)
		outage.begin()

		// Requests to the API fail with 503 in time, and clients learn when to try again.
		for _, request := range []struct {
			method, path string
			body         any
		}{
			{method: "GET", path: "/api/auth/me"},
			{method: "GET", path: "/api/listings"},
			{method: "POST", path: "/api/auth/login", body: object{"email": seeker.email, "password": password}},
		} {
			resp := seeker.requestWithin(outage.bound, request.method, request.path, request.body)
			require.Equal(t, 503, resp.status, "%s: %s", outage.name, request.path)
			require.NotEmpty(t, resp.header.Get("Retry-After"))
		}

		// Pages are shown with a message for users.
		for _, path := range []string{"/developers", "/oauth/authorize?client_id=" + stores.NewID()} {
			page := browser.Open("GET", path, nil)
			require.Equal(t, 503, page.Status, "%s: %s", outage.name, path)
			require.Contains(t, page.Header.Get("Content-Type"), "text/html")
			require.NotEmpty(t, page.Header.Get("Retry-After"))
			require.Contains(t, page.Text, "Please try again in a minute")
		}

		// The server reports that it is not ready, although its process is healthy.
		unready := seeker.try("GET", "/readyz", nil)
		require.Equal(t, 503, unready.status)
		require.JSONEq(t, readiness(t, false, map[string]string{"database": "down", "events": "degraded"}), string(unready.raw))
		require.Equal(t, 200, seeker.try("GET", "/healthz", nil).status, "the process is healthy")
		outage.end()

		// After the outage the server works again, and the employer gets the e-mail about the application.
		require.Eventually(t, func() bool { return seeker.try("GET", "/api/auth/me", nil).status == 200 },
			recoveryTimeout, 50*time.Millisecond, "no recovery after: %s", outage.name)
		seeker.fromNewAddress().post("/api/auth/login", object{"email": seeker.email, "password": password}).ok(200)
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(
				server.messagesTo(t, employer.email, ""),
				func(mail string) bool { return strings.Contains(mail, "Nurse "+outage.name) },
			)
		}, waitTimeout, 20*time.Millisecond, "no mail about the application before the outage")
	}
}

// TestDatabaseUnavailable_DeveloperAPI_ReturnsProblem checks that the developer API and OAuth
// report an outage in their own error formats, so that a client retries instead of replacing
// its credentials.
func TestDatabaseUnavailable_DeveloperAPI_ReturnsProblem(t *testing.T) {
	t.Parallel()

	pg := kit.OwnPostgres(t)
	server := start(t, t.TempDir(), "LOCUM_DATABASE_URL="+pg.URL, "LOCUM_LIMITER_URL="+kit.RedisURL(t))
	developer := server.seeker(t)
	app := developer.app()
	withKey := developer.programOf(app)
	withToken := developer.grantApp(app, integrations.Scopes()...)

	withKey.get("/api/v1/jobs").okDeveloper(200)
	withToken.get("/v1/applications").okDeveloper(200)

	for _, outage := range outages(t, pg) {
		outage.begin()

		for _, program := range []*client{withKey, withToken} {
			for _, path := range []string{"/api/v1/jobs", "/v1/applications/" + nowhere, "/v1/nothing"} {
				resp := program.requestWithin(outage.bound, "GET", path, nil).problem(503, "unavailable")
				require.Equal(t, path, resp.text("instance"))
				require.NotEmpty(t, resp.header.Get("Retry-After"))
				require.Equal(t, "no-store", resp.header.Get("Cache-Control"))
				require.Empty(t, resp.header.Get("WWW-Authenticate"), "the credential was not refused")
			}
		}

		// Missing credentials are refused without the database.
		server.guest(t).try("GET", "/api/v1/jobs", nil).problem(401, "unauthorized")

		// OAuth has its own error for an outage (RFC 6749 §4.1.2.1). The token in the form is invalid, but cannot be checked.
		form := form{"grant_type": {"refresh_token"}, "refresh_token": {"x"}, "client_id": {app}}
		for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
			resp := server.guest(t).try("POST", path, form)
			require.Equal(t, 503, resp.status)
			require.Equal(t, "temporarily_unavailable", resp.text("error"))
			require.NotEmpty(t, resp.header.Get("Retry-After"))
		}

		outage.end()
		require.Eventually(t, func() bool { return withKey.try("GET", "/api/v1/jobs", nil).status == 200 },
			recoveryTimeout, 100*time.Millisecond, "no recovery after: %s", outage.name)
		require.Equal(t, 200, withToken.try("GET", "/v1/applications", nil).status)
	}
}

// TestRedisUnavailable_Limits_AreKeptInProcess checks that the server counts requests in memory while Redis is
// unavailable, so that limits always apply, and in Redis again afterwards.
func TestRedisUnavailable_Limits_AreKeptInProcess(t *testing.T) {
	t.Parallel()

	redis := kit.OwnRedis(t)
	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"), "LOCUM_LIMITER_URL="+redis.URL)
	register := func(guest *client) (status int) {
		return guest.try("POST", "/api/auth/register-employer",
			object{"email": newEmail(), "password": password, "name": "A", "companyName": "B"}).status
	}

	for _, outage := range outages(t, redis) {
		outage.begin()

		guest := server.guest(t)

		const maxRegistrations = 5 // of one address in 15 minutes
		for range maxRegistrations {
			require.Equal(t, 201, register(guest), outage.name)
		}

		require.Equal(t, 429, register(guest), "%s: no request is admitted without a limit", outage.name)
		require.Equal(t, 200, guest.try("GET", "/readyz", nil).status, "%s: a degraded limiter is ready", outage.name)
		outage.end()

		// The limiter recovers by itself: it counts in Redis again.
		require.Eventually(t, func() bool {
			// A limited request, with which the limiter finds out that Redis is back.
			server.guest(t).try("POST", "/api/auth/register-employer", object{})
			return string(guest.try("GET", "/readyz", nil).raw) == readiness(t, true, nil)
		}, recoveryTimeout, 100*time.Millisecond, "no recovery after: %s", outage.name)
	}
}

// TestStart_RedisUnavailable_ReportsDegraded checks that a server starts without Redis, reports
// it, and recovers without a restart.
func TestStart_RedisUnavailable_ReportsDegraded(t *testing.T) {
	t.Parallel()

	redis := kit.OwnRedis(t)
	redis.Kill()

	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"),
		"LOCUM_LIMITER_URL="+redis.URL, "LOCUM_QUEUE_URL="+redis.URL)
	guest := server.guest(t)
	resp := guest.try("GET", "/readyz", nil)
	require.Equal(t, 200, resp.status, "the server is ready without limiter and queue")

	degraded := readiness(t, true, map[string]string{"limiter": "degraded", "queue": "degraded"})
	require.JSONEq(t, degraded, string(resp.raw), "before the first request")
	require.NoError(t, redis.Start())
	require.Eventually(t, func() bool { return string(guest.try("GET", "/readyz", nil).raw) == readiness(t, true, nil) },
		recoveryTimeout, 100*time.Millisecond, "the server does not use Redis after its start")
}

// TestStart_SchemaOfAnotherVersion_Refused checks that a server does not serve with a database
// whose schema is missing, older or newer, and that the message says what to do.
func TestStart_SchemaOfAnotherVersion_Refused(t *testing.T) {
	t.Parallel()

	databaseURL := kit.PostgresURL(t)
	dir := t.TempDir()
	server := &testServer{dir: dir, env: []string{"LOCUM_DATABASE_URL=" + databaseURL, "HOME=" + dir}}

	// requireRefused requires that the server does not start, and that its error has the message and names the setting.
	requireRefused := func(message string) {
		t.Helper()

		cmd := exec.Command(kit.Program(t), "serve")
		cmd.Dir = dir
		cmd.Env = append([]string{"LOCUM_HTTP_ADDR=127.0.0.1:0"}, server.env...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), message)
		require.Contains(t, string(out), "database.url (from LOCUM_DATABASE_URL)")
	}

	// The schema is missing.
	requireRefused("locum migrate up")

	// The schema is older: `migrate down` reverts the last migration.
	server.run(t, "migrate", "up")
	server.run(t, "migrate", "down")
	requireRefused("locum migrate up")
	server.run(t, "migrate", "up")

	// The schema is newer: version 9999 is a migration of a future release.
	kit.Exec(t, databaseURL, "INSERT INTO schema_identity (version_id, is_applied) VALUES (9999, true)")
	requireRefused("run a newer locum")
}
