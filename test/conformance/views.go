package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/listings"
)

// Views checks the port listings.Views, which counts the views of listings. A visit is a view by a visitor on a day; a
// visitor is identified by a hash with the salt of the day.
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
			one := b.post(t, listings.CreateInput{Title: "One"}).ID
			otherID := b.post(t, listings.CreateInput{Title: "Other"}).ID

			visits := []listings.Visit{
				{Day: "2026-03-01", ListingID: one, Visitor: "a"}, {Day: "2026-03-01", ListingID: one, Visitor: "b"},
				{Day: "2026-03-01", ListingID: otherID, Visitor: "a"}, {Day: "2026-03-02", ListingID: one, Visitor: "a"},
			}
			for range 2 {
				require.NoError(t, b.Views.Add(t.Context(), visits))
			}

			require.Equal(t, map[string]int{one: 3, otherID: 1}, countViews(t, b, one, otherID))
			require.NoError(t, b.Views.Add(t.Context(),
				[]listings.Visit{{Day: "2026-03-02", ListingID: otherID, Visitor: "c"}}))
			require.Equal(t, map[string]int{otherID: 2}, countViews(t, b, otherID))
		},
		// At most MaxVisitors guests of one network count for a listing in a day, so that a
		// script cannot inflate the number. Users, whose visits have no network, are not
		// limited.
		"limit per network": func(t *testing.T, b *board) {
			listing := b.post(t, listings.CreateInput{Title: "One"}).ID

			// visit adds a visit of each of the visitors with the numbers from first to end-1.
			visit := func(day, network string, first, end int) {
				t.Helper()

				var visits []listings.Visit
				for number := first; number < end; number++ {
					visitor := fmt.Sprint(day, network, number)
					visits = append(visits, listings.Visit{Day: day, ListingID: listing, Visitor: visitor, Network: network})
				}

				require.NoError(t, b.Views.Add(t.Context(), visits))
			}

			const maxVisitors = listings.MaxVisitors
			visit("2026-03-01", "a", 0, maxVisitors-1)
			visit("2026-03-01", "a", 0, maxVisitors+10) // visitors that were counted before the limit stay known
			visit("2026-03-01", "a", maxVisitors+10, maxVisitors+20)
			require.Equal(t, map[string]int{listing: maxVisitors}, countViews(t, b, listing))

			// Another network, another day, and signed-in users.
			visit("2026-03-01", "b", 0, maxVisitors+1)
			visit("2026-03-02", "c", 0, 1)
			visit("2026-03-01", "", 0, 2*maxVisitors)

			want := maxVisitors + maxVisitors + 1 + 2*maxVisitors
			require.Equal(t, map[string]int{listing: want}, countViews(t, b, listing))
		},
		// Members do not count for listings of their own organization.
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

			counts, err := b.Views.Get(t.Context(), newID(), []string{listing})
			require.NoError(t, err)
			require.Empty(t, counts, "another organization's")
		},
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

			// Eight callers add the same visits.
			runConcurrently(t, 8, func(int) error { return b.Views.Add(t.Context(), visits) })

			for _, count := range countViews(t, b, ids...) {
				require.Equal(t, visitors, count)
			}
		},
		// The visits are deleted, but the number of views stays.
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
		// All processes use the salt that was stored first. It is deleted with the visits,
		// after which visitors cannot be recognized any more.
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
			require.Empty(t, counts)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newBoard(t, open)) })
	}
}
