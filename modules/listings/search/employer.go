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

// EmployerKeys returns the keys by which a company's adverts are found: one for
// its name and one for each beginning of it of at least two words, since few
// queries contain "NHS Foundation Trust".
func EmployerKeys(company string) []string {
	words := employerWords(Tokens(company))

	var keys []string

	shortest, longest := min(2, len(words)), min(len(words), maxEmployerWords)
	for n := max(1, shortest); n <= longest; n++ { // no keys if there are no words
		keys = append(keys, keyEmployer+strings.Join(words[:n], " "))
	}

	return keys
}

// maxEmployerWords is the maximum number of words of a company's name that are compared.
const maxEmployerWords = 6

// employerWords normalizes the words of a name.
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
	for key := range e.index.Keys(keyEmployer + name) {
		return key == keyEmployer+name
	}

	return false
}

// employers returns the readings of tokens as names of employers that begin at token i.
func (r *run) employers(i int) (out []candidate) {
	if r.Employers == nil || stopWords[r.tokens[i].Word] {
		return nil
	}

	for end := i + 1; end <= min(len(r.tokens), i+maxEmployerWords); end++ {
		isOneWord := end == i+1
		hasOtherMeaning := r.overlapsReserved(i, end) || isOneWord && r.isForm(i) // pay, a distance, or a form

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

		out = append(out, candidate{start: i, end: end, cost: costEmployer, term: Term{Slot: SlotEmployer, Words: strings.Fields(name)}})
	}

	return out
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
