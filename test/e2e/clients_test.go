package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
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
	t      testing.TB
	server *testServer
	token  string // the access token, empty for a guest
	ip     string // sent as X-Forwarded-For, which the server trusts from this machine
	key    string // sent as Idempotency-Key
	// apiKey is sent as X-API-Key.
	apiKey string
	// guestCookie is the guest cookie of the browser.
	guestCookie string
}

// form is a body in application/x-www-form-urlencoded: values by the name of their field.
type form url.Values

// parts is a body in multipart/form-data: values by the name of their field.
type parts map[string]string

// encode returns the body and its media type, which contains the boundary of the parts.
func (p parts) encode(t testing.TB) (body []byte, mediaType string) {
	t.Helper()
	var encoded bytes.Buffer

	writer := multipart.NewWriter(&encoded)
	for name, value := range p {
		require.NoError(t, writer.WriteField(name, value))
	}

	require.NoError(t, writer.Close())

	return encoded.Bytes(), writer.FormDataContentType()
}

// lastAddress is the number of the address that the newest client has.
var lastAddress atomic.Uint32

// guest returns a new client at a new address in a new network.
func (s *testServer) guest(t testing.TB) *client {
	t.Helper()

	// There are 2²⁴ addresses. Adding an odd number visits all of them before one repeats. With this
	// number, consecutive addresses are in different /24 networks, whose addresses some limits count
	// together.
	const step = 0x9e3779
	n := lastAddress.Add(step)

	return &client{t: t, server: s, ip: fmt.Sprintf("10.%d.%d.%d", byte(n>>16), byte(n>>8), byte(n))}
}

// fromNewAddress returns a client of the same user with a new network address. The server limits how many
// requests to a route may come from one address in a period. A test that needs more requests sends them
// from new addresses, for which nothing has been counted. The new client has no API key and no
// Idempotency-Key.
func (c *client) fromNewAddress() *client {
	fresh := c.server.guest(c.t)
	fresh.token, fresh.guestCookie = c.token, c.guestCookie
	return fresh
}

// response is the response to a request.
type response struct {
	t      testing.TB
	status int // of the HTTP response
	header http.Header
	raw    []byte         // the body as received
	body   map[string]any // the body, if it is JSON
	// repeat sends the same request again.
	repeat func() *response
	server *testServer
}

// untilLimited returns the response that reports an exceeded limit. Usually it is r. The server waits
// 200 ms for Redis, which a busy machine may exceed, and then counts the request in memory. The count in
// Redis is too low after such requests, so that untilLimited repeats the request up to five times.
func (r *response) untilLimited() *response {
	const maxRepetitions = 5
	for range maxRepetitions {
		isLimited := r.status == http.StatusTooManyRequests
		if isLimited || r.repeat == nil || !r.server.countsLocally() {
			break
		}

		r = r.repeat()
	}

	return r
}

// countsLocally reports whether the server has counted a request in memory instead of Redis. A test that
// cannot repeat its request then cannot check the limit.
func (s *testServer) countsLocally() bool {
	return strings.Contains(s.log.String(), "limiter: redis is unavailable")
}

// send sends a request and returns the response. It requires that the response is no server error, and
// that request and response are as the OpenAPI document of the server describes them.
//
// The body is nil for none. A string or bytes are sent unchanged, form and parts as forms, and any other
// value as JSON.
func (c *client) send(method, path string, body any) *response {
	c.t.Helper()

	resp, request, sent := c.exchange(method, path, body)
	require.Less(c.t, resp.status, 500, "%s %s: %s\n%s", method, path, resp.raw, c.server.log)
	c.validateExchange(request, sent, resp)

	resp.repeat = func() *response { return c.send(method, path, body) }

	return resp
}

// try sends a request like send, but does not check the response. It is for servers with unavailable
// dependencies, and for paths outside of the API.
func (c *client) try(method, path string, body any) *response {
	c.t.Helper()

	resp, _, _ := c.exchange(method, path, body)
	resp.repeat = func() *response { return c.try(method, path, body) }

	return resp
}

// exchange sends a request with the credentials of the client. It returns the response, and the request
// with the body that was sent, which the validation needs.
func (c *client) exchange(method, path string, body any) (_ *response, _ *http.Request, sent []byte) {
	c.t.Helper()

	kind := "application/json"
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

	request, err := http.NewRequestWithContext(ctx, method, c.server.url+path, bytes.NewReader(sent))
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

// withKey sets the API key of the client and returns the client.
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

	received := &response{t: c.t, server: c.server, status: resp.StatusCode, header: resp.Header, raw: raw}

	mediaType := resp.Header.Get("Content-Type")
	if strings.HasPrefix(mediaType, "application/json") || mediaType == "application/problem+json" {
		if len(raw) == 0 {
			return received // the response to HEAD has the headers of the JSON but no body
		}

		require.NoError(c.t, json.Unmarshal(raw, &received.body), "%s", raw)
	}

	// Every response can be found in the log by its id.
	require.NotEmpty(c.t, resp.Header.Get("X-Request-Id"))

	return received
}

