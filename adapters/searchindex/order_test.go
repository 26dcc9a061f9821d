package searchindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// sortDocument returns document i with random values. Few dates, titles and places are different, so that many
// documents are equal in them. A quarter of the documents have no title, location, pay and place.
func sortDocument(random *rand.Rand, i int) *search.Document {
	document := &search.Document{ID: fmt.Sprint(i), PostedAt: benchStart.AddDate(0, 0, -random.IntN(50))}

	hasValues := random.IntN(4) > 0
	if !hasValues {
		return document
	}

	document.SortTitle, document.SortLocation = fmt.Sprint(random.IntN(40)), fmt.Sprint(random.IntN(400))
	document.Pay = &search.PayRange{
		Min:      int64(random.IntN(100)),
		Max:      int64(100 + random.IntN(9)),
		Currency: []string{"EUR", "GBP"}[random.IntN(2)],
	}

	// Most places are in and around England, and one in ten is anywhere.
	document.Point = &search.Point{Lat: 50 + float64(random.IntN(20))/10, Lon: float64(random.IntN(60)-30) / 10}
	if random.IntN(10) == 0 {
		document.Point = &search.Point{Lat: random.Float64()*180 - 90, Lon: random.Float64()*360 - 180}
	}

	return document
}

// randomSort returns a query with a random sort. No document has pay in USD.
func randomSort(random *rand.Rand) search.Query {
	keys := []search.SortKey{
		search.SortDate, search.SortPay, search.SortTitle, search.SortLocation, search.SortDistance,
	}

	return search.Query{
		From: &search.Point{Lat: 51, Lon: float64(random.IntN(5))},
		Sort: search.Sort{
			By:         keys[random.IntN(len(keys))],
			Descending: random.IntN(2) == 0,
			Currency:   []string{"", "GBP", "USD"}[random.IntN(3)],
		},
	}
}

// TestSortOrder_First_EqualsSorting compares two ways to find the first documents of a set: they are looked up in
// the order of all documents of the segment, and all documents of the set are sorted. The first document is at a
// random position, as on a later page.
func TestSortOrder_First_EqualsSorting(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(7, 8))

	var docs []*search.Document
	for i := range 3000 {
		docs = append(docs, sortDocument(random, i))
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)

	for range 300 {
		query := randomSort(random)
		order := newSortOrder(segment, &query)

		// Sort a random set of documents.
		set := newVector(segment.docs())

		var want []item
		for _, doc := range randomDocs(random, segment.docs(), random.Float64()) {
			set.set(doc)

			want = append(want, item{key: order.key(doc), doc: doc})
		}

		slices.SortFunc(want, compareItems)

		// Begin the page at one of them, or at the beginning.
		var begin *bound
		if first := random.IntN(len(want) + 1); first < len(want) {
			begin = &bound{key: want[first].key, doc: want[first].doc}
			want = want[first:]
		}

		limit := 1 + random.IntN(100)
		got, complete := order.firstHits(set, begin, limit, segment.docs())
		require.True(t, complete)
		require.Equal(t, want[:min(limit, len(want))], got, "%+v after %+v", query.Sort, begin)

		// The search stops after as many documents as it may visit. With one fewer than the limit, it cannot find
		// enough, unless some of them have no value: these are found without a search.
		if len(want) > limit {
			maxVisited := limit - 1
			_, complete = order.firstHits(set, begin, limit, maxVisited)
			isFoundInOrder := want[limit-1].key != keyWithoutValue
			require.False(t, complete && isFoundInOrder, "limit")
		}
	}
}
