package integrations

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestURLs_Ambiguous_Refused checks that URLs in which two parsers may find different hosts are
// refused, both as redirect addresses and as receivers.
func TestURLs_Ambiguous_Refused(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{
		"", "/", ":443", "a:0/", "a:65536/", "a:99999/", "a:/", "a..example/", ".example/", "a,b.example/", "a;b.example/", "a'b.example/", "(a).example/", "$a.example/", "a!b.example/",
		"u@a.example/", "u:p@a.example/", "a.example/#f", "a.example/#", "a.example\\b/", "a.example/\x00", "a.example/\n", "a b.example/", "[::1", "[::1%25eth0]/", "[a]/", "é.example/",
	} {
		require.False(t, isRedirectURI("https://"+rest, true), "%q", rest)
		require.NotEmpty(t, receiverProblem("https://"+rest, true), "%q", rest)
		require.NotEmpty(t, receiverProblem("https://"+rest, false), "%q", rest)
	}
	for _, address := range []string{
		"https://a.example/cb", "https://a.example:8443/cb?x=1", "https://xn--bcher-kva.example/",
		"https://a_b.example./",
	} {
		require.True(t, isRedirectURI(address, false), address)
		require.Empty(t, receiverProblem(address, false), address)
	}
	for address, ok := range map[string]bool{
		"http://127.0.0.1:4711/cb":  true,
		"http://[::1]:4711/cb":      true,
		"http://127.0.0.1:0/cb":     false,
		"http://localhost:70000/cb": false,
	} {
		require.Equal(t, ok, isRedirectURI(address, true), address)
	}
}
