package fiberhttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/adapters/portal"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/identity"
)

// testServer is a listening Server with an API of test routes (see testRoutes) and a mount (see
// testMount), and the values that tests read and set.
type testServer struct {
	*Server
	addr string        // the listening address, HOST:PORT
	log  *lockedBuffer // the log of the server, as lines of JSON
	// slowStarted receives a value when /test/slow or /mount/slow has started.
	slowStarted chan struct{}
	// finishSlow is closed by tests to let /test/slow and /mount/slow respond.
	finishSlow chan struct{}
	// publicChanges is returned by Services.PublicChanges. A change of it invalidates the cache.
	publicChanges atomic.Uint64
	// openDownloads is the number of responses of /test/download whose bodies are not closed.
	openDownloads atomic.Int64
}

// serveTest starts a server that trusts the proxies. Its readiness reports a database that is down and
// a limiter that is degraded. Every access token is valid.
func serveTest(t *testing.T, proxies ...netip.Prefix) *testServer {
	t.Helper()

	server := &testServer{
		log:         &lockedBuffer{},
		slowStarted: make(chan struct{}, 1),
		finishSlow:  make(chan struct{}),
	}
	services := adapters.Services{
		Identity:      identity.New(identity.Deps{Clock: clock.System{}, AccessTokens: testTokens{}, Sessions: testSessions{}}),
		Limiter:       locallimit.New(clock.System{}),
		PublicChanges: server.publicChanges.Load,
		JWKS:          func() []byte { return []byte(`{"keys":[]}`) },
		Health: func(context.Context) map[string]adapters.Health {
			return map[string]adapters.Health{
				"database": {Err: errors.New("connection refused")},
				"limiter":  {Err: errors.New("no answer"), Degraded: true},
			}
		},
	}

	testAPI := web.API{
		Name:      "test",
		Prefix:    "/test",
		Title:     "test",
		Fault:     portal.Fault,
		FaultBody: portal.Failure{},
		Routes:    server.testRoutes(),
	}

	// Besides the test API, the server has the API of the portal, for tests of the documentation.
	var err error
	server.Server, err = New(services, Options{
		PublicURL:      "http://localhost",
		TrustedProxies: proxies,
		Metrics:        prometheus.NewRegistry(),
		NewID:          uuid.NewString,
		Log:            slog.New(slog.NewJSONHandler(server.log, nil)),
		APIs:           []web.API{testAPI, portal.API(adapters.Services{})},
		Mounts:         []Mount{testMount(server)},
	})
	require.NoError(t, err)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)

	server.addr = listener.Addr().String()
	go func() { _ = server.Serve(listener) }()

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()

		_ = server.Shutdown(ctx)
	})

	return server
}

// Limits of the test routes.
const (
	mebibyte            = 1 << 20
	usualLimit          = mebibyte // bytes of a body, on routes without a limit of their own
	smallLimit          = 1000     // bytes of a body, on the routes "small"
	largeLimit          = 10 * mebibyte
	callsPerQuarterHour = 2 // on the routes "limited"
)

