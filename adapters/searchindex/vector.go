package searchindex

import "math/bits"

// Documents are evaluated in blocks of 65,536, so that the vectors of a query
// stay in the processor's cache.
const (
	blockDocs  = 1 << 16
	blockWords = blockDocs / wordBits // the length of the vector of a block
	wordBits   = 64                   // the bits of one number of a vector
)

// vector is a set of documents, one bit for each document: word doc/64 has it as bit doc%64. The documents are
// those of a block, counted from its first one, or those of an entire segment, a part of the index.
type vector []uint64

// newVector returns an empty set for documents with the numbers from 0 to docs-1.
func newVector(docs int) vector { return make(vector, wordsFor(docs)) }

// wordsFor returns how many words have a bit for each of the documents.
func wordsFor(docs int) int { return (docs + wordBits - 1) / wordBits }

// bit returns 1 if the set contains the document, and else 0. doc>>6 is doc/64, and doc&63 is doc%64.
func (v vector) bit(doc uint32) uint64 { return v[doc>>6] >> (doc & 63) & 1 }

// has reports whether the set contains the document.
func (v vector) has(doc uint32) bool { return v.bit(doc) == 1 }

// set adds a document.
func (v vector) set(doc uint32) { v[doc>>6] |= 1 << (doc & 63) }

// clear removes all documents.
func (v vector) clear() { clear(v) }

// fill makes the set contain the documents from 0 to docs-1 and no others. The vector must not have more words than
// these documents need.
func (v vector) fill(docs int) {
	for i := range v {
		v[i] = ^uint64(0)
	}

	surplusBits := len(v)*wordBits - docs
	if surplusBits > 0 {
		v[len(v)-1] >>= surplusBits
	}
}

// or adds the documents of o.
func (v vector) or(o vector) {
	o = o[:len(v)]
	for i := range v {
		v[i] |= o[i]
	}
}

// and removes the documents that are not in o.
func (v vector) and(o vector) {
	o = o[:len(v)]
	for i := range v {
		v[i] &= o[i]
	}
}

// andNot removes the documents of o.
func (v vector) andNot(o vector) {
	o = o[:len(v)]
	for i := range v {
		v[i] &^= o[i]
	}
}

// isEmpty reports whether the set contains no document.
func (v vector) isEmpty() bool {
	for _, w := range v {
		if w != 0 {
			return false
		}
	}

	return true
}

// count returns the number of documents in the set.
func (v vector) count() int {
	n := 0
	for _, w := range v {
		n += bits.OnesCount64(w)
	}

	return n
}

// each calls yield for each document in ascending order until yield returns
// false.
func (v vector) each(yield func(doc uint32) bool) {
	for i, w := range v {
		for ; w != 0; w &= w - 1 { // removes the lowest bit
			if !yield(uint32(i<<6 + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// counters hold a number, the cost, for each document of a block. The numbers are stored bit by bit: the vector
// c[b], a plane, has bit b of the numbers of all documents. So one operation changes the numbers of 64 documents.
type counters []vector

// add adds n to the numbers of the documents of v. It uses carry as scratch memory.
func (c counters) add(v vector, n int, carry vector) {
	for b := 0; n>>b != 0; b++ {
		isBitSet := n>>b&1 == 1
		if !isBitSet {
			continue
		}

		// Add bit b to its plane. Where both bits were 1, the sum is 0, and 1 is carried to the plane of the next bit.
		copy(carry, v)

		for p := b; p < len(c) && !carry.isEmpty(); p++ {
			plane := c[p][:len(carry)]
			for i, added := range carry {
				carry[i] = added & plane[i]
				plane[i] ^= added
			}
		}
	}
}

// get returns the number of one document.
func (c counters) get(doc uint32) uint64 {
	n := uint64(0)
	for b, plane := range c {
		n |= plane[doc>>6] >> (doc & 63) & 1 << b
	}

	return n
}

// compare compares the numbers of the documents in the set equal with n. Afterwards, equal contains the documents whose
// number is n, and greater those whose number is greater.
func (c counters) compare(n uint64, equal, greater vector) {
	greater.clear()

	// Go from the highest bit to the lowest. Before each bit, equal has the documents whose higher bits are those of n.
	// If the bit of n is 0, documents with the bit are greater. If it is 1, documents without the bit are less.
	for b := len(c) - 1; b >= 0; b-- {
		plane := c[b][:len(equal)]
		if n>>b&1 != 0 {
			equal.and(plane)
			continue
		}

		for i, p := range plane {
			greater[i] |= equal[i] & p
			equal[i] &^= p
		}
	}

	hasMoreBits := n>>len(c) != 0 // n is above every number
	if hasMoreBits {
		greater.clear()
		equal.clear()
	}
}
