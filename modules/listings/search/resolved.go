package search

import (
	"maps"
	"slices"
	"strings"
)

// A resolved query is a query whose meaning no longer depends on the words and employers of an index. It can be read
// later, or where there is no index. It has the format
//
//	TEXT [completeSuffix] { employerPrefix NAME }
//
// TEXT is the query with its spelling corrected. The suffix follows if the last word of the text occurs in listings,
// and is thus not the beginning of another word. Each NAME is an employer whose name is in the text.
const (
	completeSuffix = " " // cannot be a part of the text, which has no space at its end
	employerPrefix = "\x1f"
)

// Resolve returns the resolved query of a text, with its corrections of spelling and its known employers. A Parser with
// Resolved set, which needs neither Words nor Employers, interprets the result as this parser interprets the text.
// If the last word of the text is unfinished, it is unfinished in the result, too.
func (p *Parser) Resolve(text string) string {
	// Replace employerPrefix in the text, so that the user cannot add names. The other control character
	// separates words as well.
	text = strings.ReplaceAll(strings.TrimSpace(text), employerPrefix, "\x1e")

	// Parse the text with a copy of the parser that records the employers.
	recorder := employerRecorder{Employers: p.Employers, found: employerNames{}}

	parser := *p
	if p.Employers != nil {
		parser.Employers = recorder
	}

	q := parser.parse(text)

	// Write the text with each misspelt span replaced.
	var b strings.Builder

	written := 0 // the end of the part of the text that has been written or replaced
	for _, start := range slices.Sorted(maps.Keys(q.corrected)) {
		c := q.corrected[start]
		b.WriteString(text[written:start])
		b.WriteString(c.text)

		written = c.end
	}

	b.WriteString(text[written:])

	if q.isComplete {
		b.WriteString(completeSuffix)
	}

	for _, name := range slices.Sorted(maps.Keys(recorder.found)) {
		b.WriteString(employerPrefix + name)
	}

	return b.String()
}

// decodeResolved divides the text of the query, which Resolve has returned, into its parts. It sets the text and
// isComplete, and limits the known employers to those that the resolved query names.
func (q *query) decodeResolved() {
	parts := strings.Split(q.text, employerPrefix)
	text, names := parts[0], parts[1:]
	q.text, q.isComplete = strings.CutSuffix(text, completeSuffix)

	employers := employerNames{}
	for _, name := range names {
		employers[name] = true
	}

	parser := *q.Parser
	parser.Employers = employers
	q.Parser = &parser
}

// employerNames is a set of names of employers. It is the Employers of a resolved query.
type employerNames map[string]bool

// HasEmployer reports whether the set contains the name.
func (e employerNames) HasEmployer(name string) bool { return e[name] }

// employerRecorder looks up names in Employers and records those that exist in found.
type employerRecorder struct {
	Employers
	found employerNames
}

// HasEmployer reports whether an employer has the name. If so, it records the name.
func (e employerRecorder) HasEmployer(name string) bool {
	exists := e.Employers.HasEmployer(name)
	if exists {
		e.found[name] = true
	}

	return exists
}

// correction is the text that replaces a misspelt span of a query. The key of the correction in query.corrected is the
// start of the span.
type correction struct {
	end  int // of the span
	text string
}

// recordCorrection records that the query is read with other words in place of a token. base is the offset in the query
// of the text from which the token was read. An abbreviation stays in capitals.
func (q *query) recordCorrection(base int, misspelt Token, words string) {
	if misspelt.Capitals {
		words = strings.ToUpper(words)
	}

	q.corrected[base+misspelt.Start] = correction{end: base + misspelt.End, text: words}
}
