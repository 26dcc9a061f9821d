package searchindex

import "math/bits"

// Documents are evaluated in blocks of 65,536, so that the vectors of a query
// stay in the processor's cache.
const (
	blockDocs  = 1 << 16
	blockWords = blockDocs / 64
)

// vector is a set of documents as one bit each.
type vector []uint64

func newVector(docs int) vector { return make(vector, (docs+63)/64) }

func (v vector) bit(doc uint32) uint64 { return v[doc>>6] >> (doc & 63) & 1 }
func (v vector) has(doc uint32) bool   { return v.bit(doc) == 1 }
func (v vector) set(doc uint32)        { v[doc>>6] |= 1 << (doc & 63) }

func (v vector) clear() { clear(v) }

// fill sets the first docs bits and clears the others.
func (v vector) fill(docs int) {
	for i := range v {
		v[i] = ^uint64(0)
	}

	if rest := len(v)*64 - docs; rest > 0 {
		v[len(v)-1] >>= rest
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

func (v vector) isEmpty() bool {
	for _, w := range v {
		if w != 0 {
			return false
		}
	}

	return true
}

func (v vector) count() int {
	n := 0
	for _, w := range v {
		n += bits.OnesCount64(w)
	}

	return n
}

// each calls yield for each document in ascending order until it returns
// false.
func (v vector) each(yield func(doc uint32) bool) {
	for i, w := range v {
		for ; w != 0; w &= w - 1 {
			if !yield(uint32(i<<6 + bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// counters hold a number for each document of a block, bit by bit: planes[b]
// has bit b of the numbers.
type counters []vector

// add adds n to the documents of v. It uses carry as scratch.
func (c counters) add(v vector, n int, carry vector) {
	for b := 0; n>>b != 0; b++ {
		if n>>b&1 == 0 {
			continue
		}

		copy(carry, v)

		for p := b; p < len(c) && !carry.isEmpty(); p++ {
			plane := c[p][:len(carry)]
			for i, in := range carry {
				carry[i] = in & plane[i]
				plane[i] ^= in
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

// compare narrows equal, a set of documents, to those whose number is n, and
// sets greater to those of the set whose number is greater.
func (c counters) compare(n uint64, equal, greater vector) {
	greater.clear()

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

	if n>>len(c) != 0 {
		greater.clear()
		equal.clear()
	}
}
