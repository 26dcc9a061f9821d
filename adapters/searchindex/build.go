package searchindex

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

// content provides the documents for an image, which is the bytes of a segment. They are new documents or come from
// existing segments.
//
// The ordinal of a document is its position in the segment, where the newest document is the first. The number of a
// word is its position in the alphabetical order plus one. In the text of a document, 0 separates fields.
type content struct {
	docs int // the number of documents
	// row returns the columns of a document. Its keys and words are not used.
	row func(doc int) search.Document
	// keys and words iterate over all terms in alphabetical order with their
	// documents, which are valid until the next term.
	keys  iter.Seq2[string, []uint32]
	words iter.Seq2[string, wordDocs]
	// text appends the numbers of the words of a document, with 0 between fields, and returns how many of them
	// belong to the title. It is called after words has ended.
	text func(doc int, words []uint32) (all []uint32, title int)
	// stop, if set, returns an error after the build has been cancelled.
	stop func() error
}

// stopped returns an error if the build has been cancelled.
func (c *content) stopped() error {
	if c.stop == nil {
		return nil
	}

	return c.stop()
}

// wordDocs are the documents that contain a word anywhere and in the title.
type wordDocs struct{ anywhere, title []uint32 }

// newContent returns the content of new documents. It sorts the slice: the position of a document becomes its
// ordinal.
func newContent(docs []*search.Document) content {
	slices.SortFunc(docs, func(a, b *search.Document) int {
		return cmp.Or(cmp.Compare(b.PostedAt.UnixMicro(), a.PostedAt.UnixMicro()), strings.Compare(b.ID, a.ID))
	})

	keys := map[string][]uint32{}

	dictionary := newDictionary()
	for i, d := range docs {
		for _, key := range d.Keys {
			keys[key] = appendNew(keys[key], uint32(i))
		}

		dictionary.add(uint32(i), d)
	}

	return content{
		docs: len(docs),
		row:  func(doc int) search.Document { return *docs[doc] },
		keys: func(yield func(string, []uint32) bool) {
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				if !yield(key, keys[key]) {
					return
				}
			}
		},
		words: dictionary.all,
		text:  func(doc int, words []uint32) ([]uint32, int) { return dictionary.text(docs[doc], words) },
	}
}

// appendNew appends doc unless it is already the last element. Documents are added in ascending order,
// so that the result has no duplicates.
func appendNew(docs []uint32, doc uint32) []uint32 {
	if n := len(docs); n > 0 && docs[n-1] == doc {
		return docs
	}

	return append(docs, doc)
}

// dictionary collects the words of new documents.
type dictionary struct {
	// numbers has, for each word, its position in docs. The method all replaces these positions by the numbers of the
	// words, which text needs. So no word can be added after all.
	numbers map[string]uint32
	docs    []wordDocs // by word, in the order in which the words were found
}

// newDictionary returns an empty dictionary.
func newDictionary() *dictionary { return &dictionary{numbers: map[string]uint32{}} }

// add adds the words of the document with the ordinal.
func (d *dictionary) add(ordinal uint32, doc *search.Document) {
	for _, word := range doc.Title {
		if docs := d.get(word); docs != nil {
			docs.title = appendNew(docs.title, ordinal)
			docs.anywhere = appendNew(docs.anywhere, ordinal)
		}
	}

	for _, word := range doc.Body {
		if docs := d.get(word); docs != nil {
			docs.anywhere = appendNew(docs.anywhere, ordinal)
		}
	}
}

// get returns the documents of a word, which it adds if it is new. It returns nil for the empty word, which
// separates fields.
func (d *dictionary) get(word string) *wordDocs {
	if word == "" {
		return nil
	}

	n, exists := d.numbers[word]
	if !exists {
		n = uint32(len(d.docs))
		d.numbers[word] = n
		d.docs = append(d.docs, wordDocs{})
	}

	return &d.docs[n]
}

// all implements content.words: it iterates over the words in alphabetical order. It numbers them in
// this order, from 1, so that text can be called afterwards.
func (d *dictionary) all(yield func(string, wordDocs) bool) {
	for i, word := range slices.Sorted(maps.Keys(d.numbers)) {
		docs := d.docs[d.numbers[word]]

		d.numbers[word] = uint32(i + 1)
		if !yield(word, docs) {
			return
		}
	}
}

