package search

import (
	"slices"
	"strings"
)

// A form is a name of a concept of the vocabulary. A title is divided into parts at breaks, such as commas and
// dashes. A cover of a part is one way to read it: each word belongs to one form or is unknown. Covers have costs, and
// the cheapest one is the likeliest reading. The head of a part is the name of the job that the part is about. This
// is usually the last name, as in "Optometry Receptionist".

// phrases is a text divided into forms of the vocabulary.
type phrases struct {
	tokens []Token
	words  Words    // the tokens with their numbers in the vocabulary
	caps   bool     // all letters of the text are capitals
	tail   string   // the text after the last token
	found  []phrase // in the order of the text
}

// phrase is one form in a text: the words from Start to End, exclusive.
type phrase struct {
	Match
	concept *Concept // nil if the form has no meaning in this context
	part    int      // the number of the part of the text, from 0
}

// parse divides a short text, such as a title, into forms.
func (a *annotator) parse(p *phrases, text string) {
	p.tokens = splitNumbers(AppendTokens(p.tokens[:0], text))
	p.words = a.v.appendWords(p.words[:0], p.tokens)

	p.tail = text
	if n := len(p.tokens); n > 0 {
		p.tail = text[p.tokens[n-1].End:]
	}

	// One or two words in capitals may be abbreviations: "ICU RN".
	p.caps = len(p.tokens) >= 3 && text == strings.ToUpper(text)
	p.found = p.found[:0]

	part := 0
	for from := 0; from < len(p.words); part++ {
		to := from + 1
		for to < len(p.words) && p.words[to].gap != gapBreak {
			to++
		}

		a.cover(p, from, to, part)

		from = to
	}

	p.dropConjunctions()
}

// The costs of covering an unknown word or a form.
const (
	phraseCost  = 1.0
	genericCost = 1.9 // a noun such as assistant alone
	// compositeCost is for a role that combines several concepts: "neonatal intensive
	// care, nurse" is simpler than "neonatal, intensive care nurse".
	compositeCost = 1.05
	unknownCost   = 3.0
	slashCost     = .1 // of a form that reaches over a slash
)

// step is the cheapest way to cover the first words of a part.
type step struct {
	cost  float64
	match Match // the last form of the cover, or none if the last word is unknown
}

// cover appends the forms of the cheapest cover of a part to p.found. The part has the number part and consists of the
// words between the positions from and to, exclusive. Of several covers with the lowest cost, it takes the one whose
// last form is the longest, since the last word of an English compound is its head.
func (a *annotator) cover(p *phrases, from, to, part int) {
	// best[n] is the last step of the cheapest cover of the first n words of the part. At first, no cover is known but
	// that of no words. So all others get a cost that is higher than that of any cover.
	tooMuch := unknownCost * float64(to-from+1)

	a.steps = append(a.steps[:0], step{})
	for range to - from {
		a.steps = append(a.steps, step{cost: tooMuch})
	}

	best := a.steps
	for i := from; i < to; i++ {
		costBefore := best[i-from].cost

		asUnknown := costBefore + unknownCost
		if next := &best[i+1-from]; asUnknown < next.cost {
			*next = step{cost: asUnknown}
		}

		a.matches = a.v.Matches(a.matches[:0], p.words, i)
		for _, m := range a.matches {
			cost := costBefore + p.cost(m)
			known := &best[m.End-from] // the cheapest cover to the end of the form that is known so far
			isLonger := m.End-m.Start > known.match.End-known.match.Start

			isBetter := cost < known.cost || cost == known.cost && isLonger
			if isBetter && p.mayMatch(m) && !a.hidesRole(p, m) {
				*known = step{cost: cost, match: m}
			}
		}
	}

	// Collect the forms of the cheapest cover of all words. Each step leads to the step before its form, so that the
	// forms are found in reverse order.
	first := len(p.found)
	for i := to; i > from; {
		m := best[i-from].match

		isUnknown := m.Form == nil
		if isUnknown {
			i--
			continue
		}

		p.found = append(p.found, phrase{Match: m, part: part})
		i = m.Start
	}

	slices.Reverse(p.found[first:])
}

// hidesRole reports whether a form would hide a role of an advert. Such a form contains a slash between the names of two
// different roles, such as "HCA/phlebotomist", but is the name of only one of them. In an advert, both are meant.
func (a *annotator) hidesRole(p *phrases, m Match) bool {
	slash := m.Start + 1
	for slash < m.End && p.words[slash].gap != gapSlash {
		slash++
	}

	if slash == m.End {
		return false
	}

	before, after := a.roleAt(p, m.Start, slash), a.roleAt(p, slash, m.End)
	if before == nil || after == nil {
		return false
	}

	areDifferentJobs := before.isNamed() && after.isNamed() && !before.IsKin(after)
	if !areDifferentJobs {
		return false
	}

	c := m.Form.likeliest()

	return c.base() == before.base() || c.base() == after.base()
}

