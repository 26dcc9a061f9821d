package jwttokens

import (
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

	clk := kit.NewClock()
	tokens, others := openTokens(t, clk), openTokens(t, clk)
	hidden, err := tokens.Encrypt("whsec_secret", "e-1")
	require.NoError(t, err)
	require.NotContains(t, hidden, "secret")

	again, err := tokens.Encrypt("whsec_secret", "e-1")
	require.NoError(t, err)
	require.NotEqual(t, hidden, again)

	secret, err := tokens.Decrypt(hidden, "e-1")
	require.NoError(t, err)
	require.Equal(t, "whsec_secret", secret)

	rotated := *others
	rotated.ring = append(append([]key{}, others.ring...), tokens.ring...)
	secret, err = rotated.Decrypt(hidden, "e-1")
	require.NoError(t, err)
	require.Equal(t, "whsec_secret", secret)

	name, text, _ := strings.Cut(hidden, ":")

	other := map[bool]string{true: "C", false: "B"}[text[0] == 'B'] // the first character is random
	for _, bad := range []string{
		"", ":", "whsec_secret", name, name + ":", name + ":!", name + ":AAAA",
		name + ":" + other + text[1:], hidden + "A!",
	} {
		_, err := tokens.Decrypt(bad, "e-1")
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "whsec_secret")
	}

	_, err = tokens.Decrypt(hidden, "e-2")
	require.Error(t, err, "another owner")

	_, err = others.Decrypt(hidden, "e-1")
	require.Error(t, err, "a deleted key")
}
