package chaos

import (
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

// mountFS mounts an empty file system of the size, returns its directory, and unmounts it after
// the test. It skips the test unless the full run is requested and mounting is permitted.
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

	file, err := os.Create(path)
	require.NoError(t, err)

	// Where a piece of 1 MiB no longer fits, smaller ones still do.
	for _, pieceSize := range []int{1 << 20, 4096, 1} {
		piece := make([]byte, pieceSize)

		var err error
		for err == nil {
			_, err = file.Write(piece)
		}

		require.ErrorIs(t, err, syscall.ENOSPC)
	}

	_ = file.Close() // tmpfs reports the lack of space again
}

// Arguments of waitForState: whether /readyz reports that the server is ready.
const (
	ready    = true
	notReady = false
)

// waitForState waits until /readyz reports the state of the adapter, and whether the server is
// ready.
func (inst *installation) waitForState(adapter, state string, isReady bool) {
	inst.t.Helper()
	require.Eventually(inst.t, func() bool {
		_, body, err := inst.call(user{}, http.MethodGet, "/readyz", nil)
		if err != nil {
			return false
		}

		states, _ := body["adapters"].(object)

		return states[adapter] == state && body["ready"] == isReady
	}, time.Minute, 100*time.Millisecond, "%s is not reported as %s", adapter, state)
}

// requireLogged waits for a line of the server's log that contains all the texts.
func (inst *installation) requireLogged(texts ...string) {
	inst.t.Helper()

	containsAll := func(line string) bool {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				return false
			}
		}

		return true
	}

	require.Eventually(inst.t, func() bool {
		log, _ := os.ReadFile(filepath.Join(inst.dir, "serve.log"))
		return slices.ContainsFunc(strings.Split(string(log), "\n"), containsAll)
	}, 30*time.Second, 100*time.Millisecond, "no line with %q in the log", texts)
}

// acceptedListings are the titles of the listings that the server has accepted from an employer.
type acceptedListings struct {
	inst     *installation
	employer user
	titles   []string
}

// post posts another listing, whose description does not compress, and reports whether the server
// accepted it.
func (l *acceptedListings) post() (isAccepted bool) {
	title := fmt.Sprint("Staff Nurse ", len(l.titles))

	var words strings.Builder
	for range 100 {
		words.WriteString(rand.Text() + " ")
	}

	listing := object{"title": title, "description": words.String()}

	status, _, err := l.inst.call(l.employer, http.MethodPost, "/api/employers/jobs", listing)
	if err != nil || status != http.StatusCreated {
		return false
	}

	l.titles = append(l.titles, title)

	return true
}

// requireStored requires the employer to have exactly the accepted listings.
func (l *acceptedListings) requireStored() {
	inst := l.inst
	inst.t.Helper()
	var stored []string

	cursor := ""
	for {
		path := "/api/employers/jobs?limit=100&cursor=" + url.QueryEscape(cursor)

		data := inst.must(l.employer, http.MethodGet, path, nil)
		for _, listing := range data["listings"].([]any) {
			stored = append(stored, listing.(object)["title"].(string))
		}

		cursor, _ = data["nextCursor"].(string)
		if cursor == "" {
			break
		}
	}

	require.ElementsMatch(inst.t, l.titles, stored)
}

// TestDiskFull_SQLite_RecoversWithoutLoss checks that the server responds with 503 while the disk
// is full, logs the cause and still serves reads, and that it recovers by itself when there is
// space again, with exactly the listings that it accepted.
func TestDiskFull_SQLite_RecoversWithoutLoss(t *testing.T) {
	t.Parallel()

	disk := mountFS(t, "16m")
	inst := newInstallation(t, "sqlite:"+filepath.Join(disk, "locum.db"))
	inst.process("serve")

	employer := inst.registerEmployer()
	inst.waitForState("database", "ok", ready)

	listings := &acceptedListings{inst: inst, employer: employer}
	require.True(t, listings.post())

	filler := filepath.Join(disk, "filler")
	fill(t, filler)

	// The write-ahead log of SQLite may have space for a few more rows.
	isRefused := func() bool { return !listings.post() }
	require.Eventually(t, isRefused, time.Minute, time.Millisecond, "listings are accepted on a full disk")
	inst.waitForState("database", "down", notReady)

	// Either "disk is full" or, if SQLite's shared-memory file cannot grow, "disk I/O error".
	inst.requireLogged("service unavailable", "database: ", "disk")
	inst.requireLogged("readiness check failed", "database")
	inst.must(employer, http.MethodGet, "/api/auth/me", nil) // reads still succeed

	// When there is space again, the server recovers by itself.
	require.NoError(t, os.Remove(filler))
	inst.waitForState("database", "ok", ready)
	require.Eventually(t, listings.post, 30*time.Second, 100*time.Millisecond, "listings are still refused")
	listings.requireStored()
	inst.waitIdle()
}

