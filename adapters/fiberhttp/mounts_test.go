package fiberhttp

import (
	"context"
	"errors"
	"fmt"
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

// TestMount_Request_ReachesTheHandler checks the request that a mounted handler receives, with a
// body of known and of unknown length, and that its response has the security headers and the
// request id of the server.
func TestMount_Request_ReachesTheHandler(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for name, body := range map[string]io.Reader{
		"body of known length": strings.NewReader("body"),
		"chunked body":         io.MultiReader(strings.NewReader("bo"), strings.NewReader("dy")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			response, text := server.send(t, "POST", "/mount?q=a%20b", body, header{"X-Sent", "yes"})
			require.Equal(t, 202, response.StatusCode)
			require.Equal(t, `"POST a b yes body"`, text)
			require.Equal(t, []string{"A", "B"}, response.Header.Values("Vary"))
			require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
			require.Equal(t, response.Header.Get("X-Request-Id"), response.Header.Get("X-Id"))
		})
	}

	for _, method := range []string{"GET", "DELETE", "OPTIONS", "PATCH"} {
		t.Run(method+" without query, header and body", func(t *testing.T) {
			t.Parallel()

			_, text := server.send(t, method, "/mount", http.NoBody)
			require.Equal(t, `"`+method+`   "`, text)
		})
	}
}

// TestMount_Status_IsThatOfTheHandler checks that errors of a mount are not replaced by those of
// the server, and that all its requests are logged as one route.
func TestMount_Status_IsThatOfTheHandler(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for path, want := range map[string]int{
		"/mount":         202,
		"/mount/nothing": 404,
		"/mount/refuse":  401,
		"/mounted":       404, // of the server: the path is not below /mount
	} {
		response, _ := server.getText(t, path)
		require.Equal(t, want, response.StatusCode, path)
	}

	require.Contains(t, server.log.String(), `"route":"/mount","status":202`)
	require.Equal(t, 1, strings.Count(server.log.String(), `"route":"/mount","status":404`), "/mounted is not below /mount")
}

// TestMount_ForwardedAddress_CountsOnlyFromTrustedProxy checks that a handler gets the address of
// the peer as RemoteAddr unless the peer is a trusted proxy.
func TestMount_ForwardedAddress_CountsOnlyFromTrustedProxy(t *testing.T) {
	t.Parallel()

	forwarded := header{"X-Forwarded-For", "10.1.2.3"}
	response, _ := serveTest(t).getText(t, "/mount", forwarded)
	require.Equal(t, "127.0.0.1", response.Header.Get("X-Client"))

	behindProxy := serveTest(t, netip.MustParsePrefix("127.0.0.1/32"))
	response, _ = behindProxy.getText(t, "/mount", forwarded)
	require.Equal(t, "10.1.2.3", response.Header.Get("X-Client"))
}

// TestMount_InvalidRequestID_IsReplaced checks that a handler never gets an invalid request id of
// the client.
func TestMount_InvalidRequestID_IsReplaced(t *testing.T) {
	t.Parallel()

	response, _ := serveTest(t).getText(t, "/mount", header{"X-Request-Id", "short"})
	require.NotEqual(t, "short", response.Header.Get("X-Id"))
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
	require.Greater(t, len(text), web.DefaultBody, "the handler repeats the whole body")
	require.Eventually(t, func() bool { return server.bodyMemory.used.Load() == 0 }, 20*time.Second,
		time.Millisecond, "the memory of bodies is released")
}

// TestMount_BodyThatIsNotRead_DoesNotDelayTheResponse checks that a handler can refuse a request
// before its body arrives. The connection is closed, because the body was not read.
func TestMount_BodyThatIsNotRead_DoesNotDelayTheResponse(t *testing.T) {
	t.Parallel()

	status, closed := serveTest(t).sendRaw(t, rawPost("/mount/refuse", "Content-Length: 1000\r\n", "x"))
	require.Equal(t, 401, status)
	require.True(t, closed)
}

// TestMount_Panic_EndsOneRequest checks that the panic of a handler is a 500 without details,
// and that the next request succeeds.
func TestMount_Panic_EndsOneRequest(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	response, text := server.getText(t, "/mount/panic")
	require.Equal(t, 500, response.StatusCode)
	require.NotContains(t, text, "secret")

	response, _ = server.getText(t, "/mount")
	require.Equal(t, 202, response.StatusCode)
}

// TestMount_Unavailable_IsCountedAndLoggedOncePerSecond checks that each 503 is counted by its
// cause, and logged at most once per second: during an outage there may be thousands. A handler
// that reports no fault is counted under the name of its transport.
func TestMount_Unavailable_IsCountedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	startedAt := time.Now()

	for range 10 {
		for _, path := range []string{"/mount/unavailable", "/mount/unreported"} {
			response, _ := server.getText(t, path)
			require.Equal(t, 503, response.StatusCode)
		}
	}

	startedSeconds := int(time.Since(startedAt)/time.Second) + 1 // each may have a log line

	_, metrics := server.getText(t, "/metrics")
	for _, want := range []struct{ cause, errorJSON string }{
		{cause: "test: down", errorJSON: `"no route"`},
		{cause: "transport test", errorJSON: "null"},
	} {
		require.Contains(t, metrics, `locum_unavailable_total{cause="`+want.cause+`"} 10`)

		logLine := `"msg":"service unavailable","cause":"` + want.cause + `","error":` + want.errorJSON
		logged := strings.Count(server.log.String(), logLine)
		require.Positive(t, logged)
		require.LessOrEqual(t, logged, startedSeconds)
	}
}

