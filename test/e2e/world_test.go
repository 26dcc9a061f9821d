// Package e2e drives the built program over HTTP, as its users do, on every
// setup that it supports: the same tests on the embedded default and on
// Postgres with a Redis limiter. Every exchange is held against the server's
// own OpenAPI document.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
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
)

func TestMain(m *testing.M) { kit.Main(m) }

// setups are the ways to run the product that every test runs on.
var setups = []struct {
	name string
	env  func(t testing.TB, dir string) []string
}{
	{"sqlite+embedded+memory", func(_ testing.TB, dir string) []string {
		return []string{"LOCUM_DATABASE_URL=sqlite:" + filepath.Join(dir, "locum.db")}
	}},
	{"postgres+redis", func(t testing.TB, _ string) []string {
		return []string{"LOCUM_DATABASE_URL=" + kit.PostgresURL(t), "LOCUM_LIMITER_URL=" + kit.RedisURL(t)}
	}},
}

// everywhere runs the test on a server of its own for each setup.
func everywhere(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			test(t, start(t, dir, s.env(t, dir)...))
		})
	}
}

// world is a running server.
type world struct {
	dir    string
	env    []string
	url    string
	cmd    *exec.Cmd
	log    *syncBuffer
	docs   map[string]validator.Validator
	docMu  sync.Mutex
	once   sync.Once
	exited chan error
}

var listening = regexp.MustCompile(`listening on ([^)\s]+)\)`)

// start migrates and serves with the environment given, in dir.
func start(t testing.TB, dir string, env ...string) *world {
	t.Helper()
	w := &world{dir: dir, log: &syncBuffer{}, exited: make(chan error, 1)}
	w.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"LOCUM_HTTP_ADDR=127.0.0.1:0",
		// Tests choose their client address, so that limits do not mix them up.
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32",
	}, env...)
	w.run(t, "migrate", "up")
	w.serve(t)
	return w
}

var secrets = regexp.MustCompile(`loc_rt_|whsec_|eyJ[A-Za-z0-9_-]{10}|` + password + `|argon2id|Authorization`)

// run runs a command of the program to its end.
func (w *world) run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(kit.Program(t), args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func (w *world) serve(t testing.TB) {
	t.Helper()
	w.cmd = exec.Command(kit.Program(t), "serve")
	w.cmd.Dir, w.cmd.Env, w.cmd.Stderr = w.dir, w.env, w.log
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := w.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, w.cmd.Start())
	addr := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				addr <- m[1]
			}
		}
		w.exited <- w.cmd.Wait()
	}()
	select {
	case a := <-addr:
		w.url = "http://" + a
	case err := <-w.exited:
		require.Fail(t, "the server did not start", "%v: %s", err, w.log)
	case <-time.After(30 * time.Second):
		_ = w.cmd.Process.Kill()
		require.Fail(t, "the server did not start in time", "%s", w.log)
	}
	t.Cleanup(func() { w.stop(t) })
}

// stop asks the server to end and waits for it.
func (w *world) stop(t testing.TB) {
	t.Helper()
	w.once.Do(func() {
		_ = w.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-w.exited:
			require.NoError(t, err, "%s", w.log)
		case <-time.After(30 * time.Second):
			_ = w.cmd.Process.Kill()
			require.Fail(t, "the server did not stop", "%s", w.log)
		}
		// Whatever happened on it, a server's log holds no secret.
		require.NotRegexp(t, secrets, w.log.String())
	})
}

// document is the server's own description of the interface, for holding
// exchanges against it.
func (w *world) document(t testing.TB, surface string) validator.Validator {
	t.Helper()
	w.docMu.Lock()
	defer w.docMu.Unlock()
	if w.docs[surface] == nil {
		resp, err := http.Get(w.url + "/openapi/" + surface + ".json")
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		if w.docs == nil {
			w.docs = map[string]validator.Validator{}
		}
		w.docs[surface] = validatorOf(t, string(body))
	}
	return w.docs[surface]
}

// validators are those of all servers, which take a hundred megabytes each and
// mostly describe the same.
var validators = struct {
	sync.Mutex
	of map[string]validator.Validator
}{of: map[string]validator.Validator{}}