// roleAt returns the role that the words from and to, exclusive, name, or nil.
func (a *annotator) roleAt(p *phrases, from, to int) *Concept {
	a.inner = a.v.Matches(a.inner[:0], p.words[:to], from)
	if len(a.inner) == 0 {
		return nil
	}

	longest := a.inner[len(a.inner)-1]
	if longest.End < to || !p.mayMatch(longest) {
		return nil
	}

	if c := longest.Form.likeliest(); c.Kind == Role {
		return c
	}

	return nil
}

// cost is the cost of covering words with the form.
func (m Match) cost() float64 {
	switch c := m.Form.likeliest(); {
	case c.Generic:
		return genericCost
	case c.Same != nil && len(c.Implied) > 0: // a role that is another one with a specialty or grade
		return compositeCost
	}

	return phraseCost
}

// cost is the cost of covering words of the text with the form.
func (p *phrases) cost(m Match) float64 {
	cost := m.cost()
	for _, w := range p.words[m.Start+1 : m.End] {
		if w.gap == gapSlash {
			cost += slashCost
		}
	}

	return cost
}

// mayMatch reports whether a form counts in adverts, with the capitals that the
// text has. An abbreviation such as OR or IT is another word in lower case.
func (p *phrases) mayMatch(m Match) bool {
	if m.Form.likeliest().Kind == Filler || p.isNegated(m) || p.isUnit(m) {
		return false
	}

	if !m.Form.Capitals {
		return true
	}

	// In a text of capitals only, such as "STAFF NURSE OR HEALTHCARE ASSISTANT", capitals do not distinguish an
	// abbreviation from a word. The form then counts unless it is a common word inside of a part.
	if p.caps {
		isCommonWord := m.Form.Words == 1 && commonWords[p.tokens[m.Start].Word]
		return !isCommonWord || p.isPart(m)
	}

	// Each word is in capitals. Single letters and numbers, which are no abbreviations, may be among them.
	for _, t := range p.tokens[m.Start:m.End] {
		if !t.Capitals && t.Surface != strings.ToUpper(t.Surface) {
			return false
		}
	}

	return true
}

// isNegated reports whether "no" precedes a form: no nights, no call.
func (p *phrases) isNegated(m Match) bool {
	return m.Start > 0 && p.tokens[m.Start-1].Word == "no" && m.Form.likeliest().Kind != Experience
}

// isUnit reports whether a form is the unit of the number before it: 3 days,
// $18/hr, 6 PAs, or overtime after a plus sign.
func (p *phrases) isUnit(m Match) bool {
	if m.Start == 0 || m.End-m.Start != 1 {
		return false
	}

	switch p.tokens[m.Start].Word {
	case "day", "days", "hr", "hrs":
		return digits(p.tokens[m.Start-1].Word)
	case "pa", "pas": // "6 PAs" are programmed activities, but "Band 7 PA" is a physician associate
		isOfGrade := m.Start > 1 && isGradeWord(p.tokens[m.Start-2].Word)
		return digits(p.tokens[m.Start-1].Word) && !isOfGrade
	case "ot":
		return strings.Contains(p.tokens[m.Start].Gap, "+")
	}

	return false
}

// isGradeWord reports whether a word names the scale of a number: band 7.
func isGradeWord(w string) bool { return w == "band" || w == "grade" || w == "level" }

// dropConjunctions drops the phrases "OR" that are the conjunction and not the operating room.
func (p *phrases) dropConjunctions() {
	for i := len(p.found) - 2; i > 0; i-- {
		if p.isConjunction(i) {
			p.found = slices.Delete(p.found, i, i+1)
		}
	}
}

// isConjunction reports whether phrase i is the conjunction "or". It is so between two phrases of one kind, as in "full
// time OR part time", and after unknown words before a grade, hours, a contract or experience.
func (p *phrases) isConjunction(i int) bool {
	f := p.found[i]
	before := p.found[i-1]

	after := p.found[i+1]

	isOr := f.End-f.Start == 1 && p.tokens[f.Start].Word == "or"
	if !isOr {
		return false
	}

	isAdjacent := after.Start == f.End && p.words[f.Start].gap == gapNone && p.words[f.End].gap == gapNone
	if !isAdjacent {
		return false
	}

	kind := after.Form.likeliest().Kind
	if before.End == f.Start {
		return kind != Specialty && kind == before.Form.likeliest().Kind
	}

	return kind == Grade || kind == Hours || kind == Contract || kind == Experience
}

// isPart reports whether a form is all of the text between two breaks.
func (p *phrases) isPart(m Match) bool {
	return p.words[m.Start].gap == gapBreak && (m.End == len(p.words) || p.words[m.End].gap == gapBreak)
}

// commonWords are the abbreviations of two letters that are also plain English.
var commonWords = wordSet("or it am as at he us an in on is me pa")

// kindsBeside returns the kinds of the phrases in the same part that precede phrase i, for a
// step of -1, or follow it, for a step of 1.
func (p *phrases) kindsBeside(i, step int) []Kind {
	var kinds []Kind
	for j := i + step; j >= 0 && j < len(p.found) && p.found[j].part == p.found[i].part; j += step {
		for _, r := range p.found[j].Form.Readings {
			kinds = append(kinds, r.Concept.Kind)
		}
	}

	return kinds
}

