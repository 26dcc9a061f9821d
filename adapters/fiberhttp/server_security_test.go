package fiberhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
)

// A proxy may add its X-Forwarded-For as a line of its own below the client's.
func TestAClientsOwnForwardedLineDoesNotHideTheProxys(t *testing.T) {
	t.Parallel()
	behind := serveFrame(t, netip.MustParsePrefix("127.0.0.0/8"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+behind.addr+"/test/echo/1", nil)
	require.NoError(t, err)
	request.Header["X-Forwarded-For"] = []string{"198.51.100.1", "203.0.113.9"}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var body struct {
		Data struct {
			IP string `json:"ip"`
		} `json:"data"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
	require.Equal(t, "203.0.113.9", body.Data.IP)
}

// Whatever is read before a route has its say is memory that anybody can take.
func TestABodyThatNoRouteReadsIsRefusedByItsLengthAlone(t *testing.T) {
	t.Parallel()
	f := serveFrame(t)
	head := "POST /test/echo/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
	status, closed := f.raw(t, fmt.Sprintf(head, 3<<20))
	require.Equal(t, 413, status)
	require.True(t, closed)
	f.silent(t, fmt.Sprintf(head, 3<<19), "a little too much is read, so that the answer arrives")

	response, _ := f.do(t, "POST", "/test/echo/1", strings.Repeat("x", 10<<20))
	require.Equal(t, 413, response.StatusCode, "and who sends it all the same gets to read that")

	large := &Server{surfaces: []web.Surface{{Routes: []web.Route{{Method: "PUT", Path: "/api/files/:id", Body: 10 << 20}, {Method: "PUT", Path: "/api/small/:id"}}}}}
	bound := large.bodyBound()
	for uri, want := range map[string]int{"/api/files/1?x": 11 << 20, "/api/small/1": 2 << 20, "/": 2 << 20, "*": 2 << 20} {
		var h fasthttp.RequestHeader
		h.SetRequestURI(uri)
		require.Equal(t, want, bound(&h).MaxRequestBodySize, uri)
	}
}
