package searchindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// sortDocument returns document i with random values. The dates, titles and places come from few values, so that
// many documents are equal in them. A quarter of the documents have a date only: no title, location, pay or place.
// The dates are the 50 days up to benchStart, a fixed date that the tests and the benchmarks of the package share.
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

// randomSort returns a query with a random sort. Sorts by pay are in any currency, in one that some documents have,
// or in USD, which no document has.
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

// TestSortOrder_FirstHits_EqualsSorting compares two ways to find the first documents of a set, the hits of a query.
// firstHits goes through all documents of a segment in their stored order and picks those of the set. The test
// itself sorts the documents of the set. Both begin at a random document of the set, as a later page does.
func TestSortOrder_FirstHits_EqualsSorting(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(7, 8))

	// Build a segment of random documents. trimS normalizes the words of texts, which these documents do not have.
	const documents, queries, maxPageSize = 3000, 300, 100

	var docs []*search.Document
	for i := range documents {
		docs = append(docs, sortDocument(random, i))
	}

	segment, err := build(docs, trimS)
	require.NoError(t, err)

	for range queries {
		query := randomSort(random)
		order := newSortOrder(segment, &query)

		// Sort a random set of documents.
		hits := newVector(segment.docs())
		shareOfDocs := random.Float64()

		var sorted []item
		for _, doc := range randomDocs(random, segment.docs(), shareOfDocs) {
			hits.set(doc)

			sorted = append(sorted, item{key: order.key(doc), doc: doc})
		}

		slices.SortFunc(sorted, compareItems)

		// Begin the page at a random document of the set. If first is the number of documents, the page has no bound
		// and begins at the first document.
		var begin *bound
		if first := random.IntN(len(sorted) + 1); first < len(sorted) {
			begin = &bound{key: sorted[first].key, doc: sorted[first].doc}
			sorted = sorted[first:]
		}

		// Without a limit of visited documents, firstHits returns the same page as sorting.
		pageSize := 1 + random.IntN(maxPageSize)
		page, isComplete := order.firstHits(hits, begin, pageSize, segment.docs())
		require.True(t, isComplete, "firstHits may visit all documents, but gave up")
		require.Equal(t, sorted[:min(pageSize, len(sorted))], page, "%+v after %+v", query.Sort, begin)

		// If firstHits may visit fewer documents than the page has, it must give up. Pages with documents that lack
		// the value of the sort are left out: firstHits appends such documents without visiting the stored order.
		isFullPage := len(sorted) > pageSize
		if isFullPage && sorted[pageSize-1].key != keyWithoutValue {
			maxVisited := pageSize - 1
			_, isComplete = order.firstHits(hits, begin, pageSize, maxVisited)
			require.False(t, isComplete, "a page of %d documents is found after %d visited documents", pageSize, maxVisited)
		}
	}
}
