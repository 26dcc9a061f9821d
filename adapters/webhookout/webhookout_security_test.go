package webhookout

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
)

// TestDial_NotPublic_IsRefused checks that the sender of webhooks connects to no address of a private or special network,
// and to no port of another protocol (server-side request forgery). The URL of a receiver is checked when it is
// registered. The sender checks the address again before it connects, because a name may later lead to another
// address. A test in the folder test/heavy removes this check from the code and expects these subtests to fail.
func TestDial_NotPublic_IsRefused(t *testing.T) {
	t.Parallel()

	check := publicAddressesOnly()

	// checkConnection calls the check as the dialer does before it connects: with the network, which contains the
	// version of the IP address, and with the address and the port. The connection itself is not needed.
	checkConnection := func(address, port string) error {
		network := "tcp4"
		if strings.Contains(address, ":") {
			network = "tcp6"
		}

		return check(network, net.JoinHostPort(address, port), nil)
	}

	for name, addresses := range map[string][]string{
		"loopback":                 {"127.0.0.1"},
		"loopback of version 6":    {"::1"},
		"other 127/8":              {"127.1.2.3", "127.255.255.254"},
		"IPv4-mapped dotted":       {"::ffff:127.0.0.1", "::ffff:10.0.0.1"},
		"IPv4-mapped hex":          {"::ffff:7f00:1"},
		"IPv4-compatible":          {"::127.0.0.1"},
		"unspecified":              {"0.0.0.0"},
		"unspecified of version 6": {"::"},
		"10/8":                     {"10.0.0.1"},
		"172.16/12":                {"172.16.0.1", "172.31.255.255"},
		"192.168/16":               {"192.168.1.1"},
		"169.254/16":               {"169.254.169.254"},
		"100.64/10":                {"100.64.0.1"},
		"multicast and beyond":     {"224.0.0.1", "255.255.255.255", "ff02::1"},
		"unique local":             {"fd00::1", "fc00::1"},
		"link local":               {"fe80::1", "fe80::1%lo"},
		"NAT64":                    {"64:ff9b::7f00:1", "64:ff9b::808:808"},
		"6to4 and Teredo":          {"2002:7f00:1::", "2001::1"},
		"documentation":            {"192.0.2.1", "198.18.0.1", "2001:db8::1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range addresses {
				require.Error(t, checkConnection(address, "443"), address)
			}
		})
	}

	// Public addresses are permitted with ports of web servers, and refused with others, such as 25 for SMTP.
	t.Run("ports", func(t *testing.T) {
		for _, address := range []string{"93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"} {
			for _, port := range []string{"443", "80", "8443", "3000"} {
				require.NoError(t, checkConnection(address, port), "%s port %s", address, port)
			}

			for _, port := range []string{"22", "25", "0", "6"} {
				require.Error(t, checkConnection(address, port), "%s port %s", address, port)
			}
		}
	})

	t.Run("malformed address and another protocol", func(t *testing.T) {
		require.Error(t, check("tcp4", "nonsense", nil))
		require.Error(t, check("udp4", "93.184.216.34:443", nil))
	})
}

// TestSend_LoopbackByAnyName_IsRefused checks that no spelling of a loopback address that a
// parser or the resolver of the system accepts reaches a server on this machine.
func TestSend_LoopbackByAnyName_IsRefused(t *testing.T) {
	t.Parallel()

	// A server on this machine that counts the requests that reach it.
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)

	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)

	sender := New(Options{})
	sender.timeout = 2 * time.Second // for names that the resolver looks up

	// The last five are 127.0.0.1 as one number, in hexadecimal, in octal, without zeros, and mapped to NAT64.
	for _, host := range []string{
		"127.0.0.1", "localhost", "localhost.", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "0.0.0.0", "[::]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1",
		"[64:ff9b::7f00:1]",
	} {
		answer := sender.Post(t.Context(), integrations.Post{URL: "http://" + host + ":" + port, Body: "{}"})
		require.NotEmpty(t, answer.Error, host)
		require.Zero(t, answer.Status, host)
		require.NotContains(t, answer.Error, "127", "the error for %s contains no address", host)
	}

	require.Zero(t, requests.Load(), "requests that reached the server")

	answer := sender.Post(t.Context(), integrations.Post{URL: "http://localhost:" + port})
	require.Equal(t, "refused_address", answer.Error, "a name that leads to loopback")
}

