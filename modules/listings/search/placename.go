package search

import (
	"slices"
	"strings"
	"unicode"
)

// A candidate is a possible reading of neighbouring words of a query, here as the name of a place. A marker is a word
// or comma before a name that makes it likely to be one: "in Reading" means the town. Names without a marker are only
// read as places if they are those of large places and have no other meaning.

// markers are the words before a place.
var markers = map[string]bool{"in": true, "near": true, "at": true, "around": true, "by": true, "within": true, "from": true}

// places returns the readings as names of places that begin at token i, which is a marker or the first word of the name.
// A name may have several words, so that there are several readings.
func (r *run) places(i int) (candidates []candidate) {
	if r.Places == nil {
		return nil
	}

	// The name begins after a marker at i, or else at i. Its marker may also be a comma before it, or the "of" of
	// "within 5 miles of Leeds".
	word := r.tokens[i].Word
	endsDistance := word == "of" && i > 0 && distanceUnits[r.tokens[i-1].Word]

	first, hasMarker := i, false // the first token of the name
	if markers[word] || endsDistance {
		first, hasMarker = i+1, true
	}

	if first > 0 && first < len(r.tokens) && strings.Contains(r.tokens[first].Gap, ",") {
		hasMarker = true
	}

	for end := first + 1; end <= len(r.tokens) && end-first <= maxPlaceWords; end++ {
		if r.overlapsReserved(first, end) {
			break
		}

		place, corrected, exists := r.resolvePlace(first, end)

		// Prefer a town of this name in a home country, if the words can mean that town.
		if home := r.atHome(first, end, place); hasMarker || r.isPlaceName(first, end, home) {
			place = home
		}

		// A month alone is no town, and neither is a village whose name is an everyday word. Other words need a
		// marker, or must be the name of a place that is large enough.
		name, isOneWord := r.tokens[first].Word, end-first == 1
		isMonth := isOneWord && months[name]
		isCommonWord := isOneWord && commonPlaces[name] && place.Kind == Town && place.Population < minTown

		if !exists || isMonth || isCommonWord || !hasMarker && !r.isPlaceName(first, end, place) {
			continue
		}

		// A corrected or completed name needs a marker if the word begins another word of adverts: cardi is the beginning
		// of cardiology rather than of Cardiff.
		isOtherBeginning := corrected != "" && !hasMarker && r.Words.beginsWord(name)
		if isOtherBeginning {
			continue
		}

		cost := costPlace
		if hasMarker {
			cost = costMarkedPlace
		}

		term := Term{Slot: SlotPlace, Places: []Place{place}}
		candidates = append(candidates, candidate{start: i, end: end, cost: cost, term: term, corrected: corrected})
	}

	return candidates
}

// resolvePlace finds the place that the tokens name. A single word that no advert
// contains may be the beginning of a name or misspelt: "bright" is Brighton and
// "edinburg" Edinburgh if adverts contain them. In this case it also returns the
// name that the word is corrected to.
func (r *run) resolvePlace(start, end int) (p Place, corrected string, ok bool) {
	p, ok = r.namedPlace(start, end)
	word := r.tokens[start].Word

	// Only an unknown word of some length is completed or corrected, and only once for a query.
	isTooShort := len(word) <= minUnfinished
	hasOtherMeaning := ok && p.Kind != Town || r.Vocabulary.isKnown(word)
	mayCorrect := r.Words != nil && !r.hasCorrectPlaces

	if end-start > 1 || isTooShort || hasDigit(word) || hasOtherMeaning || !mayCorrect {
		return p, "", ok
	}

	lexicon := r.Words.lexicon
	if lexicon.Frequency(word) > 0 {
		return p, "", ok // adverts have the word
	}

	if r.last && end == len(r.tokens) {
		if longer, found := r.completePlace(word); found {
			return longer, longer.Name, true
		}
	}

	other, found := r.Places.Correct(r.placeName(start, end))
	// A word that only lacks the s of the name is not corrected: it is probably another word.
	if !found || strings.EqualFold(other.Name, word+"s") {
		return p, "", ok
	}

	// A name that the gazetteer knows is only replaced by one that adverts contain.
	if ok && lexicon.Frequency(lastWord(other.Name)) == 0 {
		return p, "", ok
	}

	return other, other.Name, true
}

