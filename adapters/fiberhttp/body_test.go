package fiberhttp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestReadBody_TooLarge_RefusedByHeadAlone checks that a Content-Length above the limit of the
// route is a 413 before any byte of the body arrives, and that the server closes the connection,
// on which the body would follow.
func TestReadBody_TooLarge_RefusedByHeadAlone(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	limitsByPath := map[string]int{"/test/echo/1": 1 << 20, "/test/small/1": 1000} // of the routes in testRoutes
	for path, limit := range limitsByPath {
		status, closed := server.sendRaw(t, rawPost(path, fmt.Sprintf("Content-Length: %d\r\n", limit+1), ""))
		require.Equal(t, 413, status, path)
		require.True(t, closed, path)
	}
}

// TestReadBody_TooLarge_ResponseDelivered checks that a client that sends all of a refused body
// still receives the 413: closing at once would reset the connection and destroy the response.
func TestReadBody_TooLarge_ResponseDelivered(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	const limit, moreThanDiscarded = 1 << 20, 10 << 20

	for name, size := range map[string]int{
		"one byte above the limit":              limit + 1,
		"more than is discarded (discardBytes)": moreThanDiscarded,
	} {
		response, _ := server.post(t, "/test/echo/1", strings.Repeat("x", size))
		require.Equal(t, 413, response.StatusCode, name)
	}
}

// TestReadBody_ChunkedTooLarge_Refused checks that a chunked body, which has no length in its
// head, is refused when it exceeds the limit of the route, which is 1,000 bytes.
func TestReadBody_ChunkedTooLarge_Refused(t *testing.T) {
	t.Parallel()

	// One chunk of 2,000 bytes, and the last chunk, which has the length 0.
	const size = 2000
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("x", size))

	status, _ := serveTest(t).sendRaw(t, rawPost("/test/small/1", "Transfer-Encoding: chunked\r\n", chunks))
	require.Equal(t, 413, status)
}

// TestReadBody_RateLimit_CountsRefusedBody checks that requests with a body that is too large
// count towards the rate limit of the route, which allows 2.
func TestReadBody_RateLimit_CountsRefusedBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for number, want := range []int{413, 413, 429} {
		status, _ := server.sendRaw(t, rawPost("/test/small-limited/1", "Content-Length: 5000\r\n", ""))
		require.Equal(t, want, status, "request %d", number)
	}
}

// TestReadBody_Pipelined_EachRequestHasItsBody checks that the server finds the end of each body
// on a connection with several requests. Bodies stay in the connection until a route reads them,
// so that a wrong end would make bytes of a body the head of the next request.
func TestReadBody_Pipelined_EachRequestHasItsBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	withLength := func(id, text string) string {
		body := `{"text":"` + text + `"}`
		return rawPost("/test/echo/"+id, fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)
	}

	requests := []struct{ raw, wantInResponse string }{
		{raw: withLength("1", "a"), wantInResponse: `"id":"1","text":"a"`},
		{
			raw: rawPost("/test/echo/2", "Transfer-Encoding: chunked\r\n",
				"5\r\n{\"tex\r\n9\r\nt\":\"b\"}  \r\n0\r\nX-Trailer: 1\r\n\r\n"),
			wantInResponse: `"id":"2","text":"b"`,
		},
		// A body that no route reads, and that looks like the end of a head.
		{raw: rawPost("/test/nowhere", "Content-Length: 4\r\n", "\r\n\r\n"), wantInResponse: "Not found"},
		// The next head follows an empty line, which servers should ignore (RFC 9112 §2.2).
		{raw: withLength("3", `\r\n\r\n`) + "\r\n", wantInResponse: `"id":"3","text":"\r\n\r\n"`},
		{raw: withLength("4", strings.Repeat("c", 20_000)), wantInResponse: `"id":"4","text":"ccc`},
	}

	var pipeline strings.Builder
	for _, request := range requests {
		pipeline.WriteString(request.raw)
	}

	_, r := server.dial(t, pipeline.String())
	for _, request := range requests {
		_, body := readResponse(t, r)
		require.Contains(t, body, request.wantInResponse, "response to %.60q", request.raw)
	}
}

// TestReadBody_ExpectContinue_AsksOnlyForAcceptedBody checks that a client that waits for 100
// Continue gets it before the body is read, and gets the 413 in its place if the body is too
// large.
func TestReadBody_ExpectContinue_AsksOnlyForAcceptedBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	t.Run("body within the limit", func(t *testing.T) {
		t.Parallel()

		conn, r := server.dial(t, rawPost("/test/echo/1", "Content-Length: 2\r\nExpect: 100-continue\r\n", ""))
		require.Equal(t, 100, readStatus(t, r))

		_, err := io.WriteString(conn, "{}")
		require.NoError(t, err)
		require.Equal(t, 200, readStatus(t, r))
	})

	t.Run("body above the limit", func(t *testing.T) {
		t.Parallel()

		_, r := server.dial(t, rawPost("/test/echo/1", "Content-Length: 2000000\r\nExpect: 100-continue\r\n", ""))
		require.Equal(t, 413, readStatus(t, r))
	})
}

