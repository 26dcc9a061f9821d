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

	// The receiver accepts and prints an event.
	webhook := newReceiverWebhook(t, server)
	address := Address(t)
	oldSecret := webhook.create(receiverURL(address))
	output := runReceiver(t, command, address, oldSecret)
	require.Equal(t, "succeeded", webhook.sendTestEvent("application.submitted"))

	hasPrinted := func() bool { return strings.Contains(output.String(), "application.submitted") }
	require.Eventually(t, hasPrinted, 30*time.Second, 20*time.Millisecond, "the receiver does not print the event: %s", output)

	checkSignatures(t, address, oldSecret)

	// During a rotation deliveries are signed with both secrets.
	newSecret := webhook.call(http.MethodPost, webhook.path+"/secret", nil, http.StatusOK)["secret"].(string)
	require.Equal(t, "succeeded", webhook.sendTestEvent("job.closed"), "a receiver with the old secret")

	addressOfNew := Address(t)
	runReceiver(t, command, addressOfNew, newSecret)
	webhook.setURL(receiverURL(addressOfNew))
	require.Equal(t, "succeeded", webhook.sendTestEvent("job.created"), "a receiver with the new secret")

	// A receiver with a secret that the server has not issued refuses the deliveries.
	addressOfForeign := Address(t)
	runReceiver(t, command, addressOfForeign, foreignWebhookSecret)
	webhook.setURL(receiverURL(addressOfForeign))
	require.Equal(t, "refused with 401", webhook.sendTestEvent("job.created"))
}

// foreignWebhookSecret is a valid webhook secret that the server has not issued.
const foreignWebhookSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// receiverURL returns the URL at which a receiver with the address accepts webhooks.
func receiverURL(address string) string { return "http://" + address + "/hooks" }

// checkSignatures sends deliveries to the receiver at the address, which verifies them with the
// secret, and checks that it refuses those that are changed, foreign, outdated or unsigned.
func checkSignatures(t *testing.T, address, secret string) {
	t.Helper()

	genuine, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)

	foreign, err := standardwebhooks.NewWebhook(foreignWebhookSecret)
	require.NoError(t, err)
	const body = `{"type":"job.created","timestamp":"2026-11-21T09:30:00Z","data":{}}`
	now := time.Now()

	// The receiver tolerates a difference of five minutes between the clocks.
	const tooFar = 400 * time.Second
	for _, delivery := range []struct {
		name       string
		signer     *standardwebhooks.Webhook
		sentAt     time.Time
		body       string // sent; the signature is that of the constant body
		unsigned   bool   // sent without the headers of the signature
		wantStatus int
	}{
		{name: "genuine", signer: genuine, sentAt: now, body: body, wantStatus: 204},
		{name: "changed body", signer: genuine, sentAt: now, body: body + " ", wantStatus: 401},
		{name: "foreign secret", signer: foreign, sentAt: now, body: body, wantStatus: 401},
		{name: "old timestamp", signer: genuine, sentAt: now.Add(-tooFar), body: body, wantStatus: 401},
		{name: "timestamp in the future", signer: genuine, sentAt: now.Add(tooFar), body: body, wantStatus: 401},
		{name: "no signature", signer: genuine, sentAt: now, body: body, unsigned: true, wantStatus: 401},
	} {
		r, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, receiverURL(address), strings.NewReader(delivery.body))
		require.NoError(t, err)

		signature, err := delivery.signer.Sign("an-event", delivery.sentAt, []byte(body))
		require.NoError(t, err)

		if !delivery.unsigned {
			r.Header.Set("webhook-id", "an-event")
			r.Header.Set("webhook-timestamp", strconv.FormatInt(delivery.sentAt.Unix(), 10))
			r.Header.Set("webhook-signature", signature)
		}

		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err, delivery.name)

		_ = response.Body.Close()
		require.Equal(t, delivery.wantStatus, response.StatusCode, delivery.name)
	}
}

// receiverWebhook is a webhook of a new app. Its methods send requests as the owner of the app.
type receiverWebhook struct {
	t            *testing.T
	server       string
	token        string // access token of the owner
	webhooksPath string // of the app's webhooks in the API
	path         string // of the webhook in the API, set by create
}