// namedPlace finds the place whose name is spelled exactly as the tokens.
func (r *run) namedPlace(start, end int) (Place, bool) {
	name := r.placeName(start, end)

	// The gazetteer has the codes of states in capitals. Users also write them in lower case, at the end of a query:
	// "nurse austin tx".
	isLastWord := start > 0 && end == start+1 && end == len(r.tokens)
	if isLastWord && stateCodes[name] {
		name = strings.ToUpper(name)
	}

	// A query with British words is not about an American state: CT is not Connecticut.
	isCode := len(name) == 2 && r.tokens[start].Capitals
	if isCode && r.american() < 0 {
		return Place{}, false
	}

	p, ok := r.Places.Resolve(name)

	// Part of a place, such as "west Cork", is read as the place.
	hasDirection := directions[r.tokens[start].Word] && end-start > 1
	if !ok && hasDirection {
		return r.Places.Resolve(r.placeName(start+1, end))
	}

	if _, city, qualified := strings.Cut(name, ","); ok && qualified {
		in, found := r.Places.Resolve(strings.TrimSpace(city))

		// For a suburb that it does not know, the gazetteer returns the city after the comma. In a query, the words
		// before the comma are then probably no suburb but something else, as in "nurse, Leeds".
		isUnknownSuburb := found && in.Kind == p.Kind && in.Lat == p.Lat && in.Lon == p.Lon
		if isUnknownSuburb {
			return Place{}, false
		}
	}

	return p, ok
}

// stateCodes are the codes of states that are no other words at the end of a query.
var stateCodes = wordSet("ak ar az ca fl ga ia il ks ky mi mn nc ne nh nj nm nv ny ri sc tn tx ut vt wi wv wy")

// directions are the words before the name of a place that mean a part of it.
var directions = wordSet("north south east west central greater inner outer northern southern eastern western downtown")

// homes are the countries of the vocabulary's jobs.
var homes = [...]string{"United Kingdom", "Ireland", "United States"}

// atHome chooses between towns of the same name. A town in a home country is preferred to any town
// elsewhere: Halifax is that in West Yorkshire and not that in Canada. Between towns in home
// countries, the greater weight decides (see weightOf).
func (r *run) atHome(start, end int, p Place) Place {
	name := r.placeName(start, end)
	if p.Kind != Town || strings.Contains(name, ",") || hasDigit(name) {
		return p
	}

	best, bestWeight, isBestHome := p, r.weightOf(p), isHome(p.Country)
	for _, country := range homes {
		other, ok := r.Places.Resolve(name + ", " + country)
		if !ok || other.Kind != Town || other.Population < wellKnown {
			continue
		}

		if w := r.weightOf(other); !isBestHome || w > bestWeight {
			best, bestWeight, isBestHome = other, w, true
		}
	}

	return best
}

// isHome reports whether the country, given by its code, is one of homes.
func isHome(country string) bool { return country == "GB" || country == "IE" || country == "US" }

// preferredAtHome is the factor by which an American town must be larger than a British or Irish town of the same
// name to be preferred to it.
const preferredAtHome = 3

// wordsOfCountry is the factor by which a town must be larger than a town of the same name in the country whose
// words the query has. A word such as "LPN" is American, and one such as "band" is British.
const wordsOfCountry = 10

// weightOf returns the weight of a town in the choice between towns of the same name. It is the population,
// multiplied by preferredAtHome for a town outside of the United States, and by wordsOfCountry for a town in the
// country whose words the query has.
func (r *run) weightOf(p Place) int {
	weight := p.Population
	isAmerican := p.Country == "US"

	if !isAmerican {
		weight *= preferredAtHome
	}

	american := r.american()
	hasWordsOfCountry := american > 0 && isAmerican || american < 0 && !isAmerican

	if hasWordsOfCountry {
		weight *= wordsOfCountry
	}

	return weight
}

// american returns the number of American words in the query minus the number of British and
// Irish words.
func (r *run) american() (n int) {
	for _, t := range r.tokens {
		switch {
		case americanWords[t.Word]:
			n++
		case britishWords[t.Word]:
			n--
		}
	}

	return n
}