// TestReadBody_MemoryUsedUp_Unavailable checks that a body for which the memory of all bodies
// does not suffice is a 503, and that the memory of a body is available again after its
// connection has ended. All bodies together may use 64 KiB.
func TestReadBody_MemoryUsedUp_Unavailable(t *testing.T) {
	t.Parallel()

	const kibibyte = 1 << 10

	server := serveTest(t)
	server.bodyMemory.limit = 64 * kibibyte

	// The buffer of the first body has doubled from 4 KiB to 32 KiB, because 30,000 bytes have arrived.
	unfinished, _ := server.dial(t, rawPost("/test/echo/1", "Content-Length: 60000\r\n", strings.Repeat(" ", 30_000)))
	server.waitForUsedMemory(t, 32*kibibyte)

	// The second body does not fit: the other 24 KiB of the 56 KiB that are for usual bodies (seven eighths) are less
	// than its 30,000 bytes.
	response, body := server.post(t, "/test/echo/2", `{"text":"`+strings.Repeat("x", 30_000)+`"}`)
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, "Service temporarily unavailable", body["error"])

	// The connection of the first body ends.
	const noMemory = 0

	_ = unfinished.Close()

	server.waitForUsedMemory(t, noMemory)

	response, _ = server.post(t, "/test/echo/2", `{"text":"`+strings.Repeat("x", 10_000)+`"}`)
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_LargeBodies_TwoPerClient checks that a client may send 2 bodies above 1 MiB at
// the same time, so that one client cannot use up the memory for large bodies. Smaller bodies
// and other clients are not limited by that.
func TestReadBody_LargeBodies_TwoPerClient(t *testing.T) {
	t.Parallel()

	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"))

	const ip, otherIP = "203.0.113.1", "203.0.113.2"
	const maxLargeBodies, oneByte = 2, 1

	for range maxLargeBodies {
		server.sendPartOfLargeBody(t, ip, oneByte)
	}

	server.waitForUsedMemory(t, maxLargeBodies*initialBuffer)

	// The third large body of the client is refused while two are unfinished.
	third := server.sendPartOfLargeBody(t, ip, oneByte)
	response, _ := readResponse(t, third)
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))

	response, _ = server.post(t, "/test/large/1", `{}`, header{"X-Forwarded-For", ip})
	require.Equal(t, 200, response.StatusCode, "a body of up to 1 MiB")

	large := `{"text":"` + strings.Repeat("x", 2<<20) + `"}`
	for range 3 {
		response, _ = server.post(t, "/test/large/1", large, header{"X-Forwarded-For", otherIP})
		require.NotContains(t, []int{429, 503}, response.StatusCode, "another client with consecutive requests")
	}
}

// TestReadBody_LargeBodies_HalfOfMemory checks that large bodies use at most half of the memory,
// here 1 of 2 MiB, so that requests with usual bodies succeed beside them.
func TestReadBody_LargeBodies_HalfOfMemory(t *testing.T) {
	t.Parallel()

	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"))
	const half = 1 << 20 // 1 MiB

	server.bodyMemory.limit = 2 * half
	aboveHalf := server.sendPartOfLargeBody(t, "203.0.113.1", half+1)
	require.Equal(t, 503, readStatus(t, aboveHalf))

	// The buffer of this body is replaced as it grows. Only the last one, of 1 MiB, counts.
	server.sendPartOfLargeBody(t, "203.0.113.2", half-1)
	server.waitForUsedMemory(t, half)

	// While half of the memory is used by a large body, another large one is refused, and a usual one is not.
	const oneByte = 1

	besideHalf := server.sendPartOfLargeBody(t, "203.0.113.3", oneByte)
	require.Equal(t, 503, readStatus(t, besideHalf))

	response, _ := server.post(t, "/test/echo/1", `{"text":"`+strings.Repeat("x", 500_000)+`"}`)
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_UsualBodies_LeaveReserveForSmall checks that an eighth of the memory is reserved
// for routes with small bodies, such as the sign-in. 14 buffers of 4 KiB fill the other seven
// eighths (56 KiB) of 64 KiB.
func TestReadBody_UsualBodies_LeaveReserveForSmall(t *testing.T) {
	t.Parallel()

	const kibibyte = 1 << 10
	const total, reserve = 64 * kibibyte, 8 * kibibyte

	server := serveTest(t)
	server.bodyMemory.limit = total

	for range (total - reserve) / initialBuffer {
		server.dial(t, rawPost("/test/echo/1", "Content-Length: 10000\r\n", " "))
	}

	server.waitForUsedMemory(t, total-reserve)

	// A usual body is refused, and a small one is not.
	response, _ := server.post(t, "/test/echo/1", `{"text":"x"}`)
	require.Equal(t, 503, response.StatusCode)

	response, _ = server.post(t, "/test/small/1", `{"text":"x"}`)
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_OneByteOfMany_AllocatesLittle checks that the server does not allocate the
// Content-Length that a client announces. 100 requests that announce 1 MiB and send a byte
// allocate less than 20 MiB. The test is not parallel, because it measures the process.
func TestReadBody_OneByteOfMany_AllocatesLittle(t *testing.T) {
	const requests, mebibyte = 100, 1 << 20

	server := serveTest(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)

	for range requests {
		server.dial(t, rawPost("/test/echo/1", fmt.Sprintf("Content-Length: %d\r\n", mebibyte), "x"))
	}

	haveAllBegun := func() bool { return server.bodyMemory.used.Load() >= requests*initialBuffer }
	require.Eventually(t, haveAllBegun, 10*time.Second, time.Millisecond)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20*mebibyte))
}

