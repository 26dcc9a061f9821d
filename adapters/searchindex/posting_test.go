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

// TestPosting_EqualsRoaringBitmap compares all operations of a posting with a Roaring bitmap of the same documents. A
// posting is a compressed set of documents. It stores each block of documents as a sorted array, or as a bitmap if
// the set contains more than 0.0625 of the block. The probabilities produce empty postings, arrays, bitmaps, densities
// just below and above the limit between them, and full blocks. The last block is incomplete.
func TestPosting_EqualsRoaringBitmap(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(1, 2))

	const (
		blocks    = 4
		lastBlock = 777 // any number that does not fill the last block
		docs      = (blocks-1)*blockDocs + lastBlock
		singleDoc = 0.000_01 // instead of a probability: a set of one document
	)
	for _, probability := range []float64{0, singleDoc, 0.001, 0.05, 0.07, 0.9, 1} {
		set, mask := randomDocs(random, docs, probability), randomDocs(random, docs, 0.5)
		if probability == singleDoc {
			set = []uint32{blockDocs + 3} // in the second block
		}

		// The expected results: the set, and its intersection with the mask.
		wantSet, wantBoth := roaring.BitmapOf(set...), roaring.BitmapOf(mask...)
		wantBoth.And(wantSet)

		// Write the posting to bytes and read it again.
		stored := appendPosting(nil, set)
		list := readPosting(stored)
		require.Equal(t, set, list.appendTo(nil), "documents with probability %v", probability)

		// From here, check a set of one document in its other form, which stores the document itself and no blocks.
		if len(set) == 1 {
			list = posting{count: 1, single: set[0]}
		}

		require.Equal(t, int(wantSet.GetCardinality()), list.count, "probability %v", probability)

		// Intersect the posting with the mask, one block after the other.
		masked, found := newVector(docs), newVector(docs)
		for _, doc := range mask {
			masked.set(doc)
		}

		for block := range blocks {
			from, to := block*blockWords, min((block+1)*blockWords, len(found))
			list.addTo(block, masked[from:to], found[from:to])
		}

		const copiesBits = true
		require.True(t, wantBoth.Equals(roaring.FromDense(found, copiesBits)), "intersection with probability %v", probability)
		require.Equal(t, int(wantBoth.GetCardinality()), list.countIn(masked), "probability %v", probability)

		// Look up single documents.
		for range 1000 {
			doc := uint32(random.IntN(docs))
			require.Equal(t, wantSet.Contains(doc), list.has(doc), "document %d with probability %v", doc, probability)
		}
	}
}

// TestCounters_EqualNumbers compares counters with ordinary numbers. Counters hold a number for each document, and
// bit b of all numbers is one vector: so a cost is added to many documents at once. Seven bits are enough for the
// greatest sum of the costs, 121. The counters are also compared with numbers of more than seven bits.
func TestCounters_EqualNumbers(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(3, 4))

	const docs, costBits = 1000, 7

	sums := make(counters, costBits)
	for b := range sums {
		sums[b] = newVector(docs)
	}

	// Add each cost to a random half of the documents, in the counters and in ordinary numbers.
	wantSums, carry := make([]uint64, docs), newVector(docs)
	for _, cost := range []int{1, 5, 12, 0, 40, 63} {
		half := newVector(docs)
		for _, doc := range randomDocs(random, docs, 0.5) {
			half.set(doc)

			wantSums[doc] += uint64(cost)
		}

		sums.add(half, cost, carry)
	}

	// Compare the sums of all documents with each number n. compare sets the documents with this sum, and those with a
	// greater one.
	const beyondBits = 1<<costBits + 12

	equal, greater := newVector(docs), newVector(docs)
	for n := range uint64(beyondBits) {
		equal.fill(docs)
		sums.compare(n, equal, greater)

		for doc, want := range wantSums {
			require.Equal(t, want, sums.get(uint32(doc)), "document %d", doc)
			require.Equal(t, want == n, equal.has(uint32(doc)), "document %d, sum %d = %d", doc, want, n)
			require.Equal(t, want > n, greater.has(uint32(doc)), "document %d, sum %d > %d", doc, want, n)
		}
	}
}

// TestVector_Fill_ClearsUnusedBits checks that fill sets no bits beyond the last document: they would be counted as
// hits. The last word of a vector has such bits if the number of documents is not a multiple of 64.
func TestVector_Fill_ClearsUnusedBits(t *testing.T) {
	t.Parallel()

	for docs := range 2*wordBits + 2 { // up to three words
		v := newVector(docs)
		v.fill(docs)
		require.Equal(t, docs, v.count(), "of %d documents", docs)
	}
}
