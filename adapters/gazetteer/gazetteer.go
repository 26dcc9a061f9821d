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
	`(?i)\b(?:fully\s+)?(?:remote|hybrid|home[\s-]?based|home[\s-]?working|work(?:ing)?\s+from\s+home|wfh|` +
		`nation[\s-]?wide|wide|anywhere\s+in)\b|[()/–|]|\s-\s`,
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

	// Try it without words such as "remote".
	placeText := remotePattern.ReplaceAllString(text, " ")
	if placeText == text {
		return listings.Place{}, false
	}

	return g.resolve(strings.Trim(placeText, " ,"))
}

// resolve resolves a location. It tries the meanings of a text in the order of their likelihood. With a
// comma they are a place with its county or country (qualifiers), an address with a postcode, and a
// suburb or street with its city. Without a comma they are a name, a postcode, the code of a state, a town
// with its region, and a town with its postcode.
func (g *Gazetteer) resolve(text string) (listings.Place, bool) {
	t := g.loadTables()
	if head, tail, hasComma := strings.Cut(text, ","); hasComma {
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

	if p, ok := t.findByName(name, everywhere); ok {
		return p, true
	}

	if p, ok := t.findPostcode(name); ok {
		return p, true
	}

	// A code of two letters is accepted only in capitals: "or" and "ma" can be words.
	isCode := len(text) == 2 && strings.ToUpper(text) == text
	if isCode {
		if regions := t.regions[name]; len(regions) > 0 {
			return regions[0].Place, true
		}
	}

	if p, ok := t.resolveTownAndRegion(name); ok {
		return p, true
	}

	return t.resolveTownPostcode(name)
}

// everywhere is passed as the areas to search in, if the search is not limited to some areas.
var everywhere []area

// resolveTownAndRegion resolves "boston lincolnshire", where the comma is missing.
func (t *tables) resolveTownAndRegion(name string) (listings.Place, bool) {
	// Try each space as the end of the town's name, the last one first.
	for i := strings.LastIndexByte(name, ' '); i > 0; i = strings.LastIndexByte(name[:i], ' ') {
		town, region := name[:i], name[i+1:]
		if within, ok := t.findAreas(region); ok {
			if p, ok := t.findByName(town, within); ok {
				return p, true
			}
		}
	}

	return listings.Place{}, false
}

// resolveQualified resolves "City, County, Country". Unknown qualifiers, such as a postcode,
// are ignored. It fails if all of them are unknown, or if they contradict each other.
func (t *tables) resolveQualified(head string, tail []string) (listings.Place, bool) {
	within, isAnyKnown := everywhere, false
	for _, part := range tail {
		name := normalize(part)
		if name == "" {
			continue
		}

		areas, isKnown := t.findQualifier(name)
		if !isKnown {
			continue
		}

		isAnyKnown = true

		within = intersect(within, areas)
		if len(within) == 0 { // the qualifiers contradict each other
			return listings.Place{}, false
		}
	}

	hasQualifiers := strings.TrimSpace(strings.Join(tail, "")) != ""
	if hasQualifiers && !isAnyKnown {
		return listings.Place{}, false
	}

	return t.findByName(head, within)
}

// findQualifier does the same as findAreas, and also finds the region before a postcode, as in
// "Boston, MA 02118".
func (t *tables) findQualifier(name string) ([]area, bool) {
	if areas, ok := t.findAreas(name); ok {
		return areas, true
	}

	// Otherwise, the last word may be a postcode.
	space := strings.LastIndexByte(name, ' ')
	if space <= 0 || !strings.ContainsAny(name[space:], "0123456789") {
		return nil, false
	}

	return t.findAreas(name[:space])
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

	if town, ok := t.findTown(head, everywhere); ok && town.Population >= localityPopulation {
		return listings.Place{}, false
	}

	if _, ok := t.findPostcode(head); ok {
		return listings.Place{}, false
	}

	city, rest, hasQualifier := strings.Cut(tail, ",")
	if hasQualifier {
		return t.resolveQualified(normalize(city), strings.Split(rest, ","))
	}

	name := normalize(city)
	if _, isCountry := t.countries[name]; isCountry {
		return listings.Place{}, false
	}

	return t.findByName(name, everywhere)
}

// intersect returns the areas that are in one of a and in one of b. A nil slice means everywhere. A country
// contains its regions. Regions of the same country are not compared, because they may be of different
// levels, such as England and Kent: the one of b is returned.
func intersect(a, b []area) []area {
	if a == nil {
		return b
	}

	var common []area
	for _, fromA := range a {
		for _, fromB := range b {
			if fromA.Country != fromB.Country {
				continue
			}

			if fromB.Kind == listings.Country {
				common = append(common, fromA)
			} else {
				common = append(common, fromB)
			}
		}
	}

	return common
}

// metropolis is the population of a city after which its region is named in addresses.
const metropolis = 700_000

// findAreas returns the areas that a qualifier after a town names: a region, a country, or the
// region of a larger town nearby.
func (t *tables) findAreas(name string) ([]area, bool) {
	areas := slices.Clone(t.regions[name])
	if country, ok := t.countries[name]; ok {
		areas = append(areas, country)
	}

	if len(areas) > 0 {
		return areas, true
	}

	// Metropolitan areas go by their city's name: "Barking, London".
	city, found := t.findTown(name, everywhere)
	if !found || city.Population <= metropolis || city.Region == "" {
		return nil, false
	}

	return []area{{Place: listings.Place{
		Kind:    listings.Region,
		Name:    city.Region,
		Region:  city.Region,
		Nation:  city.Nation,
		Country: city.Country,
	}}}, true
}

// findByName finds a town, region or country by its name, inside one of the areas. Codes of two letters,
// such as OR, are also English words: except for UK and US, they are accepted only after a comma.
func (t *tables) findByName(name string, within []area) (listings.Place, bool) {
	town, isTown := t.findTown(name, within)
	if within != nil && isTown { // the text says in which region the town is
		return town, true
	}

	isCode := len(name) <= 2

	isAcceptedCode := name == "uk" || name == "us"
	if country, ok := t.countries[name]; ok && within == nil && (!isCode || isAcceptedCode) {
		return country.Place, true
	}

	if !isCode {
		for _, region := range t.regions[name] {
			if isInside(within, region.Place) && (!isTown || prefersRegion(town, region.Place)) {
				return region.Place, true
			}
		}
	}

	return town, isTown
}

// minNamesake is the population from which on a city is preferred to a region of its country
// with the same name.
const minNamesake = 250_000

// prefersRegion reports whether a name that a town and a region have in common means the region:
//
//   - The state of Georgia is preferred to a town in another country. This is not so for Australia, because
//     towns of other countries are as well known as its states, such as Victoria.
//   - The county of Kent is preferred to a small town elsewhere in the country.
//   - A city is preferred to the county that is named after it.
func prefersRegion(town, region listings.Place) bool {
	if town.Country != region.Country && region.Country != "AU" {
		return true
	}

	return town.Region != region.Name && town.Population < minNamesake
}

// findTown finds the largest town with the name inside one of the areas, or everywhere if within is nil.
func (t *tables) findTown(name string, within []area) (listings.Place, bool) {
	alias, isAlias := t.findAlias(name)
	if isAlias && within == nil {
		return alias, true
	}

	largest, found := t.findLargest(name, within)

	// Adverts write St and Saint for either.
	if rest, ok := strings.CutPrefix(name, "st "); ok && !found {
		largest, found = t.findLargest("saint "+rest, within)
	} else if rest, ok := strings.CutPrefix(name, "saint "); ok && !found {
		largest, found = t.findLargest("st "+rest, within)
	}

	if !found && isAlias && isInside(within, alias) {
		return alias, true
	}

	return largest, found
}

// findAlias finds the town that has the alias as another name. The table of aliases contains the words of
// the town's name, the code of the country and, in the US and Canada, that of the region: "nyc" is
// "new york us ny".
func (t *tables) findAlias(alias string) (listings.Place, bool) {
	words, isAlias := t.aliases[alias]
	if !isAlias {
		return listings.Place{}, false
	}

	last := len(words) - 1
	name, country, region := words[:last], words[last], ""

	// "us" or "ca" before the last word is the country, if the last word can be the code of a region.
	mayHaveRegion := words[last-1] == "us" || words[last-1] == "ca"
	if mayHaveRegion && len(words[last]) == 2 {
		name, country, region = words[:last-1], words[last-1], words[last]
	}

	inRegion := listings.Place{Country: strings.ToUpper(country)}
	if region != "" {
		inRegion.Region = regionName(t, inRegion.Country, region)
	}

	return t.findLargest(strings.Join(name, " "), []area{{Place: inRegion}})
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
	fields := strings.SplitN(row, "\t", columns)

	population, _ := strconv.Atoi(fields[colPopulation]) // every row has a number, 0 if it is not known
	if population == 0 && fields[colRegion] == "Greater London" {
		population = boroughPopulation
	}

	return listings.Place{
		Kind:       listings.Town,
		Name:       cmp.Or(fields[colName], fields[colKey]),
		Country:    fields[colCountry],
		Nation:     fields[colNation],
		Region:     regionName(t, fields[colCountry], fields[colRegion]),
		Lat:        number(fields[colLat]),
		Lon:        number(fields[colLon]),
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

// regionName returns the name of the region with the code of GeoNames. The rows of other countries than
// these three have names in place of codes.
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

// isInside reports whether a place is in one of the areas. A nil slice means everywhere.
func isInside(within []area, p listings.Place) bool {
	return within == nil || slices.ContainsFunc(within, func(a area) bool { return a.contains(p) })
}

// contains reports whether a place is in the area.
func (a area) contains(p listings.Place) bool {
	switch isCountry := a.Region == "" && a.Regions == nil; {
	case a.Country != p.Country:
		return false
	case a.nationwide:
		return a.Nation == p.Nation
	case isCountry:
		return true
	}

	isSameRegion := a.Region == p.Region && p.Region != ""

	return isSameRegion || slices.Contains(a.Regions, p.Region)
}
