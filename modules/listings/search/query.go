package search

import "strings"

// The slots of a query. A slot is a kind of condition: "band 5 nurse in Leeds" has a grade, a role and a place.
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
	SlotPay        = "pay"
	SlotEmployer   = "employer"
	SlotPhrase     = "phrase"
	SlotWord       = "word"
)

// slots maps the kinds of concepts, the entries of the vocabulary, to slots.
var slots = map[Kind]string{
	Role: SlotRole, Specialty: SlotSpecialty, Grade: SlotGrade, Experience: SlotExperience,
	Contract: SlotContract, Hours: SlotHours, Shift: SlotShift, Setting: SlotSetting,
}

// Term is one condition of a query.
type Term struct {
	Slot string
	// Concepts are alternatives, any of which satisfies the term. An excluded term
	// excludes documents that have all of them.
	Concepts []*Concept
	// either takes the place of Concepts if one of several alternative roles consists of several concepts: in
	// "urologist or nurse", a urologist is a doctor and in urology. A document must have all concepts of one of them.
	either [][]*Concept
	// related are further roles whose adverts may be relaxed hits.
	related []Link
	// Places are alternatives: a listing in any of them satisfies the term.
	Places []Place
	// Pay is a yearly range.
	Pay *PayRange
	// Words are the folded words of a phrase or of free text, or the normalized
	// ones of an employer's name.
	Words []string
	// Or are alternatives to Words.
	Or [][]string
	// Unfinished is set if the last word may be incomplete.
	Unfinished bool
	// Excluded is true if a listing must not satisfy the term.
	Excluded bool
	// Start and End are byte offsets into the query.
	Start, End int
}

// Correction is a word of a query with its correction.
type Correction struct {
	From string `json:"from" sample:"nusre"`
	To   string `json:"to" sample:"nurse"`
}

// Understanding is the interpretation of a query.
type Understanding struct {
	Terms       []Term
	Corrections []Correction
	// Radius is the maximum distance of the places, in miles, 0 if the query has none.
	Radius float64
	// Empty is set for a query that has characters but no words: it finds
	// nothing.
	Empty bool
}

// Parser reads queries.
type Parser struct {
	Vocabulary *Vocabulary
	// Places is nil if names of places are free text.
	Places Places
	// Employers is nil if names of employers are free text.
	Employers Employers
	// Words is nil if spelling is not corrected.
	Words *Spelling
	// Resolved is set if the queries are results of Resolve, which contain their corrections and employers.
	Resolved bool
}

// Parse reads a query.
func (p *Parser) Parse(text string) Understanding { return p.parse(text).out }

// parse reads a query: it divides the text into parts and then gives each of them its meaning.
func (p *Parser) parse(text string) *query {
	q := &query{Parser: p, text: text, corrected: map[int]correction{}}
	if p.Resolved {
		q.decodeResolved()
	}

	q.split()
	q.resolve()

	q.out.Empty = !q.hasWord && strings.TrimSpace(text) != ""

	return q
}

// query is a query that is being parsed.
type query struct {
	*Parser
	text  string
	out   Understanding // the result
	parts []part        // of the text that has been read

	// What the words that have been read say about the next part.
	or      bool // it is an alternative to the previous one
	not     bool // it is excluded
	skipped int  // the number of words without a meaning since the word that excludes it

	hasWord    bool               // the text has at least one word
	isComplete bool               // adverts contain the last word, so that it is not unfinished
	corrected  map[int]correction // the corrections of the text, by their start
}

// part is one or several words of a query that have one meaning together.
type part struct {
	tokens  []Token
	form    *Form // the name in the vocabulary that the words are, nil if they are none
	term    Term  // the condition that the part becomes
	concept *Concept
	or      bool // the part is an alternative to the previous one
	negated bool // excluded by a word such as not
	// composite is set for one of the several concepts of a role.
	composite bool
}

// split divides the text into quoted phrases, excluded words and runs of plain
// words.
func (q *query) split() {
	const endsText = true // for parseRun: only the last run does

	runStart := 0 // of the plain words that have not been parsed yet
	for i := 0; i < len(q.text); {
		excluded := q.isMinusAt(i)

		start := i // of the phrase or word, without the minus
		if excluded {
			start++
		}

		quote := quoteAt(q.text[start:])
		switch {
		case quote > 0:
			q.parseRun(runStart, i, !endsText)

			end, next := closingQuote(q.text, start+quote)
			q.addPhrase(start+quote, end, excluded)

			i, runStart = next, next
		case excluded:
			q.parseRun(runStart, i, !endsText)

			end := start
			for end < len(q.text) && !isSpace(q.text[end]) && quoteAt(q.text[end:]) == 0 {
				end++
			}

			q.addExcluded(start, end)

			i, runStart = end, end
		default:
			i++
		}
	}

	q.parseRun(runStart, len(q.text), endsText)
}

// isMinusAt reports whether the byte at i is a minus that excludes what follows. It excludes only at the beginning
// of a word, because full-time is a word, and directly before one.
func (q *query) isMinusAt(i int) bool {
	if q.text[i] != '-' || i+1 == len(q.text) {
		return false
	}

	beginsWord := i == 0 || isSpace(q.text[i-1])
	next := q.text[i+1]

	return beginsWord && next != '-' && next != ' '
}

// isSpace reports whether c separates the words of a query.
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

// addPhrase adds a quoted phrase. One without words is ignored.
func (q *query) addPhrase(start, end int, excluded bool) {
	words := foldedWords(q.text[start:end])
	if len(words) == 0 {
		return
	}

	q.hasWord = true
	q.parts = append(q.parts, part{or: q.or, term: Term{Slot: SlotPhrase, Words: words, Excluded: excluded, Start: start, End: end}})
	q.or = false
}

// foldedWords returns the words of a text in lower case, without diacritics.
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

	p := part{tokens: tokens, term: Term{Slot: SlotWord, Words: foldedWords(q.text[start:end]), Excluded: true, Start: start, End: end}}

	// If all words are a name of the vocabulary, its concept is excluded as well. A filler is no concept.
	for _, m := range q.Vocabulary.Matches(nil, q.Vocabulary.Words(tokens), 0) {
		if m.End == len(tokens) && m.Form.likeliest().Kind != Filler {
			p.form = m.Form
		}
	}

	q.parts = append(q.parts, p)
}
