// Package gazetteer contains the towns of the English-speaking countries, the larger ones
// of the world, the counties, states and countries around them, and postcodes. Towns and
// US ZIP codes are extracts of GeoNames (see NOTICE); counties, areas, countries, other
// names and the postcode districts of the United Kingdom, the Crown dependencies and
// Ireland are maintained by hand in tables.
//
// A postcode is resolved to its district: all 2,789 geographic districts of the United
// Kingdom and the Crown dependencies, the 139 routing keys of Eircodes and 40,977 ZIP
// codes. A ZIP code has the position of GeoNames. A district or a routing key has the
// position of its town or suburb, which in the country may be some miles from its centre;
// a full postcode is not resolved further.
//
// The tables take 4.5 MB from the first look-up on, the index of misspelt names another
// 1.5 MB from the first correction on. Look-ups and corrections take 2 to 6 µs.
package gazetteer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/locumhq/locum/modules/listings"
)

// Gazetteer implements listings.Gazetteer. It is safe for concurrent use.
type Gazetteer struct {
	load     func() *tables
	spelling func() *spellingIndex
}

// New returns a gazetteer. Its tables are unpacked at the first look-up.
func New() *Gazetteer {
	g := &Gazetteer{load: sync.OnceValue(unpack)}
	g.spelling = sync.OnceValue(func() *spellingIndex { return newSpellingIndex(g.load()) })
	return g
}

// remote matches the words of remote and nationwide posts in locations, beside the place:
// "Remote (US)", "Home based, Ireland", "UK wide".
var remote = regexp.MustCompile(`(?i)\b(?:fully\s+)?(?:remote|hybrid|home[\s-]?based|home[\s-]?working|work(?:ing)?\s+from\s+home|wfh|nation[\s-]?wide|wide|anywhere\s+in)\b|[()/–|]|\s-\s`)

// Resolve implements listings.Gazetteer.
func (g *Gazetteer) Resolve(text string) (listings.Place, bool) {
	if len(text) > 200 {
		return listings.Place{}, false
	}
	if p, ok := g.resolve(text); ok {
		return p, true
	}
	if place := remote.ReplaceAllString(text, " "); place != text {
		return g.resolve(strings.Trim(place, " ,"))
	}
	return listings.Place{}, false
}

func (g *Gazetteer) resolve(text string) (listings.Place, bool) {
	t := g.load()
	if head, tail, cut := strings.Cut(text, ","); cut {
		if p, ok := t.qualified(key(head), strings.Split(tail, ",")); ok {
			return p, true
		}
		if p, ok := t.addressPostcode(text); ok {
			return p, true
		}
		return t.locality(key(head), tail)
	}
	k := key(text)
	if k == "" {
		return listings.Place{}, false
	}
	if p, ok := t.named(k, nil); ok {
		return p, true
	}
	if p, ok := t.postcode(k); ok {
		return p, true
	}
	if len(text) == 2 && strings.ToUpper(text) == text {
		// The code of a state alone, in capitals, is not a word: MA.
		for _, r := range t.regions[k] {
			return r.Place, true
		}
	}
	if p, ok := t.townAndRegion(k); ok {
		return p, true
	}
	return t.townPostcode(k)
}

// townAndRegion resolves "boston lincolnshire", where the comma is missing.
func (t *tables) townAndRegion(k string) (listings.Place, bool) {
	for i := strings.LastIndexByte(k, ' '); i > 0; i = strings.LastIndexByte(k[:i], ' ') {
		if within, ok := t.qualifier(k[i+1:]); ok {
			if p, ok := t.named(k[:i], within); ok {
				return p, true
			}
		}
	}
	return listings.Place{}, false
}

// qualified resolves "City, County, Country". Unknown qualifiers (a postcode) are
// ignored, unless all of them are unknown.
func (t *tables) qualified(head string, tail []string) (listings.Place, bool) {
	var within []area
	resolved := 0
	for _, part := range tail {
		k := key(part)
		if k == "" {
			continue
		}
		if q, ok := t.qualifier(k); ok {
			resolved++
			within = both(within, q)
			if len(within) == 0 {
				return listings.Place{}, false
			}
		} else if code := strings.LastIndexByte(k, ' '); code > 0 {
			// "Boston, MA 02118"
			if q, ok := t.qualifier(k[:code]); ok && strings.ContainsAny(k[code:], "0123456789") {
				resolved++
				within = both(within, q)
			}
		}
	}
	if resolved == 0 && strings.TrimSpace(strings.Join(tail, "")) != "" {
		return listings.Place{}, false
	}
	return t.named(head, within)
}

// localityPopulation is the size below which a town may share its name with a
// street or a suburb elsewhere.
const localityPopulation = 20_000

// locality resolves "Suburb, City" to the city, where the suburb or the street is
// not known. A postcode or a larger town that lies elsewhere contradicts the city.
func (t *tables) locality(head, tail string) (listings.Place, bool) {
	if town, ok := t.town(head, nil); head == "" || ok && town.Population >= localityPopulation {
		return listings.Place{}, false
	}
	if _, ok := t.postcode(head); ok {
		return listings.Place{}, false
	}
	city, rest, more := strings.Cut(tail, ",")
	if more {
		return t.qualified(key(city), strings.Split(rest, ","))
	}
	k := key(city)
	if len(t.countries[k].Name) > 0 {
		return listings.Place{}, false
	}
	return t.named(k, nil)
}

