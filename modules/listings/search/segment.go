package search

import (
	"slices"
	"strings"
)

// A query is divided into quoted phrases, excluded words and runs of plain words between them. This file reads a run
// in three steps:
//
//  1. It collects candidates. A candidate is a possible reading of one or several neighbouring words, for example as a
//     name of the vocabulary (a form), a place, an employer or free text. Each candidate has a cost.
//  2. It chooses a cover. A cover is a sequence of candidates that contains each word once. The cheapest cover is how
//     the run is read.
//  3. It adds the candidates of that cover to the query as its parts. A part becomes a condition of the search.

// run is a sequence of plain words.
//
// The embedded query holds what outlasts the run. Methods of run read the sources of names from it: Vocabulary, Places,
// Employers and Words. They also change what the whole query has so far: parts, the operators or and not, skipped, and
// the radius in out.
//
// Three fields have similar names. The field words of run contains its tokens as numbers of the vocabulary. The field
// Words of query is the spelling correction. The field Words of a Term contains the words of a condition as text.
type run struct {
	*query
	base   int // offset of the run in the text
	tokens []Token
	words  Words // the tokens as numbers of the vocabulary
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

	// After a space or a bracket the last word is complete.
	lastToken := tokens[len(tokens)-1]

	r.last = last && lastToken.End == len(text)
	if r.last && q.Words != nil {
		q.isComplete = q.Words.lexicon.Frequency(lastToken.Word) > 0
	}

	r.findQuantities(text)

	parts := r.segment()

	// Read the run again if a name of a place was corrected: it may have another number of tokens, so that the amounts
	// begin at other tokens.
	if r.correctPlaces(parts) {
		clear(r.reserved)
		r.findQuantities(text)

		parts = r.segment()
	}

	for _, c := range parts {
		r.add(c)
	}
}

// candidate is a possible reading of tokens start to end, exclusive.
type candidate struct {
	start, end int
	cost       float64
	form       *Form    // nil if the tokens are no name of the vocabulary
	concept    *Concept // the only one with names that begin with an unfinished form, or nil
	term       Term     // the condition that the candidate becomes
	drop       bool     // the tokens are no condition, for example because they are a stop word
	or         bool     // the tokens are the operator OR
	not        bool     // the tokens exclude what follows: "not retail", "without nights"
	// corrected is the name that replaces a misspelt or unfinished place.
	corrected string
}

// The costs of candidates. A reading that explains more words costs less for each of them.
const (
	costForm        = 1
	costGeneric     = 1.9 // of a noun such as assistant
	costFiller      = 1.1 // of each word that is no condition
	costPlace       = 1.2
	costEmployer    = 1.15
	costMarkedPlace = .8 // of a place after in, near, at or a comma
	costWord        = 3  // of a word of free text
)

// maxPlaceWords is the maximum number of words of the name of a place.
const maxPlaceWords = 4

// The population from which a name without a word such as "in" before it is read as that of a town.
const (
	minTown          = 2_000   // in the United Kingdom and Ireland
	minTownOutsideUK = 40_000  // in other countries in which English is spoken
	minTownAbroad    = 500_000 // elsewhere
	largeTown        = 20_000  // for a name that is also an everyday word
)

// segment returns the cheapest cover of the run. Of equal ones it prefers the one
// whose last candidate is longer, since the main word of an English compound is the last.
func (r *run) segment() []candidate {
	n := len(r.tokens)

	// cost[i] is the cost of the cheapest cover of the tokens before token i, and noCover if there is none. last[i] is
	// the last candidate of this cover. cost[0] is 0: no candidate is needed before the first token.
	const noCover = -1

	cost, last := make([]float64, n+1), make([]candidate, n+1)
	for i := 1; i <= n; i++ {
		cost[i] = noCover
	}

	// Extend the cheapest cover of the tokens before i by each candidate that begins at i. The result is a cover of the
	// tokens before the candidate's end. It replaces the cover known so far if it is cheaper, or ends with a longer
	// candidate at the same cost.
	for i := range n {
		if cost[i] == noCover {
			continue // token i is inside an amount of money
		}

		for _, c := range r.candidatesAt(i) {
			end := c.end
			total := cost[i] + c.cost
			isFirst := cost[end] == noCover
			isLonger := c.end-c.start > last[end].end-last[end].start

			if isFirst || total < cost[end] || total == cost[end] && isLonger {
				cost[end], last[end] = total, c
			}
		}
	}

	// Collect the cheapest cover of all tokens from its end: the candidate before last[i] is the last one of the cover of
	// the tokens before its start.
	var cover []candidate
	for i := n; i > 0; i = last[i].start {
		cover = append(cover, last[i])
	}

	slices.Reverse(cover)

	return cover
}

