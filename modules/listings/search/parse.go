package search

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Source is the text of a vocabulary. A line of it defines a concept, such as a role, with its names, which are called
// forms, and its links to other concepts. A line is empty, a comment (#) or one of
//
//	kind id links : form; form!; ...
//	extend id links : form; ...
//	filler : word; word; ...
//	read form id if condition & condition | id
//
// The kinds are role, spec, grade, setting, contract, hours, shift and
// experience. A form with an exclamation mark is an abbreviation that counts
// only in capitals in adverts. Fillers are words of questions that describe no
// job, such as "any". The links of a concept, and its flags, are
//
//	<p       is-a: a search for p finds this one, not the reverse
//	<~p:w    is-a, as a second choice of strength w, .65 by default
//	~x:w     related with strength w, .5 by default: a search for this one may return x
//	+s       implies s
//	=r       is r, together with what it implies, under another name
//	*broad   its children are not related to each other
//	*generic a noun such as assistant or officer
//	*leads   also has the role before it: a midwife team leader is a midwife
//
// A form of several concepts needs a read line, which decides between them: it
// lists the concepts with conditions, and the first one whose conditions hold
// is meant. In a read line, a form of several words has quotation marks.
//
// A later line with the id of an earlier one replaces it. A line with extend
// adds forms and links to the earlier one.
type Source struct {
	Name string // of the file, for messages
	Text string
}

// source is the position of a line.
type source struct {
	name string // of the file
	line int
}

// problemf returns a problem of the line, with a message for the operator.
func (s source) problemf(format string, args ...any) Problem {
	return Problem{File: s.name, Line: s.line, Message: fmt.Sprintf(format, args...)}
}

// The strengths of links, from 0 to 1. The line of a concept may give other ones to second choices and related concepts.
const (
	certain      = 1 // of all other links
	secondChoice = .65
	related      = .5
)

// linkLine is a link as a line writes it, with the id of its target.
type linkLine struct {
	sign     string // what the link means: one of signs
	to       string // an id, of which it is not known yet whether a concept has it
	strength float64
}

// readLine is a line "read": the concepts that a form can mean.
type readLine struct {
	at       source
	form     string
	readings []readingLine
}

// readingLine is one of the concepts in a line "read", with the conditions under which the form means it.
type readingLine struct {
	id         string // of which it is not known yet whether a concept has it
	conditions []Condition
}

// parser collects the lines of all sources.
type parser struct {
	concepts []*Concept // in the order of the sources
	byID     map[string]*Concept
	reads    []*readLine
	problems []Problem // of malformed lines
}

// Parse parses the sources of a vocabulary. Later sources override earlier ones. The error contains each
// malformed line. Lint returns the contradictions between well-formed lines.
func Parse(sources ...Source) (*Vocabulary, error) {
	p := parser{byID: map[string]*Concept{}}

	hash := sha256.New()
	for _, s := range sources {
		// The length keeps two sources apart from one that contains the text of both.
		fmt.Fprintf(hash, "%d\n%s", len(s.Text), s.Text)

		lineNumber := 0
		for line := range strings.Lines(s.Text) {
			lineNumber++
			p.parseLine(source{name: s.Name, line: lineNumber}, strings.TrimSpace(line))
		}
	}

	if err := joinProblems(p.problems); err != nil {
		return nil, err
	}

	v := p.build()
	v.sorted = sortForms(v.forms)
	v.version = hex.EncodeToString(hash.Sum(nil)[:versionBytes])

	return v, nil
}

// versionBytes is how many bytes of the hash of the sources identify a version of the vocabulary.
const versionBytes = 6

// joinProblems returns the problems as one error, nil for none.
func joinProblems(problems []Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = errors.New(p.String())
	}

	return errors.Join(errs...)
}

// reportf adds a problem. Parsing continues, so that the operator sees all problems at once.
func (p *parser) reportf(at source, format string, args ...any) {
	p.problems = append(p.problems, at.problemf(format, args...))
}

// parseLine parses one line of the format that Source describes. A malformed line becomes a problem.
func (p *parser) parseLine(at source, line string) {
	if line == "" || line[0] == '#' {
		return
	}

	firstWord, rest, _ := strings.Cut(line, " ")
	switch kind, isKind := kinds[firstWord]; {
	case firstWord == "read":
		p.parseRead(at, strings.TrimSpace(rest))
	case firstWord == "extend", isKind:
		p.parseConcept(at, firstWord, kind, rest)
	default:
		p.reportf(at,
			"a line must begin with role, spec, grade, setting, contract, hours, shift, experience, filler, read or extend, not %q",
			firstWord)
	}
}

