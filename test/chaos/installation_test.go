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

// sqlite is the argument of newInstallation for a new SQLite file.
const sqlite = ""

// installation is a running installation of the product.
type installation struct {
	t *testing.T
	// dir is the working directory of the processes, with their logs and files.
	dir string
	// env is the environment of the processes.
	env []string
	// url is the URL of the server.
	url         string
	databaseURL string
	mail        *kit.SMTP
	// program replaces the product's binary for processes that are started
	// later, if it is not empty.
	program string
	// victims are the processes and servers that are killed.
	victims []victim
}

// process starts a command of the program, such as serve, which ends with the test.
func (inst *installation) process(command string) victim {
	path := cmp.Or(inst.program, kit.Program(inst.t))
	var cmd *exec.Cmd
	log := inst.openLog(command)
	v := victim{name: command}
	v.start = func() error {
		cmd = exec.Command(path, command)
		cmd.Dir = inst.dir
		cmd.Env = inst.env
		cmd.Stderr = log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // does not outlive the test

		return cmd.Start()
	}

	v.kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	require.NoError(inst.t, v.start())
	inst.t.Cleanup(v.kill)

	return v
}

// openLog opens the log of a command for appending.
func (inst *installation) openLog(command string) *os.File {
	inst.t.Helper()

	log, err := os.OpenFile(filepath.Join(inst.dir, command+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(inst.t, err)

	return log
}

// newInstallation prepares an installation and migrates its database, which is at the URL or,
// for the constant sqlite, in a new file. The caller starts the processes. env are additional
// settings.
func newInstallation(t *testing.T, databaseURL string, env ...string) *installation {
	t.Helper()

	addr := kit.Address(t)

	inst := &installation{t: t, dir: t.TempDir(), url: "http://" + addr, mail: kit.NewSMTP(t)}
	if databaseURL == sqlite {
		databaseURL = "sqlite:" + filepath.Join(inst.dir, "locum.db")
	}

	inst.databaseURL = databaseURL
	inst.env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + inst.dir,
		"LOCUM_HTTP_ADDR=" + addr,
		"LOCUM_HTTP_DRAIN=10ms",
		"LOCUM_HTTP_PUBLIC_URL=" + inst.url,
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32",
		"LOCUM_DATABASE_URL=" + databaseURL,
		"LOCUM_MAIL_URL=" + inst.mail.URL(),
	}, env...)
	migrate := exec.Command(kit.Program(t), "migrate", "up")
	migrate.Dir = inst.dir
	migrate.Env = inst.env
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, "%s", out)

	t.Cleanup(func() {
		if t.Failed() {
			inst.printLogs()
		}
	})

	return inst
}

// printLogs prints the end of the output of each process.
func (inst *installation) printLogs() {
	logs, _ := filepath.Glob(filepath.Join(inst.dir, "*.log"))
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		inst.t.Logf("%s: …%s", filepath.Base(name), text[max(0, len(text)-4000):])
	}
}

// openStorage opens the installation's database directly.
func (inst *installation) openStorage() adapters.Storage {
	inst.t.Helper()

	storage := stores.Open(inst.t, inst.databaseURL, clock.System{})
	inst.t.Cleanup(func() { _ = storage.Identity.Close() })

	return storage
}

// object is a JSON object.
type object = map[string]any

// user is a signed-in user.
type user struct{ email, token string }

// password is that of all users.
const password = "Corr3ct-horse"

// newAddress returns a random IP address, which probably no other request has used. Rate limits
// apply to an address.
func newAddress() string {
	return fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254))
}

// call sends a request from a new address and returns the status and the body of the response.
// An error means that the outcome of the request is unknown.
func (inst *installation) call(account user, method, path string, input any) (status int, body object, err error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return 0, nil, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, method, inst.url+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}

	if input != nil {
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

	raw, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}

	err = json.Unmarshal(raw, &body)

	return response.StatusCode, body, err
}

// must repeats a request until the server responds with a status below 500, which must be a
// success, and returns its data.
func (inst *installation) must(account user, method, path string, input any) object {
	inst.t.Helper()
	var data object
	require.Eventually(inst.t, func() bool {
		status, body, err := inst.call(account, method, path, input)
		if err != nil || status >= 500 {
			return false
		}

		require.Less(inst.t, status, 300, "%s %s: %v", method, path, body)

		data, _ = body["data"].(object)

		return true
	}, time.Minute, 50*time.Millisecond, "%s %s", method, path)

	return data
}

// registerEmployer creates the account of an employer with a new organization.
func (inst *installation) registerEmployer() user {
	inst.t.Helper()
	return inst.register("/api/auth/register-employer", object{"companyName": "Clinic"})
}

// registerSeeker creates the account of a jobseeker.
func (inst *installation) registerSeeker() user {
	inst.t.Helper()
	return inst.register("/api/auth/register", object{"userType": "jobseeker"})
}

// register creates an account with a random address. fields are additional fields of the request.
func (inst *installation) register(path string, fields object) user {
	inst.t.Helper()

	email := fmt.Sprintf("p%x@example.org", rand.Uint64())
	fields["email"] = email
	fields["password"] = password
	fields["name"] = "Asha Patel"
	created := inst.must(user{}, http.MethodPost, path, fields)

	return user{email: email, token: created["accessToken"].(string)}
}

// countPending returns the pending tasks by queue, and the number of pending events. Events are
// counted before and after the tasks, and the higher number is returned: an event that is relayed
// meanwhile is counted as an event or as its tasks, so that all counts are zero only if nothing is
// pending.
func countPending(ctx context.Context, storage adapters.Storage) (tasks []task.Backlog, events int, err error) {
	eventsBefore, _, errBefore := storage.Identity.Outbox.Lag(ctx)
	tasks, errTasks := storage.Identity.Tasks.Backlog(ctx)
	eventsAfter, _, errAfter := storage.Identity.Outbox.Lag(ctx)

	return tasks, max(eventsBefore, eventsAfter), errors.Join(errBefore, errTasks, errAfter)
}

// waitIdle waits until every event is relayed and every task is done, and requires that no task
// has failed permanently.
func (inst *installation) waitIdle() {
	inst.t.Helper()

	storage := inst.openStorage()
	var backlogs []task.Backlog
	var events int
	require.Eventually(inst.t, func() bool {
		var err error
		backlogs, events, err = countPending(inst.t.Context(), storage)
		return err == nil && len(backlogs) == 0 && events == 0
	}, 5*time.Minute, 200*time.Millisecond, "tasks or events are still pending: %v, %d events", &backlogs, &events)

	dead, err := storage.Identity.Tasks.List(inst.t.Context(), task.Filter{State: task.Dead, Limit: 10})
	require.NoError(inst.t, err)
	require.Empty(inst.t, dead)
}

// isFull reports whether the long form is requested, with more changes at a faster pace, as
// `make chaos` does.
func isFull() bool { return os.Getenv("LOCUM_TEST_CHAOS") == "full" }
