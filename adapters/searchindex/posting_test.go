package searchindex

import (
	"math/rand/v2"
	"slices"
	"testing"

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

func TestPosting_EqualsDenseVector(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const n = 3*blockDocs + 777
	for _, p := range []float64{0, 0.000_01, 0.001, 0.05, 0.07, 0.9, 1} {
		docs, mask := randomDocs(r, n, p), newVector(n)
		if p == 0.000_01 {
			docs = []uint32{blockDocs + 3} // one document, in the second block
		}
		dense := newVector(n)
		for _, doc := range docs {
			dense.set(doc)
		}
		for _, doc := range randomDocs(r, n, 0.5) {
			mask.set(doc)
		}
		list := readPosting(appendPosting(nil, docs))
		require.Equal(t, docs, list.appendTo(nil), "%v", p)
		if len(docs) == 1 {
			list = posting{count: 1, single: docs[0]}
		}
		require.Equal(t, len(docs), list.count)
		for block := range 4 {
			words := min(blockWords, len(mask)-block*blockWords)
			part := mask[block*blockWords:][:words]
			got, want := make(vector, words), slices.Clone(dense[block*blockWords:][:words])
			want.and(part)
			list.addTo(block, part, got)
			require.Equal(t, want, got, "%v, block %d", p, block)
		}
		both := slices.Clone(dense)
		both.and(mask)
		require.Equal(t, both.count(), list.countIn(mask))
		for range 1000 {
			doc := uint32(r.IntN(n))
			require.Equal(t, dense.has(doc), list.has(doc))
		}
	}
}

func TestCounters_EqualNumbers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	const docs = 1000
	c := make(counters, 7)
	for b := range c {
		c[b] = newVector(docs)
	}
	numbers, carry := make([]uint64, docs), newVector(docs)
	for _, n := range []int{1, 5, 12, 0, 40, 63} {
		v := newVector(docs)
		for _, doc := range randomDocs(r, docs, 0.5) {
			v.set(doc)
			numbers[doc] += uint64(n)
		}
		c.add(v, n, carry)
	}
	equal, greater := newVector(docs), newVector(docs)
	for n := range uint64(140) {
		equal.fill(docs)
		c.compare(n, equal, greater)
		for doc, want := range numbers {
			require.Equal(t, want, c.get(uint32(doc)))
			require.Equal(t, want == n, equal.has(uint32(doc)))
			require.Equal(t, want > n, greater.has(uint32(doc)))
		}
	}
}

func TestVector_Fill_ClearsUnusedBits(t *testing.T) {
	t.Parallel()
	for docs := range 130 {
		v := newVector(docs)
		v.fill(docs)
		require.Equal(t, docs, v.count())
	}
}