// newReceiverWebhook registers an owner and creates an app, which has no webhook yet.
func newReceiverWebhook(t *testing.T, server string) *receiverWebhook {
	t.Helper()

	w := &receiverWebhook{t: t, server: server}
	owner := w.call(http.MethodPost, "/api/auth/register", map[string]any{
		"email":    strings.ToLower("receiver-" + rand.Text() + "@example.org"),
		"password": "Night-shift-1",
		"name":     "Sam Lee",
		"userType": "jobseeker",
	}, http.StatusCreated)
	w.token = owner["accessToken"].(string)
	created := w.call(http.MethodPost, "/api/developers/apps", map[string]any{"name": "Ward Finder"},
		http.StatusCreated)
	w.webhooksPath = "/api/developers/apps/" + created["app"].(map[string]any)["id"].(string) + "/webhooks"

	return w
}

// create creates the webhook, which delivers to the URL, and returns its secret.
func (w *receiverWebhook) create(url string) (secret string) {
	w.t.Helper()

	input := map[string]any{"url": url, "events": []string{"job.created"}}
	created := w.call(http.MethodPost, w.webhooksPath, input, http.StatusCreated)
	w.path = w.webhooksPath + "/" + created["webhook"].(map[string]any)["id"].(string)

	return created["secret"].(string)
}

// setURL changes the URL to which the webhook delivers.
func (w *receiverWebhook) setURL(url string) {
	w.t.Helper()
	w.call(http.MethodPut, w.path, map[string]any{"url": url}, http.StatusOK)
}

// call sends a request, whose response must have the status, and returns its data.
func (w *receiverWebhook) call(method, path string, input any, wantStatus int) map[string]any {
	w.t.Helper()

	var raw []byte
	if input != nil {
		var err error
		raw, err = json.Marshal(input)
		require.NoError(w.t, err)
	}

	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server+path, bytes.NewReader(raw))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")

	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}

	response, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)

	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, wantStatus, response.StatusCode, "%s %s: %s", method, path, text)
	var envelope struct {
		Data map[string]any `json:"data"`
	}
	require.NoError(w.t, json.Unmarshal(text, &envelope))

	return envelope.Data
}

// sendTestEvent sends a test event of the type and returns the outcome of its first attempt:
// "succeeded" or "refused with STATUS".
func (w *receiverWebhook) sendTestEvent(eventType string) (outcome string) {
	w.t.Helper()

	sent := w.call(http.MethodPost, w.path+"/test", map[string]any{"type": eventType}, http.StatusAccepted)
	id := sent["delivery"].(map[string]any)["id"]
	require.Eventually(w.t, func() bool {
		list := w.call(http.MethodGet, w.path+"/deliveries?limit=1", nil, http.StatusOK)
		delivery := list["deliveries"].([]any)[0].(map[string]any)

		attempts := delivery["attempts"].([]any)
		if delivery["id"] != id || len(attempts) == 0 {
			return false
		}

		outcome = delivery["status"].(string)
		if outcome != "succeeded" {
			status, _ := attempts[0].(map[string]any)["responseStatus"].(float64)
			outcome = "refused with " + strconv.Itoa(int(status))
		}

		return true
	}, time.Minute, 50*time.Millisecond)

	return outcome
}

// runReceiver starts a receiver, waits until it has printed its address and accepts
// connections, and stops it with the test. It returns the receiver's output.
func runReceiver(t *testing.T, command func(ctx context.Context) *exec.Cmd, address, secret string) *Log {
	t.Helper()

	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(ctx)
	output := &Log{}
	cmd.Env = append(append(os.Environ(), cmd.Env...), "PORT="+port, "WEBHOOK_SECRET="+secret)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	// The negative id kills the process group: the command may be a script that starts the receiver.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	require.NoError(t, cmd.Start())

	t.Cleanup(func() {
		cancel()

		_ = cmd.Wait()
	})

	isListening := func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}

		_ = conn.Close()

		return strings.Contains(output.String(), "listening at "+receiverURL(address)+"\n")
	}
	require.Eventually(t, isListening, 90*time.Second, 50*time.Millisecond, "%s", output)

	return output
}

// Log collects the output of a program. It may be read concurrently.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the output so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
