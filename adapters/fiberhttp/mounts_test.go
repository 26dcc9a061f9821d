package fiberhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/portal"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
)

// mount is a handler of another transport. The paths below /mount are its cases.
func mount(server *testServer) Mount {
	mux := http.NewServeMux()
	mux.HandleFunc("/mount", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		w.Header().Set("X-Client", host)
		w.Header().Set("X-Id", r.Header.Get("X-Request-Id"))
		w.Header().Set("Content-Length", "1000") // wrong: the server must replace it
		w.Header().Add("Vary", "A")
		w.Header().Add("Vary", "B")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`"` + r.Method + " " + r.URL.Query().Get("q") + " " + r.Header.Get("X-Sent") + " " + string(body) + `"`))
	})
	mux.HandleFunc("/mount/refuse", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	mux.HandleFunc("/mount/unavailable", func(w http.ResponseWriter, r *http.Request) {
		web.ReportFault(r.Context(), fault.ErrUnavailable.WithReason("test: down").WithCause(errors.New("no route")))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/mount/unreported", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/mount/broken", func(_ http.ResponseWriter, r *http.Request) {
		web.ReportFault(r.Context(), errors.New("secret inside"))
	})
	mux.HandleFunc("/mount/panic", func(http.ResponseWriter, *http.Request) { panic("secret inside") })
	mux.HandleFunc("/mount/slow", func(w http.ResponseWriter, r *http.Request) {
		_, hasDeadline := r.Context().Deadline()
		server.entered <- struct{}{}
		<-server.release
		if hasDeadline {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	return Mount{Prefix: "/mount", Name: "transport test", Handler: mux}
}

// send is do for a response that is not JSON.
func (f *testServer) send(t *testing.T, method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+f.addr+path, body)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(raw)
}

// TestMount_Request_ReachesTheHandler checks the request that a mounted handler receives, with a
// body of known and of unknown length, and that its response has the security headers and the
// request id of the server.
func TestMount_Request_ReachesTheHandler(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	for name, body := range map[string]io.Reader{
		"length":  strings.NewReader("body"),
		"chunked": io.MultiReader(strings.NewReader("bo"), strings.NewReader("dy")),
	} {
		response, text := server.send(t, "POST", "/mount?q=a%20b", body, "X-Sent", "yes")
		require.Equal(t, 202, response.StatusCode, name)
		require.Equal(t, `"POST a b yes body"`, text, name)
		require.Equal(t, []string{"A", "B"}, response.Header.Values("Vary"))
		require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		require.Equal(t, response.Header.Get("X-Request-Id"), response.Header.Get("X-Id"))
	}
	for _, method := range []string{"GET", "DELETE", "OPTIONS", "PATCH"} {
		_, text := server.send(t, method, "/mount", http.NoBody)
		require.Equal(t, `"`+method+`   "`, text)
	}
	// /mount/nothing is a 404 of the mount, /mounted of the server.
	for path, want := range map[string]int{"/mount/nothing": 404, "/mount/refuse": 401, "/mounted": 404} {
		response, _ := server.send(t, "GET", path, http.NoBody)
		require.Equal(t, want, response.StatusCode, path)
	}
	require.Contains(t, server.log.String(), `"route":"/mount","status":202`)
	require.Equal(t, 1, strings.Count(server.log.String(), `"route":"/mount","status":404`), "/mounted is not below /mount")
}

// TestMount_ClientAddress_CannotBeForged checks that a handler gets the address of the peer as
// RemoteAddr unless the peer is a trusted proxy, and never an invalid request id of the client.
func TestMount_ClientAddress_CannotBeForged(t *testing.T) {
	t.Parallel()
	forged := []string{"X-Forwarded-For", "10.1.2.3", "X-Request-Id", "short"}
	response, _ := serveTest(t).send(t, "GET", "/mount", http.NoBody, forged...)
	require.Equal(t, "127.0.0.1", response.Header.Get("X-Client"))
	require.NotEqual(t, "short", response.Header.Get("X-Id"))
	response, _ = serveTest(t, netip.MustParsePrefix("127.0.0.1/32")).send(t, "GET", "/mount", http.NoBody, forged...)
	require.Equal(t, "10.1.2.3", response.Header.Get("X-Client"))
}

// TestMount_LargeBody_IsAnError checks that a body above web.DefaultBody fails with
// http.MaxBytesError, which the handler answers with a 413. A body of the limit is accepted.
func TestMount_LargeBody_IsAnError(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	response, _ := server.send(t, "POST", "/mount", strings.NewReader(strings.Repeat("x", web.DefaultBody+1)))
	require.Equal(t, 413, response.StatusCode)
	response, text := server.send(t, "POST", "/mount", strings.NewReader(strings.Repeat("x", web.DefaultBody)))
	require.Equal(t, 202, response.StatusCode)
	require.Greater(t, len(text), web.DefaultBody)
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() == 0 }, 20*time.Second,
		time.Millisecond, "the memory of bodies is released")
}

// TestMount_BodyThatIsNotRead_DoesNotDelayTheResponse checks that a handler can refuse a request
// before its body arrives. The connection is closed, because the body was not read.
func TestMount_BodyThatIsNotRead_DoesNotDelayTheResponse(t *testing.T) {
	t.Parallel()
	status, closed := serveTest(t).raw(t, "POST /mount/refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nx")
	require.Equal(t, 401, status)
	require.True(t, closed)
}

// TestMount_Panic_EndsOneRequest checks that the panic of a handler is a 500 without details,
// and that the next request succeeds.
func TestMount_Panic_EndsOneRequest(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	response, text := f.send(t, "GET", "/mount/panic", http.NoBody)
	require.Equal(t, 500, response.StatusCode)
	require.NotContains(t, text, "secret")
	response, _ = f.send(t, "GET", "/mount", http.NoBody)
	require.Equal(t, 202, response.StatusCode)
}

// TestMount_Unavailable_IsCountedAndLoggedOncePerSecond checks that each 503 is counted by its
// cause, and logged at most once per second: during an outage there may be thousands. A handler
// that reports no fault is counted under the name of its transport.
func TestMount_Unavailable_IsCountedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	begun := time.Now()
	for range 10 {
		for _, path := range []string{"/mount/unavailable", "/mount/unreported"} {
			response, _ := server.send(t, "GET", path, http.NoBody)
			require.Equal(t, 503, response.StatusCode)
		}
	}
	seconds := int(time.Since(begun)/time.Second) + 1
	_, metrics := server.send(t, "GET", "/metrics", http.NoBody)
	for cause, err := range map[string]string{"test: down": `"no route"`, "transport test": "null"} {
		require.Contains(t, metrics, `locum_unavailable_total{cause="`+cause+`"} 10`)
		logged := strings.Count(server.log.String(), `"msg":"service unavailable","cause":"`+cause+`","error":`+err)
		require.Positive(t, logged)
		require.LessOrEqual(t, logged, seconds)
	}
}

