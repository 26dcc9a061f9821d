package search

import (
	"slices"
	"strings"
	"unicode"
)

// The slots of a query.
const (
	SlotRole       = "role"
	SlotSpecialty  = "specialty"
	SlotGrade      = "grade"
	SlotExperience = "experience"
	SlotContract   = "contract"
	SlotHours      = "hours"
	SlotShift      = "shift"
	SlotSetting    = "setting"
	SlotPlace      = "place"
	SlotRemote     = "remote"
	SlotPay        = "pay"
	SlotPhrase     = "phrase"
	SlotWord       = "word"
)

// slots are the slots of the kinds of concepts.
var slots = map[Kind]string{
	Role: SlotRole, Specialty: SlotSpecialty, Grade: SlotGrade, Experience: SlotExperience,
	Contract: SlotContract, Hours: SlotHours, Shift: SlotShift, Setting: SlotSetting,
}

// Term is one thing that a query asks for.
type Term struct {
	Slot string
	// Concepts are alternatives, any of which satisfies the term. All of them
	// together are what an excluded term must not have.
	Concepts []*Concept
	// Places are alternatives too.
	Places []Place
	// Pay is a yearly range.
	Pay *PayRange
	// Words are the folded words of a phrase or of free text.
	Words []string
	// Or are alternatives to Words.
	Or [][]string
	// Unfinished is set if the last word may be incomplete.
	Unfinished bool
	// Excluded terms must not hold.
	Excluded bool
	// Start and End are byte offsets into the query.
	Start, End int
}

// Correction is a word of a query that was taken for another one.
type Correction struct {
	From, To string
}

// Understanding is what a query asks for.
type Understanding struct {
	Terms       []Term
	Corrections []Correction
	// Empty is set for a query that has characters but no words: it finds
	// nothing.
	Empty bool
}

// Parser reads queries.
type Parser struct {
	Vocabulary *Vocabulary
	Places     Places
	// Words is nil if spelling is not corrected.
	Words *Spelling
}

// Parse reads a query.
func (p *Parser) Parse(text string) Understanding {
	q := query{Parser: p, text: text}
	q.split()
	q.resolve()
	q.out.Empty = !q.hasWord && strings.TrimSpace(text) != ""
	return q.out
}

// query is a query that is being parsed.
type query struct {
	*Parser
	text    string
	out     Understanding
	parts   []part
	hasWord bool
	or      bool // the next part is an alternative to the previous one
}

// part is a candidate of tokens with one meaning.
type part struct {
	tokens  []Token
	words   Words // of the whole run
	start   int   // of tokens in the run
	form    *Form // nil for terms without a form
	term    Term
	concept *Concept
	or      bool
}

// split divides the text into quoted phrases, excluded words and runs of plain
// words.
func (q *query) split() {
	run := 0 // where the present run starts
	flush := func(end int, last bool) {
		q.parseRun(run, end, last)
	}
	for i := 0; i < len(q.text); {
		excluded := q.text[i] == '-' && i+1 < len(q.text) && q.text[i+1] != '-' && q.text[i+1] != ' ' && (i == 0 || isSpace(q.text[i-1]))
		at := i
		if excluded {
			at++
		}
		quote := quoteAt(q.text[at:])
		switch {
		case quote > 0:
			flush(i, false)
			end, next := closingQuote(q.text, at+quote)
			q.addPhrase(at+quote, end, excluded)
			i, run = next, next
		case excluded:
			flush(i, false)
			end := at
			for end < len(q.text) && !isSpace(q.text[end]) && quoteAt(q.text[end:]) == 0 {
				end++
			}
			q.addExcluded(at, end)
			i, run = end, end
		default:
			i++
		}
	}
	flush(len(q.text), true)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// quoteAt returns the length of the double quote with which s begins, or 0.
func quoteAt(s string) int {
	for _, mark := range [...]string{`"`, "“", "”", "„", "«", "»"} {
		if strings.HasPrefix(s, mark) {
			return len(mark)
		}
	}
	return 0
}

// closingQuote returns where the phrase that starts at i ends and where the text
// continues.
func closingQuote(text string, i int) (end, next int) {
	for end = i; end < len(text); end++ {
		if n := quoteAt(text[end:]); n > 0 {
			return end, end + n
		}
	}
	return end, end
}

func (q *query) addPhrase(start, end int, excluded bool) {
	words := foldedWords(q.text[start:end])
	if len(words) == 0 {
		return
	}
	q.hasWord = true
	q.parts = append(q.parts, part{or: q.or, term: Term{Slot: SlotPhrase, Words: words, Excluded: excluded, Start: start, End: end}})
	q.or = false
}

func foldedWords(text string) []string {
	tokens := Tokens(text)
	words := make([]string, len(tokens))
	for i := range tokens {
		words[i] = tokens[i].Word
	}
	return words
}

// addExcluded excludes a word, and what it is the name of.
func (q *query) addExcluded(start, end int) {
	tokens := Tokens(q.text[start:end])
	if len(tokens) == 0 {
		return
	}
	q.hasWord = true
	p := part{tokens: tokens, words: q.Vocabulary.Words(tokens), term: Term{Slot: SlotWord, Words: foldedWords(q.text[start:end]), Excluded: true, Start: start, End: end}}
	for _, m := range q.Vocabulary.Matches(nil, p.words, 0) {
		if m.End == len(tokens) {
			p.form = m.Form
		}
	}
	q.parts = append(q.parts, p)
}

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
}

