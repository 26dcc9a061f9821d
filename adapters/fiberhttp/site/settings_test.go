package site

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeviceName_UserAgents_AreReadable(t *testing.T) {
	t.Parallel()

	for userAgent, want := range map[string]string{
		"": "Unknown device",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36":                     "Chrome on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36 Edg/148.0": "Edge on Windows",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/604.1": "Safari on iPhone",
		"Mozilla/5.0 (Linux; Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0":                                               "Firefox on Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15":     "Safari on macOS",
		"Mozilla/5.0 (PlayStation 5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 Safari/605.1.15":                         "Safari",
		"Mozilla/5.0 (compatible; archiver)": "Mozilla/5.0 (compatible; archiver)",
		"curl/8.9.1":                         "curl/8.9.1",
	} {
		require.Equal(t, want, deviceName(userAgent))
	}
}
