package gazetteer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/modules/listings"
)

// TestResolve_Postcode_IsItsDistrict checks that the postcodes of three countries are found as their districts.
// The expected place is written "Name|Region|Nation|COUNTRY". A postcode beside a town in its region has the
// name of the town; "London TW20" is in Surrey and keeps its own name.
func TestResolve_Postcode_IsItsDistrict(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for text, want := range map[string]string{
		// districts, sectors and units, in every spelling
		"LS1":        "LS1, Leeds|West Yorkshire|ENG|GB",
		" ls1 ":      "LS1, Leeds|West Yorkshire|ENG|GB",
		"LS1 4":      "LS1, Leeds|West Yorkshire|ENG|GB",
		"LS1 4DY":    "LS1, Leeds|West Yorkshire|ENG|GB",
		"ls14dy":     "LS1, Leeds|West Yorkshire|ENG|GB",
		"LS1-4DY":    "LS1, Leeds|West Yorkshire|ENG|GB",
		"LS14":       "LS14, Seacroft|West Yorkshire|ENG|GB",
		"LS14 4DY":   "LS14, Seacroft|West Yorkshire|ENG|GB",
		"M1 1AE":     "M1, Manchester|Greater Manchester|ENG|GB",
		"m11ae":      "M1, Manchester|Greater Manchester|ENG|GB",
		"E8":         "E8, Hackney|Greater London|ENG|GB",
		"SW1A 1AA":   "SW1A, Westminster|Greater London|ENG|GB",
		"sw1a1aa":    "SW1A, Westminster|Greater London|ENG|GB",
		"SW1":        "SW1, Westminster|Greater London|ENG|GB",
		"EC1A 1BB":   "EC1A, Clerkenwell|Greater London|ENG|GB",
		"W12":        "W12, Shepherd's Bush|Greater London|ENG|GB",
		"CF10 3AT":   "CF10, Cardiff|Cardiff|WLS|GB",
		"EH1 1YZ":    "EH1, Edinburgh|Edinburgh|SCT|GB",
		"ZE1 0AA":    "ZE1, Lerwick|Shetland|SCT|GB",
		"BT1 5GS":    "BT1, Belfast|County Antrim|NIR|GB",
		"bt48":       "BT48, Derry|County Londonderry|NIR|GB",
		"JE2 3QA":    "JE2, St Helier|||JE",
		"IM1 1AA":    "IM1, Douglas|||IM",
		"GY1":        "GY1, St Peter Port|||GG",
		"D08":        "D08, Dublin 8|County Dublin|L|IE",
		"D08 XY12":   "D08, Dublin 8|County Dublin|L|IE",
		"d08xy12":    "D08, Dublin 8|County Dublin|L|IE",
		"Dublin 8":   "D08, Dublin 8|County Dublin|L|IE",
		"Dublin 6W":  "D6W, Dublin 6W|County Dublin|L|IE",
		"W12 XY12":   "W12, Newbridge|County Kildare|L|IE",
		"T12":        "T12, Cork|County Cork|M|IE",
		"H91 E2K3":   "H91, Galway|County Galway|C|IE",
		"02115":      "02115, Boston|Massachusetts||US",
		"02115-1234": "02115, Boston|Massachusetts||US",
		"90210":      "90210, Beverly Hills|California||US",
		// with a place
		"Leeds LS1 4DY":                       "Leeds|West Yorkshire|ENG|GB",
		"Leeds, LS1 4DY":                      "Leeds|West Yorkshire|ENG|GB",
		"LS1 4DY, Leeds":                      "Leeds|West Yorkshire|ENG|GB",
		"LS1, UK":                             "LS1, Leeds|West Yorkshire|ENG|GB",
		"LS1 4DY, England":                    "LS1, Leeds|West Yorkshire|ENG|GB",
		"St James's Hospital, Leeds LS9 7TF":  "Leeds|West Yorkshire|ENG|GB",
		"St James's Hospital, Leeds, LS9 7TF": "Leeds|West Yorkshire|ENG|GB",
		"St James's Hospital, LS9 7TF":        "LS9, Burmantofts|West Yorkshire|ENG|GB",
		"Whitchurch SY13 1AA":                 "Whitchurch|Shropshire|ENG|GB",
		"Boston PE21 9QS":                     "Boston|Lincolnshire|ENG|GB",
		"London TW20 0EX":                     "TW20, Egham|Surrey|ENG|GB",
		"LS1 4DY, Yorkshire":                  "LS1, Leeds|West Yorkshire|ENG|GB",
		"NYC 10001":                           "New York|New York State||US",
		"Boston MA 02115":                     "Boston|Massachusetts||US",
		"02115, USA":                          "02115, Boston|Massachusetts||US",
	} {
		place, isFound := g.Resolve(text)
		require.True(t, isFound, text)
		require.Equal(t, want, place.Name+"|"+place.Region+"|"+place.Nation+"|"+place.Country, text)
		require.Equal(t, listings.Town, place.Kind, text)
		require.Zero(t, place.Population, "the tables have no population of %s", text)
	}
}

// TestResolve_NoPostcode_IsNotFound checks words of queries that look like postcodes, and must not become a place.
func TestResolve_NoPostcode_IsNotFound(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for _, text := range []string{
		// roads, qualifications, grades, vitamins and times
		"A1", "A1 nurse", "M4 nurse", "RN1", "CT2 post", "ST3 doctor", "B12 injections", "B12 5mg", "E1 9pm",
		// districts of the United Kingdom that do not exist, and incomplete or too long units
		"LS99", "LS1A", "ZZ1 1AA", "LS1 4D", "LS1 4DYX",
		// ZIP codes that do not exist, and numbers of another length
		"00000", "45000", "0211", "021155", "02115 12",
		// districts of Dublin that do not exist, and words after a routing key
		"Dublin 99", "Dublin 123", "D08 care", "D08 nurse",
		// postcodes with a place in another country
		"LS1 4DY, Kerry", "Paris LS1 4DY",
		// other numbers and single letters
		"band 5", "5", "1st", "E", "W", "S",
	} {
		place, isFound := g.Resolve(text)
		require.False(t, isFound, "%q is %v", text, place)
	}
}

// TestResolve_PostcodeWithTown_IsAtTheDistrict checks that an address has the position of its postcode. LS29 is
// Ilkley, 14 miles from the centre of Leeds.
func TestResolve_PostcodeWithTown_IsAtTheDistrict(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	district, isFound := g.Resolve("LS29")
	require.True(t, isFound)

	address, isFound := g.Resolve("Leeds LS29 9AA")
	require.True(t, isFound)
	require.Equal(t, [2]float64{district.Lat, district.Lon}, [2]float64{address.Lat, address.Lon})
}

// FuzzResolve checks that no text makes a lookup or a correction panic.
func FuzzResolve(f *testing.F) {
	for _, text := range []string{"LS1 4DY", "Leeds, LS1 4DY", "02115-1234", "Dublin 6W", "LS1,", ",,", "d08 xy12, Cork"} {
		f.Add(text)
	}

	g := gazetteer.New()
	f.Fuzz(func(_ *testing.T, text string) {
		g.Resolve(text)
		g.Correct(text)
	})
}

// BenchmarkResolve_Postcode measures a complete postcode, without the time to unpack the tables at the first call.
func BenchmarkResolve_Postcode(b *testing.B) {
	g := gazetteer.New()
	g.Resolve("LS1")

	for b.Loop() {
		g.Resolve("SW1A 1AA")
	}
}
