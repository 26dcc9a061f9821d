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
	keyRandom       = 32
	keyCheck        = 6
	keyPrefixLength = 13 // the part that is displayed
	secretLength    = 43
)

// newKey returns a random API key: 190 bits and a checksum, by which mistyped keys
// and false positives of secret scanners are recognized without a look-up.
func newKey() string {
	body := auth.NewSecret(keyPrefix, keyRandom)
	return body + checksum(body)
}

// checksum returns the CRC-32 (IEEE) as six characters of base 62.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	out := make([]byte, keyCheck)
	for i := keyCheck - 1; i >= 0; i-- {
		out[i] = auth.Base62[sum%62]
		sum /= 62
	}
	return string(out)
}

// isWellFormedKey reports whether the text has the form of a key.
func isWellFormedKey(key string) bool {
	if len(key) != len(keyPrefix)+keyRandom+keyCheck || !strings.HasPrefix(key, keyPrefix) {
		return false
	}
	body := key[:len(key)-keyCheck]
	return checksum(body) == key[len(body):]
}

// LooksLikeKey reports whether the text begins like an API key.
func LooksLikeKey(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), keyPrefix) }
