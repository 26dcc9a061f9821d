package search

import (
	"maps"
	"slices"
	"strings"
)

// A resolved query is the corrected text, followed by completeMark if adverts contain
// its last word, and by the names of employers in it, each after employerMark.
const (
	completeMark = " "
	employerMark = "\x1f"
)

// Resolve returns a text that contains the results of Words and Employers: a parser
// without them and with Resolved set reads the text as this parser reads the query. An unfinished last word stays unfinished.
func (p *Parser) Resolve(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), employerMark, "\x1e") // also no part of a word
	employers := employerRecorder{Employers: p.Employers, names: employerNames{}}
	recording := *p
	if p.Employers != nil {
		recording.Employers = employers
	}
	q := recording.parse(text)
	var b strings.Builder
	end := 0
	for _, start := range slices.Sorted(maps.Keys(q.corrected)) {
		c := q.corrected[start]
		b.WriteString(text[end:start])
		b.WriteString(c.text)
		end = c.end
	}
	b.WriteString(text[end:])
	if q.isComplete {
		b.WriteString(completeMark)
	}
	for _, name := range slices.Sorted(maps.Keys(employers.names)) {
		b.WriteString(employerMark + name)
	}
	return b.String()
}

// readResolved reads what Resolve adds to a query.
func (q *query) readResolved() {
	parts := strings.Split(q.text, employerMark)
	q.text, q.isComplete = strings.CutSuffix(parts[0], completeMark)
	names := employerNames{}
	for _, name := range parts[1:] {
		names[name] = true
	}
	own := *q.Parser
	own.Employers = names
	q.Parser = &own
}

// employerNames are the employers of a resolved query.
type employerNames map[string]bool

// HasEmployer implements Employers.
func (e employerNames) HasEmployer(name string) bool { return e[name] }

// employerRecorder records the names of employers that it finds.
type employerRecorder struct {
	Employers
	names employerNames
}

// HasEmployer implements Employers.
func (e employerRecorder) HasEmployer(name string) bool {
	if !e.Employers.HasEmployer(name) {
		return false
	}
	e.names[name] = true
	return true
}

// correction replaces a span of a query, up to end.
type correction struct {
	end  int
	text string
}

// replace records that the span of the token is read as the given words.
func (q *query) replace(base int, t Token, words string) {
	if t.Capitals {
		words = strings.ToUpper(words)
	}
	q.corrected[base+t.Start] = correction{base + t.End, words}
}
