package searchindex

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"iter"
	"math"
	"sort"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

// The classes of hits, in the order of the result: all hits of a class come before those of the next one,
// whatever their sort keys. A hit is exact if it satisfies every part of the query in an exact way.
const (
	classPreferred = iota // exact hits that match Query.First
	classExact            // the other exact hits; all exact hits if the query has no First
	classRelaxed          // hits that satisfy a part of the query only approximately, sorted by cost
	classCount
)

// keyWithoutValue is the sort key of documents that lack the value by which hits are sorted.
const keyWithoutValue = math.MaxUint64

// isByCost reports whether exact hits are sorted by cost: the sum of the costs of the levels at which they
// satisfy the slots of the query.
func isByCost(s search.Sort) bool { return s.By == search.SortRelevance }

// isNewestFirst reports whether exact hits are sorted by date, the newest first. No sort keys are needed then, because
// this is the order of the ordinals, the positions of documents in a segment.
func isNewestFirst(s search.Sort) bool { return s.By == search.SortDate && s.Descending }

// sortOrder is the order of the documents of a segment for a sort that is neither by cost nor by ordinal.
type sortOrder struct {
	// key returns the sort key of a document, or keyWithoutValue if it has none. Lower keys come first. The
	// keys of titles and locations are only comparable within one segment.
	key func(doc uint32) uint64
	// docs iterates over the documents with a value whose key is at least from, in the order of their
	// keys and ordinals. It includes documents with pay in another currency, whose key is keyWithoutValue.
	docs func(from uint64) iter.Seq[uint32]
}

// ordered encodes a signed number as an unsigned key with the same order. It inverts the sign bit, because this bit is 1
// for negative numbers, which must come first.
func ordered(n int64) uint64 { return uint64(n) ^ 1<<63 }

// newSortOrder returns the order of the query. Hits with lower keys come first. For a descending order, flip inverts all
// bits of a key, so that the highest value has the lowest key.
func newSortOrder(s *segment, q *search.Query) *sortOrder {
	const allBits = math.MaxUint64

	flip := uint64(0)
	if q.Sort.Descending {
		flip = allBits
	}

	switch q.Sort.By {
	case search.SortPay:
		if q.Sort.Descending {
			return payOrder(s, s.payMax, s.byPayMax, q.Sort.Currency, flip)
		}

		return payOrder(s, s.payMin, s.byPayMin, q.Sort.Currency, flip)
	case search.SortTitle:
		return textOrder(s.title, s.byTitle, flip)
	case search.SortLocation:
		return textOrder(s.location, s.byLocation, flip)
	case search.SortDistance:
		return distanceOrder(s, *q.From, flip)
	default: // by date, the oldest first
		// All documents, in the order of their ordinals, are a list whose dates descend. The complement of the date
		// ascends, as a sortedList needs, and the list is read from its end.
		value := func(doc uint32) uint64 { return ^ordered(s.posted[doc]) }
		byOrdinal := func(i int) uint32 { return uint32(i) }
		list := sortedList{n: s.docs(), at: byOrdinal, value: value}

		return &sortOrder{key: func(doc uint32) uint64 { return ^value(doc) }, docs: list.descending}
	}
}

// textOrder is the order by a column that has, for each document, the number of its text, or 0 if it has none.
// The numbers have the alphabetical order of the texts. docs are the documents with a text, sorted by it.
func textOrder(numbers, docs []uint32, flip uint64) *sortOrder {
	value := func(doc uint32) uint64 { return uint64(numbers[doc]) }
	hasValue := func(doc uint32) bool { return numbers[doc] > 0 }
	return listOrder(docs, value, hasValue, flip)
}

// payOrder is the order by the pay in the currency, or in any currency if that is empty. docs are the documents
// with pay, sorted by it.
func payOrder(s *segment, pay []int64, docs []uint32, currency string, flip uint64) *sortOrder {
	value := func(doc uint32) uint64 { return ordered(pay[doc]) }
	if currency == "" {
		hasPay := func(doc uint32) bool { return s.currency[doc] > 0 }
		return listOrder(docs, value, hasPay, flip)
	}

	n, exists := s.currencies.find(currency)
	number := uint32(n + 1) // as in the column, where 0 means no pay
	hasCurrency := func(doc uint32) bool { return exists && s.currency[doc] == number }

	return listOrder(docs, value, hasCurrency, flip)
}

