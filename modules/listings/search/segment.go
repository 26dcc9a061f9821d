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
	// taken are pay amounts and other spans that were read before, by their
	// first token.
	taken map[int]candidate
	// hasCorrectPlaces is set if names of places have been corrected.
	hasCorrectPlaces bool
}

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
	r := run{query: q, base: start, tokens: tokens, words: q.Vocabulary.Words(tokens), taken: map[int]candidate{}}
	r.last = last && len(text) > 0 && tokens[len(tokens)-1].End == len(text)
	if r.last && q.Words != nil {
		q.whole = q.Words.lexicon.Frequency(tokens[len(tokens)-1].Word) > 0
	}
	r.findQuantities(text)
	parts := r.segment()
	if r.correctPlaces(parts) {
		clear(r.taken)
		r.findQuantities(text)
		parts = r.segment()
	}
	for _, s := range parts {
		r.add(s)
	}
}

// correctPlaces replaces the misspelt and unfinished names of places, once, and
// reports whether there are any. Others may then be read otherwise: with
// Lincolnshire, Boston is the one in England.
func (r *run) correctPlaces(parts []candidate) bool {
	var tokens []Token
	next := 0
	for _, s := range parts {
		if s.corrected == "" {
			continue
		}
		last := r.tokens[s.end-1]
		r.addCorrection(last.Word, s.corrected)
		r.replace(r.base, last, s.corrected)
		tokens = append(tokens, r.tokens[next:s.end-1]...)
		for i, t := range Tokens(s.corrected) {
			if i == 0 {
				t.Gap = last.Gap
			}
			t.Start, t.End, t.Capitals = last.Start, last.End, last.Capitals
			tokens = append(tokens, t)
		}
		next = s.end
	}
	if next == 0 {
		return false
	}
	r.tokens, r.hasCorrectPlaces = append(tokens, r.tokens[next:]...), true
	r.words = r.Vocabulary.Words(r.tokens)
	return true
}

// correct replaces misspelt words, and joins words that were divided ("radio
// grapher"). The run of the tokens begins at base.
func (q *query) correct(tokens []Token, base int) []Token {
	out := make([]Token, 0, len(tokens))
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if i+1 < len(tokens) && q.Vocabulary.isDivided(tokens, i) {
			t.Word += tokens[i+1].Word
			t.Surface, t.End = t.Word, tokens[i+1].End
			q.replace(base, t, t.Word)
			out = append(out, t)
			i++
			continue
		}
		to := q.Words.Correct(t, i == len(tokens)-1)
		if len(to) == 0 || q.isPlace(t) || q.isInPlace(tokens, i) {
			out = append(out, t)
			continue
		}
		q.addCorrection(t.Word, to...)
		q.replace(base, t, strings.Join(to, " "))
		for k, word := range to {
			c := t
			c.Word, c.Surface = word, word
			if k > 0 {
				c.Gap = " "
			}
			out = append(out, c)
		}
	}
	return q.correctPhrases(out, base)
}

func (q *query) addCorrection(from string, to ...string) {
	q.out.Corrections = append(q.out.Corrections, Correction{From: from, To: strings.Join(to, " ")})
}

// isDivided reports whether token i and the next one are parts of one known word.
// They are not if they make a form apart from each other, or each has a meaning
// and the word has none.
func (v *Vocabulary) isDivided(tokens []Token, i int) bool {
	a, b := tokens[i], tokens[i+1]
	joined := a.Word + b.Word
	if b.Gap != " " && b.Gap != "-" || len(joined) < minDivided || !v.isKnown(joined) {
		return false
	}
	from := max(0, i-maxPhrase)
	words := v.Words(tokens[from:min(len(tokens), i+1+maxPhrase)])
	var meanings [2]bool // of the parts
	for j := range i - from + 2 {
		for _, m := range v.Matches(nil, words, j) {
			switch {
			case m.Start <= i-from && m.End > i-from+1:
				return false
			case m.Start >= i-from:
				meanings[m.Start-(i-from)] = true
			}
		}
	}
	return !meanings[0] || !meanings[1] || v.Form(joined) != nil
}

// minDivided is the length of the shortest word that is joined of two.
const minDivided = 7

// isKnown reports whether a form has the word.
func (v *Vocabulary) isKnown(word string) bool { return v.trie.words[Normalize(word)] != 0 }

