// Package transports has the conformance suite of transports. It is a package of its own, since
// it needs the route tables and what they depend on.
package transports

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/integrations"
)

// TransportRequest is a request of the suite. A transport that does not speak HTTP
// translates it.
type TransportRequest struct {
	// Method and Path are those of HTTP, with the query.
	Method, Path string
	Header       map[string]string
	Body         string
}

// TransportAnswer is the response to a TransportRequest.
type TransportAnswer struct {
	Status int
	Body   []byte
}

// TransportClient sends a request to a transport that was started.
type TransportClient func(ctx context.Context, r TransportRequest) (TransportAnswer, error)

// TransportOpener opens a transport that serves the surface with the services, of which
// Limiter and Idempotency are set. The suite starts it and shuts it down.
type TransportOpener func(t testing.TB, s adapters.Services, surface web.Surface) (adapters.Transport, TransportClient)

// Transport checks an adapters.Transport that serves route tables: authentication,
// validation, limits and errors are those of the tables, a request with an Idempotency-Key
// is executed once, and a shutdown waits for the requests in flight.
func Transport(t *testing.T, open TransportOpener) {
	t.Run("operation", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		answer := p.call(t, "GET", "/api/v1/things/a%20b?q=c%26d", "reader", "")
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
		var got thing
		require.NoError(t, json.Unmarshal(answer.Body, &got))
		require.NotEmpty(t, got.Address, "limits need the address of the client")
		require.Equal(t, thing{ID: "a b", Text: "c&d", Address: got.Address}, got)
		created := p.call(t, "POST", "/api/v1/things", "writer", `{"text":"é"}`)
		require.Equal(t, 201, created.Status, "%s", created.Body)
		require.Contains(t, string(created.Body), "é")
	})
	t.Run("other prefixes of the surface", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 200, openTransport(t, open).call(t, "GET", "/v1/things/a?q=b", "reader", "").Status)
	})
	t.Run("credentials", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		for token, want := range map[string]int{"": 401, "unknown": 401, "reader": 403, "limited": 429, "writer": 201} {
			answer := p.call(t, "POST", "/api/v1/things", token, `{"text":"a"}`)
			require.Equal(t, want, answer.Status, "token %q: %s", token, answer.Body)
			if want != 201 {
				require.Contains(t, string(answer.Body), `"code"`, "an error is that of the surface")
			}
		}
		require.EqualValues(t, 1, p.surface.created.Load())
		require.Eventually(t, func() bool { return maps.Equal(map[int]int{201: 1, 403: 1, 429: 1}, p.surface.gate.statuses()) },
			30*time.Second, 10*time.Millisecond, "the gate learns the status of each response to a caller")
	})
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		for path, want := range map[string]int{"/api/v1/missing": 404, "/api/v1/nothing": 404, "/api/v1/broken": 500, "/api/v1/things/a": 400, "/api/v1/things/%00?q=a": 404, "/api/v1/things/%ff?q=a": 404} {
			answer := p.call(t, "GET", path, "reader", "")
			require.Equal(t, want, answer.Status, "%s: %s", path, answer.Body)
			require.NotContains(t, string(answer.Body), "secret")
		}
		for _, body := range []string{"{", `{"text":5}`, `{}`, "[]"} {
			require.Equal(t, 400, p.call(t, "POST", "/api/v1/things", "writer", body).Status, body)
		}
		require.Zero(t, p.surface.created.Load())
	})
	t.Run("large bodies", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		large := `{"text":"` + strings.Repeat("x", web.DefaultBody) + `"}`
		require.Equal(t, 413, p.call(t, "POST", "/api/v1/things", "writer", large).Status)
		fits := `{"text":"` + strings.Repeat("x", web.DefaultBody-20) + `"}`
		require.Equal(t, 201, p.call(t, "POST", "/api/v1/things", "writer", fits).Status)
		require.Equal(t, 413, p.call(t, "POST", "/api/v1/small", "writer", fits).Status)
	})
	t.Run("limits of a route", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		for _, want := range []int{200, 200, 429, 429} {
			require.Equal(t, want, p.call(t, "GET", "/api/v1/limited", "reader", "").Status)
		}
	})
	t.Run("idempotency", func(t *testing.T) { transportIdempotency(t, open) })
	t.Run("concurrent requests", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		var wait sync.WaitGroup
		for i := range 50 {
			wait.Go(func() {
				answer, err := p.try(t.Context(), "GET", fmt.Sprintf("/api/v1/things/%d?q=%d", i, -i), "reader", "")
				if err != nil || answer.Status != 200 || !strings.Contains(string(answer.Body), fmt.Sprintf(`"id":"%d","text":"%d"`, i, -i)) {
					t.Errorf("request %d: %d %s %v", i, answer.Status, answer.Body, err)
				}
			})
		}
		wait.Wait()
	})
	t.Run("shutdown", func(t *testing.T) { transportShutdown(t, open) })
}

func transportIdempotency(t *testing.T, open TransportOpener) {
	t.Parallel()
	p := openTransport(t, open)
	send := func(key, body string) TransportAnswer {
		answer, err := p.client(t.Context(), TransportRequest{Method: "POST", Path: "/api/v1/things", Body: body, Header: map[string]string{"Authorization": "Bearer writer", "Content-Type": "application/json", web.IdempotencyKey: key}})
		require.NoError(t, err)
		return answer
	}
	first := send("one", `{"text":"a"}`)
	require.Equal(t, 201, first.Status)
	require.Equal(t, first, send("one", `{"text":"a"}`))
	require.Equal(t, 422, send("one", `{"text":"b"}`).Status)
	require.Equal(t, 201, send("two", `{"text":"a"}`).Status)
	require.Equal(t, 400, send(strings.Repeat("k", 256), `{"text":"a"}`).Status)
	require.EqualValues(t, 2, p.surface.created.Load())
}

func transportShutdown(t *testing.T, open TransportOpener) {
	t.Run("request in flight", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		answers := make(chan TransportAnswer, 1)
		go func() {
			answer, _ := p.try(t.Context(), "GET", "/api/v1/slow", "reader", "")
			answers <- answer
		}()
		<-p.surface.entered
		stopped := make(chan error, 1)
		go func() { stopped <- p.Shutdown(t.Context()) }()
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := p.try(ctx, "GET", "/api/v1/things/a?q=b", "reader", "")
			return err != nil
		}, 30*time.Second, 10*time.Millisecond, "new requests are not accepted")
		require.Empty(t, stopped, "Shutdown has returned before the request has")
		close(p.surface.release)
		require.Equal(t, 200, (<-answers).Status)
		require.NoError(t, <-stopped)
	})
	t.Run("request that does not end", func(t *testing.T) {
		t.Parallel()
		p := openTransport(t, open)
		go func() { _, _ = p.try(context.WithoutCancel(t.Context()), "GET", "/api/v1/slow", "reader", "") }()
		<-p.surface.entered
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- p.Shutdown(ctx) }()
		cancel()
		select {
		case <-stopped:
		case <-time.After(30 * time.Second):
			require.Fail(t, "Shutdown must return when its context ends")
		}
		close(p.surface.release)
	})
}

// openedTransport is a transport that was started.
type openedTransport struct {
	adapters.Transport
	client  TransportClient
	surface *transportSurface
}

func openTransport(t *testing.T, open TransportOpener) *openedTransport {
	t.Helper()
	p := &openedTransport{surface: &transportSurface{entered: make(chan struct{}, 1), release: make(chan struct{})}}
	keys := &memoryKeys{answers: map[string]storedAnswer{}}
	services := adapters.Services{Limiter: &countingLimiter{counts: map[string]int{}}, Idempotency: idempotency.NewRunner(keys, keys, false, slog.New(slog.DiscardHandler))}
	p.Transport, p.client = open(t, services, p.surface.table())
	require.NoError(t, p.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = p.Shutdown(ctx) // some subtests have called it
	})
	return p
}

func (p *openedTransport) try(ctx context.Context, method, path, token, body string) (TransportAnswer, error) {
	r := TransportRequest{Method: method, Path: path, Body: body, Header: map[string]string{}}
	if token != "" {
		r.Header["Authorization"] = "Bearer " + token
	}
	if body != "" {
		r.Header["Content-Type"] = "application/json"
	}
	return p.client(ctx, r)
}

func (p *openedTransport) call(t *testing.T, method, path, token, body string) TransportAnswer {
	t.Helper()
	answer, err := p.try(t.Context(), method, path, token, body)
	require.NoError(t, err)
	return answer
}

// transportSurface is a route table with an operation for each case.
type transportSurface struct {
	gate    countingGate
	created atomic.Int64
	entered chan struct{}
	release chan struct{}
}

type thing struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Address string `json:"address"`
}

type newThing struct {
	Text string `json:"text" validate:"required"`
}

type refusal struct {
	Code string `json:"code"`
}

