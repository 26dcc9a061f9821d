package transports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/modules/integrations"
)

// testAPI is an API with a route for each case of the suite. It counts what its operations did.
type testAPI struct {
	authenticator countingAuthenticator
	created       atomic.Int64 // the number of things that were created
	closed        atomic.Int64 // the number of streams that were closed
	// The operation of /slow sends to entered when it begins, and then waits until release is closed.
	entered chan struct{}
	release chan struct{}
}

// thing is the result of most operations: its id, the text of the request, and the address of the client.
type thing struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Address string `json:"address"`
}

// Headers returns the headers of the response.
func (t thing) Headers() map[string]string {
	return map[string]string{"Cache-Control": "max-age=60", "ETag": `"` + t.ID + `"`}
}

// newThing is the body of the operations that create a thing.
type newThing struct {
	Text string `json:"text" validate:"required"`
}

// refusal is the body of errors.
type refusal struct {
	Code string `json:"code"`
}

// streamed is the content of streams. With 250,000 bytes, it exceeds the buffers of servers.
var streamed = strings.Repeat("a,b\r\n", 50_000)

// stream is a body that counts its Close calls.
type stream struct {
	io.Reader
	closed *atomic.Int64
}

// Close implements io.Closer.
func (s stream) Close() error { s.closed.Add(1); return nil }

// stream returns a body whose Close calls are counted.
func (s *testAPI) stream() io.ReadCloser {
	return stream{strings.NewReader(streamed), &s.closed}
}

// table returns the API with the routes that the suite calls.
func (s *testAPI) table() web.API {
	const noMessage = ""

	create := web.Op(func(_ context.Context, call web.Call, input newThing) (web.Reply[thing], error) {
		return web.OK(thing{ID: fmt.Sprint(s.created.Add(1)), Text: input.Text, Address: call.IP}, noMessage), nil
	})

	// returns is an operation without a result, which returns the error.
	returns := func(err error) web.Operation {
		return web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) { return web.Done{}, err })
	}

	return web.API{
		Name:          "conformance",
		Title:         "conformance",
		Version:       "1.0.0",
		Prefix:        "/api/v1",
		Aliases:       []string{"/v1"},
		Authenticator: &s.authenticator,
		Fault:         func(f *fault.Error) (int, any) { return web.StatusOf(f), refusal{f.Code} },
		FaultBody:     refusal{},
		Routes: []web.Route{
			{
				Method: http.MethodGet,
				Path:   "/api/v1/things/:id",
				Scope:  integrations.JobsRead,
				Op: web.Op(func(_ context.Context, call web.Call, input struct {
					ID   string `path:"id"`
					Text string `query:"q" validate:"required"`
				}) (thing, error) {
					return thing{ID: input.ID, Text: input.Text, Address: call.IP}, nil
				}),
			},
			{
				Method:       http.MethodPost,
				Path:         "/api/v1/things",
				Scope:        integrations.ApplicationsWrite,
				Status:       http.StatusCreated,
				SetsLocation: true,
				Op:           create,
			},
			{Method: http.MethodPost, Path: "/api/v1/small", Scope: integrations.ApplicationsWrite, Body: 1000, Op: create},
			{
				Method: http.MethodGet,
				Path:   "/api/v1/missing",
				Scope:  integrations.JobsRead,
				Op:     returns(fault.New(fault.NotFound, "missing", "Missing")),
			},
			{Method: http.MethodGet, Path: "/api/v1/broken", Scope: integrations.JobsRead, Op: returns(errors.New("secret inside"))},
			{
				Method: http.MethodGet,
				Path:   "/api/v1/panic",
				Scope:  integrations.JobsRead,
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) {
					panic("secret inside")
				}),
			},
			{
				Method: http.MethodGet,
				Path:   "/api/v1/pending",
				Scope:  integrations.JobsRead,
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Pending[thing], error) {
					return web.Pending[thing]{Reply: web.OK(thing{}, noMessage), Accepted: true}, nil
				}),
			},
			{
				Method: http.MethodGet,
				Path:   "/api/v1/table",
				Scope:  integrations.JobsRead,
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.CSV, error) {
					const unknownSize = -1
					return web.CSV{Name: "things.csv", Size: unknownSize, Body: s.stream()}, nil
				}),
			},
			{
				Method: http.MethodGet,
				Path:   "/api/v1/file",
				Scope:  integrations.JobsRead,
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.File, error) {
					return web.File{Name: "résumé.pdf", MediaType: "application/pdf", Size: int64(len(streamed)), Body: s.stream()}, nil
				}),
			},
			{
				Method: http.MethodGet,
				Path:   "/api/v1/limited",
				Scope:  integrations.JobsRead,
				Limit:  limit.Rule{Max: 2, Per: time.Hour},
				Op:     returns(nil),
			},
			{
				Method:  http.MethodGet,
				Path:    "/api/v1/slow",
				Scope:   integrations.JobsRead,
				Timeout: time.Minute,
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) {
					s.entered <- struct{}{}

					<-s.release

					return web.Message("done"), nil
				}),
			},
		},
	}
}

