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

// raw sends a request as text over a new connection and returns the first response, or nil if
// there is none within 3 s.
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

func TestBody_OverLimitOfRoute_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, c := range []struct {
			method, path, header string
			length, status       int
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
			{"POST", "/nowhere", "", 1 << 30, 404},
			{"POST", "/oauth/token", "", 1 << 20, 413},
			{"POST", "/developers/sign-in", "", 1 << 20, 413},
		} {
			response := server.raw(t, server.head(t, c.method, c.path, c.header, c.length))
			require.NotNil(t, response, "%s %s waits for the body", c.method, c.path)
			require.Equal(t, c.status, response.StatusCode, "%s %s", c.method, c.path)
			require.True(t, response.Close, "%s %s", c.method, c.path)
		}
	})
}

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

// The server must not allocate memory for a body before it receives the body: each of these
// requests announces 1 MiB but sends one byte.
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
