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

// TestBody_OverLimitOfRoute_RefusedUnread checks that a request is refused by its headers
// alone: the client announces a body but sends none. Large documents are read only for a
// jobseeker with a valid token, so that guests cannot fill the memory.
func TestBody_OverLimitOfRoute_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			overDefaultLimit  = 16<<10 + 1
			overSignedInLimit = 1<<20 + 1
			overDocumentLimit = 10<<20 + 1
		)
		seeker := server.seeker(t).token

		employer := server.employer(t).token
		for _, test := range []struct {
			method, path string
			token        string // empty for a guest
			length       int    // the announced length of the body
			status       int
		}{
			{method: "POST", path: "/api/auth/login", length: overDefaultLimit, status: 413},
			{method: "POST", path: "/api/auth/register", length: overDefaultLimit, status: 413},
			{method: "POST", path: "/api/auth/refresh", length: 1 << 20, status: 413},
			{method: "POST", path: "/api/listings/search", length: overDefaultLimit, status: 413},
			{method: "GET", path: "/api/listings?search=nurse", length: overDefaultLimit, status: 413},
			{method: "GET", path: "/api/jobseekers/search", length: overDefaultLimit, status: 413},
			{method: "POST", path: "/api/jobseekers/onboarding", length: overSignedInLimit, status: 413},
			{method: "POST", path: "/api/jobseekers/documents", length: 10 << 20, status: 401},
			{method: "POST", path: "/api/jobseekers/documents", token: "x", length: 10 << 20, status: 401},
			{method: "POST", path: "/api/jobseekers/documents", token: employer, length: 10 << 20, status: 403},
			{method: "POST", path: "/api/jobseekers/documents", token: seeker, length: overDocumentLimit, status: 413},
			{method: "PUT", path: "/api/jobseekers/documents/" + nowhere, length: 10 << 20, status: 401},
			{method: "POST", path: "/api/employers/jobs", length: 1 << 20, status: 401},
			// There is no such route, so that the length does not matter.
			{method: "POST", path: "/nowhere", length: 1 << 30, status: 404},
			{method: "POST", path: "/oauth/token", length: 1 << 20, status: 413},
			{method: "POST", path: "/developers/sign-in", length: 1 << 20, status: 413},
		} {
			extraHeaders := ""
			if test.token != "" {
				extraHeaders = "Authorization: Bearer " + test.token + "\r\n"
			}

			response := server.sendRaw(t, server.requestHead(t, test.method, test.path, extraHeaders, test.length))
			require.NotNil(t, response, "%s %s waits for the body", test.method, test.path)
			require.Equal(t, test.status, response.StatusCode, "%s %s", test.method, test.path)
			require.True(t, response.Close,
				"%s %s: the body may still come, so that the connection cannot be used again", test.method, test.path)
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

// TestBody_ContentLengthAlone_AllocatesNothing checks that the server does not allocate memory
// for a body before it receives the body: each of 100 requests announces 1 MiB but sends one
// byte.
func TestBody_ContentLengthAlone_AllocatesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		headers := "Authorization: Bearer " + server.seeker(t).token + "\r\n"

		before := server.peakMemoryMiB(t)
		for range 100 {
			conn := server.dial(t)
			_, err := io.WriteString(conn, server.requestHead(t, "POST", "/api/jobseekers/onboarding", headers, 1<<20)+"{")
			require.NoError(t, err)
		}

		server.guest(t).get("/api/listings").ok(200)

		// The 100 announced bodies together would be 100 MiB.
		require.Less(t, server.peakMemoryMiB(t)-before, 64)
	})
}

// TestBody_ManyLargeOfOneUser_OthersServed checks that a user may send two large bodies at a
// time, and that a third is refused without reading it while other users are served.
func TestBody_ManyLargeOfOneUser_OthersServed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		headers := "Authorization: Bearer " + server.seeker(t).token + "\r\nExpect: 100-continue\r\n"
		partOfBody := strings.Repeat("x", 1<<20+1)

		// startUpload sends a part of a document, so that the upload does not end, and returns
		// the status of the first response.
		startUpload := func() int {
			conn := server.dial(t)

			request := server.requestHead(t, "POST", "/api/jobseekers/documents", headers, 10<<20) + partOfBody
			go func() { _, _ = io.WriteString(conn, request) }() // returns when the connection is closed

			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)

			_ = response.Body.Close()

			return response.StatusCode
		}

		var statuses []int
		for range 16 {
			statuses = append(statuses, startUpload())
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
			"content":  partOfBody,
		}).ok(200)
	})
}

// dial opens a connection to the server, which the end of the test closes.
func (s *testServer) dial(t testing.TB) net.Conn {
	t.Helper()

	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })

	return conn
}

// sendRaw sends a request as text over a new connection, so that it need not be complete, and
// returns the first response, or nil if there is none within 3 s.
func (s *testServer) sendRaw(t testing.TB, text string) *http.Response {
	t.Helper()

	conn := s.dial(t)
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(3*time.Second)))

	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil
	}

	t.Cleanup(func() { _ = response.Body.Close() })

	return response
}

// requestHead returns the request line and headers of a request with a Content-Length, from a
// new IP address. The text extraHeaders is empty or ends with CR LF.
func (s *testServer) requestHead(t testing.TB, method, path, extraHeaders string, contentLength int) string {
	t.Helper()

	return fmt.Sprintf(
		"%s %s HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
		method,
		path,
		s.guest(t).ip,
		extraHeaders,
		contentLength,
	)
}

// peakMemory matches the highest resident memory of a process in /proc/PID/status.
var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMemoryMiB returns the peak resident memory of the server so far, in MiB.
func (s *testServer) peakMemoryMiB(t testing.TB) int {
	t.Helper()

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	require.NoError(t, err)

	match := peakMemory.FindSubmatch(status)
	require.NotNil(t, match)

	kib, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)

	return kib / 1024
}
