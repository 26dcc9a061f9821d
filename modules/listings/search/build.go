package search

import (
	"slices"
	"strings"
)

// A vocabulary consists of concepts, such as roles and specialties. Its lines are parsed first, and linked by this file
// afterwards, since a line may name concepts of later lines.
//
// The names of a concept are its forms: the role of a physiotherapist has the forms "physiotherapist" and "physio". A form
// that several concepts have is ambiguous: "CNM" can mean a nurse manager or a midwife. These concepts are the
// readings of the form. A line "read" gives the conditions for each reading, such as the words beside the form.

// build makes a vocabulary of the parsed lines: it resolves the ids in the lines and adds all forms to a trie, which
// finds them word by word. A contradiction between lines does not stop it. Lint returns the contradictions.
func (p *parser) build() *Vocabulary {
	v := &Vocabulary{concepts: p.concepts, byID: p.byID, trie: newTrie()}
	for _, c := range v.concepts {
		if len(c.Forms) > 0 {
			c.Label = label(c.Forms[0])
		}
	}

	// Resolve the links of all concepts before the steps that follow links.
	for _, c := range v.concepts {
		v.resolveLinks(c)

		if c.isUnspecified() { // users know the general concept by the name of this one
			c.Same.Label = c.Label
		}
	}

	for _, c := range v.concepts {
		v.breakCycles(c, nil)
	}

	for _, c := range v.concepts {
		c.ancestors = ancestorsOf(c)
	}

	// Add the forms, and then the conditions of the ambiguous ones.
	for _, c := range v.concepts {
		v.addForms(c)
	}

	for _, line := range p.reads {
		v.applyReadLine(line)
	}

	v.checkAmbiguousForms()
	v.addVariants() // last, so that no variant takes the place of a form

	return v
}

// label returns a form for display. An abbreviation, which the vocabulary marks with "!" at its end, is in capitals. A
// form in lower case gets a capital first letter. Another one is displayed as the vocabulary writes it.
func label(form string) string {
	if abbreviation, ok := strings.CutSuffix(form, "!"); ok {
		return strings.ToUpper(abbreviation)
	}

	hasCapital := strings.ToLower(form) != form
	if form == "" || hasCapital {
		return form
	}

	return strings.ToUpper(form[:1]) + form[1:]
}

// resolveLinks replaces the ids in the links of a concept by the concepts. The sign of a link says what it means.
func (v *Vocabulary) resolveLinks(concept *Concept) {
	for _, l := range concept.links {
		target := v.byID[l.to]
		if target == nil || target == concept {
			v.reportf(concept.line, "%s: link %s%s leads to no other concept", concept.ID, l.sign, l.to)
			continue
		}

		link := Link{To: target, Strength: l.strength}
		switch l.sign {
		case "<", "<~": // the concept is also a target ("<"), or may be meant as one ("<~")
			if target.Kind != concept.Kind {
				v.reportf(concept.line, "%s: %s must be a %s", concept.ID, target.ID, concept.Kind)
			}

			concept.Parents = append(concept.Parents, link)
			target.children = append(target.children, concept)
		case "~": // the concept is related to the target
			concept.Related = append(concept.Related, link)
		case "+": // the concept implies the target
			concept.Implied = append(concept.Implied, target)
		case "=": // the concept is another name of the target
			if target.Kind != concept.Kind || concept.Same != nil {
				v.reportf(concept.line, "%s: = needs exactly one concept of kind %s", concept.ID, concept.Kind)
			}

			concept.Same = target
		}
	}
}

// reportf adds a problem of the line, which Lint returns.
func (v *Vocabulary) reportf(at source, format string, args ...any) {
	v.problems = append(v.problems, at.problemf(format, args...))
}

// breakCycles follows the links from a concept to its parents, and so on. path contains the concepts by which it has come
// to this one. A link back to one of them closes a cycle: breakCycles reports the link and removes it. It also reports
// and removes a link "=" whose target is on the path or is itself only another name.
func (v *Vocabulary) breakCycles(concept *Concept, path []*Concept) {
	path = append(path, concept)
	for i := 0; i < len(concept.Parents); i++ {
		parent := concept.Parents[i].To
		if slices.Contains(path, parent) {
			v.reportf(concept.line, "%s: is-a links form a cycle through %s", concept.ID, parent.ID)

			concept.Parents = slices.Delete(concept.Parents, i, i+1)
			i--
			continue
		}

		v.breakCycles(parent, path)
	}

	if concept.Same != nil && (slices.Contains(path, concept.Same) || concept.Same.Same != nil) {
		v.reportf(concept.line, "%s: = must not name %s, which is itself another name", concept.ID, concept.Same.ID)

		concept.Same = nil
	}
}

