package conformance

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit/stores"
)

// Views checks the port listings.Views.
func Views(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	seen := func(t *testing.T, b *board, ids ...string) map[string]int {
		t.Helper()
		of, err := b.Listings.Views.Get(t.Context(), b.org, ids)
		require.NoError(t, err)
		return of
	}
	for name, test := range map[string]func(*testing.T, *board){
		"a visitor counts once a day for each listing": func(t *testing.T, b *board) {
			one, other := b.post(t, listings.CreateInput{Title: "One"}).ID, b.post(t, listings.CreateInput{Title: "Other"}).ID
			visits := []listings.Visit{
				{Day: "2026-03-01", ListingID: one, Visitor: "a"}, {Day: "2026-03-01", ListingID: one, Visitor: "b"},
				{Day: "2026-03-01", ListingID: other, Visitor: "a"}, {Day: "2026-03-02", ListingID: one, Visitor: "a"},
			}
			for range 2 {
				require.NoError(t, b.Listings.Views.Add(t.Context(), visits))
			}
			require.Equal(t, map[string]int{one: 3, other: 1}, seen(t, b, one, other))
			require.NoError(t, b.Listings.Views.Add(t.Context(), []listings.Visit{{Day: "2026-03-02", ListingID: other, Visitor: "c"}}))
			require.Equal(t, map[string]int{other: 2}, seen(t, b, other))
		},
		"a network's visitors are limited for each listing and day": func(t *testing.T, b *board) {
			l := b.post(t, listings.CreateInput{Title: "One"}).ID
			visit := func(day, network string, from, to int) {
				t.Helper()
				var vs []listings.Visit
				for i := from; i < to; i++ {
					vs = append(vs, listings.Visit{Day: day, ListingID: l, Visitor: fmt.Sprint(day, network, i), Network: network})
				}
				require.NoError(t, b.Listings.Views.Add(t.Context(), vs))
			}
			const most = listings.MaxVisitors
			visit("2026-03-01", "a", 0, most-1)
			visit("2026-03-01", "a", 0, most+10) // the visitors before are known
			visit("2026-03-01", "a", most+10, most+20)
			require.Equal(t, map[string]int{l: most}, seen(t, b, l))
			visit("2026-03-01", "b", 0, most+1)
			visit("2026-03-02", "c", 0, 1)
			visit("2026-03-01", "", 0, 2*most) // signed-in users
			require.Equal(t, map[string]int{l: 4*most + 1}, seen(t, b, l))
		},
		"an organization's own visits count for nothing, nor those to what is not there": func(t *testing.T, b *board) {
			l, absent := b.post(t, listings.CreateInput{Title: "One"}).ID, stores.NewID()
			require.NoError(t, b.Listings.Views.Add(t.Context(), []listings.Visit{
				{Day: "2026-03-01", ListingID: l, Visitor: "own", OrganizationID: b.org}, {Day: "2026-03-01", ListingID: absent, Visitor: "a"},
			}))
			require.Empty(t, seen(t, b, l, absent))
			require.NoError(t, b.Listings.Views.Add(t.Context(), []listings.Visit{{Day: "2026-03-01", ListingID: l, Visitor: "other", OrganizationID: stores.NewID()}}))
			require.Equal(t, map[string]int{l: 1}, seen(t, b, l, absent))
			of, err := b.Listings.Views.Get(t.Context(), stores.NewID(), []string{l})
			require.NoError(t, err)
			require.Empty(t, of, "another organization's")
		},
		"many processes that count the same visits count them once": func(t *testing.T, b *board) {
			var ids []string
			var visits []listings.Visit
			for i := range 10 {
				ids = append(ids, b.post(t, listings.CreateInput{Title: fmt.Sprint("Post ", i)}).ID)
				for v := range 20 {
					visits = append(visits, listings.Visit{Day: "2026-03-01", ListingID: ids[i], Visitor: fmt.Sprint(v)})
				}
			}
			var all sync.WaitGroup
			failed := make([]error, 8)
			for n := range failed {
				all.Go(func() { failed[n] = b.Listings.Views.Add(t.Context(), visits) })
			}
			all.Wait()
			for _, err := range failed {
				require.NoError(t, err)
			}
			for _, n := range seen(t, b, ids...) {
				require.Equal(t, 20, n)
			}
		},
		"who was counted is forgotten, the count is not": func(t *testing.T, b *board) {
			l := b.post(t, listings.CreateInput{Title: "One"}).ID
			require.NoError(t, b.Listings.Views.Add(t.Context(), []listings.Visit{
				{Day: "2026-02-27", ListingID: l, Visitor: "a"}, {Day: "2026-02-28", ListingID: l, Visitor: "a"}, {Day: "2026-03-01", ListingID: l, Visitor: "a"},
			}))
			for _, want := range []int{1, 1, 0} {
				n, err := b.Listings.Retention.DeleteBefore(t.Context(), listings.Visits, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 1)
				require.NoError(t, err)
				require.Equal(t, want, n)
			}
			require.Equal(t, map[string]int{l: 3}, seen(t, b, l))
		},
		"a day has one salt, for all who ask and until it is forgotten": func(t *testing.T, b *board) {
			first, err := b.Listings.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "one")
			require.NoError(t, err)
			require.Equal(t, "one", first)
			again, err := b.Listings.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "two")
			require.NoError(t, err)
			require.Equal(t, "one", again)
			other, err := b.Listings.Views.GetOrCreateSalt(t.Context(), "2026-03-01", "three")
			require.NoError(t, err)
			require.Equal(t, "three", other)
			_, err = b.Listings.Retention.DeleteBefore(t.Context(), listings.Visits, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 10)
			require.NoError(t, err)
			gone, err := b.Listings.Views.GetOrCreateSalt(t.Context(), "2026-02-28", "four")
			require.NoError(t, err)
			require.Equal(t, "four", gone)
		},
		"listings are counted by status, each organization's own": func(t *testing.T, b *board) {
			b.post(t, listings.CreateInput{Title: "One"})
			b.post(t, listings.CreateInput{Title: "Two", Status: ptr("draft")})
			gone := b.post(t, listings.CreateInput{Title: "Three"})
			require.NoError(t, b.svc.Delete(t.Context(), b.org, gone.ID))
			counts, err := b.svc.CountByStatus(t.Context(), b.org)
			require.NoError(t, err)
			require.Equal(t, map[listings.Status]int{listings.Active: 1, listings.Draft: 1, listings.Archived: 1}, counts)
			counts, err = b.svc.CountByStatus(t.Context(), stores.NewID())
			require.NoError(t, err)
			require.Empty(t, counts)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newBoard(t, open)) })
	}
}
