package searchindex

import (
	"cmp"
	"math"
	"sort"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/locumhq/locum/modules/listings/search"
)

// segment is an immutable part of the index. Its slices are views of one image, the bytes of the segment in memory
// or in a mapped file.
//
// A document of a segment has an ordinal: its position, counted from 0. The newest document is the first, and
// documents with the same time are sorted by id, the largest first. Columns are slices with one value for each
// document, by ordinal. A list of ordinals that is sorted by a value of the documents is called byValue.
type segment struct {
	ids       texts
	byID      []uint32 // ordinals sorted by id
	versions  []int64
	posted    []int64 // microseconds
	deadlines []int64 // microseconds; the constant never for a document without one
	// byDeadline has the ordinals with a deadline, earliest first.
	byDeadline []uint32

	// currency has, for each document, the position of its currency in currencies plus one, or 0 without
	// pay. title, location and place have the same form.
	currencies     texts
	currency       []uint32
	payMin, payMax []int64 // -1 without pay
	titles         texts
	title          []uint32
	locations      texts
	location       []uint32
	places         []search.Point // sorted by cell, see cellOf
	place          []uint32
	// cells are sorted; the places of each begin in cellStarts.
	cells, cellStarts []uint32

	// The ordinals of the documents with a value, sorted by it.
	byPayMin, byPayMax, byTitle, byLocation []uint32

	// keys and words are the terms, sorted. The number of a term is its position.
	keys  texts
	words texts
	// norms are the normalized forms of the words. The numbers of the words with the form i are
	// members[starts[i]:starts[i+1]].
	norms           texts
	starts, members []uint32
	// codes has, for each word, its number in the forward index. Frequent words have small numbers.
	codes []uint32

	// For each term, currency, place and cell, the set of its documents is stored as a posting in postingData. The
	// references lead to these sets (see the type posting): the reference of number i is that of term i, and so on.
	// titleReferences are for words in titles.
	keyReferences, wordReferences, titleReferences, currencyReferences []uint64
	placeReferences                                                    []uint64 // of the places, then of the cells
	postingData                                                        []byte

	// forward has the words of the documents in order, see forward.go.
	forwardStarts []uint64
	forward       []byte

	// pairReferences is a table with a row and a column for each of the most frequent words, in the order of
	// their codes. An entry leads to the documents in which the word of the row is directly before that of the
	// column.
	pairReferences []uint64
	pairData       []byte

	image    *image
	holders  atomic.Int64 // the number of states that contain the segment, whose memory is released after the last
	expiries atomic.Pointer[expiry]
}

// never is the deadline of a document without one.
const never = math.MaxInt64

// sections lists the slices that make up the image, in the order of their
// numbers.
func (s *segment) sections() []section {
	return []section{
		of(&s.ids.starts), of(&s.ids.bytes), of(&s.byID), of(&s.versions), of(&s.posted), of(&s.deadlines), of(&s.byDeadline),
		of(&s.currencies.starts), of(&s.currencies.bytes), of(&s.currency), of(&s.payMin), of(&s.payMax),
		of(&s.titles.starts), of(&s.titles.bytes), of(&s.title),
		of(&s.locations.starts), of(&s.locations.bytes), of(&s.location),
		of(&s.places), of(&s.place), of(&s.cells), of(&s.cellStarts),
		of(&s.byPayMin), of(&s.byPayMax), of(&s.byTitle), of(&s.byLocation),
		of(&s.keys.starts), of(&s.keys.bytes), of(&s.words.starts), of(&s.words.bytes),
		of(&s.norms.starts), of(&s.norms.bytes), of(&s.starts), of(&s.members), of(&s.codes),
		of(&s.keyReferences), of(&s.wordReferences), of(&s.titleReferences), of(&s.currencyReferences), of(&s.placeReferences),
		of(&s.pairReferences), of(&s.forwardStarts),
		of(&s.postingData), of(&s.forward), of(&s.pairData),
	}
}

// The last sections are large. They are written before the others, piece by piece, while an image is built.
const (
	postingSection = 42
	forwardSection = 43
	pairSection    = 44
	sectionCount   = 45
)

// docs returns the number of documents, including those that were deleted later.
func (s *segment) docs() int { return len(s.versions) }

