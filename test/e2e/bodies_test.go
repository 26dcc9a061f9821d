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

// The maximum lengths of bodies, in bytes, depend on the route.
const (
	smallLimit    = 16 << 10 // sign-ins, registrations and searches
	defaultLimit  = 1 << 20  // most routes
	documentLimit = 10 << 20 // documents of jobseekers
)

// unreadBody is a request that the server must refuse by its headers, before it reads the body.
type unreadBody struct {
	method, path string
	token        string // empty for a guest
	length       int    // the announced length of the body, in bytes
}

// requireRefusedUnread announces the body but does not send it, and requires the status. A server that waits for the body
// would not respond.
func (s *testServer) requireRefusedUnread(t *testing.T, request unreadBody, wantStatus int) {
	t.Helper()

	name := request.method + " " + request.path

	extraHeaders := ""
	if request.token != "" {
		extraHeaders = "Authorization: Bearer " + request.token + "\r\n"
	}

	response := s.sendRaw(t, s.requestHead(t, request.method, request.path, extraHeaders, request.length))
	require.NotNil(t, response, "%s waits for the body", name)
	require.Equal(t, wantStatus, response.StatusCode, name)

	// The client may still send the body, which the server would read as the next request.
	require.True(t, response.Close, "%s: the connection must not be used again", name)
}

// TestBody_OverLimitOfRoute_RefusedUnread checks that the server refuses a body that is longer than the maximum of its
// route, before it reads the body.
func TestBody_OverLimitOfRoute_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		seekerToken := server.seeker(t).token

		for _, request := range []unreadBody{
			{method: "POST", path: "/api/auth/login", length: smallLimit + 1},
			{method: "POST", path: "/api/auth/register", length: smallLimit + 1},
			{method: "POST", path: "/api/auth/refresh", length: defaultLimit},
			{method: "POST", path: "/api/listings/search", length: smallLimit + 1},
			{method: "GET", path: "/api/listings?search=nurse", length: smallLimit + 1},
			{method: "GET", path: "/api/jobseekers/search", length: smallLimit + 1},
			{method: "POST", path: "/oauth/token", length: defaultLimit},
			{method: "POST", path: "/developers/sign-in", length: defaultLimit},
			// This route is for guests, too, and has the limit of most routes.
			{method: "POST", path: "/api/jobseekers/onboarding", length: defaultLimit + 1},
			{method: "POST", path: "/api/jobseekers/documents", token: seekerToken, length: documentLimit + 1},
		} {
			server.requireRefusedUnread(t, request, http.StatusRequestEntityTooLarge)
		}
	})
}

// TestBody_NotAuthorized_RefusedUnread checks that the server refuses the body of a user who may not send it, before it
// reads the body. The lengths are permitted, but guests must not be able to fill the memory.
func TestBody_NotAuthorized_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, ofGuest := range []unreadBody{
			{method: "POST", path: "/api/jobseekers/documents", length: documentLimit},
			{method: "POST", path: "/api/jobseekers/documents", token: "x", length: documentLimit}, // an invalid token
			{method: "PUT", path: "/api/jobseekers/documents/" + nowhere, length: documentLimit},
			{method: "POST", path: "/api/employers/jobs", length: defaultLimit},
		} {
			server.requireRefusedUnread(t, ofGuest, http.StatusUnauthorized)
		}

		employerToken := server.employer(t).token
		ofEmployer := unreadBody{method: "POST", path: "/api/jobseekers/documents", token: employerToken, length: documentLimit}
		server.requireRefusedUnread(t, ofEmployer, http.StatusForbidden)
	})
}

// TestBody_UnknownRoute_RefusedUnread checks that a request to a path without a route is a 404, whatever the length of its
// body is.
func TestBody_UnknownRoute_RefusedUnread(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const gibibyte = 1 << 30

		server.requireRefusedUnread(t, unreadBody{method: "POST", path: "/nowhere", length: gibibyte}, http.StatusNotFound)
	})
}

// TestBody_Document10MiB_AcceptedWithToken checks that a jobseeker can send a body just below the limit
// for documents.
func TestBody_Document10MiB_AcceptedWithToken(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const otherMembers = 200 // bytes, more than the other members of the body have

		content := strings.Repeat("x", documentLimit-otherMembers)
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
			announcedLength = 1 << 20 // 1 MiB

			// maxGrowthMiB is well below the announced bodies, which have 100 MiB together. It allows for
			// the memory that connections and the garbage collector need.
			maxGrowthMiB = 64
		)

		before := server.peakMemoryMiB(t)
		for range requests {
			conn := server.dial(t)
			head := server.requestHead(t, "POST", "/api/jobseekers/onboarding", headers, announcedLength)
			_, err := io.WriteString(conn, head+"{")
			require.NoError(t, err)
		}

		server.guest(t).get("/api/listings").ok(200)
		require.Less(t, server.peakMemoryMiB(t)-before, maxGrowthMiB, "memory was allocated for the announced bodies")
	})
}

// TestBody_ManyLargeOfOneUser_OthersServed checks that a user may send two large bodies at a time. The
// server refuses a third one without reading it, and serves other users meanwhile.
func TestBody_ManyLargeOfOneUser_OthersServed(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		const (
			maxConcurrent = 2                // large bodies of a user
			refused       = 14               // further uploads
			partLength    = defaultLimit + 1 // a body is large if it is longer than those of other routes
		)

		// With "Expect: 100-continue", the server responds 100 Continue before it reads the body.
		headers := "Authorization: Bearer " + server.seeker(t).token + "\r\nExpect: 100-continue\r\n"
		partOfBody := strings.Repeat("x", partLength)

		// startUpload sends a part of a document, so that the upload does not end. It returns the status of
		// the first response.
		startUpload := func() int {
			conn := server.dial(t)

			request := server.requestHead(t, "POST", "/api/jobseekers/documents", headers, documentLimit) + partOfBody
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
