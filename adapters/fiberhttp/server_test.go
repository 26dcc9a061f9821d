package fiberhttp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServer_Timeout_IsA503 checks that the response is a 503, which clients may repeat after a second,
// if an operation exceeds the timeout of its route, here 50 ms.
func TestServer_Timeout_IsA503(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).get(t, "/test/hang")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, false, body["success"])
}

// TestServer_BodyAboveOneMiB_IsA413 checks the limit of a body on a route without a limit of its own.
// The text alone has 1 MiB, so that the body with the JSON around the text exceeds the limit.
func TestServer_BodyAboveOneMiB_IsA413(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).post(t, "/test/echo/1", jsonOfText(mebibyte))
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

// TestServer_RateLimit_HasRetryAfter checks that the response over a limit says in Retry-After after
// how many seconds the next request is accepted. The route accepts callsPerQuarterHour.
func TestServer_RateLimit_HasRetryAfter(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for range callsPerQuarterHour {
		response, _ := server.get(t, "/test/limited")
		require.Equal(t, 200, response.StatusCode)
	}

	// The next request exceeds the limit.
	response, body := server.get(t, "/test/limited")
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "Rate limit exceeded", body["error"])

	retryAfter, err := strconv.Atoi(response.Header.Get("Retry-After"))
	require.NoError(t, err)

	// The limit accepts another request a quarter of an hour after the first one.
	const quarterHour, maxTestTime = 15 * 60, 30 // seconds
	require.LessOrEqual(t, retryAfter, quarterHour)
	require.GreaterOrEqual(t, retryAfter, quarterHour-maxTestTime, "the requests took longer than expected")
}

// TestServer_KeptValues_DoNotChange checks that operations may keep strings of a request. Fiber
// reuses the memory of requests unless it is configured as Immutable. The echo route keeps the ids of
// all requests, and fails if one of them has changed. Concurrent requests with different ids make it
// likely that memory is reused.
func TestServer_KeptValues_DoNotChange(t *testing.T) {
	t.Parallel()

	const concurrentClients, requestsPerClient = 8, 50

	server := serveTest(t)

	var clients sync.WaitGroup
	for client := range concurrentClients {
		clients.Go(func() {
			for request := range requestsPerClient {
				path := fmt.Sprintf("/test/echo/%d-%d", client, request)

				response, _ := server.post(t, path, `{}`)
				if response.StatusCode != 200 {
					t.Errorf("%s: status %d", path, response.StatusCode)
				}
			}
		})
	}

	clients.Wait()
}

// TestShutdown_RequestInFlight_Finishes checks that Shutdown accepts no more connections but
// completes a request that has begun.
func TestShutdown_RequestInFlight_Finishes(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	slowStatus := server.startSlowRequest("/test/slow")

	// Shut the server down while the request is in progress.
	shutdownErr := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		shutdownErr <- server.Shutdown(ctx)
	}()

	// When the server accepts no more connections, let the request finish.
	server.waitUntilRefused(t)
	close(server.finishSlow)
	require.Equal(t, 200, <-slowStatus)
	require.NoError(t, <-shutdownErr)
}

// startSlowRequest sends a GET request to /test/slow or /mount/slow, and returns when the server
// executes its handler. The handler responds when finishSlow is closed. The returned channel then
// receives the status of the response, or 0 if the request fails.
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

	isRefused := func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = conn.Close()
		}

		return err != nil
	}
	require.Eventually(t, isRefused, 20*time.Second, 5*time.Millisecond, "a stopping server accepts no connections")
}

// TestDrain_Readiness_IsStoppingWithoutErrorLog checks that a server that is about to stop (Drain)
// reports that it is not ready, so that clients use other instances, and that the log does not have
// this as an error.
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
	require.True(t, response.Close, "the response has Connection: close")
}