// parseConcept parses a line that defines or extends a concept. firstWord is the kind of the concept or "extend", and rest
// is the line after it.
func (p *parser) parseConcept(at source, firstWord string, kind Kind, rest string) {
	// The spaces permit a filler without links and a concept without forms.
	beforeColon, forms, hasColon := strings.Cut(" "+rest+" ", " : ")
	if !hasColon {
		p.reportf(at, "expected \" : \" before the forms")
		return
	}

	fields := strings.Fields(beforeColon)
	if kind == Filler { // all fillers are one concept, whose id the lines do not repeat
		fields = append([]string{"filler"}, fields...)
	}

	if len(fields) == 0 || !isID(fields[0]) {
		p.reportf(at, "expected an id of lower-case letters, digits and hyphens after %s", firstWord)
		return
	}

	id, links := fields[0], fields[1:]

	concept := &Concept{ID: id, Kind: kind, line: at}
	for _, link := range links {
		p.parseLink(concept, link)
	}

	for form := range strings.SplitSeq(forms, ";") {
		form = strings.TrimSpace(form)
		if form != "" {
			concept.Forms = append(concept.Forms, form)
		}
	}

	if firstWord == "extend" {
		p.extend(concept)
	} else {
		p.add(concept)
	}
}

// extend adds the forms, links and flags of a line "extend" to the concept with its id.
func (p *parser) extend(addition *Concept) {
	earlier := p.byID[addition.ID]
	if earlier == nil {
		p.reportf(addition.line, "%s must be defined before it is extended", addition.ID)
		return
	}

	earlier.Forms = append(earlier.Forms, addition.Forms...)
	earlier.links = append(earlier.links, addition.links...)
	earlier.Broad = earlier.Broad || addition.Broad
	earlier.Generic = earlier.Generic || addition.Generic
	earlier.Leads = earlier.Leads || addition.Leads
}

// add adds a concept, or replaces that of another source with the same id. Lines of fillers extend each other instead.
func (p *parser) add(concept *Concept) {
	earlier := p.byID[concept.ID]
	switch {
	case concept.Kind == Filler && earlier != nil:
		p.extend(concept)
	case earlier == nil:
		p.byID[concept.ID] = concept
		p.concepts = append(p.concepts, concept)
	case earlier.line.name == concept.line.name:
		p.reportf(concept.line, "%s is already defined in line %d", concept.ID, earlier.line.line)
	default: // an operator's file replaces a concept of the embedded vocabulary
		*earlier = *concept
	}
}

// isID reports whether s is an id: not empty, and only of lower-case letters, digits and hyphens.
func isID(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// signs are the signs with which links begin. A sign precedes those that it begins with.
var signs = []string{"<~", "<", "~", "+", "="}

// parseLink parses a link or a flag such as *broad, and adds it to the concept.
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
		if ok {
			concept.links = append(concept.links, p.parseTarget(concept.line, field, sign, target))
			return
		}
	}

	p.reportf(concept.line, "unknown link %s", field)
}

// parseTarget parses what follows the sign of a link: the id of another concept and, for some signs, a strength. field is
// the entire link, for messages.
func (p *parser) parseTarget(at source, field, sign, target string) linkLine {
	var strength float64 = certain
	switch sign {
	case "<~":
		strength = secondChoice
	case "~":
		strength = related
	}

	mayHaveStrength := strength != certain

	id, number, hasStrength := strings.Cut(target, ":")
	if hasStrength {
		n, err := strconv.ParseFloat(number, 64)

		isInRange := n > 0 && n <= 1 // false for NaN
		if err != nil || !isInRange || !mayHaveStrength {
			p.reportf(at, "the strength of %s must be a number above 0 and at most 1, on a ~ link", field)
		}

		strength = n
	}

	if !isID(id) {
		p.reportf(at, "link %s must name an id", field)
	}

	return linkLine{sign: sign, to: id, strength: strength}
}

// parseRead parses what follows the word "read" in a line. A later source may replace the line of an earlier one for the
// same form.
func (p *parser) parseRead(at source, rest string) {
	line := &readLine{at: at}

	var readings string
	if quoted, ok := strings.CutPrefix(rest, `"`); ok { // a form of several words
		line.form, readings, _ = strings.Cut(quoted, `"`)
	} else {
		line.form, readings, _ = strings.Cut(rest, " ")
	}

	var problem string

	line.readings, problem = parseReadings(readings)
	if problem != "" {
		p.reportf(at, "%s", problem)
		return
	}

	for i, earlier := range p.reads {
		if earlier.form != line.form {
			continue
		}

		if earlier.at.name == at.name { // a contradiction within one source
			p.reportf(at, "the readings of %s are already defined in line %d", line.form, earlier.at.line)
		}

		p.reads[i] = line

		return
	}

	p.reads = append(p.reads, line)
}
