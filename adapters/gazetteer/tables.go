package gazetteer

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

//go:embed places.tsv.gz
var placesFile []byte

//go:embed postcodes.tsv.gz
var postcodesFile []byte

//go:embed regions.tsv
var regionsFile string

//go:embed countries.tsv
var countriesFile string

//go:embed aliases.tsv
var aliasesFile string

// tables are the unpacked tables. Names are in the form of normalize.
type tables struct {
	towns     sortedRows // by name, then by falling population
	postcodes sortedRows // by country and code: "gb ls1"

	regions   map[string][]area // by each of their names
	countries map[string]area   // by each of their names
	// aliases maps other names of towns, such as "nyc", to the words of the town's name and the codes of its
	// country and, in the United States and Canada, of its region.
	aliases map[string][]string
}

// area is a region, nation or country.
type area struct {
	listings.Place
	nationwide bool // whether the area contains all places of its nation
}

// sortedRows is an unpacked file whose rows are sorted by their first field, with the offsets of the rows.
// It is searched with a binary search, because a map would take ten times as much memory.
type sortedRows struct {
	text    string
	offsets []int32
}

// unzip unpacks an embedded file, in which each row ends with a newline. It panics if the file is damaged.
func unzip(file []byte) sortedRows {
	unzipped, err := gzip.NewReader(bytes.NewReader(file))

	var text []byte
	if err == nil {
		text, err = io.ReadAll(unzipped)
	}

	if err != nil {
		panic(fmt.Sprintf("gazetteer: an embedded file is damaged: %v", err))
	}

	table := sortedRows{text: string(text)}

	// Record where each row begins.
	table.offsets = make([]int32, 0, strings.Count(table.text, "\n"))
	for at := 0; at < len(table.text); {
		table.offsets = append(table.offsets, int32(at))
		at += strings.IndexByte(table.text[at:], '\n') + 1
	}

	return table
}

// row returns the i-th row without its line end.
func (s sortedRows) row(i int) string {
	row := s.text[s.offsets[i]:]
	return row[:strings.IndexByte(row, '\n')]
}

// search returns the rows whose first field is the key.
func (s sortedRows) search(key string) iter.Seq[string] {
	first, _ := slices.BinarySearchFunc(s.offsets, key, func(offset int32, key string) int {
		return strings.Compare(firstField(s.text[offset:]), key)
	})

	return func(yield func(string) bool) {
		for i := first; i < len(s.offsets); i++ {
			if row := s.row(i); firstField(row) != key || !yield(row) {
				return
			}
		}
	}
}

// firstField returns the text of a row up to the first tab.
func firstField(row string) string { return row[:strings.IndexByte(row, '\t')] }

// unpack reads the embedded tables.
func unpack() *tables {
	t := &tables{
		towns:     unzip(placesFile),
		postcodes: unzip(postcodesFile),
		regions:   map[string][]area{},
		countries: map[string]area{},
		aliases:   map[string][]string{},
	}
	for fields := range rows(regionsFile) {
		t.addRegion(fields)
	}

	for fields := range rows(countriesFile) {
		t.addCountry(fields)
	}

	for fields := range rows(aliasesFile) {
		t.aliases[fields[0]] = strings.Fields(fields[1])
	}

	return t
}

// addRegion adds a row of regionsFile under each of its names. Its columns are country, nation, names
// separated by "|", latitude, longitude, radius, and what the region contains. The last column is
//   - empty for a region that the rows of its towns name,
//   - a list of such regions, separated by commas, for a larger region, or
//   - "*" for all of the nation.
func (t *tables) addRegion(fields []string) {
	names, contained := strings.Split(fields[2], "|"), fields[6]
	a := area{Place: listings.Place{
		Kind:    listings.Region,
		Name:    names[0],
		Country: fields[0],
		Nation:  fields[1],
		Lat:     number(fields[3]),
		Lon:     number(fields[4]),
	}}

	switch contained {
	case "":
		a.Region = names[0]
	case "*":
		a.nationwide = true
	default:
		a.Regions = strings.Split(contained, ",")
	}

	for _, name := range names {
		key := normalize(name)
		t.regions[key] = append(t.regions[key], a)
	}
}

// addCountry adds a row of countriesFile under each of its names. Its columns are code, names separated by
// "|", latitude and longitude.
func (t *tables) addCountry(fields []string) {
	names := strings.Split(fields[1], "|")
	country := area{Place: listings.Place{
		Kind:    listings.Country,
		Name:    names[0],
		Country: fields[0],
		Lat:     number(fields[2]),
		Lon:     number(fields[3]),
	}}

	for _, name := range names {
		t.countries[normalize(name)] = country
	}
}

// rows iterates over the fields of a table's lines.
func rows(file string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(file) {
			line = strings.TrimSuffix(line, "\n")
			if line != "" && line[0] != '#' && !yield(strings.Split(line, "\t")) {
				return
			}
		}
	}
}

// number parses a coordinate. A mistake in an embedded table is a panic.
func number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("gazetteer: " + err.Error())
	}

	return x
}

// normalize returns the form of a name that is looked up: folded words without points and
// hyphens.
func normalize(name string) string {
	var b strings.Builder
	for _, r := range search.Fold(name) {
		switch {
		case r == '\'' || r == '’' || r == '‘' || r == '`' || r == '.':
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 0x7f:
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
	}

	return strings.Join(strings.Fields(b.String()), " ")
}