// testRoutes returns the routes of the test API: routes with different limits of the body and the
// requests, and one for each way in which an operation can end.
func (s *testServer) testRoutes() []web.Route {
	const noMessage = ""

	// The routes "echo" return their input. They differ in the limits of the body and of the requests.
	echo := web.Op(checkedEcho())
	echoPath := func(_ context.Context, c web.Call, in echoPathInput) (web.Reply[echoView], error) {
		return web.OK(echoView{ID: in.ID, IP: c.IP}, noMessage), nil
	}
	ok := func(context.Context, web.Call, web.Nothing) (web.Done, error) { return web.Message("ok"), nil }

	var requestCount atomic.Int64

	// The message of the response is the number of requests that have reached the operation.
	countRequests := func(context.Context, web.Call, web.Nothing) (web.Done, error) {
		return web.Message(fmt.Sprint(requestCount.Add(1))), nil
	}

	// The body of the download counts as open until the server closes it.
	download := func(context.Context, web.Call, web.Nothing) (web.CSV, error) {
		s.openDownloads.Add(1)

		rows := strings.Repeat("a,b\r\n", downloadBytes/len("a,b\r\n"))

		return web.CSV{Name: "t.csv", Size: downloadBytes, Body: countedDownload{strings.NewReader(rows), &s.openDownloads}}, nil
	}

	// The texts of the panic and of the error must not reach a client.
	panics := func(context.Context, web.Call, web.Nothing) (web.Done, error) { panic("secret inside") }
	fail := func(context.Context, web.Call, web.Nothing) (web.Done, error) {
		return web.Done{}, errors.New("secret inside")
	}

	// The operation ends with its context, at the timeout of its route.
	waitForTimeout := func(ctx context.Context, _ web.Call, _ web.Nothing) (web.Done, error) {
		<-ctx.Done()
		return web.Done{}, ctx.Err()
	}

	// The operation ends when the test closes finishSlow.
	waitForTest := func(context.Context, web.Call, web.Nothing) (web.Done, error) {
		s.slowStarted <- struct{}{}

		<-s.finishSlow

		return web.Message("done"), nil
	}

	return []web.Route{
		{Method: "POST", Path: "/test/echo/:id", Op: echo},
		{Method: "POST", Path: "/test/large/:id", Body: largeLimit, Op: echo},
		{Method: "POST", Path: "/test/small/:id", Body: smallLimit, Op: echo},
		{Method: "POST", Path: "/test/small-limited/:id", Body: smallLimit, Limit: web.PerQuarterHour(callsPerQuarterHour), Op: echo},
		{Method: "GET", Path: "/test/echo/:id", Op: web.Op(echoPath)},
		{Method: "GET", Path: "/test/limited", Limit: web.PerQuarterHour(callsPerQuarterHour), Op: web.Op(ok)},
		{Method: "GET", Path: "/test/count", Cached: true, Op: web.Op(countRequests)},
		{Method: "GET", Path: "/test/download", Op: web.Op(download)},
		{Method: "GET", Path: "/test/panic", Auth: web.Optional, Op: web.Op(panics)},
		{Method: "GET", Path: "/test/broken", Op: web.Op(fail)},
		{Method: "GET", Path: "/test/hang", Timeout: 50 * time.Millisecond, Op: web.Op(waitForTimeout)},
		{Method: "GET", Path: "/test/slow", Op: web.Op(waitForTest)},
	}
}

// echoInput is a request with ID in the path and Text in the body.
type echoInput struct {
	ID   string `path:"id"`
	Text string `json:"text"`
}

// echoPathInput is a request without a body.
type echoPathInput struct {
	ID string `path:"id"`
}

// echoView is the response of /test/echo: the input and the address of the client.
type echoView struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	IP   string `json:"ip"`
}

// checkedEcho returns an operation that returns its input. It fails if the id of an earlier
// request has changed since, which happens if the server reuses the memory of the string.
func checkedEcho() func(context.Context, web.Call, echoInput) (web.Reply[echoView], error) {
	var mu sync.Mutex

	// Keys are copies of the ids, which the server cannot overwrite.
	idsByCopy := map[string]string{}

	return func(_ context.Context, c web.Call, in echoInput) (web.Reply[echoView], error) {
		mu.Lock()
		defer mu.Unlock()

		idsByCopy[strings.Clone(in.ID)] = in.ID

		for idCopy, id := range idsByCopy {
			if id != idCopy {
				return web.Reply[echoView]{}, fmt.Errorf("%s became %s", idCopy, id)
			}
		}

		const noMessage = ""

		return web.OK(echoView{ID: in.ID, Text: in.Text, IP: c.IP}, noMessage), nil
	}
}

// downloadBytes is the size of the response of /test/download.
const downloadBytes = 500_000

// countedDownload is the body of a download. Close subtracts it from open.
type countedDownload struct {
	io.Reader
	open *atomic.Int64
}

func (d countedDownload) Close() error { d.open.Add(-1); return nil }

// testUser is the id of the user to whom every access token belongs.
const testUser = "01935d3c-9c1e-7c1a-8f6e-2b7a7812e25a"

// testTokens accepts every token as that of testUser. The session has the same id as the user.
type testTokens struct{ identity.AccessTokens }

// Verify implements identity.AccessTokens.
func (testTokens) Verify(string) (identity.AccessClaims, error) {
	return identity.AccessClaims{UserID: testUser, SessionID: testUser}, nil
}

// testSessions returns testUser for each session.
type testSessions struct{ identity.Sessions }

// GetPrincipals implements identity.Sessions.
func (testSessions) GetPrincipals(_ context.Context, ids []string) ([]identity.Principal, error) {
	return list.Map(ids, func(id string) identity.Principal {
		return identity.Principal{
			User:    identity.User{ID: testUser},
			Session: identity.Session{ID: id, ExpiresAt: time.Now().Add(time.Hour)},
		}
	}), nil
}

