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

// dial opens a connection to the server and sends text.
func (f *testServer) dial(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn, bufio.NewReader(conn)
}

// readStatus reads a response with its body, and returns its status.
func readStatus(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// post returns the text of a POST request. Each header line in header ends with CRLF.
func post(path, header, body string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + header + "\r\n" + body
}

// TestReadBody_TooLarge_RefusedByHeadAlone checks that a Content-Length above the limit of the
// route is a 413 before any byte of the body arrives, and that the server closes the connection,
// on which the body would follow.
func TestReadBody_TooLarge_RefusedByHeadAlone(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	for path, length := range map[string]int{"/test/echo/1": 1<<20 + 1, "/test/small/1": 1001} {
		status, closed := f.raw(t, post(path, fmt.Sprintf("Content-Length: %d\r\n", length), ""))
		require.Equal(t, 413, status, path)
		require.True(t, closed, path)
	}
}

// TestReadBody_TooLarge_ResponseDelivered checks that a client that sends all of a refused body
// still receives the 413: closing at once would reset the connection and destroy the response. A
// chunked body has no length in its head and is refused when it exceeds the limit.
func TestReadBody_TooLarge_ResponseDelivered(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	// One byte too many, and more than the server discards before it closes (lingerBytes).
	for _, size := range []int{1<<20 + 1, 10 << 20} {
		response, _ := f.do(t, "POST", "/test/echo/1", strings.Repeat("x", size))
		require.Equal(t, 413, response.StatusCode)
	}
	// 0x7d0 = 2,000.
	status, _ := f.raw(t, post("/test/small/1", "Transfer-Encoding: chunked\r\n", "7d0\r\n"+strings.Repeat("x", 2000)+"\r\n0\r\n\r\n"))
	require.Equal(t, 413, status)
}

// TestReadBody_RateLimit_CountsRefusedBody checks that requests with a body that is too large
// count towards the rate limit of the route, which allows 2.
func TestReadBody_RateLimit_CountsRefusedBody(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	for _, want := range []int{413, 413, 429} {
		status, _ := f.raw(t, post("/test/small-limited/1", "Content-Length: 5000\r\n", ""))
		require.Equal(t, want, status)
	}
}

// TestReadBody_Pipelined_EachRequestHasItsBody checks that the server finds the end of each body
// on a connection with several requests. Bodies stay in the connection until a route reads them,
// so that a wrong end would make bytes of a body the head of the next request.
func TestReadBody_Pipelined_EachRequestHasItsBody(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	one := func(id, text string) string {
		body := `{"text":"` + text + `"}`
		return post("/test/echo/"+id, fmt.Sprintf("Content-Length: %d\r\n", len(body)), body)
	}
	chunked := post("/test/echo/2", "Transfer-Encoding: chunked\r\n", "5\r\n{\"tex\r\n9\r\nt\":\"b\"}  \r\n0\r\nX-Trailer: 1\r\n\r\n")
	// A body that no route reads, and that looks like the end of a head.
	unread := post("/test/nowhere", "Content-Length: 4\r\n", "\r\n\r\n")
	_, r := server.dial(t, one("1", "a")+chunked+unread+one("3", `\r\n\r\n`)+"\r\n"+one("4", strings.Repeat("c", 20_000)))
	for _, want := range []string{
		`"id":"1","text":"a"`, `"id":"2","text":"b"`, "Not found", `"id":"3","text":"\r\n\r\n"`,
		`"id":"4","text":"ccc`,
	} {
		response, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		raw, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Contains(t, string(raw), want)
	}
}

// TestReadBody_ExpectContinue_AsksOnlyForAcceptedBody checks that a client that waits for 100
// Continue gets it before the body is read, and gets the 413 in its place if the body is too
// large.
func TestReadBody_ExpectContinue_AsksOnlyForAcceptedBody(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	const expect = "Expect: 100-continue\r\n"
	c, r := server.dial(t, post("/test/echo/1", "Content-Length: 2\r\n"+expect, ""))
	require.Equal(t, 100, readStatus(t, r))
	_, err := io.WriteString(c, "{}")
	require.NoError(t, err)
	require.Equal(t, 200, readStatus(t, r))
	_, r = server.dial(t, post("/test/echo/1", "Content-Length: 2000000\r\n"+expect, ""))
	require.Equal(t, 413, readStatus(t, r))
}

// TestReadBody_MemoryUsedUp_Unavailable checks that a body for which the memory of all bodies
// does not suffice is a 503, and that the memory is available again after the other connection
// has ended. Of 64 KiB, the unfinished first body has a buffer of 32 KiB.
func TestReadBody_MemoryUsedUp_Unavailable(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	server.server.bodies.limit = 64 << 10
	conn, r := server.dial(t, post("/test/echo/1", "Content-Length: 60000\r\n", strings.Repeat(" ", 30_000)))
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() == 32<<10 }, 5*time.Second, time.Millisecond)
	response, body := server.do(t, "POST", "/test/echo/2", `{"text":"`+strings.Repeat("x", 30_000)+`"}`)
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	require.Equal(t, "Service temporarily unavailable", body["error"])
	_ = conn.Close()
	_ = r
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() == 0 }, 5*time.Second, time.Millisecond)
	response, _ = server.do(t, "POST", "/test/echo/2", `{"text":"`+strings.Repeat("x", 10_000)+`"}`)
	require.Equal(t, 200, response.StatusCode)
}

