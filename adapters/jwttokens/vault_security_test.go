package jwttokens

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/test/kit"
)

var _ auth.Vault = (*Tokens)(nil)

// TestVault_Decrypt_OwnerOnlyAndOlderKeys checks that an encrypted secret can be decrypted for
// its owner only, so that it cannot be copied to another row, and after a rotation of keys as
// long as the older key exists. A changed text is an error.
func TestVault_Decrypt_OwnerOnlyAndOlderKeys(t *testing.T) {
	t.Parallel()

	const (
		secret     = "whsec_secret"
		owner      = "endpoint-1"
		otherOwner = "endpoint-2"
	)

	// Encrypt a secret. A second ciphertext of the same secret is different: it does not show that they are equal.
	clk := kit.NewClock()
	tokens, newTokens := openTokens(t, clk), openTokens(t, clk) // with different keys
	ciphertext, err := tokens.Encrypt(secret, owner)
	require.NoError(t, err)
	require.NotContains(t, ciphertext, "secret")

	secondCiphertext, err := tokens.Encrypt(secret, owner)
	require.NoError(t, err)
	require.NotEqual(t, ciphertext, secondCiphertext)

	decrypted, err := tokens.Decrypt(ciphertext, owner)
	require.NoError(t, err)
	require.Equal(t, secret, decrypted)

	// After a rotation of keys, the new key is the first of the ring, and the older one still decrypts.
	rotated := *newTokens
	rotated.ring = slices.Concat(newTokens.ring, tokens.ring)
	decrypted, err = rotated.Decrypt(ciphertext, owner)
	require.NoError(t, err)
	require.Equal(t, secret, decrypted)

	// A ciphertext is the id of the key, a colon, and a text in base64. Change its first character, which is random, to
	// another one.
	keyID, text, _ := strings.Cut(ciphertext, ":")

	otherCharacter := "B"
	if strings.HasPrefix(text, otherCharacter) {
		otherCharacter = "C"
	}

	altered := otherCharacter + text[1:]

	for _, invalid := range []string{
		"", ":", secret, keyID, keyID + ":", keyID + ":!", keyID + ":AAAA",
		keyID + ":" + altered, ciphertext + "A!",
	} {
		_, err := tokens.Decrypt(invalid, owner)
		require.Error(t, err, invalid)
		require.NotContains(t, err.Error(), secret, invalid)
	}

	_, err = tokens.Decrypt(ciphertext, otherOwner)
	require.Error(t, err, "another owner")

	_, err = newTokens.Decrypt(ciphertext, owner)
	require.Error(t, err, "the key was deleted")
}
