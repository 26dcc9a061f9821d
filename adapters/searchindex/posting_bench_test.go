package searchindex

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// BenchmarkPosting compares postings with the Roaring bitmaps of
// github.com/RoaringBitmap/roaring on 1,000,000 documents: 10 lists of each
// density, and the operations of a query. Both read their lists from bytes, as
// from a mapped file.
func BenchmarkPosting(b *testing.B) {
	const docs, lists = 1_000_000, 10
	for _, density := range []float64{0.0002, 0.01, 0.3} {
		r := rand.New(rand.NewPCG(1, 2))
		ordinals := make([][]uint32, lists)

		own, theirs := make([][]byte, lists), make([][]byte, lists)
		for i := range ordinals {
			ordinals[i] = randomDocs(r, docs, density)
			own[i], theirs[i] = appendPosting(nil, ordinals[i]), roaringBytes(b, ordinals[i])
		}

		mask := newVector(docs)
		mask.fill(docs)

		for _, c := range []struct {
			operation   string
			own, theirs func() int
		}{
			{
				"build",
				func() int { return len(appendPosting(nil, ordinals[0])) },
				func() int { return len(roaringBytes(b, ordinals[0])) },
			},
			{
				"union",
				func() int {
					return countBlocks(docs, func(e *evaluation, out vector) { unite(e, mask.block(e), own, out) })
				},
				func() int { return int(roaring.FastOr(readRoaring(b, theirs)...).GetCardinality()) },
			},
			{
				"intersection",
				func() int {
					return countBlocks(docs, func(e *evaluation, out vector) { intersect(e, mask.block(e), own[:3], out) })
				},
				func() int { return int(roaring.FastAnd(readRoaring(b, theirs[:3])...).GetCardinality()) },
			},
			{
				"union-of-5-and-union-of-5",
				func() int {
					return countBlocks(docs, func(e *evaluation, out vector) {
						first := e.vector()
						unite(e, mask.block(e), own[:5], first)
						unite(e, first, own[5:], out)
					})
				},
				func() int {
					list := readRoaring(b, theirs)
					return int(roaring.FastOr(list[:5]...).AndCardinality(roaring.FastOr(list[5:]...)))
				},
			},
		} {
			if c.operation != "build" && c.own() != c.theirs() {
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

// benchVersions make up the size of a segment without documents.
var benchVersions [1_000_000]int64

// countBlocks evaluates all blocks and counts the documents found.
func countBlocks(docs int, eval func(e *evaluation, out vector)) int {
	e := evaluations.Get().(*evaluation)
	defer evaluations.Put(e)

	s := &segment{versions: benchVersions[:docs]}

	n := 0
	for block := range s.blocks() {
		e.begin(s, block)

		out := e.vector()
		eval(e, out)

		n += out.count()

		e.release(0)
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
