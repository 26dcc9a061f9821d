package fiberhttp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCache_WriteOfThisProcess_Invalidates checks that a cached response is not served after a
// write of this process, nor to a request with a token, nor for longer than about a second, so
// that writes of other processes become visible.
func TestCache_WriteOfThisProcess_Invalidates(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	// read returns the number of requests that the route has handled so far: a response from the
	// cache has the same number as the one before.
	read := func(headers ...header) any {
		t.Helper()

		response, body := server.get(t, "/test/count?a=1", headers...)
		require.Equal(t, 200, response.StatusCode)
		require.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"))

		return body["message"]
	}

	// readCached reads until two responses are equal: on a busy machine two reads may take longer
	// than a response is cached.
	readCached := func() (cached any) {
		t.Helper()
		require.Eventually(t, func() bool {
			cached = read()
			return read() == cached
		}, 20*time.Second, time.Millisecond, "the response is cached")

		return cached
	}

	beforeWrite := readCached()

	server.publicChanges.Add(1)
	require.NotEqual(t, beforeWrite, read(), "a committed write invalidates the cached response at once")

	afterWrite := readCached()
	withToken := header{"Authorization", "Bearer x"}
	require.NotEqual(t, afterWrite, read(withToken), "responses to identified callers are not cached")
	require.Eventually(t, func() bool { return read() != afterWrite }, 5*time.Second, 50*time.Millisecond,
		"the cached response expires")
}
