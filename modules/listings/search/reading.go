package search

import (
	"slices"
	"strings"
)

// A form is a name in the vocabulary. If several concepts have it, a line "read" of the vocabulary lists them as readings,
// each with the conditions under which it is meant: the concepts, words and kinds of concepts around the form.

// Reading is one meaning of a form and the conditions under which the form has it.
type Reading struct {
	Concept    *Concept
	Conditions []Condition
}

// Condition is one condition of a reading. For example, "spec(icu)" holds if the text has the specialty icu, and "not
// capitals" if the form is not written in capitals.
type Condition struct {
	// Name says what the condition compares: it is one of role, spec, grade, setting, contract,
	// hours, shift, words, country, capitals, before, after and alone.
	Name string
	Not  bool // the condition must not hold
	// Args are concept ids, words, countries or kinds, depending on Name. Any
	// of them is enough. Without ids, any concept of the kind is enough.
	Args []string

	kind     Kind       // the kind that Name is, 0 if it is another word
	concepts []*Concept // the concepts with the ids in Args, if Name is a kind
	kinds    []Kind     // the kinds in Args, if Name is before or after
}

// Context contains the words around a form.
type Context struct {
	// Concepts are the unambiguous concepts of the same text.
	Concepts []*Concept
	// HasWord reports whether a normalized word is in the text.
	HasWord func(word string) bool
	// Country is the ISO code of the country, in lower case, or empty.
	Country string
	// Capitals is set if the form is written in capitals.
	Capitals bool
	// Following and Preceding are the kinds of the forms beside it in the same part of the
	// text.
	Following, Preceding []Kind
}

// Resolve returns the first meaning of the form whose conditions hold, or nil.
func (f *Form) Resolve(ctx *Context) *Concept {
	for i := range f.Readings {
		if f.Readings[i].holds(ctx) {
			return f.Readings[i].Concept
		}
	}

	return nil
}

// likeliest returns the first meaning of the form, its only one unless the form is
// ambiguous.
func (f *Form) likeliest() *Concept { return f.Readings[0].Concept }

// IsAmbiguous reports whether the meaning depends on the context.
func (f *Form) IsAmbiguous() bool {
	return len(f.Readings) > 1 || len(f.Readings[0].Conditions) > 0
}

// holds reports whether all conditions hold.
func (r *Reading) holds(ctx *Context) bool {
	for i := range r.Conditions {
		c := &r.Conditions[i]

		isViolated := c.holds(ctx) == c.Not
		if isViolated {
			return false
		}
	}

	return true
}

// holds reports whether the condition holds, without regard to Not.
func (c *Condition) holds(ctx *Context) bool {
	switch c.Name {
	case "capitals":
		return ctx.Capitals
	case "country":
		return slices.Contains(c.Args, ctx.Country)
	case "words":
		return ctx.HasWord != nil && slices.ContainsFunc(c.Args, ctx.HasWord)
	case "before": // the form is before one of the kinds
		return intersect(c.kinds, ctx.Following)
	case "after": // the form is after one of the kinds
		return intersect(c.kinds, ctx.Preceding)
	case "alone":
		return len(ctx.Concepts) == 0
	}

	return slices.ContainsFunc(ctx.Concepts, c.accepts) // the name is a kind
}

// accepts reports whether a concept meets the condition: it is one of the named concepts, is below one of them, or
// implies one. A condition without names accepts every concept of its kind.
func (c *Condition) accepts(concept *Concept) bool {
	acceptsKind := len(c.concepts) == 0
	if acceptsKind && concept.Kind == c.kind {
		return true
	}

	for _, accepted := range c.concepts {
		if concept.IsA(accepted) {
			return true
		}
	}

	return slices.ContainsFunc(concept.Implied, c.accepts)
}

// intersect reports whether a and b have a kind in common.
func intersect(a, b []Kind) bool {
	return slices.ContainsFunc(a, func(k Kind) bool { return slices.Contains(b, k) })
}

// parseReadings parses the readings of a line "read", which have the form "a if spec(b) & capitals | c". problem says what
// is wrong with them, and is "" if nothing is.
func parseReadings(s string) (readings []readingLine, problem string) {
	for alternative := range strings.SplitSeq(s, "|") {
		id, conditions, hasConditions := strings.Cut(strings.TrimSpace(alternative), " if ")

		id = strings.TrimSpace(id)
		if id == "" || strings.Contains(id, " ") {
			return nil, "a reading must be an id, or an id and its conditions after \"if\""
		}

		r := readingLine{id: id}
		if hasConditions {
			for text := range strings.SplitSeq(conditions, "&") {
				c, problem := parseCondition(strings.TrimSpace(text))
				if problem != "" {
					return nil, problem
				}

				r.conditions = append(r.conditions, c)
			}
		}

		readings = append(readings, r)
	}

	return readings, ""
}

// parseCondition parses a condition such as "not spec(a b)". problem says what is wrong with it, and is "" if nothing is.
func parseCondition(s string) (c Condition, problem string) {
	s, c.Not = strings.CutPrefix(s, "not ")
	name, args, hasArgs := strings.Cut(strings.TrimSpace(s), "(")

	c.Name = name
	if hasArgs {
		inner, isClosed := strings.CutSuffix(args, ")")
		if !isClosed {
			return c, "condition " + s + " must end with a bracket"
		}

		c.Args = strings.Fields(inner)
	}

	kind, isKind := kinds[name]
	switch {
	case isKind && kind != Filler:
		c.kind = kind
	case name == "capitals" || name == "alone":
		if len(c.Args) > 0 {
			return c, "condition " + name + " must not have arguments"
		}
	case name == "words" || name == "country":
		if len(c.Args) == 0 {
			return c, "condition " + name + " must have arguments"
		}
	case name == "before" || name == "after":
		for _, a := range c.Args {
			k, ok := kinds[a]
			if !ok {
				return c, "condition " + name + " must name kinds, not " + a
			}

			c.kinds = append(c.kinds, k)
		}
	default:
		return c, "unknown condition " + name
	}

	return c, ""
}