func validatorOf(t testing.TB, document string) validator.Validator {
	t.Helper()
	validators.Lock()
	defer validators.Unlock()
	v, known := validators.of[document]
	if !known {
		read, err := libopenapi.NewDocument([]byte(document))
		require.NoError(t, err)
		var errs []error
		v, errs = validator.NewValidator(read)
		require.Empty(t, errs)
		validators.of[document] = v
	}
	return v
}

// documented is the document that the request is to be held against, and the
// request as it knows it: the developer interface is described once.
func (w *world) documented(t testing.TB, request *http.Request, sent []byte) (validator.Validator, *http.Request) {
	t.Helper()
	again := request.Clone(context.Background())
	again.Body = io.NopCloser(bytes.NewReader(sent))
	if strings.HasPrefix(again.URL.Path, "/v1/") {
		again.URL.Path = "/api" + again.URL.Path
	}
	if strings.HasPrefix(again.URL.Path, "/api/v1/") {
		return w.document(t, "developer"), again
	}
	return w.document(t, "portal"), again
}

// database is the URL of what the server keeps its things in.
func (w *world) database() (url string) {
	for _, e := range w.env {
		if v, is := strings.CutPrefix(e, "LOCUM_DATABASE_URL="); is {
			url = v
		}
	}
	return url
}

// client is somebody at an address of their own, signed in or not.
type client struct {
	t     testing.TB
	w     *world
	token string
	ip    string
	key   string // sent as Idempotency-Key
	// apiKey is sent as X-API-Key.
	apiKey string
	// guestCookie is what the browser of a guest holds.
	guestCookie string
}

// form is a body in the way in which browsers send one, and parts the other way.
type (
	form  url.Values
	parts map[string]string
)

func (p parts) encode(t testing.TB) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range p {
		require.NoError(t, w.WriteField(name, value))
	}
	require.NoError(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

// guest is a new client at a new address.
func (w *world) guest(t testing.TB) *client {
	t.Helper()
	return &client{t: t, w: w, ip: fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254))}
}

// elsewhere is the same person at a new address.
func (c *client) elsewhere() *client {
	fresh := c.w.guest(c.t)
	fresh.token, fresh.guestCookie = c.token, c.guestCookie
	return fresh
}

// answer is what came back.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// send makes a request with a body (nil for none, a string or bytes as they
// are, form and parts as forms, anything else as JSON), checks it against the document, and returns
// the answer.
func (c *client) send(method, path string, body any) *answer {
	c.t.Helper()
	a, request, sent := c.exchange(method, path, body)
	require.Less(c.t, a.status, 500, "%s %s: %s\n%s", method, path, a.raw, c.w.log)
	c.conforms(request, sent, a)
	return a
}

// try is send for when the server may be in trouble, and for what is not part
// of an interface.
func (c *client) try(method, path string, body any) *answer {
	c.t.Helper()
	a, _, _ := c.exchange(method, path, body)
	return a
}

