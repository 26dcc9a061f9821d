package search

import (
	"fmt"
	"slices"
	"strings"
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

// Count counts concepts by kind, and forms.
func (v *Vocabulary) Count() Counts {
	c := Counts{Concepts: map[Kind]int{}, Forms: len(v.forms)}
	for _, concept := range v.concepts {
		c.Concepts[concept.Kind]++
	}
	return c
}

// Lint returns the errors of the vocabulary: unknown ids, cycles, forms
// of several concepts without a read line, readings that nothing uses, forms
// that no text can match, and concepts without forms.
func (v *Vocabulary) Lint() []Problem {
	problems := slices.Clone(v.problems)
	for _, c := range v.concepts {
		if len(c.Forms) == 0 {
			problems = append(problems, c.line.problemf("%s has no form", c.ID))
		}
	}
	return problems
}

// link resolves ids and builds the trie of forms. Lint returns the problems that it
// finds.
func (p *parser) link() *Vocabulary {
	v := &Vocabulary{concepts: p.concepts, byID: p.byID, trie: newTrie()}
	for _, c := range v.concepts {
		if len(c.Forms) > 0 {
			c.Label = label(c.Forms[0])
		}
	}
	for _, c := range v.concepts {
		v.linkConcept(c)
		if c.isUnspecified() {
			c.Same.Label = c.Label
		}
	}
	for _, c := range v.concepts {
		v.checkCycle(c, nil)
	}
	for _, c := range v.concepts {
		c.ancestors = ancestorsOf(c)
	}
	for _, c := range v.concepts {
		v.addForms(c)
	}
	for _, r := range p.reads {
		v.addRead(r)
	}
	v.checkForms()
	return v
}

// label returns a form for display: abbreviations in capitals, and other names
// without capitals of their own with a first one.
func label(form string) string {
	if short, ok := strings.CutSuffix(form, "!"); ok {
		return strings.ToUpper(short)
	}
	if form == "" || strings.ToLower(form) != form {
		return form
	}
	return strings.ToUpper(form[:1]) + form[1:]
}

func (v *Vocabulary) linkConcept(c *Concept) {
	for _, l := range c.links {
		to := v.byID[l.to]
		if to == nil || to == c {
			v.failf(c.line, "%s: link %s%s leads to no other concept", c.ID, l.sign, l.to)
			continue
		}
		link := Link{To: to, Strength: l.strength}
		switch l.sign {
		case "<", "<~":
			if to.Kind != c.Kind {
				v.failf(c.line, "%s: %s must be a %s", c.ID, to.ID, c.Kind)
			}
			c.Parents = append(c.Parents, link)
			to.children = append(to.children, c)
		case "~":
			c.Related = append(c.Related, link)
		case "+":
			c.Implied = append(c.Implied, to)
		case "=":
			if to.Kind != c.Kind || c.Same != nil {
				v.failf(c.line, "%s: = must name one %s", c.ID, c.Kind)
			}
			c.Same = to
		}
	}
}

func (v *Vocabulary) failf(at source, format string, args ...any) {
	v.problems = append(v.problems, at.problemf(format, args...))
}

// checkCycle reports a path from a concept to itself and removes its last link.
func (v *Vocabulary) checkCycle(c *Concept, path []*Concept) {
	path = append(path, c)
	for i := 0; i < len(c.Parents); i++ {
		if slices.Contains(path, c.Parents[i].To) {
			v.failf(c.line, "%s: is-a links make a cycle over %s", c.ID, c.Parents[i].To.ID)
			c.Parents = slices.Delete(c.Parents, i, i+1)
			i--
			continue
		}
		v.checkCycle(c.Parents[i].To, path)
	}
	if c.Same != nil && (slices.Contains(path, c.Same) || c.Same.Same != nil) {
		v.failf(c.line, "%s: = must not name %s, which is itself another name", c.ID, c.Same.ID)
		c.Same = nil
	}
}

// ancestorsOf returns the transitive closure of Parents, with the highest strength of
// all paths. A path has at most one second-choice link.
func ancestorsOf(c *Concept) []Link {
	var out []Link
	var climb func(c *Concept, strength float64)
	climb = func(c *Concept, strength float64) {
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
			climb(p.To, s)
		}
	}
	climb(c, 1)
	return out
}

