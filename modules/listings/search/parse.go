package search

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Source is the text of a vocabulary.
//
// A line is a comment (#) or one of
//
//	kind id links : form; form!; ...
//	extend id links : form; ...
//	filler : word; word; ...
//	read form id if condition & condition | id
//
// The kinds are role, spec, grade, setting, contract, hours, shift and
// experience. A form with an exclamation mark is an abbreviation that counts
// only in capitals in adverts. The links of a concept are
//
//	<p      is-a: a search for p finds this one, not the reverse
//	<~p:w   is-a, second choice; w is .65 by default
//	~x:w    related: a search for this one may return x; w is .5 by default
//	+s      implies s
//	=r      is r, together with what it implies, under another name
//	*broad  does not relate its children
//	*generic a noun such as assistant or officer
//	*leads  also has the role before it: a midwife team leader is a midwife
//
// A form of several concepts needs a read line, which decides between them:
// the first reading whose conditions hold. A form of several words is quoted
// in it. A later line with the id of an earlier one replaces it; extend adds
// forms and links to it.
type Source struct {
	Name string // of the file, for messages
	Text string
}

// source is where a line is.
type source struct {
	name string
	line int
}

// problemf returns a problem of the line.
func (s source) problemf(format string, args ...any) Problem {
	return Problem{File: s.name, Line: s.line, Message: fmt.Sprintf(format, args...)}
}

// The strengths of links without one of their own.
const (
	secondChoice = .65
	related      = .5
)

// linkLine is a link whose target is not resolved.
type linkLine struct {
	sign     string // of < <~ ~ + =
	to       string
	strength float64
}

// readLine is a line "read", whose ids are not resolved.
type readLine struct {
	at       source
	form     string
	readings []readingLine
}

// readingLine is one reading of a line "read".
type readingLine struct {
	id         string
	conditions []Condition
}

// parser collects the lines of all sources.
type parser struct {
	concepts []*Concept
	byID     map[string]*Concept
	reads    []*readLine
	problems []Problem
}

// Parse parses sources; later ones override earlier ones. The error contains each
// malformed line. Lint returns the contradictions between well-formed lines.
func Parse(sources ...Source) (*Vocabulary, error) {
	p := parser{byID: map[string]*Concept{}}

	hash := sha256.New()
	for _, s := range sources {
		fmt.Fprintf(hash, "%d\n%s", len(s.Text), s.Text)

		n := 0
		for line := range strings.Lines(s.Text) {
			n++
			p.parseLine(source{name: s.Name, line: n}, strings.TrimSpace(line))
		}
	}

	if err := joinProblems(p.problems); err != nil {
		return nil, err
	}

	v := p.build()
	v.sorted = sortForms(v.forms)
	v.version = hex.EncodeToString(hash.Sum(nil)[:6])

	return v, nil
}

// joinProblems returns the problems as one error, nil for none.
func joinProblems(problems []Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = errors.New(p.String())
	}

	return errors.Join(errs...)
}

// reportf adds a problem, so that parsing continues and reports all of them.
func (p *parser) reportf(at source, format string, args ...any) {
	p.problems = append(p.problems, at.problemf(format, args...))
}

// parseLine parses one line; Source describes the format.
func (p *parser) parseLine(at source, line string) {
	if line == "" || line[0] == '#' {
		return
	}

	word, rest, _ := strings.Cut(line, " ")
	switch kind, ok := kinds[word]; {
	case word == "read":
		p.parseRead(at, strings.TrimSpace(rest))
	case word == "extend", ok:
		p.parseConcept(at, word, kind, rest)
	default:
		p.reportf(at,
			"a line must begin with role, spec, grade, setting, contract, hours, shift, experience, filler, read or extend, not %q",
			word)
	}
}

