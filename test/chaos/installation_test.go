// Package chaos kills the processes and servers of an installation while it
// works, and then checks that every accepted change was reported: exactly once
// where that is promised, at least once elsewhere, and nothing else.
package chaos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestMain(m *testing.M) { kit.Main(m) }

// victim is a process or server that can be killed and started again.
type victim struct {
	name  string
	kill  func()
	start func() error
}

// installation is a running installation of the product.
type installation struct {
	t *testing.T
	// dir is the working directory of the processes, with their logs and files. url is the
	// address of the server.
	dir string
	env []string
	url string
	// db is the URL of the database.
	db   string
	mail *kit.SMTP
	// program replaces the product's binary for processes that are started
	// later, if it is not empty.
	program string
	// victims are the processes and servers that are killed.
	victims []victim
}

// process is a command of the program.
func (in *installation) process(command string) victim {
	path := cmp.Or(in.program, kit.Program(in.t))
	var cmd *exec.Cmd
	log, err := os.OpenFile(filepath.Join(in.dir, command+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(in.t, err)
	v := victim{name: command}
	v.start = func() error {
		cmd = exec.Command(path, command)
		cmd.Dir, cmd.Env, cmd.Stderr = in.dir, in.env, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // does not outlive the test
		return cmd.Start()
	}
	v.kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	require.NoError(in.t, v.start())
	in.t.Cleanup(v.kill)
	return v
}

// newInstallation prepares an installation with a migrated database, an SQLite file by default.
// The caller starts its processes. env are more settings.
func newInstallation(t *testing.T, database string, env ...string) *installation {
	t.Helper()
	addr := kit.Address(t)
	inst := &installation{t: t, dir: t.TempDir(), url: "http://" + addr, mail: kit.NewSMTP(t)}
	if database == "" {
		database = "sqlite:" + filepath.Join(inst.dir, "locum.db")
	}
	inst.db = database
	inst.env = append([]string{
		"PATH=" + os.Getenv(
			"PATH",
		), "HOME=" + inst.dir, "LOCUM_HTTP_ADDR=" + addr, "LOCUM_HTTP_DRAIN=10ms", "LOCUM_HTTP_PUBLIC_URL=" + inst.url,
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32", "LOCUM_DATABASE_URL=" + database, "LOCUM_MAIL_URL=" + inst.mail.URL(),
	}, env...)
	migrate := exec.Command(kit.Program(t), "migrate", "up")
	migrate.Dir, migrate.Env = inst.dir, inst.env
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() {
		if t.Failed() {
			inst.printLogs()
		}
	})
	return inst
}

// printLogs logs the output of the processes when the test fails.
func (in *installation) printLogs() {
	logs, _ := filepath.Glob(filepath.Join(in.dir, "*.log"))
	for _, name := range logs {
		b, _ := os.ReadFile(name)
		in.t.Logf("%s: …%s", filepath.Base(name), b[max(0, len(b)-4000):])
	}
}

// openStorage opens the installation's database directly.
func (in *installation) openStorage() adapters.Storage {
	in.t.Helper()
	storage := stores.Open(in.t, in.db, clock.System{})
	in.t.Cleanup(func() { _ = storage.Identity.Close() })
	return storage
}

// object is a JSON object.
type object = map[string]any

// user is a signed-in user.
type user struct{ email, token string }

// password is that of all users.
const password = "Corr3ct-horse"

// newAddress returns an IP address that no request has used.
func newAddress() string {
	return fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254))
}

// call sends a request from a new address. An error means that its outcome is
// unknown.
func (in *installation) call(account user, method, path string, body any) (int, object, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, in.url+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Forwarded-For", newAddress())
	if account.token != "" {
		request.Header.Set("Authorization", "Bearer "+account.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	var out object
	return response.StatusCode, out, errors.Join(json.Unmarshal(answer, &out))
}

// must repeats a request until it succeeds, and returns its data.
func (in *installation) must(account user, method, path string, body any) object {
	in.t.Helper()
	var data object
	require.Eventually(in.t, func() bool {
		status, answer, err := in.call(account, method, path, body)
		if err != nil || status >= 500 {
			return false
		}
		require.Less(in.t, status, 300, "%s %s: %v", method, path, answer)
		data, _ = answer["data"].(object)
		return true
	}, time.Minute, 50*time.Millisecond, "%s %s", method, path)
	return data
}

// register creates an account with a random address and signs in.
func (in *installation) register(path string, body object) user {
	in.t.Helper()
	body["email"], body["password"], body["name"] = fmt.Sprintf("p%x@example.org", rand.Uint64()), password, "Asha Patel"
	return user{body["email"].(string), in.must(user{}, http.MethodPost, path, body)["accessToken"].(string)}
}

// countPending returns the pending tasks and events. Events are counted before
// and after the tasks: one that is relayed meanwhile is counted as itself or as
// its tasks.
func countPending(ctx context.Context, storage adapters.Storage) (jobs []task.Backlog, events int, err error) {
	before, _, err1 := storage.Identity.Outbox.Lag(ctx)
	jobs, err2 := storage.Identity.Tasks.Backlog(ctx)
	after, _, err3 := storage.Identity.Outbox.Lag(ctx)
	return jobs, max(before, after), errors.Join(err1, err2, err3)
}

// waitIdle waits until every event is relayed and every task is done.
func (in *installation) waitIdle() {
	in.t.Helper()
	storage := in.openStorage()
	var jobs []task.Backlog
	var events int
	require.Eventually(in.t, func() bool {
		var err error
		jobs, events, err = countPending(in.t.Context(), storage)
		return err == nil && len(jobs) == 0 && events == 0
	}, 5*time.Minute, 200*time.Millisecond, "tasks or events are still pending: %v, %d events", &jobs, &events)
	dead, err := storage.Identity.Tasks.List(in.t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(in.t, err)
	require.Empty(in.t, dead) // a dead task has failed for good
}

// isFull reports whether the long form is requested.
func isFull() bool { return os.Getenv("LOCUM_TEST_CHAOS") == "full" }
