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

// TestMount_RequestAndResponse_ArePassedOn checks the request that a mounted handler receives, with a
// body of known and of unknown length, and the response that the client receives: that of the handler
// with the security headers and the request id of the server.
//
// The handler at /mount is describeRequest below. Its response is a JSON string that describes the
// request: "METHOD q X-Sent body", where q is a parameter of the query and X-Sent is a header.
func TestMount_RequestAndResponse_ArePassedOn(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for name, body := range map[string]io.Reader{
		"body of known length": strings.NewReader("body"),
		"chunked body":         io.MultiReader(strings.NewReader("bo"), strings.NewReader("dy")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			response, text := server.send(t, "POST", "/mount?q=a%20b", body, header{"X-Sent", "yes"})

			// The handler has received the method POST, the parameter "a b", the header "yes" and the whole body.
			require.Equal(t, `"POST a b yes body"`, text)
			require.Equal(t, response.Header.Get("X-Request-Id"), response.Header.Get("X-Id"), "the id that the handler received")

			// The client receives the status and all headers that describeRequest sets, and a header of the server.
			require.Equal(t, 202, response.StatusCode)
			require.Equal(t, []string{"A", "B"}, response.Header.Values("Vary"))
			require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		})
	}

	for _, method := range []string{"GET", "DELETE", "OPTIONS", "PATCH"} {
		t.Run(method+" without query, header and body", func(t *testing.T) {
			t.Parallel()

			const noParameter, noHeader = "", ""

			_, text := server.send(t, method, "/mount", http.NoBody)
			require.Equal(t, fmt.Sprintf(`"%s %s %s %s"`, method, noParameter, noHeader, noBody), text)
		})
	}
}

// TestMount_Status_IsThatOfTheHandlerAndLoggedAsOneRoute checks that errors of a mount are not
// replaced by those of the server, and that requests to all paths of a mount are logged as one route.
func TestMount_Status_IsThatOfTheHandlerAndLoggedAsOneRoute(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for path, wantStatus := range map[string]int{
		"/mount":         202, // of describeRequest
		"/mount/nothing": 404, // of the handler, which has no such path
		"/mount/refuse":  401,
		"/mounted":       404, // of the server: the path is not below /mount
	} {
		response, _ := server.getText(t, path)
		require.Equal(t, wantStatus, response.StatusCode, path)
	}

	const onlyNothing = 1 // of the two requests with a 404, only that for /mount/nothing is below /mount

	log := server.log.String()
	require.Contains(t, log, `"route":"/mount","status":202`)
	require.Equal(t, onlyNothing, strings.Count(log, `"route":"/mount","status":404`))
}

// TestMount_ForwardedAddress_CountsOnlyFromTrustedProxy checks that a handler gets the address of
// the peer as RemoteAddr, and the forwarded address only if the peer is a trusted proxy. The peer is
// the test itself, at 127.0.0.1. The response has the RemoteAddr in the header X-Client.
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
// the client, here one of fewer than 8 characters. The response has the id that the handler got in
// the header X-Id.
func TestMount_InvalidRequestID_IsReplaced(t *testing.T) {
	t.Parallel()

	const tooShort = "short"

	response, _ := serveTest(t).getText(t, "/mount", header{"X-Request-Id", tooShort})
	require.NotEqual(t, tooShort, response.Header.Get("X-Id"))
}

// TestMount_BodyAboveLimit_IsAnError checks that a body above web.DefaultBody fails with
// http.MaxBytesError, which the handler answers with a 413. A body of exactly the limit is accepted.
// The memory of both is released after the requests.
func TestMount_BodyAboveLimit_IsAnError(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	postBody := func(size int) (*http.Response, string) {
		return server.send(t, "POST", "/mount", strings.NewReader(strings.Repeat("x", size)))
	}

	response, _ := postBody(web.DefaultBody + 1)
	require.Equal(t, 413, response.StatusCode)

	response, text := postBody(web.DefaultBody)
	require.Equal(t, 202, response.StatusCode)
	require.Greater(t, len(text), web.DefaultBody, "the handler repeats the whole body")

	isMemoryReleased := func() bool { return server.bodyMemory.used.Load() == 0 }
	require.Eventually(t, isMemoryReleased, 20*time.Second, time.Millisecond, "the memory of bodies is released")
}

// TestMount_BodyThatIsNotRead_DoesNotDelayTheResponse checks that a handler can refuse a request
// before its body arrives. The connection is closed, because the body was not read.
func TestMount_BodyThatIsNotRead_DoesNotDelayTheResponse(t *testing.T) {
	t.Parallel()

	const firstByte = "x" // of a body of 1,000 bytes, the rest of which is never sent

	status, isClosed := serveTest(t).sendRaw(t, rawPost("/mount/refuse", "Content-Length: 1000\r\n", firstByte))
	require.Equal(t, 401, status)
	require.True(t, isClosed)
}

// TestMount_Panic_EndsOneRequest checks that the panic of a handler is a 500 without details,
// and that the next request succeeds.
func TestMount_Panic_EndsOneRequest(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	response, text := server.getText(t, "/mount/panic")
	require.Equal(t, 500, response.StatusCode)
	require.NotContains(t, text, "secret", "the value of the panic is \"secret inside\"")

	response, _ = server.getText(t, "/mount")
	require.Equal(t, 202, response.StatusCode)
}