// sendPart sends the first n bytes of a body of 10 MiB for the client with the address ip. The
// server must trust 127.0.0.0/8 as a proxy.
func (f *testServer) sendPart(t *testing.T, ip string, n int) *bufio.Reader {
	t.Helper()
	_, r := f.dial(t, post("/test/large/1", "X-Forwarded-For: "+ip+"\r\nContent-Length: 10485760\r\n", strings.Repeat(" ", n)))
	return r
}

// TestReadBody_LargeBodies_TwoPerClient checks that a client may send 2 bodies above 1 MiB at
// the same time, so that one client cannot use up the memory for large bodies. Smaller bodies
// and other clients are not limited by that.
func TestReadBody_LargeBodies_TwoPerClient(t *testing.T) {
	t.Parallel()
	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"))
	const ip = "203.0.113.1"
	for range 2 {
		server.sendPart(t, ip, 1)
	}
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() == 2*initialBuffer }, 5*time.Second, time.Millisecond)
	response, err := http.ReadResponse(server.sendPart(t, ip, 1), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 429, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	response, _ = server.do(t, "POST", "/test/large/1", `{}`, "X-Forwarded-For", ip)
	require.Equal(t, 200, response.StatusCode, "a body of up to 1 MiB")
	large := `{"text":"` + strings.Repeat("x", 2<<20) + `"}`
	for range 3 {
		response, _ = server.do(t, "POST", "/test/large/1", large, "X-Forwarded-For", "203.0.113.2")
		require.NotContains(t, []int{429, 503}, response.StatusCode, "another client with consecutive requests")
	}
}

// TestReadBody_LargeBodies_HalfOfMemory checks that large bodies use at most half of the memory,
// here 1 of 2 MiB, so that requests with usual bodies succeed beside them.
func TestReadBody_LargeBodies_HalfOfMemory(t *testing.T) {
	t.Parallel()
	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"))
	server.server.bodies.limit = 2 << 20
	r := server.sendPart(t, "203.0.113.1", 1<<20+1)
	require.Equal(t, 503, readStatus(t, r))
	server.sendPart(t, "203.0.113.2", 1<<20-1)
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() == 1<<20 }, 5*time.Second,
		time.Millisecond, "replaced buffers do not count")
	require.Equal(t, 503, readStatus(t, server.sendPart(t, "203.0.113.3", 1)))
	response, _ := server.do(t, "POST", "/test/echo/1", `{"text":"`+strings.Repeat("x", 500_000)+`"}`)
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_UsualBodies_LeaveReserveForSmall checks that an eighth of the memory is reserved
// for routes with small bodies, such as the sign-in. 14 buffers of 4 KiB fill the other seven
// eighths (56 KiB) of 64 KiB.
func TestReadBody_UsualBodies_LeaveReserveForSmall(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	server.server.bodies.limit = 64 << 10
	for range 14 {
		server.dial(t, post("/test/echo/1", "Content-Length: 10000\r\n", " "))
	}
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() == 56<<10 }, 5*time.Second, time.Millisecond)
	response, _ := server.do(t, "POST", "/test/echo/1", `{"text":"x"}`)
	require.Equal(t, 503, response.StatusCode)
	response, _ = server.do(t, "POST", "/test/small/1", `{"text":"x"}`)
	require.Equal(t, 200, response.StatusCode)
}