func (c *client) exchange(method, path string, body any) (*answer, *http.Request, []byte) {
	c.t.Helper()
	sent, kind := []byte(nil), "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		sent = []byte(b)
	case []byte:
		sent = b
	case form:
		sent, kind = []byte(url.Values(b).Encode()), "application/x-www-form-urlencoded"
	case parts:
		sent, kind = b.encode(c.t)
	default:
		var err error
		sent, err = json.Marshal(b)
		require.NoError(c.t, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	c.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, method, c.w.url+path, bytes.NewReader(sent))
	require.NoError(c.t, err)
	if sent != nil {
		request.Header.Set("Content-Type", kind)
	}
	request.Header.Set("X-Forwarded-For", c.ip)
	if c.key != "" {
		request.Header.Set("Idempotency-Key", c.key)
	}
	if c.guestCookie != "" {
		request.Header.Set("Cookie", "locum_guest="+c.guestCookie)
	}
	if c.apiKey != "" {
		request.Header.Set("X-API-Key", c.apiKey)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.sent(request), request, sent
}

// with is the client with an API key.
func (c *client) with(apiKey string) *client {
	c.apiKey = apiKey
	return c
}

// sent makes the request and reads the answer.
func (c *client) sent(request *http.Request) *answer {
	c.t.Helper()
	response, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	a := &answer{t: c.t, status: response.StatusCode, header: response.Header, raw: raw}
	if kind := response.Header.Get("Content-Type"); strings.HasPrefix(kind, "application/json") || kind == "application/problem+json" {
		if len(raw) == 0 {
			return a // to HEAD
		}
		require.NoError(c.t, json.Unmarshal(raw, &a.body), "%s", raw)
	}
	require.NotEmpty(c.t, response.Header.Get("X-Request-Id"))
	return a
}

// conforms holds a success to the document in both directions, and every
// answer to its response.
func (c *client) conforms(request *http.Request, sent []byte, a *answer) {
	c.t.Helper()
	if a.status < 300 {
		doc, again := c.w.documented(c.t, request, sent)
		ok, problems := doc.ValidateHttpRequest(again)
		require.True(c.t, ok, "the document does not describe the request %s %s %s: %v", request.Method, request.URL, sent, problems)
	}
	c.described(request, sent, a)
}

// described holds an answer to the document.
func (c *client) described(request *http.Request, sent []byte, a *answer) {
	c.t.Helper()
	if a.status == http.StatusMethodNotAllowed || a.status == http.StatusNoContent || a.status == http.StatusNotModified || a.status == http.StatusNotFound && bytes.Contains(a.raw, []byte(`"Not found"`)) {
		return // no operation of the document
	}
	doc, again := c.w.documented(c.t, request, sent)
	response := &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.raw)), Request: again}
	ok, problems := doc.ValidateHttpResponse(again, response)
	require.True(c.t, ok, "the document does not describe the answer of %s %s: %d %s: %v", request.Method, request.URL, a.status, a.raw, problems)
}

func (c *client) get(path string) *answer          { return c.send("GET", path, nil) }
func (c *client) post(path string, b any) *answer  { return c.send("POST", path, b) }
func (c *client) put(path string, b any) *answer   { return c.send("PUT", path, b) }
func (c *client) patch(path string, b any) *answer { return c.send("PATCH", path, b) }
func (c *client) delete(path string) *answer       { return c.send("DELETE", path, nil) }

// ok demands a success with the status.
func (a *answer) ok(status int) *answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.raw)
	require.Equal(a.t, true, a.body["success"], "%s", a.raw)
	return a
}

// fails demands the portal's error body with the status and message.
func (a *answer) fails(status int, message string) *answer {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.raw)
	require.Equal(a.t, false, a.body["success"], "%s", a.raw)
	require.Equal(a.t, message, a.body["error"], "%s", a.raw)
	return a
}

// invalid demands a validation error whose first field is the one named.
func (a *answer) invalid(field string) *answer {
	a.t.Helper()
	a.fails(400, "Bad Request - Invalid parameters")
	require.Equal(a.t, field, a.at("details.field"), "%s", a.raw)
	return a
}

// at digs in the body: data.user.id, data.listings.0.title.
func (a *answer) at(path string) any {
	a.t.Helper()
	var v any = a.body
	for _, step := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			var ok bool
			v, ok = node[step]
			require.True(a.t, ok, "no %s in %s", path, a.raw)
		case []any:
			var i int
			_, err := fmt.Sscan(step, &i)
			require.NoError(a.t, err)
			require.Less(a.t, i, len(node), "no %s in %s", path, a.raw)
			v = node[i]
		default:
			require.Fail(a.t, "no such path", "%s in %s", path, a.raw)
		}
	}
	return v
}

func (a *answer) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	require.True(a.t, ok, "%s is no string in %s", path, a.raw)
	return s
}

func (a *answer) list(path string) []any {
	a.t.Helper()
	l, ok := a.at(path).([]any)
	require.True(a.t, ok, "%s is no array in %s", path, a.raw)
	return l
}

func (a *answer) number(path string) float64 {
	a.t.Helper()
	n, ok := a.at(path).(float64)
	require.True(a.t, ok, "%s is no number in %s", path, a.raw)
	return n
}

