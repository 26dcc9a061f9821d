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

// vaultInfo keeps the keys that hide secrets and those that sign apart, though
// both come from the ring (RFC 5869 §3.2).
const vaultInfo = "locum vault v1"

// vault is the cipher of a key of the ring: AES-256-GCM.
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

// Hide implements auth.Vault. The name of the key stands before the rest, so that
// what older keys of the ring have hidden can be read.
func (t *Tokens) Hide(secret, owner string) (string, error) {
	k := t.ring[0]
	v, err := k.vault()
	if err != nil {
		return "", err
	}
	return k.id + ":" + base64.RawStdEncoding.EncodeToString(v.Seal(nil, nil, []byte(secret), []byte(owner))), nil
}

var errHidden = errors.New("a hidden secret cannot be read: it is damaged, or another's")

// Reveal implements auth.Vault.
func (t *Tokens) Reveal(hidden, owner string) (string, error) {
	name, text, _ := strings.Cut(hidden, ":")
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
			return "", errHidden
		}
		secret, err := v.Open(nil, nil, sealed, []byte(owner))
		if err != nil {
			return "", errHidden
		}
		return string(secret), nil
	}
	if len(name) > 16 {
		return "", errHidden
	}
	return "", fmt.Errorf("a secret was hidden with key %q, which is not in auth.keys", name)
}