// blocks returns the number of blocks, of which only the last one may have fewer than blockDocs documents.
func (s *segment) blocks() int { return (s.docs() + blockDocs - 1) / blockDocs }

// blockDocs returns the number of documents in a block.
func (s *segment) blockDocs(block int) int { return min(blockDocs, s.docs()-block*blockDocs) }

// The following methods return the postings, the sets of documents, of all terms of one kind.

func (s *segment) keyPostings() postings   { return postings{s.keyReferences, s.postingData} }
func (s *segment) wordPostings() postings  { return postings{s.wordReferences, s.postingData} }
func (s *segment) titlePostings() postings { return postings{s.titleReferences, s.postingData} }
func (s *segment) pairPostings() postings  { return postings{s.pairReferences, s.pairData} }
func (s *segment) placePostings() postings { return postings{s.placeReferences, s.postingData} }
func (s *segment) currencyPostings() postings {
	return postings{s.currencyReferences, s.postingData}
}

// ordinal returns the ordinal of the document with the id.
func (s *segment) ordinal(id string) (uint32, bool) {
	i, found := sort.Find(len(s.byID), func(i int) int { return strings.Compare(id, s.ids.at(int(s.byID[i]))) })
	if !found {
		return 0, false
	}

	return s.byID[i], true
}

// firstAfter returns the first ordinal whose document follows one with this
// time and id.
func (s *segment) firstAfter(posted int64, id string) uint32 {
	return uint32(sort.Search(s.docs(), func(i int) bool {
		return cmp.Or(cmp.Compare(posted, s.posted[i]), strings.Compare(id, s.ids.at(i))) > 0
	}))
}

// expiry is the set of expired documents, valid for from <= now < until.
type expiry struct {
	from, until int64
	docs        vector // nil for none
	count       int    // the number of documents in docs
}

// expired returns the documents whose deadline is now or earlier, or nil if there are none. The set changes
// only when a deadline passes. So it is stored, and only then computed again from the previous set.
func (s *segment) expired(now int64) vector {
	previous := s.expiries.Load()
	if previous != nil && previous.from <= now && now < previous.until {
		return previous.docs
	}

	next := &expiry{from: math.MinInt64, until: never}

	// The expired documents are the first ones in byDeadline. The set is valid until the deadline after them.
	next.count = sort.Search(len(s.byDeadline), func(i int) bool { return s.deadlines[s.byDeadline[i]] > now })
	if next.count < len(s.byDeadline) {
		next.until = s.deadlines[s.byDeadline[next.count]]
	}

	if next.count > 0 {
		next.from = s.deadlines[s.byDeadline[next.count-1]]
		next.docs = newVector(s.docs())

		// Begin with the previous set, unless the clock was set back and that set has more documents.
		copied := 0
		if previous != nil && previous.docs != nil && previous.count <= next.count {
			copy(next.docs, previous.docs)

			copied = previous.count
		}

		for _, doc := range s.byDeadline[copied:next.count] {
			next.docs.set(doc)
		}
	}

	s.expiries.Store(next)

	return next.docs
}

// texts is a list of strings in one piece of memory.
type texts struct {
	starts []uint32 // where each string begins in bytes, and at last where the last one ends
	bytes  []byte
}

// len returns the number of strings.
func (t *texts) len() int { return max(0, len(t.starts)-1) }

// at returns a string that shares the memory of the segment.
func (t *texts) at(i int) string {
	b := t.bytes[t.starts[i]:t.starts[i+1]]
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // images are never written to
}

// add appends a string while the segment is built.
func (t *texts) add(s string) {
	if len(t.starts) == 0 {
		t.starts = append(t.starts, 0)
	}

	t.bytes = append(t.bytes, s...)
	t.starts = append(t.starts, uint32(len(t.bytes)))
}

// find returns the number of s in a sorted list, which is its position, or the number with which it would be
// inserted.
func (t *texts) find(s string) (number int, found bool) {
	return sort.Find(t.len(), func(i int) int { return strings.Compare(s, t.at(i)) })
}

// prefixed returns the range of the strings of a sorted list that begin with
// the prefix.
func (t *texts) prefixed(prefix string) (from, to int) {
	from, _ = t.find(prefix)
	to = from + sort.Search(t.len()-from, func(i int) bool { return !strings.HasPrefix(t.at(from+i), prefix) })
	return from, to
}