// correctPhrases replaces unknown words that adverts or the gazetteer know, one
// edit from a word with which the ones beside them make a form: "heath visitor".
func (q *query) correctPhrases(tokens []Token, base int) []Token {
	for i, t := range tokens {
		if len(tokens) == 1 || len(t.Word) < minInPhrase || hasDigit(t.Word) || q.Vocabulary.isKnown(t.Word) {
			continue
		}
		if i > 0 && markers[tokens[i-1].Word] {
			continue
		}
		frequency := q.Words.lexicon.Frequency(t.Word)
		for _, word := range q.Words.near(t.Word) {
			if frequency > 0 && q.Words.lexicon.Frequency(word) < rareInPhrase*frequency {
				continue
			}
			tokens[i].Word, tokens[i].Surface = word, word
			if q.Vocabulary.isInPhrase(tokens, i) {
				q.addCorrection(t.Word, word)
				q.replace(base, t, word)
				break
			}
			tokens[i] = t
		}
	}
	return tokens
}

// minInPhrase is the length of the shortest word that its neighbours correct.
const minInPhrase = 4

// rareInPhrase is how many times as frequent the word must be that replaces one
// that adverts contain.
const rareInPhrase = 10

// isInPhrase reports whether token i is in a form of several words.
func (v *Vocabulary) isInPhrase(tokens []Token, i int) bool {
	from := max(0, i-maxPhrase)
	words := v.Words(tokens[from:min(len(tokens), i+maxPhrase)])
	for j := range i - from + 1 {
		for _, m := range v.Matches(nil, words, j) {
			if m.End > i-from && m.End-m.Start > 1 {
				return true
			}
		}
	}
	return false
}

// maxPhrase is how many words before or after a word its form may reach.
const maxPhrase = 3

// isPlace reports whether the word is the name of a place.
func (q *query) isPlace(t Token) bool {
	if q.Places == nil {
		return false
	}
	p, ok := q.Places.Resolve(t.Surface)
	return ok && (p.Kind != Town || p.Population >= wellKnown)
}

// isInPlace reports whether token i belongs to the name of a place of several
// words: the Wight of the Isle of Wight.
func (q *query) isInPlace(tokens []Token, i int) bool {
	if q.Places == nil {
		return false
	}
	for start := max(0, i-maxPlaceWords+1); start <= i; start++ {
		name := tokens[start].Surface
		for end := start + 1; end < min(start+maxPlaceWords, len(tokens)); end++ {
			if strings.Contains(tokens[end].Gap, ",") {
				break
			}
			name += " " + tokens[end].Surface
			if end < i {
				continue
			}
			if _, ok := q.Places.Resolve(name); ok && !stopWords[tokens[start].Word] {
				return true
			}
		}
	}
	return false
}

// wellKnown is the population of towns whose names are no misspelt words.
const wellKnown = 10_000

// candidate is a possible reading of tokens start to end, exclusive.
type candidate struct {
	start, end int
	cost       float64
	form       *Form
	concept    *Concept // of an unfinished form
	term       Term
	drop       bool // it asks for nothing
	or         bool // the operator OR
	not        bool // the next thing is excluded: "not retail", "without nights"
	// corrected is the name that a misspelt or unfinished place was taken for.
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
	if s, ok := r.taken[i]; ok {
		return []candidate{s}
	}
	out := []candidate{r.word(i)}
	for _, m := range r.Vocabulary.Matches(nil, r.words, i) {
		if r.coversTaken(m.Start, m.End) || r.isOperator(i) {
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

func (r *run) coversTaken(start, end int) bool {
	for i := start; i < end; i++ {
		if _, ok := r.taken[i]; ok {
			return true
		}
	}
	return false
}

// word reads a single token as free text.
func (r *run) word(i int) candidate {
	t := r.tokens[i]
	s := candidate{start: i, end: i + 1, cost: costWord}
	switch {
	case t.Word == "or" && (i > 0 || len(r.parts) > 0) && (i+1 < len(r.tokens) || !r.last):
		s.or, s.cost = true, costForm
		return s
	case negations[t.Word] && i+1 < len(r.tokens) && r.tokens[i+1].Gap == " " && !r.beginsFiller(i):
		s.not, s.cost = true, costForm
		return s
	case stopWords[t.Word], isSmallNumber(t.Word), timePattern.MatchString(t.Word), r.Vocabulary.isFiller(t.Word):
		s.drop, s.cost = true, costFiller
		return s
	}
	s.term = Term{Slot: SlotWord, Words: []string{t.Word}, Unfinished: r.last && i == len(r.tokens)-1}
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
	return s, len(s.term.Concepts) > 1
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

// stopWords ask for nothing anywhere, not even as part of a place.
var stopWords = wordSet("a an the and or of for to in on at near by with from as is are be i me my we our you your any all some this that around within close im who which")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
