// Package transports is the conformance suite of transports. It is separate from the other
// suites because it depends on the route tables.
package transports

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/idempotency"
)

// TransportRequest is a request of the suite. The client of a transport that does not use HTTP
// translates it.
type TransportRequest struct {
	// Method and Path are the HTTP method and the path with the query.
	Method, Path string
	Header       map[string]string
	Body         string
}

// TransportAnswer is the response to a TransportRequest.
type TransportAnswer struct {
	Status int
	Header http.Header
	Body   []byte
}

// TransportClient sends a request to a transport that was started.
type TransportClient func(ctx context.Context, r TransportRequest) (TransportAnswer, error)

// HTTPClient returns a client of a transport that speaks HTTP at the URL, which has no
// trailing slash.
func HTTPClient(c *http.Client, url string) TransportClient {
	return func(ctx context.Context, r TransportRequest) (answer TransportAnswer, err error) {
		request, err := http.NewRequestWithContext(ctx, r.Method, url+r.Path, strings.NewReader(r.Body))
		if err != nil {
			return answer, err
		}

		for name, value := range r.Header {
			request.Header.Set(name, value)
		}

		response, err := c.Do(request)
		if err != nil {
			return answer, err
		}

		defer func() { _ = response.Body.Close() }()

		answer.Status, answer.Header = response.StatusCode, response.Header
		answer.Body, err = io.ReadAll(response.Body)

		return answer, err
	}
}

// TransportOpener opens a transport that serves the API with the services, of which
// Limiter and Idempotency are set. The suite starts it and shuts it down.
type TransportOpener func(t testing.TB, s adapters.Services, api web.API) (adapters.Transport, TransportClient)

