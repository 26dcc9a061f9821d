package search

import (
	"slices"
	"strings"
)

// completion reads the words from token i to the end of the text as the beginning
// of a form.
func (r *run) completion(i int) (candidate, bool) {
	n := len(r.tokens)
	final := r.tokens[n-1].Word

	// The text must end with the word, which is long enough and has no meaning yet, unless it continues a name.
	if !r.last || len(final) < minUnfinished && i == n-1 || n-i > maxUnfinished || r.overlapsReserved(i, n) ||
		(r.isForm(n-1) || stopWords[final]) && !r.isBegun(i, n-1) {
		return candidate{}, false
	}

	var words []string
	for _, t := range r.tokens[i:n] {
		words = append(words, Normalize(t.Word))
	}

	words[len(words)-1] = oneSpelling(final)
	concepts, longer := r.Vocabulary.completions(words, r.isComplete, r.hasRole(i))

	// One word that begins the names of many concepts says too little.
	if len(concepts) == 0 || longer && n-i == 1 && len(concepts) > maxPhrasesBegun {
		return candidate{}, false
	}

	// It costs more than a form: a finished form never begins another.
	s := candidate{start: i, end: n, cost: costGeneric, term: Term{Slot: slots[concepts[0].Kind], Unfinished: true}}
	if longer {
		s.cost += costForm // as much as the form and the next word
	}

	if len(concepts) == 1 {
		s.concept = concepts[0]
	}

	plain := slices.ContainsFunc(concepts, func(c *Concept) bool { return len(c.Means()) == 1 })
	for _, c := range concepts {
		if plain && len(c.Means()) > 1 {
			continue // the specialty of a radiologist would be lost
		}

		c = c.Means()[0]
		if !slices.Contains(s.term.Concepts, c) {
			s.term.Concepts = append(s.term.Concepts, c)
		}
	}

	return s, true
}

// isBegun reports whether tokens i to end, exclusive, are no form, so that a word
// after them continues one: the "the" of "occupational the".
func (r *run) isBegun(i, end int) bool {
	return i < end && len(r.tokens[end].Word) >= minUnfinished && len(r.Vocabulary.Matches(nil, r.words, i)) == 0
}

// hasRole reports whether a form that ends before token i is a role.
func (r *run) hasRole(i int) bool {
	for j := range i {
		for _, m := range r.Vocabulary.Matches(nil, r.words, j) {
			if c := m.Form.likeliest(); m.End <= i && c.Kind == Role && !c.Generic {
				return true
			}
		}
	}

	return false
}

// minUnfinished is the minimum length of a word that is completed.
const minUnfinished = 3

// maxUnfinished is the maximum number of words of a form that is completed.
const maxUnfinished = 5

// maxCompletions limits the concepts that an unfinished word may mean.
const maxCompletions = 12

// maxPhrasesBegun is the maximum number of concepts that the first word of their names may
// identify. A word such as "mobile" begins the names of more.
const maxPhrasesBegun = 4

// completions returns the concepts, all of one kind, with a form that continues
// the words, of which the last one may be incomplete: first those that complete
// the last word alone. A complete word, which adverts contain, begins longer words
// but no phrases. Roles may be left out. It reports whether words are missing too.
func (v *Vocabulary) completions(words []string, isComplete, noRoles bool) (out []*Concept, longer bool) {
	prefix := strings.Join(words, " ")

	from, _ := slices.BinarySearchFunc(v.sorted, prefix, func(f sortedForm, prefix string) int { return strings.Compare(f.text, prefix) })
	for _, longer = range []bool{false, true} {
		if longer && len(out) > 0 {
			return out, false
		}

		if longer && isComplete && len(words) == 1 {
			break
		}

		for _, f := range v.sorted[from:] {
			if !strings.HasPrefix(f.text, prefix) {
				break
			}

			c := f.form.likeliest()
			if f.text == prefix || longer != strings.Contains(f.text[len(prefix):], " ") || c.Kind == Filler || noRoles && c.Kind == Role ||
				slices.Contains(out, c) ||
				len(out) > 0 && c.Kind != out[0].Kind {
				continue
			}

			out = append(out, c)
			if len(out) == maxCompletions {
				return out, longer
			}
		}
	}

	return out, longer
}

// sortedForm is a form under its normalized words.
type sortedForm struct {
	text string
	form *Form
}

// sortForms returns the forms in the order of their normalized words.
func sortForms(forms []*Form) []sortedForm {
	out := make([]sortedForm, len(forms))
	for i, f := range forms {
		out[i] = sortedForm{strings.Join(normalized(f.Text), " "), f}
	}

	slices.SortFunc(out, func(a, b sortedForm) int { return strings.Compare(a.text, b.text) })

	return out
}