// validateExchange validates a request that succeeded, and every response, against the OpenAPI
// document. Requests that fail are often invalid on purpose.
func (c *client) validateExchange(request *http.Request, sent []byte, resp *response) {
	c.t.Helper()

	if resp.status < 300 {
		doc, again := c.server.documentFor(c.t, request, sent)
		ok, problems := doc.ValidateHttpRequest(again)
		require.True(c.t, ok, "the document does not describe the request %s %s %s: %v", request.Method, request.URL, sent, problems)
	}

	c.validateResponse(request, sent, resp)
}

// validateResponse validates a response against the OpenAPI document.
func (c *client) validateResponse(request *http.Request, sent []byte, resp *response) {
	c.t.Helper()

	// The document does not describe these responses. Only an unknown path has the message "Not found";
	// an unknown resource has a message of its own.
	isUnknownPath := resp.status == http.StatusNotFound && bytes.Contains(resp.raw, []byte(`"Not found"`))

	// The server refuses the request line and headers of a request if they have more than 16 KiB. Only a long
	// URL can exceed that here, because the headers of the client have less than a KiB.
	const longURL = 15 << 10
	isHeadTooLarge := resp.status == http.StatusRequestHeaderFieldsTooLarge && len(request.URL.String()) > longURL

	switch {
	case isUnknownPath,
		isHeadTooLarge,
		resp.status == http.StatusMethodNotAllowed,
		resp.status == http.StatusNoContent,
		resp.status == http.StatusNotModified:
		return
	}

	doc, again := c.server.documentFor(c.t, request, sent)
	response := &http.Response{
		StatusCode: resp.status,
		Header:     resp.header,
		Body:       io.NopCloser(bytes.NewReader(resp.raw)),
		Request:    again,
	}
	ok, problems := doc.ValidateHttpResponse(again, response)
	require.True(c.t, ok, "the document does not describe the response of %s %s: %d %s: %v", request.Method,
		request.URL, resp.status, resp.raw, problems)
}

func (c *client) get(path string) *response { return c.send("GET", path, nil) }

func (c *client) post(path string, b any) *response { return c.send("POST", path, b) }

func (c *client) put(path string, b any) *response { return c.send("PUT", path, b) }

func (c *client) patch(path string, b any) *response { return c.send("PATCH", path, b) }

func (c *client) delete(path string) *response { return c.send("DELETE", path, nil) }

// ok requires a success with the status.
func (r *response) ok(status int) *response {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.raw)
	require.Equal(r.t, true, r.body["success"], "%s", r.raw)

	return r
}

// fails requires the portal's error body with the status and message.
func (r *response) fails(status int, message string) *response {
	r.t.Helper()

	if status == http.StatusTooManyRequests {
		r = r.untilLimited()
	}

	require.Equal(r.t, status, r.status, "%s", r.raw)
	require.Equal(r.t, false, r.body["success"], "%s", r.raw)
	require.Equal(r.t, message, r.body["error"], "%s", r.raw)

	return r
}

// invalid requires a validation error whose first field has the name.
func (r *response) invalid(field string) *response {
	r.t.Helper()
	r.fails(400, "Bad Request - Invalid parameters")
	require.Equal(r.t, field, r.at("details.field"), "%s", r.raw)

	return r
}

// at returns a value of the body by its path of member names and indexes, such as data.user.id or
// data.listings.0.title. It requires that the value exists.
func (r *response) at(path string) any {
	r.t.Helper()

	var v any = r.body
	for _, step := range strings.Split(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			var ok bool
			v, ok = node[step]
			require.True(r.t, ok, "no %s in %s", path, r.raw)
		case []any:
			var i int
			_, err := fmt.Sscan(step, &i)
			require.NoError(r.t, err)
			require.Less(r.t, i, len(node), "no %s in %s", path, r.raw)

			v = node[i]
		default:
			require.Fail(r.t, "no such path", "%s in %s", path, r.raw)
		}
	}

	return v
}

// text returns a string of the body by its path.
func (r *response) text(path string) string {
	r.t.Helper()

	s, ok := r.at(path).(string)
	require.True(r.t, ok, "%s is not a string in %s", path, r.raw)

	return s
}

// list returns an array of the body by its path.
func (r *response) list(path string) []any {
	r.t.Helper()

	items, ok := r.at(path).([]any)
	require.True(r.t, ok, "%s is not an array in %s", path, r.raw)

	return items
}

// number returns a number of the body by its path.
func (r *response) number(path string) float64 {
	r.t.Helper()

	n, ok := r.at(path).(float64)
	require.True(r.t, ok, "%s is not a number in %s", path, r.raw)

	return n
}

// integer returns a number of the body by its path and requires it to be a whole number.
func (r *response) integer(path string) int {
	r.t.Helper()

	n := r.number(path)
	require.Equal(r.t, math.Trunc(n), n, "%s is not a whole number in %s", path, r.raw)

	return int(n)
}

// object is a JSON object as encoding/json decodes it: its numbers are float64.
type object = map[string]any

// pick returns the named members of the object at the path.
func (r *response) pick(path string, names ...string) object {
	r.t.Helper()

	picked := object{}
	for _, name := range names {
		picked[name] = r.at(path + "." + name)
	}

	return picked
}
