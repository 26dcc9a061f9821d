package text_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
)

// TestName_InvisibleCharacters_Removed checks that a name cannot look like another one: controls of the
// writing direction would show "gro.elgoog" as google.org. The joiners of Persian words and of emoji
// remain.
func TestName_InvisibleCharacters_Removed(t *testing.T) {
	t.Parallel()

	for written, want := range map[string]string{
		" Ward Finder ":                             "Ward Finder",
		"\u202egro.elgoog\u202c":                    "gro.elgoog",
		"\u200e\u200f\u061c\u2066a\u2067b\u2069":    "ab",
		"St\u200b Brigid\u2060's\ufeff":             "St Brigid's",
		"\u200b \u202e":                             "",
		"می\u200cخواهم":                             "می\u200cخواهم",
		"\U0001f469\u200d\u2695\ufe0f Nurse Niamh":  "\U0001f469\u200d\u2695\ufe0f Nurse Niamh",
		"\u202a\u202b\u202c\u202d\u202e\u2068Tom\t": "Tom",
	} {
		require.Equal(t, want, text.Name(written), "%q", written)
	}
}
