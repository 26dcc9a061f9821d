package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestSQLite_SecondProcess_Refused checks that one process at a time serves a SQLite database:
// a second `serve` waits for the first to end, as in a restart without a gap, and then fails
// with the reason. Commands of operators work beside the server.
func TestSQLite_SecondProcess_Refused(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	first := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+filepath.Join(dir, "locum.db"))
	me := first.seeker(t)
	app := me.app()

	// A second process waits, fails, and writes nothing to the standard output.
	started := time.Now()
	var stdout, stderr bytes.Buffer
	second := exec.Command(kit.Program(t), "serve")
	second.Dir = dir
	second.Env = first.env
	second.Stdout = &stdout
	second.Stderr = &stderr
	require.Error(t, second.Run())
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "waiting for it to end", "the second process logs why it waits")
	require.Contains(t, stderr.String(), "locum: database.url (from LOCUM_DATABASE_URL): another `locum serve` has this database")
	require.Less(t, time.Since(started), 45*time.Second, "the wait is bounded, so that a supervisor sees the failure")

	// Commands work beside the first process, which still serves.
	require.Contains(t, first.run(t, "developers", "plan", app, "professional"), "professional", "commands of operators still work")
	require.Contains(t, first.run(t, "users", "show", me.email), me.id)
	me.get("/api/auth/me").ok(200)

	// After the first process is killed, a third starts at once.
	require.NoError(t, first.cmd.Process.Kill())
	<-first.exited
	first.exited <- nil // the cleanup of the test receives it again

	third := &testServer{dir: dir, env: first.env, log: &kit.Log{}, exited: make(chan error, 1)}
	third.serve(t)
	require.NotContains(t, third.log.String(), "waiting for it to end", "a killed process holds no lock")

	// A fourth waits for the third, which stops, and then serves the same data.
	fourth := &testServer{dir: dir, env: first.env, log: &kit.Log{}, exited: make(chan error, 1)}
	go func() {
		assert.Eventually(t,
			func() bool { return strings.Contains(fourth.log.String(), "waiting for it to end") },
			20*time.Second, 10*time.Millisecond, "a new process waits until the previous one ends")
		third.stop(t)
	}()

	fourth.serve(t)
	me.on(fourth).get("/api/auth/me").ok(200)
}