// both returns the areas of a that agree with one of b.
func both(a, b []area) []area {
	if a == nil {
		return b
	}
	var out []area
	for _, x := range a {
		for _, y := range b {
			switch {
			case x.Country != y.Country:
			case y.Kind == listings.Country:
				out = append(out, x)
			default:
				out = append(out, y)
			}
		}
	}
	return out
}

// qualifier returns the areas of a qualifier behind a town: a region, a country, or the
// region of a larger town nearby.
func (t *tables) qualifier(k string) ([]area, bool) {
	out := slices.Clone(t.regions[k])
	if c, ok := t.countries[k]; ok {
		out = append(out, c)
	}
	if len(out) == 0 {
		// Metropolitan areas go by their city's name: "Barking, London".
		if p, ok := t.town(k, nil); ok && p.Population > 700_000 && p.Region != "" {
			out = append(out, area{Place: listings.Place{Kind: listings.Region, Name: p.Region, Region: p.Region, Nation: p.Nation, Country: p.Country}})
		}
	}
	return out, len(out) > 0
}

// named finds a town, region or country by its key. Two-letter codes (MA, OR)
// are words of the language too: they qualify, they do not name.
func (t *tables) named(k string, within []area) (listings.Place, bool) {
	town, isTown := t.town(k, within)
	if within == nil || !isTown {
		if c, ok := t.countries[k]; ok && within == nil && (len(k) > 2 || k == "uk" || k == "us") {
			return c.Place, true
		}
		if rs := t.regions[k]; len(rs) > 0 && len(k) > 2 {
			for _, r := range rs {
				if !inside(within, r.Place) {
					continue
				}
				// A city is meant before the county or state that is named after
				// it, unless the city is small: Georgia, Kent.
				if !isTown || town.Country != r.Country && r.Country != "AU" || town.Region != r.Name && town.Population < 250_000 {
					return r.Place, true
				}
			}
		}
	}
	return town, isTown
}

// town finds the largest town with the key inside one of the areas.
func (t *tables) town(k string, within []area) (listings.Place, bool) {
	alias, isAlias := t.alias(k)
	if isAlias && within == nil {
		return alias, true
	}
	best, found := t.largest(k, within)
	if rest, ok := strings.CutPrefix(k, "st "); ok && !found {
		best, found = t.largest("saint "+rest, within)
	} else if rest, ok := strings.CutPrefix(k, "saint "); ok && !found {
		best, found = t.largest("st "+rest, within)
	}
	if !found && isAlias && inside(within, alias) {
		return alias, true
	}
	return best, found
}

// alias finds the town of which the key is another name.
func (t *tables) alias(k string) (listings.Place, bool) {
	to, ok := t.aliases[k] // words of the key, the country and possibly the code of the region
	if !ok {
		return listings.Place{}, false
	}
	n := len(to) - 1
	in := listings.Place{Country: strings.ToUpper(to[n])}
	if country := to[n-1]; len(to[n]) == 2 && (country == "us" || country == "ca") {
		n--
		in.Country = strings.ToUpper(country)
		in.Region = regionName(t, in.Country, to[n+1])
	}
	return t.largest(strings.Join(to[:n], " "), []area{{Place: in}})
}

func (t *tables) largest(k string, within []area) (listings.Place, bool) {
	for row := range t.towns.search(k) { // the largest first
		if p := t.place(row); inside(within, p) {
			return p, true
		}
	}
	return listings.Place{}, false
}

// boroughPopulation is the population of the centres of some boroughs of London, such as
// Ealing, which the table lacks.
const boroughPopulation = 100_000

func (t *tables) place(row string) listings.Place {
	f := strings.SplitN(row, "\t", 8)
	name := f[1]
	if name == "" {
		name = f[0]
	}
	population, _ := strconv.Atoi(f[7])
	if population == 0 && f[4] == "Greater London" {
		population = boroughPopulation
	}
	return listings.Place{
		Kind: listings.Town, Name: name, Country: f[2], Nation: f[3], Region: regionName(t, f[2], f[4]),
		Lat: number(f[5]), Lon: number(f[6]), Population: population,
	}
}

// The codes by which GeoNames names the provinces of two countries.
var provinces = map[string]string{
	"CA01": "ab", "CA02": "bc", "CA03": "mb", "CA04": "nb", "CA05": "nl", "CA07": "ns", "CA08": "on", "CA09": "pe", "CA10": "qc", "CA11": "sk", "CA12": "yt", "CA13": "nt", "CA14": "nu",
	"AU01": "act", "AU02": "nsw", "AU03": "northern territory", "AU04": "qld", "AU05": "south australia", "AU06": "tas", "AU07": "vic", "AU08": "western australia",
}

func regionName(t *tables, country, code string) string {
	if country != "US" && country != "CA" && country != "AU" {
		return code
	}
	if name, ok := provinces[country+code]; ok {
		code = name
	}
	for _, r := range t.regions[strings.ToLower(code)] {
		if r.Country == country {
			return r.Name
		}
	}
	return code
}

// inside reports whether a place is in one of the areas; nil is everywhere.
func inside(within []area, p listings.Place) bool {
	return within == nil || slices.ContainsFunc(within, func(a area) bool {
		switch {
		case a.Country != p.Country:
			return false
		case a.nationwide:
			return a.Nation == p.Nation
		case a.Region == "" && a.Regions == nil:
			return true
		}
		return a.Region == p.Region && p.Region != "" || slices.Contains(a.Regions, p.Region)
	})
}
