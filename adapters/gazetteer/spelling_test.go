package gazetteer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
)

// TestCorrect_MisspeltPlace_IsFound checks misspelt names with one edit, or two from eight letters on. The
// expected place is written "Name|COUNTRY". A qualifier behind a comma still selects among places.
func TestCorrect_MisspeltPlace_IsFound(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for text, want := range map[string]string{
		"Manchster":           "Manchester|GB",
		"Birmingam":           "Birmingham|GB",
		"Edinbrugh":           "Edinburgh|GB",
		"Philadephia":         "Philadelphia|US",
		"Leedss":              "Leeds|GB",
		"Liverpiol":           "Liverpool|GB",
		"liverpoolk":          "Liverpool|GB",
		"Sheffeild":           "Sheffield|GB",
		"Nottigham":           "Nottingham|GB",
		"Middlesborough":      "Middlesbrough|GB",
		"Glasgwo":             "Glasgow|GB",
		"Belfats":             "Belfast|GB",
		"Limerik":             "Limerick|IE",
		"Dublln":              "Dublin|IE",
		"Las Vagas":           "Las Vegas|US",
		"Massachusetls":       "Massachusetts|US",
		"Yorkshre":            "Yorkshire|GB",
		"West Yorkshre":       "West Yorkshire|GB",
		"Scotlnad":            "Scotland|GB",
		"Irland":              "Ireland|IE",
		"United Kingdon":      "United Kingdom|GB",
		"Manchster, UK":       "Manchester|GB",
		"Birmingam, Alabama":  "Birmingham|US",
		"Wolverhamton":        "Wolverhampton|GB",
		"Stoke-on-Trnet":      "Stoke-on-Trent|GB",
		"Newcastke upon Tyne": "Newcastle upon Tyne|GB",
	} {
		place, isFound := g.Correct(text)
		require.True(t, isFound, text)
		require.Equal(t, want, place.Name+"|"+place.Country, text)
	}
}

// TestCorrect_OtherText_IsKept checks texts that are not corrected.
func TestCorrect_OtherText_IsKept(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for _, text := range []string{
		// shorter than five letters
		"", "Leds", "Yrok",
		// with a digit
		"Manchster 1", "M4nchester",
		// with too many edits, or like no place
		"Mannchessterr", "Nowhereville", "Qwertyuiop",
		// with a state in which there is no such place
		"Manchster, Alaska",
		// like Jersey, but with another first letter
		"Mersey",
		// ordinary words, and words of the field
		"Southern", "Infirmary", "General Infirmary", "Hospital wing", "Radiology", "Outpatients",
	} {
		place, isFound := g.Correct(text)
		require.False(t, isFound, "%q is corrected to %v", text, place)
	}
}

// BenchmarkCorrect measures misspelt names of several lengths and a text that is no place, without the time to unpack
// the tables at the first call.
func BenchmarkCorrect(b *testing.B) {
	g := gazetteer.New()
	g.Correct("Manchster")

	for _, text := range []string{"Leedss", "Manchster", "Newcastke upon Tyne", "General Infirmary"} {
		b.Run(text, func(b *testing.B) {
			for b.Loop() {
				g.Correct(text)
			}
		})
	}
}
