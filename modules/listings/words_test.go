package listings

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordsAreTheOnesPeopleSearchBy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Staff Nurse (A&E), Leeds":        "staff nurse ae leeds",
		"A & E nurse":                     "ae nurse",
		"R.N. wanted":                     "rn wanted",
		"Ward manager. Nights.":           "ward manager nights",
		"St James's Hospital":             "st james hospital",
		"Children’s nurse":                "children nurse",
		"O'Neill & Sons":                  "oneill sons",
		"Band 5/6 nurse":                  "band5 band6 nurse",
		"Band 5-7":                        "band5 band6 band7",
		"Bands 6 and 7":                   "band6 band7",
		"NHS Band 8a":                     "nhs band8a",
		"Band 5, 37.5 hours":              "band5 37 5 hours",
		"a rock band plays":               "a rock band plays",
		"£45,000 full-time":               "45000 full time",
		"Órla Ní Dhuibhne, Dún Laoghaire": "orla ni dhuibhne dun laoghaire",
		"Krankenschwester in Größe Ærø":   "krankenschwester in grosse aero",
		"看護師":                             "看護師",
		"":                                "",
		"!!! --- ''' &&& ...":             "",
		"T & O theatre":                   "to theatre",
	} {
		require.Equal(t, want, strings.Join(Words(text), " "), text)
	}
}

func TestFoldTableIsComplete(t *testing.T) {
	t.Parallel()
	require.Len(t, []rune(accented), len(plain))
}
