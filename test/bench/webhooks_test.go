package bench

import (
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
	hookEndpoints = 10
	// hookConnections is the limit of concurrent deliveries to the endpoints
	// together.
	hookConnections = 5 * hookEndpoints
	hookEvents      = 1_000
)

// BenchmarkWebhooks is how fast deliveries that wait reach ten endpoints: read,
// signed, posted, and each attempt written down. The limit is a loop that signs and
// posts the same bodies to the same receiver over as many connections. Beside it is
// how fast events do, which have to be passed on and fanned out first. And it is how
// long an event takes to its receivers while one of them never answers, beside how
// long it takes without.
func BenchmarkWebhooks(b *testing.B) {
	for name, env := range map[string]func(b *testing.B, dir string) []string{
		"SQLite": func(_ *testing.B, dir string) []string {
			return []string{"LOCUM_DATABASE_URL=sqlite:" + filepath.Join(dir, "locum.db")}
		},
		"Postgres, Redis and a worker": func(b *testing.B, _ string) []string {
			return []string{"LOCUM_DATABASE_URL=" + kit.PostgresURL(b), "LOCUM_QUEUE_URL=" + kit.RedisURL(b)}
		},
	} {
		b.Run(name+"/delivered", func(b *testing.B) {
			bench := newWebhookBench(b, env)
			for n := range hookEndpoints {
				bench.hook(fmt.Sprint("/hook/", n))
			}
			bench.example()
			var ours, path, limit float64
			for range rounds {
				path += bench.fannedOutRate()
				ours += bench.deliveredRate()
				limit += bench.bareRate()
			}
			b.ReportMetric(ours/rounds, "deliveries/s")
			b.ReportMetric(path/rounds, "from-events/s")
			b.ReportMetric(limit/rounds, "bare-posts/s")
			b.ReportMetric(ours/limit, "of-limit")
			b.ReportMetric(0, "ns/op")
		})
		b.Run(name+"/beside one that hangs", func(b *testing.B) {
			bench := newWebhookBench(b, env)
			for n := range hookEndpoints - 1 {
				bench.hook(fmt.Sprint("/hook/", n))
			}
			without := bench.latency()
			bench.hook("/hangs")
			with := bench.latency()
			b.ReportMetric(float64(without.Microseconds())/1000, "p99-ms-without")
			b.ReportMetric(float64(with.Microseconds())/1000, "p99-ms-beside")
			b.ReportMetric(float64(with)/float64(without), "of-without")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// webhookBench is an installation with one listing and one application, and a server
// that its webhooks go to.
type webhookBench struct {
	b        *testing.B
	storage  adapters.Storage
	receiver *httptest.Server
	url      string
	// Deliveries to the receiver: their number and the time of the first one in the
	// current round, the latencies of events, and a body.
	got   atomic.Int64
	first atomic.Int64
	// timing is that it reads bodies, to see how long they took.
	timing atomic.Bool
	mu     sync.Mutex
	took   []time.Duration
	body   []byte

	employer, owner, ownerID, app string
	job                           string
	hooks                         []string
	events                        int // that every endpoint has got
}

func newWebhookBench(b *testing.B, env func(b *testing.B, dir string) []string) *webhookBench {
	b.Helper()
	dir := b.TempDir()
	vars := env(b, dir)
	vars = append(vars, "PATH="+os.Getenv("PATH"), "HOME="+dir, "LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32", "LOCUM_HTTP_DRAIN=10ms", "LOCUM_LOG_LEVEL=error",
		"LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true")
	run := func(command ...string) *exec.Cmd {
		cmd := exec.Command(kit.Program(b), command...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, vars, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	require.NoError(b, run("migrate", "up").Run())
	bench := &webhookBench{b: b, url: spawn(b, run("serve"))}
	if len(vars) > 1 && strings.HasPrefix(vars[1], "LOCUM_QUEUE_URL=") {
		worker := run("worker")
		require.NoError(b, worker.Start())
		b.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	}
	database, _ := strings.CutPrefix(vars[0], "LOCUM_DATABASE_URL=")
	var err error
	bench.storage, err = gormdb.Open(
		b.Context(),
		database,
		adapters.Deps{Clock: clock.System{}, NewID: stores.NewID, Log: slog.New(slog.DiscardHandler)},
	)
	require.NoError(b, err)
	b.Cleanup(func() { _ = bench.storage.Identity.Close() })
	bench.receiver = httptest.NewServer(http.HandlerFunc(bench.receive))
	b.Cleanup(func() { bench.receiver.CloseClientConnections(); bench.receiver.Close() }) // also those that hang

	signUp := func(path, more string) (token, id string) {
		data := bench.send("", "POST", path,
			fmt.Sprintf(`{"email":"b%x@example.org","password":"Bench-mark-1","name":"B",%s}`, rand.Uint64(), more),
			201)
		return data["accessToken"].(string), data["user"].(map[string]any)["id"].(string)
	}
	bench.employer, _ = signUp("/api/auth/register-employer", `"companyName":"Clinic"`)
	bench.owner, bench.ownerID = signUp("/api/auth/register", `"userType":"jobseeker"`)
	bench.app = bench.send(bench.owner, "POST", "/api/developers/apps", `{"name":"Ward Finder"}`, 201)["app"].(map[string]any)["id"].(string)
	bench.job = bench.send(bench.employer, "POST", "/api/employers/jobs", `{"title":"Staff Nurse","location":"Leeds","description":"`+strings.Repeat("Days and nights on a ward. ", 60)+`"}`, 201)["id"].(string)
	return bench
}

// send sends a request from a new address and returns the data of its response.
func (s *webhookBench) send(token, method, path, body string, want int) map[string]any {
	s.b.Helper()
	r, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	r.SetRequestURI(s.url + path)
	r.Header.SetMethod(method)
	r.Header.SetContentType("application/json")
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", rand.IntN(256), rand.IntN(256), 1+rand.IntN(254)))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.SetBodyString(body)
	require.NoError(s.b, fasthttp.Do(r, response))
	require.Equal(s.b, want, response.StatusCode(), "%s %s: %s", method, path, response.Body())
	var out struct{ Data map[string]any }
	require.NoError(s.b, json.Unmarshal(response.Body(), &out))
	return out.Data
}

// hook creates an endpoint.
func (s *webhookBench) hook(path string) {
	s.b.Helper()
	made := s.send(s.owner, "POST", "/api/developers/apps/"+s.app+"/webhooks",
		fmt.Sprintf(`{"url":%q,"events":["job.updated"]}`, s.receiver.URL+path), 201)
	s.hooks = append(s.hooks, made["webhook"].(map[string]any)["id"].(string))
}

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
	if s.got.Add(1) == 1 {
		s.first.Store(now.UnixNano())
	}
	if !s.timing.Load() {
		return // so that the product and the limit have the same receiver
	}
	var body struct{ Timestamp time.Time }
	if json.Unmarshal(raw, &body) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took, s.body = append(s.took, now.Sub(body.Timestamp)), raw
}

// example stores a body as receivers get it.
func (s *webhookBench) example() {
	s.b.Helper()
	s.timing.Store(true)
	defer s.timing.Store(false)
	s.begin()
	s.send(s.employer, "PUT", "/api/employers/jobs/"+s.job, `{"title":"Nurse"}`, 200)
	s.waitForDeliveries(len(s.hooks))
	s.events++
	s.recorded(s.events)
}

// begin resets the counters.
func (s *webhookBench) begin() {
	s.got.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = nil
}

// waitForDeliveries waits until n deliveries were received.
func (s *webhookBench) waitForDeliveries(n int) {
	s.b.Helper()
	require.Eventually(s.b, func() bool { return s.got.Load() >= int64(n) }, 5*time.Minute, time.Millisecond)
}

// recorded waits until no attempt is due for the endpoints, checks that they got
// everything, and returns the time at which none was pending.
func (s *webhookBench) recorded(rates int) time.Time {
	s.b.Helper()
	count := func(webhook string, status integrations.DeliveryStatus) int {
		r, err := s.storage.Integrations.Deliveries.List(s.b.Context(), s.ownerID, webhook, status, page.Request{Number: 1, Size: 1})
		require.NoError(s.b, err)
		return r.Total
	}
	for _, webhook := range s.hooks {
		require.Eventually(s.b, func() bool { return count(webhook, integrations.Pending) == 0 }, time.Minute, time.Millisecond)
	}
	at := time.Now()
	for _, webhook := range s.hooks {
		require.Equal(s.b, rates, count(webhook, integrations.Succeeded), "every attempt is recorded")
	}
	return at
}

// rate runs do and returns how many deliveries per second are made and recorded
// after it. The clock starts at the first delivery, so that the interval in which
// the relay polls a SQLite database of another process is not measured.
func (s *webhookBench) rate(do func(ctx context.Context) error) float64 {
	s.b.Helper()
	s.begin()
	require.NoError(s.b, s.storage.Identity.Tx.Do(s.b.Context(), do))
	s.waitForDeliveries(hookEvents * len(s.hooks))
	s.events += hookEvents
	took := s.recorded(s.events).Sub(time.Unix(0, s.first.Load()))
	return float64(hookEvents*len(s.hooks)) / took.Seconds()
}

// fannedOutRate returns the number of deliveries per second that are made of events.
func (s *webhookBench) fannedOutRate() float64 {
	s.b.Helper()
	return s.rate(func(ctx context.Context) error {
		found, err := s.storage.Listings.Public.ListPublic(ctx, []string{s.job}, clock.System{}.Now(), true)
		require.NoError(s.b, err)
		listing, err := json.Marshal(found[0])
		require.NoError(s.b, err)
		events := make([]event.Event, hookEvents)
		for i := range events {
			events[i] = event.JobUpdated{JobID: s.job, OrganizationID: found[0].OrganizationID, Listing: listing}
		}
		return s.storage.Identity.Events.Record(ctx, events...)
	})
}

// deliveredRate returns the number of pending deliveries that are sent per second.
func (s *webhookBench) deliveredRate() float64 {
	s.b.Helper()
	return s.rate(func(ctx context.Context) error {
		now := clock.System{}.Now()
		var ms []integrations.Message
		var ds []integrations.Delivery
		for range hookEvents {
			message := integrations.Message{EventID: stores.NewID(), Type: "job.updated", Body: string(s.body), CreatedAt: now}
			ms = append(ms, message)
			for _, webhook := range s.hooks {
				ds = append(
					ds,
					integrations.Delivery{
						ID:         stores.NewID(),
						EndpointID: webhook,
						OwnerID:    s.ownerID,
						EventID:    message.EventID,
						Type:       message.Type,
						Status:     integrations.Pending,
						NextAt:     &now,
						CreatedAt:  now,
					},
				)
			}
		}
		if err := s.storage.Integrations.Deliveries.Enqueue(ctx, ms, ds); err != nil {
			return err
		}
		jobs := make([]task.Task, len(s.hooks))
		for i, webhook := range s.hooks {
			jobs[i] = task.New("integrations.deliver", task.Webhooks, "bench:"+stores.NewID(), struct{}{})
			jobs[i].Group = webhook
		}
		return s.storage.Identity.Tasks.Add(ctx, jobs...)
	})
}

// bareRate returns the number of bodies per second that a loop signs and posts.
func (s *webhookBench) bareRate() float64 {
	s.b.Helper()
	secret, err := standardwebhooks.NewWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(s.b, err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: hookConnections, DisableCompression: true}}
	defer client.CloseIdleConnections()
	body := string(s.body)
	var n, failed atomic.Int64
	var posting sync.WaitGroup
	begun := time.Now()
	for range hookConnections {
		posting.Go(func() {
			for n.Add(1) <= hookEvents*hookEndpoints {
				now, id := time.Now(), stores.NewID()
				signature, err := secret.Sign(id, now, []byte(body))
				request, err2 := http.NewRequestWithContext(s.b.Context(), http.MethodPost, s.receiver.URL+"/bare", strings.NewReader(body))
				if err != nil || err2 != nil {
					failed.Add(1)
					continue
				}
				request.Header.Set("webhook-id", id)
				request.Header.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
				request.Header.Set("webhook-signature", signature)
				request.Header.Set("webhook-attempt", "1")
				request.Header.Set("content-type", "application/json")
				request.Header.Set("user-agent", "locum-webhooks/1")
				response, err := client.Do(request)
				if err != nil {
					failed.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
	posting.Wait()
	require.Zero(s.b, failed.Load())
	return hookEvents * hookEndpoints / time.Since(begun).Seconds()
}

// latency returns the 99th percentile of the time between a change and its delivery,
// at fifty changes per second.
func (s *webhookBench) latency() time.Duration {
	s.b.Helper()
	const changes, answering = 750, hookEndpoints - 1
	s.timing.Store(true)
	defer s.timing.Store(false)
	s.begin()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := range changes {
		<-tick.C
		s.send(s.employer, "PUT", "/api/employers/jobs/"+s.job, fmt.Sprintf(`{"title":"Staff Nurse %d"}`, n), 200)
	}
	s.waitForDeliveries(changes * answering)
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.took)
	return s.took[len(s.took)*99/100]
}
