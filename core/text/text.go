// Package text normalizes user input.
package text

import (
	"strings"
	"unicode"
)

// Name returns a name or title without surrounding space and without the invisible
// characters that can make it look like another name: bidirectional controls
// (UAX #9 §2), U+200B, U+2060 and U+FEFF. It keeps the joiners U+200C and U+200D, which
// some scripts and emoji need.
func Name(s string) string {
	dropInvisible := func(r rune) rune {
		if r == '\u200b' || r == '\u2060' || r == '\ufeff' || unicode.Is(unicode.Bidi_Control, r) {
			return -1 // strings.Map drops the character
		}

		return r
	}

	return strings.TrimSpace(strings.Map(dropInvisible, s))
}
