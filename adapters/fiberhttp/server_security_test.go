package fiberhttp

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClientIP_TwoForwardedHeaders_LastCounts checks that the last of several X-Forwarded-For lines
// counts. A proxy may append a line of its own instead of extending the line of the client. If the
// first line counted, clients could forge their addresses.
func TestClientIP_TwoForwardedHeaders_LastCounts(t *testing.T) {
	t.Parallel()

	const forged, fromProxy = "198.51.100.1", "203.0.113.9"

	// The test connects from 127.0.0.1, which the server takes for a proxy, and sends two lines.
	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.addr+"/test/echo/1", http.NoBody)
	require.NoError(t, err)

	request.Header["X-Forwarded-For"] = []string{forged, fromProxy}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	// The echo route returns the address that the server has determined.
	var body struct {
		Data struct {
			IP string `json:"ip"`
		} `json:"data"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
	require.Equal(t, fromProxy, body.Data.IP)
}