// TestServer_SlowHead_TimesOutBeforeBody checks that an unfinished head is a 408 after
// headTimeout, while a slow client has bodyTimeout for its body.
func TestServer_SlowHead_TimesOutBeforeBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	start := time.Now()
	_, slowHead := server.dial(t, "POST /test/echo/1 HTTP/1.1\r\nHost: a\r\n")
	slowBodyConn, slowBody := server.dial(t, rawPost("/test/echo/1", "Content-Length: 2\r\n", "{"))
	require.Equal(t, 408, readStatus(t, slowHead))
	require.Less(t, time.Since(start), bodyTimeout)

	_, err := io.WriteString(slowBodyConn, "}")
	require.NoError(t, err)
	require.Equal(t, 200, readStatus(t, slowBody), "a body has a longer timeout than a head")
}

// TestParseFraming_AmbiguousHeader_Refused checks that a header line that two parsers may read
// differently is a 400. A proxy before the server could see another request than the server
// (request smuggling).
func TestParseFraming_AmbiguousHeader_Refused(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for name, headerLine := range map[string]string{
		"space in a name":   "X-A b: 1\r\n",
		"folded value":      "X-A: 1\r\n  2\r\n",
		"folded with a tab": "X-A: 1\r\n\t2\r\n",
		"bracket in a name": "X-A(b): 1\r\n",
		"empty name":        ": 1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			status, closed := server.sendRaw(t, rawGet("/test/echo/1", headerLine))
			require.Equal(t, 400, status)
			require.True(t, closed)
		})
	}
}

// TestListener_TooManyConnections_RefusesAddress checks that an address may open
// maxConnsPerAddress connections. The next one gets a 429 before it sends a request. After a
// connection was closed, another one is accepted.
func TestListener_TooManyConnections_RefusesAddress(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	first := server.openMaxConnections(t)
	_, r := server.dial(t, "")
	response, body := readResponse(t, r)
	require.Equal(t, 429, response.StatusCode)
	require.True(t, json.Valid([]byte(body)))
	require.NoError(t, uuid.Validate(response.Header.Get("X-Request-Id")))

	// After one connection was closed, another one is accepted.
	require.NoError(t, first.Close())

	isAccepted := func() bool {
		conn, err := net.Dial("tcp", server.addr)
		require.NoError(t, err)

		defer func() { _ = conn.Close() }()

		_, _ = io.WriteString(conn, rawGet("/test/echo/1", ""))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)

		return err == nil && response.StatusCode == 200
	}
	require.Eventually(t, isAccepted, 10*time.Second, 5*time.Millisecond, "the closed connection no longer counts")
}

// TestListener_TrustedProxy_MayOpenMoreConnections checks that the limit of an address does not
// apply to trusted proxies, whose connections are those of many clients.
func TestListener_TrustedProxy_MayOpenMoreConnections(t *testing.T) {
	t.Parallel()

	server := serveTest(t, netip.MustParsePrefix("127.0.0.1/32"))
	server.openMaxConnections(t)

	_, r := server.dial(t, rawGet("/test/echo/1", ""))
	response, body := readResponse(t, r)
	require.Equal(t, 200, response.StatusCode)
	require.True(t, json.Valid([]byte(body)))
	require.NoError(t, uuid.Validate(response.Header.Get("X-Request-Id")))
}

// openMaxConnections opens maxConnsPerAddress connections, sends a request on each of them, and
// returns the first.
func (s *testServer) openMaxConnections(t *testing.T) (first net.Conn) {
	t.Helper()

	for range maxConnsPerAddress {
		conn, r := s.dial(t, rawGet("/test/echo/1", ""))
		require.Equal(t, 200, readStatus(t, r))

		if first == nil {
			first = conn
		}
	}

	return first
}

// sendPartOfLargeBody sends the first n bytes of a body of 10 MiB for the client with the
// address ip. The server must trust 127.0.0.0/8 as a proxy. The reader reads the response.
func (s *testServer) sendPartOfLargeBody(t *testing.T, ip string, n int) *bufio.Reader {
	t.Helper()

	headerLines := "X-Forwarded-For: " + ip + "\r\nContent-Length: 10485760\r\n"
	_, r := s.dial(t, rawPost("/test/large/1", headerLines, strings.Repeat(" ", n)))

	return r
}

// waitForUsedMemory waits until the bodies of all requests use the memory.
func (s *testServer) waitForUsedMemory(t *testing.T, bytes int64) {
	t.Helper()
	require.Eventually(t, func() bool { return s.bodyMemory.used.Load() == bytes }, 5*time.Second, time.Millisecond)
}
