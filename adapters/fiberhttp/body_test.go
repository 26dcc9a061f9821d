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

	limitsByPath := map[string]int{"/test/echo/1": usualLimit, "/test/small/1": smallLimit}
	for path, limit := range limitsByPath {
		tooLong := fmt.Sprintf("Content-Length: %d\r\n", limit+1)
		status, isClosed := server.sendRaw(t, rawPost(path, tooLong, noBody))
		require.Equal(t, 413, status, path)
		require.True(t, isClosed, path)
	}
}

// TestReadBody_TooLarge_ResponseDelivered checks that a client that sends all of a refused body still
// receives the 413. If the server closed the connection at once, bytes that arrive later would reset
// it, and the client would lose the response. The server therefore reads and discards up to
// discardBytes, and delays the close for a client that sends more.
func TestReadBody_TooLarge_ResponseDelivered(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	for name, size := range map[string]int{
		"one byte above the limit": usualLimit + 1,
		"more than is discarded":   usualLimit + 40*discardBytes,
	} {
		response, _ := server.post(t, "/test/echo/1", strings.Repeat("x", size))
		require.Equal(t, 413, response.StatusCode, name)
	}
}

// TestReadBody_ChunkedTooLarge_Refused checks that a chunked body, which has no length in its
// head, is refused when it exceeds the limit of the route.
func TestReadBody_ChunkedTooLarge_Refused(t *testing.T) {
	t.Parallel()

	// One chunk above the limit, and the last chunk, which has the length 0. Lengths are hexadecimal.
	const size = 2 * smallLimit
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("x", size))

	status, _ := serveTest(t).sendRaw(t, rawPost("/test/small/1", "Transfer-Encoding: chunked\r\n", chunks))
	require.Equal(t, 413, status)
}

// TestReadBody_RateLimit_CountsRefusedBody checks that requests with a body that is too large count
// towards the rate limit of the route (callsPerQuarterHour): the third one exceeds the limit.
func TestReadBody_RateLimit_CountsRefusedBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	tooLong := fmt.Sprintf("Content-Length: %d\r\n", smallLimit+1)

	for index, want := range []int{413, 413, 429} {
		status, _ := server.sendRaw(t, rawPost("/test/small-limited/1", tooLong, noBody))
		require.Equal(t, want, status, "request %d", index+1)
	}
}

// TestReadBody_Pipelined_EachRequestHasItsBody checks that the server finds the end of each body when
// a client sends several requests at once (pipelining). The server leaves a body in the connection
// until a route reads it. With a wrong end, it would read bytes of a body as the head of the next
// request.
func TestReadBody_Pipelined_EachRequestHasItsBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	// withLength returns a request to the echo route, whose response repeats the id and the text.
	withLength := func(id, text string) string {
		body := `{"text":"` + text + `"}`
		return rawPost("/test/echo/"+id, fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)
	}

	requests := []struct{ raw, wantInResponse string }{
		{raw: withLength("1", "a"), wantInResponse: `"id":"1","text":"a"`},
		{
			// Chunks of 5 and 9 bytes, the last chunk, and a header after the body (a trailer).
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

	// Send all requests at once, and read a response for each.
	var pipeline strings.Builder
	for _, request := range requests {
		pipeline.WriteString(request.raw)
	}

	_, responses := server.dial(t, pipeline.String())
	for _, request := range requests {
		_, body := readResponse(t, responses)
		require.Contains(t, body, request.wantInResponse, "response to %.60q", request.raw)
	}
}

// TestReadBody_ExpectContinue_AsksOnlyForAcceptedBody checks a client that sends its body only after
// the server has responded with 100 (Continue). The server does so before it reads the body. If the
// body is too large, the client gets the 413 instead.
func TestReadBody_ExpectContinue_AsksOnlyForAcceptedBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	t.Run("body within the limit", func(t *testing.T) {
		t.Parallel()

		const body = "{}"

		conn, responses := server.dial(t, rawPost("/test/echo/1", "Content-Length: 2\r\nExpect: 100-continue\r\n", noBody))
		require.Equal(t, 100, readStatus(t, responses))

		_, err := io.WriteString(conn, body)
		require.NoError(t, err)
		require.Equal(t, 200, readStatus(t, responses))
	})

	t.Run("body above the limit", func(t *testing.T) {
		t.Parallel()

		headerLines := fmt.Sprintf("Content-Length: %d\r\nExpect: 100-continue\r\n", usualLimit+1)
		_, responses := server.dial(t, rawPost("/test/echo/1", headerLines, noBody))
		require.Equal(t, 413, readStatus(t, responses))
	})
}

