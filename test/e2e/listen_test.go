package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// listener is a running `locum webhooks listen`.
type listener struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *kit.Log
	secret string // signs the deliveries
}

// signedWith matches the secret in the first lines of the command.
var signedWith = regexp.MustCompile(`signed with  (whsec_\S+)`)

// listen starts the command and waits until it is ready.
func (s *testServer) listen(t *testing.T, args ...string) *listener {
	t.Helper()

	l := &listener{t: t, out: &kit.Log{}, cmd: exec.Command(kit.Program(t), append([]string{"webhooks", "listen"}, args...)...)}
	l.cmd.Dir, l.cmd.Env, l.cmd.Stdout, l.cmd.Stderr = s.dir, s.env, l.out, l.out
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, l.cmd.Start())
	t.Cleanup(func() { _ = l.cmd.Process.Kill(); _ = l.cmd.Wait() })
	require.Eventually(t, func() bool { return strings.Contains(l.out.String(), "Ctrl-C") }, waitTimeout, 20*time.Millisecond, "%s", l.out)

	l.secret = signedWith.FindStringSubmatch(l.out.String())[1]

	return l
}

// end interrupts the command, as Ctrl-C does.
func (l *listener) end() {
	l.t.Helper()
	require.NoError(l.t, l.cmd.Process.Signal(syscall.SIGINT))

	begun := time.Now()

	require.NoError(l.t, l.cmd.Wait(), "%s", l.out)
	require.Less(l.t, time.Since(begun), 10*time.Second)
}

// fails runs a command that fails with status 1 and returns its output, which must be one line.
func (s *testServer) fails(t *testing.T, args ...string) string {
	t.Helper()

	cmd := exec.Command(kit.Program(t), args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 1, exit.ExitCode())
	require.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)

	return string(out)
}

// newApp creates an app and returns its id.
func (a *account) newApp() string {
	a.t.Helper()
	return a.fromNewAddress().post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201).text("data.app.id")
}

// hooksOf returns the webhooks of an app.
func (a *account) hooksOf(app string) []any {
	a.t.Helper()
	return a.fromNewAddress().get("/api/developers/apps/" + app + "/webhooks").ok(200).list("data.webhooks")
}

// TestCommands_NoDatabase_CreateNone checks that a command that runs in a wrong folder reports
// it, and does not create a database that a later command would use.
func TestCommands_NoDatabase_CreateNone(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()

	server := &testServer{dir: dir, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}}
	for _, args := range [][]string{
		{"webhooks", "listen", "--forward", "localhost:3000"},
		{"webhooks", "trigger", "job.created"},
		{"developers", "plan", nowhere, "professional"},
		{"tasks", "list"},
		{"tasks", "retry", "--all-dead"},
	} {
		require.Contains(
			t,
			server.fails(t, args...),
			"locum: database.url (from default): there is no database at "+filepath.Join(dir, "data",
				"locum.db")+"; run this in the folder of `locum serve`, or with its settings\n",
		)
	}

	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	server.env = append(server.env, "LOCUM_DATABASE_URL=sqlite:elsewhere.db")
	require.Contains(t, server.fails(t, "tasks", "list"),
		"database.url (from LOCUM_DATABASE_URL): there is no database at "+filepath.Join(dir, "elsewhere.db"))
	server.run(t, "migrate", "up")
	require.Contains(t, server.run(t, "tasks", "list"), "ID")
}

