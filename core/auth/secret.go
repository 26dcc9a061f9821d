package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Base62 is the alphabet of secrets. It needs no escaping in URLs, shells and quoted
// strings.
const Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewSecret returns the prefix and n random characters of Base62, with more than 5.95 bits of
// entropy each. The prefix lets users and secret scanners identify a leaked secret.
func NewSecret(prefix string, n int) string {
	length := len(prefix) + n
	secret := append(make([]byte, 0, length), prefix...)

	// A random byte is used if it is below the largest multiple of 62, so that all characters are
	// equally likely. Other bytes are skipped.
	const limit = 256 / len(Base62) * len(Base62)

	var random [64]byte
	for len(secret) < length {
		_, _ = rand.Read(random[:]) // never fails (crypto/rand)
		for _, b := range random {
			if int(b) < limit && len(secret) < length {
				secret = append(secret, Base62[int(b)%len(Base62)])
			}
		}
	}

	return string(secret)
}

// HashSecret returns the stored form of a secret that NewSecret returned. Its entropy
// makes a salt and a slow hash unnecessary.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
