package searchindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// TestSortOrder_First_EqualsSorting compares the documents that are looked up in the order of all
// documents with those of sorting the set, from a random position on. Few dates, titles and places
// make many of them equal, and a quarter of the documents have no value and come last.
func TestSortOrder_First_EqualsSorting(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(7, 8))

	var docs []*search.Document
	for i := range 3000 {
		document := &search.Document{ID: fmt.Sprint(i), PostedAt: benchStart.AddDate(0, 0, -random.IntN(50))}
		if random.IntN(4) > 0 {
			document.SortTitle, document.SortLocation = fmt.Sprint(random.IntN(40)), fmt.Sprint(random.IntN(400))
			document.Pay = &search.PayRange{
				Min:      int64(random.IntN(100)),
				Max:      int64(100 + random.IntN(9)),
				Currency: []string{"EUR", "GBP"}[random.IntN(2)],
			}

			document.Point = &search.Point{Lat: 50 + float64(random.IntN(20))/10, Lon: float64(random.IntN(60)-30) / 10}
			if random.IntN(10) == 0 {
				document.Point = &search.Point{Lat: random.Float64()*180 - 90, Lon: random.Float64()*360 - 180}
			}
		}

		docs = append(docs, document)
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)

	for range 300 {
		query := search.Query{
			From: &search.Point{Lat: 51, Lon: float64(random.IntN(5))},
			Sort: search.Sort{
				By: []search.SortKey{
					search.SortDate, search.SortPay, search.SortTitle, search.SortLocation,
					search.SortDistance,
				}[random.IntN(5)],
				Descending: random.IntN(2) == 0, Currency: []string{"", "GBP", "USD"}[random.IntN(3)],
			},
		}
		order := newSortOrder(segment, &query)
		set := newVector(segment.docs())

		var want []item
		for _, doc := range randomDocs(random, segment.docs(), random.Float64()) {
			set.set(doc)

			want = append(want, item{order.key(doc), doc})
		}

		slices.SortFunc(want, compareItems)

		var b *bound
		if n := random.IntN(len(want) + 1); n < len(want) {
			b = &bound{key: want[n].key, doc: want[n].doc}
			want = want[n:]
		}

		n := 1 + random.IntN(100)
		got, complete := order.firstHits(set, b, n, segment.docs())
		require.True(t, complete)
		require.Equal(t, want[:min(n, len(want))], got, "%+v after %+v", query.Sort, b)

		if len(want) > n {
			// n hits cannot be found among n-1 documents, unless some have no value: these need no search.
			_, complete = order.firstHits(set, b, n, n-1)
			require.False(t, complete && want[n-1].key != keyWithoutValue, "limit")
		}
	}
}
