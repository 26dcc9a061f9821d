package fiberhttp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDownload_SlowClient_IsStreamedAndClosed checks that a download has its length and is
// closed after GET and HEAD, and that the write timeout begins anew with each chunk: a slow
// client may take longer than writeTimeout for the whole.
func TestDownload_SlowClient_IsStreamedAndClosed(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	for method, want := range map[string]int{"GET": 500_000, "HEAD": 0} {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+server.addr+"/test/table", nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		raw, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Len(t, raw, want)
		require.EqualValues(t, 500_000, response.ContentLength)
		require.Equal(t, `attachment; filename="t.csv"`, response.Header.Get("Content-Disposition"))
		require.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		require.Eventually(t, func() bool { return server.tables.Load() == 0 }, 5*time.Second, time.Millisecond, method)
	}

	ours, theirs := net.Pipe()
	defer func() { _ = ours.Close() }()
	require.NoError(t, ours.SetWriteDeadline(time.Now().Add(-time.Second))) // as after a slow chunk: every write would fail
	_, err := deadlineReader{io.NopCloser(strings.NewReader("more")), ours}.Read(make([]byte, 4))
	require.NoError(t, err)
	go func() { _, _ = ours.Write([]byte("more")) }()
	got := make([]byte, 4)
	_, err = io.ReadFull(theirs, got)
	require.NoError(t, err, "each read has its own timeout")
}

// TestServer_Timeout_IsA503 checks that an operation that exceeds the timeout of its route (50
// ms) is a 503 that clients may repeat after a second.
func TestServer_Timeout_IsA503(t *testing.T) {
	t.Parallel()
	response, body := serveTest(t).do(t, "GET", "/test/hang", "")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, false, body["success"])
}

func TestServer_BodyTooLarge_IsA413(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	response, body := f.do(t, "POST", "/test/echo/1", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	require.Equal(t, 413, response.StatusCode)
	require.Equal(t, "Request body too large", body["error"])
}

// TestServer_CompressedBody_IsRejected checks that compressed bodies are a 400: a small body
// could decompress to far more than the limit.
func TestServer_CompressedBody_IsRejected(t *testing.T) {
	t.Parallel()
	response, body := serveTest(t).do(t, "POST", "/test/echo/1", `{}`, "Content-Encoding", "gzip")
	require.Equal(t, 400, response.StatusCode)
	require.Equal(t, "Content-Encoding", body["details"].(map[string]any)["field"])
}

// TestServer_RateLimit_HasRetryAfter checks that the response over a limit says when the next
// request is accepted. The route allows 2 requests per quarter of an hour (900 s).
func TestServer_RateLimit_HasRetryAfter(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	for range 2 {
		response, _ := f.do(t, "GET", "/test/limited", "")
		require.Equal(t, 200, response.StatusCode)
	}
	response, body := f.do(t, "GET", "/test/limited", "")
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "Rate limit exceeded", body["error"])
	wait, err := strconv.Atoi(response.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.InDelta(t, 885, wait, 15, "a quarter of an hour after the first")
}

// TestServer_KeptValues_DoNotChange checks that operations may keep strings of a request. Fiber
// reuses the memory of requests unless it is configured as Immutable. The test route checks all
// earlier ids.
func TestServer_KeptValues_DoNotChange(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				response, _ := f.do(t, "POST", fmt.Sprintf("/test/echo/%d-%d", worker, i), `{}`)
				if response.StatusCode != 200 {
					t.Errorf("status %d", response.StatusCode)
				}
			}
		})
	}
	wg.Wait()
}

// TestReady_DegradedAdapter_IsReady checks that /readyz reports each adapter and is a 503
// because the database is down; a degraded limiter alone would not be. /healthz stays 200, so
// that an orchestrator does not restart the process for an outage of the database.
func TestReady_DegradedAdapter_IsReady(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	response, body := f.do(t, "GET", "/readyz", "")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, map[string]any{"ready": false, "adapters": map[string]any{"database": "down", "limiter": "degraded"}}, body)
	response, _ = f.do(t, "GET", "/healthz", "")
	require.Equal(t, 200, response.StatusCode)
}