// addForms adds the forms of a concept to the trie.
func (v *Vocabulary) addForms(c *Concept) {
	for _, text := range c.Forms {
		text, capitals := strings.CutSuffix(text, "!")
		words := normalized(text)
		if len(words) == 0 {
			v.failf(c.line, "%s: form %q has no letter", c.ID, text)
			continue
		}
		if hasBreak(text) {
			v.failf(c.line, "%s: form %q must not have punctuation that ends a phrase", c.ID, text)
			continue
		}
		f := &Form{Text: text, Words: len(words), Capitals: capitals}
		if existing := v.trie.insert(words, f); existing != f {
			f = existing
		} else {
			v.forms = append(v.forms, f)
		}
		if slices.ContainsFunc(f.Readings, func(r Reading) bool { return r.Concept == c }) {
			v.failf(c.line, "%s: form %q is there already as %q", c.ID, text, f.Text)
			continue
		}
		f.Readings = append(f.Readings, Reading{Concept: c})
	}
}

func hasBreak(form string) bool {
	return slices.ContainsFunc(Tokens(form), func(t Token) bool { return t.Start > 0 && gapOf(t.Gap) == gapBreak })
}

// addRead replaces the readings of a form by those of a read line.
func (v *Vocabulary) addRead(r *readLine) {
	f := v.Form(r.form)
	if f == nil {
		v.failf(r.at, "read %s: no concept has this form", r.form)
		return
	}
	var readings []Reading
	for _, line := range r.readings {
		c := v.byID[line.id]
		if !slices.ContainsFunc(f.Readings, func(r Reading) bool { return r.Concept == c }) {
			v.failf(r.at, "read %s: %s does not have this form", r.form, line.id)
			continue
		}
		for i := range line.conditions {
			v.linkCondition(r, &line.conditions[i])
		}
		readings = append(readings, Reading{Concept: c, Conditions: line.conditions})
	}
	for _, old := range f.Readings {
		if !slices.ContainsFunc(readings, func(r Reading) bool { return r.Concept == old.Concept }) {
			v.failf(r.at, "read %s: %s has this form too, but no reading", r.form, old.Concept.ID)
		}
	}
	if len(readings) == 0 || len(readings) == 1 && len(readings[0].Conditions) == 0 {
		v.failf(r.at, "read %s: the line changes nothing", r.form)
		return
	}
	f.Readings = readings
	f.read = true
}

// linkCondition resolves the ids of a condition and normalizes its words.
func (v *Vocabulary) linkCondition(r *readLine, c *Condition) {
	if c.Name == "words" {
		for i, w := range c.Args {
			c.Args[i] = Normalize(w)
		}
	}
	if c.kind == 0 {
		return
	}
	for _, id := range c.Args {
		concept := v.byID[id]
		if concept == nil || concept.Kind != c.kind {
			v.failf(r.at, "read %s: %s is not a %s", r.form, id, c.kind)
			continue
		}
		c.concepts = append(c.concepts, concept)
	}
}

// checkForms reports forms of several concepts without a read line, and adds
// the variants of all forms.
func (v *Vocabulary) checkForms() {
	for _, f := range v.forms {
		if len(f.Readings) > 1 && !f.read {
			ids := make([]string, len(f.Readings))
			for i, r := range f.Readings {
				ids[i] = r.Concept.ID
			}
			v.failf(f.likeliest().line, "form %q of %s needs a read line", f.Text, strings.Join(ids, ", "))
		}
		if f.likeliest().Kind == Filler {
			continue
		}
		for _, words := range variants(normalized(f.Text)) {
			v.trie.insert(words, f)
		}
	}
}
