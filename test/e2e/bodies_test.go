package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// raw sends a request as text over a new connection, so that it need not be complete, and
// returns the first response, or nil if there is none within 3 s.
func (s *testServer) raw(t testing.TB, text string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(3*time.Second)))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// head returns the head of a request with a Content-Length, from a new IP address. The text
// extraHeaders is empty or ends with CR LF.
func (s *testServer) head(t testing.TB, method, path, extraHeaders string, length int) string {
	t.Helper()
	return fmt.Sprintf(
		"%s %s HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
		method,
		path,
		s.guest(t).ip,
		extraHeaders,
		length,
	)
}

// TestBody_OverLimitOfRoute_RefusedUnread checks that a request is refused by its headers
// alone: the client announces a body but sends none. Large documents are read only for a
// jobseeker with a valid token, so that guests cannot fill the memory.
func TestBody_OverLimitOfRoute_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, c := range []struct {
			method, path, header string
			length, status       int // the announced length of the body, and the expected status
		}{
			{"POST", "/api/auth/login", "", 16<<10 + 1, 413},
			{"POST", "/api/auth/register", "", 16<<10 + 1, 413},
			{"POST", "/api/auth/refresh", "", 1 << 20, 413},
			{"POST", "/api/listings/search", "", 16<<10 + 1, 413},
			{"GET", "/api/listings?search=nurse", "", 16<<10 + 1, 413},
			{"GET", "/api/jobseekers/search", "", 16<<10 + 1, 413},
			{"POST", "/api/jobseekers/onboarding", "", 1<<20 + 1, 413},
			{"POST", "/api/jobseekers/documents", "", 10 << 20, 401},
			{"POST", "/api/jobseekers/documents", "Authorization: Bearer x\r\n", 10 << 20, 401},
			{"POST", "/api/jobseekers/documents", "Authorization: Bearer " + server.employer(t).token + "\r\n", 10 << 20, 403},
			{"POST", "/api/jobseekers/documents", "Authorization: Bearer " + server.seeker(t).token + "\r\n", 10<<20 + 1, 413},
			{"PUT", "/api/jobseekers/documents/" + nowhere, "", 10 << 20, 401},
			{"POST", "/api/employers/jobs", "", 1 << 20, 401},
			{"POST", "/nowhere", "", 1 << 30, 404}, // no route, so that the length does not matter
			{"POST", "/oauth/token", "", 1 << 20, 413},
			{"POST", "/developers/sign-in", "", 1 << 20, 413},
		} {
			response := server.raw(t, server.head(t, c.method, c.path, c.header, c.length))
			require.NotNil(t, response, "%s %s waits for the body", c.method, c.path)
			require.Equal(t, c.status, response.StatusCode, "%s %s", c.method, c.path)
			// The body may still come, so that the connection cannot be used again.
			require.True(t, response.Close, "%s %s", c.method, c.path)
		}
	})
}

// TestBody_Document10MiB_AcceptedWithToken checks that a body just below the limit for
// documents is read; 200 bytes are left for the other members.
func TestBody_Document10MiB_AcceptedWithToken(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		content := strings.Repeat("x", 10<<20-200)
		server.seeker(t).
			post("/api/jobseekers/documents", object{
				"intent":   "upload-document",
				"type":     "cv",
				"title":    "CV",
				"fileName": "cv.txt",
				"content":  content,
			}).
			ok(200)
	})
}

// peakMemory matches the highest resident memory of a process in /proc/PID/status.
var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the peak resident memory of the server so far, in MiB.
func (s *testServer) peak(t testing.TB) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(t, err)
	m := peakMemory.FindSubmatch(raw)
	require.NotNil(t, m)
	kib, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return kib >> 10
}

// TestBody_ContentLengthAlone_AllocatesNothing checks that the server does not allocate memory
// for a body before it receives the body: each of 100 requests announces 1 MiB but sends one
// byte.
func TestBody_ContentLengthAlone_AllocatesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		token := server.seeker(t).token
		before := server.peak(t)
		for range 100 {
			c, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://"))
			require.NoError(t, err)
			defer func() { _ = c.Close() }()
			_, err = io.WriteString(
				c,
				server.head(t, "POST", "/api/jobseekers/onboarding", "Authorization: Bearer "+token+"\r\n", 1<<20)+"{",
			)
			require.NoError(t, err)
		}
		server.guest(t).get("/api/listings").ok(200)
		require.Less(t, server.peak(t)-before, 64, "MiB")
	})
}

// TestBody_ManyLargeOfOneUser_OthersServed checks that a user may send two large bodies at a
// time, and that a third is refused without reading it while other users are served.
func TestBody_ManyLargeOfOneUser_OthersServed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		token := server.seeker(t).token
		part := strings.Repeat("x", 1<<20+1)
		upload := func() *bufio.Reader {
			conn, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			request := server.head(t, "POST", "/api/jobseekers/documents",
				"Authorization: Bearer "+token+"\r\nExpect: 100-continue\r\n", 10<<20) + part
			go func() { _, _ = io.WriteString(conn, request) }() // returns when the connection is closed
			return bufio.NewReader(conn)
		}
		var statuses []int
		for range 16 {
			response, err := http.ReadResponse(upload(), nil)
			require.NoError(t, err)
			_ = response.Body.Close()
			statuses = append(statuses, response.StatusCode)
		}
		// 100 Continue invites the client to send the body.
		require.Equal(t, append([]int{100, 100}, slices.Repeat([]int{429}, 14)...), statuses)
		other := server.seeker(t)
		other.post("/api/auth/login", object{"email": other.email, "password": password}).ok(200)
		other.post("/api/jobseekers/documents", object{
			"intent":   "upload-document",
			"type":     "cv",
			"title":    "CV",
			"fileName": "cv.txt",
			"content":  part,
		}).
			ok(200)
	})
}
