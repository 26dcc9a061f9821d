package integrations

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The values of allowPrivate, the second argument of receiverProblem.
const (
	publicOnly   = false
	allowPrivate = true
)

// TestCheckURL_NotPublic_IsRefused checks that webhooks, whose URLs users choose, cannot be
// sent to the network of the service (server-side request forgery). It tries the notations of
// private addresses that some program understands, and then URLs that are malformed or no
// https:// URLs of a server. receiverProblem returns what is wrong with a URL, or "".
func TestCheckURL_NotPublic_IsRefused(t *testing.T) {
	t.Parallel()

	for name, hosts := range map[string][]string{
		"loopback":                 {"127.0.0.1", "127.0.0.1."},
		"loopback of version 6":    {"[::1]", "[0:0:0:0:0:0:0:1]"},
		"other 127/8":              {"127.1.2.3", "127.255.255.254"},
		"localhost":                {"localhost", "LOCALHOST", "x.localhost"},
		"localhost with a dot":     {"localhost.", "x.localhost."},
		"IPv4-mapped dotted":       {"[::ffff:127.0.0.1]", "[::ffff:93.184.216.34]"},
		"IPv4-mapped hex":          {"[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a00:1]"},
		"IPv4-compatible":          {"[::127.0.0.1]", "[::7f00:1]"},
		"unspecified":              {"0.0.0.0", "0", "0.0.0.0."},
		"unspecified of version 6": {"[::]"},
		"decimal":                  {"2130706433", "1572395042", "2130706433."},
		"hex":                      {"0x7f000001", "0x7f.0x0.0x0.0x1", "0X7F.1", "127.0.0.0x1", "0x", "1.2.3.0x"},
		"octal":                    {"0177.0.0.1", "0177.0.0.01", "017700000001", "127.0.0.01"},
		"short":                    {"127.1", "10.1", "127.0.1"},
		"too long":                 {"1.2.3.4.5", "256.256.256.256", "999.1"},
		"10/8":                     {"10.0.0.1", "10.255.255.255"},
		"172.16/12":                {"172.16.0.1", "172.31.255.255"},
		"192.168/16":               {"192.168.1.1"},
		"169.254/16":               {"169.254.169.254"},
		"100.64/10":                {"100.64.0.1", "100.127.255.255"},
		"multicast and beyond":     {"224.0.0.1", "255.255.255.255", "240.0.0.1", "[ff02::1]"},
		"unique local":             {"[fd00::1]", "[fc00::1]", "[fd00:ec2::254]"},
		"link local":               {"[fe80::1]", "[fe80::1%25eth0]"},
		"NAT64":                    {"[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]"},
		"6to4 and Teredo":          {"[2002:7f00:1::]", "[2001::1]"},
		"documentation":            {"192.0.2.1", "198.51.100.1", "203.0.113.1", "[2001:db8::1]"},
		"nothing":                  {"", ".", ":443", "[]"},
		"disguised":                {"127%2e0%2e0%2e1", "%6cocalhost", "[::1%25lo]"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, host := range hosts {
				require.NotEmpty(t, receiverProblem("https://"+host+"/hook", publicOnly), host)

				// With a port, the host is refused as well. A host with a colon is an IPv6 address
				// or has a port already, and an empty host cannot have one.
				canHavePort := !strings.Contains(host, ":") && !strings.HasSuffix(host, "]") && host != ""
				if canHavePort {
					require.NotEmpty(t, receiverProblem("https://"+host+":8443/hook", publicOnly), "%s with a port", host)
				}
			}
		})
	}

	for name, addresses := range map[string][]string{
		"other schemes": {
			"http://example.com/", "ftp://example.com/", "gopher://example.com/",
			"file:///etc/passwd", "HTTP://example.com", "javascript:alert(1)",
		},
		"no server": {"", "x", "/hook", "https:example.com", "https:/example.com"},
		"user information": {
			"https://user@example.com/", "https://user:pass@example.com/",
			"https://example.com@93.184.216.34/", "https://@example.com/",
			"https://127.0.0.1:80@example.com/",
		},
		"ports": {
			"https://example.com:22/", "https://example.com:0/", "https://example.com:/",
			"https://example.com:65536/", "https://example.com:x/", "https://example.com:25",
		},
		"fragments": {"https://example.com/#x", "https://example.com/#"},
		"strange characters": {
			"https://exa mple.com/", "https://example.com/\r\nHost: x",
			"https://\uff11\uff12\uff17.0.0.1/", "https://ex\u00e4mple.com/",
			"https://example.com\\@127.0.0.1/",
		},
		"length": {"https://example.com/" + strings.Repeat("x", 2_048)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range addresses {
				require.NotEmpty(t, receiverProblem(address, publicOnly), address)
			}
		})
	}
}

