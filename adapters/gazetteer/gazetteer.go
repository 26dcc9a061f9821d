// Package gazetteer contains the towns of the English-speaking countries, the larger ones
// of the world, the counties, states and countries around them, and postcodes. Towns and
// US ZIP codes are extracts of GeoNames (see NOTICE); counties, areas, countries, other
// names and the postcode districts of the United Kingdom, the Crown dependencies and
// Ireland are maintained by hand in tables.
//
// A postcode is resolved to its district: all 2,789 geographic districts of the United
// Kingdom and the Crown dependencies, the 139 routing keys of Eircodes and 40,977 ZIP
// codes. A ZIP code has the position of GeoNames. A district or a routing key has the
// position of its town or suburb, which in rural areas may be some miles from the centre of
// the district; a full postcode is not resolved further.
//
// The tables occupy 4.5 MB after the first lookup, the index of misspelt names another 1.5 MB
// after the first correction. Lookups and corrections take 2 to 6 µs.
package gazetteer

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/locumhq/locum/modules/listings"
)

// Gazetteer implements listings.Gazetteer. It is safe for concurrent use.
type Gazetteer struct {
	loadTables   func() *tables
	loadSpelling func() *spellingIndex
}

// New returns a gazetteer. Its tables are unpacked at the first lookup.
func New() *Gazetteer {
	g := &Gazetteer{loadTables: sync.OnceValue(unpack)}
	g.loadSpelling = sync.OnceValue(func() *spellingIndex { return newSpellingIndex(g.loadTables()) })
	return g
}

// remotePattern matches the words of remote, hybrid and nationwide posts in locations, and
// brackets, slashes and dashes around them: "Remote (US)", "Home based, Ireland", "UK wide".
var remotePattern = regexp.MustCompile(
	`(?i)\b(?:fully\s+)?(?:remote|hybrid|home[\s-]?based|home[\s-]?working|work(?:ing)?\s+from\s+home|wfh|nation[\s-]?wide|wide|anywhere\s+in)\b|[()/–|]|\s-\s`,
)

// maxLocation is the maximum length of a location in bytes.
const maxLocation = 200

// Resolve implements listings.Gazetteer.
func (g *Gazetteer) Resolve(text string) (listings.Place, bool) {
	if len(text) > maxLocation {
		return listings.Place{}, false
	}

	if p, ok := g.resolve(text); ok {
		return p, true
	}

	if place := remotePattern.ReplaceAllString(text, " "); place != text {
		return g.resolve(strings.Trim(place, " ,"))
	}

	return listings.Place{}, false
}

// resolve resolves a location. It tries the meanings in the order of their likelihood: a name, a postcode, the
// code of a state, a town with its region, and a town with its postcode.
func (g *Gazetteer) resolve(text string) (listings.Place, bool) {
	t := g.loadTables()
	if head, tail, cut := strings.Cut(text, ","); cut {
		if p, ok := t.resolveQualified(normalize(head), strings.Split(tail, ",")); ok {
			return p, true
		}

		if p, ok := t.resolveAddressPostcode(text); ok {
			return p, true
		}

		return t.resolveLocality(normalize(head), tail)
	}

	name := normalize(text)
	if name == "" {
		return listings.Place{}, false
	}

	if p, ok := t.findByName(name, nil); ok {
		return p, true
	}

	if p, ok := t.findPostcode(name); ok {
		return p, true
	}

	if len(text) == 2 && strings.ToUpper(text) == text {
		// A code of two letters is accepted only in capitals: "or" and "ma" can be words.
		if regions := t.regions[name]; len(regions) > 0 {
			return regions[0].Place, true
		}
	}

	if p, ok := t.resolveTownAndRegion(name); ok {
		return p, true
	}

	return t.resolveTownPostcode(name)
}

// resolveTownAndRegion resolves "boston lincolnshire", where the comma is missing.
func (t *tables) resolveTownAndRegion(name string) (listings.Place, bool) {
	for i := strings.LastIndexByte(name, ' '); i > 0; i = strings.LastIndexByte(name[:i], ' ') {
		if within, ok := t.findAreas(name[i+1:]); ok {
			if p, ok := t.findByName(name[:i], within); ok {
				return p, true
			}
		}
	}

	return listings.Place{}, false
}

