package search

import (
	"slices"
	"strings"
)

// run is a sequence of plain words.
type run struct {
	*query
	base   int // offset of the run in the text
	tokens []Token
	words  Words
	// last is set if the text ends with the last word, which may be incomplete.
	last bool
	// reserved are the amounts of money and distances, by their first token. No other
	// candidate overlaps them.
	reserved map[int]candidate
	// hasCorrectPlaces is set if names of places have been corrected.
	hasCorrectPlaces bool
}

// parseRun reads the plain words from start to end of the text. last is true if the text ends with them.
func (q *query) parseRun(start, end int, last bool) {
	text := q.text[start:end]

	tokens := splitNumbers(Tokens(text))
	if len(tokens) == 0 {
		return
	}

	q.hasWord = true
	if q.Words != nil {
		tokens = q.correct(tokens, start)
	}

	r := run{query: q, base: start, tokens: tokens, words: q.Vocabulary.Words(tokens), reserved: map[int]candidate{}}

	r.last = last && len(text) > 0 && tokens[len(tokens)-1].End == len(text)
	if r.last && q.Words != nil {
		q.isComplete = q.Words.lexicon.Frequency(tokens[len(tokens)-1].Word) > 0
	}

	r.findQuantities(text)

	parts := r.segment()

	// Corrected names change the tokens, and with them the places of the amounts.
	if r.correctPlaces(parts) {
		clear(r.reserved)
		r.findQuantities(text)

		parts = r.segment()
	}

	for _, s := range parts {
		r.add(s)
	}
}

// candidate is a possible reading of tokens start to end, exclusive.
type candidate struct {
	start, end int
	cost       float64
	form       *Form
	concept    *Concept // of an unfinished form
	term       Term
	drop       bool // it is no condition
	or         bool // the operator OR
	not        bool // the next thing is excluded: "not retail", "without nights"
	// corrected is the name that replaces a misspelt or unfinished place.
	corrected string
}

// The costs of spans: the cheapest cover of a run wins.
const (
	costForm         = 1
	costGeneric      = 1.9
	costFiller       = 1.1
	costPlace        = 1.2
	costEmployer     = 1.15
	costMarkedPlace  = .8 // after in, near, at or a comma
	costWord         = 3
	maxPlaceWords    = 4
	minTownOutsideUK = 40_000
	minTown          = 2_000
	minTownAbroad    = 500_000
	largeTown        = 20_000
)

// segment returns the cheapest cover of the run. Of equal ones it prefers the one
// whose last phrase is longer, since English compounds end in their head.
func (r *run) segment() []candidate {
	n := len(r.tokens)
	best := make([]candidate, n+1)

	cost := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		cost[i] = -1
	}

	for i := range n {
		if cost[i] < 0 {
			continue // inside an amount of money
		}

		for _, s := range r.candidatesAt(i) {
			total := cost[i] + s.cost
			if j := s.end; cost[j] < 0 || total < cost[j] || total == cost[j] && s.end-s.start > best[j].end-best[j].start {
				cost[j], best[j] = total, s
			}
		}
	}

	var out []candidate
	for i := n; i > 0; i = best[i].start {
		out = append(out, best[i])
	}

	slices.Reverse(out)

	return out
}

// candidatesAt returns the possible spans that begin at token i.
func (r *run) candidatesAt(i int) []candidate {
	if s, ok := r.reserved[i]; ok {
		return []candidate{s}
	}

	out := []candidate{r.word(i)}
	for _, m := range r.Vocabulary.Matches(nil, r.words, i) {
		if r.overlapsReserved(m.Start, m.End) || r.isOperator(i) {
			continue
		}

		out = append(out, r.formCandidate(m))
	}

	if s, ok := r.gradeSeries(i); ok {
		out = append(out, s)
	}

	if s, ok := r.quantity(i); ok {
		out = append(out, s)
	}

	if s, ok := r.completion(i); ok {
		out = append(out, s)
	}

	out = append(out, r.employers(i)...)

	return append(out, r.places(i)...)
}

// overlapsReserved reports whether an amount of money or a distance begins at one of the tokens.
func (r *run) overlapsReserved(start, end int) bool {
	for i := start; i < end; i++ {
		if _, ok := r.reserved[i]; ok {
			return true
		}
	}

	return false
}

// word reads a single token as free text.
func (r *run) word(i int) candidate {
	token := r.tokens[i]

	s := candidate{start: i, end: i + 1, cost: costWord}
	switch {
	// OR needs something on both sides. At the end of an unfinished text it may be the beginning of a word.
	case token.Word == "or" && (i > 0 || len(r.parts) > 0) && (i+1 < len(r.tokens) || !r.last):
		s.or, s.cost = true, costForm
		return s
	case negations[token.Word] && i+1 < len(r.tokens) && r.tokens[i+1].Gap == " " && !r.beginsFiller(i):
		s.not, s.cost = true, costForm
		return s
	case stopWords[token.Word], isSmallNumber(token.Word), timePattern.MatchString(token.Word), r.Vocabulary.isFiller(token.Word):
		s.drop, s.cost = true, costFiller
		return s
	}

	s.term = Term{Slot: SlotWord, Words: []string{token.Word}, Unfinished: r.last && i == len(r.tokens)-1}

	return s
}

