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

type echoInput struct {
	// ID is sent in the path, Text in the body.
	ID   string `path:"id"`
	Text string `json:"text"`
}

// echoView is the response of /test/echo: the input and the address of the client.
type echoView struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	IP   string `json:"ip"`
}

// testServer is a server with an API of test routes and a mount, and the values that tests read
// and set.
type testServer struct {
	addr    string
	log     *lockedWriter
	release chan struct{} // lets /test/slow respond
	entered chan struct{} // receives when /test/slow has started
	server  *Server
	// changes is returned by Services.PublicChanges, which invalidates the cache.
	changes atomic.Uint64
	tables  atomic.Int64 // open downloads
}

// table is a download that counts whether it is open.
type table struct {
	io.Reader
	open *atomic.Int64
}

func (t table) Close() error { t.open.Add(-1); return nil }

const testUser = "01935d3c-9c1e-7c1a-8f6e-2b7a7812e25a"

// testTokens accepts every token as that of testUser.
type testTokens struct{ identity.AccessTokens }

func (testTokens) Verify(string) (identity.AccessClaims, error) {
	return identity.AccessClaims{UserID: testUser, SessionID: testUser}, nil
}

// testSessions returns testUser for each session.
type testSessions struct{ identity.Sessions }

func (testSessions) GetPrincipals(_ context.Context, ids []string) ([]identity.Principal, error) {
	return list.Map(ids, func(id string) identity.Principal {
		return identity.Principal{
			User:    identity.User{ID: testUser},
			Session: identity.Session{ID: id, ExpiresAt: time.Now().Add(time.Hour)},
		}
	}), nil
}

// serveTest starts a server that trusts the proxies. Its database is down and its limiter is
// degraded.
func serveTest(t *testing.T, proxies ...netip.Prefix) *testServer {
	t.Helper()
	test := &testServer{log: &lockedWriter{w: &bytes.Buffer{}}, release: make(chan struct{}), entered: make(chan struct{}, 100)}
	var mu sync.Mutex
	textsByID := map[string]string{}
	var requestCount atomic.Int64
	// echo returns its input. It fails if a path parameter of an earlier request has changed
	// since, which happens if the server reuses the memory of the string.
	echo := web.Op(func(_ context.Context, c web.Call, in echoInput) (web.Reply[echoView], error) {
		mu.Lock()
		defer mu.Unlock()
		textsByID[in.ID] = in.ID
		for id, text := range textsByID {
			if id != text {
				return web.Reply[echoView]{}, fmt.Errorf("%s became %s", id, text)
			}
		}
		return web.OK(echoView{in.ID, in.Text, c.IP}, ""), nil
	})
	api := web.API{
		Name:      "test",
		Prefix:    "/test",
		Title:     "test",
		Fault:     portal.Fault,
		FaultBody: portal.Failure{},
		Routes: []web.Route{
			{Method: "POST", Path: "/test/echo/:id", Op: echo},
			{Method: "POST", Path: "/test/large/:id", Body: 10 << 20, Op: echo},
			{Method: "POST", Path: "/test/small/:id", Body: 1000, Op: echo},
			{Method: "POST", Path: "/test/small-limited/:id", Body: 1000, Limit: web.PerQuarterHour(2), Op: echo},
			{Method: "GET", Path: "/test/echo/:id", Op: web.Op(func(_ context.Context, c web.Call, in struct {
				ID string `path:"id"`
			}) (web.Reply[echoView], error) {
				return web.OK(echoView{ID: in.ID, IP: c.IP}, ""), nil
			})},
			{
				Method: "GET",
				Path:   "/test/limited",
				Limit:  web.PerQuarterHour(2),
				Op:     web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) { return web.Message("ok"), nil }),
			},
			{
				Method: "GET",
				Path:   "/test/count",
				Cached: true,
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) {
					return web.Message(fmt.Sprint(requestCount.Add(1))), nil
				}),
			},
			{
				Method: "GET",
				Path:   "/test/table",
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.CSV, error) {
					test.tables.Add(1)
					rows := strings.Repeat("a,b\r\n", 100_000)
					return web.CSV{Name: "t.csv", Size: int64(len(rows)), Body: table{strings.NewReader(rows), &test.tables}}, nil
				}),
			},
			{
				Method: "GET",
				Path:   "/test/panic",
				Auth:   web.Optional,
				Op:     web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) { panic("secret inside") }),
			},
			{
				Method: "GET",
				Path:   "/test/broken",
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) {
					return web.Done{}, fmt.Errorf("secret inside")
				}),
			},
			{
				Method:  "GET",
				Path:    "/test/hang",
				Timeout: 50 * time.Millisecond,
				Op: web.Op(func(ctx context.Context, _ web.Call, _ web.Nothing) (web.Done, error) {
					<-ctx.Done()
					return web.Done{}, ctx.Err()
				}),
			},
			{
				Method: "GET",
				Path:   "/test/slow",
				Op: web.Op(func(context.Context, web.Call, web.Nothing) (web.Done, error) {
					test.entered <- struct{}{}
					<-test.release
					return web.Message("done"), nil
				}),
			},
		},
	}
	server, err := New(adapters.Services{
		Identity:      identity.New(identity.Deps{Clock: clock.System{}, AccessTokens: testTokens{}, Sessions: testSessions{}}),
		Limiter:       locallimit.New(clock.System{}),
		PublicChanges: test.changes.Load,
		JWKS:          func() []byte { return []byte(`{"keys":[]}`) },
		Health: func(context.Context) map[string]adapters.Health {
			return map[string]adapters.Health{
				"database": {Err: errors.New("connection refused")},
				"limiter":  {Err: errors.New("no answer"), Degraded: true},
			}
		},
	}, Options{
		PublicURL:      "http://localhost",
		TrustedProxies: proxies,
		Metrics:        prometheus.NewRegistry(),
		NewID:          uuid.NewString,
		Log:            slog.New(slog.NewJSONHandler(test.log, nil)),
		APIs:           []web.API{api, portal.API(adapters.Services{})},
		Mounts:         []Mount{mount(test)},
	})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	test.addr, test.server = l.Addr().String(), server
	return test
}