func (q *query) parseRun(start, end int, last bool) {
	text := q.text[start:end]
	tokens := splitNumbers(Tokens(text))
	if len(tokens) == 0 {
		return
	}
	q.hasWord = true
	if q.Words != nil {
		tokens = q.correct(tokens)
	}
	r := run{query: q, base: start, tokens: tokens, words: q.Vocabulary.Words(tokens), taken: map[int]candidate{}}
	r.last = last && len(text) > 0 && tokens[len(tokens)-1].End == len(text)
	r.findPay(text)
	for _, s := range r.segment() {
		r.add(s)
	}
}

// correct replaces misspelt words.
func (q *query) correct(tokens []Token) []Token {
	out := make([]Token, 0, len(tokens))
	for i := range tokens {
		t := tokens[i]
		to := q.Words.Correct(t, i == len(tokens)-1)
		if len(to) == 0 || q.isPlace(t) {
			out = append(out, t)
			continue
		}
		q.out.Corrections = append(q.out.Corrections, Correction{From: t.Word, To: strings.Join(to, " ")})
		for k, word := range to {
			c := t
			c.Word, c.Surface = word, word
			if k > 0 {
				c.Gap = " "
			}
			out = append(out, c)
		}
	}
	return out
}

// isPlace reports whether the word is the name of a place.
func (q *query) isPlace(t Token) bool {
	if q.Places == nil {
		return false
	}
	p, ok := q.Places.Resolve(t.Surface)
	return ok && (p.Kind != Town || p.Population >= wellKnown)
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
}

// The costs of spans: the cheapest cover of a run wins.
const (
	costForm         = 1
	costGeneric      = 1.9
	costFiller       = .9
	costPlace        = 1.2
	costMarkedPlace  = .8 // after in, near, at or a comma
	costWord         = 3
	maxPlaceWords    = 4
	minTownOutsideUK = 40_000
	minTown          = 2_000
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
		// "nurse or midwife" is no operating room.
		if r.coversTaken(m.Start, m.End) || i > 0 && r.tokens[i].Surface == "or" {
			continue
		}
		out = append(out, r.formCandidate(m))
	}
	if s, ok := r.gradeSeries(i); ok {
		out = append(out, s)
	}
	if s, ok := r.completion(i); ok {
		out = append(out, s)
	}
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
	case stopWords[t.Word]:
		s.drop, s.cost = true, costFiller
		return s
	}
	s.term = Term{Slot: SlotWord, Words: []string{t.Word}, Unfinished: r.last && i == len(r.tokens)-1}
	return s
}

