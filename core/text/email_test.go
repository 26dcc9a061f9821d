package text_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
)

// TestParseEmail_Form_IsChecked checks which addresses an account can have, and the form in which they are
// stored: the domain is in lower case, the local part as it was written. "" is an address that is
// refused; the last ones exceed the lengths of RFC 5321.
func TestParseEmail_Form_IsChecked(t *testing.T) {
	t.Parallel()

	for in, want := range map[string]string{
		"jo@example.org":                        "jo@example.org",
		"Jo.Doe+jobs@Mail.Example.ORG":          "Jo.Doe+jobs@mail.example.org",
		"jürgen@exämple.org":                    "jürgen@exämple.org",
		"":                                      "",
		"jo":                                    "",
		"jo@":                                   "",
		"@example.org":                          "",
		"jo@localhost":                          "",
		"jo@example..org":                       "",
		"jo@-x.org":                             "",
		"jo@exa_mple.org":                       "",
		"日本@例え.テスト":                             "日本@例え.テスト",
		"jo@.org":                               "",
		"Jo <jo@example.org>":                   "",
		"<jo@example.org>":                      "",
		"jo@example.org (Jo)":                   "",
		" jo@example.org":                       "",
		"jo@example.org,al@example.org":         "",
		"jo@[192.0.2.1]":                        "",
		`"jo doe"@example.org`:                  "",
		"jo\n@example.org":                      "",
		"jo@example.org\x00":                    "",
		strings.Repeat("a", 65) + "@e.org":      "",
		"jo@" + strings.Repeat("a.", 126) + "a": "",
	} {
		got, ok := text.ParseEmail(in)
		require.Equal(t, want != "", ok, "%q", in)
		require.Equal(t, want, got)
	}
}

// TestParseEmail_LettersThatBecomeASCII_Refused checks letters whose lower case is an ASCII
// letter: that of the Kelvin sign (U+212A) is a k. If it were permitted, an
// address with a Kelvin sign and the address with a k would belong to the same account.
func TestParseEmail_LettersThatBecomeASCII_Refused(t *testing.T) {
	t.Parallel()

	for _, address := range []string{"\u212aim@example.org", "mar\u212a@example.org"} {
		_, ok := text.ParseEmail(address)
		require.False(t, ok, address)
	}

	for _, address := range []string{"Kim@example.org", "jörg@example.org", "ΝΊΚΟΣ@example.org"} {
		_, ok := text.ParseEmail(address)
		require.True(t, ok, address)
	}
}
