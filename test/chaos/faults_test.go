package chaos

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// skipUnlessFull skips tests that wait for the recovery of a server unless the
// full run is requested.
func skipUnlessFull(t *testing.T) {
	t.Helper()
	if !isFull() {
		t.Skip("part of make chaos")
	}
}

// mountFS mounts an empty file system of the size, and unmounts it after the
// test. It skips the test with a message if mounting is not permitted.
func mountFS(t *testing.T, size string) string {
	t.Helper()
	skipUnlessFull(t)
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: mounting a file system is refused here: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// fill writes a file until the file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	// Smaller pieces fill what a larger one has left.
	for _, piece := range []int{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
	_ = f.Close() // tmpfs reports the lack of space again
}

// readiness returns the state of an adapter, and whether the server is ready.
func (in *installation) readiness(adapter string) (state string, ready bool) {
	_, answer, err := in.call(user{}, http.MethodGet, "/readyz", nil)
	if err != nil {
		return "", false
	}
	states, _ := answer["adapters"].(object)
	state, _ = states[adapter].(string)
	ready, _ = answer["ready"].(bool)
	return state, ready
}

// waitForState waits until /readyz reports the state of the adapter, and whether the server is
// ready.
func (in *installation) waitForState(adapter, state string, ready bool) {
	in.t.Helper()
	require.Eventually(in.t, func() bool {
		is, isReady := in.readiness(adapter)
		return is == state && isReady == ready
	}, time.Minute, 100*time.Millisecond, "%s is not reported as %s", adapter, state)
}

// requireLogged requires a line of the server's log that contains all the words.
func (in *installation) requireLogged(text ...string) {
	in.t.Helper()
	require.Eventually(in.t, func() bool {
		log, _ := os.ReadFile(filepath.Join(in.dir, "serve.log"))
		return slices.ContainsFunc(strings.Split(string(log), "\n"), func(line string) bool {
			return !slices.ContainsFunc(text, func(word string) bool { return !strings.Contains(line, word) })
		})
	}, 30*time.Second, 100*time.Millisecond, "no line with %q in the log", text)
}

// post posts a listing whose description does not compress, and returns its title
// if it was accepted.
func (in *installation) post(employer user, n int) (title string, accepted bool) {
	title = fmt.Sprint("Staff Nurse ", n)
	var words strings.Builder
	for range 100 {
		words.WriteString(rand.Text() + " ")
	}
	status, _, err := in.call(employer, http.MethodPost, "/api/employers/jobs", object{"title": title, "description": words.String()})
	return title, err == nil && status == http.StatusCreated
}

// requireListings requires the employer to have exactly these listings.
func (in *installation) requireListings(employer user, titles []string) {
	in.t.Helper()
	var found []string
	for cursor := ""; ; {
		data := in.must(employer, http.MethodGet, "/api/employers/jobs?limit=100&cursor="+url.QueryEscape(cursor), nil)
		for _, l := range data["listings"].([]any) {
			found = append(found, l.(object)["title"].(string))
		}
		if cursor, _ = data["nextCursor"].(string); cursor == "" {
			break
		}
	}
	require.ElementsMatch(in.t, titles, found)
}

// TestDiskFull_SQLite_RecoversWithoutLoss checks that a full disk is a 503 and is logged with
// its cause, that reads continue, and that the server recovers by itself when there is space
// again, with exactly the listings that it accepted.
func TestDiskFull_SQLite_RecoversWithoutLoss(t *testing.T) {
	t.Parallel()
	disk := mountFS(t, "16m")
	inst := newInstallation(t, "sqlite:"+filepath.Join(disk, "locum.db"))
	inst.process("serve")
	employer := inst.register("/api/auth/register-employer", object{"companyName": "Clinic"})
	inst.waitForState("database", "ok", true)
	var titles []string
	post := func() bool {
		title, accepted := inst.post(employer, len(titles))
		if accepted {
			titles = append(titles, title)
		}
		return accepted
	}
	require.True(t, post())
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	// The write-ahead log of SQLite may have space for a few more rows.
	require.Eventually(t, func() bool { return !post() }, time.Minute, time.Millisecond)
	inst.waitForState("database", "down", false)
	// SQLite returns an I/O error if its shared-memory file cannot grow.
	inst.requireLogged("service unavailable", "database: ", "disk")
	inst.requireLogged("readiness check failed", "database")
	inst.must(employer, http.MethodGet, "/api/auth/me", nil) // reads still succeed

	require.NoError(t, os.Remove(filler))
	inst.waitForState("database", "ok", true)
	require.Eventually(t, post, 30*time.Second, 100*time.Millisecond)
	inst.requireListings(employer, titles)
	inst.waitIdle()
}

// TestReadOnlyMount_FilesAndMail_RecoverWithoutLoss checks that folders that become read-only,
// as after a disk error, degrade the server without stopping it: uploads are a 503, and e-mails
// wait until they can be written.
func TestReadOnlyMount_FilesAndMail_RecoverWithoutLoss(t *testing.T) {
	t.Parallel()
	disk := mountFS(t, "16m")
	inst := newInstallation(t, "", "LOCUM_FILES_URL=file:"+filepath.Join(disk, "files"), "LOCUM_MAIL_URL=file:"+filepath.Join(disk, "mail"))
	inst.process("serve")
	seeker := inst.register("/api/auth/register", object{"userType": "jobseeker"})
	inst.waitIdle()
	remount := func(mode string) {
		// Writing the next file fails.
		require.Eventually(t, func() bool {
			return exec.Command("mount", "-o", "remount,"+mode, disk).Run() == nil
		}, 30*time.Second, 50*time.Millisecond)
	}
	remount("ro")
	inst.waitForState("files", "degraded", true)
	inst.waitForState("mail", "degraded", true)
	inst.requireLogged("readiness check failed", "read-only file system")
	document := object{
		"intent":   "upload-document",
		"type":     "cv",
		"title":    "CV",
		"fileName": "cv.pdf",
		"content":  "data:application/pdf;base64,JVBERi0xLjQKJcOkw7zDtsOfCg==",
	}
	status, _, err := inst.call(seeker, http.MethodPost, "/api/jobseekers/documents", document)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	inst.requireLogged("service unavailable", "files")
	late := inst.register("/api/auth/register", object{"userType": "jobseeker"})
	require.Empty(t, mailsTo(disk, late.email))

	remount("rw")
	inst.waitForState("files", "ok", true)
	inst.waitForState("mail", "ok", true)
	inst.must(seeker, http.MethodPost, "/api/jobseekers/documents", document)
	require.Eventually(t, func() bool { return len(mailsTo(disk, late.email)) == 1 }, 3*time.Minute, 200*time.Millisecond)
	inst.waitIdle()
}

// mailsTo returns the messages to the address below the folder.
func mailsTo(folder, email string) (out []string) {
	names, _ := filepath.Glob(filepath.Join(folder, "mail", "*.eml"))
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), email) {
			out = append(out, string(b))
		}
	}
	return out
}