// isOperator reports whether token i is a word between two others that may join
// alternatives: "nurse or midwife" is no operating room, and neither is "midwife OR
// nurse", between two roles.
func (r *run) isOperator(i int) bool {
	if i == 0 || r.tokens[i].Word != "or" {
		return false
	}

	if r.tokens[i].Surface == "or" {
		return true
	}

	for start := max(0, i-maxFormWords); start < i; start++ {
		for _, before := range r.Vocabulary.Matches(nil, r.words, start) {
			if before.End == i && r.beginsKind(i+1, before.Form.likeliest().Kind) {
				return true
			}
		}
	}

	return false
}

// maxFormWords is how many words before OR are read as one name.
const maxFormWords = 4

// beginsKind reports whether a name of the kind begins at token i.
func (r *run) beginsKind(i int, kind Kind) bool {
	return i < len(r.tokens) && slices.ContainsFunc(r.Vocabulary.Matches(nil, r.words, i), func(m Match) bool {
		return m.Form.likeliest().Kind == kind
	})
}

// beginsFiller reports whether token i and the next ones are a filler: "doesn't
// matter".
func (r *run) beginsFiller(i int) bool {
	return slices.ContainsFunc(r.Vocabulary.Matches(nil, r.words, i), func(m Match) bool {
		return m.End > i+1 && m.Form.likeliest().Kind == Filler
	})
}

// formCandidate reads tokens as a form. A filler is no condition, and costs as much as the same number of
// stop words.
func (r *run) formCandidate(m Match) candidate {
	s := candidate{start: m.Start, end: m.End, cost: m.cost(), form: m.Form}
	if m.Form.likeliest().Kind == Filler {
		s.drop, s.cost = true, costFiller*float64(m.End-m.Start)
	}

	return s
}

// gradeSeries reads numbered grades that are alternatives: band 5/6, band 5 or 6.
func (r *run) gradeSeries(i int) (candidate, bool) {
	name, number, next := seriesAt(r.tokens, i)
	if name == "" {
		return candidate{}, false
	}

	first := r.Vocabulary.grade(name + number)
	if first == nil {
		return candidate{}, false
	}

	s := candidate{start: i, cost: costForm, term: Term{Slot: SlotGrade, Concepts: []*Concept{first}}}
	for next < len(r.tokens) {
		_, end := linkAt(r.tokens, next)
		if end == next || end > len(r.tokens) {
			break
		}

		c := r.Vocabulary.grade(name + strings.TrimPrefix(r.tokens[end-1].Word, strings.TrimSpace(name)))
		if c == nil {
			break
		}

		s.term.Concepts = append(s.term.Concepts, c)
		next = end
	}

	s.end = next

	return s, len(s.term.Concepts) > 1 // a single grade is a form like any other
}

// grade returns the grade with the name, or nil.
func (v *Vocabulary) grade(name string) *Concept {
	f := v.Form(name)
	if f == nil || f.likeliest().Kind != Grade {
		return nil
	}

	return f.likeliest()
}

// add appends the part that a candidate becomes.
func (r *run) add(s candidate) {
	switch {
	case s.or:
		r.or = len(r.parts) > 0
		return
	case s.not:
		r.not, r.skipped = true, 0
		return
	case s.drop:
		r.skipped += s.end - s.start
		return
	}

	tokens := r.tokens[s.start:s.end]

	// What is excluded follows at once, or after a few fillers, and not after a comma.
	if r.skipped > maxSkipped || strings.Contains(tokens[0].Gap, ",") {
		r.not = false
	}

	p := part{tokens: tokens, form: s.form, concept: s.concept, term: s.term, or: r.or}
	last := len(r.parts) - 1
	p.or = p.or || last >= 0 && strings.TrimSpace(tokens[0].Gap) == "/"
	p.term.Excluded = r.not || p.or && last >= 0 && r.parts[last].negated // no nights or weekends
	p.negated = p.term.Excluded
	p.or = p.or && !p.negated

	p.term.Start, p.term.End = r.base+tokens[0].Start, r.base+tokens[len(tokens)-1].End
	if len(p.term.Words) == 0 {
		for _, t := range tokens {
			p.term.Words = append(p.term.Words, t.Word)
		}
	}

	r.parts = append(r.parts, p)
	r.or, r.not = false, false
}

// maxSkipped is how many words without a meaning may stand between a word that
// excludes and what it excludes: "not looking for nights".
const maxSkipped = 3

// negations are the words that exclude what follows.
var negations = wordSet("not no without except excluding minus dont doesnt isnt arent wont cant never avoid avoiding outside")

// isFiller reports whether a word that no form has is another form of a filler:
// wanting, wanted.
func (v *Vocabulary) isFiller(word string) bool {
	for _, ending := range [...]string{"ing", "ed"} {
		stem, ok := strings.CutSuffix(word, ending)
		if !ok || len(stem) < 3 || v.isKnown(word) {
			continue
		}

		for _, filler := range [...]string{stem, stem + "e", stem[:len(stem)-1]} {
			if f := v.Form(filler); f != nil && f.likeliest().Kind == Filler {
				return true
			}
		}
	}

	return false
}

// isSmallNumber reports whether a word is a number without a meaning of its own: the 6 of
// "6 sessions".
func isSmallNumber(word string) bool {
	n, ok := number(word)
	return ok && n < 100
}

// stopWords are never a condition, not even as part of a place.
var stopWords = wordSet(
	"a an the and or of for to in on at near by with from as is are be i me my we our you your any all some this that around within close im who which",
)

// wordSet returns the words of a text, which are separated by spaces, as a set.
func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}

	return set
}
