package fiberhttp

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClientIP_TwoForwardedHeaders_LastCounts checks that the last of several X-Forwarded-For
// lines counts: a proxy may append a line of its own instead of extending that of the client,
// who could otherwise forge its address.
func TestClientIP_TwoForwardedHeaders_LastCounts(t *testing.T) {
	t.Parallel()

	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.addr+"/test/echo/1", nil)
	require.NoError(t, err)
	const forged, fromProxy = "198.51.100.1", "203.0.113.9"
	request.Header["X-Forwarded-For"] = []string{forged, fromProxy}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()
	var body struct {
		Data struct {
			IP string `json:"ip"`
		} `json:"data"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
	require.Equal(t, fromProxy, body.Data.IP)
}