// TestReadOnlyMount_FilesAndMail_RecoverWithoutLoss checks that folders that become read-only,
// as after a disk error, degrade the server without stopping it: it responds to uploads with 503,
// and e-mails wait until they can be written.
func TestReadOnlyMount_FilesAndMail_RecoverWithoutLoss(t *testing.T) {
	t.Parallel()

	disk := mountFS(t, "16m")
	inst := newInstallation(t, sqlite,
		"LOCUM_FILES_URL=file:"+filepath.Join(disk, "files"),
		"LOCUM_MAIL_URL=file:"+filepath.Join(disk, "mail"))
	inst.process("serve")

	seeker := inst.registerSeeker()
	inst.waitIdle()

	remount := func(mode string) {
		// The file system is busy while the server writes a file.
		require.Eventually(t, func() bool {
			return exec.Command("mount", "-o", "remount,"+mode, disk).Run() == nil
		}, 30*time.Second, 50*time.Millisecond, "the file system stays busy")
	}

	// While the folders are read-only, uploads are refused, and mails wait.
	remount("ro")
	inst.waitForState("files", "degraded", ready)
	inst.waitForState("mail", "degraded", ready)
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

	registeredLater := inst.registerSeeker() // a mail about the new account waits
	mailFolder := filepath.Join(disk, "mail")
	require.Zero(t, countMailFiles(mailFolder, registeredLater.email))

	// When the folders can be written again, an upload succeeds, and the mail is sent.
	remount("rw")
	inst.waitForState("files", "ok", ready)
	inst.waitForState("mail", "ok", ready)
	inst.must(seeker, http.MethodPost, "/api/jobseekers/documents", document)
	require.Eventually(t, func() bool { return countMailFiles(mailFolder, registeredLater.email) == 1 },
		3*time.Minute, 200*time.Millisecond, "the mail about the new account is not sent")
	inst.waitIdle()
}

// countMailFiles returns the number of messages in the folder that contain the address.
func countMailFiles(folder, email string) (n int) {
	names, _ := filepath.Glob(filepath.Join(folder, "*.eml"))
	for _, name := range names {
		message, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(message), email) {
			n++
		}
	}

	return n
}

// TestPostgres_ConnectionsOrWritesRefused_RecoversWithoutLoss checks that the server logs the
// cause while PostgreSQL refuses connections or writes, and recovers by itself with exactly the
// listings that it accepted.
func TestPostgres_ConnectionsOrWritesRefused_RecoversWithoutLoss(t *testing.T) {
	t.Parallel()
	skipUnlessFull(t)

	postgres := kit.OwnPostgres(t)
	execute := func(statements ...string) {
		t.Helper()

		for _, statement := range statements {
			kit.Exec(t, postgres.URL, statement)
		}
	}

	// The server connects as a role of its own, because a superuser is exempt from the limit of connections.
	execute("CREATE ROLE app LOGIN", "CREATE DATABASE app OWNER app")

	databaseURL, err := url.Parse(postgres.URL)
	require.NoError(t, err)

	databaseURL.User = url.User("app")
	databaseURL.Path = "/app"
	inst := newInstallation(t, databaseURL.String())
	inst.process("serve")
	inst.waitForState("database", "ok", ready)

	listings := &acceptedListings{inst: inst, employer: inst.registerEmployer()}
	for _, fault := range []struct {
		logged     string
		begin, end string // statements
	}{
		{
			logged: "database: too many connections",
			begin:  "ALTER ROLE app CONNECTION LIMIT 0",
			end:    "ALTER ROLE app CONNECTION LIMIT -1",
		},
		{
			logged: "database: read-only",
			begin:  "ALTER ROLE app SET default_transaction_read_only = on",
			end:    "ALTER ROLE app RESET default_transaction_read_only",
		},
	} {
		// The faults affect only new connections.
		const disconnect = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"
		execute(fault.begin, disconnect)
		inst.waitForState("database", "down", notReady)

		// A connection that was being opened when the fault began may still accept writes. The first
		// request that fails may find a connection that is closed already, and logs another cause.
		const maxAttempts, enoughFailures = 10, 3
		for attempts, failed := 0, 0; attempts < maxAttempts && failed < enoughFailures; attempts++ {
			if listings.post() {
				execute(disconnect)
			} else {
				failed++
			}
		}

		// The log names the cause. When the fault ends, the server recovers and has every accepted listing.
		inst.requireLogged("service unavailable", fault.logged)
		execute(fault.end, disconnect)
		inst.waitForState("database", "ok", ready)
		require.Eventually(t, listings.post, 30*time.Second, 100*time.Millisecond,
			"listings are still refused after %q", fault.logged)
		listings.requireStored()
	}

	inst.waitIdle()
}

