package jwttokens

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// vaultInfo separates encryption keys from the signing keys from which they are derived
// (RFC 5869 §3.2).
const vaultInfo = "locum vault v1"

// vault returns the AES-256-GCM cipher of a key. It writes a random nonce before each ciphertext.
func (k key) vault() (cipher.AEAD, error) {
	const secretBytes = 32 // for AES-256
	noSalt := []byte(nil)  // the seed is random already

	secret, err := hkdf.Key(sha256.New, k.private.Seed(), noSalt, vaultInfo, secretBytes)
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

	vault, err := k.vault()
	if err != nil {
		return "", err
	}

	// The owner is authenticated together with the secret. The cipher chooses the nonce.
	sealed := vault.Seal(nil, nil, []byte(secret), []byte(owner))

	return k.id + ":" + base64.RawStdEncoding.EncodeToString(sealed), nil
}

var errCiphertext = errors.New("failed to decrypt a secret: it is damaged or has another owner")

// Decrypt implements auth.Vault. It uses the key of the ring with which the secret was encrypted.
func (t *Tokens) Decrypt(ciphertext, owner string) (string, error) {
	keyID, text, hasKeyID := strings.Cut(ciphertext, ":")

	i := slices.IndexFunc(t.ring, func(k key) bool { return k.id == keyID })
	if i < 0 {
		// Without a valid id, the text may be a secret that was never encrypted. It must not be in an error.
		if !hasKeyID || len(keyID) > idLength {
			return "", errCiphertext
		}

		return "", fmt.Errorf("a secret is encrypted with key %q, which is not in auth.keys", keyID)
	}

	vault, err := t.ring[i].vault()
	if err != nil {
		return "", err
	}

	sealed, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return "", errCiphertext
	}

	secret, err := vault.Open(nil, nil, sealed, []byte(owner))
	if err != nil {
		return "", errCiphertext
	}

	return string(secret), nil
}
