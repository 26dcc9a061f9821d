package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/webdav"

	"example.org/outsider/smtpmail/smtptest"
)

// runAsProgram is the variable that makes the test binary run main, so that no other program has
// to be built.
const runAsProgram = "OUTSIDER_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		main()
		return
	}

	os.Exit(m.Run())
}

// program is a running server with all adapters of this module.
type program struct {
	t    *testing.T
	dir  string
	env  []string
	url  string
	mail *smtptest.Server
	log  bytes.Buffer
}

// newProgram prepares a program and the servers that it uses. serve starts it.
func newProgram(t *testing.T) *program {
	t.Helper()

	p := &program{t: t, dir: t.TempDir(), mail: smtptest.NewServer(t)}
	files := httptest.NewServer(&webdav.Handler{FileSystem: webdav.Dir(t.TempDir()), LockSystem: webdav.NewMemLS()})
	t.Cleanup(files.Close)

	p.env = []string{
		runAsProgram + "=1",
		"HOME=" + p.dir,
		"LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_DRAIN=10ms",
		"LOCUM_DATABASE_URL=libsql:data/locum.db",
		"LOCUM_DATABASE_BILLING_URL=bolt:data/billing.db",
		"LOCUM_QUEUE_URL=embedded:data/queue",
		"LOCUM_FILES_URL=dav+" + files.URL,
		"LOCUM_MAIL_URL=relay://" + p.mail.Addr,
		"LOCUM_LIMITER_URL=file:data/limits",
		"LOCUM_PAYMENTS_URL=invoice:data/invoices",
	}

	return p
}

// listening matches the line in which the server prints its address.
var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// serve starts the server. stop ends it.
func (p *program) serve() (stop func()) {
	p.t.Helper()

	executable, err := os.Executable()
	require.NoError(p.t, err)

	cmd := exec.Command(executable, "serve")
	cmd.Dir = p.dir
	cmd.Env = p.env
	cmd.Stderr = &p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	require.NoError(p.t, err)
	require.NoError(p.t, cmd.Start())

	addresses := make(chan string, 1)

	exited := make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if match := listening.FindStringSubmatch(lines.Text()); match != nil {
				addresses <- match[1]
			}
		}

		exited <- cmd.Wait()
	}()

	select {
	case address := <-addresses:
		p.url = "http://" + address
	case err := <-exited:
		require.FailNow(p.t, "the server did not start", "%v: %s", err, p.log.String())
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()

		require.FailNow(p.t, "the server did not start in time")
	}

	stop = sync.OnceFunc(func() {
		require.NoError(p.t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(p.t, <-exited, "%s", p.log.String())
	})

	p.t.Cleanup(stop)

	return stop
}

// user is a client of the API.
type user struct {
	*program
	token string
}

// call sends a request, which must succeed, and returns the data of the response.
func (u *user) call(method, path string, body map[string]any) map[string]any {
	u.t.Helper()

	data, err := u.try(method, path, body)
	require.NoError(u.t, err)

	return data
}

// try sends a request and returns the data of the response, or an error if it is not a success.
func (u *user) try(method, path string, body map[string]any) (map[string]any, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}

	r, err := http.NewRequestWithContext(u.t.Context(), method, u.url+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}

	r.Header.Set("Content-Type", "application/json")

	if u.token != "" {
		r.Header.Set("Authorization", "Bearer "+u.token)
	}

	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}

	defer func() { _ = response.Body.Close() }()

	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}

	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, raw)
	}

	var envelope struct{ Data map[string]any }
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", method, path, err, raw)
	}

	return envelope.Data, nil
}

// register creates an account and confirms its address with the link of the mail.
func (p *program) register(path string, body map[string]any) *user {
	p.t.Helper()

	u := &user{program: p}
	body["password"] = "Correct-horse-7"
	u.token = u.call("POST", path, body)["accessToken"].(string)
	message := p.waitForMail(body["email"].(string), "verify-email")
	link := verificationLink.FindStringSubmatch(message)
	require.NotNil(p.t, link)
	u.call("POST", "/api/auth/verify-email", map[string]any{"token": link[1]})

	return u
}

// verificationLink matches the link in the mail about a new account.
var verificationLink = regexp.MustCompile(`verify-email\?token=([0-9A-Za-z_-]+)`)

// waitForMail waits for a mail to the address that contains the text, and returns it.
func (p *program) waitForMail(address, text string) (message string) {
	p.t.Helper()

	quotedPrintable := strings.NewReplacer("=\n", "", "=3D", "=")
	require.Eventually(p.t, func() bool {
		for _, encoded := range p.mail.Messages() {
			message = quotedPrintable.Replace(encoded)
			if strings.Contains(message, "<"+address+">") && strings.Contains(message, text) {
				return true
			}
		}

		return false
	}, 30*time.Second, 20*time.Millisecond, "no mail to %s", address)

	return message
}

// socketPath returns the path of the Unix socket on which the transport of this module listens.
func (p *program) socketPath() string { return filepath.Join(p.dir, "data", "developer.sock") }

