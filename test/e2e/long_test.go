package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
)

// Beyond so many listings totals are estimates and pages have no numbers, but
// cursors still reach every listing once.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("seeds ten thousand listings")
	}
	everywhere(t, func(t *testing.T, w *world) {
		w.run(t, "seed", "--listings", "12500") // not all of them are public
		guest := w.guest(t)
		a := guest.get("/api/listings?limit=100&page=100").ok(200)
		require.Len(t, a.list("data.listings"), 100, "the last page that has a number")
		guest.get("/api/listings?limit=100&page=101").invalid("page")
		require.Equal(t, true, a.at("data.totalIsEstimate"))
		require.GreaterOrEqual(t, a.number("data.pagination.total"), float64(page.MaxExact))
		require.Len(t, a.at("data.pagination"), 3, "an estimate is told beside the pagination")
		require.NotContains(t, guest.get("/api/listings?limit=1&location=Leeds&radius=1").ok(200).at("data"), "totalIsEstimate")
		open := map[any]bool{}
		for cursor := ""; ; {
			a := guest.try("GET", "/api/listings?limit=100"+cursor, nil).ok(200)
			for _, l := range a.list("data.listings") {
				id := l.(object)["id"]
				require.False(t, open[id], "%s twice", id)
				open[id] = true
			}
			next, more := a.at("data").(object)["nextCursor"].(string)
			if !more {
				break
			}
			cursor = "&cursor=" + next
		}
		require.Greater(t, len(open), page.MaxExact)
		require.InEpsilon(t, len(open), a.number("data.pagination.total"), 0.2, "the estimate is about right")
	})
}