// TestReadBody_MemoryUsedUp_Unavailable checks that a body for which the memory of all bodies
// does not suffice is a 503, and that the memory of a body is available again after its
// connection has ended. All bodies together may use 64 KiB. Seven eighths of it, 56 KiB, are for
// bodies of usual routes such as /test/echo.
func TestReadBody_MemoryUsedUp_Unavailable(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	server.bodyMemory.limit = 64 * kibibyte

	// Send half of a body of 60,000 bytes. Its buffer doubles from 4 KiB until the 30,000 bytes fit into 32 KiB.
	const halfOfBody = 30_000

	unfinished, _ := server.dial(t, rawPost("/test/echo/1", "Content-Length: 60000\r\n", strings.Repeat(" ", halfOfBody)))
	server.waitForUsedMemory(t, 32*kibibyte)

	// The second body does not fit: the remaining 24 KiB are less than its 30,000 bytes.
	response, body := server.post(t, "/test/echo/2", jsonOfText(30_000))
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, "Service temporarily unavailable", body["error"])

	// When the connection of the first body ends, its memory is free.
	const noMemory = 0

	_ = unfinished.Close()

	server.waitForUsedMemory(t, noMemory)

	response, _ = server.post(t, "/test/echo/2", jsonOfText(10_000))
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_LargeBodies_TwoPerClient checks that a client may send 2 bodies above 1 MiB at
// the same time, so that one client cannot use up the memory for large bodies. Smaller bodies
// and other clients are not limited by that. Clients differ in X-Forwarded-For, which the server
// trusts.
func TestReadBody_LargeBodies_TwoPerClient(t *testing.T) {
	t.Parallel()

	server := serveTest(t, loopback)

	const ip, otherIP = "203.0.113.1", "203.0.113.2"
	const wantLargeBodies, oneByte = 2, 1

	for range wantLargeBodies {
		server.sendPartOfLargeBody(t, ip, oneByte)
	}

	server.waitForUsedMemory(t, wantLargeBodies*initialBuffer)

	// The third large body of the client is refused while two are unfinished.
	third := server.sendPartOfLargeBody(t, ip, oneByte)
	response, _ := readResponse(t, third)
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))

	// A body of up to 1 MiB is accepted on the same route.
	response, _ = server.post(t, "/test/large/1", `{}`, header{"X-Forwarded-For", ip})
	require.Equal(t, 200, response.StatusCode, "a body of up to 1 MiB")

	// Another client may send any number of large bodies, one after the other.
	for range wantLargeBodies + 1 {
		response, _ = server.post(t, "/test/large/1", jsonOfText(2*mebibyte), header{"X-Forwarded-For", otherIP})
		require.NotContains(t, []int{429, 503}, response.StatusCode, "another client with consecutive requests")
	}
}

