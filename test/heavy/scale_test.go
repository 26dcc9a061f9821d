// Package heavy holds the tests that need a large database or a cluster. They run with
// `make check-heavy`.
package heavy

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
)

// listening matches the address in the line that the server prints when it accepts connections.
var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// testServer is the built program with its own Postgres.
type testServer struct {
	t        *testing.T
	postgres *services.Server
	dir      string // of the program and its files
	url      string
	env      []string // settings in addition to those of command
}

// skipUnlessHeavy skips the test in ordinary runs.
func skipUnlessHeavy(t *testing.T) {
	t.Helper()

	if os.Getenv("LOCUM_TEST_HEAVY") == "" {
		t.Skip("runs with make check-heavy")
	}
}

// skipUnlessBench skips a test with a million rows unless make bench runs it.
func skipUnlessBench(t *testing.T) {
	t.Helper()
	skipUnlessHeavy(t)

	if os.Getenv("LOCUM_TEST_BENCH") == "" {
		t.Skip("runs with make bench")
	}
}

// newTestServer builds the program and migrates its database.
func newTestServer(t *testing.T) *testServer {
	t.Helper()
	skipUnlessHeavy(t)

	server := &testServer{t: t, postgres: kit.OwnPostgres(t), dir: t.TempDir()}
	build := exec.Command("go", "build", "-o", filepath.Join(server.dir, "locum"),
		"github.com/locumhq/locum/bootstrap/cmd/locum")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	server.run("migrate", "up")

	return server
}

// command returns a command of the program. It is killed with the test. Limits on searches are
// off, because tests measure or repeat them.
func (s *testServer) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.dir, "locum"), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(),
		"LOCUM_DATABASE_URL="+s.postgres.URL,
		"LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_DRAIN=10ms",
		"LOCUM_LIMITS_SEARCH_CPU=0",
		"LOCUM_LIMITS_SEARCH_TIMEOUT=10s",
		"LOCUM_LOG_LEVEL=error",
	)
	cmd.Env = append(cmd.Env, s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	return cmd
}

// run runs a command to its end.
func (s *testServer) run(args ...string) {
	s.t.Helper()

	out, err := s.command(args...).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
}

// serve starts the server until the end of the test.
func (s *testServer) serve() {
	s.t.Helper()

	cmd := s.startServer()
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// startServer starts a server that the caller stops.
func (s *testServer) startServer() *exec.Cmd {
	s.t.Helper()

	cmd := s.command("serve")
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())

	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			s.url = "http://" + m[1]

			go func() { _, _ = io.Copy(io.Discard, out) }()

			// The server is not ready while it builds a large search index.
			require.Eventually(s.t, func() bool {
				response, err := http.Get(s.url + "/readyz")
				if err != nil {
					return false
				}

				_ = response.Body.Close()

				return response.StatusCode == http.StatusOK
			}, 3*time.Minute, 50*time.Millisecond)

			return cmd
		}
	}

	require.Fail(s.t, "the server did not start")

	return nil
}

// request sends a request and returns the list in the response under the name.
func (s *testServer) request(method, path, body, name string) []any {
	s.t.Helper()

	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)

	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)

	defer func() { _ = response.Body.Close() }()

	raw, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, 200, response.StatusCode, "%s", raw)
	var decoded struct {
		Data map[string]any `json:"data"`
	}
	require.NoError(s.t, json.Unmarshal(raw, &decoded))

	list, _ := decoded.Data[name].([]any)

	return list
}

// TestSeed_100000Listings_InTime checks that the command that operators use to try the service
// with much data takes at most 90 seconds for 100,000 listings, and that these can be searched.
func TestSeed_100000Listings_InTime(t *testing.T) {
	server := newTestServer(t)
	start := time.Now()

	server.run("seed", "--listings", "100000")

	took := time.Since(start)
	t.Logf("seeded 100,000 listings in %s", took.Round(time.Second/10))
	require.Less(t, took, 90*time.Second)
	server.serve()
	require.NotEmpty(t, server.request("GET", "/api/listings?search=nurse", "", "listings"))
}
