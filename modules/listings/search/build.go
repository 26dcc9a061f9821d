package search

import (
	"slices"
	"strings"
)

// build resolves the ids in the parsed lines and builds the trie of forms, the names of
// concepts. Lint returns the problems that it finds.
func (p *parser) build() *Vocabulary {
	v := &Vocabulary{concepts: p.concepts, byID: p.byID, trie: newTrie()}
	for _, c := range v.concepts {
		if len(c.Forms) > 0 {
			c.Label = label(c.Forms[0])
		}
	}

	for _, c := range v.concepts {
		v.resolveLinks(c)

		if c.isUnspecified() { // its name is the better label of the general concept
			c.Same.Label = c.Label
		}
	}

	for _, c := range v.concepts {
		v.breakCycles(c, nil)
	}

	for _, c := range v.concepts {
		c.ancestors = ancestorsOf(c)
	}

	for _, c := range v.concepts {
		v.addForms(c)
	}

	for _, r := range p.reads {
		v.applyReadLine(r)
	}

	v.checkAmbiguousForms()
	v.addVariants()

	return v
}

// label returns a form for display. An abbreviation, which ends in "!", is in capitals, and a
// name in lower case gets a capital first letter.
func label(form string) string {
	if short, ok := strings.CutSuffix(form, "!"); ok {
		return strings.ToUpper(short)
	}

	if form == "" || strings.ToLower(form) != form {
		return form
	}

	return strings.ToUpper(form[:1]) + form[1:]
}

// resolveLinks sets the concepts to which the concept is linked.
func (v *Vocabulary) resolveLinks(concept *Concept) {
	for _, l := range concept.links {
		to := v.byID[l.to]
		if to == nil || to == concept {
			v.reportf(concept.line, "%s: link %s%s leads to no other concept", concept.ID, l.sign, l.to)
			continue
		}

		link := Link{To: to, Strength: l.strength}
		switch l.sign {
		case "<", "<~": // c is a to, for certain or as a second choice
			if to.Kind != concept.Kind {
				v.reportf(concept.line, "%s: %s must be a %s", concept.ID, to.ID, concept.Kind)
			}

			concept.Parents = append(concept.Parents, link)
			to.children = append(to.children, concept)
		case "~": // c is related to to
			concept.Related = append(concept.Related, link)
		case "+": // c implies to
			concept.Implied = append(concept.Implied, to)
		case "=": // c is another name of to
			if to.Kind != concept.Kind || concept.Same != nil {
				v.reportf(concept.line, "%s: = needs exactly one concept of kind %s", concept.ID, concept.Kind)
			}

			concept.Same = to
		}
	}
}

// reportf adds a problem, which Lint returns.
func (v *Vocabulary) reportf(at source, format string, args ...any) {
	v.problems = append(v.problems, at.problemf(format, args...))
}

// breakCycles reports each path from a concept to itself and removes its last link, and
// removes a "=" to a concept that is itself another name.
func (v *Vocabulary) breakCycles(concept *Concept, path []*Concept) {
	path = append(path, concept)
	for i := 0; i < len(concept.Parents); i++ {
		if slices.Contains(path, concept.Parents[i].To) {
			v.reportf(concept.line, "%s: is-a links form a cycle through %s", concept.ID, concept.Parents[i].To.ID)

			concept.Parents = slices.Delete(concept.Parents, i, i+1)
			i--
			continue
		}

		v.breakCycles(concept.Parents[i].To, path)
	}

	if concept.Same != nil && (slices.Contains(path, concept.Same) || concept.Same.Same != nil) {
		v.reportf(concept.line, "%s: = must not name %s, which is itself another name", concept.ID, concept.Same.ID)

		concept.Same = nil
	}
}

// ancestorsOf returns the transitive closure of Parents, with the highest strength of
// all paths. A path has at most one link of a second choice, whose strength is below 1.
func ancestorsOf(concept *Concept) []Link {
	var out []Link
	var visit func(c *Concept, strength float64)
	visit = func(c *Concept, strength float64) {
		for _, p := range c.Parents {
			if strength < 1 && p.Strength < 1 {
				continue
			}

			s := strength * p.Strength

			i := slices.IndexFunc(out, func(l Link) bool { return l.To == p.To })
			switch {
			case i < 0:
				out = append(out, Link{To: p.To, Strength: s})
			case out[i].Strength >= s:
				continue
			default:
				out[i].Strength = s
			}

			visit(p.To, s)
		}
	}

	visit(concept, 1)

	return out
}

