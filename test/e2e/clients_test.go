package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client is an HTTP client with its own address, signed in or not.
type client struct {
	t     testing.TB
	w     *testServer
	token string
	ip    string
	key   string // sent as Idempotency-Key
	// apiKey is sent as X-API-Key.
	apiKey string
	// guestCookie is the guest cookie of the browser.
	guestCookie string
}

// form is a body in application/x-www-form-urlencoded, and parts one in
// multipart/form-data.
type (
	form  url.Values
	parts map[string]string
)

func (p parts) encode(t testing.TB) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range p {
		require.NoError(t, w.WriteField(name, value))
	}
	require.NoError(t, w.Close())
	return b.Bytes(), w.FormDataContentType()
}

// addresses counts the addresses of clients: each has its own.
var addresses atomic.Uint32

// guest returns a new client at a new address in a new network.
func (w *testServer) guest(t testing.TB) *client {
	t.Helper()
	n := addresses.Add(0x9e3779) // odd, so that no address repeats before all were used
	return &client{t: t, w: w, ip: fmt.Sprintf("10.%d.%d.%d", byte(n>>16), byte(n>>8), byte(n))}
}

// fromNewAddress returns the same user at a new address.
func (c *client) fromNewAddress() *client {
	fresh := c.w.guest(c.t)
	fresh.token, fresh.guestCookie = c.token, c.guestCookie
	return fresh
}

// response is the response to a request.
type response struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
	body   map[string]any
	// repeat sends the same request again.
	repeat func() *response
	w      *testServer
}

// untilLimited returns the response that reports an exceeded limit: this one, or
// one of the next few if the server has not counted all requests in Redis. The
// server waits 200 ms for Redis, which a busy machine may exceed, and counts such
// a request in memory.
func (a *response) untilLimited() *response {
	for more := 0; a.status != http.StatusTooManyRequests && a.repeat != nil && a.w.countsLocally() && more < 5; more++ {
		a = a.repeat()
	}
	return a
}

// countsLocally reports whether the server counted a request in memory instead of
// Redis: a test that cannot repeat its request then cannot check the limit.
func (w *testServer) countsLocally() bool {
	return strings.Contains(w.log.String(), "limiter: redis is unavailable")
}

// send sends a request with a body (nil for none, a string or bytes unchanged,
// form and parts as forms, anything else as JSON), validates it against the
// OpenAPI document, and returns the response.
func (c *client) send(method, path string, body any) *response {
	c.t.Helper()
	a, request, sent := c.exchange(method, path, body)
	require.Less(c.t, a.status, 500, "%s %s: %s\n%s", method, path, a.raw, c.w.log)
	c.validateExchange(request, sent, a)
	a.repeat = func() *response { return c.send(method, path, body) }
	return a
}

// try sends a request like send without validation: for a server with unavailable
// dependencies, and for paths outside of the API.
func (c *client) try(method, path string, body any) *response {
	c.t.Helper()
	a, _, _ := c.exchange(method, path, body)
	a.repeat = func() *response { return c.try(method, path, body) }
	return a
}