// getOnSocket sends a request to the developer API on the Unix socket, and returns the body of the
// response.
func (p *program) getOnSocket(path, key string) string {
	p.t.Helper()

	client := &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var dialer net.Dialer
				return dialer.DialContext(ctx, "unix", p.socketPath())
			},
		},
	}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://unix"+path, nil)
	require.NoError(p.t, err)
	r.Header.Set("X-API-Key", key)

	response, err := client.Do(r)
	require.NoError(p.t, err)

	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)

	return string(body)
}

// waitUntilFound waits until the search finds a job with the title.
func (u *user) waitUntilFound(title string) {
	u.t.Helper()
	require.Eventually(u.t, func() bool {
		found, err := u.try("GET", "/api/listings?search=nurse", nil)
		return err == nil && strings.Contains(fmt.Sprint(found), title)
	}, 30*time.Second, 20*time.Millisecond)
}

// TestOutsider_MainJob_SurvivesRestart checks that a program whose adapters are all those of
// another team works from the registration to an invoice, and keeps everything over a restart.
func TestOutsider_MainJob_SurvivesRestart(t *testing.T) {
	t.Parallel()

	p := newProgram(t)
	stop := p.serve()

	employer := p.register(
		"/api/auth/register-employer",
		map[string]any{"email": "asha@example.org", "name": "Asha Patel", "companyName": "St Brigid's Hospital"},
	)
	job := employer.call("POST", "/api/employers/jobs", map[string]any{
		"title":       "Theatre Nurse",
		"description": "Days and nights.",
	})["id"].(string)

	clinician := p.register(
		"/api/auth/register",
		map[string]any{"email": "niamh@example.org", "name": "Niamh Byrne", "userType": "jobseeker"},
	)
	clinician.waitUntilFound("Theatre Nurse")

	uploaded := clinician.call("POST", "/api/jobseekers/documents",
		map[string]any{"intent": "upload-document", "type": "cv", "title": "My CV", "content": "I am a nurse."})
	document := "/api/jobseekers/documents/" + uploaded["document"].(map[string]any)["id"].(string)
	application := clinician.call("POST", "/api/jobseekers/applications",
		map[string]any{"listingId": job})["id"].(string)

	p.waitForMail("asha@example.org", "Theatre Nurse")
	employer.call("PUT", "/api/employers/applications/"+application, map[string]any{"status": "review"})
	p.waitForMail("niamh@example.org", "Theatre Nurse")

	app := clinician.call("POST", "/api/developers/apps", map[string]any{"name": "Ward Finder"})["app"].(map[string]any)
	keysPath := "/api/developers/apps/" + app["id"].(string) + "/keys"
	key := clinician.call("POST", keysPath, map[string]any{"name": "k"})["apiKey"].(string)
	require.Contains(t, p.getOnSocket("/v1/jobs?keywords=nurse", key), job)
	require.Contains(t, p.getOnSocket("/v1/applications", key), application)
	require.Contains(t, p.getOnSocket("/v1/jobs", "unknown"), "unauthorized")
	clinician.call("PUT", "/api/pins/"+job, map[string]any{"note": "ask about nights"})
	clinician.call("POST", "/api/jobseekers/billing",
		map[string]any{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_invoice_30"})

	stop()
	require.NoFileExists(t, p.socketPath())
	p.serve()
	clinician.waitUntilFound("Theatre Nurse")
	require.Contains(t, p.getOnSocket("/v1/applications/"+application, key), `"status":"review"`)

	stored := employer.call("GET", "/api/employers/applications/"+application, nil)["application"].(map[string]any)
	require.Equal(t, "review", stored["status"])
	require.Equal(t, "I am a nurse.", clinician.call("GET", document, nil)["document"].(map[string]any)["content"])
	require.Contains(t, fmt.Sprint(clinician.call("GET", "/api/pins", nil)), "ask about nights")

	billing := clinician.call("GET", "/api/jobseekers/billing", nil)["billing"].(map[string]any)
	require.Equal(t, "premium", billing["subscription"].(map[string]any)["tier"])
	p.waitForMail("niamh@example.org", "Premium")
}

// TestOutsider_WrongSettings_NameTheSetting checks that an error of an adapter of another team
// names the setting that it belongs to, and how to write it.
func TestOutsider_WrongSettings_NameTheSetting(t *testing.T) {
	t.Parallel()

	p := newProgram(t)
	executable, err := os.Executable()
	require.NoError(t, err)

	for setting, want := range map[string]string{
		"LOCUM_DATABASE_BILLING_URL=bolt:": "database.billing_url",
		"LOCUM_LIMITER_URL=file:":          "limiter.url",
		"LOCUM_MAIL_URL=relay://mail":      "mail.url",
		"LOCUM_FILES_URL=dav+http:":        "files.url",
		"LOCUM_QUEUE_URL=embedded:":        "queue.url",
		"LOCUM_PAYMENTS_URL=invoice:":      "payments.url",
	} {
		cmd := exec.Command(executable, "serve")
		cmd.Dir = p.dir
		cmd.Env = slices.Concat(p.env, []string{setting}) // the last value of a variable counts
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), want)
		require.Contains(t, string(out), "want ", "%s: how to write it", setting)
	}
}
