package site

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeviceName_UserAgents_AreReadable checks the names of devices in the list of sessions. Headers of browsers get a
// name, and those of other programs stay as they are.
func TestDeviceName_UserAgents_AreReadable(t *testing.T) {
	t.Parallel()

	const (
		chromeOnLinux    = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36"
		edgeOnWindows    = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36 Edg/148.0"
		safariOnIPhone   = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/604.1"
		firefoxOnAndroid = "Mozilla/5.0 (Linux; Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"
		safariOnMac      = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15"
		unknownSystem    = "Mozilla/5.0 (PlayStation 5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 Safari/605.1.15"
		crawler          = "Mozilla/5.0 (compatible; archiver)" // names no browser
		program          = "curl/8.9.1"
	)

	for _, test := range []struct{ condition, userAgent, wantName string }{
		{"no header", "", "Unknown device"},
		{"Chrome on Linux", chromeOnLinux, "Chrome on Linux"},
		{"Edge, which also contains Chrome and Safari", edgeOnWindows, "Edge on Windows"},
		{"Safari on iPhone, which also contains Mac OS X", safariOnIPhone, "Safari on iPhone"},
		{"Firefox on Android, which also contains Linux", firefoxOnAndroid, "Firefox on Android"},
		{"Safari on macOS", safariOnMac, "Safari on macOS"},
		{"browser on an unknown system", unknownSystem, "Safari"},
		{"crawler", crawler, crawler},
		{"program", program, program},
	} {
		t.Run(test.condition, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.wantName, deviceName(test.userAgent))
		})
	}
}
