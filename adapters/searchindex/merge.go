package searchindex

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// dropped stands for the new ordinal of a deleted document, which has none.
const dropped = math.MaxUint32

// merger combines several segments into one, without their deleted documents. It does not analyze any text again,
// but translates the numbers that each segment uses to those of the new one:
//
//   - The ordinal of a document is its position in the segment.
//   - The number of a word is its position in the sorted words of the segment, counted from 1.
//   - The code of a word represents it in stored texts. It is smaller the more frequent the word is.
type merger struct {
	sources []*part
	order   []mergedDoc // the documents of the new segment, by their new ordinals
	// ordinals contains, for each source, the new ordinals of its documents.
	ordinals [][]uint32
	// numbers contains, for each source, the new numbers of its words, by their positions in the source. The
	// method words sets them.
	numbers [][]uint32
	// wordOfCode contains, for each source, the positions of its words by their codes.
	wordOfCode [][]uint32
	scratch    vector // of sortDocs
}

// mergedDoc is a document of the new segment: the index of its source, and its ordinal there.
type mergedDoc struct{ source, doc uint32 }

// newMerger returns a merger of the parts, without the documents that are deleted now.
func newMerger(sources []*part) *merger {
	m := &merger{sources: sources}
	for _, p := range sources {
		m.ordinals = append(m.ordinals, make([]uint32, p.docs()))
		m.numbers = append(m.numbers, make([]uint32, p.words.len()))

		wordOfCode := make([]uint32, len(p.codes)+1) // codes count from 1
		for word, code := range p.codes {
			wordOfCode[code] = uint32(word)
		}

		m.wordOfCode = append(m.wordOfCode, wordOfCode)
	}

	m.sort()

	m.scratch = newVector(len(m.order))

	return m
}

// sort assigns the new ordinals. The documents of each source are sorted already, so sort merges them: it
// repeatedly takes the source whose next document comes first, and gives this document the next ordinal.
func (m *merger) sort() {
	next := make([]int, len(m.sources)) // the next document of each source
	for {
		first := -1 // the source whose next document precedes those of the others
		for i, p := range m.sources {
			for next[i] < p.docs() && p.isDead(uint32(next[i])) {
				m.ordinals[i][next[i]] = dropped
				next[i]++
			}

			if next[i] == p.docs() {
				continue
			}

			if first < 0 || precedes(p.segment, next[i], m.sources[first].segment, next[first]) {
				first = i
			}
		}

		if first < 0 {
			return
		}

		m.ordinals[first][next[first]] = uint32(len(m.order))
		m.order = append(m.order, mergedDoc{source: uint32(first), doc: uint32(next[first])})
		next[first]++
	}
}

// precedes reports whether document i of segment a comes before document j of segment b in a
// merged segment, because it is newer or, at the same time, has a larger id.
func precedes(a *segment, i int, b *segment, j int) bool {
	return cmp.Or(cmp.Compare(b.posted[j], a.posted[i]), strings.Compare(b.ids.at(j), a.ids.at(i))) < 0
}

// content returns the merged documents in the form that an image is written from.
func (m *merger) content() content {
	return content{docs: len(m.order), row: m.row, keys: m.keys, words: m.words, text: m.text}
}

// row implements content.row.
func (m *merger) row(doc int) search.Document {
	d := m.order[doc]
	return m.sources[d.source].row(int(d.doc))
}

// row returns the columns of a document, without its keys and words. In columns of numbers, 0 means no value.
func (s *segment) row(doc int) search.Document {
	d := search.Document{ID: s.ids.at(doc), Version: s.versions[doc], PostedAt: time.UnixMicro(s.posted[doc])}
	if s.deadlines[doc] != never {
		d.Deadline = time.UnixMicro(s.deadlines[doc])
	}

	if n := s.currency[doc]; n > 0 {
		d.Pay = &search.PayRange{Min: s.payMin[doc], Max: s.payMax[doc], Currency: s.currencies.at(int(n - 1))}
	}

	if n := s.title[doc]; n > 0 {
		d.SortTitle = s.titles.at(int(n - 1))
	}

	if n := s.location[doc]; n > 0 {
		d.SortLocation = s.locations.at(int(n - 1))
	}

	if n := s.place[doc]; n > 0 {
		d.Point = &s.places[n-1]
	}

	return d
}

// keysOf and wordsOf return the sorted keys or words of a segment, its terms.
func keysOf(s *segment) *texts  { return &s.keys }
func wordsOf(s *segment) *texts { return &s.words }

