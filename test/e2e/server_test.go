// Package e2e tests the built program over HTTP on every supported setup: the
// same tests on the embedded defaults and on Postgres with a Redis limiter. Every
// exchange is validated against the server's OpenAPI document.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestMain(m *testing.M) { kit.Main(m) }

// waitTimeout bounds waiting for asynchronous results, which mostly takes a
// second but longer on a busy machine. Promised times are tested with their own
// bounds.
const waitTimeout = 90 * time.Second

// setups are the configurations that every test runs on. The function env returns the
// settings of a server whose data is in dir.
var setups = []struct {
	name string
	env  func(t testing.TB, dir string) []string
}{
	{
		// The embedded defaults: SQLite, the queue in the database and the rate limits in memory.
		name: "sqlite+embedded+memory",
		env: func(_ testing.TB, dir string) []string {
			return []string{"LOCUM_DATABASE_URL=sqlite:" + filepath.Join(dir, "locum.db")}
		},
	},
	{
		name: "postgres+redis",
		env: func(t testing.TB, _ string) []string {
			url := stores.PostgresURL(t) // a new database with all migrations
			migrated.Store(url, true)
			return []string{"LOCUM_DATABASE_URL=" + url, "LOCUM_LIMITER_URL=" + kit.RedisURL(t)}
		},
	},
}

// migrated contains the URLs of the databases that need no `migrate up`: PostgresURL copied
// them from a database with all migrations.
var migrated sync.Map

// onEachSetup runs the test on a separate server for each setup. The additional settings are
// environment variables, "NAME=value".
func onEachSetup(t *testing.T, test func(t *testing.T, server *testServer), additionalEnv ...string) {
	t.Helper()
	t.Parallel()

	for _, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			env := append(setup.env(t, dir), additionalEnv...)
			test(t, start(t, dir, env...))
		})
	}
}

// onEachSetupIfHeavy is onEachSetup for long tests. `make test` runs them on the first setup
// only, and `make check-heavy` on all.
func onEachSetupIfHeavy(t *testing.T, test func(t *testing.T, server *testServer)) {
	t.Helper()
	t.Parallel()

	for i, setup := range setups {
		t.Run(setup.name, func(t *testing.T) {
			t.Parallel()

			if i > 0 {
				kit.NeedHeavy(t)
			}

			dir := t.TempDir()
			test(t, start(t, dir, setup.env(t, dir)...))
		})
	}
}

// testServer is a server process under test. It can be stopped and started again with the same
// directory and environment, at a new address.
type testServer struct {
	dir string   // the working directory, with data and e-mails
	env []string // the whole environment, for commands of operators too
	url string   // http://127.0.0.1 with the current port
	cmd *exec.Cmd
	log *kit.Log
	// stopOnce makes further calls of stop do nothing, until serve starts the process again.
	stopOnce sync.Once
	exited   chan error // receives the result of the process once

	mailMu sync.Mutex
	mails  map[string][]byte // the e-mails that messagesTo has read, by the names of their files
}

// listening matches the line on stdout with the address that the system chose for port 0.
var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// start starts a server with the environment in dir. It migrates databases other than
// SQLite, which the server itself migrates.
func start(t testing.TB, dir string, env ...string) *testServer {
	t.Helper()

	server := &testServer{dir: dir, log: &kit.Log{}, exited: make(chan error, 1)}

	server.env = append(serverEnv(dir), env...)
	if _, ready := migrated.Load(server.databaseURL()); !ready && !strings.HasPrefix(server.databaseURL(), "sqlite:") {
		server.run(t, "migrate", "up")
	}

	server.serve(t)

	return server
}

// serverEnv returns the environment that all servers under test have in common; dir is the home
// directory.
func serverEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"LOCUM_HTTP_ADDR=127.0.0.1:0",
		// Each client sends its own X-Forwarded-For, so that tests do not share rate limits.
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32",
		"LOCUM_HTTP_DRAIN=10ms",
		// A machine that runs many tests is slow: searches may take long, and their CPU time is
		// not limited. The limits of searches have their own tests.
		"LOCUM_LIMITS_SEARCH_CPU=0", "LOCUM_LIMITS_SEARCH_TIMEOUT=10s",
	}
}

// secrets matches values that no log may contain: refresh tokens, webhook secrets, JWTs, the
// password of the test users, password hashes and the header with credentials.
var secrets = regexp.MustCompile(`loc_rt_|whsec_|eyJ[A-Za-z0-9_-]{10}|` + password + `|argon2id|Authorization`)

