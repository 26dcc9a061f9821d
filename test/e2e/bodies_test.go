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

// TestBody_OverLimitOfRoute_RefusedUnread checks that the server refuses a request by its headers, before
// it reads the body. The client announces a length but sends no body, so that a server that waits for the
// body would not respond. The maximum length depends on the route: 16 KiB for guests, 1 MiB for signed-in
// users, and 10 MiB for documents. The body of a document is read only for a jobseeker with a valid
// token, so that guests cannot fill the memory.
func TestBody_OverLimitOfRoute_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			overGuestLimit    = 16<<10 + 1
			overSignedInLimit = 1<<20 + 1
			documentLimit     = 10 << 20
			overDocumentLimit = documentLimit + 1
		)

		seekerToken, employerToken := server.seeker(t).token, server.employer(t).token

		for _, test := range []struct {
			method, path string
			token        string // empty for a guest
			length       int    // the announced length of the body
			wantStatus   int
		}{
			{method: "POST", path: "/api/auth/login", length: overGuestLimit, wantStatus: 413},
			{method: "POST", path: "/api/auth/register", length: overGuestLimit, wantStatus: 413},
			{method: "POST", path: "/api/auth/refresh", length: 1 << 20, wantStatus: 413},
			{method: "POST", path: "/api/listings/search", length: overGuestLimit, wantStatus: 413},
			{method: "GET", path: "/api/listings?search=nurse", length: overGuestLimit, wantStatus: 413},
			{method: "GET", path: "/api/jobseekers/search", length: overGuestLimit, wantStatus: 413},
			{method: "POST", path: "/api/jobseekers/onboarding", length: overSignedInLimit, wantStatus: 413},
			{method: "POST", path: "/api/jobseekers/documents", length: documentLimit, wantStatus: 401},
			{method: "POST", path: "/api/jobseekers/documents", token: "x", length: documentLimit, wantStatus: 401},
			{method: "POST", path: "/api/jobseekers/documents", token: employerToken, length: documentLimit, wantStatus: 403},
			{method: "POST", path: "/api/jobseekers/documents", token: seekerToken, length: overDocumentLimit, wantStatus: 413},
			{method: "PUT", path: "/api/jobseekers/documents/" + nowhere, length: documentLimit, wantStatus: 401},
			{method: "POST", path: "/api/employers/jobs", length: 1 << 20, wantStatus: 401},
			// There is no such route, so that the length does not matter.
			{method: "POST", path: "/nowhere", length: 1 << 30, wantStatus: 404},
			{method: "POST", path: "/oauth/token", length: 1 << 20, wantStatus: 413},
			{method: "POST", path: "/developers/sign-in", length: 1 << 20, wantStatus: 413},
		} {
			extraHeaders := ""
			if test.token != "" {
				extraHeaders = "Authorization: Bearer " + test.token + "\r\n"
			}

			response := server.sendRaw(t, server.requestHead(t, test.method, test.path, extraHeaders, test.length))
			require.NotNil(t, response, "%s %s waits for the body", test.method, test.path)
			require.Equal(t, test.wantStatus, response.StatusCode, "%s %s", test.method, test.path)

			// The client may still send the body, which the server would read as the next request.
			require.True(t, response.Close, "%s %s: the connection must not be used again", test.method, test.path)
		}
	})
}

// TestBody_Document10MiB_AcceptedWithToken checks that a jobseeker can send a body just below the limit
// for documents.
func TestBody_Document10MiB_AcceptedWithToken(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			maxBody      = 10 << 20 // bytes
			otherMembers = 200      // bytes, more than the other members of the body have
		)

		content := strings.Repeat("x", maxBody-otherMembers)
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

// TestBody_ContentLengthAlone_AllocatesNothing checks that the server allocates no memory for a body
// before it receives the body. Each of 100 requests announces 1 MiB but sends one byte.
func TestBody_ContentLengthAlone_AllocatesNothing(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		headers := "Authorization: Bearer " + server.seeker(t).token + "\r\n"

		const (
			requests        = 100
			announcedLength = 1 << 20 // bytes

			// maxGrowth in MiB is well below the announced bodies, which have 100 MiB together. It allows for
			// the memory that connections and the garbage collector need.
			maxGrowth = 64
		)

		before := server.peakMemoryMiB(t)
		for range requests {
			conn := server.dial(t)
			head := server.requestHead(t, "POST", "/api/jobseekers/onboarding", headers, announcedLength)
			_, err := io.WriteString(conn, head+"{")
			require.NoError(t, err)
		}

		server.guest(t).get("/api/listings").ok(200)
		require.Less(t, server.peakMemoryMiB(t)-before, maxGrowth, "memory was allocated for the announced bodies")
	})
}

// TestBody_ManyLargeOfOneUser_OthersServed checks that a user may send two large bodies at a time. The
// server refuses a third one without reading it, and serves other users meanwhile.
func TestBody_ManyLargeOfOneUser_OthersServed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			announcedLength = 10 << 20 // bytes
			maxConcurrent   = 2        // large bodies of a user
			refused         = 14
			partLength      = 1<<20 + 1 // bytes: a body of more than 1 MiB is large
		)

		// With "Expect: 100-continue", the server responds 100 Continue before it reads the body.
		headers := "Authorization: Bearer " + server.seeker(t).token + "\r\nExpect: 100-continue\r\n"
		partOfBody := strings.Repeat("x", partLength)

		// startUpload sends a part of a document, so that the upload does not end. It returns the status of
		// the first response.
		startUpload := func() int {
			conn := server.dial(t)

			request := server.requestHead(t, "POST", "/api/jobseekers/documents", headers, announcedLength) + partOfBody
			go func() { _, _ = io.WriteString(conn, request) }() // returns when the connection is closed

			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)

			_ = response.Body.Close()

			return response.StatusCode
		}

		var statuses []int
		for range maxConcurrent + refused {
			statuses = append(statuses, startUpload())
		}

		want := slices.Concat(slices.Repeat([]int{100}, maxConcurrent), slices.Repeat([]int{429}, refused))
		require.Equal(t, want, statuses)

		// Another user can still sign in and upload a document.
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

// sendRaw sends a request over a new connection as text, which need not be a complete request. It returns
// the first response, or nil if there is none within 3 s.
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
