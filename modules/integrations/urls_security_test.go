package integrations

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// publicClient is the second argument of isRedirectURI: a client without a secret, as programs on a device
// are.
const publicClient = true

// TestURLs_Ambiguous_Refused checks that URLs in which two parsers may find different hosts are
// refused, both as redirect addresses and as receivers.
func TestURLs_Ambiguous_Refused(t *testing.T) {
	t.Parallel()

	for _, afterScheme := range []string{
		"", "/", ":443", // no host
		"a:0/", "a:65536/", "a:99999/", "a:/", // invalid ports
		"a..example/", ".example/", "a,b.example/", "a;b.example/", "a'b.example/", "(a).example/",
		"$a.example/", "a!b.example/", "a b.example/", "é.example/", "a.example\\b/", // invalid names
		"[::1", "[::1%25eth0]/", "[a]/", // invalid addresses
		"u@a.example/", "u:p@a.example/", // user information
		"a.example/#f", "a.example/#", // fragments
		"a.example/\x00", "a.example/\n", // control characters
	} {
		address := "https://" + afterScheme
		require.False(t, isRedirectURI(address, publicClient), "%q", address)
		require.NotEmpty(t, receiverProblem(address, allowPrivate), "%q", address)
		require.NotEmpty(t, receiverProblem(address, publicOnly), "%q", address)
	}
}

// TestURLs_Public_Accepted checks ordinary URLs, also as redirect addresses of clients with a secret.
func TestURLs_Public_Accepted(t *testing.T) {
	t.Parallel()

	for _, address := range []string{
		"https://a.example/cb", "https://a.example:8443/cb?x=1", "https://xn--bcher-kva.example/",
		"https://a_b.example./",
	} {
		require.True(t, isRedirectURI(address, !publicClient), address)
		require.Empty(t, receiverProblem(address, publicOnly), address)
	}
}

// TestRedirectURI_OfDevice_NeedsValidPort checks the redirect addresses of a program on a device: http with a
// loopback address and a valid port.
func TestRedirectURI_OfDevice_NeedsValidPort(t *testing.T) {
	t.Parallel()

	for address, isValid := range map[string]bool{
		"http://127.0.0.1:4711/cb":  true,
		"http://[::1]:4711/cb":      true,
		"http://127.0.0.1:0/cb":     false,
		"http://localhost:70000/cb": false,
	} {
		require.Equal(t, isValid, isRedirectURI(address, publicClient), address)
	}
}
