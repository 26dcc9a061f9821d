// Package kit gives tests what they run against: databases, servers and programs.
//
// The URLs of shared servers are in the environment variables LOCUM_TEST_POSTGRES_URL,
// LOCUM_TEST_REDIS_URL and LOCUM_TEST_MARIADB_URL, which test/kit/with-services sets. A server
// whose variable is empty is started by the test process on first use. If a server or program
// is unavailable on the machine, the test is skipped; it fails instead if CI=true or if
// LOCUM_TEST_REQUIRE (a list of postgres, redis, mariadb, s3, libreoffice, chromium, npm, …)
// contains its name.
package kit

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/test/kit/services"
)

var (
	sharedPostgres = sync.OnceValues(func() (string, error) {
		return sharedURL("LOCUM_TEST_POSTGRES_URL", services.Postgres)
	})
	sharedMariaDB = sync.OnceValues(func() (string, error) {
		return sharedURL("LOCUM_TEST_MARIADB_URL", services.MariaDB)
	})
	sharedRedis = sync.OnceValues(func() (string, error) {
		return sharedURL("LOCUM_TEST_REDIS_URL", services.Redis)
	})
)

// sharedURL returns the URL of a server that all tests of this process share: the value of the
// environment variable or, if that is empty, the URL of a server that start starts.
func sharedURL(variable string, start func() (*services.Server, error)) (string, error) {
	if url := os.Getenv(variable); url != "" {
		return url, nil
	}

	server, err := start()
	if err != nil {
		return "", err
	}

	return server.URL, nil // the server stops when this process exits
}

// PostgresURL returns the URL of an empty database that only this test uses.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, "template1")
}

// PostgresLike returns the URL of a database that only this test uses and that
// begins as a copy of a template. All tests with the same name share the template:
// the first one calls fill with the URL of an empty database, which then remains
// on the server under the name locum_like_NAME.
func PostgresLike(t testing.TB, name string, fill func(url string) error) string {
	t.Helper()

	server, err := sharedPostgres()
	need(t, "postgres", err)

	template := "locum_like_" + name

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("postgres at %s: %v", server, err)
	}

	defer func() { _ = conn.Close(ctx) }()

	// templateExists reports whether the template exists. A template gets its name only when it is
	// complete, because the process that fills it may be killed.
	templateExists := func() (exists bool) {
		row := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", template)
		if err := row.Scan(&exists); err != nil {
			t.Fatal(err)
		}

		return exists
	}
	if templateExists() {
		return newDatabase(t, template)
	}

	// One process fills the template while the others wait for the lock, which is released
	// when conn is closed.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", template); err != nil {
		t.Fatal(err)
	}

	// Another process may have filled the template during the wait. Otherwise fill an empty database and rename it.
	if !templateExists() {
		filled := newDatabase(t, "template1")
		if err := fill(filled); err != nil {
			t.Fatal(err)
		}

		u, err := url.Parse(filled)
		need(t, "postgres", err)

		name := strings.TrimPrefix(u.Path, "/")
		if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" RENAME TO "+template); err != nil {
			t.Fatal(err)
		}
	}

	return newDatabase(t, template)
}