// TestListeners checks `locum webhooks listen`, which forwards the events of an app to this
// machine during development. The setups do not allow webhooks to this machine: every delivery
// that arrives here was forwarded by the listener.
func TestListeners(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		lost := server.fails(t, "webhooks", "trigger", "job.created")
		require.Contains(t, lost, "there is no application yet: make one at http://localhost:8080/developers")

		first := server.seeker(t)
		only := first.newApp()
		t.Run("only app needs no name", func(t *testing.T) {
			require.Contains(t, server.fails(t, "webhooks", "trigger", "job.created"),
				"no active webhook of Ward Finder wants job.created; `locum webhooks listen --forward URL` makes one")

			receiver := newReceiver(t, nil)
			listener := server.listen(t, "--forward", receiver.URL)
			id := first.hooksOf(only)[0].(object)["id"].(string)
			require.Equal(t, "job.closed is on its way to "+receiver.URL+" (webhook "+id+")\n",
				server.run(t, "webhooks", "trigger", "job.closed"), "there may be several with this URL")

			h := receiver.waitForHits(1)[0]
			require.NoError(t, h.verify(t, listener.secret))
			require.Equal(t, true, h.body.Data["test"])
			listener.end()
			require.Empty(t, first.hooksOf(only))
		})

		employer, seeker := server.employer(t), server.seeker(t)
		app := employer.newApp()
		t.Run("deliveries to the listener", func(t *testing.T) {
			t.Parallel()

			receiver, elsewhere := newReceiver(t, nil), newReceiver(t, nil)
			listener := server.listen(t, "--app", app, "--forward", receiver.URL+"/hooks?x=1")
			rival := server.employer(t)
			other := server.listen(t, "--app", rival.newApp(), "--forward", elsewhere.URL, "--events",
				"application.submitted,application.status_changed")
			shown := employer.hooksOf(app)[0].(object)
			require.Equal(t, receiver.URL+"/hooks?x=1", shown["url"])
			require.Equal(t, "active", shown["status"])

			id := employer.listing(object{"title": "Ward Sister"})
			created := receiver.waitForEvent("job.created", "id", id)
			require.NoError(t, created.verify(t, listener.secret))
			require.Error(t, created.verify(t, other.secret))
			require.Equal(t, "locum-webhooks/1", created.headers.Get("User-Agent"))

			applied := seeker.application(id, nil)
			require.NoError(t, receiver.waitForEvent("application.submitted", "application_id", applied).verify(t, listener.secret))
			employer.put("/api/employers/applications/"+applied, object{"status": "review"}).ok(200)
			receiver.waitForEvent("application.status_changed", "application_id", applied)
			server.run(t, "webhooks", "trigger", "application.submitted", "--app", app)
			receiver.waitForHits(4)
			elsewhere.waitForHits(0)

			log := "/api/developers/apps/" + app + "/webhooks/" + shown["id"].(string) + "/deliveries?status=succeeded"
			require.Eventually(t,
				func() bool { return len(employer.fromNewAddress().get(log).ok(200).list("data.deliveries")) == 4 },
				waitTimeout, 20*time.Millisecond)
			listener.end()
			other.end()
			require.Regexp(t, `(?m)^\d\d:\d\d:\d\d  job\.created +`+created.headers.Get("Webhook-Id")+`  200  \d+ ms$`, listener.out.String())
			require.Empty(t, employer.hooksOf(app))
		})

		t.Run("failures, given secret and hanging receiver", func(t *testing.T) {
			t.Parallel()

			me, release := server.seeker(t), make(chan struct{})
			receiver := newReceiver(t, func(n int) int {
				if n == 3 {
					<-release
				}

				// 410 would disable a webhook of another kind; the third request hangs.
				return []int{410, 200, 200}[n-1]
			})

			t.Cleanup(func() { close(release) })

			mine := me.newApp()
			const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
			listener := server.listen(t, "--app", mine, "--forward", receiver.URL, "--events", "job.closed", "--secret", secret)
			require.Equal(t, secret, listener.secret)

			trigger := func() { server.run(t, "webhooks", "trigger", "job.closed", "--app", mine) }
			trigger()
			require.NoError(t, receiver.waitForHits(2)[0].verify(t, secret), "410 does not end a listener, and what failed is tried again")
			require.Equal(t, "active", me.hooksOf(mine)[0].(object)["status"])
			trigger()
			receiver.waitForHits(3)
			listener.end()
			require.Contains(t, listener.out.String(), "  410  ")
			require.Empty(t, me.hooksOf(mine))
		})

		t.Run("forward address without scheme or server", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t)
			mine := me.newApp()
			receiver := newReceiver(t, nil)
			at := strings.TrimPrefix(receiver.URL, "http://")

			// A webhook for events of jobs would get those of every organization, so of other tests too.
			const private = "application.submitted"
			listener := server.listen(t, "--app", mine, "--forward", at, "--events", private)
			require.Contains(t, listener.out.String(), "webhooks go to "+receiver.URL)
			require.Equal(t, integrations.EventTypes(), strings.Fields(server.run(t, "webhooks", "trigger")))
			server.run(t, "webhooks", "trigger", private, "--app", mine)
			receiver.waitForHits(1)

			b := server.signedIn(t, me)
			path := "/developers/apps/" + mine
			hook := hookLink.FindString(b.open("GET", path, nil).text)
			require.Contains(t, b.open("GET", hook, nil).text, "locum webhooks listen")
			receiver.Close() // the listener reports that it cannot connect
			server.run(t, "webhooks", "trigger", private, "--app", mine)
			require.Eventually(
				t,
				func() bool {
					return strings.Contains(listener.out.String(), "no connection to "+receiver.URL+": is it running?")
				},
				waitTimeout,
				20*time.Millisecond,
			)
			listener.end()
		})

		t.Run("command errors", func(t *testing.T) {
			t.Parallel()

			for want, args := range map[string][]string{
				"there are several applications: choose one with --app; its id is on its page at": {
					"listen", "--forward", "http://localhost:3000/",
				},
				"--app: there is no application nonsense":   {"trigger", "job.created", "--app", "nonsense"},
				"--app: there is no application " + nowhere: {"listen", "--forward", "http://localhost:3000/", "--app", nowhere},
				"type must be one of: job.created, job.updated, job.closed, application.submitted, application.status_changed": {
					"trigger", "user.deleted", "--app", app,
				},
				"--events must be some of: job.created, job.updated, job.closed, application.submitted, application.status_changed": {
					"listen", "--forward", "http://localhost:3000/", "--events", "user.deleted",
					"--app", app,
				},
				"--forward must be an http:// or https:// address": {"listen", "--forward", "ftp://localhost:3000", "--app", app},
				"--secret must be whsec_ and the base64 of 24 to 64 bytes": {
					"listen", "--forward", "http://localhost:3000/", "--secret", "whsec_x", "--app",
					app,
				},
				`required flag(s) "forward" not set`:   {"listen", "--app", app},
				"accepts at most 1 arg(s), received 2": {"trigger", "job.created", "job.closed"},
			} {
				require.Contains(t, server.fails(t, append([]string{"webhooks"}, args...)...), want)
			}
		})
	})
}
