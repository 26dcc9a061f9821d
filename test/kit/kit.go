// Package kit gives tests what they run against: real databases of their own.
//
// Servers come from the environment (LOCUM_TEST_POSTGRES_URL,
// LOCUM_TEST_REDIS_URL and LOCUM_TEST_MARIADB_URL, which test/kit/with-services sets) or, without it, from
// this process, which starts one of each on first use. A machine that cannot
// have a server or a program skips the test, unless LOCUM_TEST_REQUIRE (a list of
// postgres, redis, mariadb, s3, libreoffice, chromium, npm, …) names it or CI=true.
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
	sharedPostgres = sync.OnceValues(func() (string, error) { return shared("LOCUM_TEST_POSTGRES_URL", services.Postgres) })
	sharedMariaDB  = sync.OnceValues(func() (string, error) { return shared("LOCUM_TEST_MARIADB_URL", services.MariaDB) })
	sharedRedis    = sync.OnceValues(func() (string, error) { return shared("LOCUM_TEST_REDIS_URL", services.Redis) })
)

// shared returns the URL of a server that all tests of this process share: the one in the
// variable of the environment, or one that start starts.
func shared(variable string, start func() (*services.Server, error)) (string, error) {
	if given := os.Getenv(variable); given != "" {
		return given, nil
	}
	s, err := start()
	if err != nil {
		return "", err
	}
	return s.URL, nil // it ends with this process
}

// PostgresURL returns the URL of an empty database that only this test uses.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return newDatabase(t, "template1")
}

// PostgresLike returns the URL of a database that only this test uses and that
// begins as a copy of a template. fill fills the template once for all tests on
// the server that give the same name; it remains there as locum_like_NAME.
func PostgresLike(t testing.TB, name string, fill func(url string) error) string {
	t.Helper()
	server, err := sharedPostgres()
	need(t, "postgres", err)
	template := "locum_like_" + name
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("postgres at %s: %v", server, err)
	}
	defer func() { _ = c.Close(ctx) }()
	// there reports whether the template exists and is complete.
	there := func() (yes bool) {
		if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", template).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if there() {
		return newDatabase(t, template)
	}
	// One process fills the template while the others wait. It is renamed when
	// it is complete, and is not connected to from then on.
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", template); err != nil {
		t.Fatal(err)
	}
	if !there() {
		full := newDatabase(t, "template1")
		if err := fill(full); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(full)
		need(t, "postgres", err)
		if _, err := c.Exec(ctx, "ALTER DATABASE "+strings.TrimPrefix(u.Path, "/")+" RENAME TO "+template); err != nil {
			t.Fatal(err)
		}
	}
	return newDatabase(t, template)
}

// newDatabase copies the template and drops the copy when the test ends.
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
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("postgres at %s: %v", server, err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, statement); err != nil {
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

// NewMariaDB creates a database on the server and drops it when the test ends.
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
	t.Cleanup(func() { exec("DROP DATABASE " + name); _ = pool.Close() })
	u.Path = "/" + name
	return u.String()
}

// RedisURL returns the URL of an empty numbered database that only this test
// uses.
func RedisURL(t testing.TB) string {
	t.Helper()
	server, err := sharedRedis()
	need(t, "redis", err)
	opt, err := goredis.ParseURL(server)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	// Database 0 holds the counter that allocates the other databases to all
	// processes.
	opt.DB = 0
	client := goredis.NewClient(opt)
	defer func() { _ = client.Close() }()
	conf, err := client.ConfigGet(ctx, "databases").Result()
	if err != nil {
		t.Fatalf("redis at %s: %v", server, err)
	}
	databases, _ := strconv.ParseInt(conf["databases"], 10, 64)
	if databases < 2 {
		t.Fatalf("redis at %s has no numbered databases", server)
	}
	n, err := client.Incr(ctx, "locum-test:databases").Result()
	if err != nil {
		t.Fatal(err)
	}
	// After the last database, the first one is used again. Its test ended long ago.
	opt.DB = int(1 + (n-1)%(databases-1))
	own := goredis.NewClient(opt)
	defer func() { _ = own.Close() }()
	if err := own.FlushDB(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = fmt.Sprintf("/%d", opt.DB)
	return u.String()
}

// OwnPostgres starts a server that only this test uses, which can be killed,
// paused and started again on the same address. Its URL names the maintenance
// database.
func OwnPostgres(t testing.TB) *services.Server { return own(t, "postgres", services.Postgres) }

// PostgresReplica starts a standby server that streams from a server of OwnPostgres.
func PostgresReplica(t testing.TB, primary *services.Server) *services.Server {
	t.Helper()
	return own(t, "postgres", func() (*services.Server, error) { return services.PostgresReplica(primary) })
}

// OwnMariaDB starts a server that only this test uses, like OwnPostgres. Its URL
// names no database. Without LOCUM_TEST_HEAVY the test is skipped.
func OwnMariaDB(t testing.TB) *services.Server {
	t.Helper()
	NeedHeavy(t)
	return own(t, "mariadb", services.MariaDB)
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
func OwnRedis(t testing.TB) *services.Server { return own(t, "redis", services.Redis) }

// RedisCluster returns the URL of a Redis Cluster of three masters that only this
// test uses.
func RedisCluster(t testing.TB) string {
	t.Helper()
	url, _ := redisCluster(t, false)
	return url
}

// RedisClusterWithReplicas returns the URL of a Redis Cluster that only this test
// uses, and its servers: three masters, and a replica of each.
func RedisClusterWithReplicas(t testing.TB) (url string, servers []*services.Server) {
	t.Helper()
	return redisCluster(t, true)
}

// redisCluster starts a cluster, which stops with the test.
func redisCluster(t testing.TB, replicas bool) (url string, servers []*services.Server) {
	t.Helper()
	url, servers, err := services.RedisCluster(replicas)
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
	return own(t, "s3", services.S3)
}

// PgBouncer starts a PgBouncer in transaction mode in front of a database of
// PostgresURL.
func PgBouncer(t testing.TB, postgres string) *services.Server {
	t.Helper()
	return own(t, "pgbouncer", func() (*services.Server, error) { return services.PgBouncer(postgres) })
}

// own starts a server, which stops with the test.
func own(t testing.TB, name string, start func() (*services.Server, error)) *services.Server {
	t.Helper()
	s, err := start()
	need(t, name, err)
	t.Cleanup(s.Stop)
	return s
}

// Address returns an address on this machine, HOST:PORT, that is reserved for
// this test: a server can be started and restarted on it.
func Address(t testing.TB) string {
	t.Helper()
	port, letGo, err := services.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(letGo)
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
	server, err := services.StripeMock()
	need(t, "stripe-mock", err)
	t.Cleanup(server.Stop)
	return server.URL
}

// Tool returns the path of a program on the machine.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	need(t, name, err)
	return path
}

// need skips the test if err is not nil, or fails it if the environment requires the server or
// program with the name.
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

// Refusal returns the error of a use case for which the actor is not authorized: guests have to
// sign in, others lack the permission.
func Refusal(by auth.Actor) error {
	if by.Guest() {
		return fault.ErrUnauthorized
	}
	return fault.ErrForbidden
}