// resolveQualified resolves "City, County, Country". Unknown qualifiers, such as a postcode,
// are ignored. It fails if all of them are unknown, or if they contradict each other.
func (t *tables) resolveQualified(head string, tail []string) (listings.Place, bool) {
	var within []area

	resolved := 0
	for _, part := range tail {
		name := normalize(part)
		if name == "" {
			continue
		}

		if q, ok := t.findAreas(name); ok {
			resolved++
			within = intersect(within, q)
		} else if i := strings.LastIndexByte(name, ' '); i > 0 {
			// "Boston, MA 02118"
			if q, ok := t.findAreas(name[:i]); ok && strings.ContainsAny(name[i:], "0123456789") {
				resolved++
				within = intersect(within, q)
			}
		}

		if resolved > 0 && len(within) == 0 {
			return listings.Place{}, false
		}
	}

	if resolved == 0 && strings.TrimSpace(strings.Join(tail, "")) != "" {
		return listings.Place{}, false
	}

	return t.findByName(head, within)
}

// localityPopulation is the population from which on a town contradicts another city after
// the comma. A smaller one may be a street or a suburb of the same name.
const localityPopulation = 20_000

// resolveLocality resolves "Suburb, City" to the city if the suburb or the street is not
// known. A postcode or a larger town before the comma contradicts the city.
func (t *tables) resolveLocality(head, tail string) (listings.Place, bool) {
	if head == "" {
		return listings.Place{}, false
	}

	if town, ok := t.findTown(head, nil); ok && town.Population >= localityPopulation {
		return listings.Place{}, false
	}

	if _, ok := t.findPostcode(head); ok {
		return listings.Place{}, false
	}

	city, rest, more := strings.Cut(tail, ",")
	if more {
		return t.resolveQualified(normalize(city), strings.Split(rest, ","))
	}

	name := normalize(city)
	if _, isCountry := t.countries[name]; isCountry {
		return listings.Place{}, false
	}

	return t.findByName(name, nil)
}

// intersect returns the areas that are in one of a and in one of b. Nil means everywhere. A
// country contains its regions; regions of one country are not compared, because their names
// are those of different levels, such as England and Kent.
func intersect(a, b []area) []area {
	if a == nil {
		return b
	}

	var out []area
	for _, x := range a {
		for _, y := range b {
			if x.Country != y.Country {
				continue
			}

			if y.Kind == listings.Country {
				out = append(out, x)
			} else {
				out = append(out, y)
			}
		}
	}

	return out
}

// metropolis is the population of a city after which its region is named in addresses.
const metropolis = 700_000

// findAreas returns the areas that a qualifier after a town names: a region, a country, or the
// region of a larger town nearby.
func (t *tables) findAreas(name string) ([]area, bool) {
	out := slices.Clone(t.regions[name])
	if c, ok := t.countries[name]; ok {
		out = append(out, c)
	}

	if len(out) == 0 {
		// Metropolitan areas go by their city's name: "Barking, London".
		if p, ok := t.findTown(name, nil); ok && p.Population > metropolis && p.Region != "" {
			out = append(out, area{Place: listings.Place{
				Kind:    listings.Region,
				Name:    p.Region,
				Region:  p.Region,
				Nation:  p.Nation,
				Country: p.Country,
			}})
		}
	}

	return out, len(out) > 0
}

// findByName finds a town, region or country by its name. Codes of two letters, such as OR,
// are also English words: except for UK and US, they are accepted only after a comma.
func (t *tables) findByName(name string, within []area) (listings.Place, bool) {
	town, isTown := t.findTown(name, within)
	if within != nil && isTown {
		return town, true
	}

	isCode := len(name) <= 2 && name != "uk" && name != "us"
	if c, ok := t.countries[name]; ok && within == nil && !isCode {
		return c.Place, true
	}

	if len(name) > 2 {
		for _, r := range t.regions[name] {
			if isInside(within, r.Place) && (!isTown || prefersRegion(town, r.Place)) {
				return r.Place, true
			}
		}
	}

	return town, isTown
}

// minNamesake is the population from which on a city is preferred to a region of its country
// with the same name.
const minNamesake = 250_000