// ancestorsOf returns the parents of a concept, their parents and so on. The strength of an ancestor is the product of
// the strengths of the links on the way to it, and the highest of several ways counts. Links of a second choice have a
// strength below 1. Only one of them may be on a way, because a second choice of a second choice has little in common
// with the concept.
func ancestorsOf(concept *Concept) []Link {
	var ancestors []Link
	var addParents func(c *Concept, strength float64)
	addParents = func(c *Concept, strength float64) {
		for _, parent := range c.Parents {
			areBothSecondChoice := strength < 1 && parent.Strength < 1
			if areBothSecondChoice {
				continue
			}

			strengthHere := strength * parent.Strength

			i := slices.IndexFunc(ancestors, func(l Link) bool { return l.To == parent.To })
			switch {
			case i < 0:
				ancestors = append(ancestors, Link{To: parent.To, Strength: strengthHere})
			case ancestors[i].Strength >= strengthHere: // an earlier way is as good
				continue
			default:
				ancestors[i].Strength = strengthHere
			}

			addParents(parent.To, strengthHere)
		}
	}

	addParents(concept, 1)

	return ancestors
}

// addForms adds the forms of a concept to the trie. If the trie already has a form with the same words, the concept
// becomes another reading of that form.
func (v *Vocabulary) addForms(concept *Concept) {
	for _, text := range concept.Forms {
		text, capitals := strings.CutSuffix(text, "!")

		words := normalized(text)
		if len(words) == 0 {
			v.reportf(concept.line, "%s: form %q contains no word", concept.ID, text)
			continue
		}

		if endsPhrase(text) { // no text would match the form
			v.reportf(concept.line, "%s: form %q must not have punctuation that ends a phrase", concept.ID, text)
			continue
		}

		added := &Form{Text: text, Words: len(words), Capitals: capitals}

		// The trie has one form for the same words, which another concept may have added before.
		form := v.trie.insert(words, added)

		if isNew := form == added; isNew {
			v.forms = append(v.forms, added)
		}

		if hasReading(form.Readings, concept) {
			v.reportf(concept.line, "%s: form %q duplicates form %q", concept.ID, text, form.Text)
			continue
		}

		form.Readings = append(form.Readings, Reading{Concept: concept})
	}
}

// endsPhrase reports whether a form has punctuation between its words that ends a phrase, such as a full stop.
func endsPhrase(form string) bool {
	return slices.ContainsFunc(Tokens(form), func(t Token) bool { return t.Start > 0 && gapOf(t.Gap) == gapBreak })
}

// hasReading reports whether the concept is one of the readings.
func hasReading(readings []Reading, concept *Concept) bool {
	return slices.ContainsFunc(readings, func(r Reading) bool { return r.Concept == concept })
}

// applyReadLine replaces the readings of a form by those of a line "read", which have conditions. The line must list
// exactly the concepts that have the form.
func (v *Vocabulary) applyReadLine(line *readLine) {
	form := v.Form(line.form)
	if form == nil {
		v.reportf(line.at, "read %s: no concept has this form", line.form)
		return
	}

	var readings []Reading
	for _, listed := range line.readings {
		concept := v.byID[listed.id]
		if !hasReading(form.Readings, concept) {
			v.reportf(line.at, "read %s: %s does not have this form", line.form, listed.id)
			continue
		}

		for i := range listed.conditions {
			v.resolveCondition(line, &listed.conditions[i])
		}

		readings = append(readings, Reading{Concept: concept, Conditions: listed.conditions})
	}

	for _, old := range form.Readings {
		if !hasReading(readings, old.Concept) {
			v.reportf(line.at, "read %s: the line does not list %s, which has this form", line.form, old.Concept.ID)
		}
	}

	hasNoEffect := len(readings) == 0 || len(readings) == 1 && len(readings[0].Conditions) == 0
	if hasNoEffect {
		v.reportf(line.at, "read %s: the line has no effect: one concept without conditions", line.form)
		return
	}

	form.Readings = readings
	form.hasReadLine = true
}

// resolveCondition completes a condition of a line "read": it normalizes the words and looks up the ids of concepts that
// the condition names.
func (v *Vocabulary) resolveCondition(line *readLine, condition *Condition) {
	if condition.Name == "words" {
		for i, word := range condition.Args {
			condition.Args[i] = Normalize(word)
		}
	}

	namesConcepts := condition.kind != 0
	if !namesConcepts {
		return
	}

	for _, id := range condition.Args {
		concept := v.byID[id]
		if concept == nil || concept.Kind != condition.kind {
			v.reportf(line.at, "read %s: %s is not a %s", line.form, id, condition.kind)
			continue
		}

		condition.concepts = append(condition.concepts, concept)
	}
}

// checkAmbiguousForms reports the forms of several concepts without a line "read", which would say when each is meant.
func (v *Vocabulary) checkAmbiguousForms() {
	for _, f := range v.forms {
		isAmbiguous := len(f.Readings) > 1
		if !isAmbiguous || f.hasReadLine {
			continue
		}

		ids := make([]string, len(f.Readings))
		for i, r := range f.Readings {
			ids[i] = r.Concept.ID
		}

		v.reportf(f.likeliest().line, "form %q of %s needs a read line", f.Text, strings.Join(ids, ", "))
	}
}

// addVariants adds spelling variants of the forms to the trie, such as plurals. Fillers, words of questions such as "any",
// have none: they are short, and a variant of a short word can be another word.
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