// TestReadBody_OneByteOfMany_AllocatesLittle checks that the server does not allocate the
// Content-Length that a client announces. 100 requests that announce 1 MiB and send a byte
// allocate less than 20 MiB. The test is not parallel, because it measures the process.
func TestReadBody_OneByteOfMany_AllocatesLittle(t *testing.T) {
	server := serveTest(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		server.dial(t, post("/test/echo/1", "Content-Length: 1048576\r\n", "x"))
	}
	require.Eventually(t, func() bool { return server.server.bodies.used.Load() >= 100*initialBuffer }, 10*time.Second, time.Millisecond)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20))
}

// TestServer_SlowHead_TimesOutBeforeBody checks that an unfinished head is a 408 after
// headTimeout, while a slow client has bodyTimeout for its body.
func TestServer_SlowHead_TimesOutBeforeBody(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	start := time.Now()
	_, r := f.dial(t, "POST /test/echo/1 HTTP/1.1\r\nHost: a\r\n")
	c, body := f.dial(t, post("/test/echo/1", "Content-Length: 2\r\n", "{"))
	require.Equal(t, 408, readStatus(t, r))
	require.Less(t, time.Since(start), bodyTimeout)
	_, err := io.WriteString(c, "}")
	require.NoError(t, err)
	require.Equal(t, 200, readStatus(t, body), "a body has a longer timeout than a head")
}

// TestParseFraming_AmbiguousHeader_Refused checks that header lines that two parsers may read
// differently are a 400. A proxy before the server could see another request than the server
// (request smuggling).
func TestParseFraming_AmbiguousHeader_Refused(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	for name, header := range map[string]string{
		"space in a name":    "X-A b: 1\r\n",
		"folded value":       "X-A: 1\r\n  2\r\n",
		"folded with a tab":  "X-A: 1\r\n\t2\r\n",
		"no token in a name": "X-A(b): 1\r\n",
		"empty name":         ": 1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, closed := server.raw(t, "GET /test/echo/1 HTTP/1.1\r\nHost: a\r\n"+header+"\r\n")
			require.Equal(t, 400, status)
			require.True(t, closed)
		})
	}
}

// TestListener_TooManyConnections_RefusesAddress checks that an address may open
// maxConnsPerAddress connections. The next one gets a 429 before it sends a request. Trusted
// proxies are exempt, because their connections are those of many clients.
func TestListener_TooManyConnections_RefusesAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		proxies []netip.Prefix
		status  int
	}{{"client", nil, 429}, {"trusted proxy", []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, 200}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := serveTest(t, c.proxies...)
			const get = "GET /test/echo/1 HTTP/1.1\r\nHost: a\r\n\r\n"
			var first net.Conn
			for i := range maxConnsPerAddress {
				conn, r := server.dial(t, get)
				require.Equal(t, 200, readStatus(t, r))
				if i == 0 {
					first = conn
				}
			}
			_, r := server.dial(t, "")
			if c.status == 200 {
				_, r = server.dial(t, get)
			}
			response, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			raw, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, c.status, response.StatusCode)
			require.True(t, json.Valid(raw))
			require.NoError(t, uuid.Validate(response.Header.Get("X-Request-Id")))
			require.NoError(t, first.Close())
			require.Eventually(t, func() bool {
				conn, err := net.Dial("tcp", server.addr)
				require.NoError(t, err)
				defer func() { _ = conn.Close() }()
				_, _ = io.WriteString(conn, get)
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				return err == nil && response.StatusCode == 200
			}, 10*time.Second, 5*time.Millisecond, "a closed connection makes room")
		})
	}
}