// Transport checks an adapters.Transport that serves route tables. It must apply the
// authentication, validation, limits, headers, streams and errors of the tables, execute a
// request with an Idempotency-Key once, and wait for requests in flight at a shutdown.
func Transport(t *testing.T, open TransportOpener) {
	// The routes are those of testAPI, in api.go. Most return a thing, a struct with the input. An operation gets the
	// decoded parameters of the path and the query, or the body of the request.
	t.Run("operation", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)
		answer := transport.call(t, "GET", "/api/v1/things/a%20b?q=c%26d", "reader", emptyBody)
		require.Equal(t, 200, answer.Status, "%s", answer.Body)
		var got thing
		require.NoError(t, json.Unmarshal(answer.Body, &got))
		require.NotEmpty(t, got.Address, "limits need the address of the client")
		require.Equal(t, thing{ID: "a b", Text: "c&d", Address: got.Address}, got)

		created := transport.call(t, "POST", "/api/v1/things", "writer", `{"text":"é"}`)
		require.Equal(t, 201, created.Status, "%s", created.Body)
		require.Contains(t, string(created.Body), "é")

		// A result that is pending has the status 202.
		require.Equal(t, 202, transport.call(t, "GET", "/api/v1/pending", "reader", emptyBody).Status)
	})

	t.Run("headers", func(t *testing.T) { transportHeaders(t, open) })
	t.Run("streams", func(t *testing.T) { transportStreams(t, open) })

	// The routes of testAPI are also served at the prefix /v1.
	t.Run("other prefixes of the API", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, 200, openTransport(t, open).call(t, "GET", "/v1/things/a?q=b", "reader", emptyBody).Status)
	})

	// The authenticator knows the tokens reader, writer and limited. A missing or unknown token is a
	// 401. A token without the scope is a 403, and a token whose quota is used up is a 429. Only the
	// allowed request is executed.
	t.Run("credentials", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)
		for token, want := range map[string]int{"": 401, "unknown": 401, "reader": 403, "limited": 429, "writer": 201} {
			answer := transport.call(t, "POST", "/api/v1/things", token, `{"text":"a"}`)
			require.Equal(t, want, answer.Status, "token %q: %s", token, answer.Body)

			if want != 201 {
				require.Contains(t, string(answer.Body), `"code"`, "the error does not have the form of the API")
			}
		}

		require.EqualValues(t, 1, transport.api.created.Load(), "executed requests")

		// The transport calls Done of the authenticator for each caller, but not for requests without a known token.
		wantStatuses := map[int]int{201: 1, 403: 1, 429: 1} // the number of calls by status
		require.Eventually(t, func() bool { return maps.Equal(wantStatuses, transport.api.authenticator.statuses()) },
			30*time.Second, 10*time.Millisecond, "Done is not called once with the status of each response to a caller")
	})

	// Errors have the status of their kind. No response reveals the text of an internal error, and a request that is not
	// valid is not executed.
	t.Run("errors", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)
		for path, want := range map[string]int{
			"/api/v1/missing":        404, // the operation returns this error
			"/api/v1/nothing":        404, // no route
			"/api/v1/broken":         500,
			"/api/v1/panic":          500,
			"/api/v1/things/a":       400, // the required parameter q is missing
			"/api/v1/things/%00?q=a": 404, // NUL
			"/api/v1/things/%ff?q=a": 404, // no UTF-8
		} {
			answer := transport.call(t, "GET", path, "reader", emptyBody)
			require.Equal(t, want, answer.Status, "%s: %s", path, answer.Body)
			require.NotContains(t, string(answer.Body), "secret")
		}

		for _, body := range []string{"{", `{"text":5}`, `{}`, "[]"} {
			require.Equal(t, 400, transport.call(t, "POST", "/api/v1/things", "writer", body).Status, body)
		}

		require.Zero(t, transport.api.created.Load(), "invalid requests that were executed")
	})

	// A body with more than web.DefaultBody bytes is refused, and one with a little less is not. The route /small sets a
	// lower limit.
	t.Run("large bodies", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)
		tooLarge := `{"text":"` + strings.Repeat("x", web.DefaultBody) + `"}`
		require.Equal(t, 413, transport.call(t, "POST", "/api/v1/things", "writer", tooLarge).Status)

		const bytesAroundText = 20 // more than {"text":""}
		fits := `{"text":"` + strings.Repeat("x", web.DefaultBody-bytesAroundText) + `"}`
		require.Equal(t, 201, transport.call(t, "POST", "/api/v1/things", "writer", fits).Status)
		require.Equal(t, 413, transport.call(t, "POST", "/api/v1/small", "writer", fits).Status)
	})

	// The route /limited allows two requests in an hour. Later ones are refused.
	t.Run("limits of a route", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)
		for _, want := range []int{200, 200, 429, 429} {
			require.Equal(t, want, transport.call(t, "GET", "/api/v1/limited", "reader", emptyBody).Status)
		}
	})

	t.Run("idempotency", func(t *testing.T) { transportIdempotency(t, open) })

	// Each of fifty concurrent requests gets the response to its own path and query.
	t.Run("concurrent requests", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)

		var wait sync.WaitGroup
		for i := range 50 {
			wait.Go(func() {
				path := fmt.Sprintf("/api/v1/things/%d?q=%d", i, -i)
				want := fmt.Sprintf(`"id":"%d","text":"%d"`, i, -i)

				answer, err := transport.try(t.Context(), "GET", path, "reader", emptyBody)

				isOwnResponse := err == nil && answer.Status == 200 && strings.Contains(string(answer.Body), want)
				if !isOwnResponse {
					t.Errorf("request %d did not get its own response: %d %s %v", i, answer.Status, answer.Body, err)
				}
			})
		}

		wait.Wait()
	})

	t.Run("shutdown", func(t *testing.T) { transportShutdown(t, open) })
}

