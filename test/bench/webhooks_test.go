package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

const (
	webhookEndpoints = 10

	// webhookEvents is the number of events of a round. Each endpoint receives every event.
	webhookEvents = 1_000

	// webhookConnections is the number of connections of the reference. The product sends at most
	// five deliveries to an endpoint at the same time.
	webhookConnections = 5 * webhookEndpoints
)

// BenchmarkWebhooks measures webhooks with ten endpoints:
//
//   - how many pending deliveries per second are sent, until each attempt is recorded;
//   - how many deliveries per second are sent if the server creates them from events first;
//   - the 99th percentile of the time from an event to its delivery, with and without an endpoint
//     that never responds.
//
// The reference of the rates is a loop that signs and posts the same bodies to the same receiver
// over the same number of connections.
func BenchmarkWebhooks(b *testing.B) {
	for name, newServices := range map[string]func(b *testing.B, dir string) webhookServices{
		"SQLite": func(_ *testing.B, dir string) webhookServices {
			return webhookServices{databaseURL: "sqlite:" + filepath.Join(dir, "locum.db")}
		},
		"Postgres, Redis and a worker": func(b *testing.B, _ string) webhookServices {
			return webhookServices{databaseURL: kit.PostgresURL(b), queueURL: kit.RedisURL(b)}
		},
	} {
		b.Run(name+"/delivered", func(b *testing.B) {
			bench := newWebhookBench(b, newServices)
			for n := range webhookEndpoints {
				bench.createEndpoint(fmt.Sprint("/hook/", n))
			}

			bench.captureBody()

			var pendingRates, eventRates, referenceRates float64 // sums over all rounds
			for range rounds {
				eventRates += bench.measureRateOfEvents()
				pendingRates += bench.measureRateOfPending()
				referenceRates += bench.measureReferenceRate()
			}

			b.ReportMetric(pendingRates/rounds, "deliveries/s")
			b.ReportMetric(eventRates/rounds, "from-events/s")
			b.ReportMetric(referenceRates/rounds, "bare-posts/s")
			b.ReportMetric(pendingRates/referenceRates, "of-reference")
			b.ReportMetric(0, "ns/op") // removes the metric, which means nothing here
		})

		b.Run(name+"/beside an endpoint that hangs", func(b *testing.B) {
			bench := newWebhookBench(b, newServices)
			for n := range webhookEndpoints - 1 {
				bench.createEndpoint(fmt.Sprint("/hook/", n))
			}

			p99Without := bench.measureLatencyP99()
			bench.createEndpoint("/hangs")

			p99Beside := bench.measureLatencyP99()

			b.ReportMetric(ms(p99Without), "p99-ms-without")
			b.ReportMetric(ms(p99Beside), "p99-ms-beside")
			b.ReportMetric(float64(p99Beside)/float64(p99Without), "of-without")
			b.ReportMetric(0, "ns/op") // removes the metric, which means nothing here
		})
	}
}

// webhookServices are the services that the product uses. If queueURL is empty, the server executes
// background tasks; otherwise a separate worker process does.
type webhookServices struct{ databaseURL, queueURL string }

// webhookBench is an installation with one listing, one app, and the server that receives the
// webhooks of the app.
type webhookBench struct {
	b        *testing.B
	storage  adapters.Storage
	receiver *httptest.Server
	url      string

	// received counts the deliveries of the current round. firstAt is the time of the first of
	// them, in nanoseconds since 1970.
	received atomic.Int64
	firstAt  atomic.Int64

	// measuresLatency makes the receiver store the body of each delivery in lastBody, and the time
	// since the timestamp in the body in latencies.
	measuresLatency atomic.Bool
	mu              sync.Mutex // guards latencies and lastBody
	latencies       []time.Duration
	lastBody        []byte

	employerToken string // the access token of the listing's owner
	jobID         string
	ownerToken    string // the access token of the app's owner
	ownerID       string // the user id of the app's owner
	appID         string
	endpointIDs   []string
	events        int // the number of events that every endpoint has received so far
}