func (s *transportSurface) table() web.Surface {
	create := web.Op(func(_ context.Context, c web.Call, in newThing) (thing, error) {
		return thing{ID: fmt.Sprint(s.created.Add(1)), Text: in.Text, Address: c.IP}, nil
	})
	fails := func(err error) web.Operation {
		return web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) { return web.Done{}, err })
	}
	return web.Surface{
		Name: "conformance", Title: "conformance", Version: "1.0.0", Prefix: "/api/v1", Also: []string{"/v1"}, Gate: &s.gate,
		Fault:     func(f *fault.Error) (int, any) { return web.StatusOf(f), refusal{f.Code} },
		FaultBody: refusal{},
		Routes: []web.Route{
			{Method: http.MethodGet, Path: "/api/v1/things/:id", Scope: integrations.JobsRead, Op: web.Op(func(_ context.Context, c web.Call, in struct {
				ID   string `path:"id"`
				Text string `query:"q" validate:"required"`
			}) (thing, error) {
				return thing{ID: in.ID, Text: in.Text, Address: c.IP}, nil
			})},
			{Method: http.MethodPost, Path: "/api/v1/things", Scope: integrations.ApplicationsWrite, Status: 201, Op: create},
			{Method: http.MethodPost, Path: "/api/v1/small", Scope: integrations.ApplicationsWrite, Body: 1000, Op: create},
			{Method: http.MethodGet, Path: "/api/v1/missing", Scope: integrations.JobsRead, Op: fails(fault.New(fault.NotFound, "missing", "Missing"))},
			{Method: http.MethodGet, Path: "/api/v1/broken", Scope: integrations.JobsRead, Op: fails(fmt.Errorf("secret inside"))},
			{Method: http.MethodGet, Path: "/api/v1/limited", Scope: integrations.JobsRead, Limit: limit.Rule{Max: 2, Per: time.Hour}, Op: fails(nil)},
			{Method: http.MethodGet, Path: "/api/v1/slow", Scope: integrations.JobsRead, Timeout: time.Minute, Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) {
				s.entered <- struct{}{}
				<-s.release
				return web.Said("done"), nil
			})},
		},
	}
}

// countingGate knows the tokens reader, writer and limited.
type countingGate struct {
	mu     sync.Mutex
	counts map[int]int
}

// Enter implements web.Gate.
func (g *countingGate) Enter(_ context.Context, e web.Entry) (integrations.Caller, map[string]string, error) {
	caller := integrations.Caller{App: integrations.App{ID: "01935d3c-9c1e-7c1a-8f6e-2b7a54c0de06"}, UserID: "01935d3c-9c1e-7c1a-8f6e-2b7a7812e25a", Scopes: []integrations.Scope{integrations.JobsRead}}
	if len(e.Authorization) != 1 || e.Address == "" {
		return integrations.Caller{}, nil, fault.ErrUnauthorized
	}
	switch e.Authorization[0] {
	case "Bearer reader":
		return caller, nil, nil
	case "Bearer writer":
		caller.Scopes = append(caller.Scopes, integrations.ApplicationsWrite)
		return caller, nil, nil
	case "Bearer limited":
		return caller, nil, fault.ErrRateLimit.WithRetryAfter(time.Second)
	}
	return integrations.Caller{}, nil, fault.ErrUnauthorized
}

// Left implements web.Gate.
func (g *countingGate) Left(_ integrations.Caller, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts == nil {
		g.counts = map[int]int{}
	}
	g.counts[status]++
}

func (g *countingGate) statuses() map[int]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.counts)
}

// countingLimiter counts the calls of rules, which never expire.
type countingLimiter struct {
	limit.Limiter

	mu     sync.Mutex
	counts map[string]int
}

// Take implements limit.Limiter.
func (l *countingLimiter) Take(_ context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts[rule.Name+" "+key] >= rule.Max {
		return limit.Decision{RetryAfter: time.Second}, nil
	}
	l.counts[rule.Name+" "+key]++
	return limit.Decision{Allowed: true}, nil
}

// memoryKeys is an idempotency.Store, with transactions that cannot be undone.
type memoryKeys struct {
	mu      sync.Mutex
	answers map[string]storedAnswer
}

type storedAnswer struct {
	fingerprint string
	answer      idempotency.Answer
}

// Do implements tx.Runner.
func (k *memoryKeys) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

// Begin implements idempotency.Store.
func (k *memoryKeys) Begin(_ context.Context, r idempotency.Request) (idempotency.Claim, *idempotency.Answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stored, ok := k.answers[r.OwnerID+r.Operation+r.Key]
	switch {
	case !ok:
		return idempotency.Claim{Request: r}, nil, nil
	case stored.fingerprint != r.Fingerprint:
		return idempotency.Claim{}, nil, idempotency.ErrReused
	}
	return idempotency.Claim{}, &stored.answer, nil
}

// Finish implements idempotency.Store.
func (k *memoryKeys) Finish(_ context.Context, c idempotency.Claim, a idempotency.Answer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answers[c.OwnerID+c.Operation+c.Key] = storedAnswer{c.Fingerprint, a}
	return nil
}

// SetFallback implements idempotency.Store.
func (k *memoryKeys) SetFallback(context.Context, idempotency.Claim, idempotency.Answer) error {
	return nil
}

// Release implements idempotency.Store.
func (k *memoryKeys) Release(context.Context, idempotency.Claim) error { return nil }