// transportHeaders checks the headers of operations, of the authenticator and of limits, also
// in errors. The authenticator sets X-Gate for every request. The order of the cases counts: created things
// are numbered, and the third request to /limited is refused.
func transportHeaders(t *testing.T, open TransportOpener) {
	t.Parallel()

	transport := openTransport(t, open)

	const read, write = "/api/v1/things/a?q=b", "/api/v1/things"
	for _, test := range []struct{ method, path, token, header, want string }{ // want is the value of the header
		{method: "GET", path: read, token: "reader", header: "Content-Type", want: web.JSONType},
		{method: "GET", path: read, token: "reader", header: "Cache-Control", want: "max-age=60"},
		{method: "GET", path: read, token: "reader", header: "ETag", want: `"a"`},
		{method: "GET", path: read, token: "reader", header: "X-Gate", want: "entered"},
		{method: "POST", path: write, token: "writer", header: "Location", want: "/api/v1/things/1"},
		{method: "POST", path: "/v1/things", token: "writer", header: "Location", want: "/v1/things/2"},
		{method: "POST", path: write, token: "", header: "WWW-Authenticate", want: `Bearer realm="locum"`},
		{method: "POST", path: write, token: "unknown", header: "WWW-Authenticate", want: invalidToken},
		{method: "POST", path: write, token: "unknown", header: "X-Gate", want: "entered"},
		{
			method: "POST",
			path:   write,
			token:  "reader",
			header: "WWW-Authenticate",
			want:   `Bearer realm="locum", error="insufficient_scope", scope="applications:write"`,
		},
		{method: "POST", path: write, token: "limited", header: "Retry-After", want: "2"},
		{method: "GET", path: "/api/v1/limited", token: "reader", header: "Retry-After", want: ""},
		{method: "GET", path: "/api/v1/limited", token: "reader", header: "Retry-After", want: ""},
		{method: "GET", path: "/api/v1/limited", token: "reader", header: "Retry-After", want: "3"},
	} {
		body := emptyBody
		if test.method == "POST" {
			body = `{"text":"a"}`
		}

		answer := transport.call(t, test.method, test.path, test.token, body)
		require.Equal(t, test.want, answer.Header.Get(test.header), "%s of %s %s by %q: %d %s", test.header, test.method,
			test.path, test.token, answer.Status, answer.Body)
	}
}

// transportStreams checks the responses to downloads: a table in CSV, whose size is not known, and a file. Their bodies
// are larger than the buffers of the transport. Each must be sent completely, with its headers, and then be closed.
func transportStreams(t *testing.T, open TransportOpener) {
	t.Parallel()

	transport := openTransport(t, open)
	for path, wantHeaders := range map[string]map[string]string{
		"/api/v1/table": {
			"Content-Type":            "text/csv; charset=utf-8",
			"Content-Disposition":     `attachment; filename="things.csv"`,
			"Content-Security-Policy": "",
		},
		"/api/v1/file": {
			"Content-Type":            "application/pdf",
			"Content-Disposition":     `attachment; filename="r_sum_.pdf"; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf`,
			"Content-Security-Policy": "sandbox; default-src 'none'",
		},
	} {
		answer := transport.call(t, "GET", path, "reader", emptyBody)
		require.Equal(t, 200, answer.Status, path)
		require.Equal(t, streamed, string(answer.Body), path)

		for name, want := range wantHeaders {
			require.Equal(t, want, answer.Header.Get(name), "%s of %s", name, path)
		}
	}

	bothAreClosed := func() bool { return transport.api.closed.Load() == 2 }
	require.Eventually(t, bothAreClosed, 30*time.Second, 10*time.Millisecond, "the transport does not close both streams")
}

// transportIdempotency checks requests with an Idempotency-Key. A repeated request gets the stored
// response, and is not executed again. A key that was used with another body is refused with 422. A key has at most 255
// characters.
func transportIdempotency(t *testing.T, open TransportOpener) {
	t.Parallel()

	transport := openTransport(t, open)
	send := func(key, body string) TransportAnswer {
		answer, err := transport.client(
			t.Context(),
			TransportRequest{
				Method: "POST",
				Path:   "/api/v1/things",
				Body:   body,
				Header: map[string]string{"Authorization": "Bearer writer", "Content-Type": "application/json", web.IdempotencyKey: key},
			},
		)
		require.NoError(t, err)

		return answer
	}

	first := send("one", `{"text":"a"}`)
	require.Equal(t, 201, first.Status)

	// The same request is repeated.
	repeated := send("one", `{"text":"a"}`)
	require.Equal(t, first.Status, repeated.Status)
	require.Equal(t, string(first.Body), string(repeated.Body))
	require.Equal(t, first.Header.Get("Location"), repeated.Header.Get("Location"))
	require.Empty(t, first.Header.Get("Idempotency-Replayed"))
	require.Equal(t, "true", repeated.Header.Get("Idempotency-Replayed"))

	// Other bodies and keys.
	const maxKeyLength = 255

	tooLong := strings.Repeat("k", maxKeyLength+1)

	require.Equal(t, 422, send("one", `{"text":"b"}`).Status)
	require.Equal(t, 201, send("two", `{"text":"a"}`).Status)
	require.Equal(t, 400, send(tooLong, `{"text":"a"}`).Status)
	require.EqualValues(t, 2, transport.api.created.Load(), "executed requests: the first ones with each valid key")
}

