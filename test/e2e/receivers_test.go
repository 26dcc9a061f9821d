package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// receiver is a server that receives webhooks.
type receiver struct {
	*httptest.Server
	t      *testing.T
	mu     sync.Mutex
	hits   []hit                 // the requests so far
	status func(request int) int // the status of the response to a request; the first request is 1
}

// receiverResponse is the body of every response of a receiver.
const receiverResponse = "thanks"

// hit is a request that a receiver got.
type hit struct {
	headers http.Header
	raw     string // the body, which the signature covers
	body    struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      object    `json:"data"`
	}
}

// newReceiver starts a receiver that responds to every request with status 200.
func newReceiver(t *testing.T) *receiver {
	t.Helper()
	return newReceiverWithStatus(t, func(int) int { return http.StatusOK })
}

// newReceiverWithStatus starts a receiver whose responses have the status that the function returns for the number of
// the request, which begins with 1. The function may block, so that the request hangs.
func newReceiverWithStatus(t *testing.T, status func(request int) int) *receiver {
	t.Helper()

	r := &receiver{t: t, status: status}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		raw, err := io.ReadAll(request.Body)

		h := hit{headers: request.Header, raw: string(raw)}
		if err != nil || json.Unmarshal(raw, &h.body) != nil {
			// A body that is not an event is not recorded, so that a test that waits for
			// it fails.
			w.WriteHeader(http.StatusTeapot)
			return
		}

		r.mu.Lock()
		r.hits = append(r.hits, h)
		count := len(r.hits)
		r.mu.Unlock()

		w.WriteHeader(r.status(count))

		_, _ = io.WriteString(w, receiverResponse)
	}))
	t.Cleanup(r.Close)

	return r
}

// waitForHits waits until n requests have arrived since the start of the receiver, and returns them in the order of
// their arrival. It fails if there are more.
func (r *receiver) waitForHits(n int) []hit {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.hits) >= n
	}, waitTimeout, 10*time.Millisecond, "want %d requests", n)

	return r.requireHits(n)
}

// requireHits requires that exactly n requests have arrived so far, without waiting, and returns them in the order of
// their arrival.
func (r *receiver) requireHits(n int) []hit {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()

	require.Len(r.t, r.hits, n)

	return slices.Clone(r.hits)
}

// waitForEvent waits for an event of the type kind whose data has the id as the value of
// member, and returns its delivery.
func (r *receiver) waitForEvent(kind, member, id string) (found hit) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()

		for _, h := range r.hits {
			if h.body.Type == kind && h.body.Data[member] == id {
				found = h
				return true
			}
		}

		return false
	}, waitTimeout, 10*time.Millisecond, "no %s about %s", kind, id)

	return found
}

// verify checks the signature of the request as receivers do, with the reference library of
// Standard Webhooks.
func (h hit) verify(t *testing.T, secret string) error {
	t.Helper()

	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)

	return verifier.Verify([]byte(h.raw), h.headers)
}

// everyEvent contains the event types to which a webhook can subscribe.
var everyEvent = []string{"job.created", "job.updated", "job.closed", "application.submitted", "application.status_changed"}

// createWebhook creates an app with a webhook and returns the webhook's path and
// secret.
func (a *account) createWebhook(url string, events ...string) (path, secret string) {
	a.t.Helper()

	app := a.post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201).text("data.app.id")
	webhooks := "/api/developers/apps/" + app + "/webhooks"
	created := a.post(webhooks, object{"url": url, "events": events}).ok(201)

	return webhooks + "/" + created.text("data.webhook.id"), created.text("data.secret")
}

// onEachSetupWithWebhooks is onEachSetup on servers that send webhooks to private networks,
// which they refuse by default to protect internal services (SSRF). The receivers run on this
// machine.
func onEachSetupWithWebhooks(t *testing.T, test func(t *testing.T, server *testServer)) {
	t.Helper()
	onEachSetup(t, test, "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true")
}

// onEachQueueWithWebhooks is onEachSetupWithWebhooks, and an additional setup in
// which a separate worker sends the webhooks.
func onEachQueueWithWebhooks(t *testing.T, test func(t *testing.T, server *testServer)) {
	t.Helper()
	onEachSetupWithWebhooks(t, test)

	t.Run("postgres+redis+worker", func(t *testing.T) {
		t.Parallel()

		server := start(t, t.TempDir(), "LOCUM_DATABASE_URL="+kit.PostgresURL(t),
			"LOCUM_QUEUE_URL="+kit.RedisURL(t), "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true")
		worker := exec.Command(kit.Program(t), "worker") // with the same log, so that failures show both processes
		worker.Dir = server.dir
		worker.Env = server.env
		worker.Stderr = server.log
		worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, worker.Start())

		t.Cleanup(func() {
			require.NoError(t, worker.Process.Signal(os.Interrupt))
			require.NoError(t, worker.Wait())
		})

		test(t, server)
	})
}
