package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Base62 is the alphabet of secrets. It needs no escaping in URLs, shells and quoted
// strings.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewSecret returns the prefix and n random characters of Base62, at least 5.95 bits
// each. The prefix lets users and secret scanners identify a leaked secret.
func NewSecret(prefix string, n int) string {
	out := make([]byte, 0, len(prefix)+n)
	out = append(out, prefix...)

	var buf [64]byte
	for len(out) < cap(out) {
		_, _ = rand.Read(buf[:]) // never fails (crypto/rand)
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte, so that all characters are
			// equally likely.
			if b < 248 && len(out) < cap(out) {
				out = append(out, Base62[b%62])
			}
		}
	}

	return string(out)
}

// HashSecret returns the stored form of a secret that NewSecret returned. Its entropy
// makes a salt and a slow hash unnecessary.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