// TestClock_SetAheadAndBack_RecoversWithoutLoss checks that no e-mail is lost or repeated if a clock is
// set ahead by two days and back. The program notices that its clock was set. Otherwise tasks with times
// of the wrong clock would wait for two days.
func TestClock_SetAheadAndBack_RecoversWithoutLoss(t *testing.T) {
	t.Parallel()
	skipUnlessFull(t)

	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		requireMailsAfterClockChange(t, sqlite)
	})

	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		requireMailsAfterClockChange(t, kit.PostgresURL(t))
	})
}

// requireMailsAfterClockChange sets the clock of a server ahead and back while e-mails wait for
// the mail server, and requires that each e-mail is sent once.
func requireMailsAfterClockChange(t *testing.T, databaseURL string) {
	t.Helper()

	offsetFile := filepath.Join(t.TempDir(), "offset")
	inst := newInstallation(t, databaseURL, "LOCUM_TEST_CLOCK="+offsetFile)

	// setOffset replaces the file atomically, because the program reads it at any time.
	setOffset := func(offset string) {
		require.NoError(t, os.WriteFile(offsetFile+".new", []byte(offset), 0o600))
		require.NoError(t, os.Rename(offsetFile+".new", offsetFile))
	}

	setOffset("0s")

	inst.program = kit.FailingProgram(t) // this build adds the offset in the file to its clock
	inst.process("serve")

	applications := inst.createApplications(4)
	inst.waitIdle()

	// The clock is set ahead, and the mail server is stopped. Mails wait.
	setOffset("48h")
	inst.waitForState("clock", "degraded", ready)
	inst.requireLogged("readiness check failed", "the clock was set by 48h")
	inst.mail.Stop()

	registeredAhead := inst.registerSeeker() // gets a mail about the account
	for _, a := range applications {
		a.employer.token = inst.signIn(a.employer) // the previous access token has expired
		inst.must(a.employer, http.MethodPut, "/api/employers/applications/"+a.id, object{"status": "review"})
	}

	hasTriedToSend := func() bool { return len(inst.mail.AttemptedRecipients()) > 0 }
	require.Eventually(t, hasTriedToSend, time.Minute, 50*time.Millisecond, "no mail was tried")

	// The clock is right again, and the mail server is started.
	setOffset("0s")
	inst.mail.Start()
	inst.waitForState("clock", "ok", ready)
	inst.waitIdle()

	for _, a := range applications {
		require.Equal(t, 1, inst.countMails(a), "mails about the status to %s", a.seeker.email)
	}

	isToRegisteredAhead := func(mail kit.Mail) bool { return mail.To == registeredAhead.email }
	require.True(t, slices.ContainsFunc(inst.mail.Mails(), isToRegisteredAhead), "the mail about the new account is lost")
}

// signIn returns a new access token.
func (inst *installation) signIn(account user) string {
	inst.t.Helper()

	credentials := object{"email": account.email, "password": password}

	return inst.must(user{}, http.MethodPost, "/api/auth/login", credentials)["accessToken"].(string)
}
