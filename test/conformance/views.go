package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/listings"
)

// Views checks the port listings.Views, which counts the views of listings. A visit is a view of a listing by a visitor
// on a day. A visitor is a hash with a salt that is changed every day, so that no visitor is recognized on another day.
func Views(t *testing.T, open ListingsOpener) {
	open = withPort(open, "Views", func(s adapters.ListingsStorage) any { return s.Views })

	// countViews returns the numbers of views by listing. Listings without views are left out.
	countViews := func(t *testing.T, b *board, ids ...string) map[string]int {
		t.Helper()

		counts, err := b.Views.Get(t.Context(), b.org, ids)
		require.NoError(t, err)

		return counts
	}

	for name, test := range map[string]func(*testing.T, *board){
		// The same visitor counts once a day for each listing.
		"repeated visits": func(t *testing.T, b *board) {
			busy := b.post(t, listings.CreateInput{Title: "Busy"}).ID
			quiet := b.post(t, listings.CreateInput{Title: "Quiet"}).ID

			visits := []listings.Visit{
				{Day: "2026-03-01", ListingID: busy, Visitor: "a"},
				{Day: "2026-03-01", ListingID: busy, Visitor: "b"},
				{Day: "2026-03-02", ListingID: busy, Visitor: "a"},
				{Day: "2026-03-01", ListingID: quiet, Visitor: "a"},
			}
			for range 2 {
				require.NoError(t, b.Views.Add(t.Context(), visits))
			}

			require.Equal(t, map[string]int{busy: 3, quiet: 1}, countViews(t, b, busy, quiet))

			// Another visitor counts.
			require.NoError(t, b.Views.Add(t.Context(),
				[]listings.Visit{{Day: "2026-03-02", ListingID: quiet, Visitor: "c"}}))
			require.Equal(t, map[string]int{quiet: 2}, countViews(t, b, quiet))
		},
		// At most MaxVisitors guests of one network count for a listing in a day, so that a
		// script cannot inflate the number. Users, whose visits have no network, are not
		// limited.
		"limit per network": func(t *testing.T, b *board) {
			listing := b.post(t, listings.CreateInput{Title: "One"}).ID

			// visit adds a visit of each of the visitors with the numbers from first to end-1. A user has the empty
			// network.
			visit := func(day, network string, first, end int) {
				t.Helper()

				var visits []listings.Visit
				for number := first; number < end; number++ {
					visitor := fmt.Sprint(day, network, number)
					visits = append(visits, listings.Visit{Day: day, ListingID: listing, Visitor: visitor, Network: network})
				}

				require.NoError(t, b.Views.Add(t.Context(), visits))
			}

			// One more visitor than were counted before reaches the limit. Those who were counted do not count again.
			const maxVisitors = listings.MaxVisitors
			visit("2026-03-01", "a", 0, maxVisitors-1)
			visit("2026-03-01", "a", 0, maxVisitors+10)
			visit("2026-03-01", "a", maxVisitors+10, maxVisitors+20)
			require.Equal(t, map[string]int{listing: maxVisitors}, countViews(t, b, listing))

			// Another network reaches its own limit. Visits on another day and of users count.
			const anotherDay, users = 1, 2 * maxVisitors

			visit("2026-03-01", "b", 0, maxVisitors+1)
			visit("2026-03-02", "c", 0, anotherDay)
			visit("2026-03-01", "", 0, users)

			const bothNetworks = maxVisitors + maxVisitors
			require.Equal(t, map[string]int{listing: bothNetworks + anotherDay + users}, countViews(t, b, listing))
		},
		// Members do not count for listings of their own organization, and no views are counted for an unknown listing.
		"own and unknown listings": func(t *testing.T, b *board) {
			listing, absent := b.post(t, listings.CreateInput{Title: "One"}).ID, newID()
			require.NoError(t, b.Views.Add(t.Context(), []listings.Visit{
				{Day: "2026-03-01", ListingID: listing, Visitor: "own", OrganizationID: b.org},
				{Day: "2026-03-01", ListingID: absent, Visitor: "a"},
			}))
			require.Empty(t, countViews(t, b, listing, absent))

			// A member of another organization counts.
			require.NoError(t, b.Views.Add(t.Context(), []listings.Visit{
				{Day: "2026-03-01", ListingID: listing, Visitor: "other", OrganizationID: newID()},
			}))
			require.Equal(t, map[string]int{listing: 1}, countViews(t, b, listing, absent))

			// Another organization cannot read the number.
			counts, err := b.Views.Get(t.Context(), newID(), []string{listing})
			require.NoError(t, err)
			require.Empty(t, counts)
		},
		// Eight concurrent callers add the same visits. Each visit counts once.
		"concurrent additions": func(t *testing.T, b *board) {
			const visitors = 20
			var ids []string

			var visits []listings.Visit
			for i := range 10 {
				ids = append(ids, b.post(t, listings.CreateInput{Title: fmt.Sprint("Post ", i)}).ID)
				for visitor := range visitors {
					visits = append(visits,
						listings.Visit{Day: "2026-03-01", ListingID: ids[i], Visitor: fmt.Sprint(visitor)})
				}
			}

			runConcurrently(t, 8, func(int) error { return b.Views.Add(t.Context(), visits) })

			for id, count := range countViews(t, b, ids...) {
				require.Equal(t, visitors, count, "views of %s", id)
			}
		},
		// Old visits are deleted, but the number of views stays.
		"retention": func(t *testing.T, b *board) {
			listing := b.post(t, listings.CreateInput{Title: "One"}).ID
			require.NoError(t, b.Views.Add(t.Context(), []listings.Visit{
				{Day: "2026-02-27", ListingID: listing, Visitor: "a"},
				{Day: "2026-02-28", ListingID: listing, Visitor: "a"},
				{Day: "2026-03-01", ListingID: listing, Visitor: "a"},
			}))

			// Two visits are from before March. Calls with a limit of one delete one, one and none.
			march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
			for _, want := range []int{1, 1, 0} {
				deleted, err := retentionOf(t, b.Retention).DeleteBefore(t.Context(), listings.Visits, march, 1)
				require.NoError(t, err)
				require.Equal(t, want, deleted)
			}

			require.Equal(t, map[string]int{listing: 3}, countViews(t, b, listing))
		},
		// All processes use the salt of the day that was stored first. It is deleted with the visits of the day, after
		// which a new one is stored for the day.
		"one salt per day": func(t *testing.T, b *board) {
			first, err := b.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "one")
			require.NoError(t, err)
			require.Equal(t, "one", first)

			second, err := b.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "two")
			require.NoError(t, err)
			require.Equal(t, "one", second)

			ofNextDay, err := b.Views.GetOrCreateSalt(t.Context(), "2026-03-01", "three")
			require.NoError(t, err)
			require.Equal(t, "three", ofNextDay)

			_, err = retentionOf(t, b.Retention).DeleteBefore(t.Context(), listings.Visits,
				time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 10)
			require.NoError(t, err)

			afterDeletion, err := b.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "four")
			require.NoError(t, err)
			require.Equal(t, "four", afterDeletion)
		},
		// Listings are counted by status, deleted ones as archived.
		"count by status": func(t *testing.T, b *board) {
			b.post(t, listings.CreateInput{Title: "One"})
			b.post(t, listings.CreateInput{Title: "Two", Status: ptr("draft")})

			deleted := b.post(t, listings.CreateInput{Title: "Three"})
			require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

			counts, err := b.svc.CountByStatus(t.Context(), b.org)
			require.NoError(t, err)
			require.Equal(t, map[listings.Status]int{listings.Active: 1, listings.Draft: 1, listings.Archived: 1},
				counts)

			counts, err = b.svc.CountByStatus(t.Context(), newID())
			require.NoError(t, err)
			require.Empty(t, counts, "another organization has no listings")
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newBoard(t, open)) })
	}
}