// parseConcept parses the rest of a line of a concept, a filler or "extend".
func (p *parser) parseConcept(at source, word string, kind Kind, rest string) {
	// The spaces permit a filler without links and a concept without forms.
	head, forms, ok := strings.Cut(" "+rest+" ", " : ")
	if !ok {
		p.reportf(at, "expected \" : \" before the forms")
		return
	}

	fields := strings.Fields(head)
	if kind == Filler {
		fields = append([]string{"filler"}, fields...) // all fillers are one concept
	}

	if len(fields) == 0 || !isID(fields[0]) {
		p.reportf(at, "expected an id of lower-case letters, digits and hyphens after %s", word)
		return
	}

	c := &Concept{ID: fields[0], Kind: kind, line: at}
	for _, f := range fields[1:] {
		p.parseLink(c, f)
	}

	for form := range strings.SplitSeq(forms, ";") {
		form = strings.TrimSpace(form)
		if form != "" {
			c.Forms = append(c.Forms, form)
		}
	}

	p.add(c, word == "extend")
}

// add stores a line. Filler lines add to each other.
func (p *parser) add(concept *Concept, extend bool) {
	earlier := p.byID[concept.ID]
	switch {
	case extend && earlier == nil:
		p.reportf(concept.line, "%s must be defined before it is extended", concept.ID)
	case extend, concept.Kind == Filler && earlier != nil:
		earlier.Forms = append(earlier.Forms, concept.Forms...)
		earlier.links = append(earlier.links, concept.links...)
		earlier.Broad = earlier.Broad || concept.Broad
		earlier.Generic = earlier.Generic || concept.Generic
		earlier.Leads = earlier.Leads || concept.Leads
	case earlier == nil:
		p.byID[concept.ID] = concept
		p.concepts = append(p.concepts, concept)
	case earlier.line.name == concept.line.name:
		p.reportf(concept.line, "%s is already defined in line %d", concept.ID, earlier.line.line)
	default:
		*earlier = *concept
	}
}

// isID reports whether s consists of lower-case letters, digits and hyphens.
func isID(s string) bool {
	for _, r := range s {
		if r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}

	return s != ""
}

// signs are the link signs, longer ones before their prefixes.
var signs = []string{"<~", "<", "~", "+", "="}

// parseLink parses a link or a flag and adds it to the concept.
func (p *parser) parseLink(concept *Concept, field string) {
	switch field {
	case "*broad":
		concept.Broad = true
		return
	case "*generic":
		concept.Generic = true
		return
	case "*leads":
		concept.Leads = true
		return
	}

	for _, sign := range signs {
		target, ok := strings.CutPrefix(field, sign)
		if !ok {
			continue
		}

		l := linkLine{sign: sign, strength: 1}
		switch sign {
		case "<~":
			l.strength = secondChoice
		case "~":
			l.strength = related
		}

		to, weight, weighted := strings.Cut(target, ":")
		if weighted {
			w, err := strconv.ParseFloat(weight, 64)
			if err != nil || !(w > 0 && w <= 1) || l.strength == 1 {
				p.reportf(concept.line, "the strength of %s must be a number above 0 and at most 1, on a ~ link", field)
			}

			l.strength = w
		}

		if !isID(to) {
			p.reportf(concept.line, "link %s must name an id", field)
		}

		l.to = to
		concept.links = append(concept.links, l)

		return
	}

	p.reportf(concept.line, "unknown link %s", field)
}

// parseRead parses a read line. A later one for the same form replaces the
// earlier one.
func (p *parser) parseRead(at source, rest string) {
	r := &readLine{at: at}

	var readings string
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		r.form, readings, _ = strings.Cut(quoted, `"`)
	} else {
		r.form, readings, _ = strings.Cut(rest, " ")
	}

	var problem string

	r.readings, problem = parseReadings(readings)
	if problem != "" {
		p.reportf(at, "%s", problem)
		return
	}

	for i, earlier := range p.reads {
		if earlier.form == r.form {
			if earlier.at.name == at.name {
				p.reportf(at, "the readings of %s are already defined in line %d", r.form, earlier.at.line)
			}

			p.reads[i] = r

			return
		}
	}

	p.reads = append(p.reads, r)
}
