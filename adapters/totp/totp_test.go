package totp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestCodes_Match checks the codes of RFC 6238, which are valid for one step of 30 seconds
// before and after their own, because clocks of phones differ. The result is the step of the
// code, with which the caller refuses a second use.
func TestCodes_Match(t *testing.T) {
	t.Parallel()

	// RFC 6238 appendix B, the last six digits.
	const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	for at, code := range map[int64]string{59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"} {
		for _, skewed := range []int64{-30, 0, 30} {
			step, ok := Codes{}.Match(secret, code, time.Unix(at+skewed, 0))
			require.True(t, ok)
			require.Equal(t, at/30, step)
		}

		for _, skewed := range []int64{-90, 90} {
			_, ok := Codes{}.Match(secret, code, time.Unix(at+skewed, 0))
			require.False(t, ok)
		}
	}

	for _, wrong := range []string{"", "000000", "28708", "2870820", "ABCDEF"} {
		_, ok := Codes{}.Match(secret, wrong, time.Unix(59, 0))
		require.False(t, ok)
	}
}

// TestCodes_NewSecret checks that a secret has 160 bits (32 characters of base32), and the
// otpauth:// URL that apps read from a QR code.
func TestCodes_NewSecret(t *testing.T) {
	t.Parallel()

	secret, url, err := Codes{}.NewSecret("jo@example.org")
	require.NoError(t, err)
	require.Regexp(t, `^[A-Z2-7]{32}$`, secret)
	require.Contains(t, url, "otpauth://totp/locum:jo@example.org?")
	require.Contains(t, url, "secret="+secret)

	other, _, err := Codes{}.NewSecret("jo@example.org")
	require.NoError(t, err)
	require.NotEqual(t, secret, other)
}