// TestReadBody_LargeBodies_HalfOfMemory checks that large bodies use at most half of the memory,
// here 1 of 2 MiB, so that requests with usual bodies succeed beside them.
func TestReadBody_LargeBodies_HalfOfMemory(t *testing.T) {
	t.Parallel()

	server := serveTest(t, loopback)
	const half = mebibyte

	server.bodyMemory.limit = 2 * half

	// A large body that needs more than half of the memory is refused.
	aboveHalf := server.sendPartOfLargeBody(t, "203.0.113.1", half+1)
	require.Equal(t, 503, readStatus(t, aboveHalf))

	// A body that needs half of the memory is accepted. Its buffer is replaced as it grows, and only the last one, of
	// 1 MiB, counts.
	server.sendPartOfLargeBody(t, "203.0.113.2", half-1)
	server.waitForUsedMemory(t, half)

	// While half of the memory is used by a large body, another large one is refused, and a usual one is not.
	const oneByte = 1

	besideHalf := server.sendPartOfLargeBody(t, "203.0.113.3", oneByte)
	require.Equal(t, 503, readStatus(t, besideHalf))

	response, _ := server.post(t, "/test/echo/1", jsonOfText(500_000))
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_UsualBodies_LeaveReserveForSmall checks that an eighth of the memory is reserved for
// routes with small bodies, such as the sign-in. The memory is 64 KiB. The test fills the other seven
// eighths, 56 KiB, with 14 unfinished bodies, whose buffers have 4 KiB (initialBuffer).
func TestReadBody_UsualBodies_LeaveReserveForSmall(t *testing.T) {
	t.Parallel()

	const total, reserve = 64 * kibibyte, 8 * kibibyte

	server := serveTest(t)
	server.bodyMemory.limit = total

	for range (total - reserve) / initialBuffer {
		const firstByte = " " // of a body of 10,000 bytes, the rest of which is never sent

		server.dial(t, rawPost("/test/echo/1", "Content-Length: 10000\r\n", firstByte))
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
	const requests = 100

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

// TestServer_SlowHead_TimesOutBeforeBody checks that an unfinished head is a 408 after headTimeout,
// while a slow client has the longer bodyTimeout for its body.
func TestServer_SlowHead_TimesOutBeforeBody(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	startedAt := time.Now()

	// Two clients stop in the middle of their requests: one in the head, and one in its body of 2 bytes.
	_, slowHead := server.dial(t, "POST /test/echo/1 HTTP/1.1\r\nHost: a\r\n")
	slowBodyConn, slowBody := server.dial(t, rawPost("/test/echo/1", "Content-Length: 2\r\n", "{"))

	require.Equal(t, 408, readStatus(t, slowHead))
	require.Less(t, time.Since(startedAt), bodyTimeout)

	// When the head has timed out, the client with the slow body can still complete it.
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

			status, isClosed := server.sendRaw(t, rawGet("/test/echo/1", headerLine))
			require.Equal(t, 400, status)
			require.True(t, isClosed)
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

	// The next connection gets a complete response of the API, although it has sent no request.
	const noRequest = ""

	_, responses := server.dial(t, noRequest)
	response, body := readResponse(t, responses)
	require.Equal(t, 429, response.StatusCode)
	require.True(t, json.Valid([]byte(body)))
	require.NoError(t, uuid.Validate(response.Header.Get("X-Request-Id")))

	// After one connection was closed, another one is accepted.
	require.NoError(t, first.Close())

	isAccepted := func() bool {
		conn, err := net.Dial("tcp", server.addr)
		require.NoError(t, err)

		defer func() { _ = conn.Close() }()

		_, _ = io.WriteString(conn, rawGet("/test/echo/1", noHeaderLines))
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

	_, responses := server.dial(t, rawGet("/test/echo/1", noHeaderLines))
	response, body := readResponse(t, responses)
	require.Equal(t, 200, response.StatusCode)
	require.True(t, json.Valid([]byte(body)))
	require.NoError(t, uuid.Validate(response.Header.Get("X-Request-Id")))
}

// openMaxConnections opens maxConnsPerAddress connections, sends a request on each of them, and
// returns the first.
func (s *testServer) openMaxConnections(t *testing.T) (first net.Conn) {
	t.Helper()

	for range maxConnsPerAddress {
		conn, responses := s.dial(t, rawGet("/test/echo/1", noHeaderLines))
		require.Equal(t, 200, readStatus(t, responses))

		if first == nil {
			first = conn
		}
	}

	return first
}

// kibibyte is 1 KiB.
const kibibyte = 1 << 10

// loopback has the addresses from which tests connect. A server that trusts it as a proxy takes the
// address of a client from X-Forwarded-For.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// jsonOfText returns the body of a request to an echo route with a text of the given size.
func jsonOfText(size int) string {
	return `{"text":"` + strings.Repeat("x", size) + `"}`
}

// sendPartOfLargeBody sends the first n bytes of a body of largeLimit for the client with the address
// ip, and leaves the request unfinished. The server must trust loopback as a proxy. The returned
// reader reads the response.
func (s *testServer) sendPartOfLargeBody(t *testing.T, ip string, n int) *bufio.Reader {
	t.Helper()

	headerLines := fmt.Sprintf("X-Forwarded-For: %s\r\nContent-Length: %d\r\n", ip, largeLimit)
	_, responses := s.dial(t, rawPost("/test/large/1", headerLines, strings.Repeat(" ", n)))

	return responses
}

// waitForUsedMemory waits until the bodies of all requests use this number of bytes.
func (s *testServer) waitForUsedMemory(t *testing.T, bytes int64) {
	t.Helper()
	require.Eventually(t, func() bool { return s.bodyMemory.used.Load() == bytes }, 5*time.Second, time.Millisecond)
}