// TestSend_ResponseIsBounded checks the request that a receiver gets and what the sender keeps of the response. Redirects
// are not followed, since they could lead to a private address. At most 1,024 bytes of a response are stored.
func TestSend_ResponseIsBounded(t *testing.T) {
	t.Parallel()

	type request struct{ method, body, id, agent string }

	// A receiver that records each request. Its response depends on the path.
	received := make(chan request, 10) // more than the requests of the test
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- request{
			method: r.Method,
			body:   string(body),
			id:     r.Header.Get("Webhook-Id"),
			agent:  r.Header.Get("User-Agent"),
		}

		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/busy":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/much": // a response of 1,000 KiB
			for range 1000 {
				_, _ = w.Write(make([]byte, 1024))
			}
		}
	}))
	t.Cleanup(receiver.Close)

	sender := New(Options{Private: true}) // with Private, the sender may connect to the receiver on this machine
	post := func(path string) integrations.Answer {
		return sender.Post(
			t.Context(),
			integrations.Post{
				URL:     receiver.URL + path,
				Body:    `{"a":1}`,
				Headers: map[string]string{"webhook-id": "e", "user-agent": "locum-webhooks/1"},
			},
		)
	}

	t.Run("request", func(t *testing.T) {
		answer := post("/")
		require.Equal(t, 200, answer.Status)
		require.Empty(t, answer.Error)
		require.Equal(t, request{method: "POST", body: `{"a":1}`, id: "e", agent: "locum-webhooks/1"}, <-received)
	})

	t.Run("redirect is not followed", func(t *testing.T) {
		answer := post("/redirect")
		require.Equal(t, 302, answer.Status)
		<-received // the request for /redirect
		require.Empty(t, received, "further requests")
	})

	t.Run("Retry-After", func(t *testing.T) {
		require.Equal(t, 2*time.Minute, post("/busy").RetryAfter)
	})

	t.Run("long response", func(t *testing.T) {
		require.Len(t, post("/much").Body, 1024)
	})
}

// TestSend_Errors_AreClassified checks the code of each kind of failure. Developers see the codes in the log of their
// webhook. The codes contain no address of the network.
func TestSend_Errors_AreClassified(t *testing.T) {
	t.Parallel()

	// A server that does not respond before the end of the test.
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })

	// A server with TLS, whose certificate is of an authority of its own.
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secure.Close)

	// A server that closes each connection without a response.
	closing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	t.Cleanup(closing.Close)

	errorOf := func(sender *Sender, url string) string {
		return sender.Post(t.Context(), integrations.Post{URL: url}).Error
	}

	sender := New(Options{Private: true})
	sender.timeout = 300 * time.Millisecond
	require.Equal(t, "timeout", errorOf(sender, slow.URL))

	sender.timeout = 20 * time.Second // longer than any of the following failures takes
	require.Equal(t, "connection", errorOf(sender, closing.URL))
	require.Equal(t, "bad_address", errorOf(sender, "http://[x"))
	require.Equal(t, "tls", errorOf(sender, secure.URL), "a certificate of an unknown authority")
	require.Equal(t, "tls", errorOf(sender, strings.Replace(slow.URL, "http:", "https:", 1)), "no TLS at all")

	// A sender that trusts the certificate has no error.
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	require.Empty(t, errorOf(New(Options{Private: true, Roots: roots}), secure.URL))
}

// TestRetryAfter_SecondsOrDate checks both formats of the header Retry-After (RFC 9110 §10.2.3). The result is 0 for an
// invalid value and a date in the past. A very large number of seconds is reduced to 1<<30.
func TestRetryAfter_SecondsOrDate(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                              0,
		"10":                            10 * time.Second,
		"-1":                            0,
		"x":                             0,
		"Fri, 20 Nov 2026 12:01:00 GMT": time.Minute, // a minute after now
		"Fri, 20 Nov 2026 11:00:00 GMT": 0,           // an hour before now
		"99999999999":                   (1 << 30) * time.Second,
	} {
		require.Equal(t, want, retryAfter(text, now), text)
	}
}
