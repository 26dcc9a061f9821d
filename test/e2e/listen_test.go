package e2e

import (
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

	cmd := exec.Command(kit.Program(t), append([]string{"webhooks", "listen"}, args...)...)
	l := &listener{t: t, cmd: cmd, out: &kit.Log{}}
	l.cmd.Dir = s.dir
	l.cmd.Env = s.env
	l.cmd.Stdout = l.out
	l.cmd.Stderr = l.out
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, l.cmd.Start())
	t.Cleanup(func() {
		_ = l.cmd.Process.Kill()
		_ = l.cmd.Wait()
	})
	l.waitForOutput("Ctrl-C") // the last line of the introduction

	l.secret = signedWith.FindStringSubmatch(l.out.String())[1]

	return l
}

// waitForOutput waits until the command has printed the text.
func (l *listener) waitForOutput(text string) {
	l.t.Helper()

	isPrinted := func() bool { return strings.Contains(l.out.String(), text) }
	require.Eventually(l.t, isPrinted, waitTimeout, 20*time.Millisecond, "%s", l.out)
}

// end interrupts the command, as Ctrl-C does, and requires that it succeeds within 10 seconds.
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
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", output)
	require.Equal(t, 1, exit.ExitCode())
	require.Equal(t, 1, strings.Count(string(output), "\n"), "%s", output)

	return string(output)
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

// onlyHookOf returns the webhook of an app that has exactly one.
func (a *account) onlyHookOf(app string) object {
	a.t.Helper()

	hooks := a.hooksOf(app)
	require.Len(a.t, hooks, 1)

	return hooks[0].(object)
}

// TestCommands_NoDatabase_CreateNone checks that a command that runs in a wrong folder reports
// it, and does not create a database that a later command would use.
func TestCommands_NoDatabase_CreateNone(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	commands := &testServer{dir: dir, env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}} // no server is started
	defaultDatabase := filepath.Join(dir, "data", "locum.db")

	// Each command reports the path where it looked for the database, and what the user can do.
	for _, args := range [][]string{
		{"webhooks", "listen", "--forward", "localhost:3000"},
		{"webhooks", "trigger", "job.created"},
		{"developers", "plan", nowhere, "professional"},
		{"tasks", "list"},
		{"tasks", "retry", "--all-dead"},
	} {
		require.Contains(t, commands.fails(t, args...),
			"locum: database.url (from default): there is no database at "+defaultDatabase+
				"; run this in the folder of `locum serve`, or with its settings\n")
	}

	created, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, created)

	// The error names the setting that is wrong. Only a migration creates the database.
	commands.env = append(commands.env, "LOCUM_DATABASE_URL=sqlite:elsewhere.db")
	require.Contains(t, commands.fails(t, "tasks", "list"),
		"database.url (from LOCUM_DATABASE_URL): there is no database at "+filepath.Join(dir, "elsewhere.db"))
	commands.run(t, "migrate", "up")
	require.Contains(t, commands.run(t, "tasks", "list"), "ID")
}