// text implements content.text.
func (d *dictionary) text(doc *search.Document, words []uint32) (all []uint32, title int) {
	for _, word := range doc.Title {
		words = append(words, d.numbers[word])
	}

	title = len(words)

	words = append(words, 0) // separates the title from the body
	for _, word := range doc.Body {
		words = append(words, d.numbers[word])
	}

	return words, title
}

// build returns a segment of new documents in memory.
func build(docs []*search.Document, normalize func(string) string) (*segment, error) {
	return buildInMemory(newContent(docs), normalize)
}

// buildInMemory writes an image to memory and returns its segment.
func buildInMemory(c content, normalize func(string) string) (*segment, error) {
	var b alignedBuffer
	if err := writeImage(&b, c, normalize); err != nil {
		return nil, err
	}

	return openSegment(&image{bytes: b.bytes()})
}

// writeImage writes an image. The memory that it needs grows with the size of the columns, not
// with the size of the texts. normalize returns the form by which words are compared.
func writeImage(w io.Writer, c content, normalize func(string) string) error {
	b := builder{writer: newImageWriter(w), segment: &segment{}}
	b.columns(c)

	// The order of these steps matters: each uses what the ones before it have numbered.
	if err := b.postings(c); err != nil {
		return err
	}

	b.normalize(normalize)

	if err := b.forward(c); err != nil {
		return err
	}

	return b.writer.finish(b.segment)
}

// builder writes one image, which consists of sections. It writes the large sections (postings, texts and pairs)
// while it produces them, and collects the others in segment, from which imageWriter.finish writes them at the end.
type builder struct {
	writer     *imageWriter
	segment    *segment
	buffer     []byte // is reused
	wordCounts []int  // the number of documents of each word
}

// columns fills the columns of the segment, which have one value for each document, and the lists of the
// documents sorted by them.
func (b *builder) columns(c content) {
	s := b.segment
	for i := range c.docs {
		s.addRow(uint32(i), c.row(i))
	}

	slices.SortFunc(s.byID, func(a, b uint32) int { return strings.Compare(s.ids.at(int(a)), s.ids.at(int(b))) })
	slices.SortFunc(s.byDeadline, func(a, b uint32) int { return cmp.Compare(s.deadlines[a], s.deadlines[b]) })

	// Columns of texts and places contain the numbers of their values.
	currency := func(d search.Document) (string, bool) {
		pay, isStated := valueOf(d.Pay)
		return pay.Currency, isStated
	}
	title := func(d search.Document) (string, bool) { return d.SortTitle, d.SortTitle != "" }
	location := func(d search.Document) (string, bool) { return d.SortLocation, d.SortLocation != "" }
	place := func(d search.Document) (search.Point, bool) { return valueOf(d.Point) }

	var currencies, titles, locations []string
	currencies, s.currency = column(c, strings.Compare, currency)
	titles, s.title = column(c, strings.Compare, title)
	locations, s.location = column(c, strings.Compare, location)
	s.places, s.place = column(c, comparePlaces, place)
	s.currencies, s.titles, s.locations = newTexts(currencies), newTexts(titles), newTexts(locations)
	s.groupPlaces() // by cells of a grid over the Earth

	s.byPayMin, s.byPayMax = sortedBy(s.payMin, s.currency), sortedBy(s.payMax, s.currency)
	s.byTitle, s.byLocation = sortedBy(s.title, s.title), sortedBy(s.location, s.location)
}

// addRow appends the values of a document with the next ordinal.
func (s *segment) addRow(doc uint32, d search.Document) {
	s.ids.add(d.ID)

	s.byID = append(s.byID, doc)
	s.versions = append(s.versions, d.Version)
	s.posted = append(s.posted, d.PostedAt.UnixMicro())

	deadline := int64(never)
	if !d.Deadline.IsZero() {
		deadline = d.Deadline.UnixMicro()
		s.byDeadline = append(s.byDeadline, doc)
	}

	s.deadlines = append(s.deadlines, deadline)

	pay, isStated := valueOf(d.Pay)
	if !isStated {
		pay.Min, pay.Max = -1, -1 // below every range of a query
	}

	s.payMin = append(s.payMin, pay.Min)
	s.payMax = append(s.payMax, pay.Max)
}

