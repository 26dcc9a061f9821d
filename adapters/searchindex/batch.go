package searchindex

import (
	"math"
	"math/bits"
	"slices"

	"github.com/locumhq/locum/modules/listings/search"
)

// Batch is a small set of documents on which many queries are evaluated. For example, saved searches are
// evaluated on new listings. A Batch has no background work and needs not be closed. It is safe for
// concurrent use.
type Batch struct {
	parts []compiler // each for a segment of at most batchDocs documents
}

var _ search.Matcher = (*Batch)(nil)

// batchDocs is the maximum number of documents of a segment of a batch. A set of these documents is one number of 64
// bits: bit i stands for the document with the ordinal i, its position in the segment.
const batchDocs = 64

// NewBatch returns a batch of the documents. See Options for normalize.
func NewBatch(docs []*search.Document, normalize func(word string) string) (*Batch, error) {
	b := new(Batch)
	for chunk := range slices.Chunk(slices.Clone(docs), batchDocs) {
		s, err := build(chunk, normalize)
		if err != nil {
			return nil, err
		}

		b.parts = append(b.parts, compiler{segment: s, normalize: normalize})
	}

	return b, nil
}

// AppendMatches implements search.Matcher. It evaluates the query on one segment after the other.
func (b *Batch) AppendMatches(ids []string, q *search.Query) []string {
	for _, c := range b.parts {
		for found := c.exact(q); found != 0; found &= found - 1 { // removes the lowest bit
			ids = append(ids, c.segment.ids.at(bits.TrailingZeros64(found)))
		}
	}

	return ids
}

// exact returns the set of the documents that match the query exactly. A slot is a part of the query, such as the
// role. Its levels are alternative ways to satisfy it, the best first. An exact match meets all conditions in Must,
// and in each slot the first level that it satisfies is marked as exact.
func (c compiler) exact(q *search.Query) uint64 {
	found := ^uint64(0) >> (batchDocs - c.segment.docs()) // all documents
	now := q.Now.UnixMicro()

	hasExpired := len(c.segment.byDeadline) > 0 && c.segment.deadlines[c.segment.byDeadline[0]] <= now // the earliest deadline
	if hasExpired {
		found &^= c.segment.expired(now)[0] // the set has only one word
	}

	for i := range q.Must {
		found = c.match(&q.Must[i], found)
	}

	for i := range q.Slots {
		rest, exact := found, uint64(0) // rest has matched no level yet
		for _, level := range trimRelaxed(q.Slots[i].Levels) {
			if rest == 0 {
				break
			}

			matched := c.match(&level.Expr, rest)

			rest &^= matched
			if level.Exact {
				exact |= matched
			}
		}

		found = exact
		if found == 0 {
			return 0
		}
	}

	return found
}

// match returns the documents of the set mask that match the expression. It evaluates
// frequent operations without compiling them to nodes first.
func (c compiler) match(e *search.Expr, mask uint64) uint64 {
	if mask == 0 {
		return 0
	}

	switch e.Op {
	case search.OpAll:
		return mask
	case search.OpAnd:
		for i := range e.Args {
			mask = c.match(&e.Args[i], mask)
		}

		return mask
	case search.OpOr:
		unmatched := mask
		for i := range e.Args {
			unmatched &^= c.match(&e.Args[i], unmatched)
		}

		return mask &^ unmatched
	case search.OpNot:
		return mask &^ c.match(&e.Args[0], mask)
	case search.OpKey:
		n, found := c.segment.keys.find(e.Text)
		if !found {
			return 0
		}

		return c.segment.keyPostings().word(n) & mask
	case search.OpWord:
		list := c.segment.wordPostings()
		if e.Title {
			list = c.segment.titlePostings()
		}

		found := uint64(0)
		for _, n := range c.members(e.Text) {
			found |= list.word(int(n))
		}

		return found & mask
	case search.OpWithin:
		return c.matchWithin(e, mask)
	default:
		return c.matchNode(e, mask)
	}
}

// matchWithin returns the documents of mask within the circle of the expression.
func (c compiler) matchWithin(e *search.Expr, mask uint64) uint64 {
	list := c.segment.placePostings()

	found := uint64(0)
	for i, p := range c.segment.places {
		// A place too far north or south needs no distance, which takes longer to compute.
		degreesNorth := p.Lat - e.Point.Lat
		if math.Abs(degreesNorth) > e.Miles*mileDegrees {
			continue
		}

		docsAtPlace := list.word(i) & mask
		if docsAtPlace != 0 && p.Miles(*e.Point) <= e.Miles {
			found |= docsAtPlace
		}
	}

	return found
}

// matchNode compiles the other operations and evaluates them as for an index.
func (c compiler) matchNode(e *search.Expr, mask uint64) uint64 {
	ev := evaluations.Get().(*evaluation) //nolint:forcetypeassert // the pool makes no other
	defer evaluations.Put(ev)

	const allVectors = 0
	defer ev.release(allVectors)

	ev.begin(c.segment, 0) // the segment has only one block of documents

	all, found := ev.vector(), ev.vector()
	all[0] = mask
	c.node(e).eval(ev, all, found)

	return found[0]
}

// word returns the documents of the posting with the number i as the bits of a number. The segment has at most
// batchDocs documents, so few that postings always store them as arrays.
func (p postings) word(i int) uint64 {
	docs := p.get(i)
	if docs.count == 1 { // the reference to the posting contains the document
		return 1 << docs.single
	}

	word := uint64(0)
	for _, c := range docs.containers {
		for _, doc := range docs.array(c) {
			word |= 1 << doc
		}
	}

	return word
}