func (r *run) formCandidate(m Match) candidate {
	s := candidate{start: m.Start, end: m.End, cost: costForm, form: m.Form}
	concept := m.Form.Readings[0].Concept
	switch {
	case concept.Kind == Filler:
		s.drop, s.cost = true, costFiller*float64(m.End-m.Start)
	case concept.Generic:
		s.cost = costGeneric
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
	if f == nil || f.Readings[0].Concept.Kind != Grade {
		return nil
	}
	return f.Readings[0].Concept
}

// add appends the part that a candidate becomes.
func (r *run) add(s candidate) {
	switch {
	case s.or:
		r.or = len(r.parts) > 0
		return
	case s.drop:
		return
	}
	tokens := r.tokens[s.start:s.end]
	p := part{tokens: tokens, words: r.words, start: s.start, form: s.form, concept: s.concept, term: s.term, or: r.or}
	p.term.Start, p.term.End = r.base+tokens[0].Start, r.base+tokens[len(tokens)-1].End
	if len(p.term.Words) == 0 {
		for _, t := range tokens {
			p.term.Words = append(p.term.Words, t.Word)
		}
	}
	r.parts = append(r.parts, p)
	r.or = false
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

// completion reads the words from token i to the end of the text as the beginning
// of a form.
func (r *run) completion(i int) (candidate, bool) {
	n := len(r.tokens)
	final := r.tokens[n-1].Word
	// A word that is whole begins no other.
	q := r.query // whose Words correct the spelling
	whole := r.words[n-1].id != 0 || i == n-1 && q.Words != nil && q.Words.lexicon.Frequency(final) > 0
	if !r.last || len(final) < minUnfinished || n-i > 5 || whole || r.coversTaken(i, n) {
		return candidate{}, false
	}
	var words []string
	for _, t := range r.tokens[i:n] {
		words = append(words, Normalize(t.Word))
	}
	words[len(words)-1] = final
	concepts := r.Vocabulary.completions(words)
	if len(concepts) == 0 {
		return candidate{}, false
	}
	// It costs more than a form: a finished form never begins another.
	s := candidate{start: i, end: n, cost: costGeneric, term: Term{Slot: slots[concepts[0].Kind], Unfinished: true}}
	if len(concepts) == 1 {
		s.concept = concepts[0]
	}
	for _, c := range concepts {
		if c = c.Means()[0]; !slices.Contains(s.term.Concepts, c) {
			s.term.Concepts = append(s.term.Concepts, c)
		}
	}
	return s, true
}

// minUnfinished is the length from which a word is completed.
const minUnfinished = 3

// maxCompletions limits the concepts that an unfinished word stands for.
const maxCompletions = 12

// completions returns the concepts, all of one kind, with a form that continues
// the words, of which the last one may be incomplete: first those that complete
// the last word alone.
func (v *Vocabulary) completions(words []string) []*Concept {
	prefix := strings.Join(words, " ")
	from, _ := slices.BinarySearchFunc(v.sorted, prefix, func(f sortedForm, prefix string) int { return strings.Compare(f.text, prefix) })
	var out []*Concept
	for _, longer := range []bool{false, true} {
		for _, f := range v.sorted[from:] {
			if !strings.HasPrefix(f.text, prefix) {
				break
			}
			c := f.form.Readings[0].Concept
			if f.text == prefix || longer != strings.Contains(f.text[len(prefix):], " ") || c.Kind == Filler || slices.Contains(out, c) || len(out) > 0 && c.Kind != out[0].Kind {
				continue
			}
			if out = append(out, c); len(out) == maxCompletions {
				return out
			}
		}
	}
	return out
}

// sortedForm is a form under its normalized words.
type sortedForm struct {
	text string
	form *Form
}

// sortForms returns the forms in the order of their normalized words.
func sortForms(forms []*Form) []sortedForm {
	out := make([]sortedForm, len(forms))
	for i, f := range forms {
		out[i] = sortedForm{strings.Join(normalized(f.Text), " "), f}
	}
	slices.SortFunc(out, func(a, b sortedForm) int { return strings.Compare(a.text, b.text) })
	return out
}

// markers are the words before a place.
var markers = map[string]bool{"in": true, "near": true, "at": true, "around": true, "by": true, "within": true, "from": true}

// places returns the places that begin at token i, markers included.
func (r *run) places(i int) (out []candidate) {
	if r.Places == nil {
		return nil
	}
	first, marked := i, false
	if markers[r.tokens[i].Word] {
		first, marked = i+1, true
	}
	if first > 0 && first < len(r.tokens) && strings.Contains(r.tokens[first].Gap, ",") {
		marked = true
	}
	for end := first + 1; end <= len(r.tokens) && end-first <= maxPlaceWords; end++ {
		if r.coversTaken(first, end) {
			break
		}
		p, ok := r.Places.Resolve(r.placeName(first, end))
		if !ok || !marked && !r.isPlaceName(first, end, p) {
			continue
		}
		s := candidate{start: i, end: end, cost: costPlace, term: Term{Slot: SlotPlace, Places: []Place{p}}}
		if marked {
			s.cost = costMarkedPlace
		}
		out = append(out, s)
	}
	return out
}

// placeName returns tokens as the gazetteer expects them, with the commas between
// a town and its county.
func (r *run) placeName(start, end int) string {
	var b strings.Builder
	for i := start; i < end; i++ {
		if i > start {
			if strings.Contains(r.tokens[i].Gap, ",") {
				b.WriteByte(',')
			}
			b.WriteByte(' ')
		}
		b.WriteString(r.tokens[i].Surface)
	}
	return b.String()
}

// isPlaceName reports whether words without a marker mean the place of that name:
// it is large enough, and the words are no other thing.
func (r *run) isPlaceName(start, end int, p Place) bool {
	if end-start == 1 {
		word := r.tokens[start].Word
		if p.Kind == Town && (len(word) < 3 || r.words[start].id != 0 || commonPlaces[word]) {
			return false
		}
		if p.Kind != Town {
			return len(word) > 3 || word == "uk" || word == "usa"
		}
	}
	switch {
	case p.Kind != Town, hasDigit(r.tokens[start].Word):
		return true
	case p.Country == "GB" || p.Country == "IE":
		return p.Population >= minTown/(end-start)
	}
	return p.Population >= minTownOutsideUK/(end-start)
}

func hasDigit(s string) bool { return strings.IndexFunc(s, unicode.IsDigit) >= 0 }

// commonPlaces are names of towns that are mostly other words.
var commonPlaces = wordSet("ward home bank street rugby battle deal sandwich poole barking hope rest sale ash bury cross green hall hill house long mill moor new north south east west park rose stone well wells wood general care support mobile house nice best day days young send over nursing street beer eye crook hook looe ware yelling staff")
