package search

import (
	"slices"
	"strings"
)

// Slot returns the slot of the concept.
func (c *Concept) Slot() string { return slots[c.Kind] }

// Complete returns up to n roles and specialties with a name that begins with the
// text.
func (v *Vocabulary) Complete(text string, n int) []*Concept {
	words := normalized(text)
	if len(words) == 0 {
		return nil
	}

	tokens := Tokens(text)
	words[len(words)-1] = oneSpelling(tokens[len(tokens)-1].Word) // which may be unfinished
	prefix := strings.Join(words, " ")
	from, _ := slices.BinarySearchFunc(v.sorted, prefix, func(f sortedForm, prefix string) int { return strings.Compare(f.text, prefix) })

	var out []*Concept
	for _, f := range v.sorted[from:] {
		if !strings.HasPrefix(f.text, prefix) || len(out) == n {
			break
		}

		c := f.form.likeliest()
		if c.isUnspecified() { // completions show the general role
			c = c.Same
		}

		if (c.Kind == Role || c.Kind == Specialty) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}

	return out
}