// TestMount_Unavailable_IsCountedAndLoggedOncePerSecond checks that each 503 is counted by its
// cause, and that each cause is logged at most once per second: during an outage there may be
// thousands of responses. A 503 of a handler that reports no fault is counted under the name of its
// transport.
func TestMount_Unavailable_IsCountedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()

	const requestsPerPath = 10

	// The paths of the test mount, which is named "transport test", and what the server records for them.
	tests := []struct{ path, wantCause, wantErrorJSON string }{
		// The handler reports a fault with a reason, which is the cause, and with an underlying error.
		{path: "/mount/unavailable", wantCause: "test: down", wantErrorJSON: `"no route"`},
		// The handler sets the status without a report.
		{path: "/mount/unreported", wantCause: "transport test", wantErrorJSON: "null"},
	}

	server := serveTest(t)
	startedAt := time.Now()

	for range requestsPerPath {
		for _, test := range tests {
			response, _ := server.getText(t, test.path)
			require.Equal(t, 503, response.StatusCode, test.path)
		}
	}

	// On a busy machine the requests may take several seconds, each of which may have a log line.
	maxLogLines := secondsBegunSince(startedAt)

	_, metrics := server.getText(t, "/metrics")
	for _, test := range tests {
		require.Contains(t, metrics, fmt.Sprintf("locum_unavailable_total{cause=%q} %d", test.wantCause, requestsPerPath))

		logLine := fmt.Sprintf(`"msg":"service unavailable","cause":%q,"error":%s`, test.wantCause, test.wantErrorJSON)
		logged := strings.Count(server.log.String(), logLine)
		require.Positive(t, logged, test.path)
		require.LessOrEqual(t, logged, maxLogLines, test.path)
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

// TestMount_Shutdown_WaitsForRequests checks that Shutdown refuses new connections and returns only
// after the handler of a request in progress has responded. The handler at /mount/slow responds when
// finishSlow is closed. Its status is 204 if the context of the request has a deadline, as it must.
func TestMount_Shutdown_WaitsForRequests(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	slowStatus := server.startSlowRequest("/mount/slow")
	server.Drain()

	shutdownErr := make(chan error, 1)
	go func() { shutdownErr <- server.Shutdown(context.Background()) }()

	server.waitUntilRefused(t)
	require.Empty(t, shutdownErr, "Shutdown returned before the handler")

	close(server.finishSlow)
	require.Equal(t, 204, <-slowStatus)
	require.NoError(t, <-shutdownErr)
}

// TestCheckMount_UnusablePath_IsAnError checks that a mount must not hide a route, another mount, or
// an API with an Authenticator, and that its path must be a literal path such as /mcp.
func TestCheckMount_UnusablePath_IsAnError(t *testing.T) {
	t.Parallel()

	options := optionsWithMountAndGatedAPI() // the mount is /taken, and the API is /gated
	server, err := New(adapters.Services{}, options)
	require.NoError(t, err)

	for path, wantError := range map[string]string{
		// Paths of routes, of the API with an Authenticator, and of the other mount.
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
		// Paths that are not like /mcp: not literal, not clean, or without a segment.
		"":        "not one like",
		"/":       "not one like",
		"/a/":     "not one like",
		"a":       "not one like",
		"/a/../b": "not one like",
		"/:a":     "not one like",
		"/a*":     "not one like",
		"/a b":    "not one like",
	} {
		require.ErrorContains(t, server.checkMount(Mount{Prefix: path}, options.Mounts), wantError, path)
	}

	require.NoError(t, server.checkMount(Mount{Prefix: "/.well-known/mine"}, options.Mounts))
}

// TestNew_MountOnRoute_IsAnError checks that a server does not start with a mount that would hide
// a route, and that the error names both.
func TestNew_MountOnRoute_IsAnError(t *testing.T) {
	t.Parallel()

	options := optionsWithMountAndGatedAPI()
	options.Mounts = append(options.Mounts, Mount{Prefix: "/healthz", Name: "transport b", Handler: http.NotFoundHandler()})
	_, err := New(adapters.Services{}, options)
	require.ErrorContains(t, err, "transport b: the path /healthz overlaps the route GET /healthz")
}

// optionsWithMountAndGatedAPI returns the options of a server with a mount at /taken and an API below
// /gated that authenticates its requests.
func optionsWithMountAndGatedAPI() Options {
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

// Authenticate implements web.Authenticator.
func (rejectingAuthenticator) Authenticate(context.Context, web.AuthRequest) (integrations.Caller, map[string]string, error) {
	return integrations.Caller{}, nil, fault.ErrUnauthorized
}

// Done implements web.Authenticator.
func (rejectingAuthenticator) Done(integrations.Caller, int) {}

// testMount returns a mount with a path below /mount for each way in which a handler can respond. It
// stands for another transport, such as an MCP server.
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

// describeRequest responds with a JSON string of the method, the parameter q, the header X-Sent and
// the body of the request, separated by spaces. The headers X-Client and X-Id of the response are the
// address of the client and the request id that the handler got.
func describeRequest(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)

	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}

	clientAddress, _, _ := net.SplitHostPort(r.RemoteAddr)
	w.Header().Set("X-Client", clientAddress)
	w.Header().Set("X-Id", r.Header.Get("X-Request-Id"))
	w.Header().Set("Content-Length", "1000") // wrong: the server must replace it
	w.Header().Add("Vary", "A")
	w.Header().Add("Vary", "B")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)

	_, _ = fmt.Fprintf(w, `"%s %s %s %s"`, r.Method, r.URL.Query().Get("q"), r.Header.Get("X-Sent"), body)
}