// listOrder is the order of a list of documents that is sorted by value. Documents for which
// hasValue returns false come last.
func listOrder(docs []uint32, value func(uint32) uint64, hasValue func(uint32) bool, flip uint64) *sortOrder {
	list := sortedList{n: len(docs), at: func(i int) uint32 { return docs[i] }, value: value}

	o := &sortOrder{docs: list.ascending}
	if flip != 0 {
		o.docs = list.descending
	}

	o.key = func(doc uint32) uint64 {
		if !hasValue(doc) {
			return keyWithoutValue
		}

		return value(doc) ^ flip
	}

	return o
}

// sortedList is a list of n documents sorted by value, then by ordinal. at returns the document at a
// position of the list.
type sortedList struct {
	n     int
	at    func(i int) uint32
	value func(doc uint32) uint64
}

// find returns the first position below end with at least this value, or end if there is none.
func (l sortedList) find(end int, value uint64) int {
	return sort.Search(end, func(i int) bool { return l.value(l.at(i)) >= value })
}

// ascending iterates over the documents whose value is at least from.
func (l sortedList) ascending(from uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := l.find(l.n, from); i < l.n; i++ {
			if !yield(l.at(i)) {
				return
			}
		}
	}
}

// descending iterates over the documents whose complemented value is at least from, in descending
// order of their values. Documents with equal values are in the order of their ordinals.
func (l sortedList) descending(from uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		end := l.n
		if from > 0 {
			end = l.find(l.n, ^from+1) // after the documents with the value ^from
		}

		for end > 0 {
			// Yield the range of documents with the highest value below end.
			start := l.find(end, l.value(l.at(end-1)))
			for i := start; i < end; i++ {
				if !yield(l.at(i)) {
					return
				}
			}

			end = start
		}
	}
}

// firstHits returns the first n documents of the set hits that follow b. Without a position where the page begins, b is
// nil. firstHits goes through the documents of the segment in their order and picks the hits among them. If it has
// visited maxVisited documents and not found n hits, it gives up and complete is false.
func (o *sortOrder) firstHits(hits vector, b *bound, n, maxVisited int) (items []item, complete bool) {
	from := uint64(0)
	if b != nil {
		from = b.key
	}

	visited := 0
	for doc := range o.docs(from) {
		if visited == maxVisited {
			return nil, false
		}

		visited++

		if !hits.has(doc) {
			continue
		}

		key := o.key(doc)
		isBeforePage := b != nil && !b.admits(key, doc)

		if key == keyWithoutValue || isBeforePage {
			continue
		}

		items = append(items, item{key: key, doc: doc})
		if len(items) == n {
			return items, true
		}
	}

	// Documents without a value come last.
	for doc := range hits.each {
		if o.key(doc) == keyWithoutValue && (b == nil || b.admits(keyWithoutValue, doc)) {
			items = append(items, item{key: keyWithoutValue, doc: doc})
			if len(items) == n {
				break
			}
		}
	}

	return items, true
}

// sortedTexts returns the sorted texts of a sort by title or location, and the column that has, for each
// document, the position of its text plus one. It returns nil for other sorts.
func sortedTexts(s *segment, by search.SortKey) (*texts, []uint32) {
	switch by {
	case search.SortTitle:
		return &s.titles, s.title
	case search.SortLocation:
		return &s.locations, s.location
	}

	return nil, nil
}

// ranked is a hit with a sort key that is comparable across segments.
type ranked struct {
	part  *part
	doc   uint32 // the ordinal in the segment of the part
	class int
	key   uint64 // 0 if the hit is sorted by text
	text  string // the title or location by which the hit is sorted, or empty
}

// posted and id are by what hits with equal keys and texts are sorted.
func (r *ranked) posted() int64 { return r.part.posted[r.doc] }
func (r *ranked) id() string    { return r.part.ids.at(int(r.doc)) }

