package search

import (
	"slices"
	"strings"
)

// completion reads the words from token i to the end of the text as the beginning of a form, which is a name in the
// vocabulary. For example, "nuclear med" is the beginning of nuclear medicine. A candidate is a possible reading of
// words. The returned one has all concepts with such a name as alternatives.
func (r *run) completion(i int) (candidate, bool) {
	n := len(r.tokens)
	final := r.tokens[n-1].Word

	isOneWord := i == n-1
	isTooShort := isOneWord && len(final) < minUnfinished
	isTooLong := n-i > maxUnfinished

	if !r.last || isTooShort || isTooLong || r.overlapsReserved(i, n) {
		return candidate{}, false
	}

	// A word with a meaning is finished, unless it continues a name.
	hasMeaning := r.isForm(n-1) || stopWords[final]
	if hasMeaning && !r.isBegun(i, n-1) {
		return candidate{}, false
	}

	var words []string
	for _, t := range r.tokens[i:n] {
		words = append(words, Normalize(t.Word))
	}

	words[len(words)-1] = oneSpelling(final)
	concepts, longer := r.Vocabulary.completions(words, r.isComplete, r.hasRole(i))

	// One word that begins the names of many concepts says too little.
	isVague := longer && isOneWord && len(concepts) > maxPhrasesBegun
	if len(concepts) == 0 || isVague {
		return candidate{}, false
	}

	// The reading costs more than that of a finished form, so that words that are a form are read as this form.
	completed := candidate{start: i, end: n, cost: costGeneric, term: Term{Slot: slots[concepts[0].Kind], Unfinished: true}}
	if longer {
		completed.cost += costForm // as much as the form and the next word
	}

	if len(concepts) == 1 {
		completed.concept = concepts[0]
	}

	// A role such as radiologist means several concepts: a doctor, and in radiology. A term can have only one concept of
	// each alternative. So such roles are left out if there are simple ones, and else only their first concept is used.
	hasSimple := slices.ContainsFunc(concepts, func(c *Concept) bool { return len(c.Means()) == 1 })
	for _, c := range concepts {
		if hasSimple && len(c.Means()) > 1 {
			continue
		}

		c = c.Means()[0]
		if !slices.Contains(completed.term.Concepts, c) {
			completed.term.Concepts = append(completed.term.Concepts, c)
		}
	}

	return completed, true
}

// isBegun reports whether the words from token i up to end are no form themselves, so that the word at end may continue a
// form that they begin. For example, "the" continues "occupational", which begins occupational therapist.
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

// completions returns concepts with a form that begins with the given words. The last word may be incomplete. All
// concepts are of one kind. If there are forms that only complete the last word, it returns their concepts. Otherwise it
// returns the concepts of forms with more words, and longer is true.
//
// isComplete says that adverts contain the last word. If it is the only word, it is then not extended by more words.
// noRoles leaves out roles.
func (v *Vocabulary) completions(words []string, isComplete, noRoles bool) (concepts []*Concept, longer bool) {
	prefix := strings.Join(words, " ")
	sorted := v.sortedFrom(prefix)

	// First look for forms that only complete the last word, then for those with more words.
	for _, longer = range []bool{false, true} {
		if longer && len(concepts) > 0 {
			return concepts, false
		}

		isFinishedWord := isComplete && len(words) == 1
		if longer && isFinishedWord {
			break
		}

		for _, f := range sorted {
			if !strings.HasPrefix(f.text, prefix) {
				break
			}

			c := f.form.likeliest()
			hasMoreWords := strings.Contains(f.text[len(prefix):], " ")
			isFinished := f.text == prefix
			isExcludedKind := c.Kind == Filler || noRoles && c.Kind == Role || len(concepts) > 0 && c.Kind != concepts[0].Kind

			if isFinished || hasMoreWords != longer || isExcludedKind || slices.Contains(concepts, c) {
				continue
			}

			concepts = append(concepts, c)
			if len(concepts) == maxCompletions {
				return concepts, longer
			}
		}
	}

	return concepts, longer
}

// sortedForm is a form, a name in the vocabulary, with the text by which forms are sorted.
type sortedForm struct {
	text string // the normalized words of the form
	form *Form
}

// sortForms returns the forms in the order of their normalized words.
func sortForms(forms []*Form) []sortedForm {
	sorted := make([]sortedForm, len(forms))
	for i, f := range forms {
		sorted[i] = sortedForm{text: strings.Join(normalized(f.Text), " "), form: f}
	}

	slices.SortFunc(sorted, func(a, b sortedForm) int { return strings.Compare(a.text, b.text) })

	return sorted
}

// sortedFrom returns the sorted forms from the text on. Those that begin with the text come first.
func (v *Vocabulary) sortedFrom(text string) []sortedForm {
	first, _ := slices.BinarySearchFunc(v.sorted, text, func(f sortedForm, text string) int {
		return strings.Compare(f.text, text)
	})

	return v.sorted[first:]
}