// newDatabase creates a copy of the template, which is dropped when the test ends, and returns
// the URL of the copy.
func newDatabase(t testing.TB, template string) string {
	t.Helper()

	server, err := sharedPostgres()
	need(t, "postgres", err)

	u, err := url.Parse(server)
	need(t, "postgres", err)

	name := "locum_" + strings.ToLower(rand.Text())
	Exec(t, server, "CREATE DATABASE "+name+" TEMPLATE "+template)
	t.Cleanup(func() { Exec(t, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })

	u.Path = "/" + name

	return u.String()
}

// Exec runs one statement on the Postgres at the URL.
func Exec(t testing.TB, server, statement string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("postgres at %s: %v", server, err)
	}

	defer func() { _ = conn.Close(ctx) }()

	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// MariaDBURL returns the URL of an empty database that only this test uses.
// Without LOCUM_TEST_HEAVY the test is skipped.
func MariaDBURL(t testing.TB) string {
	t.Helper()
	NeedHeavy(t)

	server, err := sharedMariaDB()
	need(t, "mariadb", err)

	return NewMariaDB(t, server)
}

// NewMariaDB creates a database on the server, which is dropped when the test ends, and returns
// the URL of the database.
func NewMariaDB(t testing.TB, server string) string {
	t.Helper()

	u, err := url.Parse(server)
	need(t, "mariadb", err)

	pool, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")/")
	need(t, "mariadb", err)

	name := "locum_" + strings.ToLower(rand.Text())
	exec := func(statement string) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()

		if _, err := pool.ExecContext(ctx, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}

	exec("CREATE DATABASE " + name)

	t.Cleanup(func() {
		exec("DROP DATABASE " + name)

		_ = pool.Close()
	})

	u.Path = "/" + name

	return u.String()
}

// RedisURL returns the URL of an empty numbered database that only this test
// uses.
func RedisURL(t testing.TB) string {
	t.Helper()

	server, err := sharedRedis()
	need(t, "redis", err)

	options, err := goredis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	// The previous test that used the database may have left data in it.
	options.DB = allocateRedisDatabase(ctx, t, *options)

	client := goredis.NewClient(options)
	defer func() { _ = client.Close() }()

	if err := client.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}

	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}

	u.Path = fmt.Sprintf("/%d", options.DB)

	return u.String()
}

// allocateRedisDatabase returns the number of a database of the server that no running test
// uses. Database 0 holds the counter that allocates the others to all processes.
func allocateRedisDatabase(ctx context.Context, t testing.TB, options goredis.Options) int {
	t.Helper()

	options.DB = 0

	client := goredis.NewClient(&options)
	defer func() { _ = client.Close() }()

	settings, err := client.ConfigGet(ctx, "databases").Result()
	if err != nil {
		t.Fatalf("redis at %s: %v", options.Addr, err)
	}

	databases, _ := strconv.ParseInt(settings["databases"], 10, 64)
	if databases < 2 { // one for the counter, and at least one for tests
		t.Fatalf("redis at %s has no numbered databases", options.Addr)
	}

	allocations, err := client.Incr(ctx, "locum-test:databases").Result()
	if err != nil {
		t.Fatal(err)
	}

	// After the last database comes database 1 again, whose previous test ended long ago.
	databasesForTests := databases - 1

	return int(1 + (allocations-1)%databasesForTests)
}

// OwnPostgres starts a server that only this test uses, which can be killed,
// paused and started again on the same address. Its URL names the maintenance
// database.
func OwnPostgres(t testing.TB) *services.Server { return startServer(t, "postgres", services.Postgres) }

// PostgresReplica starts a standby server that streams from a server of OwnPostgres.
func PostgresReplica(t testing.TB, primary *services.Server) *services.Server {
	t.Helper()
	return startServer(t, "postgres", func() (*services.Server, error) { return services.PostgresReplica(primary) })
}

// OwnMariaDB starts a server that only this test uses, like OwnPostgres. Its URL
// names no database. Without LOCUM_TEST_HEAVY the test is skipped.
func OwnMariaDB(t testing.TB) *services.Server {
	t.Helper()
	NeedHeavy(t)
	return startServer(t, "mariadb", services.MariaDB)
}

// NeedHeavy skips the test unless LOCUM_TEST_HEAVY is set, as `make check-heavy` does.
func NeedHeavy(t testing.TB) {
	t.Helper()

	if os.Getenv("LOCUM_TEST_HEAVY") == "" {
		t.Skip("LOCUM_TEST_HEAVY is not set")
	}
}

// OwnRedis starts a server that only this test uses, like OwnPostgres. It loses
// all data when it is killed.
func OwnRedis(t testing.TB) *services.Server { return startServer(t, "redis", services.Redis) }