// addForms adds the forms of a concept to the trie.
func (v *Vocabulary) addForms(concept *Concept) {
	for _, text := range concept.Forms {
		text, capitals := strings.CutSuffix(text, "!")

		words := normalized(text)
		if len(words) == 0 {
			v.reportf(concept.line, "%s: form %q contains no word", concept.ID, text)
			continue
		}

		if endsPhrase(text) {
			v.reportf(concept.line, "%s: form %q must not have punctuation that ends a phrase", concept.ID, text)
			continue
		}

		f := &Form{Text: text, Words: len(words), Capitals: capitals}

		existing := v.trie.insert(words, f)
		if existing == f {
			v.forms = append(v.forms, f)
		}

		f = existing
		if slices.ContainsFunc(f.Readings, func(r Reading) bool { return r.Concept == concept }) {
			v.reportf(concept.line, "%s: form %q duplicates form %q", concept.ID, text, f.Text)
			continue
		}

		f.Readings = append(f.Readings, Reading{Concept: concept})
	}
}

// endsPhrase reports whether a form has punctuation that ends a phrase, such as a full stop.
func endsPhrase(form string) bool {
	return slices.ContainsFunc(Tokens(form), func(t Token) bool { return t.Start > 0 && gapOf(t.Gap) == gapBreak })
}

// applyReadLine replaces the readings of a form, the concepts that it can mean, by those of a
// line "read", each with the conditions in which it is meant.
func (v *Vocabulary) applyReadLine(r *readLine) {
	f := v.Form(r.form)
	if f == nil {
		v.reportf(r.at, "read %s: no concept has this form", r.form)
		return
	}

	var readings []Reading
	for _, reading := range r.readings {
		c := v.byID[reading.id]
		if !slices.ContainsFunc(f.Readings, func(r Reading) bool { return r.Concept == c }) {
			v.reportf(r.at, "read %s: %s does not have this form", r.form, reading.id)
			continue
		}

		for i := range reading.conditions {
			v.resolveCondition(r, &reading.conditions[i])
		}

		readings = append(readings, Reading{Concept: c, Conditions: reading.conditions})
	}

	for _, old := range f.Readings {
		if !slices.ContainsFunc(readings, func(r Reading) bool { return r.Concept == old.Concept }) {
			v.reportf(r.at, "read %s: the line does not list %s, which has this form", r.form, old.Concept.ID)
		}
	}

	if len(readings) == 0 || len(readings) == 1 && len(readings[0].Conditions) == 0 {
		v.reportf(r.at, "read %s: the line has no effect: one concept without conditions", r.form)
		return
	}

	f.Readings = readings
	f.hasReadLine = true
}

// resolveCondition resolves the ids of a condition and normalizes its words.
func (v *Vocabulary) resolveCondition(r *readLine, c *Condition) {
	if c.Name == "words" {
		for i, w := range c.Args {
			c.Args[i] = Normalize(w)
		}
	}

	if c.kind == 0 { // it has no concepts
		return
	}

	for _, id := range c.Args {
		concept := v.byID[id]
		if concept == nil || concept.Kind != c.kind {
			v.reportf(r.at, "read %s: %s is not a %s", r.form, id, c.kind)
			continue
		}

		c.concepts = append(c.concepts, concept)
	}
}

// checkAmbiguousForms reports forms of several concepts without a line "read".
func (v *Vocabulary) checkAmbiguousForms() {
	for _, f := range v.forms {
		if len(f.Readings) < 2 || f.hasReadLine {
			continue
		}

		ids := make([]string, len(f.Readings))
		for i, r := range f.Readings {
			ids[i] = r.Concept.ID
		}

		v.reportf(f.likeliest().line, "form %q of %s needs a read line", f.Text, strings.Join(ids, ", "))
	}
}

// addVariants adds spelling variants of the forms to the trie, such as plurals. Fillers have
// none: a variant of a short word can be another word.
func (v *Vocabulary) addVariants() {
	for _, f := range v.forms {
		if f.likeliest().Kind == Filler {
			continue
		}

		for _, words := range variants(normalized(f.Text)) {
			v.trie.insert(words, f)
		}
	}
}
