package searchindex

import (
	"math"
	"sort"

	"github.com/locumhq/locum/modules/listings/search"
)

// compiler resolves the expressions of a query against one segment: it looks up their words and keys, and
// returns nodes, which can be evaluated. Terms, places and currencies have numbers: their positions in the
// sorted lists of the segment.
type compiler struct {
	segment   *segment
	normalize func(string) string // see Options.Normalize
}

// all resolves each of the expressions.
func (c compiler) all(exprs []search.Expr) []node {
	nodes := make([]node, len(exprs))
	for i := range exprs {
		nodes[i] = c.node(&exprs[i])
	}

	return nodes
}

// node resolves an expression, which Validate has accepted.
func (c compiler) node(e *search.Expr) node {
	switch e.Op {
	case search.OpAnd:
		if len(e.Args) > 0 {
			return newAnd(c.all(e.Args))
		}
	case search.OpOr:
		return newOr(c.all(e.Args))
	case search.OpNot:
		return notNode{arg: c.node(&e.Args[0]), docs: c.segment.docs()}
	case search.OpKey:
		return c.key(e.Text)
	case search.OpWord:
		return c.union(c.members(e.Text), e.Title)
	case search.OpPrefix:
		return c.prefix(e.Text, e.Title)
	case search.OpPhrase:
		return c.phrase(e)
	case search.OpWithin:
		return newWithin(c.segment, *e.Point, e.Miles)
	case search.OpPay:
		return c.pay(*e.Pay)
	case search.OpPosted:
		// Ordinals, the positions of documents in a segment, have the order of the dates, the newest first.
		after := e.After.UnixMicro()
		end := sort.Search(c.segment.docs(), func(i int) bool { return c.segment.posted[i] < after })

		return rangeNode{end: uint32(end)}
	}

	return allNode{docs: c.segment.docs()} // OpAll, and OpAnd without arguments
}

// key matches the documents with the key.
func (c compiler) key(key string) node {
	n, found := c.segment.keys.find(key)
	if !found {
		return none
	}

	return newUnion(c.segment.keyPostings(), []uint32{uint32(n)})
}

// members returns the words that have the same normalized form as the given word.
func (c compiler) members(word string) []uint32 {
	n, found := c.segment.norms.find(c.normalize(word))
	if !found {
		return nil
	}

	return c.segment.members[c.segment.starts[n]:c.segment.starts[n+1]]
}

// union matches the documents with one of the words, in the title or else anywhere.
func (c compiler) union(words []uint32, inTitle bool) node {
	if inTitle {
		return newUnion(c.segment.titlePostings(), words)
	}

	return newUnion(c.segment.wordPostings(), words)
}

// prefix matches the documents with one of the words that begin with the prefix.
func (c compiler) prefix(prefix string, inTitle bool) node {
	from, to := c.segment.words.prefixed(prefix)

	words := make([]uint32, 0, to-from)
	for i := from; i < to; i++ {
		words = append(words, uint32(i))
	}

	return c.union(words, inTitle)
}

// phrase matches the documents with the words side by side. It works in two steps:
//
//  1. It finds candidates in the postings, the stored sets of documents. A candidate has all words of the phrase. For
//     pairs of frequent words, the segment also stores the documents in which they are neighbours, which a candidate
//     must be among.
//  2. It reads the texts of the candidates, unless the stored pairs decide already.
//
// In texts, words are represented by their codes. A literal phrase accepts only the code of the word itself at
// each position. Other phrases accept the codes of all words with the same normalized form.
func (c compiler) phrase(e *search.Expr) node {
	var candidates []node // a candidate meets all these conditions

	var positions [][]uint32 // the codes that are allowed at each position of the phrase
	for _, word := range e.Words {
		words := c.members(word)
		if e.Literal {
			words = nil
			if n, found := c.segment.words.find(word); found {
				words = []uint32{uint32(n)}
			}
		}

		if len(words) == 0 {
			return none // no document has the word
		}

		codes := make([]uint32, len(words))
		for i, w := range words {
			codes[i] = c.segment.codes[w]
		}

		positions = append(positions, codes)
		candidates = append(candidates, c.union(words, e.Title))
	}

	if len(positions) == 1 {
		return candidates[0]
	}

	for i := 1; i < len(positions); i++ {
		pairs, complete := c.pairs(positions[i-1], positions[i])

		isEntirePhrase := len(positions) == 2 && !e.Title
		// The documents of a pair are those of a phrase of two words, so that no text has to be read. This is
		// not so for a phrase in the title, because the stored pairs are about the whole text.
		if complete && isEntirePhrase {
			return pairs
		}

		if complete {
			candidates = append(candidates, pairs)
		}
	}

	return &phraseNode{segment: c.segment, candidates: newAnd(candidates), phrase: newPhrase(positions), title: e.Title}
}

// pairs matches the documents in which a word with a code in first is followed directly by one with a code in second.
// The index stores only pairs of frequent words. If one of the pairs is missing, pairs returns no node and complete is
// false.
func (c compiler) pairs(first, second []uint32) (n node, complete bool) {
	// The table of pairs is a square with a row and a column for each frequent word. So the number of these words is the
	// root of the number of references.
	words := int(math.Sqrt(float64(len(c.segment.pairReferences))))

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

	return newUnion(c.segment.pairPostings(), list), true
}

// pay matches the documents whose pay overlaps the range, in the currency of the range or any.
func (c compiler) pay(r search.PayRange) node {
	if r.Max == 0 { // no maximum
		r.Max = search.MaxPay
	}

	pay := &payNode{min: c.segment.payMin, max: c.segment.payMax, low: r.Min, high: r.Max}
	if r.Currency == "" {
		return pay
	}

	n, found := c.segment.currencies.find(r.Currency)
	if !found {
		return none // no document has pay in this currency
	}

	hasCurrency := newUnion(c.segment.currencyPostings(), []uint32{uint32(n)})

	return newAnd([]node{hasCurrency, pay})
}
