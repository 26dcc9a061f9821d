package e2e

import (
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
func (c *client) requestWithin(bound time.Duration, method, path string, body any) (res *response) {
	c.t.Helper()
	took := bound
	for try := 0; try < 3 && took >= bound; try++ {
		begun := time.Now()
		res = c.try(method, path, body)
		took = time.Since(begun)
	}
	require.Less(c.t, took, bound, "%s %s", method, path)
	return res
}

// outage is a way in which a service is unavailable: begin and end start and end it, and bound
// is the time in which requests have to fail.
type outage struct {
	name       string
	begin, end func()
	bound      time.Duration
}

// outages returns the ways in which a database can become unavailable: it refuses connections,
// or it accepts them and does not respond, which only a timeout detects.
func outages(t *testing.T, pg *services.Server) []outage {
	return []outage{
		{"refusing", pg.Kill, func() { require.NoError(t, pg.Start()) }, 2 * time.Second},
		{"hanging", pg.Pause, pg.Resume, 5 * time.Second},
	}
}

// TestDatabaseUnavailable_RequestsAreAnsweredInTime checks both databases that can be
// unavailable: requests fail in bounded time, and no event is lost.
func TestDatabaseUnavailable_RequestsAreAnsweredInTime(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pg := kit.OwnPostgres(t)
		surviveOutages(t, pg, pg.URL)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		my := kit.OwnMariaDB(t)
		surviveOutages(t, my, kit.NewMariaDB(t, my.URL))
	})
}

// surviveOutages checks that requests fail within the bound of the outage while the database is
// unavailable, and that the server works again afterwards and has lost no event.
func surviveOutages(t *testing.T, database *services.Server, url string) {
	t.Helper()
	server := start(t, t.TempDir(), "LOCUM_DATABASE_URL="+url)
	employer, seeker := server.employer(t), server.seeker(t)
	seeker.get("/api/auth/me").ok(200)
	browser := server.signedIn(t, seeker)

	for _, outage := range outages(t, database) {
		listing := employer.listing(object{"title": "Nurse " + outage.name})
		seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": listing}).ok(201)
		outage.begin()
		for _, request := range []struct {
			method, path string
			body         any
		}{
			{"GET", "/api/auth/me", nil},
			{"GET", "/api/listings", nil},
			{"POST", "/api/auth/login", object{"email": seeker.email, "password": password}},
		} {
			res := seeker.requestWithin(outage.bound, request.method, request.path, request.body)
			require.Equal(t, 503, res.status, "%s: %s", outage.name, request.path)
			require.NotEmpty(t, res.header.Get("Retry-After"))
		}
		for _, path := range []string{"/developers", "/oauth/authorize?client_id=" + stores.NewID()} {
			page := browser.Open("GET", path, nil)
			require.Equal(t, 503, page.Status, "%s: %s", outage.name, path)
			require.Contains(t, page.Header.Get("Content-Type"), "text/html")
			require.NotEmpty(t, page.Header.Get("Retry-After"))
			require.Contains(t, page.Text, "Please try again in a minute")
		}
		unready := seeker.try("GET", "/readyz", nil)
		require.Equal(t, 503, unready.status)
		require.JSONEq(t,
			`{"adapters":{"clock":"ok","database":"down","events":"degraded","files":"ok","limiter":"ok","mail":"ok","payments":"ok","queue":"ok","search":"ok"},"ready":false}`,
			string(unready.raw))
		require.Equal(t, 200, seeker.try("GET", "/healthz", nil).status, "the process is healthy")
		outage.end()
		require.Eventually(t, func() bool { return seeker.try("GET", "/api/auth/me", nil).status == 200 },
			20*time.Second, 50*time.Millisecond, outage.name)
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
	me := server.seeker(t)
	app := me.app()
	reader, writer := me.programOf(app), me.grantApp(app, integrations.Scopes()...)
	reader.get("/api/v1/jobs").okDeveloper(200)
	writer.get("/v1/applications").okDeveloper(200)
	for _, outage := range outages(t, pg) {
		outage.begin()
		for _, who := range []*client{reader, writer} {
			for _, path := range []string{"/api/v1/jobs", "/v1/applications/" + nowhere, "/v1/nothing"} {
				res := who.requestWithin(outage.bound, "GET", path, nil).problem(503, "unavailable")
				require.Equal(t, path, res.text("instance"))
				require.NotEmpty(t, res.header.Get("Retry-After"))
				require.Equal(t, "no-store", res.header.Get("Cache-Control"))
				require.Empty(t, res.header.Get("WWW-Authenticate"), "the credential was not refused")
			}
		}
		// Missing credentials are refused without the database.
		server.guest(t).try("GET", "/api/v1/jobs", nil).problem(401, "unauthorized")
		form := form{"grant_type": {"refresh_token"}, "refresh_token": {"x"}, "client_id": {app}}
		for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
			res := server.guest(t).try("POST", path, form)
			require.Equal(t, 503, res.status)
			require.Equal(t, "temporarily_unavailable", res.text("error"))
			require.NotEmpty(t, res.header.Get("Retry-After"))
		}
		outage.end()
		require.Eventually(t, func() bool { return reader.try("GET", "/api/v1/jobs", nil).status == 200 },
			20*time.Second, 100*time.Millisecond, outage.name)
		require.Equal(t, 200, writer.try("GET", "/v1/applications", nil).status)
	}
}

