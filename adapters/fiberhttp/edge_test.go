package fiberhttp

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// status sends a GET request with header fields, given as names and values in turn, and returns
// the status of the response.
func (f *testServer) status(t *testing.T, path string, header ...string) int {
	t.Helper()
	text := "GET " + path + " HTTP/1.1\r\nHost: a\r\n"
	for i := 0; i < len(header); i += 2 {
		text += header[i] + ": " + header[i+1] + "\r\n"
	}
	_, r := f.dial(t, text+"\r\n")
	return readStatus(t, r)
}

// TestMetrics_NotFromLoopback_NotFound checks that only programs on the same machine read the
// metrics. A request that a proxy forwarded is not local, even if the proxy is: its client may be
// anywhere.
func TestMetrics_NotFromLoopback_NotFound(t *testing.T) {
	t.Parallel()
	withoutProxy := serveTest(t)
	behindProxy := serveTest(t, netip.MustParsePrefix("127.0.0.1/32"))
	for _, server := range []*testServer{withoutProxy, behindProxy} {
		require.Equal(t, 200, server.status(t, "/metrics"))
		for _, header := range [][]string{
			{"X-Forwarded-For", "127.0.0.1"},
			{"X-Forwarded-For", "203.0.113.9"},
			{"Forwarded", "for=127.0.0.1"},
			{"Via", "1.1 proxy"},
		} {
			require.Equal(t, 404, server.status(t, "/metrics", header...), "%v", header)
		}
	}
}

func TestPeerAddr_MappedAddress_IsIPv4(t *testing.T) {
	t.Parallel()
	for address, isLoopback := range map[string]bool{
		"127.0.0.1":        true,
		"127.1.2.3":        true,
		"::1":              true,
		"::ffff:127.0.0.1": true,
		"192.0.2.1":        false,
		"10.0.0.1":         false,
		"::ffff:10.0.0.1":  false,
	} {
		peer, ok := peerAddr(&net.TCPAddr{IP: net.ParseIP(address)})
		require.True(t, ok)
		require.Equal(t, isLoopback, peer.IsLoopback(), address)
	}
}

// TestReady_UntrustedProxy_Degraded checks that operators learn of a proxy that is missing in
// http.trusted_proxies: readiness reports it, and one warning is logged for all requests.
func TestReady_UntrustedProxy_Degraded(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	adapters := func() map[string]any {
		_, body := server.do(t, "GET", "/readyz", "")
		return body["adapters"].(map[string]any)
	}
	require.NotContains(t, adapters(), "trusted_proxies")
	for range 3 {
		server.do(t, "GET", "/test/echo/1", "", "X-Forwarded-For", "203.0.113.9")
	}
	require.Equal(t, "degraded", adapters()["trusted_proxies"])
	require.Equal(t, 1, strings.Count(server.log.String(), "http.trusted_proxies"))
}

func TestDrain_StillAnswers_UnreadyAndClosing(t *testing.T) {
	t.Parallel()
	server := serveTest(t)
	server.server.Drain()
	response, body := server.do(t, "GET", "/readyz", "")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, "stopping", body["adapters"].(map[string]any)["server"])
	require.Contains(t, server.log.String(), `"route":"/readyz","status":503`)
	require.NotContains(t, server.log.String(), `"level":"ERROR"`)
	response, _ = server.do(t, "GET", "/test/echo/1", "")
	require.Equal(t, 200, response.StatusCode)
	require.True(t, response.Close)
}
