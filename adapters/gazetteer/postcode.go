package gazetteer

import (
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// findPostcode finds the place of a normalized postcode:
//
//   - a district, sector or unit of the United Kingdom: "ls1", "ls1 4", "ls1 4dy", "ls14dy"
//   - a routing key or an Eircode of Ireland: "d08", "d08 xy12"
//   - a postal district of Dublin, which is a routing key by another name: "dublin 8"
//   - a ZIP code of the United States: "02115", "02115 1234"
func (t *tables) findPostcode(code string) (listings.Place, bool) {
	first, second, isSplit := strings.Cut(code, " ")
	switch {
	case code == "" || strings.Contains(second, " "):
		return listings.Place{}, false
	case isDigits(first):
		isZIP := len(first) == 5
		isExtension := len(second) == 4 && isDigits(second)

		if isZIP && (!isSplit || isExtension) {
			return t.district("us", first)
		}

		return listings.Place{}, false
	case first == "dublin":
		// "dublin 8" is D08 and "dublin 6w" is D6W.
		zeros := strings.Repeat("0", max(0, 2-len(second)))
		return t.district("ie", "d"+zeros+second)
	case !isSplit:
		return t.unspacedPostcode(first)
	case isInward(second), len(second) == 1 && isDigits(second):
		return t.district("gb", first)
	case isEircodeIdentifier(second):
		return t.district("ie", first)
	}

	return listings.Place{}, false
}

// unspacedPostcode finds the place of a code that is one word.
func (t *tables) unspacedPostcode(code string) (listings.Place, bool) {
	// The second half of a British postcode has three characters.
	if n := len(code) - 3; n >= 2 && isInward(code[n:]) {
		if p, ok := t.district("gb", code[:n]); ok {
			return p, true
		}
	}

	// An Eircode has a routing key of three characters and an identifier of four.
	if len(code) == 7 && isEircodeIdentifier(code[3:]) {
		return t.district("ie", code[:3])
	}

	if p, ok := t.district("gb", code); ok {
		return p, true
	}

	return t.district("ie", code)
}

// district finds the place of a district, a routing key or a ZIP code. In
// central London a letter divides districts: SW1A is in SW1.
func (t *tables) district(country, code string) (listings.Place, bool) {
	// A code is in the table once.
	for row := range t.postcodes.search(country + " " + code) {
		fields := strings.Split(row, "\t")
		name, country, nation, region, lat, lon := fields[1], fields[2], fields[3], fields[4], fields[5], fields[6]

		return listings.Place{
			Kind:    listings.Town,
			Name:    strings.ToUpper(code) + ", " + name,
			Country: country,
			Nation:  nation,
			Region:  regionName(t, country, region),
			Lat:     number(lat),
			Lon:     number(lon),
		}, true
	}

	// Otherwise, remove the letter from a code like SW1A.
	last := len(code) - 1
	if country != "gb" || last < 2 {
		return listings.Place{}, false
	}

	isDivided := isLetter(code[last]) && isDigit(code[last-1]) && !isDigit(code[last-2])
	if !isDivided {
		return listings.Place{}, false
	}

	undivided := code[:last]

	p, ok := t.district(country, undivided)
	if !ok || p.Region != "Greater London" {
		return listings.Place{}, false
	}

	p.Name = strings.ToUpper(code) + strings.TrimPrefix(p.Name, strings.ToUpper(undivided))

	return p, true
}

// resolveTownPostcode finds the place of a postcode behind the name of a place in the
// same country, without a comma between them: "leeds ls1 4dy". A district alone
// is not accepted.
func (t *tables) resolveTownPostcode(text string) (listings.Place, bool) {
	words := strings.Fields(text)

	const maxWords = 2 // of a postcode
	for n := 1; n <= maxWords && n < len(words); n++ {
		town, postcode := words[:len(words)-n], words[len(words)-n:]

		p, ok := t.fullPostcode(strings.Join(postcode, " "))
		if !ok {
			continue
		}

		return t.inTown(p, strings.Join(town, " "))
	}

	return listings.Place{}, false
}

// resolveAddressPostcode finds the place of a postcode in an address whose parts are
// separated by commas: before a place ("LS1 4DY, Leeds"), or as the last part
// or behind a name in it ("St James's Hospital, Leeds LS9 7TF").
func (t *tables) resolveAddressPostcode(text string) (listings.Place, bool) {
	parts := strings.Split(text, ",")

	last := normalize(parts[len(parts)-1])
	if p, ok := t.findPostcode(normalize(parts[0])); ok && len(parts) == 2 {
		return t.inTown(p, last)
	}

	p, ok := t.fullPostcode(last)
	if !ok {
		return t.resolveTownPostcode(last)
	}

	for i := len(parts) - 2; i >= 0; i-- {
		if in, ok := t.inTown(p, normalize(parts[i])); ok {
			return in, true
		}
	}

	return p, true
}

// inTown returns the place p of a postcode that is written with the name of another place. It fails if that
// place is not in the country of the postcode. If it is a town in the same region, the result has the name of
// the town: "Leeds LS1 4DY" has the position of LS1 and the name Leeds.
func (t *tables) inTown(p listings.Place, name string) (listings.Place, bool) {
	sameRegion := []area{{Place: listings.Place{Country: p.Country, Region: p.Region}}}
	sameCountry := []area{{Place: listings.Place{Country: p.Country}}}

	// The name of a town, alone or with its region.
	town, ok := t.findTown(name, sameRegion)
	if !ok {
		town, ok = t.resolveTownAndRegion(name)
	}

	if ok && town.Country == p.Country {
		if town.Kind == listings.Town && town.Region == p.Region {
			p.Name = town.Name
		}

		return p, true
	}

	// The name of any place in the country, or of an area around the postcode.
	if _, ok := t.findByName(name, sameCountry); ok {
		return p, true
	}

	within, ok := t.findAreas(name)

	return p, ok && isInside(within, p)
}

// fullPostcode does the same as findPostcode, but not for districts and routing keys alone, which have less than
// five characters: behind a name they are more likely something else.
func (t *tables) fullPostcode(code string) (listings.Place, bool) {
	if len(code) < 5 {
		return listings.Place{}, false
	}

	return t.findPostcode(code)
}

// isInward reports whether s is the second half of a postcode: 4dy. Its letters are never
// C, I, K, M, O or V, so that 5mg and 9pm are not postcodes.
func isInward(s string) bool {
	return len(s) == 3 && isDigit(s[0]) && isInwardLetter(s[1]) && isInwardLetter(s[2])
}

func isInwardLetter(c byte) bool { return isLetter(c) && strings.IndexByte("cikmov", c) < 0 }

// isEircodeIdentifier reports whether s is the second half of an Eircode: xy12. Without a
// digit it is a word.
func isEircodeIdentifier(s string) bool {
	return len(s) == 4 && strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789acdefhknprtvwxy") == ""
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
func isDigit(c byte) bool    { return '0' <= c && c <= '9' }
func isLetter(c byte) bool   { return 'a' <= c && c <= 'z' }
