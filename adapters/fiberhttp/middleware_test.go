package fiberhttp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServer_AmbiguousRequest_IsRejected checks that a request whose body or headers two parsers
// may delimit differently is a 400 (RFC 9112 §6.3, §11.2): behind a proxy, a part of such a body
// could be read as the request of another client.
//
// The body of most requests is "{}". In the chunked coding, "2\r\n{}\r\n" is a chunk of 2 bytes.
func TestServer_AmbiguousRequest_IsRejected(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	// Parts of the requests below. A head ends at the first empty line.
	const (
		postLine  = "POST /test/echo/1 HTTP/1.1\r\nHost: a\r\n"
		getLine   = "GET /test/echo/1 HTTP/1.1\r\n"
		lastChunk = "0\r\n\r\n"
	)
	for name, request := range map[string]string{
		"Content-Length twice":    postLine + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"Transfer-Encoding twice": postLine + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + lastChunk,
		"Content-Length beside Transfer-Encoding": postLine +
			"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" + lastChunk,
		"Transfer-Encoding on HTTP/1.0": "POST /test/echo/1 HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + lastChunk,
		"space before the colon":        postLine + "Transfer-Encoding : chunked\r\n\r\n" + lastChunk,
		"unknown coding":                postLine + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}",
		"identity coding":               postLine + "Transfer-Encoding: identity\r\n\r\n",
		"identity coding beside length": postLine + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
		"two codings":                   postLine + "Transfer-Encoding: gzip, chunked\r\n\r\n" + lastChunk,
		"newline in a chunk extension":  postLine + "Transfer-Encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n" + lastChunk,
		"Host twice":                    getLine + "Host: a\r\nHost: b\r\n\r\n",
		"no Host":                       getLine + "\r\n",
		"NUL in a value":                getLine + "Host: a\r\nX-A: a\x00b\r\n\r\n",
		"CR in a value":                 getLine + "Host: a\r\nX-A: a\rb\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			status, isClosed := server.sendRaw(t, request)
			require.Equal(t, 400, status)
			require.True(t, isClosed, "the server cannot know where the next request begins")
		})
	}

	// Only an empty line that ends in CRLF ends a head, so that this request is never complete.
	t.Run("lines that end in LF alone", func(t *testing.T) {
		t.Parallel()

		request := "POST /test/echo/1 HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}"
		server.requireNoResponse(t, request, "the server waits for the end of the head")
	})
}

// TestServer_OrdinaryRequest_IsAccepted checks requests with the headers of
// TestServer_AmbiguousRequest_IsRejected where they are unambiguous.
func TestServer_OrdinaryRequest_IsAccepted(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for name, request := range map[string]string{
		"Content-Length": rawPost("/test/echo/1", "Content-Length: 2\r\n", "{}"),
		"chunked":        rawPost("/test/echo/1", "Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			status, _ := server.sendRaw(t, request)
			require.Equal(t, 200, status)
		})
	}
}

// TestServer_HeadAboveReadBufferSize_IsA431 checks that a head may have 16 KiB, the size of the read
// buffer. A larger one is a 431 (Request Header Fields Too Large).
func TestServer_HeadAboveReadBufferSize_IsA431(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for name, test := range map[string]struct {
		headerBytes int
		wantStatus  int
	}{
		"above the limit":        {headerBytes: 17 * kibibyte, wantStatus: 431},
		"usual JWT with cookies": {headerBytes: 9 * kibibyte, wantStatus: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			headerLine := "X-A: " + strings.Repeat("a", test.headerBytes) + "\r\n"
			status, _ := server.sendRaw(t, rawGet("/test/echo/1", headerLine))
			require.Equal(t, test.wantStatus, status)
		})
	}
}

// TestServer_PanicOrInternalError_IsA500WithoutDetails checks that clients do not see the texts of
// panics and internal errors, and that the server continues to work after them. Of the two routes,
// one panics and the other returns an error.
func TestServer_PanicOrInternalError_IsA500WithoutDetails(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for _, path := range []string{"/test/panic", "/test/broken"} {
		response, body := server.get(t, path)
		require.Equal(t, 500, response.StatusCode, path)
		require.Equal(t, map[string]any{"success": false, "error": "Internal server error"}, body, path)
		require.NotEmpty(t, response.Header.Get("X-Request-Id"), path)
	}

	response, _ := server.get(t, "/test/echo/1")
	require.Equal(t, 200, response.StatusCode)
}

// TestServer_Panic_LogsStackAndActor checks that the log has the stack of a panic, and the user of the
// request (the actor) even though the operation did not return.
func TestServer_Panic_LogsStackAndActor(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	server.get(t, "/test/panic", header{"Authorization", "Bearer x"})
	require.Regexp(t, `"msg":"request failed",.*"error":"panic: secret inside\\ngoroutine`, server.log.String())
	require.Regexp(t, `"msg":"request",.*"status":500,.*"actor":"`+testUser+`"`, server.log.String())
}

// TestServer_UnknownRoute_IsAJSON404 checks that a 404 is JSON as the other errors of the API. Each
// resource has exactly one path: the path of the route /test/echo/:id with a trailing slash, in upper
// case or with another segment is unknown.
func TestServer_UnknownRoute_IsAJSON404(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for _, path := range []string{"/nowhere", "/test/echo/1/", "/TEST/echo/1", "/test/echo/1%2f2/x"} {
		response, body := server.get(t, path)
		require.Equal(t, 404, response.StatusCode, path)
		require.Equal(t, map[string]any{"success": false, "error": "Not found"}, body, path)
	}
}

// TestServer_UnknownMethod_IsAJSON405 checks that a 405 is JSON as the other errors of the API,
// and lists the methods of the route.
func TestServer_UnknownMethod_IsAJSON405(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).sendForJSON(t, "DELETE", "/test/echo/1", noBody)
	require.Equal(t, 405, response.StatusCode)
	require.Equal(t, map[string]any{"success": false, "error": "Method not allowed"}, body)
	require.ElementsMatch(t, []string{"GET", "HEAD", "POST"}, strings.Split(response.Header.Get("Allow"), ", "))
}

// TestRequestID_SentByClient_IsKeptIfValid checks that the request id of a client is kept if it has 8
// to 64 letters, digits, "-", "_" and ".". Another id is replaced, because ids are written to logs
// and pages.
func TestRequestID_SentByClient_IsKeptIfValid(t *testing.T) {
	t.Parallel()

	server := serveTest(t)

	const valid = "trace-12345678"

	response, _ := server.get(t, "/test/echo/1", header{"X-Request-Id", valid})
	require.Equal(t, valid, response.Header.Get("X-Request-Id"))

	tooLong := strings.Repeat("x", 65)
	for _, invalid := range []string{"short", tooLong, `a"b<script>cd`} {
		response, _ := server.get(t, "/test/echo/1", header{"X-Request-Id", invalid})
		require.NotEqual(t, invalid, response.Header.Get("X-Request-Id"))
	}
}