// run runs a command of the program, requires that it succeeds, and returns its output.
func (s *testServer) run(t testing.TB, args ...string) string {
	t.Helper()

	cmd := exec.Command(kit.Program(t), args...)
	cmd.Dir = s.dir
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	return string(out)
}

// serve starts the process, waits until it prints its address, and stops it at the end of the
// test.
func (s *testServer) serve(t testing.TB) {
	t.Helper()

	s.stopOnce = sync.Once{} // stop works again after a restart
	s.cmd = exec.Command(kit.Program(t), "serve")
	s.cmd.Dir = s.dir
	s.cmd.Env = s.env
	s.cmd.Stderr = s.log

	// The server must not survive a test process that is killed.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())

	addr := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				addr <- m[1]
			}
		}

		s.exited <- s.cmd.Wait()
	}()

	select {
	case listensOn := <-addr:
		s.url = "http://" + listensOn
	case err := <-s.exited:
		require.Fail(t, "the server did not start", "%v: %s", err, s.log)
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		require.Fail(t, "the server did not start in time", "%s", s.log)
	}

	t.Cleanup(func() { s.stop(t) })
}

// waitUntilReady waits until /readyz responds 200: the server listens before it has built the
// search index of existing listings.
func (s *testServer) waitUntilReady(t testing.TB) {
	t.Helper()

	isReady := func() bool { return s.guest(t).try("GET", "/readyz", nil).status == http.StatusOK }
	require.Eventually(t, isReady, time.Minute, 50*time.Millisecond, "%s", s.log)
}

// stop terminates the server gracefully, and requires that it stopped without an error and that
// its log contains no secret.
func (s *testServer) stop(t testing.TB) {
	t.Helper()
	s.stopOnce.Do(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-s.exited:
			require.NoError(t, err, "%s", s.log)
		case <-time.After(30 * time.Second):
			_ = s.cmd.Process.Kill()
			require.Fail(t, "the server did not stop", "%s", s.log)
		}

		require.NotRegexp(t, secrets, s.log.String())
	})
}

// documents caches the validators of the OpenAPI documents, by API. All servers have the same
// documents, and building one takes a server a while.
var documents = struct {
	sync.Mutex
	byAPI map[string]validator.Validator
}{byAPI: map[string]validator.Validator{}}

// document returns a validator for the OpenAPI document of the API, "portal" or "developer".
func (s *testServer) document(t testing.TB, api string) validator.Validator {
	t.Helper()
	documents.Lock()
	defer documents.Unlock()

	if documents.byAPI[api] == nil {
		resp, err := http.Get(s.url + "/openapi/" + api + ".json")
		require.NoError(t, err)

		defer func() { _ = resp.Body.Close() }()

		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)

		documents.byAPI[api] = newValidator(t, body)
	}

	return documents.byAPI[api]
}

// newValidator returns a validator for an OpenAPI document.
func newValidator(t testing.TB, document []byte) validator.Validator {
	t.Helper()

	read, err := libopenapi.NewDocument(document)
	require.NoError(t, err)

	v, errs := validator.NewValidator(read)
	require.Empty(t, errs)

	return v
}

// documentFor returns the validator for the request, and a copy of the request for it, with the
// body sent and the path in the document: the developer API has two prefixes and is documented
// under /api/v1.
func (s *testServer) documentFor(t testing.TB, request *http.Request, sent []byte) (validator.Validator, *http.Request) {
	t.Helper()

	requestCopy := request.Clone(context.Background())

	requestCopy.Body = io.NopCloser(bytes.NewReader(sent))
	if strings.HasPrefix(requestCopy.URL.Path, "/v1/") {
		requestCopy.URL.Path = "/api" + requestCopy.URL.Path
	}

	if strings.HasPrefix(requestCopy.URL.Path, "/api/v1/") {
		return s.document(t, "developer"), requestCopy
	}

	return s.document(t, "portal"), requestCopy
}

// databaseURL returns the URL of the server's database. As for the process, the last of several
// assignments of a variable counts.
func (s *testServer) databaseURL() (databaseURL string) {
	for _, variable := range s.env {
		if value, found := strings.CutPrefix(variable, "LOCUM_DATABASE_URL="); found {
			databaseURL = value
		}
	}

	return databaseURL
}
