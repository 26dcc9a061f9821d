package search

import (
	"fmt"
	"slices"
)

// Problem is an error in a vocabulary.
type Problem struct {
	File    string
	Line    int // 0 if it is about the entire vocabulary
	Message string
}

// String returns file, line and message.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}

	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Counts are the sizes of a vocabulary.
type Counts struct {
	Concepts map[Kind]int
	Forms    int
}

// Count counts concepts by kind, and forms, the names of concepts.
func (v *Vocabulary) Count() Counts {
	c := Counts{Concepts: map[Kind]int{}, Forms: len(v.forms)}
	for _, concept := range v.concepts {
		c.Concepts[concept.Kind]++
	}

	return c
}

// Lint returns the errors of the vocabulary: unknown ids, cycles, forms of several concepts
// without a line "read" that distinguishes them, such lines without effect, forms that no text
// can match, and concepts without forms.
func (v *Vocabulary) Lint() []Problem {
	problems := slices.Clone(v.problems)
	for _, c := range v.concepts {
		if len(c.Forms) == 0 {
			problems = append(problems, c.line.problemf("%s has no form", c.ID))
		}
	}

	return problems
}
