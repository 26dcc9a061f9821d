package searchindex

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// TestSortOrder_First_EqualsSorting compares the documents that are looked up in
// the order of all documents with those of sorting the set.
func TestSortOrder_First_EqualsSorting(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	var docs []*search.Document
	for i := range 3000 {
		d := &search.Document{ID: fmt.Sprint(i), PostedAt: benchStart.AddDate(0, 0, -r.IntN(50))}
		if r.IntN(4) > 0 {
			d.SortTitle, d.SortLocation = fmt.Sprint(r.IntN(40)), fmt.Sprint(r.IntN(400))
			d.Pay = &search.PayRange{Min: int64(r.IntN(100)), Max: int64(100 + r.IntN(9)), Currency: []string{"EUR", "GBP"}[r.IntN(2)]}
			d.Point = &search.Point{Lat: 50 + float64(r.IntN(20))/10, Lon: float64(r.IntN(60)-30) / 10}
			if r.IntN(10) == 0 {
				d.Point = &search.Point{Lat: r.Float64()*180 - 90, Lon: r.Float64()*360 - 180}
			}
		}
		docs = append(docs, d)
	}
	s, err := build(docs, trimS)
	require.NoError(t, err)
	for range 300 {
		q := search.Query{From: &search.Point{Lat: 51, Lon: float64(r.IntN(5))}, Sort: search.Sort{
			By:         []search.SortKey{search.SortDate, search.SortPay, search.SortTitle, search.SortLocation, search.SortDistance}[r.IntN(5)],
			Descending: r.IntN(2) == 0, Currency: []string{"", "GBP", "USD"}[r.IntN(3)],
		}}
		order := newSortOrder(s, &q)
		set := newVector(s.docs())
		var want []item
		for _, doc := range randomDocs(r, s.docs(), r.Float64()) {
			set.set(doc)
			want = append(want, item{order.key(doc), doc})
		}
		slices.SortFunc(want, compareItems)
		var b *bound
		if n := r.IntN(len(want) + 1); n < len(want) {
			b = &bound{key: want[n].key, doc: want[n].doc}
			want = want[n:]
		}
		n := 1 + r.IntN(100)
		got, complete := order.first(set, b, n, s.docs())
		require.True(t, complete)
		require.Equal(t, want[:min(n, len(want))], got, "%+v after %+v", q.Sort, b)
		if len(want) > n {
			_, complete = order.first(set, b, n, n-1)
			require.False(t, complete && want[n-1].key != last, "limit")
		}
	}
}