// valueOf returns the value that p points to, if any.
func valueOf[T any](p *T) (value T, exists bool) {
	if p == nil {
		return value, false
	}

	return *p, true
}

// sortedBy returns the ordinals of the documents with a value, sorted by the value. A document has a value if its
// entry in the column numbers is not 0.
func sortedBy[T cmp.Ordered](values []T, numbers []uint32) []uint32 {
	var docs []uint32
	for i, n := range numbers {
		if n > 0 {
			docs = append(docs, uint32(i))
		}
	}

	slices.SortStableFunc(docs, func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })

	return docs
}

// docsOf returns, for each of n values, the documents that have it. numbers has, for each document, the
// position of its value plus one, or 0.
func docsOf(numbers []uint32, n int) [][]uint32 {
	docs := make([][]uint32, n)
	for i, number := range numbers {
		if number > 0 {
			docs[number-1] = append(docs[number-1], uint32(i))
		}
	}

	return docs
}

// newTexts returns the strings in one piece of memory.
func newTexts(list []string) texts {
	var t texts
	for _, s := range list {
		t.add(s)
	}

	return t
}

// column returns the sorted distinct values of the rows and, for each row, the number of its value: its position
// in values plus one, or 0 without a value.
func column[T comparable](
	c content,
	compare func(a, b T) int,
	value func(search.Document) (v T, exists bool),
) (values []T, numbers []uint32) {
	// Number the values in the order in which they are found, from 1. The final numbers are known at the end.
	provisional := map[T]uint32{}

	numbers = make([]uint32, c.docs)
	for i := range c.docs {
		v, exists := value(c.row(i))
		if !exists {
			continue
		}

		n, found := provisional[v]
		if !found {
			values = append(values, v)
			n = uint32(len(values))
			provisional[v] = n
		}

		numbers[i] = n
	}

	slices.SortFunc(values, compare)

	// Replace these numbers by those of the sorted values. The number 0 stays 0.
	final := make([]uint32, len(values)+1) // by the provisional number
	for i, v := range values {
		final[provisional[v]] = uint32(i + 1)
	}

	for i, n := range numbers {
		numbers[i] = final[n]
	}

	return values, numbers
}

// postings writes the postings of all terms, currencies, places and cells: the sets of their documents. The
// segment gets a reference to each posting.
func (b *builder) postings(c content) error {
	s := b.segment
	b.writer.begin(postingSection)

	for key, docs := range c.keys {
		s.keys.add(key)

		s.keyReferences = append(s.keyReferences, b.posting(docs))
	}

	for word, docs := range c.words {
		if err := c.stopped(); err != nil {
			return err
		}

		s.words.add(word)

		s.wordReferences = append(s.wordReferences, b.posting(docs.anywhere))
		s.titleReferences = append(s.titleReferences, b.posting(docs.title))
		b.wordCounts = append(b.wordCounts, len(docs.anywhere))
	}

	s.currencyReferences = b.appendPostings(nil, docsOf(s.currency, s.currencies.len()))
	s.placeReferences = b.appendPostings(nil, docsOf(s.place, len(s.places)))
	s.placeReferences = b.appendPostings(s.placeReferences, docsOf(s.cellNumbers(), len(s.cells)))
	b.writer.end()

	return nil
}

// appendPostings writes several sets and appends their references.
func (b *builder) appendPostings(references []uint64, lists [][]uint32) []uint64 {
	for _, docs := range lists {
		references = append(references, b.posting(docs))
	}

	return references
}

// posting writes a set of documents and returns its reference. Sets of none and of one document are not
// written, because the reference itself contains them; see the type posting.
func (b *builder) posting(docs []uint32) (reference uint64) {
	switch len(docs) {
	case 0:
		return 0
	case 1:
		return singleReference | uint64(docs[0])
	}

	reference = b.writer.length() + 1 // 0 stands for the empty set
	b.buffer = appendPosting(b.buffer[:0], docs)
	b.writer.write(b.buffer)

	return reference
}