// countingAuthenticator knows three tokens. The token reader may only read, and the token writer may read and write. The
// token limited is known, but refused because of a rate limit. All other tokens are refused because they are not known.
// The authenticator counts the calls of Done.
type countingAuthenticator struct {
	mu     sync.Mutex
	counts map[int]int // the calls of Done, by the status of the response
}

// invalidToken is the value of WWW-Authenticate for a token that the authenticator does not know.
const invalidToken = `Bearer realm="locum", error="invalid_token"`

// Authenticate implements web.Authenticator.
func (a *countingAuthenticator) Authenticate(
	_ context.Context, request web.AuthRequest,
) (integrations.Caller, map[string]string, error) {
	caller := integrations.Caller{
		App:    integrations.App{ID: "01935d3c-9c1e-7c1a-8f6e-2b7a54c0de06"},
		UserID: "01935d3c-9c1e-7c1a-8f6e-2b7a7812e25a",
		Scopes: []integrations.Scope{integrations.JobsRead},
	}

	headers := map[string]string{"X-Gate": "entered"}
	if len(request.Authorization) != 1 || request.Address == "" {
		return integrations.Caller{}, headers, fault.ErrUnauthorized
	}

	switch request.Authorization[0] {
	case "Bearer reader":
		return caller, headers, nil
	case "Bearer writer":
		caller.Scopes = append(caller.Scopes, integrations.ApplicationsWrite)
		return caller, headers, nil
	case "Bearer limited":
		return caller, headers, fault.ErrRateLimit.WithRetryAfter(2 * time.Second)
	}

	headers["WWW-Authenticate"] = invalidToken

	return integrations.Caller{}, headers, fault.ErrUnauthorized
}

// Done implements web.Authenticator.
func (a *countingAuthenticator) Done(_ integrations.Caller, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()

	if a.counts == nil {
		a.counts = map[int]int{}
	}

	a.counts[status]++
}

// statuses returns the numbers of Done calls by status.
func (a *countingAuthenticator) statuses() map[int]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.counts)
}

// countingLimiter counts requests by rule and key, without expiry. The methods of limit.Limiter other
// than Take are not implemented: the embedded interface is nil.
type countingLimiter struct {
	limit.Limiter

	mu     sync.Mutex
	counts map[string]int // by the name of the rule and the key
}

// Take implements limit.Limiter.
func (l *countingLimiter) Take(_ context.Context, rule limit.Rule, key string) (limit.Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	ruleAndKey := rule.Name + " " + key
	if l.counts[ruleAndKey] >= rule.Max {
		return limit.Decision{RetryAfter: 3 * time.Second}, nil
	}

	l.counts[ruleAndKey]++

	return limit.Decision{Allowed: true}, nil
}

// memoryKeys is an idempotency.Store in memory. Its transactions are not rolled back.
type memoryKeys struct {
	mu      sync.Mutex
	answers map[string]storedAnswer // by requestKey
}

// requestKey returns the owner, the operation and the key of the request in one string.
func requestKey(request idempotency.Request) string {
	return request.OwnerID + request.Operation + request.Key
}

// storedAnswer is the answer to the request with the fingerprint, which is a hash of its body.
type storedAnswer struct {
	fingerprint string
	answer      idempotency.Answer
}

// Do implements tx.Runner.
func (k *memoryKeys) Do(ctx context.Context, fn func(context.Context) error) error { return fn(ctx) }

// Begin implements idempotency.Store.
func (k *memoryKeys) Begin(
	_ context.Context, request idempotency.Request,
) (idempotency.Claim, *idempotency.Answer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	stored, isRepeated := k.answers[requestKey(request)]
	switch {
	case !isRepeated:
		return idempotency.Claim{Request: request}, nil, nil
	case stored.fingerprint != request.Fingerprint:
		return idempotency.Claim{}, nil, idempotency.ErrReused
	}

	return idempotency.Claim{}, &stored.answer, nil
}

// Finish implements idempotency.Store.
func (k *memoryKeys) Finish(_ context.Context, claim idempotency.Claim, answer idempotency.Answer) error {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.answers[requestKey(claim.Request)] = storedAnswer{fingerprint: claim.Fingerprint, answer: answer}

	return nil
}

// SetFallback implements idempotency.Store.
func (k *memoryKeys) SetFallback(context.Context, idempotency.Claim, idempotency.Answer) error {
	return nil
}

// Release implements idempotency.Store.
func (k *memoryKeys) Release(context.Context, idempotency.Claim) error { return nil }
