package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
)

// TestLongLists checks lists with more than 10,000 listings: numbered pages end at
// page.MaxExact, cursors return every listing once, and totals are exact.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("seeds ten thousand listings")
	}

	onEachSetupIfHeavy(t, func(t *testing.T, server *testServer) {
		server.run(t, "seed", "--listings", "12500") // some of them are not public

		guest := server.guest(t)
		require.Eventually(t, func() bool { // the server notices the new listings and builds its index again
			return guest.get("/api/listings?limit=1").ok(200).number("data.pagination.total") > page.MaxExact
		}, time.Minute, 50*time.Millisecond)

		res := guest.get("/api/listings?limit=100&page=100").ok(200)
		require.Len(t, res.list("data.listings"), 100, "the last page that has a number")
		guest.get("/api/listings?limit=100&page=101").invalid("page")
		require.NotContains(t, res.at("data"), "totalIsEstimate")
		require.Len(t, res.at("data.pagination"), 3) // page, limit and total

		seen := map[any]bool{} // by the id of the listing
		for cursor := ""; ; {
			res := guest.try("GET", "/api/listings?limit=100"+cursor, nil).ok(200)
			for _, l := range res.list("data.listings") {
				id := l.(object)["id"]
				require.False(t, seen[id], "%s twice", id)

				seen[id] = true
			}

			next, more := res.at("data").(object)["nextCursor"].(string)
			if !more {
				break
			}

			cursor = "&cursor=" + next
		}

		require.Greater(t, len(seen), page.MaxExact)
		require.Len(t, seen, res.integer("data.pagination.total"))
	})
}
