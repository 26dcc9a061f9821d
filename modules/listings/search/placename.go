package search

import (
	"slices"
	"strings"
	"unicode"
)

// markers are the words before a place.
var markers = map[string]bool{"in": true, "near": true, "at": true, "around": true, "by": true, "within": true, "from": true}

// places returns the places that begin at token i, markers included.
func (r *run) places(i int) (out []candidate) {
	if r.Places == nil {
		return nil
	}

	first, marked := i, false
	if w := r.tokens[i].Word; markers[w] || w == "of" && i > 0 && distanceUnits[r.tokens[i-1].Word] {
		first, marked = i+1, true
	}

	if first > 0 && first < len(r.tokens) && strings.Contains(r.tokens[first].Gap, ",") {
		marked = true
	}

	for end := first + 1; end <= len(r.tokens) && end-first <= maxPlaceWords; end++ {
		if r.overlapsReserved(first, end) {
			break
		}

		p, corrected, ok := r.resolvePlace(first, end)
		if home := r.atHome(first, end, p); marked || r.isPlaceName(first, end, home) {
			p = home
		}

		// A month alone is no town, and neither is a village whose name is an everyday word. Other words need a
		// marker, or must be the name of a place that is large enough.
		if !ok || end-first == 1 && months[r.tokens[first].Word] ||
			end-first == 1 && commonPlaces[r.tokens[first].Word] && p.Kind == Town && p.Population < minTown ||
			!marked && !r.isPlaceName(first, end, p) {
			continue
		}

		if corrected != "" && !marked && r.Words.beginsWord(r.tokens[first].Word) {
			continue // cardi is not Cardiff
		}

		s := candidate{start: i, end: end, cost: costPlace, term: Term{Slot: SlotPlace, Places: []Place{p}}, corrected: corrected}
		if marked {
			s.cost = costMarkedPlace
		}

		out = append(out, s)
	}

	return out
}

// resolvePlace finds the place that the tokens name. A single word that no advert
// contains may be the beginning of a name or misspelt: "bright" is Brighton and
// "edinburg" Edinburgh if adverts contain them.
func (r *run) resolvePlace(start, end int) (p Place, corrected string, ok bool) {
	p, ok = r.namedPlace(start, end)
	word := r.tokens[start].Word

	// Only an unknown word of some length is completed or corrected, and only once for a query.
	if end-start > 1 || len(word) < minUnfinished+1 || hasDigit(word) || ok && p.Kind != Town || r.Vocabulary.isKnown(word) ||
		r.Words == nil ||
		r.hasCorrectPlaces {
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

	if other, found := r.Places.Correct(r.placeName(start, end)); found && !strings.EqualFold(other.Name, word+"s") &&
		(!ok || lexicon.Frequency(lastWord(other.Name)) > 0) {
		return other, other.Name, true
	}

	return p, "", ok
}

// namedPlace finds the place with the name that the tokens are.
func (r *run) namedPlace(start, end int) (Place, bool) {
	name := r.placeName(start, end)
	if start > 0 && end == start+1 && end == len(r.tokens) && stateCodes[name] {
		name = strings.ToUpper(name)
	}

	if isCode := len(name) == 2 && r.tokens[start].Capitals; isCode && r.american() < 0 {
		return Place{}, false // a British query for CT is not about Connecticut
	}

	p, ok := r.Places.Resolve(name)
	if !ok && directions[r.tokens[start].Word] && end-start > 1 {
		return r.Places.Resolve(r.placeName(start+1, end)) // west Cork
	}

	if _, city, qualified := strings.Cut(name, ","); ok && qualified {
		// A suburb that is not known: here it may be any other word.
		if in, found := r.Places.Resolve(strings.TrimSpace(city)); found && in.Kind == p.Kind && in.Lat == p.Lat && in.Lon == p.Lon {
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

// atHome chooses between towns of the same name. It prefers the largest one in a home country to
// a town elsewhere: Halifax is in West Yorkshire. Among the home countries it prefers the
// country whose words the query contains, and otherwise a British or Irish town to an American
// town that is not much larger.
func (r *run) atHome(start, end int, p Place) Place {
	name := r.placeName(start, end)
	if p.Kind != Town || strings.Contains(name, ",") || hasDigit(name) {
		return p
	}

	best, home := p, isHome(p.Country)

	weight := r.weightOf(p)
	for _, country := range homes {
		other, ok := r.Places.Resolve(name + ", " + country)
		if !ok || other.Kind != Town || other.Population < wellKnown {
			continue
		}

		if w := r.weightOf(other); !home || w > weight {
			best = other
			weight = w
			home = true
		}
	}

	return best
}

func isHome(country string) bool { return country == "GB" || country == "IE" || country == "US" }

// preferredAtHome is the factor by which an American town must be larger than its
// British or Irish namesake to be preferred to it.
const preferredAtHome = 3

// wordsOfCountry is the factor by which a town must be larger than its namesake in the
// country whose words the query has.
const wordsOfCountry = 10

// weightOf returns the population of a town, multiplied by a factor if its country is preferred.
func (r *run) weightOf(p Place) int {
	w := p.Population
	if p.Country != "US" {
		w *= preferredAtHome
	}

	american := r.american()
	if american > 0 && p.Country == "US" || american < 0 && p.Country != "US" {
		w *= wordsOfCountry
	}

	return w
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

// completePlace returns the town whose name begins with the word and that most
// adverts name.
func (r *run) completePlace(word string) (best Place, ok bool) {
	most := 0
	for name, n := range r.Words.completions(word) {
		if n <= most || r.Vocabulary.isKnown(name) {
			continue
		}

		if p, found := r.Places.Resolve(name); found && (p.Kind != Town || p.Population >= wellKnown) {
			best = p
			most = n
			ok = true
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
	if end-start == 1 {
		word := r.tokens[start].Word
		if p.Kind == Town && (len(word) < 3 && !shortPlaces[word] || r.isForm(start) || commonPlaces[word] && !isLargeAtHome(p)) {
			return false
		}

		if p.Kind != Town { // short codes of regions and countries are usually other words
			return len(word) > 3 || word == "uk" || word == "usa" || stateCodes[word]
		}
	}

	switch {
	case p.Kind != Town, hasDigit(r.tokens[start].Word):
		return true
	case p.Country == "GB" || p.Country == "IE":
		return p.Population >= minTown/(end-start)
	case englishSpeaking[p.Country]:
		return p.Population >= minTownOutsideUK/(end-start)
	}

	return p.Population >= minTownAbroad/(end-start)
}

// englishSpeaking are the countries whose smaller towns users name as well.
var englishSpeaking = map[string]bool{"US": true, "CA": true, "AU": true, "NZ": true, "IM": true, "JE": true, "GG": true}

// isLargeAtHome reports whether a town is better known than the word of its name.
func isLargeAtHome(p Place) bool {
	return (p.Country == "GB" || p.Country == "IE") && p.Population >= largeTown
}

// isForm reports whether the token alone is a form.
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