// newWebhookBench starts an installation, which has no webhook endpoints yet.
func newWebhookBench(b *testing.B, newServices func(b *testing.B, dir string) webhookServices) *webhookBench {
	b.Helper()

	dir := b.TempDir()
	services := newServices(b, dir)

	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"LOCUM_DATABASE_URL=" + services.databaseURL,
		"LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32",
		"LOCUM_HTTP_DRAIN=10ms",
		"LOCUM_LOG_LEVEL=error",
		"LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true",
	}
	if services.queueURL != "" {
		env = append(env, "LOCUM_QUEUE_URL="+services.queueURL)
	}

	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(kit.Program(b), args...)
		cmd.Dir = dir
		cmd.Env = env
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

		return cmd
	}
	require.NoError(b, command("migrate", "up").Run())

	s := &webhookBench{b: b, url: spawn(b, command("serve"))}
	if services.queueURL != "" {
		worker := command("worker")
		require.NoError(b, worker.Start())

		b.Cleanup(func() {
			_ = worker.Process.Kill()
			_ = worker.Wait()
		})
	}

	var err error
	s.storage, err = gormdb.Open(b.Context(), services.databaseURL,
		adapters.Deps{Clock: clock.System{}, NewID: stores.NewID, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() { _ = s.storage.Identity.Close() })

	s.receiver = httptest.NewServer(http.HandlerFunc(s.receive))
	b.Cleanup(func() {
		s.receiver.CloseClientConnections() // Close would wait for the requests to /hangs
		s.receiver.Close()
	})

	s.createJobAndApp()

	return s
}

// createJobAndApp registers an employer with a listing, and a user with an app.
func (s *webhookBench) createJobAndApp() {
	s.b.Helper()

	register := func(path, field string) (token, id string) {
		account := fmt.Sprintf(`{"email":"b%x@example.org","password":"Bench-mark-1","name":"B",%s}`, rand.Uint64(),
			field)
		data := s.send(noToken, http.MethodPost, path, account, http.StatusCreated)

		return data["accessToken"].(string), data["user"].(map[string]any)["id"].(string)
	}

	s.employerToken, _ = register("/api/auth/register-employer", `"companyName":"Clinic"`)
	s.ownerToken, s.ownerID = register("/api/auth/register", `"userType":"jobseeker"`)

	created := s.send(s.ownerToken, http.MethodPost, "/api/developers/apps", `{"name":"Ward Finder"}`,
		http.StatusCreated)
	s.appID = created["app"].(map[string]any)["id"].(string)

	job := `{"title":"Staff Nurse","location":"Leeds","description":"` +
		strings.Repeat("Days and nights on a ward. ", 60) + `"}` // 60: about the length of a real description
	s.jobID = s.send(s.employerToken, http.MethodPost, "/api/employers/jobs", job, http.StatusCreated)["id"].(string)
}

// send sends a request, whose response must have the status, and returns the data of the
// response. Every request has a random client address, so that no rate limit applies.
func (s *webhookBench) send(token, method, path, body string, wantStatus int) map[string]any {
	s.b.Helper()

	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	request.SetRequestURI(s.url + path)
	request.Header.SetMethod(method)
	request.Header.SetContentType("application/json")
	request.Header.Set("X-Forwarded-For", randomClientAddress())

	if token != noToken {
		request.Header.Set("Authorization", "Bearer "+token)
	}

	request.SetBodyString(body)
	require.NoError(s.b, fasthttp.Do(request, response))
	require.Equal(s.b, wantStatus, response.StatusCode(), "%s %s: %s", method, path, response.Body())

	var envelope struct{ Data map[string]any }
	require.NoError(s.b, json.Unmarshal(response.Body(), &envelope))

	return envelope.Data
}

// createEndpoint creates a webhook endpoint with a path of the receiver.
func (s *webhookBench) createEndpoint(path string) {
	s.b.Helper()

	created := s.send(s.ownerToken, http.MethodPost, "/api/developers/apps/"+s.appID+"/webhooks",
		fmt.Sprintf(`{"url":%q,"events":["job.updated"]}`, s.receiver.URL+path), http.StatusCreated)
	s.endpointIDs = append(s.endpointIDs, created["webhook"].(map[string]any)["id"].(string))
}