// RedisCluster returns the URL of a Redis Cluster of three masters that only this
// test uses.
func RedisCluster(t testing.TB) string {
	t.Helper()
	const withReplicas = false
	url, _ := redisCluster(t, withReplicas)

	return url
}

// RedisClusterWithReplicas returns the URL of a Redis Cluster that only this test
// uses, and its servers: three masters, and a replica of each.
func RedisClusterWithReplicas(t testing.TB) (url string, servers []*services.Server) {
	t.Helper()
	const withReplicas = true
	return redisCluster(t, withReplicas)
}

// redisCluster starts a cluster, which stops with the test.
func redisCluster(t testing.TB, withReplicas bool) (url string, servers []*services.Server) {
	t.Helper()

	url, servers, err := services.RedisCluster(withReplicas)
	need(t, "redis", err)

	t.Cleanup(func() {
		for _, s := range servers {
			s.Stop()
		}
	})

	return url, servers
}

// OwnS3 starts an S3 server that only this test uses, like OwnPostgres. Its URL
// names an empty bucket, for the credentials services.S3AccessKey and
// services.S3SecretKey. Without LOCUM_TEST_HEAVY the test is skipped: the first
// start builds the server.
func OwnS3(t testing.TB) *services.Server {
	t.Helper()
	NeedHeavy(t)
	return startServer(t, "s3", services.S3)
}

// PgBouncer starts a PgBouncer in transaction mode in front of a database of
// PostgresURL.
func PgBouncer(t testing.TB, postgres string) *services.Server {
	t.Helper()
	return startServer(t, "pgbouncer", func() (*services.Server, error) { return services.PgBouncer(postgres) })
}

// startServer starts a server, which stops with the test.
func startServer(t testing.TB, name string, start func() (*services.Server, error)) *services.Server {
	t.Helper()

	server, err := start()
	need(t, name, err)
	t.Cleanup(server.Stop)

	return server
}

// Address returns an address on this machine, HOST:PORT, that is reserved for
// this test: a server can be started and restarted on it.
func Address(t testing.TB) string {
	t.Helper()

	port, release, err := services.ReservePort()
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(release)

	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// LibreOffice returns the LibreOffice of the machine, or a downloaded one. It
// converts spreadsheets.
func LibreOffice(t testing.TB) services.LibreOffice {
	t.Helper()

	office, err := services.FindLibreOffice()
	need(t, "libreoffice", err)

	return office
}

// Chromium returns the Chromium of the machine, or a downloaded one.
func Chromium(t testing.TB) services.Chromium {
	t.Helper()

	browser, err := services.FindChromium()
	need(t, "chromium", err)

	return browser
}

// StripeMock starts Stripe's mock server, which it installs if necessary, and
// returns its URL.
func StripeMock(t testing.TB) string {
	t.Helper()
	return startServer(t, "stripe-mock", services.StripeMock).URL
}

// Tool returns the path of a program on the machine.
func Tool(t testing.TB, name string) string {
	t.Helper()

	path, err := exec.LookPath(name)
	need(t, name, err)

	return path
}

// need ends the test if err is not nil: it fails the test if the environment requires the server
// or program with the name (see the package comment), and skips it otherwise.
func need(t testing.TB, name string, err error) {
	t.Helper()

	if err == nil {
		return
	}

	required := strings.Split(os.Getenv("LOCUM_TEST_REQUIRE"), ",")
	if os.Getenv("CI") == "true" || slices.Contains(required, name) {
		t.Fatalf("%s is required and unavailable: %v", name, err)
	}

	t.Skipf("NOT TESTED: %s is unavailable: %v", name, err)
}

// Refusal returns the error of a use case for which the actor is not authorized:
// fault.ErrUnauthorized for a guest, fault.ErrForbidden for a signed-in user.
func Refusal(by auth.Actor) error {
	if by.Guest() {
		return fault.ErrUnauthorized
	}

	return fault.ErrForbidden
}