// transportShutdown checks that Shutdown refuses new requests, and waits for those in flight until its context ends. The
// request in flight is one to /slow, which ends when the test closes the channel release of the API.
func transportShutdown(t *testing.T, open TransportOpener) {
	// New requests are refused, and the request in flight gets its response before Shutdown returns.
	t.Run("request in flight", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)

		answers := make(chan TransportAnswer, 1)
		go func() {
			answer, _ := transport.try(t.Context(), "GET", "/api/v1/slow", "reader", emptyBody)
			answers <- answer
		}()

		<-transport.api.entered

		stopped := make(chan error, 1)
		go func() { stopped <- transport.Shutdown(t.Context()) }()

		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()

			_, err := transport.try(ctx, "GET", "/api/v1/things/a?q=b", "reader", emptyBody)

			return err != nil
		}, 30*time.Second, 10*time.Millisecond, "new requests are still accepted")
		require.Empty(t, stopped, "Shutdown has returned before the request has")

		// The request in flight ends, and then Shutdown returns.
		close(transport.api.release)
		require.Equal(t, 200, (<-answers).Status)
		require.NoError(t, <-stopped)
	})

	// Shutdown returns when its context ends, although a request does not end: it must not keep the process running.
	t.Run("request that does not end", func(t *testing.T) {
		t.Parallel()

		transport := openTransport(t, open)
		go func() {
			_, _ = transport.try(context.WithoutCancel(t.Context()), "GET", "/api/v1/slow", "reader", emptyBody)
		}()

		<-transport.api.entered

		ctx, cancel := context.WithCancel(t.Context())

		stopped := make(chan error, 1)
		go func() { stopped <- transport.Shutdown(ctx) }()

		cancel()

		select {
		case <-stopped:
		case <-time.After(30 * time.Second):
			require.Fail(t, "Shutdown has not returned although its context has ended")
		}

		close(transport.api.release)
	})
}

// openedTransport is a transport that was started.
type openedTransport struct {
	adapters.Transport
	client TransportClient
	api    *testAPI // the API that the transport serves
}

// openTransport opens and starts a transport that serves a new testAPI.
func openTransport(t *testing.T, open TransportOpener) *openedTransport {
	t.Helper()

	transport := &openedTransport{api: &testAPI{entered: make(chan struct{}, 1), release: make(chan struct{})}}
	keys := &memoryKeys{answers: map[string]storedAnswer{}}

	const isDistributed = false // no module is stored in another database than the keys

	services := adapters.Services{
		Limiter:     &countingLimiter{counts: map[string]int{}},
		Idempotency: idempotency.NewRunner(keys, keys, isDistributed, slog.New(slog.DiscardHandler)),
	}
	transport.Transport, transport.client = open(t, services, transport.api.table())
	require.NoError(t, transport.Start(t.Context()))

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()

		_ = transport.Shutdown(ctx) // some subtests have called it
	})

	return transport
}

// emptyBody is the argument of try and call for a request without a body.
const emptyBody = ""

// try sends a request with the bearer token, if it is not empty, and with the JSON body, if there is one.
func (o *openedTransport) try(ctx context.Context, method, path, token, body string) (TransportAnswer, error) {
	request := TransportRequest{Method: method, Path: path, Body: body, Header: map[string]string{}}
	if token != "" {
		request.Header["Authorization"] = "Bearer " + token
	}

	if body != emptyBody {
		request.Header["Content-Type"] = "application/json"
	}

	return o.client(ctx, request)
}

// call sends a request like try, and requires a response.
func (o *openedTransport) call(t *testing.T, method, path, token, body string) TransportAnswer {
	t.Helper()

	answer, err := o.try(t.Context(), method, path, token, body)
	require.NoError(t, err)

	return answer
}
