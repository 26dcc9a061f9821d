package integrations

import (
	"hash/crc32"
	"strings"

	"github.com/locumhq/locum/core/auth"
)

// The prefixes of the module's secrets.
const (
	keyPrefix    = "loc_live_"
	secretPrefix = "loc_cs_"
)

const (
	keyRandom   = 32
	keyCheck    = 6
	shownOfKey  = 13
	secretChars = 43
)

// newKey mints an API key: 190 random bits and a checksum of all that comes
// before it, by which a mistyped one, or what a scanner of leaks takes for one,
// is known without asking anybody.
func newKey() string {
	body := auth.NewSecret(keyPrefix, keyRandom)
	return body + checksum(body)
}

// checksum is the CRC-32 (IEEE) in six characters of base 62.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, keyCheck)
	for i := keyCheck - 1; i >= 0; i-- {
		out[i] = auth.Base62[sum%62]
		sum /= 62
	}
	return string(out)
}

// wellFormed reports whether the text can be a key.
func wellFormed(key string) bool {
	if len(key) != len(keyPrefix)+keyRandom+keyCheck || !strings.HasPrefix(key, keyPrefix) {
		return false
	}
	body := key[:len(key)-keyCheck]
	return checksum(body) == key[len(body):]
}

// LooksLikeKey reports whether the text is an API key by its form, whether or not
// there is such a key.
func LooksLikeKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }
