package searchindex

import (
	"math/bits"
	"slices"
	"sync"
)

// node is a condition of a query, resolved against one segment. A vector is a set of documents of one block, and
// a block is a range of 65,536 documents of the segment.
type node interface {
	// eval sets out to the documents of the block of e that are in mask and match. The mask contains the documents
	// that other conditions have left, so that eval does no work for the others.
	eval(e *evaluation, mask, out vector)
	// has reports whether one document matches.
	has(doc uint32) bool
	// weight estimates the work of eval. It is 0 only if no document matches.
	weight() int
}

// evaluation is the state of a query in one block, with the memory for its vectors. Scratch vectors are used like a
// stack: a function first calls mark, then vector for each vector that it needs, and at its end release with the mark.
type evaluation struct {
	block        int
	words        int                   // the length of the vectors of this block
	scratch      []*[blockWords]uint64 // all scratch vectors
	inUse        []*[blockWords]uint64 // the scratch vectors in use, the first ones of scratch
	classVectors [classRelaxed]vector  // the vectors of classVector
	// touched is a sum of the bytes that touchRecords has read. It exists only so that the
	// compiler does not remove the reads.
	touched byte
}

// evaluations is a pool, so that queries do not allocate vectors.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// begin prepares the evaluation of a block of the segment.
func (e *evaluation) begin(s *segment, block int) {
	e.block, e.words = block, wordsFor(s.blockDocs(block))
}

// vector returns a scratch vector with undefined content. The caller frees it by
// calling release with the mark that it got before.
func (e *evaluation) vector() vector {
	n := len(e.inUse)
	if n == len(e.scratch) {
		e.scratch = append(e.scratch, new([blockWords]uint64))
	}

	e.inUse = append(e.inUse, e.scratch[n])

	return e.scratch[n][:e.words]
}

// counters returns scratch counters of 0.
func (e *evaluation) counters(bits int) counters {
	c := make(counters, bits)
	for b := range c {
		c[b] = e.vector()
		c[b].clear()
	}

	return c
}

// classVector returns an empty vector for all documents of a segment, whose number is docs. There is one for each
// class of exact hits.
func (e *evaluation) classVector(class, docs int) vector {
	n := wordsFor(docs)
	if cap(e.classVectors[class]) < n {
		e.classVectors[class] = make(vector, n)
	}

	v := e.classVectors[class][:n]
	v.clear()

	return v
}

// mark returns the number of scratch vectors in use, for release.
func (e *evaluation) mark() int { return len(e.inUse) }

// release frees the scratch vectors that were taken after the mark.
func (e *evaluation) release(mark int) { e.inUse = e.inUse[:mark] }

// block returns the part of a vector of the entire segment that is about the block of e.
func (v vector) block(e *evaluation) vector {
	from := e.block * blockWords
	return v[from : from+e.words]
}

// allNode matches all documents.
type allNode struct{ docs int }

// The methods eval, has and weight of each node are described at the interface node.

func (n allNode) eval(_ *evaluation, mask, out vector) { copy(out, mask) }
func (n allNode) has(uint32) bool                      { return true }
func (n allNode) weight() int                          { return n.docs }

// unionNode matches the documents of any of the numbered postings. A posting is the set of the documents with
// one term.
type unionNode struct {
	postings postings
	numbers  []uint32
	total    int // the number of their documents, of which some may be counted repeatedly
}

// newUnion returns a node for the numbered postings.
func newUnion(p postings, numbers []uint32) *unionNode {
	n := &unionNode{postings: p, numbers: numbers}
	for _, number := range numbers {
		n.total += p.count(int(number))
	}

	return n
}

// none matches no document: it is the union of no postings.
var none node = &unionNode{}

func (n *unionNode) eval(e *evaluation, mask, out vector) {
	out.clear()

	for _, number := range n.numbers {
		p := n.postings.get(int(number))
		p.addTo(e.block, mask, out)
	}
}

func (n *unionNode) has(doc uint32) bool {
	return slices.ContainsFunc(n.numbers, func(number uint32) bool {
		p := n.postings.get(int(number))
		return p.has(doc)
	})
}

func (n *unionNode) weight() int { return n.total }

// andNode matches the documents that match all of args, which are sorted by weight.
type andNode struct{ args []node }

// newAnd returns a node that matches what all args match. The argument with the lowest weight is evaluated first,
// since each one only looks at the documents that the ones before it have left.
func newAnd(args []node) node {
	if len(args) == 1 {
		return args[0]
	}

	slices.SortStableFunc(args, func(a, b node) int { return a.weight() - b.weight() })

	return &andNode{args: args}
}

func (n *andNode) eval(e *evaluation, mask, out vector) {
	defer e.release(e.mark())

	n.args[0].eval(e, mask, out)

	matches := e.vector()
	for _, arg := range n.args[1:] {
		if out.isEmpty() {
			return
		}

		arg.eval(e, out, matches)
		copy(out, matches)
	}
}

func (n *andNode) has(doc uint32) bool {
	for _, arg := range n.args {
		if !arg.has(doc) {
			return false
		}
	}

	return true
}

func (n *andNode) weight() int { return n.args[0].weight() }

// orNode matches the documents that match any of args.
type orNode struct {
	args []node
	sum  int
}

// newOr returns a node that matches what any of args matches.
func newOr(args []node) node {
	if len(args) == 1 {
		return args[0]
	}

	n := &orNode{args: args}
	for _, arg := range args {
		n.sum += arg.weight()
	}

	return n
}

func (n *orNode) eval(e *evaluation, mask, out vector) {
	defer e.release(e.mark())

	rest, matches := e.vector(), e.vector()
	copy(rest, mask) // the documents that no argument has matched yet
	out.clear()

	for _, arg := range n.args {
		arg.eval(e, rest, matches)
		out.or(matches)
		rest.andNot(matches)
	}
}

func (n *orNode) has(doc uint32) bool {
	return slices.ContainsFunc(n.args, func(arg node) bool { return arg.has(doc) })
}

func (n *orNode) weight() int { return n.sum }

// notNode matches the documents that arg does not match.
type notNode struct {
	arg  node
	docs int
}

func (n notNode) eval(e *evaluation, mask, out vector) {
	defer e.release(e.mark())

	found := e.vector()
	n.arg.eval(e, mask, found)
	copy(out, mask)
	out.andNot(found)
}

func (n notNode) has(doc uint32) bool { return !n.arg.has(doc) }
func (n notNode) weight() int         { return n.docs }

// rangeNode matches the documents with an ordinal below end. An ordinal is the position of a document in its
// segment, where the newest document is the first.
type rangeNode struct{ end uint32 }

func (n rangeNode) eval(e *evaluation, mask, out vector) {
	keepBelow(out, mask, int(n.end)-e.block*blockDocs)
}

func (n rangeNode) has(doc uint32) bool { return doc < n.end }
func (n rangeNode) weight() int         { return int(n.end) }

// keepBelow sets out to the documents of mask below end.
func keepBelow(out, mask vector, end int) {
	for i, w := range mask {
		docsBelow := end - i*wordBits // how many of the documents of this word, the first ones, are below end
		switch {
		case docsBelow <= 0:
			out[i] = 0
		case docsBelow < wordBits:
			out[i] = w & (1<<docsBelow - 1)
		default:
			out[i] = w
		}
	}
}

// phraseNode matches the documents whose text contains a phrase. It reads the texts of the candidates, which are
// the documents that contain all words of the phrase.
type phraseNode struct {
	segment    *segment
	candidates node
	phrase     phrase
	title      bool // whether the phrase has to be in the title
}

// minParallelTexts is the number of texts in a block from which on half of them are
// read by another goroutine.
const minParallelTexts = 1024

func (n *phraseNode) eval(e *evaluation, mask, out vector) {
	n.candidates.eval(e, mask, out)

	firstDoc := uint32(e.block * blockDocs)
	if out.count() < minParallelTexts {
		e.touched += n.filter(firstDoc, out)
		return
	}

	// There are many texts to read. Another goroutine filters the second half of them. A panic there, for example
	// because a file of the index is damaged, is returned to this goroutine.
	half := len(out) / 2
	type result struct {
		touched byte
		failure any
	}

	secondHalf := make(chan result, 1)
	go func() {
		var touched byte
		defer func() { secondHalf <- result{touched: touched, failure: recover()} }()

		touched = n.filter(firstDoc+uint32(half)*wordBits, out[half:])
	}()

	e.touched += n.filter(firstDoc, out[:half])

	second := <-secondHalf
	if second.failure != nil {
		panic(second.failure) // in this goroutine, whose caller recovers from it
	}

	e.touched += second.touched
}

// filter removes the documents without the phrase from a vector that begins at firstDoc. It returns the
// sum of what touchRecords returns.
func (n *phraseNode) filter(firstDoc uint32, v vector) (touched byte) {
	for i, word := range v {
		if word == 0 {
			continue
		}

		first := firstDoc + uint32(i)*wordBits // the document of the lowest bit of the word

		touched += n.segment.touchRecords(first, word)
		for ; word != 0; word &= word - 1 { // removes the lowest bit
			bit := bits.TrailingZeros64(word)
			if !n.contains(first + uint32(bit)) {
				v[i] &^= 1 << bit
			}
		}
	}

	return touched
}

// contains reports whether the text of a document, or its title, has the phrase.
func (n *phraseNode) contains(doc uint32) bool {
	title, text := n.segment.record(doc)
	if n.title {
		text = title
	}

	return n.phrase.matches(text)
}

func (n *phraseNode) has(doc uint32) bool { return n.candidates.has(doc) && n.contains(doc) }

// weight is greater than that of most conditions, because it includes the number of all documents. So conditions that
// read no texts are usually evaluated first.
func (n *phraseNode) weight() int { return n.segment.docs() + n.candidates.weight() }

// payNode matches the documents whose pay range overlaps the range from low to high. It tests them
// without a branch: the processor would mispredict half of the branches, which is slow.
type payNode struct {
	min, max  []int64 // the pay of each document, -1 if it is not stated
	low, high int64
}

func (n *payNode) eval(e *evaluation, mask, out vector) {
	first := e.block * blockDocs
	for i, w := range mask {
		matches := uint64(0)
		for ; w != 0; w &= w - 1 { // removes the lowest bit
			bit := bits.TrailingZeros64(w)
			matches |= n.test(first+i*wordBits+bit) << bit
		}

		out[i] = matches
	}
}

// test returns 1 if a document matches, and 0 otherwise. The ranges overlap if max >= low and high >= min. Then
// neither of the differences max-low and high-min is negative, and the sign bit of both is 0. No number is above
// search.MaxPay, so that the differences do not overflow.
func (n *payNode) test(doc int) uint64 {
	return uint64((n.max[doc]-n.low)|(n.high-n.min[doc]))>>63 ^ 1
}

func (n *payNode) has(doc uint32) bool { return n.test(int(doc)) == 1 }
func (n *payNode) weight() int         { return len(n.min) }
