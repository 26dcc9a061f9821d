package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Base62 are the characters of secrets, which no address, shell or quotation
// mark changes.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewSecret is the prefix and n random characters of base 62, at least 5.95 bits
// each. The prefix tells people and scanners what has leaked.
func NewSecret(prefix string, n int) string {
	out := make([]byte, 0, len(prefix)+n)
	out = append(out, prefix...)
	var buf [64]byte
	for len(out) < cap(out) {
		_, _ = rand.Read(buf[:]) // never fails (crypto/rand)
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte: no character is likelier.
			if b < 248 && len(out) < cap(out) {
				out = append(out, Base62[b%62])
			}
		}
	}
	return string(out)
}

// HashSecret is what is stored of a secret that NewSecret made. Its random bits
// need no salt and no slow hash.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
