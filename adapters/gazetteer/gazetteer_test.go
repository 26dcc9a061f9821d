package gazetteer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/modules/listings"
)

// TestFind_AmbiguousNames_CommonMeaning checks which place a location of an advert or a search means. The
// expected place is written "kind Name|Region|COUNTRY".
func TestFind_AmbiguousNames_CommonMeaning(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for text, want := range map[string]string{
		// A name alone means its largest place.
		"Leeds":         "town Leeds|West Yorkshire|GB",
		"  lEEdS ":      "town Leeds|West Yorkshire|GB",
		"Boston":        "town Boston|Massachusetts|US",
		"Perth":         "town Perth|Western Australia|AU",
		"London":        "town London|Greater London|GB",
		"Hackney":       "town Hackney|Greater London|GB",
		"Galway":        "town Galway|County Galway|IE",
		"Wrexham":       "town Wrexham|Wrexham|GB",
		"Boise":         "town Boise|Idaho|US",
		"Truro":         "town Truro|Cornwall|GB",
		"Brooklyn":      "town Brooklyn|New York State|US",
		"Kilkenny":      "town Kilkenny|County Kilkenny|IE",
		"Paris":         "town Paris||FR",
		"Birmingham":    "town Birmingham|West Midlands|GB",
		"Manchester":    "town Manchester|Greater Manchester|GB",
		"Singapore":     "town Singapore||SG",
		"Rochdale":      "town Rochdale|Greater Manchester|GB",
		"Wolverhampton": "town Wolverhampton|West Midlands|GB",
		"Margate":       "town Margate|Kent|GB",
		// A county, state or country selects among the places of a name.
		"Boston, Lincolnshire":         "town Boston|Lincolnshire|GB",
		"boston lincolnshire":          "town Boston|Lincolnshire|GB",
		"Boston, Lincs, UK":            "town Boston|Lincolnshire|GB",
		"Boston, MA":                   "town Boston|Massachusetts|US",
		"Boston, MA 02118":             "town Boston|Massachusetts|US",
		"Boston, United Kingdom":       "town Boston|Lincolnshire|GB",
		"boston ma":                    "town Boston|Massachusetts|US",
		"Springfield, IL":              "town Springfield|Illinois|US",
		"Springfield, Missouri":        "town Springfield|Missouri|US",
		"Portland, Maine":              "town Portland|Maine|US",
		"Perth, Scotland":              "town Perth|Perth and Kinross|GB",
		"London, Ontario":              "town London|Ontario|CA",
		"Hackney, London":              "town Hackney|Greater London|GB",
		"Tralee, Kerry":                "town Tralee|County Kerry|IE",
		"Leeds, Yorkshire":             "town Leeds|West Yorkshire|GB",
		"Bangor, Northern Ireland":     "town Bangor|County Down|GB",
		"Bangor, Wales":                "town Bangor|Gwynedd|GB",
		"Birmingham, Alabama":          "town Birmingham|Alabama|US",
		"Durham, NC":                   "town Durham|North Carolina|US",
		"Melbourne, VIC":               "town Melbourne|Victoria|AU",
		"Los Angeles, California, USA": "town Los Angeles|California|US",
		// A place may be known by a short name, another name or another spelling.
		"Newcastle":                   "town Newcastle upon Tyne|Tyne and Wear|GB",
		"NYC":                         "town New York|New York State|US",
		"New York":                    "town New York|New York State|US",
		"New York, NY":                "town New York|New York State|US",
		"Washington DC":               "town Washington, D.C.|District of Columbia|US",
		"Washington, DC":              "town Washington, D.C.|District of Columbia|US",
		"Hull":                        "town Kingston upon Hull|East Riding of Yorkshire|GB",
		"Derry":                       "town Derry|County Londonderry|GB",
		"Dún Laoghaire":               "town Dun Laoghaire|County Dublin|IE",
		"St Albans":                   "town St Albans|Hertfordshire|GB",
		"Saint Albans, Hertfordshire": "town St Albans|Hertfordshire|GB",
		"St. Louis":                   "town St. Louis|Missouri|US",
		"Stoke-on-Trent":              "town Stoke-on-Trent|Staffordshire|GB",
		// A name may mean a state, a county, a larger region or a country, before a town only if it is better known.
		"Washington":         "town Washington, D.C.|District of Columbia|US",
		"Washington State":   "region Washington State|Washington State|US",
		"Georgia":            "region Georgia|Georgia|US",
		"Kent":               "region Kent|Kent|GB",
		"Texas":              "region Texas|Texas|US",
		"MA":                 "region Massachusetts|Massachusetts|US",
		"Co. Kerry":          "region County Kerry|County Kerry|IE",
		"Kerry":              "region County Kerry|County Kerry|IE",
		"Greater Manchester": "region Greater Manchester|Greater Manchester|GB",
		"Lancashire":         "region Lancashire|Lancashire|GB",
		"Yorkshire":          "region Yorkshire||GB",
		"North West":         "region North West||GB",
		"Middlesex":          "region Middlesex||GB",
		"Midwest":            "region Midwest||US",
		"England":            "region England||GB",
		"Ireland":            "country Ireland||IE",
		"UK":                 "country United Kingdom||GB",
		"U.S.A.":             "country United States||US",
		// The county of an address may be an older one than that of the table.
		"Bolton, Lancashire":      "town Bolton|Greater Manchester|GB",
		"Croydon, Surrey":         "town Croydon|Greater London|GB",
		"Middlesbrough, Teesside": "town Middlesbrough|County Durham|GB",
		// The words of remote work are left out.
		"Remote US":           "country United States||US",
		"Remote (UK)":         "country United Kingdom||GB",
		"Remote/Derby":        "town Derby|Derbyshire|GB",
		"Remote - GA":         "region Georgia|Georgia|US",
		"Home based, Ireland": "country Ireland||IE",
		"UK wide":             "country United Kingdom||GB",
		// A suburb or street that is not in the tables is in the town after the comma.
		"Tooting, London":           "town London|Greater London|GB",
		"Newcastle Road, Galway":    "town Galway|County Galway|IE",
		"Wilton, Cork":              "town Cork|County Cork|IE",
		"Edgbaston, Birmingham, UK": "town Birmingham|West Midlands|GB",
	} {
		place, isFound := g.Resolve(text)
		require.True(t, isFound, text)

		description := string(place.Kind) + " " + place.Name + "|" + place.Region + "|" + place.Country
		require.Equal(t, want, description, text)
	}
}

