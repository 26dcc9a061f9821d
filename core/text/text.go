// Package text normalizes user input.
package text

import (
	"strings"
	"unicode"
)

// Name returns a name or title without surrounding space and without characters
// that are invisible and can make it look like another one: bidirectional
// controls (UAX #9 §2), U+200B, U+2060 and U+FEFF. The joiners U+200C and U+200D
// stay: some scripts and emoji need them.
func Name(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\u200b' || r == '\u2060' || r == '\ufeff' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s))
}
