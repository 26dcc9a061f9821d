package search

import (
	"maps"
	"slices"
	"strings"
)

// A resolved query has the format
//
//	TEXT [completeSuffix] { employerPrefix NAME }
//
// with the corrected text, a suffix if the last word of the text occurs in listings, and the
// names of employers in the text.
const (
	// completeSuffix cannot be a part of the text, which has no space at its end.
	completeSuffix = " "
	employerPrefix = "\x1f"
)

// Resolve encodes the corrections of spelling and the known employers of a query in a text. A
// Parser with Resolved set interprets that text as this parser interprets the query, without
// access to Words and Employers. An unfinished last word stays unfinished.
func (p *Parser) Resolve(text string) string {
	// The user must not be able to add names. \x1e separates words as \x1f does.
	text = strings.ReplaceAll(strings.TrimSpace(text), employerPrefix, "\x1e")
	employers := employerRecorder{Employers: p.Employers, names: employerNames{}}

	parser := *p
	if p.Employers != nil {
		parser.Employers = employers
	}

	q := parser.parse(text)
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
		b.WriteString(completeSuffix)
	}

	for _, name := range slices.Sorted(maps.Keys(employers.names)) {
		b.WriteString(employerPrefix + name)
	}

	return b.String()
}

// decodeResolved decodes a text that Resolve has encoded.
func (q *query) decodeResolved() {
	parts := strings.Split(q.text, employerPrefix)
	q.text, q.isComplete = strings.CutSuffix(parts[0], completeSuffix)

	names := employerNames{}
	for _, name := range parts[1:] {
		names[name] = true
	}

	parser := *q.Parser
	parser.Employers = names
	q.Parser = &parser
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

// correction replaces a span of a query, whose start is its key in query.corrected.
type correction struct {
	end  int
	text string
}

// recordCorrection records that a token is read as the words. base is the offset of the
// token's text in the query.
func (q *query) recordCorrection(base int, t Token, words string) {
	if t.Capitals {
		words = strings.ToUpper(words)
	}

	q.corrected[base+t.Start] = correction{base + t.End, words}
}