var (
	americanWords = wordSet(
		"rn rns lpn lpns lvn lvns cna cnas np nps crna crnas slp slps cota rrt lcsw lmft lpc md physician physicians attending pediatric pediatrics pediatrician orthopedic orthopedics gynecology hematology anesthesia anesthesiologist snf ltac ltach prn 1099 w2 travel licensed vocational labor er usa",
	)
	britishWords = wordSet(
		"band nhs hse rgn rmn rnld rnid hca hcas odp odps gp gps registrar sho spr nchd consultant locum carer carers physio physios radiographer radiographers theatre theatres domiciliary paediatric paediatrics paediatrician orthopaedic orthopaedics gynaecology haematology anaesthetist anaesthetics midwife midwives matron sister ward cnm amhp pwp camhs salt ltd council uk ireland optician dietician surgery",
	)
)

// lastWord returns the last word of a name in lower case.
func lastWord(name string) string {
	words := foldedWords(name)
	return words[len(words)-1]
}

// completePlace returns the place whose name begins with the word. Of several such places, it returns the one that
// most adverts name.
func (r *run) completePlace(word string) (best Place, ok bool) {
	most := 0
	for name, n := range r.Words.completions(word) {
		if n <= most || r.Vocabulary.isKnown(name) {
			continue
		}

		if p, found := r.Places.Resolve(name); found && (p.Kind != Town || p.Population >= wellKnown) {
			best, most, ok = p, n, true
		}
	}

	return best, ok
}

// placeName returns tokens as the gazetteer expects them, with the commas between
// a town and its county.
func (r *run) placeName(start, end int) string {
	var b strings.Builder
	for i := start; i < end; i++ {
		if i > start {
			if strings.Contains(r.tokens[i].Gap, ",") {
				b.WriteByte(',')
			}

			b.WriteByte(' ')
		}

		b.WriteString(r.tokens[i].Surface)
	}

	return b.String()
}

// isPlaceName reports whether words without a marker before them mean the place of that name. The
// place must be large enough, and the words must have no other meaning.
func (r *run) isPlaceName(start, end int, p Place) bool {
	words := end - start
	if words == 1 {
		word := r.tokens[start].Word
		if p.Kind != Town { // other short codes of regions and countries are usually words
			return len(word) > 3 || word == "uk" || word == "usa" || stateCodes[word]
		}

		isTooShort := len(word) < 3 && !shortPlaces[word]
		isOtherWord := r.isForm(start) || commonPlaces[word] && !isLargeAtHome(p)

		if isTooShort || isOtherWord {
			return false
		}
	}

	// A postcode has digits. The more words a name has, the less likely it is to mean something else.
	switch {
	case p.Kind != Town, hasDigit(r.tokens[start].Word):
		return true
	case p.Country == "GB" || p.Country == "IE":
		return p.Population >= minTown/words
	case englishSpeaking[p.Country]:
		return p.Population >= minTownOutsideUK/words
	}

	return p.Population >= minTownAbroad/words
}

// englishSpeaking are the countries whose smaller towns users name as well.
var englishSpeaking = map[string]bool{"US": true, "CA": true, "AU": true, "NZ": true, "IM": true, "JE": true, "GG": true}

// isLargeAtHome reports whether a British or Irish town is so large that its name means the town, even if the name is
// also an everyday word, such as Rugby.
func isLargeAtHome(p Place) bool {
	return (p.Country == "GB" || p.Country == "IE") && p.Population >= largeTown
}

// isForm reports whether the token alone is a form, a name of the vocabulary.
func (r *run) isForm(i int) bool {
	return slices.ContainsFunc(r.Vocabulary.Matches(nil, r.words, i), func(m Match) bool { return m.End == i+1 })
}

func hasDigit(s string) bool { return strings.IndexFunc(s, unicode.IsDigit) >= 0 }

// shortPlaces are the cities that are known by an abbreviation of two letters.
var shortPlaces = wordSet("la sf kc dc")

// months are the names of months that are also names of towns.
var months = wordSet("march april may june august")

// commonPlaces are names of towns that usually have another meaning.
var commonPlaces = wordSet(
	"ward home bank street rugby battle deal sandwich poole barking hope rest sale ash bury cross green hall hill house long mill moor new north south east west park rose stone well wells wood general care support mobile house nice best day days young send over nursing street beer eye crook hook looe ware yelling staff",
)