// candidatesAt returns the candidates that begin at token i. There is always one: the token as free text.
func (r *run) candidatesAt(i int) []candidate {
	if amount, isReserved := r.reserved[i]; isReserved {
		return []candidate{amount}
	}

	candidates := []candidate{r.word(i)}
	for _, m := range r.Vocabulary.Matches(nil, r.words, i) {
		if r.overlapsReserved(m.Start, m.End) || r.isOperator(i) {
			continue
		}

		candidates = append(candidates, r.formCandidate(m))
	}

	if grades, ok := r.gradeSeries(i); ok {
		candidates = append(candidates, grades)
	}

	if quantity, ok := r.quantity(i); ok {
		candidates = append(candidates, quantity)
	}

	if completed, ok := r.completion(i); ok {
		candidates = append(candidates, completed)
	}

	candidates = append(candidates, r.employers(i)...)

	return append(candidates, r.places(i)...)
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
	isLast := i == len(r.tokens)-1

	// OR needs something on both sides. As the last word of the text, it may be the beginning of another word, such as
	// orthopaedics.
	hasBefore := i > 0 || len(r.parts) > 0
	hasAfter := !isLast || !r.last

	c := candidate{start: i, end: i + 1, cost: costWord}
	switch {
	case token.Word == "or" && hasBefore && hasAfter:
		c.or, c.cost = true, costForm
		return c
	// A negation such as "no" excludes the next word. So there has to be a next word, and only a space before it: a comma
	// ends what is excluded. In a filler such as "no matter", "no" excludes nothing.
	case negations[token.Word] && !isLast && r.tokens[i+1].Gap == " " && !r.beginsFiller(i):
		c.not, c.cost = true, costForm
		return c
	// These words are no condition: stop words such as "the", small numbers, times of day, and forms of a filler such as
	// "wanted".
	case stopWords[token.Word], isSmallNumber(token.Word), timePattern.MatchString(token.Word), r.Vocabulary.isFiller(token.Word):
		c.drop, c.cost = true, costFiller
		return c
	}

	c.term = Term{Slot: SlotWord, Words: []string{token.Word}, Unfinished: r.last && isLast}

	return c
}

// isOperator reports whether token i is the word "or" that joins alternatives, and not the abbreviation of
// operating room. This is so in lower case, as in "nurse or midwife", and in capitals between two names of one
// kind, as in "midwife OR nurse".
func (r *run) isOperator(i int) bool {
	if i == 0 || r.tokens[i].Word != "or" {
		return false
	}

	if r.tokens[i].Surface == "or" { // as it is written
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
	c := candidate{start: m.Start, end: m.End, cost: m.cost(), form: m.Form}
	if m.Form.likeliest().Kind == Filler {
		c.drop, c.cost = true, costFiller*float64(m.End-m.Start)
	}

	return c
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

	grades := []*Concept{first}
	for next < len(r.tokens) {
		_, end := linkAt(r.tokens, next)

		isLinked := end > next && end <= len(r.tokens)
		if !isLinked {
			break
		}

		// The next grade may repeat the name: ST3/ST4.
		following := strings.TrimPrefix(r.tokens[end-1].Word, strings.TrimSpace(name))

		grade := r.Vocabulary.grade(name + following)
		if grade == nil {
			break
		}

		grades = append(grades, grade)
		next = end
	}

	c := candidate{start: i, end: next, cost: costForm, term: Term{Slot: SlotGrade, Concepts: grades}}

	return c, len(grades) > 1 // a single grade is a form like any other
}

// grade returns the grade with the name, or nil.
func (v *Vocabulary) grade(name string) *Concept {
	f := v.Form(name)
	if f == nil || f.likeliest().Kind != Grade {
		return nil
	}

	return f.likeliest()
}

// add appends the part of the query that a candidate becomes.
//
// Operators become no part. They are kept in fields of the query, for the next part: or makes it an alternative to the
// previous part, and not excludes it. Dropped words become no part either. skipped counts them, because an exclusion
// ends after maxSkipped of them.
func (r *run) add(c candidate) {
	switch {
	case c.or:
		r.or = len(r.parts) > 0
		return
	case c.not:
		r.not, r.skipped = true, 0
		return
	case c.drop:
		r.skipped += c.end - c.start
		return
	}

	tokens := r.tokens[c.start:c.end]

	// "not" excludes the next part, even after a few dropped words. It excludes nothing after a comma or after more than
	// maxSkipped dropped words.
	endsExclusion := r.skipped > maxSkipped || strings.Contains(tokens[0].Gap, ",")
	if endsExclusion {
		r.not = false
	}

	last := len(r.parts) - 1
	followsSlash := last >= 0 && strings.TrimSpace(tokens[0].Gap) == "/"
	isAlternative := r.or || followsSlash

	// An alternative to an excluded part is excluded, too: "no nights or weekends" excludes both. Each of them is then a
	// condition of its own, because a job must meet neither.
	isExcluded := r.not || isAlternative && last >= 0 && r.parts[last].negated

	p := part{
		tokens: tokens, form: c.form, concept: c.concept, term: c.term,
		or:      isAlternative && !isExcluded,
		negated: isExcluded,
	}
	p.term.Excluded = isExcluded
	p.term.Start = r.base + tokens[0].Start
	p.term.End = r.base + tokens[len(tokens)-1].End

	if len(p.term.Words) == 0 {
		for _, t := range tokens {
			p.term.Words = append(p.term.Words, t.Word)
		}
	}

	r.parts = append(r.parts, p)
	r.or, r.not = false, false
}

// maxSkipped is the maximum number of dropped words between a negation and the part that it excludes. In "not
// looking for nights", the dropped words are "looking" and "for".
const maxSkipped = 3

// negations are the words that exclude what follows.
var negations = wordSet("not no without except excluding minus dont doesnt isnt arent wont cant never avoid avoiding outside")

// isFiller reports whether a word that is in no name of the vocabulary is an inflection of a filler. For example,
// wanting and wanted are inflections of want.
func (v *Vocabulary) isFiller(word string) bool {
	const minStem = 3

	for _, ending := range [...]string{"ing", "ed"} {
		stem, hasEnding := strings.CutSuffix(word, ending)
		if !hasEnding || len(stem) < minStem || v.isKnown(word) {
			continue
		}

		// The ending may have been added alone (want, wanting), in place of an e (require, requiring), or after a doubled
		// consonant (plan, planning).
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