// TestRedisUnavailable_Limits_AreKeptInProcess checks that the server counts requests in memory
// while Redis is unavailable, so that there is never no limit, and in Redis again afterwards.
func TestRedisUnavailable_Limits_AreKeptInProcess(t *testing.T) {
	t.Parallel()
	redis := kit.OwnRedis(t)
	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"), "LOCUM_LIMITER_URL="+redis.URL)
	register := func(c *client) int {
		return c.try("POST", "/api/auth/register-employer",
			object{"email": newEmail(), "password": password, "name": "A", "companyName": "B"}).status
	}
	for _, outage := range []struct {
		name       string
		begin, end func()
	}{
		{"refusing", redis.Kill, func() { require.NoError(t, redis.Start()) }},
		{"hanging", redis.Pause, redis.Resume},
	} {
		outage.begin()
		c := server.guest(t)
		for range 5 {
			require.Equal(t, 201, register(c), outage.name)
		}
		require.Equal(t, 429, register(c), "%s: no request is admitted without a limit", outage.name)
		require.Equal(t, 200, c.try("GET", "/readyz", nil).status, "%s: a degraded limiter is ready", outage.name)
		outage.end()
		// The limiter recovers by itself: it counts in Redis again.
		require.Eventually(t, func() bool {
			fresh := server.guest(t)
			fresh.try("POST", "/api/auth/register-employer", object{})
			return string(
				c.try("GET", "/readyz", nil).raw,
			) == `{"adapters":{"clock":"ok","database":"ok","events":"ok","files":"ok","limiter":"ok","mail":"ok","payments":"ok","queue":"ok","search":"ok"},"ready":true}`
		}, 20*time.Second, 100*time.Millisecond, outage.name)
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
	c := server.guest(t)
	says := func(state string) string {
		return `{"adapters":{"clock":"ok","database":"ok","events":"ok","files":"ok","limiter":"` + state + `","mail":"ok","payments":"ok","queue":"` + state + `","search":"ok"},"ready":true}`
	}
	res := c.try("GET", "/readyz", nil)
	require.Equal(t, 200, res.status, "the server is ready without limiter and queue")
	require.JSONEq(t, says("degraded"), string(res.raw), "before the first request")
	require.NoError(t, redis.Start())
	require.Eventually(t, func() bool { return string(c.try("GET", "/readyz", nil).raw) == says("ok") },
		20*time.Second, 100*time.Millisecond)
}

// TestStart_SchemaOfAnotherVersion_Refused checks that a server does not serve with a database
// whose schema is missing, older or newer, and that the message says what to do.
func TestStart_SchemaOfAnotherVersion_Refused(t *testing.T) {
	t.Parallel()
	env := "LOCUM_DATABASE_URL=" + kit.PostgresURL(t)
	dir := t.TempDir()
	refused := func(says string) {
		t.Helper()
		cmd := exec.Command(kit.Program(t), "serve")
		cmd.Dir, cmd.Env = dir, []string{env, "LOCUM_HTTP_ADDR=127.0.0.1:0", "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), says)
		require.Contains(t, string(out), "database.url (from LOCUM_DATABASE_URL)")
	}
	refused("locum migrate up")
	server := &testServer{dir: dir, env: []string{env, "HOME=" + dir}}
	server.run(t, "migrate", "up")
	server.run(t, "migrate", "down")
	refused("locum migrate up")
	server.run(t, "migrate", "up")
	// Version 9999 is a migration of a future release.
	kit.Exec(t, env[len("LOCUM_DATABASE_URL="):], "INSERT INTO schema_identity (version_id, is_applied) VALUES (9999, true)")
	refused("run a newer locum")
}