// TestPostgres_LimitsReached_RecoversWithoutLoss checks that the server reports its cause while
// PostgreSQL refuses connections or writes, and recovers by itself with exactly the listings
// that it accepted.
func TestPostgres_LimitsReached_RecoversWithoutLoss(t *testing.T) {
	t.Parallel()
	skipUnlessFull(t)
	pg := kit.OwnPostgres(t)
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, pg.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = admin.Close(ctx) })
	exec := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			_, err := admin.Exec(ctx, s)
			require.NoError(t, err, s)
		}
	}
	exec("CREATE ROLE app LOGIN", "CREATE DATABASE app OWNER app")
	address, err := url.Parse(pg.URL)
	require.NoError(t, err)
	address.User, address.Path = url.User("app"), "/app"
	inst := newInstallation(t, address.String())
	inst.process("serve")
	employer := inst.register("/api/auth/register-employer", object{"companyName": "Clinic"})
	inst.waitForState("database", "ok", true)
	var titles []string
	for _, fault := range []struct{ name, begin, end string }{
		{"database: too many connections", "ALTER ROLE app CONNECTION LIMIT 0", "ALTER ROLE app CONNECTION LIMIT -1"},
		{
			"database: read-only", "ALTER ROLE app SET default_transaction_read_only = on",
			"ALTER ROLE app RESET default_transaction_read_only",
		},
	} {
		const disconnect = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"
		exec(fault.begin, disconnect)
		inst.waitForState("database", "down", false)
		for range 10 { // a connection that was being opened before the fault may still serve
			title, accepted := inst.post(employer, len(titles))
			if !accepted {
				break
			}
			titles = append(titles, title)
			exec(disconnect)
		}
		inst.requireLogged("service unavailable", fault.name)
		exec(fault.end, disconnect)
		inst.waitForState("database", "ok", true)
		require.Eventually(t, func() bool {
			title, accepted := inst.post(employer, len(titles))
			if accepted {
				titles = append(titles, title)
			}
			return accepted
		}, 30*time.Second, 100*time.Millisecond, fault.name)
		inst.requireListings(employer, titles)
	}
	inst.waitIdle()
}

// TestClock_SetAheadAndBack_RecoversWithoutLoss checks that a clock that is set ahead by two
// days and back does not lose or repeat e-mails. Tasks and leases of the wrong time would
// otherwise wait for two days.
func TestClock_SetAheadAndBack_RecoversWithoutLoss(t *testing.T) {
	t.Parallel()
	skipUnlessFull(t)
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { return kit.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			offset := filepath.Join(t.TempDir(), "offset")
			inst := newInstallation(t, database(t), "LOCUM_TEST_CLOCK="+offset)
			// set replaces the file atomically, because the program reads it at any time.
			set := func(by string) {
				require.NoError(t, os.WriteFile(offset+".new", []byte(by), 0o600))
				require.NoError(t, os.Rename(offset+".new", offset))
			}
			set("0s")
			// This build of the program adds the offset in the file to its clock.
			inst.program = kit.FailingProgram(t)
			inst.process("serve")
			applications := inst.createApplications(4)
			inst.waitIdle()

			set("48h")
			inst.waitForState("clock", "degraded", true)
			inst.requireLogged("readiness check failed", "the clock was set by 48h")
			inst.mail.Stop()
			ahead := inst.register("/api/auth/register", object{"userType": "jobseeker"})
			for _, c := range applications {
				// The earlier access tokens have expired.
				c.employer.token = inst.signIn(c.employer)
				inst.must(c.employer, http.MethodPut, "/api/employers/applications/"+c.id, object{"status": "review"})
			}
			require.Eventually(t,
				func() bool {
					return inst.countAttempts(applications[0]) > 0 || len(inst.mail.AttemptedRecipients()) > 0
				},
				time.Minute, 50*time.Millisecond)

			set("0s")
			inst.mail.Start()
			inst.waitForState("clock", "ok", true)
			inst.waitIdle()
			for _, c := range applications {
				require.Equal(t, 1, inst.countMails(c), c.seeker.email)
			}
			require.True(t, slices.ContainsFunc(inst.mail.Mails(), func(m kit.Mail) bool { return m.To == ahead.email }))
		})
	}
}

// signIn returns a new access token.
func (in *installation) signIn(account user) string {
	in.t.Helper()
	return in.must(user{}, http.MethodPost, "/api/auth/login", object{"email": account.email, "password": password})["accessToken"].(string)
}