// TestCheckURL_Public_IsAccepted checks hosts that resemble numbers or private addresses, but
// are names or public addresses.
func TestCheckURL_Public_IsAccepted(t *testing.T) {
	t.Parallel()

	for _, good := range []string{
		"https://example.com",
		"https://example.com/hook?x=1&y=%20",
		"https://EXAMPLE.com:8443/a",
		"HTTPS://example.com/",
		"https://example.com./",
		"https://1.example.com/",
		"https://0x7f.example.com/",
		"https://x0x/",
		"https://xn--exmple-cua.com/",
		"https://fd00.example/",
		"https://intranet/",
		"https://93.184.216.34/",
		"https://172.32.0.1/",
		"https://100.128.0.1/",
		"https://[2606:2800:220:1:248:1893:25c8:1946]:3000/",
	} {
		require.Empty(t, receiverProblem(good, publicOnly), good)
	}
}

// TestCheckURL_Loopback_MessageNamesTheCommand checks that the message for a URL of a local
// receiver names the command and the setting with which developers receive webhooks locally.
// Messages for URLs that are refused with the setting, too, do not name them.
func TestCheckURL_Loopback_MessageNamesTheCommand(t *testing.T) {
	t.Parallel()

	for address, starts := range map[string]string{
		"http://localhost:3000/hooks": "must be an https:// address; ",
		"http://example.com/":         "must be an https:// address; ",
		"https://localhost/":          "must be of a server on the public internet; ",
		"https://127.0.0.1/":          "must be of a server on the public internet; ",
		"https://[::1]/":              "must be of a server on the public internet; ",
		"https://192.168.1.1/":        "must be of a server on the public internet; ",
	} {
		why := receiverProblem(address, publicOnly)
		require.True(t, strings.HasPrefix(why, starts), "%s: %s", address, why)
		require.Contains(t, why, "webhooks.allow_private_networks", address)
		require.Contains(t, why, "`locum webhooks listen --forward URL`", address)
	}

	for _, address := range []string{"ftp://localhost/", "https://user@example.com/", "https://example.com:22/"} {
		require.NotContains(t, receiverProblem(address, publicOnly), "webhooks", "the command does not help with %s", address)
	}

	require.Equal(t, "must be an http:// or https:// address", receiverProblem("ftp://localhost/", allowPrivate))
}

// TestCheckURL_PrivateNetworksAllowed_AcceptsHTTPAndLoopback checks the setting for
// installations whose receivers are in their own network. Malformed URLs are refused all the
// same.
func TestCheckURL_PrivateNetworksAllowed_AcceptsHTTPAndLoopback(t *testing.T) {
	t.Parallel()

	for _, good := range []string{
		"http://127.0.0.1:8080/x", "http://localhost/", "https://10.0.0.1/", "http://[::1]:9000/",
		"http://127.0.0.1:9/", "http://localhost:1/", "https://localhost:65535/",
		"http://10.0.0.1:22/",
	} {
		require.Empty(t, receiverProblem(good, allowPrivate), good)
	}

	for _, bad := range []string{
		"ftp://127.0.0.1/", "http://user@127.0.0.1/", "http:///x", "http://127.0.0.1:0/",
		"http://127.0.0.1:65536/", "http://127.0.0.1:/", "http://x/#y",
	} {
		require.NotEmpty(t, receiverProblem(bad, allowPrivate), bad)
	}

	require.Equal(
		t,
		"must be an http:// or https:// address of a server, on port 1 to 65535",
		receiverProblem("http://127.0.0.1:0/", allowPrivate),
	)
}
