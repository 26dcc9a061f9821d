package gazetteer

import (
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// findPostcode finds the place of a folded postcode: a district, sector or unit of
// the United Kingdom ("ls1", "ls1 4", "ls1 4dy", "ls14dy"), a routing key or an
// Eircode ("d08", "d08 xy12"), a ZIP code ("02115", "02115 1234"). The postal
// districts of Dublin ("dublin 8") are routing keys by another name.
func (t *tables) findPostcode(k string) (listings.Place, bool) {
	first, second, isSplit := strings.Cut(k, " ")
	switch {
	case k == "" || strings.Contains(second, " "):
		return listings.Place{}, false
	case isDigits(first):
		if len(first) == 5 && (!isSplit || len(second) == 4 && isDigits(second)) {
			return t.district("us", first)
		}

		return listings.Place{}, false
	case first == "dublin":
		// "dublin 8" is D08, "dublin 6w" D6W.
		return t.district("ie", "d"+strings.Repeat("0", max(0, 2-len(second)))+second)
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
func (t *tables) unspacedPostcode(k string) (listings.Place, bool) {
	// The second half of a British postcode has three characters, that of an Eircode four.
	if n := len(k) - 3; n >= 2 && isInward(k[n:]) {
		if p, ok := t.district("gb", k[:n]); ok {
			return p, true
		}
	}

	if len(k) == 7 && isEircodeIdentifier(k[3:]) {
		return t.district("ie", k[:3])
	}

	if p, ok := t.district("gb", k); ok {
		return p, true
	}

	return t.district("ie", k)
}

// district finds the place of a district, a routing key or a ZIP code. In
// central London a letter divides districts: SW1A is in SW1.
func (t *tables) district(country, code string) (listings.Place, bool) {
	// A code is in the table once.
	for row := range t.postcodes.search(country + " " + code) {
		f := strings.Split(row, "\t")

		return listings.Place{
			Kind: listings.Town, Name: strings.ToUpper(code) + ", " + f[1],
			Country: f[2], Nation: f[3], Region: regionName(t, f[2], f[4]), Lat: number(f[5]), Lon: number(f[6]),
		}, true
	}

	n := len(code) - 1
	if country != "gb" || n < 2 || !isLetter(code[n]) || !isDigit(code[n-1]) || isDigit(code[n-2]) {
		return listings.Place{}, false
	}

	p, ok := t.district(country, code[:n])
	if !ok || p.Region != "Greater London" {
		return listings.Place{}, false
	}

	p.Name = strings.ToUpper(code) + p.Name[n:]

	return p, true
}

// resolveTownPostcode finds the place of a postcode behind the name of a place in the
// same country, without a comma between them: "leeds ls1 4dy". A district alone
// is not accepted.
func (t *tables) resolveTownPostcode(k string) (listings.Place, bool) {
	words := strings.Fields(k)
	for n := 1; n <= 2 && n < len(words); n++ {
		split := len(words) - n

		p, ok := t.fullPostcode(strings.Join(words[split:], " "))
		if !ok {
			continue
		}

		return t.inTown(p, strings.Join(words[:split], " "))
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

// inTown returns the place of a postcode that is written with the name of a
// place in its country, by the name of the town if that is in its region: "Leeds
// LS1 4DY" is at LS1 and reads Leeds.
func (t *tables) inTown(p listings.Place, name string) (listings.Place, bool) {
	town, ok := t.findTown(name, []area{{Place: listings.Place{Country: p.Country, Region: p.Region}}})
	if !ok {
		town, ok = t.resolveTownAndRegion(name)
	}

	if ok && town.Country == p.Country {
		if town.Kind == listings.Town && town.Region == p.Region {
			p.Name = town.Name
		}

		return p, true
	}

	if _, ok := t.findByName(name, []area{{Place: listings.Place{Country: p.Country}}}); ok {
		return p, true
	}

	within, ok := t.findAreas(name)

	return p, ok && isInside(within, p)
}

// fullPostcode does the same as findPostcode, but not for districts and routing keys alone, which have less than
// five characters: behind a name they are more likely something else.
func (t *tables) fullPostcode(k string) (listings.Place, bool) {
	if len(k) < 5 {
		return listings.Place{}, false
	}

	return t.findPostcode(k)
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