// isQuestion reports whether a question mark follows the part.
func (p *phrases) isQuestion(part int) bool {
	next := -1 // the token after the last phrase of the part
	for _, f := range p.found {
		if f.part == part {
			next = f.End
		}
	}

	if next < 0 { // the part has no phrase
		return false
	}

	for ; next < len(p.tokens); next++ {
		if strings.Contains(p.tokens[next].Gap, "?") {
			return true
		}

		if p.words[next].gap == gapBreak { // the part ends
			return false
		}
	}

	return strings.Contains(p.tail, "?")
}

// hasAnswer reports whether a part that is no question names a role: "Were you
// a nurse? Become a recruiter".
func (p *phrases) hasAnswer() bool {
	return slices.ContainsFunc(p.found, func(f phrase) bool { return f.isRole() && !p.isQuestion(f.part) })
}

// span is one of the alternatives of a title, as two ranges, whose ends do not belong to them.
type span struct {
	from, to   int // of phrases, as indexes of phrases.found
	start, end int // of words
}

// alternatives divides the parts of a title at slashes and "or", and at an
// "and" between two job names.
func (p *phrases) alternatives() []span {
	var alternatives []span

	var current span // the alternative that has begun

	next := 0 // the first phrase that ends after word w
	for w := range p.words {
		for next < len(p.found) && p.found[next].End <= w {
			next++
		}

		isInPhrase := next < len(p.found) && p.found[next].Start < w
		if w == 0 || isInPhrase {
			continue
		}

		beginsAlternative := p.words[w].gap != gapNone || p.joins(w, next)
		if beginsAlternative {
			current.to, current.end = next, w
			alternatives = append(alternatives, current)
			current = span{from: next, start: w}
		}
	}

	current.to, current.end = len(p.found), len(p.words)

	return append(alternatives, current)
}

// isTraining reports whether an alternative is about the post of a trainee. Either the alternative names a trainee, or
// the next part of the title consists only of such a word, as in "Dental Nurse (Trainee)".
func (p *phrases) isTraining(alt span) bool {
	if slices.ContainsFunc(p.found[alt.from:alt.to], func(f phrase) bool { return f.isTrainee() }) {
		return true
	}

	if alt.to == len(p.found) {
		return false
	}

	next := p.found[alt.to]

	return next.isTrainee() && next.Start == alt.end && p.isPart(next.Match)
}

// isTrainee reports whether the phrase is the grade of a trainee or an apprentice.
func (f *phrase) isTrainee() bool {
	return f.concept != nil && (f.concept.ID == "trainee-grade" || f.concept.ID == "apprentice-grade")
}

// namesTrainee reports whether a name of a role is one of trainees.
func (p *phrases) namesTrainee(f phrase) bool {
	return slices.ContainsFunc(p.tokens[f.Start:f.End], func(t Token) bool {
		return t.Word == "trainee" || t.Word == "apprentice"
	})
}

// joins reports whether word w, before phrase next, joins alternatives.
func (p *phrases) joins(w, next int) bool {
	if next < len(p.found) && p.found[next].Start == w {
		return false // the word belongs to a phrase, such as the operating room
	}

	switch p.tokens[w].Word {
	case "or":
		return true
	case "and":
		if next == 0 || next == len(p.found) {
			return false
		}

		before, after := p.found[next-1], p.found[next]
		isBetween := before.End == w && after.Start == w+1

		return isBetween && before.isRole() && p.roleFollows(next)
	}

	return false
}

// roleFollows reports whether phrase i or a later one of its part is a role.
func (p *phrases) roleFollows(i int) bool {
	for j := i; j < len(p.found) && p.found[j].part == p.found[i].part; j++ {
		if p.found[j].isRole() {
			return true
		}
	}

	return false
}

// isRole reports whether the phrase means a role.
func (f *phrase) isRole() bool { return f.concept != nil && f.concept.Kind == Role }

// head returns the index of the phrase that is the head of an alternative, or -1 if it names no role. The head is the
// last role before a preposition. If no role precedes a preposition, the head is a later role.
func (p *phrases) head(alt span) int {
	head := -1
	for i := alt.from; i < alt.to; i++ {
		wordsBefore := alt.start
		if i > alt.from {
			wordsBefore = p.found[i-1].End
		}

		// What follows a preposition only describes the job: "Secretary to the Medical Director".
		if head >= 0 && p.hasPreposition(wordsBefore, p.found[i].Start) {
			break
		}

		if p.found[i].isRole() {
			head = i
		}
	}

	return head
}

// hasPreposition reports whether one of the tokens from and to, exclusive, is a preposition.
func (p *phrases) hasPreposition(from, to int) bool {
	return slices.ContainsFunc(p.tokens[from:to], func(t Token) bool { return prepositions[t.Word] })
}

// prepositions are the words after which a title names no head.
var prepositions = wordSet("to for in of with at on within from by supporting reporting covering assisting")
