package fiberhttp

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClientIP_DirectConnection_IgnoresForwardedHeader checks that a client that connects directly
// cannot forge its address, by which rate limits count. The response of the echo route has the address
// of the client that the server has determined.
func TestClientIP_DirectConnection_IgnoresForwardedHeader(t *testing.T) {
	t.Parallel()

	_, body := serveTest(t).get(t, "/test/echo/1", header{"X-Forwarded-For", "203.0.113.9"})
	require.Equal(t, "127.0.0.1", ipOf(body), "the address from which the test connects")
}

// TestClientIP_TrustedProxy_IsRightmostUntrustedAddress checks that behind a proxy the client is
// the rightmost address of X-Forwarded-For that is not a trusted proxy. Clients can forge all
// addresses to the left of it.
func TestClientIP_TrustedProxy_IsRightmostUntrustedAddress(t *testing.T) {
	t.Parallel()

	// Requests of the test come from the proxy 127.0.0.1.
	server := serveTest(t, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"))
	for name, test := range map[string]struct{ forwardedFor, want string }{
		"empty header":                     {forwardedFor: "", want: "127.0.0.1"},
		"one address":                      {forwardedFor: "203.0.113.9", want: "203.0.113.9"},
		"forged address first":             {forwardedFor: "198.51.100.1, 203.0.113.9", want: "203.0.113.9"},
		"second trusted proxy last":        {forwardedFor: "198.51.100.1, 203.0.113.9, 10.1.2.3", want: "203.0.113.9"},
		"IPv4 with a port":                 {forwardedFor: "203.0.113.9:4711", want: "203.0.113.9"},
		"IPv6 with a port":                 {forwardedFor: "[2001:db8::1]:4711", want: "2001:db8::1"},
		"IPv4 mapped to IPv6":              {forwardedFor: "::ffff:203.0.113.9", want: "203.0.113.9"},
		"invalid last, so the proxy":       {forwardedFor: "198.51.100.1, nonsense", want: "127.0.0.1"},
		"only proxies, so the first proxy": {forwardedFor: "10.9.9.9", want: "10.9.9.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, body := server.get(t, "/test/echo/1", header{"X-Forwarded-For", test.forwardedFor})
			require.Equal(t, test.want, ipOf(body))
		})
	}
}

// ipOf returns the address of the client in the response of an echo route.
func ipOf(body map[string]any) any { return body["data"].(map[string]any)["ip"] }

// TestMetrics_NotFromLoopback_NotFound checks that only programs on the same machine read the
// metrics. A request that a proxy forwarded is not local, even if the proxy is: its client may be
// anywhere.
func TestMetrics_NotFromLoopback_NotFound(t *testing.T) {
	t.Parallel()

	for name, proxies := range map[string][]netip.Prefix{
		"no trusted proxy": nil,
		"trusted proxy":    {netip.MustParsePrefix("127.0.0.1/32")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := serveTest(t, proxies...)
			_, responses := server.dial(t, rawGet("/metrics", noHeaderLines))
			require.Equal(t, 200, readStatus(t, responses))

			// Each of these headers shows that a proxy has forwarded the request.
			for _, headerLine := range []string{
				"X-Forwarded-For: 127.0.0.1\r\n",
				"X-Forwarded-For: 203.0.113.9\r\n",
				"Forwarded: for=127.0.0.1\r\n",
				"Via: 1.1 proxy\r\n",
			} {
				_, responses := server.dial(t, rawGet("/metrics", headerLine))
				require.Equal(t, 404, readStatus(t, responses), headerLine)
			}
		})
	}
}

// TestPeerAddr_MappedAddress_IsIPv4 checks that an IPv4 address of a peer counts as such if it is
// mapped to IPv6 (::ffff:127.0.0.1): it is a loopback address exactly if the IPv4 address is in
// 127.0.0.0/8.
func TestPeerAddr_MappedAddress_IsIPv4(t *testing.T) {
	t.Parallel()

	for address, wantLoopback := range map[string]bool{
		"127.0.0.1":        true,
		"127.1.2.3":        true,
		"::1":              true,
		"::ffff:127.0.0.1": true,
		"192.0.2.1":        false,
		"10.0.0.1":         false,
		"::ffff:10.0.0.1":  false,
	} {
		peer, ok := peerAddr(&net.TCPAddr{IP: net.ParseIP(address)})
		require.True(t, ok, address)
		require.Equal(t, wantLoopback, peer.IsLoopback(), address)
	}
}

// TestReady_UntrustedProxy_Degraded checks that operators learn of a proxy that is missing in
// http.trusted_proxies: readiness reports it, and one warning is logged for all requests.
func TestReady_UntrustedProxy_Degraded(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	adapterStates := func() map[string]any {
		_, body := server.get(t, "/readyz")
		return body["adapters"].(map[string]any)
	}

	require.NotContains(t, adapterStates(), "trusted_proxies")

	// Send several requests that a proxy seems to have forwarded, although the server trusts none.
	for range 3 {
		server.get(t, "/test/echo/1", header{"X-Forwarded-For", "203.0.113.9"})
	}

	require.Equal(t, "degraded", adapterStates()["trusted_proxies"])
	require.Equal(t, 1, strings.Count(server.log.String(), "http.trusted_proxies"), "warnings in the log")
}
