package searchindex

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// BenchmarkPosting compares the postings of this package, compressed sets of documents, with the Roaring bitmaps of
// github.com/RoaringBitmap/roaring. For each density, the share of 1,000,000 documents that a set contains, it makes 10
// random sets. It measures building one of them, and the unions and intersections that a query needs. Both
// implementations read their sets from bytes, as from a mapped file.
func BenchmarkPosting(b *testing.B) {
	const docs, sets = 1_000_000, 10
	for _, density := range []float64{0.0002, 0.01, 0.3} {
		random := rand.New(rand.NewPCG(1, 2))
		ordinals := make([][]uint32, sets) // the numbers of the documents in each set

		ownSets, roaringSets := make([][]byte, sets), make([][]byte, sets) // as in files
		for i := range ordinals {
			ordinals[i] = randomDocs(random, docs, density)
			ownSets[i], roaringSets[i] = appendPosting(nil, ordinals[i]), roaringBytes(b, ordinals[i])
		}

		// Operations can be limited to the documents of a mask. Here, the mask has all documents.
		allDocs := newVector(docs)
		allDocs.fill(docs)

		// The functions of both implementations return the number of documents that they find. "build" returns the size
		// of the set in bytes instead.
		for _, c := range []struct {
			operation   string
			own, theirs func() int
		}{
			{
				operation: "build",
				own:       func() int { return len(appendPosting(nil, ordinals[0])) },
				theirs:    func() int { return len(roaringBytes(b, ordinals[0])) },
			},
			{
				operation: "union",
				own: func() int {
					return countBlocks(docs, func(e *evaluation, out vector) { unite(e, allDocs.block(e), ownSets, out) })
				},
				theirs: func() int { return int(roaring.FastOr(readRoaring(b, roaringSets)...).GetCardinality()) },
			},
			{
				operation: "intersection",
				own: func() int {
					return countBlocks(docs, func(e *evaluation, out vector) { intersect(e, allDocs.block(e), ownSets[:3], out) })
				},
				theirs: func() int { return int(roaring.FastAnd(readRoaring(b, roaringSets[:3])...).GetCardinality()) },
			},
			{
				operation: "union-of-5-and-union-of-5", // the documents that are in both unions
				own: func() int {
					return countBlocks(docs, func(e *evaluation, out vector) {
						first := e.vector()
						unite(e, allDocs.block(e), ownSets[:5], first)
						unite(e, first, ownSets[5:], out)
					})
				},
				theirs: func() int {
					bitmaps := readRoaring(b, roaringSets)
					return int(roaring.FastOr(bitmaps[:5]...).AndCardinality(roaring.FastOr(bitmaps[5:]...)))
				},
			},
		} {
			countsDocs := c.operation != "build"
			if countsDocs && c.own() != c.theirs() {
				b.Fatalf("%s of density %v: %d documents, expected %d", c.operation, density, c.own(), c.theirs())
			}

			for name, run := range map[string]func() int{"own": c.own, "roaring": c.theirs} {
				b.Run(fmt.Sprintf("%v/%s/%s", density, c.operation, name), func(b *testing.B) {
					b.ReportAllocs()

					for b.Loop() {
						run()
					}
				})
			}
		}
	}
}

// roaringBytes returns a Roaring bitmap of the documents in its format for files.
func roaringBytes(t testing.TB, docs []uint32) []byte {
	data, err := roaring.BitmapOf(docs...).ToBytes()
	if err != nil {
		t.Fatal(err)
	}

	return data
}

// readRoaring returns the Roaring bitmaps of files, without copying their content.
func readRoaring(t testing.TB, data [][]byte) []*roaring.Bitmap {
	list := make([]*roaring.Bitmap, len(data))
	for i, b := range data {
		list[i] = roaring.New()
		if _, err := list[i].FromBuffer(b); err != nil {
			t.Fatal(err)
		}
	}

	return list
}

// benchVersions is the column of the versions of documents. A segment takes its number of documents from the length of
// this column, so that a segment for a benchmark needs no other column.
var benchVersions [1_000_000]int64

// countBlocks calls eval for each block of a segment and returns how many documents the calls have found. docs is the number
// of documents of the segment.
func countBlocks(docs int, eval func(e *evaluation, out vector)) int {
	e := evaluations.Get().(*evaluation)
	defer evaluations.Put(e)

	s := &segment{versions: benchVersions[:docs]}

	n := 0
	for block := range s.blocks() {
		e.begin(s, block)

		mark := e.mark()

		out := e.vector()
		eval(e, out)

		n += out.count()

		e.release(mark) // frees out, and the vectors that eval has taken
	}

	return n
}

// unite sets out to the documents of mask that are in any of the lists.
func unite(e *evaluation, mask vector, lists [][]byte, out vector) {
	out.clear()

	for _, data := range lists {
		p := readPosting(data)
		p.addTo(e.block, mask, out)
	}
}

// intersect sets out to the documents of mask that are in all lists.
func intersect(e *evaluation, mask vector, lists [][]byte, out vector) {
	copy(out, mask)

	for _, data := range lists {
		found := e.vector()
		found.clear()

		p := readPosting(data)
		p.addTo(e.block, out, found)
		copy(out, found)
	}
}
