package conformance

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/listings"
)

// Views checks the port listings.Views.
func Views(t *testing.T, open ListingsOpener) {
	open = withPort(open, "Views", func(s adapters.ListingsStorage) any { return s.Views })
	seenIDs := func(t *testing.T, b *board, ids ...string) map[string]int {
		t.Helper()

		of, err := b.Views.Get(t.Context(), b.org, ids)
		require.NoError(t, err)

		return of
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

			require.Equal(t, map[string]int{one: 3, otherID: 1}, seenIDs(t, b, one, otherID))
			require.NoError(t, b.Views.Add(t.Context(),
				[]listings.Visit{{Day: "2026-03-02", ListingID: otherID, Visitor: "c"}}))
			require.Equal(t, map[string]int{otherID: 2}, seenIDs(t, b, otherID))
		},
		// At most MaxVisitors guests of one network count for a listing in a day, so that a
		// script cannot inflate the number. Users, whose visits have no network, are not
		// limited.
		"limit per network": func(t *testing.T, b *board) {
			l := b.post(t, listings.CreateInput{Title: "One"}).ID
			visit := func(day, network string, from, to int) {
				t.Helper()

				var vs []listings.Visit
				for i := from; i < to; i++ {
					vs = append(vs,
						listings.Visit{Day: day, ListingID: l, Visitor: fmt.Sprint(day, network, i), Network: network})
				}

				require.NoError(t, b.Views.Add(t.Context(), vs))
			}

			const maxValue = listings.MaxVisitors
			visit("2026-03-01", "a", 0, maxValue-1)
			visit("2026-03-01", "a", 0, maxValue+10) // visitors that were counted before the limit stay known
			visit("2026-03-01", "a", maxValue+10, maxValue+20)
			require.Equal(t, map[string]int{l: maxValue}, seenIDs(t, b, l))
			visit("2026-03-01", "b", 0, maxValue+1)
			visit("2026-03-02", "c", 0, 1)
			visit("2026-03-01", "", 0, 2*maxValue) // signed-in users
			require.Equal(t, map[string]int{l: 4*maxValue + 1}, seenIDs(t, b, l))
		},
		// Members do not count for listings of their own organization.
		"own and unknown listings": func(t *testing.T, b *board) {
			l, absent := b.post(t, listings.CreateInput{Title: "One"}).ID, newID()
			require.NoError(t, b.Views.Add(t.Context(), []listings.Visit{
				{
					Day:            "2026-03-01",
					ListingID:      l,
					Visitor:        "own",
					OrganizationID: b.org,
				},
				{Day: "2026-03-01", ListingID: absent, Visitor: "a"},
			}))
			require.Empty(t, seenIDs(t, b, l, absent))
			require.NoError(t, b.Views.Add(t.Context(), []listings.Visit{{
				Day:            "2026-03-01",
				ListingID:      l,
				Visitor:        "other",
				OrganizationID: newID(),
			}}))
			require.Equal(t, map[string]int{l: 1}, seenIDs(t, b, l, absent))

			of, err := b.Views.Get(t.Context(), newID(), []string{l})
			require.NoError(t, err)
			require.Empty(t, of, "another organization's")
		},
		"concurrent additions": func(t *testing.T, b *board) {
			var ids []string

			var visits []listings.Visit
			for i := range 10 {
				ids = append(ids, b.post(t, listings.CreateInput{Title: fmt.Sprint("Post ", i)}).ID)
				for v := range 20 {
					visits = append(visits,
						listings.Visit{Day: "2026-03-01", ListingID: ids[i], Visitor: fmt.Sprint(v)})
				}
			}

			var group sync.WaitGroup

			failed := make([]error, 8)
			for n := range failed {
				group.Go(func() { failed[n] = b.Views.Add(t.Context(), visits) })
			}

			group.Wait()

			for _, err := range failed {
				require.NoError(t, err)
			}

			for _, n := range seenIDs(t, b, ids...) {
				require.Equal(t, 20, n)
			}
		},
		// The visits are deleted, but the number of views stays.
		"retention": func(t *testing.T, b *board) {
			l := b.post(t, listings.CreateInput{Title: "One"}).ID
			require.NoError(t, b.Views.Add(t.Context(), []listings.Visit{
				{Day: "2026-02-27", ListingID: l, Visitor: "a"},
				{Day: "2026-02-28", ListingID: l, Visitor: "a"},
				{Day: "2026-03-01", ListingID: l, Visitor: "a"},
			}))

			for _, want := range []int{1, 1, 0} {
				n, err := retentionOf(t, b.Retention).DeleteBefore(t.Context(), listings.Visits,
					time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 1)
				require.NoError(t, err)
				require.Equal(t, want, n)
			}

			require.Equal(t, map[string]int{l: 3}, seenIDs(t, b, l))
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

			otherID, err := b.Views.GetOrCreateSalt(t.Context(), "2026-03-01", "three")
			require.NoError(t, err)
			require.Equal(t, "three", otherID)

			_, err = retentionOf(t, b.Retention).DeleteBefore(t.Context(), listings.Visits,
				time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 10)
			require.NoError(t, err)

			gone, err := b.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "four")
			require.NoError(t, err)
			require.Equal(t, "four", gone)
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
