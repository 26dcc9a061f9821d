package search

import (
	"slices"
	"strings"
)

// Employers provides the names of the employers of the indexed adverts.
type Employers interface {
	// HasEmployer reports whether a company with adverts has the name, or a name
	// that begins with it. The name is normalized as by EmployerKeys.
	HasEmployer(name string) bool
}

// EmployerKeys returns the keys by which a company's adverts are found, the shortest first. There is one key for the
// entire name, and one for each beginning of at least two words: users often leave out endings such as "NHS Foundation
// Trust". It returns none for a name without words.
func EmployerKeys(company string) []string {
	words := employerWords(Tokens(company))
	if len(words) == 0 {
		return nil
	}

	var keys []string

	shortest, longest := min(2, len(words)), min(len(words), maxEmployerWords)
	for n := shortest; n <= longest; n++ {
		keys = append(keys, keyEmployer+strings.Join(words[:n], " "))
	}

	return keys
}

// maxEmployerWords is the maximum number of words of a company's name that are compared.
const maxEmployerWords = 6

// employerWords returns the normalized words of a name, without "the" at its beginning.
func employerWords(tokens []Token) []string {
	words := make([]string, 0, len(tokens))
	for _, t := range tokens {
		if t.Word == "the" && len(words) == 0 {
			continue
		}

		words = append(words, Normalize(t.Word))
	}

	return words
}

// IndexEmployers returns the employers of the adverts in an index.
func IndexEmployers(index Index) Employers { return indexEmployers{index} }

// indexEmployers finds employers by the keys of the index.
type indexEmployers struct{ index Index }

// HasEmployer implements Employers. Adverts past their deadline count too.
func (e indexEmployers) HasEmployer(name string) bool {
	// Keys returns the keys that begin with the text. The text itself is the first of them, if it is a key.
	for firstKey := range e.index.Keys(keyEmployer + name) {
		return firstKey == keyEmployer+name
	}

	return false // no key begins with the text
}

// employers returns the readings as names of employers that begin at token i. Beginnings of a name are readings, too.
func (r *run) employers(i int) (candidates []candidate) {
	if r.Employers == nil || stopWords[r.tokens[i].Word] {
		return nil
	}

	for end := i + 1; end <= min(len(r.tokens), i+maxEmployerWords); end++ {
		isOneWord := end == i+1
		// Amounts of money and distances are no names, and a single word that is a name of the vocabulary is read as
		// that name.
		hasOtherMeaning := r.overlapsReserved(i, end) || isOneWord && r.isForm(i)

		if hasOtherMeaning {
			continue
		}

		name := strings.Join(employerWords(r.tokens[i:end]), " ")
		if name == "" || !r.Employers.HasEmployer(name) {
			// The index has the beginnings of names from two words on. So no longer name begins with these words.
			if !isOneWord {
				break
			}

			continue
		}

		if r.isPlaceOrForm(i, end) {
			continue
		}

		term := Term{Slot: SlotEmployer, Words: strings.Fields(name)}
		candidates = append(candidates, candidate{start: i, end: end, cost: costEmployer, term: term})
	}

	return candidates
}

// isPlaceOrForm reports whether the tokens have another meaning: many companies
// begin with the name of their town.
func (r *run) isPlaceOrForm(start, end int) bool {
	if r.Places != nil {
		if _, ok := r.Places.Resolve(r.placeName(start, end)); ok {
			return true
		}
	}

	return slices.ContainsFunc(r.Vocabulary.Matches(nil, r.words, start), func(m Match) bool { return m.End == end })
}
