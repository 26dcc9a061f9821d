package jwttokens

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// vaultInfo separates encryption keys from the signing keys from which they are derived
// (RFC 5869 §3.2).
const vaultInfo = "locum vault v1"

// vault returns the AES-256-GCM cipher of a key.
func (k key) vault() (cipher.AEAD, error) {
	secret, err := hkdf.Key(sha256.New, k.private.Seed(), nil, vaultInfo, 32)
	if err != nil {
		return nil, err
	}

	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}

	return cipher.NewGCMWithRandomNonce(block)
}

// Encrypt implements auth.Vault. The ciphertext begins with the id of the key, so that
// secrets encrypted with older keys can be decrypted.
func (t *Tokens) Encrypt(secret, owner string) (string, error) {
	k := t.ring[0]

	v, err := k.vault()
	if err != nil {
		return "", err
	}

	sealed := v.Seal(nil, nil, []byte(secret), []byte(owner))

	return k.id + ":" + base64.RawStdEncoding.EncodeToString(sealed), nil
}

var errCiphertext = errors.New("failed to decrypt a secret: it is damaged or has another owner")

// Decrypt implements auth.Vault.
func (t *Tokens) Decrypt(ciphertext, owner string) (string, error) {
	name, text, hasName := strings.Cut(ciphertext, ":")
	for _, k := range t.ring {
		if k.id != name {
			continue
		}

		v, err := k.vault()
		if err != nil {
			return "", err
		}

		sealed, err := base64.RawStdEncoding.DecodeString(text)
		if err != nil {
			return "", errCiphertext
		}

		secret, err := v.Open(nil, nil, sealed, []byte(owner))
		if err != nil {
			return "", errCiphertext
		}

		return string(secret), nil
	}

	// Without a valid id, the text may be a secret that was never encrypted. It must not be in an error.
	if !hasName || len(name) > idLength {
		return "", errCiphertext
	}

	return "", fmt.Errorf("a secret is encrypted with key %q, which is not in auth.keys", name)
}
