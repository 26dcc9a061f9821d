package kit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// CheckReceiver starts the program of command, which receives webhooks, and
// checks that it verifies real deliveries of the server at the address. The
// server must allow webhooks to this machine. The program reads PORT and
// WEBHOOK_SECRET.
func CheckReceiver(t *testing.T, server string, command func(ctx context.Context) *exec.Cmd) {
	t.Helper()
	h := hooked{t: t, server: server}
	client := h.call(
		http.MethodPost,
		"/api/auth/register",
		map[string]any{
			"email":    strings.ToLower("receiver-" + rand.Text() + "@example.org"),
			"password": "Night-shift-1",
			"name":     "Sam Lee",
			"userType": "jobseeker",
		},
		201,
	)
	h.token = client["accessToken"].(string)
	app := "/api/developers/apps/" + h.call(http.MethodPost, "/api/developers/apps", map[string]any{"name": "Ward Finder"}, 201)["app"].(map[string]any)["id"].(string) + "/webhooks"
	webhooks := func(address string) string { return "http://" + address + "/hooks" }
	address := Address(t)
	made := h.call(http.MethodPost, app, map[string]any{"url": webhooks(address), "events": []string{"job.created"}}, 201)
	h.path = app + "/" + made["webhook"].(map[string]any)["id"].(string)
	first := made["secret"].(string)

	out := run(t, command, address, first)
	require.Equal(t, "succeeded", h.test("application.submitted"))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "application.submitted") },
		30*time.Second, 20*time.Millisecond, "%s", out)

	// Foreign, incomplete and old deliveries are refused.
	v, err := standardwebhooks.NewWebhook(first)
	require.NoError(t, err)
	stranger, err := standardwebhooks.NewWebhook("whsec_" + strings.Repeat("A", 43) + "=")
	require.NoError(t, err)
	const body = `{"type":"job.created","timestamp":"2026-11-21T09:30:00Z","data":{}}`
	// post sends a delivery that v signs as sent at the time. signed is the body that is signed,
	// sent the one that is sent, and headers says whether the headers of the signature are sent
	// at all.
	post := func(v *standardwebhooks.Webhook, at time.Time, signed, sent string, headers bool) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, webhooks(address), strings.NewReader(sent))
		require.NoError(t, err)
		signature, err := v.Sign("an-event", at, []byte(signed))
		require.NoError(t, err)
		if headers {
			r.Header.Set("webhook-id", "an-event")
			r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
			r.Header.Set("webhook-signature", signature)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err, "%s", out)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	now := time.Now()
	require.Equal(t, 204, post(v, now, body, body, true))
	require.Equal(t, 401, post(v, now, body, body+" ", true), "tampered with")
	require.Equal(t, 401, post(stranger, now, body, body, true), "another secret")
	require.Equal(t, 401, post(v, now.Add(-400*time.Second), body, body, true), "old")
	require.Equal(t, 401, post(v, now.Add(400*time.Second), body, body, true), "a timestamp in the future")
	require.Equal(t, 401, post(v, now, body, body, false), "without a signature")

	// During a rotation both secrets verify.
	second := h.call(http.MethodPost, h.path+"/secret", nil, 200)["secret"].(string)
	require.Equal(t, "succeeded", h.test("job.closed"), "the old secret")
	another := Address(t)
	run(t, command, another, second)
	h.call(http.MethodPut, h.path, map[string]any{"url": webhooks(another)}, 200)
	require.Equal(t, "succeeded", h.test("job.created"), "the new secret")
	wrong := Address(t)
	run(t, command, wrong, "whsec_"+strings.Repeat("A", 43)+"=")
	h.call(http.MethodPut, h.path, map[string]any{"url": webhooks(wrong)}, 200)
	require.Equal(t, "refused with 401", h.test("job.created"))
}

// hooked is a webhook and its owner. path is the path of the webhook in the API.
type hooked struct {
	t                   *testing.T
	server, token, path string
}

// call sends a request, whose response must have the status, and returns its data.
func (h hooked) call(method, path string, in any, status int) map[string]any {
	h.t.Helper()
	var raw []byte
	if in != nil {
		var err error
		raw, err = json.Marshal(in)
		require.NoError(h.t, err)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.server+path, bytes.NewReader(raw))
	require.NoError(h.t, err)
	r.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(h.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(h.t, err)
	require.Equal(h.t, status, answer.StatusCode, "%s %s: %s", method, path, text)
	var out struct {
		Data map[string]any `json:"data"`
	}
	require.NoError(h.t, json.Unmarshal(text, &out))
	return out.Data
}

// test sends a test event and returns the outcome of its first attempt.
func (h hooked) test(kind string) (outcome string) {
	h.t.Helper()
	id := h.call(http.MethodPost, h.path+"/test", map[string]any{"type": kind}, 202)["delivery"].(map[string]any)["id"]
	require.Eventually(h.t, func() bool {
		d := h.call(http.MethodGet, h.path+"/deliveries?limit=1", nil, 200)["deliveries"].([]any)[0].(map[string]any)
		attempts := d["attempts"].([]any)
		if d["id"] != id || len(attempts) == 0 {
			return false
		}
		if outcome = d["status"].(string); outcome != "succeeded" {
			status, _ := attempts[0].(map[string]any)["responseStatus"].(float64)
			outcome = "refused with " + strconv.Itoa(int(status))
		}
		return true
	}, time.Minute, 50*time.Millisecond)
	return outcome
}

// run starts a receiver, waits until it has printed its address and accepts
// connections, and stops it with the test.
func run(t *testing.T, command func(ctx context.Context) *exec.Cmd, address, secret string) *Log {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(ctx)
	out := &Log{}
	cmd.Env = append(append(os.Environ(), cmd.Env...), "PORT="+port, "WEBHOOK_SECRET="+secret)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with what it has started
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	require.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil && strings.Contains(out.String(), "listening at http://"+address+"/hooks\n")
	}, 90*time.Second, 50*time.Millisecond, "%s", out)
	return out
}

// Log collects the output of a program. It may be read concurrently.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Log) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the output so far.
func (b *Log) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