// TestFind_NotAPlace_NotFound checks texts that must not become a place, since the words of a query are looked
// up too.
func TestFind_NotAPlace_NotFound(t *testing.T) {
	t.Parallel()

	aboveMaximumLength := strings.Repeat("\x00", 300) // bytes; the maximum is 200

	g := gazetteer.New()
	for _, text := range []string{
		// no name
		"", " ", ",", ", UK", "🏥", aboveMaximumLength,
		// names that are not in the tables
		"Qwertyville", "Qwertyville, United Kingdom", "Leeds General Infirmary, Ward 7",
		// two towns, and a town that is not in the county behind it
		"Leeds, Bradford", "Boston, Kent",
		// codes of states in lower case, which are also words
		"ma", "or", "in",
		// the words of remote work alone
		"Remote",
	} {
		place, isFound := g.Resolve(text)
		require.False(t, isFound, "%q is not %v", text, place)
	}
}

// TestResolve_BoroughWithoutPopulation_IsLarge checks a borough of London without a population in the table. With
// 0 it would be smaller than every town of its name.
func TestResolve_BoroughWithoutPopulation_IsLarge(t *testing.T) {
	t.Parallel()

	ealing, isFound := gazetteer.New().Resolve("Ealing")
	require.True(t, isFound)
	require.Positive(t, ealing.Population)
}

// BenchmarkResolve measures a town with a county, without the time to unpack the tables at the first call.
func BenchmarkResolve(b *testing.B) {
	var g listings.Gazetteer = gazetteer.New()
	g.Resolve("Leeds")

	for b.Loop() {
		g.Resolve("Boston, Lincolnshire")
	}
}
