package fiberhttp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServer_Timeout_IsA503 checks that an operation that exceeds the timeout of its route (50
// ms) is a 503 that clients may repeat after a second.
func TestServer_Timeout_IsA503(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).get(t, "/test/hang")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, false, body["success"])
}

// TestServer_BodyAboveOneMiB_IsA413 checks the limit of a body on a route without a limit of its own. The text alone
// has 1 MiB.
func TestServer_BodyAboveOneMiB_IsA413(t *testing.T) {
	t.Parallel()

	const mebibyte = 1 << 20

	response, body := serveTest(t).post(t, "/test/echo/1", `{"text":"`+strings.Repeat("x", mebibyte)+`"}`)
	require.Equal(t, 413, response.StatusCode)
	require.Equal(t, "Request body too large", body["error"])
}

// TestServer_CompressedBody_IsRejected checks that compressed bodies are a 400: a small body
// could decompress to far more than the limit.
func TestServer_CompressedBody_IsRejected(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).post(t, "/test/echo/1", `{}`, header{"Content-Encoding", "gzip"})
	require.Equal(t, 400, response.StatusCode)
	require.Equal(t, "Content-Encoding", body["details"].(map[string]any)["field"])
}

// TestServer_RateLimit_HasRetryAfter checks that the response over a limit says when the next
// request is accepted. The route allows 2 requests per quarter of an hour.
func TestServer_RateLimit_HasRetryAfter(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for range 2 {
		response, _ := server.get(t, "/test/limited")
		require.Equal(t, 200, response.StatusCode)
	}

	response, body := server.get(t, "/test/limited")
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "Rate limit exceeded", body["error"])

	retryAfter, err := strconv.Atoi(response.Header.Get("Retry-After"))
	require.NoError(t, err)
	const quarterHour = 900
	require.LessOrEqual(t, retryAfter, quarterHour, "a quarter of an hour after the first request")
	require.GreaterOrEqual(t, retryAfter, quarterHour-30, "the three requests took less than 30 seconds")
}

// TestServer_KeptValues_DoNotChange checks that operations may keep strings of a request. Fiber
// reuses the memory of requests unless it is configured as Immutable. The test route keeps the
// ids of all requests, and fails if one of them has changed.
func TestServer_KeptValues_DoNotChange(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := range 50 {
				response, _ := server.post(t, fmt.Sprintf("/test/echo/%d-%d", worker, i), `{}`)
				if response.StatusCode != 200 {
					t.Errorf("status %d", response.StatusCode)
				}
			}
		})
	}

	workers.Wait()
}

// TestShutdown_RequestInFlight_Finishes checks that Shutdown accepts no more connections but
// completes a request that has begun.
func TestShutdown_RequestInFlight_Finishes(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	slowStatus := server.startSlowRequest("/test/slow")

	shutdownErr := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		shutdownErr <- server.Shutdown(ctx)
	}()

	server.waitUntilRefused(t)
	close(server.finishSlow)
	require.Equal(t, 200, <-slowStatus)
	require.NoError(t, <-shutdownErr)
}

// startSlowRequest sends a GET request and returns when its handler has sent to slowStarted. The
// channel receives the status of the response, or 0 if the request fails.
func (s *testServer) startSlowRequest(path string) <-chan int {
	status := make(chan int, 1)
	go func() {
		response, err := http.Get("http://" + s.addr + path)
		if err != nil {
			status <- 0
			return
		}

		_ = response.Body.Close()
		status <- response.StatusCode
	}()

	<-s.slowStarted

	return status
}

// waitUntilRefused waits until the server accepts no more connections.
func (s *testServer) waitUntilRefused(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = conn.Close()
		}

		return err != nil
	}, 20*time.Second, 5*time.Millisecond, "a stopping server accepts no connections")
}

// TestDrain_Readiness_IsStoppingWithoutErrorLog checks that a draining server reports that it is
// not ready, so that clients use other instances, and does not log that as an error.
func TestDrain_Readiness_IsStoppingWithoutErrorLog(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	server.Drain()

	response, body := server.get(t, "/readyz")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "stopping", body["adapters"].(map[string]any)["server"])
	require.Contains(t, server.log.String(), `"route":"/readyz","status":503`)
	require.NotContains(t, server.log.String(), `"level":"ERROR"`)
}

// TestDrain_Request_SucceedsAndClosesConnection checks that a draining server still handles
// requests, and closes their connections, so that the next ones go to other instances.
func TestDrain_Request_SucceedsAndClosesConnection(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	server.Drain()

	response, _ := server.get(t, "/test/echo/1")
	require.Equal(t, 200, response.StatusCode)
	require.True(t, response.Close)
}
