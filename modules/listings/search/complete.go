package search

import (
	"slices"
	"strings"
)

// Slot returns the slot, the kind of condition in a query, to which the concept belongs.
func (c *Concept) Slot() string { return slots[c.Kind] }

// Complete returns up to n roles and specialties with a name that begins with the text, in the alphabetical order of these
// names.
func (v *Vocabulary) Complete(text string, n int) []*Concept {
	words := normalized(text)
	if len(words) == 0 {
		return nil
	}

	// The last word may be unfinished: its s is not necessarily that of a plural.
	tokens := Tokens(text)
	words[len(words)-1] = oneSpelling(tokens[len(tokens)-1].Word)
	prefix := strings.Join(words, " ")

	var completions []*Concept
	for _, f := range v.sortedFrom(prefix) {
		if !strings.HasPrefix(f.text, prefix) || len(completions) == n {
			break
		}

		c := f.form.likeliest()
		if c.isUnspecified() { // completions show the general role
			c = c.Same
		}

		isJob := c.Kind == Role || c.Kind == Specialty
		if isJob && !slices.Contains(completions, c) {
			completions = append(completions, c)
		}
	}

	return completions
}