// TestMount_InternalFault_IsLogged checks that an error that the handler reports is in the log
// with the request id that the client got.
func TestMount_InternalFault_IsLogged(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	response, _ := server.getText(t, "/mount/broken")
	requestID := response.Header.Get("X-Request-Id")
	require.Contains(t, server.log.String(),
		`"msg":"request failed","request_id":"`+requestID+`","method":"GET","path":"/mount/broken","error":"secret inside"`)
}

// TestMount_Shutdown_WaitsForRequests checks that Shutdown refuses new connections and returns
// only after the handler has responded. The handler responds 204 if its context has a deadline.
func TestMount_Shutdown_WaitsForRequests(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	slowStatus := server.startSlowRequest("/mount/slow")
	server.Drain()

	shutdownErr := make(chan error, 1)
	go func() { shutdownErr <- server.Shutdown(context.Background()) }()

	server.waitUntilRefused(t)
	require.Empty(t, shutdownErr)
	close(server.finishSlow)
	require.Equal(t, 204, <-slowStatus)
	require.NoError(t, <-shutdownErr)
}

// TestCheckMount_PathOfAnotherRoute_IsAnError checks that a mount must not hide a route, another
// mount, or an API with an Authenticator, and that its path is not a pattern.
func TestCheckMount_PathOfAnotherRoute_IsAnError(t *testing.T) {
	t.Parallel()

	options := optionsWithMount()
	server, err := New(adapters.Services{}, options)
	require.NoError(t, err)

	for path, wantError := range map[string]string{
		"/healthz":        "the route GET /healthz",
		"/docs":           "the route",
		"/docs/mcp":       "the route",
		"/oauth":          "the route",
		"/problems/x":     "the route",
		"/api/listings":   "the route",
		"/api/listings/x": "the route",
		"/gated/x":        "is below /gated",
		"/taken":          "overlaps /taken of transport a",
		"/taken/x":        "overlaps /taken of transport a",
		"":                "not one like",
		"/":               "not one like",
		"/a/":             "not one like",
		"a":               "not one like",
		"/a/../b":         "not one like",
		"/:a":             "not one like",
		"/a*":             "not one like",
		"/a b":            "not one like",
	} {
		require.ErrorContains(t, server.checkMount(Mount{Prefix: path}, options.Mounts), wantError, path)
	}

	require.NoError(t, server.checkMount(Mount{Prefix: "/.well-known/mine"}, options.Mounts))
}

// TestNew_MountOnRoute_IsAnError checks that a server does not start with a mount that would hide
// a route, and that the error names both.
func TestNew_MountOnRoute_IsAnError(t *testing.T) {
	t.Parallel()

	options := optionsWithMount()
	options.Mounts = append(options.Mounts, Mount{Prefix: "/healthz", Name: "transport b", Handler: http.NotFoundHandler()})
	_, err := New(adapters.Services{}, options)
	require.ErrorContains(t, err, "transport b: the path /healthz overlaps the route GET /healthz")
}

// optionsWithMount returns the options of a server with a mount at /taken and an API below /gated
// that authenticates its requests.
func optionsWithMount() Options {
	gated := web.API{
		Name:          "gated",
		Prefix:        "/gated",
		Authenticator: rejectingAuthenticator{},
		Fault:         portal.Fault,
		FaultBody:     portal.Failure{},
	}

	return Options{
		Metrics: prometheus.NewRegistry(),
		APIs:    []web.API{gated, portal.API(adapters.Services{})},
		Mounts:  []Mount{{Prefix: "/taken", Name: "transport a", Handler: http.NotFoundHandler()}},
	}
}

// rejectingAuthenticator rejects every request.
type rejectingAuthenticator struct{}

func (rejectingAuthenticator) Authenticate(context.Context, web.AuthRequest) (integrations.Caller, map[string]string, error) {
	return integrations.Caller{}, nil, fault.ErrUnauthorized
}

func (rejectingAuthenticator) Done(integrations.Caller, int) {}

// testMount returns a handler of another transport, with a path below /mount for each behaviour.
func testMount(server *testServer) Mount {
	mux := http.NewServeMux()
	mux.HandleFunc("/mount", describeRequest)
	mux.HandleFunc("/mount/refuse", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	})

	mux.HandleFunc("/mount/unavailable", func(w http.ResponseWriter, r *http.Request) {
		web.ReportFault(r.Context(), fault.ErrUnavailable.WithReason("test: down").WithCause(errors.New("no route")))
		w.WriteHeader(http.StatusServiceUnavailable)
	})

	mux.HandleFunc("/mount/unreported", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/mount/broken", func(_ http.ResponseWriter, r *http.Request) {
		web.ReportFault(r.Context(), errors.New("secret inside"))
	})
	mux.HandleFunc("/mount/panic", func(http.ResponseWriter, *http.Request) { panic("secret inside") })

	mux.HandleFunc("/mount/slow", func(w http.ResponseWriter, r *http.Request) {
		_, hasDeadline := r.Context().Deadline()
		server.slowStarted <- struct{}{}

		<-server.finishSlow

		if hasDeadline {
			w.WriteHeader(http.StatusNoContent)
		}
	})

	return Mount{Prefix: "/mount", Name: "transport test", Handler: mux}
}

// describeRequest responds with the method, the parameter q, the header X-Sent and the body of
// the request, separated by spaces. The headers X-Client and X-Id are the address of the client
// and the request id that the handler got.
func describeRequest(w http.ResponseWriter, r *http.Request) {
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

	_, _ = fmt.Fprintf(w, `"%s %s %s %s"`, r.Method, r.URL.Query().Get("q"), r.Header.Get("X-Sent"), body)
}