// receive is the handler of the receiver. Deliveries of the product arrive at /hook/N, requests of
// the reference at /bare. It never responds to deliveries at /hangs.
func (s *webhookBench) receive(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	raw, _ := io.ReadAll(r.Body)

	if r.URL.Path == "/hangs" {
		<-r.Context().Done()
		return
	}

	w.WriteHeader(http.StatusNoContent)

	if r.URL.Path == "/bare" {
		return
	}

	if s.received.Add(1) == 1 {
		s.firstAt.Store(now.UnixNano())
	}

	if !s.measuresLatency.Load() {
		return // the receiver does no more work for the product than for the reference
	}

	var body struct{ Timestamp time.Time }
	if json.Unmarshal(raw, &body) != nil {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.latencies = append(s.latencies, now.Sub(body.Timestamp))
	s.lastBody = raw
}

// captureBody changes the listing, so that lastBody becomes the body of a real delivery.
func (s *webhookBench) captureBody() {
	s.b.Helper()

	s.measuresLatency.Store(true) // the receiver stores bodies only while it measures latencies
	defer s.measuresLatency.Store(false)

	s.resetCounters()
	s.send(s.employerToken, http.MethodPut, "/api/employers/jobs/"+s.jobID, `{"title":"Nurse"}`, http.StatusOK)
	s.waitForDeliveries(len(s.endpointIDs))
	s.events++
	s.waitRecorded(s.events)
}

// resetCounters begins a round.
func (s *webhookBench) resetCounters() {
	s.received.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()

	s.latencies = nil
}

// waitForDeliveries waits until n deliveries were received.
func (s *webhookBench) waitForDeliveries(n int) {
	s.b.Helper()
	require.Eventually(s.b, func() bool { return s.received.Load() >= int64(n) }, 5*time.Minute, time.Millisecond)
}

// waitRecorded waits until no delivery is pending, requires that each endpoint has the number of
// successful deliveries, and returns the time at which none was pending.
func (s *webhookBench) waitRecorded(deliveries int) time.Time {
	s.b.Helper()

	count := func(endpointID string, status integrations.DeliveryStatus) int {
		onePage := page.Request{Number: 1, Size: 1}
		result, err := s.storage.Integrations.Deliveries.List(s.b.Context(), s.ownerID, endpointID, status, onePage)
		require.NoError(s.b, err)

		return result.Total
	}

	for _, endpointID := range s.endpointIDs {
		require.Eventually(s.b, func() bool { return count(endpointID, integrations.Pending) == 0 },
			time.Minute, time.Millisecond)
	}

	recordedAt := time.Now()

	for _, endpointID := range s.endpointIDs {
		require.Equal(s.b, deliveries, count(endpointID, integrations.Succeeded), "every attempt is recorded")
	}

	return recordedAt
}

// measureDeliveryRate runs create in a transaction, waits until all deliveries are sent and their
// attempts are recorded, and returns the number of deliveries per second. create creates
// webhookEvents events, or their deliveries. The time begins with the first delivery: it does not
// include the interval at which the relay polls a SQLite database that another process has changed.
func (s *webhookBench) measureDeliveryRate(create func(ctx context.Context) error) float64 {
	s.b.Helper()
	s.resetCounters()
	require.NoError(s.b, s.storage.Identity.Tx.Do(s.b.Context(), create))

	deliveries := webhookEvents * len(s.endpointIDs)
	s.waitForDeliveries(deliveries)

	s.events += webhookEvents
	firstAt := time.Unix(0, s.firstAt.Load())
	recordedAt := s.waitRecorded(s.events)

	return float64(deliveries) / recordedAt.Sub(firstAt).Seconds()
}

// measureRateOfEvents returns the number of deliveries per second that the server creates from
// events and sends.
func (s *webhookBench) measureRateOfEvents() float64 {
	s.b.Helper()

	return s.measureDeliveryRate(func(ctx context.Context) error {
		found, err := s.storage.Listings.Public.ListPublic(ctx, []string{s.jobID}, clock.System{}.Now())
		require.NoError(s.b, err)

		listing, err := json.Marshal(found[0])
		require.NoError(s.b, err)

		events := make([]event.Event, webhookEvents)
		for i := range events {
			events[i] = event.JobUpdated{JobID: s.jobID, OrganizationID: found[0].OrganizationID, Listing: listing}
		}

		return s.storage.Identity.Events.Record(ctx, events...)
	})
}

// measureRateOfPending returns the number of pending deliveries per second that are sent.
func (s *webhookBench) measureRateOfPending() float64 {
	s.b.Helper()

	return s.measureDeliveryRate(func(ctx context.Context) error {
		// Create the deliveries of each event to each endpoint.
		now := clock.System{}.Now()
		var messages []integrations.Message
		var deliveries []integrations.Delivery

		for range webhookEvents {
			message := integrations.Message{
				EventID:   stores.NewID(),
				Type:      "job.updated",
				Body:      string(s.lastBody),
				CreatedAt: now,
			}
			messages = append(messages, message)

			for _, endpointID := range s.endpointIDs {
				deliveries = append(deliveries, integrations.Delivery{
					ID:         stores.NewID(),
					EndpointID: endpointID,
					OwnerID:    s.ownerID,
					EventID:    message.EventID,
					Type:       message.Type,
					Status:     integrations.Pending,
					NextAt:     &now,
					CreatedAt:  now,
				})
			}
		}

		if err := s.storage.Integrations.Deliveries.Enqueue(ctx, messages, deliveries); err != nil {
			return err
		}

		// Add the tasks that send the pending deliveries, one for each endpoint.
		tasks := make([]task.Task, len(s.endpointIDs))
		for i, endpointID := range s.endpointIDs {
			tasks[i] = task.New("integrations.deliver", task.Webhooks, "bench:"+stores.NewID(), struct{}{})
			tasks[i].Group = endpointID
		}

		return s.storage.Identity.Tasks.Add(ctx, tasks...)
	})
}

// measureReferenceRate returns the number of requests per second of the reference: loops that sign
// lastBody and post it.
func (s *webhookBench) measureReferenceRate() float64 {
	s.b.Helper()

	secret, err := standardwebhooks.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(s.b, err)

	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: webhookConnections, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var sent, failed atomic.Int64
	var running sync.WaitGroup
	start := time.Now()

	for range webhookConnections {
		running.Go(func() {
			for sent.Add(1) <= webhookEvents*webhookEndpoints {
				if s.postSigned(client, secret) != nil {
					failed.Add(1)
				}
			}
		})
	}

	running.Wait()
	require.Zero(s.b, failed.Load(), "requests of the reference failed")

	return webhookEvents * webhookEndpoints / time.Since(start).Seconds()
}

// postSigned signs lastBody and posts it with the headers of a webhook.
func (s *webhookBench) postSigned(client *http.Client, secret *standardwebhooks.Webhook) error {
	now := time.Now()
	id := stores.NewID()

	signature, err := secret.Sign(id, now, s.lastBody)
	if err != nil {
		return err
	}

	request, err := http.NewRequestWithContext(
		s.b.Context(), http.MethodPost, s.receiver.URL+"/bare", bytes.NewReader(s.lastBody))
	if err != nil {
		return err
	}

	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
	request.Header.Set("webhook-signature", signature)
	request.Header.Set("webhook-attempt", "1")
	request.Header.Set("content-type", "application/json")
	request.Header.Set("user-agent", "locum-webhooks/1")

	response, err := client.Do(request)
	if err != nil {
		return err
	}

	_, _ = io.Copy(io.Discard, response.Body)

	return response.Body.Close()
}

// measureLatencyP99 changes the listing 50 times per second. It returns the 99th percentile of the
// time between a change and its delivery to an endpoint that responds.
func (s *webhookBench) measureLatencyP99() time.Duration {
	s.b.Helper()
	const changes = 750
	const changesPerSecond = 50
	const respondingEndpoints = webhookEndpoints - 1

	s.measuresLatency.Store(true)
	defer s.measuresLatency.Store(false)

	s.resetCounters()

	tick := time.NewTicker(time.Second / changesPerSecond)
	defer tick.Stop()

	for n := range changes {
		<-tick.C

		title := fmt.Sprintf(`{"title":"Staff Nurse %d"}`, n)
		s.send(s.employerToken, http.MethodPut, "/api/employers/jobs/"+s.jobID, title, http.StatusOK)
	}

	s.waitForDeliveries(changes * respondingEndpoints)
	s.mu.Lock()
	defer s.mu.Unlock()

	slices.Sort(s.latencies)

	return percentile(s.latencies, 99)
}