// lockedBuffer is a buffer for the log that may be used concurrently.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// String returns what has been written to the buffer.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// header is a header field of a request.
type header struct{ name, value string }

// send sends a request and returns the response and its body.
func (s *testServer) send(t *testing.T, method, path string, body io.Reader, headers ...header) (*http.Response, string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.addr+path, body)
	require.NoError(t, err)

	for _, field := range headers {
		request.Header.Add(field.name, field.value)
	}

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	return response, string(text)
}

// getText sends a GET request and returns the response and its body.
func (s *testServer) getText(t *testing.T, path string, headers ...header) (*http.Response, string) {
	t.Helper()
	return s.send(t, "GET", path, http.NoBody, headers...)
}

// sendForJSON sends a request and decodes the body of the response, which must be a JSON object
// or empty.
func (s *testServer) sendForJSON(
	t *testing.T,
	method, path, body string,
	headers ...header,
) (*http.Response, map[string]any) {
	t.Helper()

	response, text := s.send(t, method, path, strings.NewReader(body), headers...)

	var decoded map[string]any
	if text != "" {
		require.NoError(t, json.Unmarshal([]byte(text), &decoded), text)
	}

	return response, decoded
}

// get sends a GET request and decodes the JSON of the response.
func (s *testServer) get(t *testing.T, path string, headers ...header) (*http.Response, map[string]any) {
	t.Helper()
	return s.sendForJSON(t, "GET", path, noBody, headers...)
}

// post sends a POST request and decodes the JSON of the response.
func (s *testServer) post(t *testing.T, path, body string, headers ...header) (*http.Response, map[string]any) {
	t.Helper()
	return s.sendForJSON(t, "POST", path, body, headers...)
}

// dial opens a connection to the server and sends text as it is, which may be only a part of a request
// or several requests. The reader reads the responses. Reads and writes fail after 20 seconds.
func (s *testServer) dial(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()

	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))

	_, err = io.WriteString(conn, text)
	require.NoError(t, err)

	return conn, bufio.NewReader(conn)
}

// readResponse reads a response with its body from a connection.
func readResponse(t *testing.T, r *bufio.Reader) (*http.Response, string) {
	t.Helper()

	response, err := http.ReadResponse(r, nil)
	require.NoError(t, err)

	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	return response, string(body)
}

// readStatus reads a response with its body from a connection, and returns its status.
func readStatus(t *testing.T, r *bufio.Reader) int {
	t.Helper()

	response, _ := readResponse(t, r)

	return response.StatusCode
}

// sendRaw sends the text of a request as it is, and returns the status of the response. The status is
// 0 if no response arrives within 20 seconds. After an error (a status of 300 or more), sendRaw also
// waits until the server closes the connection, for the rest of the 20 seconds, and reports whether
// it did. After a success, isClosed is false, because the server waits for the next request.
func (s *testServer) sendRaw(t *testing.T, request string) (status int, isClosed bool) {
	t.Helper()
	return s.sendRawWithin(t, 20*time.Second, request)
}

// requireNoResponse checks that the server does not respond to the text within half a second.
func (s *testServer) requireNoResponse(t *testing.T, request, reason string) {
	t.Helper()

	status, _ := s.sendRawWithin(t, 500*time.Millisecond, request)
	require.Zero(t, status, reason)
}

// sendRawWithin is sendRaw with another timeout.
func (s *testServer) sendRawWithin(t *testing.T, timeout time.Duration, request string) (status int, isClosed bool) {
	t.Helper()

	conn, r := s.dial(t, request)
	defer func() { _ = conn.Close() }()

	require.NoError(t, conn.SetReadDeadline(time.Now().Add(timeout)))

	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, false
	}

	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()

	isError := response.StatusCode >= 300
	if !isError {
		return response.StatusCode, false // the server waits for the next request
	}

	// The end of the connection is read as io.EOF. A connection that stays open is a timeout.
	_, err = r.ReadByte()

	return response.StatusCode, errors.Is(err, io.EOF)
}

// Arguments of rawPost and rawGet for a request without headers besides Host, or without a body.
const (
	noHeaderLines = ""
	noBody        = ""
)

// rawPost returns the text of a POST request. Each line of headerLines ends with CRLF.
func rawPost(path, headerLines, body string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + headerLines + "\r\n" + body
}

// rawGet returns the text of a GET request. Each line of headerLines ends with CRLF.
func rawGet(path, headerLines string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + headerLines + "\r\n"
}