// TestUnavailable_Repeated_IsCountedAndLoggedOncePerSecond checks that each 503 is in the
// metrics, and that its cause is logged at most once per second, so that an outage does not fill
// the log.
func TestUnavailable_Repeated_IsCountedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	begun := time.Now()
	for range 10 {
		response, _ := server.do(t, "GET", "/test/hang", "")
		require.Equal(t, 503, response.StatusCode)
	}
	seconds := int(time.Since(begun)/time.Second) + 1
	logged := strings.Count(server.log.String(), `"msg":"service unavailable","cause":"request: timeout","error":"context deadline exceeded"`)
	require.GreaterOrEqual(t, logged, 1)
	require.LessOrEqual(t, logged, seconds)
	response, err := http.Get("http://" + server.addr + "/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), `locum_unavailable_total{cause="request: timeout"} 10`)
}

// TestMetrics_Labels_AreRoutes checks that labels contain the templates of routes and no ids:
// clients could otherwise create any number of time series.
func TestMetrics_Labels_AreRoutes(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	f.do(t, "GET", "/test/echo/some-id", "")
	f.do(t, "GET", "/some/other-id", "")
	response, err := http.Get("http://" + f.addr + "/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), `locum_http_requests_total{method="GET",route="/test/echo/:id",status="200"} 1`)
	require.Contains(t, string(text), `route="unknown",status="404"`)
	require.NotContains(t, string(text), "some-id")
	require.NotContains(t, string(text), "other-id")
}

// TestDocs_UnknownFile_IsNotFound checks that unknown files below /docs, and files that are
// templates, are a 404 in the format of the API, with the headers of every response.
func TestDocs_UnknownFile_IsNotFound(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	for _, nothing := range []string{"/docs/zzz", "/docs/page.html", "/docs/a/b.js", "/zzz"} {
		response, body := f.do(t, "GET", nothing, "")
		require.Equal(t, 404, response.StatusCode, nothing)
		require.Equal(t, map[string]any{"success": false, "error": "Not found"}, body, nothing)
		require.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"), nothing)
		require.NotEmpty(t, response.Header.Get("X-Request-Id"), nothing)
		require.NotEmpty(t, response.Header.Get("X-Content-Type-Options"), nothing)
	}
}

// TestDocs_Page_LoadsOnlyFromThisServer checks that the documentation works without internet
// access and sends no requests of its readers to other hosts.
func TestDocs_Page_LoadsOnlyFromThisServer(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	response, err := http.Get("http://" + server.addr + "/docs")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	require.NotContains(t, string(page), `src="http`)
	require.NotContains(t, string(page), `href="http`)
	require.NotContains(t, string(page), `="//`)
	for _, asset := range []string{"/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/openapi/portal.json"} {
		response, err := http.Get("http://" + server.addr + asset)
		require.NoError(t, err)
		_ = response.Body.Close()
		require.Equal(t, 200, response.StatusCode, asset)
	}
}

// TestShutdown_RequestInFlight_Finishes checks that Shutdown accepts no more connections but
// completes a request that has begun.
func TestShutdown_RequestInFlight_Finishes(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	answered := make(chan int, 1)
	go func() {
		response, err := http.Get("http://" + server.addr + "/test/slow")
		if err != nil {
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	<-server.entered
	stopped := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		stopped <- server.server.Shutdown(ctx)
	}()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", server.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 2*time.Second, 5*time.Millisecond, "a stopping server accepts no connections")
	close(server.release)
	require.Equal(t, 200, <-answered)
	require.NoError(t, <-stopped)
}

// TestCache_WriteOfThisProcess_Invalidates checks that a cached response is not served after a
// write of this process, nor to a request with a token, nor for longer than about a second, so
// that writes of other processes become visible.
func TestCache_WriteOfThisProcess_Invalidates(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	read := func(header ...string) any {
		t.Helper()
		response, body := server.do(t, "GET", "/test/count?a=1", "", header...)
		require.Equal(t, 200, response.StatusCode)
		require.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"))
		return body["message"]
	}
	// On a busy machine two reads may take longer than the cache.
	kept := func() (answer any) {
		t.Helper()
		require.Eventually(t, func() bool { answer = read(); return answer == read() }, 20*time.Second,
			time.Millisecond, "the response is cached")
		return answer
	}
	first := kept()
	server.changes.Add(1)
	require.NotEqual(t, first, read(), "a committed write invalidates the cached response at once")
	second := kept()
	require.NotEqual(t, second, read("Authorization", "Bearer x"), "responses to identified callers are not cached")
	require.Eventually(t, func() bool { return read() != second }, 5*time.Second, 50*time.Millisecond, "the cached response expires")
}
