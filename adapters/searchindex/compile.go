package searchindex

import (
	"iter"
	"math"
	"sort"

	"github.com/locumhq/locum/modules/listings/search"
)

// compiler resolves expressions against a segment.
type compiler struct {
	s         *segment
	normalize func(string) string
}

func (c compiler) all(exprs []search.Expr) []node {
	nodes := make([]node, len(exprs))
	for i := range exprs {
		nodes[i] = c.node(&exprs[i])
	}
	return nodes
}

func (c compiler) node(e *search.Expr) node {
	switch e.Op {
	case search.OpAnd:
		if len(e.Args) > 0 {
			return newAnd(c.all(e.Args))
		}
	case search.OpOr:
		return newOr(c.all(e.Args))
	case search.OpNot:
		return notNode{c.node(&e.Args[0]), c.s.docs()}
	case search.OpKey:
		return c.key(e.Text)
	case search.OpWord:
		return c.union(c.members(e.Text), e.Title)
	case search.OpPrefix:
		return c.prefix(e.Text, e.Title)
	case search.OpPhrase:
		return c.phrase(e)
	case search.OpWithin:
		return c.within(*e.Point, e.Miles)
	case search.OpPay:
		return c.pay(*e.Pay)
	case search.OpPosted:
		after := e.After.UnixMicro()
		return rangeNode{uint32(sort.Search(c.s.docs(), func(i int) bool { return c.s.posted[i] < after }))}
	}
	return allNode{c.s.docs()}
}

func (c compiler) key(key string) node {
	n, found := c.s.keys.find(key)
	if !found {
		return none
	}
	return newUnion(c.s.keyPostings(), []uint32{uint32(n)})
}

// members returns the words whose normalized form is that of the given one.
func (c compiler) members(word string) []uint32 {
	n, found := c.s.norms.find(c.normalize(word))
	if !found {
		return nil
	}
	return c.s.members[c.s.starts[n]:c.s.starts[n+1]]
}

func (c compiler) union(words []uint32, title bool) node {
	if title {
		return newUnion(c.s.titlePostings(), words)
	}
	return newUnion(c.s.wordPostings(), words)
}

func (c compiler) prefix(prefix string, title bool) node {
	from, to := c.s.words.prefixed(prefix)
	words := make([]uint32, 0, to-from)
	for i := from; i < to; i++ {
		words = append(words, uint32(i))
	}
	return c.union(words, title)
}

func (c compiler) phrase(e *search.Expr) node {
	var candidates []node
	var positions [][]uint32
	for _, word := range e.Words {
		words := c.members(word)
		if e.Literal {
			words = nil
			if n, found := c.s.words.find(word); found {
				words = []uint32{uint32(n)}
			}
		}
		if len(words) == 0 {
			return none
		}
		codes := make([]uint32, len(words))
		for i, w := range words {
			codes[i] = c.s.codes[w]
		}
		positions = append(positions, codes)
		candidates = append(candidates, c.union(words, e.Title))
	}
	if len(positions) == 1 {
		return candidates[0]
	}
	for i := 1; i < len(positions); i++ {
		pairs, complete := c.pairs(positions[i-1], positions[i])
		if complete && len(positions) == 2 && !e.Title {
			return pairs
		}
		if complete {
			candidates = append(candidates, pairs)
		}
	}
	return &phraseNode{segment: c.s, candidates: newAnd(candidates), phrase: newPhrase(positions), title: e.Title}
}

// pairs matches the documents in which a code of first is followed by one of
// second. It is complete only if all of them are frequent.
func (c compiler) pairs(first, second []uint32) (n node, complete bool) {
	words := int(math.Sqrt(float64(len(c.s.pairReferences))))
	var list []uint32
	for _, a := range first {
		for _, b := range second {
			at, frequent := pairNumber(words, a, b)
			if !frequent {
				return nil, false
			}
			list = append(list, uint32(at))
		}
	}
	return newUnion(c.s.pairPostings(), list), true
}

// within reads the postings of the places in the circle if they are few, and
// else the place of each document.
func (c compiler) within(center search.Point, miles float64) node {
	s := c.s
	inside := newVector(len(s.places) + 1)
	var places []uint32
	for i := range s.placesNear(center, miles) {
		if s.places[i].Miles(center) <= miles {
			inside.set(uint32(i + 1))
			places = append(places, uint32(i))
		}
	}
	found := newUnion(s.placePostings(), places)
	if found.weight()+len(places)*s.blocks()*4 <= s.docs() {
		return found
	}
	return &columnNode{docs: s.docs(), test: func(doc uint32) uint64 { return inside.bit(s.place[doc]) }}
}

// placesNear iterates over the places in a rectangle around the circle.
func (s *segment) placesNear(center search.Point, miles float64) iter.Seq[int] {
	height := miles/69 + 0.01 // a degree of latitude has more than 69 miles
	width := 360.0
	if pole := math.Abs(center.Lat) + height; pole < 80 {
		width = height / math.Cos(pole*math.Pi/180)
	}
	return func(yield func(int) bool) {
		from := sort.Search(len(s.places), func(i int) bool { return s.places[i].Lat >= center.Lat-height })
		for i := from; i < len(s.places) && s.places[i].Lat <= center.Lat+height; i++ {
			distance := math.Abs(s.places[i].Lon - center.Lon)
			if min(distance, 360-distance) <= width && !yield(i) {
				return
			}
		}
	}
}

func (c compiler) pay(r search.PayRange) node {
	s := c.s
	if r.Max == 0 {
		r.Max = search.MaxPay
	}
	if r.Currency == "" {
		return &columnNode{docs: s.docs(), test: func(doc uint32) uint64 {
			return atLeast(int64(s.currency[doc]), 1) & atLeast(s.payMax[doc], r.Min) & atLeast(r.Max, s.payMin[doc])
		}}
	}
	n, found := s.currencies.find(r.Currency)
	if !found {
		return none
	}
	currency := uint64(n + 1)
	return &columnNode{docs: s.docs(), test: func(doc uint32) uint64 {
		differs := ((uint64(s.currency[doc]) ^ currency) + math.MaxInt64) >> 63
		return (1 - differs) & atLeast(s.payMax[doc], r.Min) & atLeast(r.Max, s.payMin[doc])
	}}
}

// atLeast returns 1 if a >= b and else 0. Neither is above search.MaxPay, so that
// their difference does not overflow.
func atLeast(a, b int64) uint64 { return uint64(a-b)>>63 ^ 1 }
