package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
)

// TestParseEmail_Form_IsChecked checks which addresses an account can have, and the form in which they are
// stored: the domain is in lower case, the local part as it was written.
func TestParseEmail_Form_IsChecked(t *testing.T) {
	t.Parallel()

	const refused = "" // instead of the form in which an address is stored

	for address, wantStored := range map[string]string{
		"jo@example.org":               "jo@example.org",
		"Jo.Doe+jobs@Mail.Example.ORG": "Jo.Doe+jobs@mail.example.org",
		"jürgen@exämple.org":           "jürgen@exämple.org",
		"日本@例え.テスト":                    "日本@例え.テスト",
		// A part is missing, or the domain cannot be one of the internet.
		"":                refused,
		"jo":              refused,
		"jo@":             refused,
		"@example.org":    refused,
		"jo@localhost":    refused,
		"jo@example..org": refused,
		"jo@-x.org":       refused,
		"jo@exa_mple.org": refused,
		"jo@.org":         refused,
		"jo@[192.0.2.1]":  refused,
		// There is more than one address, or other characters before, after or within it.
		"Jo <jo@example.org>":           refused,
		"<jo@example.org>":              refused,
		"jo@example.org (Jo)":           refused,
		" jo@example.org":               refused,
		"jo@example.org,al@example.org": refused,
		`"jo doe"@example.org`:          refused,
		"jo\n@example.org":              refused,
		"jo@example.org\x00":            refused,
		// The local part has more than the 64 bytes of RFC 5321, or the whole address more than its 254.
		strings.Repeat("a", 65) + "@e.org":      refused,
		"jo@" + strings.Repeat("a.", 126) + "a": refused,
	} {
		stored, isValid := text.ParseEmail(address)
		require.Equal(t, wantStored != refused, isValid, "%q", address)
		require.Equal(t, wantStored, stored, "%q", address)
	}
}

// TestParseEmail_LettersThatBecomeASCII_Refused checks letters whose lower case is an ASCII
// letter: that of the Kelvin sign (U+212A) is a k. If it were permitted, an
// address with a Kelvin sign and the address with a k would belong to the same account.
func TestParseEmail_LettersThatBecomeASCII_Refused(t *testing.T) {
	t.Parallel()

	for _, address := range []string{"\u212aim@example.org", "mar\u212a@example.org"} {
		_, isValid := text.ParseEmail(address)
		require.False(t, isValid, address)
	}

	// Other capitals and letters outside of ASCII are permitted.
	for _, address := range []string{"Kim@example.org", "jörg@example.org", "ΝΊΚΟΣ@example.org"} {
		_, isValid := text.ParseEmail(address)
		require.True(t, isValid, address)
	}
}