func (c *client) exchange(method, path string, body any) (*response, *http.Request, []byte) {
	c.t.Helper()
	sent, kind := []byte(nil), "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		sent = []byte(b)
	case []byte:
		sent = b
	case form:
		sent, kind = []byte(url.Values(b).Encode()), "application/x-www-form-urlencoded"
	case parts:
		sent, kind = b.encode(c.t)
	default:
		var err error
		sent, err = json.Marshal(b)
		require.NoError(c.t, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	c.t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, method, c.w.url+path, bytes.NewReader(sent))
	require.NoError(c.t, err)
	if sent != nil {
		request.Header.Set("Content-Type", kind)
	}
	request.Header.Set("X-Forwarded-For", c.ip)
	if c.key != "" {
		request.Header.Set("Idempotency-Key", c.key)
	}
	if c.guestCookie != "" {
		request.Header.Set("Cookie", "locum_guest="+c.guestCookie)
	}
	if c.apiKey != "" {
		request.Header.Set("X-API-Key", c.apiKey)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.do(request), request, sent
}

// withKey returns the client with an API key.
func (c *client) withKey(apiKey string) *client {
	c.apiKey = apiKey
	return c
}

// do sends the request and reads the response.
func (c *client) do(request *http.Request) *response {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	a := &response{t: c.t, w: c.w, status: resp.StatusCode, header: resp.Header, raw: raw}
	if kind := resp.Header.Get("Content-Type"); strings.HasPrefix(kind, "application/json") || kind == "application/problem+json" {
		if len(raw) == 0 {
			return a // to HEAD
		}
		require.NoError(c.t, json.Unmarshal(raw, &a.body), "%s", raw)
	}
	require.NotEmpty(c.t, resp.Header.Get("X-Request-Id"))
	return a
}

// validateExchange validates the request of a success, and every response,
// against the OpenAPI document.
func (c *client) validateExchange(request *http.Request, sent []byte, a *response) {
	c.t.Helper()
	if a.status < 300 {
		doc, again := c.w.documentFor(c.t, request, sent)
		ok, problems := doc.ValidateHttpRequest(again)
		require.True(c.t, ok, "the document does not describe the request %s %s %s: %v", request.Method, request.URL, sent, problems)
	}
	c.validateResponse(request, sent, a)
}

// validateResponse validates a response against the OpenAPI document.
func (c *client) validateResponse(request *http.Request, sent []byte, a *response) {
	c.t.Helper()
	if a.status == http.StatusMethodNotAllowed || a.status == http.StatusNoContent || a.status == http.StatusNotModified ||
		a.status == http.StatusNotFound && bytes.Contains(a.raw, []byte(`"Not found"`)) {
		return // no operation of the document
	}
	doc, again := c.w.documentFor(c.t, request, sent)
	response := &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.raw)), Request: again}
	ok, problems := doc.ValidateHttpResponse(again, response)
	require.True(
		c.t,
		ok,
		"the document does not describe the response of %s %s: %d %s: %v",
		request.Method,
		request.URL,
		a.status,
		a.raw,
		problems,
	)
}

func (c *client) get(path string) *response { return c.send("GET", path, nil) }

func (c *client) post(path string, b any) *response { return c.send("POST", path, b) }

func (c *client) put(path string, b any) *response { return c.send("PUT", path, b) }

func (c *client) patch(path string, b any) *response { return c.send("PATCH", path, b) }

func (c *client) delete(path string) *response { return c.send("DELETE", path, nil) }

// ok requires a success with the status.
func (a *response) ok(status int) *response {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.raw)
	require.Equal(a.t, true, a.body["success"], "%s", a.raw)
	return a
}

// fails requires the portal's error body with the status and message.
func (a *response) fails(status int, message string) *response {
	a.t.Helper()
	if status == http.StatusTooManyRequests {
		a = a.untilLimited()
	}
	require.Equal(a.t, status, a.status, "%s", a.raw)
	require.Equal(a.t, false, a.body["success"], "%s", a.raw)
	require.Equal(a.t, message, a.body["error"], "%s", a.raw)
	return a
}

// invalid requires a validation error whose first field has the name.
func (a *response) invalid(field string) *response {
	a.t.Helper()
	a.fails(400, "Bad Request - Invalid parameters")
	require.Equal(a.t, field, a.at("details.field"), "%s", a.raw)
	return a
}

// at returns a value of the body by its path: data.user.id,
// data.listings.0.title.
func (a *response) at(path string) any {
	a.t.Helper()
	var v any = a.body
	for _, step := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			var ok bool
			v, ok = node[step]
			require.True(a.t, ok, "no %s in %s", path, a.raw)
		case []any:
			var i int
			_, err := fmt.Sscan(step, &i)
			require.NoError(a.t, err)
			require.Less(a.t, i, len(node), "no %s in %s", path, a.raw)
			v = node[i]
		default:
			require.Fail(a.t, "no such path", "%s in %s", path, a.raw)
		}
	}
	return v
}

func (a *response) text(path string) string {
	a.t.Helper()
	s, ok := a.at(path).(string)
	require.True(a.t, ok, "%s is not a string in %s", path, a.raw)
	return s
}

func (a *response) list(path string) []any {
	a.t.Helper()
	l, ok := a.at(path).([]any)
	require.True(a.t, ok, "%s is not an array in %s", path, a.raw)
	return l
}

func (a *response) number(path string) float64 {
	a.t.Helper()
	n, ok := a.at(path).(float64)
	require.True(a.t, ok, "%s is not a number in %s", path, a.raw)
	return n
}

// object is a JSON object.
type object = map[string]any

// pick returns the named members of the object at the path.
func (a *response) pick(path string, names ...string) object {
	a.t.Helper()
	out := object{}
	for _, name := range names {
		out[name] = a.at(path + "." + name)
	}
	return out
}
