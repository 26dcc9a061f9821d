package gazetteer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/modules/listings"
)

// TestFind_AmbiguousNames_CommonMeaning checks which place a location of an advert or a search means. The
// expected place is written "kind Name|Region|COUNTRY". Without a qualifier the largest place of the name
// is meant, a state or county before a town only if it is better known (Georgia, Kent, but Washington).
func TestFind_AmbiguousNames_CommonMeaning(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for text, want := range map[string]string{
		"Leeds":                        "town Leeds|West Yorkshire|GB",
		"  lEEdS ":                     "town Leeds|West Yorkshire|GB",
		"Boston":                       "town Boston|Massachusetts|US",
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
		"Perth":                        "town Perth|Western Australia|AU",
		"Newcastle":                    "town Newcastle upon Tyne|Tyne and Wear|GB",
		"NYC":                          "town New York|New York State|US",
		"New York":                     "town New York|New York State|US",
		"New York, NY":                 "town New York|New York State|US",
		"Washington DC":                "town Washington, D.C.|District of Columbia|US",
		"Washington, DC":               "town Washington, D.C.|District of Columbia|US",
		"Washington":                   "town Washington, D.C.|District of Columbia|US",
		"Washington State":             "region Washington State|Washington State|US",
		"London":                       "town London|Greater London|GB",
		"London, Ontario":              "town London|Ontario|CA",
		"Hackney":                      "town Hackney|Greater London|GB",
		"Hackney, London":              "town Hackney|Greater London|GB",
		"Galway":                       "town Galway|County Galway|IE",
		"Co. Kerry":                    "region County Kerry|County Kerry|IE",
		"Kerry":                        "region County Kerry|County Kerry|IE",
		"Tralee, Kerry":                "town Tralee|County Kerry|IE",
		"Dún Laoghaire":                "town Dun Laoghaire|County Dublin|IE",
		"Kent":                         "region Kent|Kent|GB",
		"Georgia":                      "region Georgia|Georgia|US",
		"Texas":                        "region Texas|Texas|US",
		"Yorkshire":                    "region Yorkshire||GB",
		"Leeds, Yorkshire":             "town Leeds|West Yorkshire|GB",
		"North West":                   "region North West||GB",
		"England":                      "region England||GB",
		"Bangor, Northern Ireland":     "town Bangor|County Down|GB",
		"Bangor, Wales":                "town Bangor|Gwynedd|GB",
		"Ireland":                      "country Ireland||IE",
		"UK":                           "country United Kingdom||GB",
		"U.S.A.":                       "country United States||US",
		"St Albans":                    "town St Albans|Hertfordshire|GB",
		"Saint Albans, Hertfordshire":  "town St Albans|Hertfordshire|GB",
		"Stoke-on-Trent":               "town Stoke-on-Trent|Staffordshire|GB",
		"Wrexham":                      "town Wrexham|Wrexham|GB",
		"Boise":                        "town Boise|Idaho|US",
		"Truro":                        "town Truro|Cornwall|GB",
		"Brooklyn":                     "town Brooklyn|New York State|US",
		"Kilkenny":                     "town Kilkenny|County Kilkenny|IE",
		"Paris":                        "town Paris||FR",
		"Birmingham":                   "town Birmingham|West Midlands|GB",
		"Birmingham, Alabama":          "town Birmingham|Alabama|US",
		"Durham, NC":                   "town Durham|North Carolina|US",
		"Hull":                         "town Kingston upon Hull|East Riding of Yorkshire|GB",
		"Derry":                        "town Derry|County Londonderry|GB",
		"Manchester":                   "town Manchester|Greater Manchester|GB",
		"Greater Manchester":           "region Greater Manchester|Greater Manchester|GB",
		"Melbourne, VIC":               "town Melbourne|Victoria|AU",
		"St. Louis":                    "town St. Louis|Missouri|US",
		"Los Angeles, California, USA": "town Los Angeles|California|US",
		"MA":                           "region Massachusetts|Massachusetts|US",
		"Singapore":                    "town Singapore||SG",
		"Rochdale":                     "town Rochdale|Greater Manchester|GB",
		"Wolverhampton":                "town Wolverhampton|West Midlands|GB",
		"Margate":                      "town Margate|Kent|GB",
		"Bolton, Lancashire":           "town Bolton|Greater Manchester|GB",
		// The county of an address may be an older one than that of the table.
		"Croydon, Surrey":         "town Croydon|Greater London|GB",
		"Middlesbrough, Teesside": "town Middlesbrough|County Durham|GB",
		"Lancashire":              "region Lancashire|Lancashire|GB",
		"Middlesex":               "region Middlesex||GB",
		"Midwest":                 "region Midwest||US",
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
		p, ok := g.Resolve(text)
		require.True(t, ok, text)

		got := string(p.Kind) + " " + p.Name + "|" + p.Region + "|" + p.Country
		require.Equal(t, want, got, text)
	}
}

// TestFind_NotAPlace_NotFound checks texts that must not become a place, since the words of a query are looked
// up too: codes of states in lower case ("or", "in"), two towns, a town that is not in the county behind it,
// and a text above the maximum length.
func TestFind_NotAPlace_NotFound(t *testing.T) {
	t.Parallel()

	g := gazetteer.New()
	for _, text := range []string{
		"", " ", ",", ", UK", "Qwertyville", "Leeds General Infirmary, Ward 7", "Leeds, Bradford",
		"ma", "or", "in", "Boston, Kent", "Remote", "Qwertyville, United Kingdom", "🏥",
		string(make([]byte, 300)),
	} {
		p, ok := g.Resolve(text)
		require.False(t, ok, "%q is not %v", text, p)
	}
}

// TestResolve_BoroughWithoutPopulation_IsLarge checks a borough of London without a population in the table. With
// 0 it would be smaller than every town of its name.
func TestResolve_BoroughWithoutPopulation_IsLarge(t *testing.T) {
	t.Parallel()

	p, ok := gazetteer.New().Resolve("Ealing")
	require.True(t, ok)
	require.Positive(t, p.Population)
}

func BenchmarkResolve(b *testing.B) {
	g := gazetteer.New()
	var gaz listings.Gazetteer = g
	gaz.Resolve("Leeds")

	for b.Loop() {
		gaz.Resolve("Boston, Lincolnshire")
	}
}
