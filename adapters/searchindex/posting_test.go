package searchindex

import (
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/stretchr/testify/require"
)

// randomDocs returns sorted ordinals below n, each with the probability p.
func randomDocs(r *rand.Rand, n int, p float64) []uint32 {
	var docs []uint32
	for i := range n {
		if r.Float64() < p {
			docs = append(docs, uint32(i))
		}
	}

	return docs
}

// TestPosting_EqualsRoaringBitmap compares all operations of a posting with a Roaring bitmap of the same
// documents. The probabilities produce empty postings, arrays and bitmaps on both sides of the limit
// between them (.0625 of a block), and full blocks; the last block is incomplete.
func TestPosting_EqualsRoaringBitmap(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(1, 2))

	const (
		blocks    = 4
		docs      = (blocks-1)*blockDocs + 777
		singleDoc = 0.000_01 // stands for a set of one document
	)
	for _, p := range []float64{0, singleDoc, 0.001, 0.05, 0.07, 0.9, 1} {
		set, mask := randomDocs(random, docs, p), randomDocs(random, docs, 0.5)
		if p == singleDoc {
			set = []uint32{blockDocs + 3} // in the second block
		}

		wantSet, wantBoth := roaring.BitmapOf(set...), roaring.BitmapOf(mask...)
		wantBoth.And(wantSet)

		list := readPosting(appendPosting(nil, set))
		require.Equal(t, set, list.appendTo(nil), "%v", p)

		if len(set) == 1 {
			list = posting{count: 1, single: set[0]} // the form without containers
		}

		require.Equal(t, int(wantSet.GetCardinality()), list.count)

		// Intersect the posting with the mask, one block after the other.
		masked, found := newVector(docs), newVector(docs)
		for _, doc := range mask {
			masked.set(doc)
		}

		for block := range blocks {
			from, to := block*blockWords, min((block+1)*blockWords, len(found))
			list.addTo(block, masked[from:to], found[from:to])
		}

		require.True(t, wantBoth.Equals(roaring.FromDense(found, true)), "%v", p)
		require.Equal(t, int(wantBoth.GetCardinality()), list.countIn(masked))

		// Look up single documents.
		for range 1000 {
			doc := uint32(random.IntN(docs))
			require.Equal(t, wantSet.Contains(doc), list.has(doc))
		}
	}
}

// TestCounters_EqualNumbers compares counters, which add a cost to many documents bit by bit, with
// ordinary numbers. Seven bits hold the sum of all costs, 121; greater numbers are compared too.
func TestCounters_EqualNumbers(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(3, 4))

	const docs, costBits = 1000, 7

	c := make(counters, costBits)
	for b := range c {
		c[b] = newVector(docs)
	}

	// Add each number to half of the documents.

	numbers, carry := make([]uint64, docs), newVector(docs)
	for _, n := range []int{1, 5, 12, 0, 40, 63} {
		v := newVector(docs)
		for _, doc := range randomDocs(random, docs, 0.5) {
			v.set(doc)

			numbers[doc] += uint64(n)
		}

		c.add(v, n, carry)
	}

	const beyondBits = 1<<costBits + 12

	equal, greater := newVector(docs), newVector(docs)
	for n := range uint64(beyondBits) {
		equal.fill(docs)
		c.compare(n, equal, greater)

		for doc, want := range numbers {
			require.Equal(t, want, c.get(uint32(doc)))
			require.Equal(t, want == n, equal.has(uint32(doc)))
			require.Equal(t, want > n, greater.has(uint32(doc)))
		}
	}
}

// TestVector_Fill_ClearsUnusedBits checks that the bits of the last word beyond the last document remain
// 0: they would be counted as hits. 130 is more than two words of 64 bits.
func TestVector_Fill_ClearsUnusedBits(t *testing.T) {
	t.Parallel()

	for docs := range 130 {
		v := newVector(docs)
		v.fill(docs)
		require.Equal(t, docs, v.count())
	}
}