// normalize groups the words by their normalized form: norms are the forms, members the numbers of their
// words, and starts where the words of each form begin in members.
func (b *builder) normalize(normalize func(string) string) {
	s := b.segment

	groups := map[string][]uint32{} // the numbers of words, by their normalized form
	for i := range s.words.len() {
		norm := normalize(s.words.at(i))
		groups[norm] = append(groups[norm], uint32(i))
	}

	for _, norm := range slices.Sorted(maps.Keys(groups)) {
		s.norms.add(norm)

		s.starts = append(s.starts, uint32(len(s.members)))
		s.members = append(s.members, groups[norm]...)
	}

	s.starts = append(s.starts, uint32(len(s.members)))
}

// forward writes the words of each document in their order, represented by their codes, and then the pairs of
// frequent words, which it collects at the same time. Phrases are found by both.
func (b *builder) forward(c content) error {
	s := b.segment
	b.assignCodes()

	s.forwardStarts = make([]uint64, 0, c.docs+1)
	pairs := newPairs(b.wordCounts, c.docs)
	b.writer.begin(forwardSection)
	var codes []uint32 // the words of a document, first as numbers and then as codes

	var title int
	for i := range c.docs {
		if err := c.stopped(); err != nil {
			return err
		}

		s.forwardStarts = append(s.forwardStarts, b.writer.length())

		codes, title = c.text(i, codes[:0])
		for j, number := range codes {
			if number > 0 {
				codes[j] = s.codes[number-1]
			}
		}

		pairs.add(uint32(i), codes)

		b.buffer = appendRecord(b.buffer[:0], codes, title)
		b.writer.write(b.buffer)
	}

	s.forwardStarts = append(s.forwardStarts, b.writer.length())
	b.writer.end()

	b.writer.begin(pairSection)

	for _, docs := range pairs.docs {
		s.pairReferences = append(s.pairReferences, b.posting(docs))
	}

	b.writer.end()

	return nil
}

// pairs collects, for each pair of frequent words, the documents in which they are side by side. Without pairs, a search
// for a phrase of frequent words would have to read most texts.
type pairs struct {
	words int        // the number of frequent words; their codes are 1 to words
	docs  [][]uint32 // a table with one row for each first word and one column for each second word
}

const (
	// minPairDocs is the size from which a segment has pairs.
	minPairDocs = 4096
	// A word is frequent if at least one document in frequentShare contains it. At most maxPairWords
	// words are treated as frequent.
	frequentShare = 8
	maxPairWords  = 64
)

// newPairs returns an empty table for the frequent words of a segment. counts has the number of
// documents of each word. The table of a small segment has no words.
func newPairs(counts []int, docs int) pairs {
	var p pairs
	if docs < minPairDocs {
		return p
	}

	for _, n := range counts {
		if n >= docs/frequentShare && p.words < maxPairWords {
			p.words++
		}
	}

	p.docs = make([][]uint32, p.words*p.words)

	return p
}

// add adds the text of a document, whose words are given by their codes.
func (p *pairs) add(doc uint32, codes []uint32) {
	for i := 1; i < len(codes); i++ {
		if pair, frequent := pairNumber(p.words, codes[i-1], codes[i]); frequent {
			p.docs[pair] = appendNew(p.docs[pair], doc)
		}
	}
}

// pairNumber returns the position of a pair of codes in a table of that number of words. It reports
// frequent as false if one of the words is not frequent, or is a separator of fields.
func pairNumber(words int, first, second uint32) (at int, frequent bool) {
	isAtSeparator := first == 0 || second == 0
	if isAtSeparator || int(max(first, second)) > words {
		return 0, false
	}

	row, column := int(first-1), int(second-1)

	return row*words + column, true
}

// assignCodes numbers the words from 1, the most frequent one first, so that frequent words take the fewest bytes
// in texts.
func (b *builder) assignCodes() {
	order := make([]uint32, len(b.wordCounts))
	for i := range order {
		order[i] = uint32(i)
	}

	slices.SortStableFunc(order, func(x, y uint32) int { return cmp.Compare(b.wordCounts[y], b.wordCounts[x]) })

	b.segment.codes = make([]uint32, len(order))
	for code, word := range order {
		b.segment.codes[word] = uint32(code + 1)
	}
}