// newRanked returns the hit for an item of a segment. It replaces the key of an exact hit that is sorted
// by text, because the numbers of texts differ between segments.
func newRanked(p *part, class int, it item, by search.SortKey) ranked {
	r := ranked{part: p, doc: it.doc, class: class, key: it.key}

	list, column := sortedTexts(p.segment, by)
	if list != nil && class != classRelaxed && it.key != keyWithoutValue {
		r.key, r.text = 0, list.at(int(column[it.doc]-1))
	}

	return r
}

// compareRanked orders hits of different segments: by class, key or text, and finally the newest first.
// descending inverts the texts alone, because keys are already inverted for a descending order.
func compareRanked(a, b *ranked, descending bool) int {
	byText := strings.Compare(a.text, b.text)
	if descending {
		byText = -byText
	}

	if order := cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.key, b.key), byText); order != 0 {
		return order
	}

	return cmp.Or(cmp.Compare(b.posted(), a.posted()), strings.Compare(b.id(), a.id()))
}

// cursor is the position of a hit in the order of a query. It has the date and the id of the hit and not
// its ordinal, so that it is valid in every segment and after every change. The names of its fields are
// short, since clients send it in URLs.
type cursor struct {
	By         search.SortKey `json:"b,omitempty"`
	Descending bool           `json:"d,omitempty"`
	Class      int            `json:"c"`
	Key        uint64         `json:"k,omitempty"`
	Text       string         `json:"t,omitempty"`
	Posted     int64          `json:"p"`
	ID         string         `json:"i"`
}

// newCursor returns the cursor after a hit, for Result.Next.
func newCursor(r *ranked, by search.Sort) string {
	text, _ := json.Marshal(cursor{ //nolint:errchkjson // it has numbers and texts only
		By:         by.By,
		Descending: by.Descending,
		Class:      r.class,
		Key:        r.key,
		Text:       r.text,
		Posted:     r.posted(),
		ID:         r.id(),
	})

	return base64.RawURLEncoding.EncodeToString(text)
}

// parseCursor decodes a cursor of newCursor. It returns nil for the empty text, which stands for the
// beginning. A cursor of another sort is invalid. A cursor of a relaxed hit is invalid too, because no page
// follows relaxed hits.
func parseCursor(text string, by search.Sort) (*cursor, error) {
	if text == "" {
		return nil, nil
	}

	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, search.ErrInvalidCursor
	}

	c := new(cursor)
	if err := json.Unmarshal(b, c); err != nil {
		return nil, search.ErrInvalidCursor
	}

	isSameSort := c.By == by.By && c.Descending == by.Descending
	if !isSameSort || c.Class < 0 || c.Class >= classRelaxed {
		return nil, search.ErrInvalidCursor
	}

	return c, nil
}

// bound is the position of a cursor in one segment: the place after which the page begins. The hits after it
// have a greater class, or the same class and a greater key, or the same class and key and an ordinal of at
// least doc.
type bound struct {
	class int
	key   uint64
	doc   uint32
}

// bound resolves a cursor against a segment. It looks up the number of a title or location, because
// each segment numbers its texts differently.
func (c *cursor) bound(s *segment) *bound {
	if c == nil {
		return nil
	}

	b := &bound{class: c.Class, key: c.Key, doc: s.firstAfter(c.Posted, c.ID)}

	list, _ := sortedTexts(s, c.By)
	if list == nil || c.Key == keyWithoutValue {
		return b
	}

	// The key of a text is its position plus one. If the segment does not have the text, n is the
	// position of the next one in ascending order.
	n, found := list.find(c.Text)

	b.key = uint64(n + 1)
	if c.Descending {
		if !found {
			b.key = uint64(n) // the next text in descending order, if any
		}

		b.key = ^b.key
	}

	if !found {
		b.doc = 0 // no document has the text, so that all documents of the next text follow
	}

	return b
}

// admits reports whether a document of the cursor's class follows it.
func (b *bound) admits(key uint64, doc uint32) bool {
	return key > b.key || key == b.key && doc >= b.doc
}