// prefersRegion reports whether a name means the region and not the town. The state of Georgia
// is preferred to a town in another country, and the county of Kent to a small town elsewhere
// in the country, but a city to the county that is named after it. In Australia, towns of
// other countries are as well known as the state, such as Victoria.
func prefersRegion(town, region listings.Place) bool {
	if town.Country != region.Country && region.Country != "AU" {
		return true
	}

	return town.Region != region.Name && town.Population < minNamesake
}

// findTown finds the largest town with the key inside one of the areas.
func (t *tables) findTown(name string, within []area) (listings.Place, bool) {
	alias, isAlias := t.findAlias(name)
	if isAlias && within == nil {
		return alias, true
	}

	best, found := t.findLargest(name, within)

	// Adverts write St and Saint for either.
	if rest, ok := strings.CutPrefix(name, "st "); ok && !found {
		best, found = t.findLargest("saint "+rest, within)
	} else if rest, ok := strings.CutPrefix(name, "saint "); ok && !found {
		best, found = t.findLargest("st "+rest, within)
	}

	if !found && isAlias && isInside(within, alias) {
		return alias, true
	}

	return best, found
}

// findAlias finds the town of which the name is another one. The table has the words of the
// town's name, the code of the country and, in the US and Canada, that of the region:
// "nyc" is "new york us ny".
func (t *tables) findAlias(other string) (listings.Place, bool) {
	words, ok := t.aliases[other]
	if !ok {
		return listings.Place{}, false
	}

	last := len(words) - 1
	name := words[:last]
	country := words[last]

	region := ""
	if before := words[last-1]; len(country) == 2 && (before == "us" || before == "ca") {
		name, country, region = words[:last-1], before, country
	}

	in := listings.Place{Country: strings.ToUpper(country)}
	if region != "" {
		in.Region = regionName(t, in.Country, region)
	}

	return t.findLargest(strings.Join(name, " "), []area{{Place: in}})
}

// findLargest finds the largest town with the name inside one of the areas.
func (t *tables) findLargest(name string, within []area) (listings.Place, bool) {
	for row := range t.towns.search(name) { // the largest first
		if p := t.parseTown(row); isInside(within, p) {
			return p, true
		}
	}

	return listings.Place{}, false
}

// boroughPopulation is assumed for places in Greater London whose population is missing from
// the table, such as Ealing.
const boroughPopulation = 100_000

// The columns of the table of towns.
const (
	colKey  = iota
	colName // empty if it is the key
	colCountry
	colNation
	colRegion
	colLat
	colLon
	colPopulation
	columns
)

// parseTown parses a row of the table of towns.
func (t *tables) parseTown(row string) listings.Place {
	f := strings.SplitN(row, "\t", columns)

	population, _ := strconv.Atoi(f[colPopulation]) // every row has a number, 0 if it is not known
	if population == 0 && f[colRegion] == "Greater London" {
		population = boroughPopulation
	}

	return listings.Place{
		Kind:       listings.Town,
		Name:       cmp.Or(f[colName], f[colKey]),
		Country:    f[colCountry],
		Nation:     f[colNation],
		Region:     regionName(t, f[colCountry], f[colRegion]),
		Lat:        number(f[colLat]),
		Lon:        number(f[colLon]),
		Population: population,
	}
}

// provinces maps the codes of GeoNames for Canadian provinces and Australian states, after
// that of the country, to names of regions.
var provinces = map[string]string{
	"CA01": "ab",
	"CA02": "bc",
	"CA03": "mb",
	"CA04": "nb",
	"CA05": "nl",
	"CA07": "ns",
	"CA08": "on",
	"CA09": "pe",
	"CA10": "qc",
	"CA11": "sk",
	"CA12": "yt",
	"CA13": "nt",
	"CA14": "nu",
	"AU01": "act",
	"AU02": "nsw",
	"AU03": "northern territory",
	"AU04": "qld",
	"AU05": "south australia",
	"AU06": "tas",
	"AU07": "vic",
	"AU08": "western australia",
}

// regionName returns the name of the region with the code of GeoNames.
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

// isInside reports whether a place is in one of the areas; nil means everywhere.
func isInside(within []area, p listings.Place) bool {
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