// TestListeners checks `locum webhooks listen`, which forwards the events of an app to this
// machine during development. The setups do not allow webhooks to this machine: every delivery
// that arrives here was forwarded by the listener.
func TestListeners(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		withoutApps := server.fails(t, "webhooks", "trigger", "job.created")
		require.Contains(t, withoutApps, "there is no application yet: make one at http://localhost:8080/developers")

		// This subtest is not parallel, because the others create more apps.
		developer := server.seeker(t)
		onlyApp := developer.newApp()
		t.Run("only app needs no name", func(t *testing.T) {
			require.Contains(t, server.fails(t, "webhooks", "trigger", "job.created"),
				"no active webhook of Ward Finder wants job.created; `locum webhooks listen --forward URL` makes one")

			receiver := newReceiver(t)
			listener := server.listen(t, "--forward", receiver.URL)
			id := developer.onlyHookOf(onlyApp)["id"].(string)
			triggered := server.run(t, "webhooks", "trigger", "job.closed")

			// The output has the id too, because several webhooks may have the same URL.
			require.Equal(t, "job.closed is on its way to "+receiver.URL+" (webhook "+id+")\n", triggered)

			delivered := receiver.waitForHits(1)[0]
			require.NoError(t, delivered.verify(t, listener.secret))
			require.Equal(t, true, delivered.body.Data["test"])
			listener.end()
			require.Empty(t, developer.hooksOf(onlyApp), "a listener deletes its webhook")
		})

		employer, seeker := server.employer(t), server.seeker(t)
		app := employer.newApp()
		t.Run("deliveries to the listener", func(t *testing.T) {
			t.Parallel()

			// Two listeners: one for all events, and one of another organization for events of
			// applications, which it must not get from this organization.
			receiver, rivalsReceiver := newReceiver(t), newReceiver(t)
			listener := server.listen(t, "--app", app, "--forward", receiver.URL+"/hooks?x=1")
			rival := server.employer(t)
			rivalsListener := server.listen(t, "--app", rival.newApp(), "--forward", rivalsReceiver.URL,
				"--events", "application.submitted,application.status_changed")
			webhook := employer.onlyHookOf(app)
			require.Equal(t, receiver.URL+"/hooks?x=1", webhook["url"])
			require.Equal(t, "active", webhook["status"])

			// Events of a job, of an application, and a test event.
			job := employer.listing(object{"title": "Ward Sister"})
			created := receiver.waitForEvent("job.created", "id", job)
			require.NoError(t, created.verify(t, listener.secret))
			require.Error(t, created.verify(t, rivalsListener.secret))
			require.Equal(t, "locum-webhooks/1", created.headers.Get("User-Agent"))

			application := seeker.application(job, nil)
			submitted := receiver.waitForEvent("application.submitted", "application_id", application)
			require.NoError(t, submitted.verify(t, listener.secret))
			employer.put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)
			receiver.waitForEvent("application.status_changed", "application_id", application)
			server.run(t, "webhooks", "trigger", "application.submitted", "--app", app)

			// The job created, the application, its status and the test event are the four requests. The rival gets none.
			receiver.waitForHits(4)
			rivalsReceiver.requireHits(0)

			// The log of the webhook and the output of the command have the deliveries.
			log := "/api/developers/apps/" + app + "/webhooks/" + webhook["id"].(string) + "/deliveries?status=succeeded"
			require.Eventually(t, func() bool {
				return len(employer.fromNewAddress().get(log).ok(200).list("data.deliveries")) == 4
			}, waitTimeout, 20*time.Millisecond)
			listener.end()
			rivalsListener.end()

			// A line has the time, the type, the id, the status of the response and its duration.
			require.Regexp(t, `(?m)^\d\d:\d\d:\d\d  job\.created +`+created.headers.Get("Webhook-Id")+`  200  \d+ ms$`, listener.out.String())
			require.Empty(t, employer.hooksOf(app))
		})

		t.Run("failures, given secret and hanging receiver", func(t *testing.T) {
			t.Parallel()

			// The first request gets 410, which would disable a webhook that is no listener's. It is
			// repeated with success. The response to the third request is delayed until the end of
			// the test.
			release := make(chan struct{})
			receiver := newReceiverWithStatus(t, func(request int) int {
				switch request {
				case 1:
					return http.StatusGone
				case 3:
					<-release
				}

				return http.StatusOK
			})

			t.Cleanup(func() { close(release) })

			developer := server.seeker(t)
			app := developer.newApp()
			const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

			// The command uses the given secret instead of a new one.
			listener := server.listen(t, "--app", app, "--forward", receiver.URL, "--events", "job.closed", "--secret", secret)
			require.Equal(t, secret, listener.secret)

			trigger := func() { server.run(t, "webhooks", "trigger", "job.closed", "--app", app) }
			trigger()
			require.NoError(t, receiver.waitForHits(2)[0].verify(t, secret))
			require.Equal(t, "active", developer.onlyHookOf(app)["status"])

			// The command ends although a request is waiting for its response.
			trigger()
			receiver.waitForHits(3)
			listener.end()
			require.Contains(t, listener.out.String(), "  410  ")
			require.Empty(t, developer.hooksOf(app))
		})

		t.Run("forward address without scheme or server", func(t *testing.T) {
			t.Parallel()

			// An event of applications: a webhook for events of jobs would get those of every
			// organization, and so those of other tests.
			const eventType = "application.submitted"
			developer := server.seeker(t)
			app := developer.newApp()
			receiver := newReceiver(t)
			withoutScheme := strings.TrimPrefix(receiver.URL, "http://")
			listener := server.listen(t, "--app", app, "--forward", withoutScheme, "--events", eventType)
			require.Contains(t, listener.out.String(), "webhooks go to "+receiver.URL)

			// Without a type, trigger lists the types.
			require.Equal(t, integrations.EventTypes(), strings.Fields(server.run(t, "webhooks", "trigger")))
			server.run(t, "webhooks", "trigger", eventType, "--app", app)
			receiver.waitForHits(1)

			// The page of the webhook shows that a command listens.
			browser := server.signedIn(t, developer)
			webhookPath := hookLink.FindString(browser.open("GET", "/developers/apps/"+app, nil).text)
			require.Contains(t, browser.open("GET", webhookPath, nil).text, "locum webhooks listen")

			// The command reports that it cannot connect.
			receiver.Close()
			server.run(t, "webhooks", "trigger", eventType, "--app", app)
			listener.waitForOutput("no connection to " + receiver.URL + ": is it running?")
			listener.end()
		})

		t.Run("command errors", func(t *testing.T) {
			t.Parallel()

			const forward = "http://localhost:3000/"
			// The key is a part of the error that the command prints.
			for wantError, args := range map[string][]string{
				"there are several applications: choose one with --app; its id is on its page at": {"listen", "--forward", forward},
				"--app: there is no application nonsense":                                         {"trigger", "job.created", "--app", "nonsense"},
				"--app: there is no application " + nowhere:                                       {"listen", "--forward", forward, "--app", nowhere},
				"type must be one of: job.created, job.updated, job.closed, application.submitted, application.status_changed": {
					"trigger", "user.deleted", "--app", app,
				},
				"--events must be some of: job.created, job.updated, job.closed, application.submitted, application.status_changed": {
					"listen", "--forward", forward, "--events", "user.deleted", "--app", app,
				},
				"--forward must be an http:// or https:// address": {"listen", "--forward", "ftp://localhost:3000", "--app", app},
				"--secret must be whsec_ and the base64 of 24 to 64 bytes": {
					"listen", "--forward", forward, "--secret", "whsec_x", "--app", app,
				},
				`required flag(s) "forward" not set`:   {"listen", "--app", app},
				"accepts at most 1 arg(s), received 2": {"trigger", "job.created", "job.closed"},
			} {
				require.Contains(t, server.fails(t, append([]string{"webhooks"}, args...)...), wantError)
			}
		})
	})
}
