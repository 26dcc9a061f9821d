package fiberhttp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCache_Response_IsServedUntilWriteOrExpiry checks that a public response is cached, and that the
// cached response is not served in three cases: after a write of this process, to a request with a
// token, and after about a second, so that writes of other processes become visible.
func TestCache_Response_IsServedUntilWriteOrExpiry(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	// read requests a cached route, and returns the message of the response: the number of requests that have
	// reached the operation. A response from the cache has the same number as the one before.
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

	// A write of this process. The server notices it by the number of changes.
	beforeWrite := readCached()

	server.publicChanges.Add(1)
	require.NotEqual(t, beforeWrite, read(), "a committed write invalidates the cached response at once")

	// A request with a token, whose response may be another one than that for guests.
	afterWrite := readCached()
	withToken := header{"Authorization", "Bearer x"}
	require.NotEqual(t, afterWrite, read(withToken), "responses to identified callers are not cached")

	// The time for which a response is cached passes.
	isExpired := func() bool { return read() != afterWrite }
	require.Eventually(t, isExpired, 5*time.Second, 50*time.Millisecond, "the cached response expires")
}