// object is a JSON object.
type object = map[string]any

// account is a signed-in person.
type account struct {
	*client
	id, email, refresh string
}

const password = "Corr3ct-horse"

func newEmail() string { return fmt.Sprintf("p%x@example.org", rand.Uint64()) }

func (w *world) account(t testing.TB, a *answer, c *client, email string) *account {
	t.Helper()
	a.ok(201)
	c.token = a.text("data.accessToken")
	return &account{client: c, id: a.text("data.user.id"), email: email, refresh: a.text("data.refreshToken")}
}

// seeker registers a jobseeker.
func (w *world) seeker(t testing.TB) *account {
	t.Helper()
	c, email := w.guest(t), newEmail()
	return w.account(t, c.post("/api/auth/register", object{"email": email, "password": password, "name": "Niamh Byrne", "userType": "jobseeker"}), c, email)
}

// employer registers an employer with an organization.
func (w *world) employer(t testing.TB) *account {
	t.Helper()
	c, email := w.guest(t), newEmail()
	return w.account(t, c.post("/api/auth/register-employer", object{"email": email, "password": password, "name": "Asha Patel", "companyName": "St Brigid's Hospital"}), c, email)
}

// listing posts a job and returns its id.
func (a *account) listing(more object) string {
	a.t.Helper()
	body := object{"title": "Staff Nurse", "description": "Medical ward, days and nights."}
	for k, v := range more {
		body[k] = v
	}
	return a.elsewhere().post("/api/employers/jobs", body).ok(201).text("data.id")
}

// application applies to a listing and returns the application's id.
func (a *account) application(listing string, more object) string {
	a.t.Helper()
	body := object{"listingId": listing}
	for k, v := range more {
		body[k] = v
	}
	return a.elsewhere().post("/api/jobseekers/applications", body).ok(201).text("data.id")
}

// mail waits for the newest message to the address whose subject holds the
// words, and returns its text.
func (w *world) mail(t testing.TB, to, subject string) string {
	t.Helper()
	var found string
	require.Eventually(t, func() bool {
		names, _ := filepath.Glob(filepath.Join(w.dir, "data", "mail", "*.eml"))
		for _, name := range names {
			body, err := os.ReadFile(name)
			if err == nil && bytes.Contains(body, []byte(to)) && bytes.Contains(body, []byte(subject)) {
				found = string(body)
			}
		}
		return found != ""
	}, 10*time.Second, 20*time.Millisecond, "no mail to %s about %s\n%s", to, subject, w.log)
	return found
}

// hasNoMail demands that no message to the address has a subject with the words.
func (w *world) hasNoMail(t testing.TB, to, subject string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(w.dir, "data", "mail", "*.eml"))
	for _, name := range names {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		require.False(t, bytes.Contains(body, []byte(to)) && bytes.Contains(body, []byte(subject)), "%s", body)
	}
}

// syncBuffer is a log that is written and read at once.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

var tokenInMail = regexp.MustCompile(`\?token=([0-9A-Za-z_=-]+)`)

// join makes a new member of the employer's organization, with the permissions
// given or those of a recruiter.
func (w *world) join(t testing.TB, employer *account, permissions object) *account {
	t.Helper()
	email := newEmail()
	employer.elsewhere().post("/api/employers/team", object{"intent": "add-member", "name": "Tom Reed", "email": email}).ok(200)
	text := strings.ReplaceAll(w.mail(t, email, "Subject:"), "=\r\n", "")
	token := tokenInMail.FindStringSubmatch(strings.ReplaceAll(text, "=3D", "="))
	require.NotNil(t, token, text)
	c := w.guest(t)
	a := c.post("/api/auth/accept-invitation", object{"token": token[1], "password": password, "name": "Tom Reed"})
	require.Less(t, a.status, 300, "%s", a.raw)
	c.token = a.text("data.accessToken")
	m := &account{client: c, id: a.text("data.user.id"), email: email, refresh: a.text("data.refreshToken")}
	if permissions != nil {
		employer.put("/api/employers/team/"+m.id+"/permissions", object{"permissions": permissions}).ok(200)
	}
	return m
}