// TestMount_InternalFault_IsLogged checks that an error that the handler reports is in the log
// with the request id that the client got.
func TestMount_InternalFault_IsLogged(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	response, _ := f.send(t, "GET", "/mount/broken", http.NoBody)
	require.Contains(
		t,
		f.log.String(),
		`"msg":"request failed","request_id":"`+response.Header.Get(
			"X-Request-Id",
		)+`","method":"GET","path":"/mount/broken","error":"secret inside"`,
	)
}

// TestMount_Shutdown_WaitsForRequests checks that Shutdown refuses new connections and returns
// only after the handler has responded. The handler responds 204 if its context has a deadline.
func TestMount_Shutdown_WaitsForRequests(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	statuses := make(chan int, 1)
	go func() {
		response, err := http.Get("http://" + server.addr + "/mount/slow")
		if err != nil {
			statuses <- 0
			return
		}
		_ = response.Body.Close()
		statuses <- response.StatusCode
	}()
	<-server.entered
	server.server.Drain()
	stopped := make(chan error, 1)
	go func() { stopped <- server.server.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		_, err := net.Dial("tcp", server.addr)
		return err != nil
	}, 20*time.Second, time.Millisecond, "the server does not accept")
	require.Empty(t, stopped)
	close(server.release)
	require.Equal(t, 204, <-statuses)
	require.NoError(t, <-stopped)
}

// rejectingAuthenticator rejects every request.
type rejectingAuthenticator struct{}

func (rejectingAuthenticator) Authenticate(context.Context, web.AuthRequest) (integrations.Caller, map[string]string, error) {
	return integrations.Caller{}, nil, fault.ErrUnauthorized
}

func (rejectingAuthenticator) Done(integrations.Caller, int) {}

// TestMount_PathOfAnotherRoute_IsAnError checks that the server does not start with a mount that
// would hide a route, another mount, or an API with an Authenticator, or whose path is a
// pattern.
func TestMount_PathOfAnotherRoute_IsAnError(t *testing.T) {
	t.Parallel()
	options := Options{
		Metrics: prometheus.NewRegistry(),
		APIs: []web.API{
			{Name: "gated", Prefix: "/gated", Authenticator: rejectingAuthenticator{}, Fault: portal.Fault, FaultBody: portal.Failure{}},
			portal.API(adapters.Services{}),
		},
		Mounts: []Mount{{Prefix: "/taken", Name: "transport a", Handler: http.NotFoundHandler()}},
	}
	s, err := New(adapters.Services{}, options)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/healthz":        "the route GET /healthz",
		"/docs":           "the route",
		"/docs/mcp":       "the route",
		"/oauth":          "the route",
		"/problems/x":     "the route",
		"/api/listings":   "the route",
		"/api/listings/x": "the route",
		"/gated/x":        "is below /gated",
		"/taken":          "that of transport a, /taken",
		"/taken/x":        "that of transport a",
		"":                "not one like",
		"/":               "not one like",
		"/a/":             "not one like",
		"a":               "not one like",
		"/a/../b":         "not one like",
		"/:a":             "not one like",
		"/a*":             "not one like",
		"/a b":            "not one like",
	} {
		require.ErrorContains(t, s.checkMount(Mount{Prefix: path}, options.Mounts), want, path)
	}
	require.NoError(t, s.checkMount(Mount{Prefix: "/.well-known/mine"}, options.Mounts))
	options.Metrics = prometheus.NewRegistry()
	options.Mounts = append(options.Mounts, Mount{Prefix: "/healthz", Name: "transport b", Handler: http.NotFoundHandler()})
	_, err = New(adapters.Services{}, options)
	require.ErrorContains(t, err, "transport b: the path /healthz is that of the route GET /healthz")
}