// lockedWriter is a buffer for the log that may be used concurrently.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// String returns what has been written to the buffer.
func (l *lockedWriter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.(*bytes.Buffer).String()
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// raw sends bytes as they are. It returns the status of the response, and whether the server
// closed the connection after a status of 300 or more. The status is 0 if no response arrives.
func (f *testServer) raw(t *testing.T, request string) (status int, closed bool) {
	t.Helper()
	return f.within(t, 20*time.Second, request)
}

// silent checks that the server does not respond to the bytes for a while.
func (f *testServer) silent(t *testing.T, request, why string) {
	t.Helper()
	status, _ := f.within(t, 500*time.Millisecond, request)
	require.Zero(t, status, why)
}

// within is raw with a timeout for the response.
func (f *testServer) within(t *testing.T, timeout time.Duration, request string) (status int, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(timeout)))
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, false
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode < 300 {
		return response.StatusCode, false // the server waits for more
	}
	_, err = r.ReadByte()
	return response.StatusCode, errors.Is(err, io.EOF)
}

// TestServer_AmbiguousRequest_IsRejected checks that a request whose body or headers two parsers
// may delimit differently is a 400 (RFC 9112 §6.3, §11.2): behind a proxy, the rest of such a
// body could be read as the request of another client.
func TestServer_AmbiguousRequest_IsRejected(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	const post = "POST /test/echo/1 HTTP/1.1\r\nHost: a\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"an ordinary request":         {post + "Content-Length: 2\r\n\r\n{}", 200},
		"an ordinary chunked request": {post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200},
		"Content-Length twice":        {post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400},
		"Transfer-Encoding twice": {
			post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			400,
		},
		"Transfer-Encoding on HTTP/1.0": {
			"POST /test/echo/1 HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			400,
		},
		"a space before the colon":       {post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
		"an unknown coding":              {post + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}", 400},
		"the coding identity":            {post + "Transfer-Encoding: identity\r\n\r\n", 400},
		"identity beside Content-Length": {post + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}", 400},
		"two codings":                    {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
		"a newline in a chunk extension": {post + "Transfer-Encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n0\r\n\r\n", 400},
		"Host twice":                     {"GET /test/echo/1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		"no Host":                        {"GET /test/echo/1 HTTP/1.1\r\n\r\n", 400},
		"NUL in a value":                 {"GET /test/echo/1 HTTP/1.1\r\nHost: a\r\nX-A: a\x00b\r\n\r\n", 400},
		"CR in a value":                  {"GET /test/echo/1 HTTP/1.1\r\nHost: a\r\nX-A: a\rb\r\n\r\n", 400},
		"Content-Length beside Transfer-Encoding": {
			post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
			400,
		},
		// The limit of a head is ReadBufferSize, 16 KiB. A token and cookies of 9 KiB are within
		// it.
		"a head beyond 16 KiB":        {"GET /test/echo/1 HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 17<<10) + "\r\n\r\n", 431},
		"an ordinary JWT and cookies": {"GET /test/echo/1 HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 9<<10) + "\r\n\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, closed := server.raw(t, c.request)
			require.Equal(t, c.status, status)
			if status == 400 {
				require.True(t, closed, "what follows on the connection cannot be trusted")
			}
		})
	}
	// Only an empty line of CRLF ends a head, so the server waits for more of it.
	t.Run("lines that end in LF alone", func(t *testing.T) {
		t.Parallel()
		server.silent(t, "POST /test/echo/1 HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}", "its head has no end")
	})
}

// do sends a request with the headers (name, value, …) and decodes the JSON of the response.
func (f *testServer) do(t *testing.T, method, path, body string, header ...string) (*http.Response, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+f.addr+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var decoded map[string]any
	if len(raw) > 0 {
		require.NoError(t, json.Unmarshal(raw, &decoded), "%s", raw)
	}
	return response, decoded
}

// TestServer_Panic_IsA500WithoutDetails checks that clients do not see the texts of panics and
// internal errors, and that the server continues to work after them.
func TestServer_Panic_IsA500WithoutDetails(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	for _, path := range []string{"/test/panic", "/test/broken"} {
		response, body := server.do(t, "GET", path, "")
		require.Equal(t, 500, response.StatusCode)
		require.Equal(t, map[string]any{"success": false, "error": "Internal server error"}, body)
		require.NotEmpty(t, response.Header.Get("X-Request-Id"))
	}
	response, _ := server.do(t, "GET", "/test/echo/1", "")
	require.Equal(t, 200, response.StatusCode)
}

// TestServer_Panic_LogsTheActor checks that the log has the stack of a panic, and the user of
// the request even though the operation did not return.
func TestServer_Panic_LogsTheActor(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	f.do(t, "GET", "/test/panic", "", "Authorization", "Bearer x")
	require.Regexp(t, `"msg":"request failed",.*"error":"panic: secret inside\\ngoroutine`, f.log.String())
	require.Regexp(t, `"msg":"request",.*"status":500,.*"actor":"`+testUser+`"`, f.log.String())
}

// TestServer_UnknownRouteOrMethod_HasTheFormatOfTheAPI checks that 404 and 405 are JSON as the
// other errors of the API. A trailing slash, upper case and another segment make other paths:
// each resource has one.
func TestServer_UnknownRouteOrMethod_HasTheFormatOfTheAPI(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	for _, path := range []string{"/nowhere", "/test/echo/1/", "/TEST/echo/1", "/test/echo/1%2f2/x"} {
		response, body := server.do(t, "GET", path, "")
		require.Equal(t, 404, response.StatusCode, path)
		require.Equal(t, map[string]any{"success": false, "error": "Not found"}, body)
	}
	response, body := server.do(t, "DELETE", "/test/echo/1", "")
	require.Equal(t, 405, response.StatusCode)
	require.Equal(t, map[string]any{"success": false, "error": "Method not allowed"}, body)
	require.ElementsMatch(t, []string{"GET", "HEAD", "POST"}, strings.Split(response.Header.Get("Allow"), ", "))
}

// TestTheRequestIDIsTheClientsIfItIsSensible checks that a request id of 8 to 64 letters,
// digits, "-", "_" and "." is kept. Others are replaced, because the id is written to logs and
// pages.
func TestTheRequestIDIsTheClientsIfItIsSensible(t *testing.T) {
	t.Parallel()
	f := serveTest(t)
	response, _ := f.do(t, "GET", "/test/echo/1", "", "X-Request-Id", "trace-12345678")
	require.Equal(t, "trace-12345678", response.Header.Get("X-Request-Id"))
	for _, odd := range []string{"short", strings.Repeat("x", 65), `a"b<script>cd`} {
		response, _ = f.do(t, "GET", "/test/echo/1", "", "X-Request-Id", odd)
		require.NotEqual(t, odd, response.Header.Get("X-Request-Id"))
	}
}

// TestClientIP_ForwardedHeader_CountsOnlyFromTrustedProxies checks that the client is the
// rightmost address of X-Forwarded-For that is no trusted proxy. Clients can forge all addresses
// to the left of it, and the whole header if they connect directly. Rate limits count by this
// address.
func TestClientIP_ForwardedHeader_CountsOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	direct := serveTest(t)
	behind := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"))
	for _, c := range []struct {
		f             *testServer
		forwarded, ip string
	}{
		{direct, "203.0.113.9", "127.0.0.1"},
		{behind, "", "127.0.0.1"},
		{behind, "203.0.113.9", "203.0.113.9"},
		{behind, "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{behind, "198.51.100.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"},
		{behind, "203.0.113.9:4711", "203.0.113.9"},
		{behind, "[2001:db8::1]:4711", "2001:db8::1"},
		{behind, "198.51.100.1, nonsense", "127.0.0.1"}, // what is left of an invalid address may be forged
		{behind, "::ffff:203.0.113.9", "203.0.113.9"},
		{behind, "10.9.9.9", "10.9.9.9"}, // only proxies: the client is one of them
	} {
		_, body := c.f.do(t, "GET", "/test/echo/1", "", "X-Forwarded-For", c.forwarded)
		require.Equal(t, c.ip, body["data"].(map[string]any)["ip"], c.forwarded)
	}
}

// TestEveryIPv6NetworkOf64BitsIsOneClient checks that limits count IPv6 clients by their /64: a
// host usually has a whole /64, and could use another address for each request.
func TestEveryIPv6NetworkOf64BitsIsOneClient(t *testing.T) {
	t.Parallel()
	require.Equal(t, web.LimitKey("2001:db8::1"), web.LimitKey("2001:db8::ffff:1"))
	require.NotEqual(t, web.LimitKey("2001:db8::1"), web.LimitKey("2001:db8:0:1::1"))
	require.NotEqual(t, web.LimitKey("192.0.2.1"), web.LimitKey("192.0.2.2"))
}