// unionTerms iterates over the terms with the prefix in the sorted lists of all parts, in alphabetical order.
// With each term, it yields a number for each part: the position of the term in the list of the part, or -1 if
// the part does not have the term. The slice of numbers is valid only until the next term.
func unionTerms(parts []*part, list func(*segment) *texts, prefix string) iter.Seq2[string, []int] {
	return func(yield func(string, []int) bool) {
		// For each part, next is the position of its next term, and end that after its last one.
		next, end, numbers := make([]int, len(parts)), make([]int, len(parts)), make([]int, len(parts))
		for i, p := range parts {
			next[i], end[i] = list(p.segment).prefixed(prefix)
		}

		for {
			// Find the least of the next terms of all parts.
			least, found := "", false
			for i, p := range parts {
				numbers[i] = -1
				if next[i] == end[i] {
					continue
				}

				if term := list(p.segment).at(next[i]); !found || term < least {
					least, found = term, true
				}
			}

			if !found { // all terms of all parts have been yielded
				return
			}

			// Advance the parts that contain this term.
			for i, p := range parts {
				if next[i] < end[i] && list(p.segment).at(next[i]) == least {
					numbers[i] = next[i]
					next[i]++
				}
			}

			if !yield(least, numbers) {
				return
			}
		}
	}
}

// allTerms is the prefix with which all terms begin.
const allTerms = ""

// keys iterates over the keys with their documents. A key whose documents are all deleted is left out.
func (m *merger) keys(yield func(string, []uint32) bool) {
	var docs []uint32
	for key, numbers := range unionTerms(m.sources, keysOf, allTerms) {
		docs = m.collect(docs[:0], numbers, (*segment).keyPostings)
		if len(docs) > 0 && !yield(key, docs) {
			return
		}
	}
}

// words iterates over the words with their documents, without words whose documents are all deleted. It
// sets m.numbers, which text needs.
func (m *merger) words(yield func(string, wordDocs) bool) {
	var docs wordDocs

	lastNumber := uint32(0) // numbers count from 1
	for word, numbers := range unionTerms(m.sources, wordsOf, allTerms) {
		docs.anywhere = m.collect(docs.anywhere[:0], numbers, (*segment).wordPostings)
		if len(docs.anywhere) == 0 {
			continue
		}

		docs.title = m.collect(docs.title[:0], numbers, (*segment).titlePostings)

		// Number the word, and note the number for each source that has the word.
		lastNumber++
		for i, position := range numbers {
			if position >= 0 {
				m.numbers[i][position] = lastNumber
			}
		}

		if !yield(word, docs) {
			return
		}
	}
}

// collect appends the new ordinals of the documents of one term in ascending order. numbers has the number
// of the term in each source, or -1. list returns the postings of a source, its sets of documents.
func (m *merger) collect(docs []uint32, numbers []int, list func(*segment) postings) []uint32 {
	sourcesWithTerm := 0
	for i, number := range numbers {
		if number < 0 {
			continue
		}

		sourcesWithTerm++
		start := len(docs)
		old := list(m.sources[i].segment).get(number)
		docs = old.appendTo(docs)

		// Replace the old ordinals in place by the new ones.
		kept := docs[:start]
		for _, doc := range docs[start:] {
			ordinal := m.ordinals[i][doc]
			if ordinal != dropped {
				kept = append(kept, ordinal)
			}
		}

		docs = kept
	}

	if sourcesWithTerm > 1 { // the new ordinals of one source are in order already
		m.sortDocs(docs)
	}

	return docs
}

// sortDocs sorts distinct ordinals. Many ordinals are sorted by setting their bits in a vector and reading the
// vector in order. For few ordinals, slices.Sort is faster, because reading a vector takes the same time for
// any number of bits.
func (m *merger) sortDocs(docs []uint32) {
	const minShare = 32 // the vector is used if at least one document in minShare is in docs
	if len(docs) < len(m.order)/minShare {
		slices.Sort(docs)
		return
	}

	for _, doc := range docs {
		m.scratch.set(doc)
	}

	i := 0
	for doc := range m.scratch.each {
		docs[i] = doc
		i++
	}

	m.scratch.clear()
}

// text implements content.text. It translates the codes in the text of the source to the numbers of the words in
// the new segment. The separator between fields, 0, stays as it is.
func (m *merger) text(doc int, words []uint32) (all []uint32, title int) {
	d := m.order[doc]
	titleText, text := m.sources[d.source].record(d.doc)
	words = appendCodes(words, titleText)
	title = len(words)

	words = appendCodes(words, text[len(titleText):]) // the separator and the body
	for i, code := range words {
		if code > 0 {
			word := m.wordOfCode[d.source][code]
			words[i] = m.numbers[d.source][word]
		}
	}

	return words, title
}
