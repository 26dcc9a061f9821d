package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func bookmarks(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	keep := func(t *testing.T, s adapters.Storage, user, listing string, now time.Time) jobseeker.Bookmark {
		t.Helper()
		b := jobseeker.Bookmark{ID: id(), UserID: user, ListingID: listing, Notes: "Zoë's \"100%\"", SavedAt: now}
		fresh, err := s.Jobseeker.Bookmarks.Add(ctx, b)
		require.NoError(t, err)
		require.True(t, fresh)
		return b
	}

	t.Run("keeps a listing once, and the transaction that tried a second time", func(t *testing.T) {
		s, now := start(t)
		user, listing := id(), id()
		b := keep(t, s, user, listing, now)
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			fresh, err := s.Jobseeker.Bookmarks.Add(ctx, jobseeker.Bookmark{ID: id(), UserID: user, ListingID: listing, SavedAt: now})
			require.False(t, fresh)
			return err
		}))
		got, err := s.Jobseeker.Bookmarks.Find(ctx, user, b.ID)
		require.NoError(t, err)
		require.Equal(t, b, got)
		keep(t, s, id(), listing, now)
		n, err := s.Jobseeker.Bookmarks.Count(ctx, user)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})

	t.Run("keeps it once however many try at the same time", func(t *testing.T) {
		s, now := start(t)
		user, listing := id(), id()
		require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
			return s.Jobseeker.Bookmarks.Add(ctx, jobseeker.Bookmark{ID: id(), UserID: user, ListingID: listing, SavedAt: now})
		}))
	})

	t.Run("pages by number and by cursor, the latest first", func(t *testing.T) {
		s, now := start(t)
		user := id()
		var want []jobseeker.Bookmark
		for range 5 {
			want = append([]jobseeker.Bookmark{keep(t, s, user, id(), now)}, want...)
		}
		keep(t, s, id(), id(), now)
		first, err := s.Jobseeker.Bookmarks.Page(ctx, user, page.Request{Number: 1, Size: 2})
		require.NoError(t, err)
		require.Equal(t, want[:2], first.Items)
		require.Equal(t, 5, first.Total)
		second, err := s.Jobseeker.Bookmarks.Page(ctx, user, page.Request{Number: 1, Size: 2, Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Equal(t, want[2:4], second.Items)
		last, err := s.Jobseeker.Bookmarks.Page(ctx, user, page.Request{Number: 3, Size: 2})
		require.NoError(t, err)
		require.Equal(t, want[4:], last.Items)
		require.Empty(t, last.NextCursor)
	})

	t.Run("another's is as absent as one that never was", func(t *testing.T) {
		s, now := start(t)
		b := keep(t, s, id(), id(), now)
		for _, whose := range []struct{ user, id string }{{id(), b.ID}, {b.UserID, id()}} {
			_, err := s.Jobseeker.Bookmarks.Find(ctx, whose.user, whose.id)
			require.ErrorIs(t, err, jobseeker.ErrBookmarkNotFound)
			require.ErrorIs(t, s.Jobseeker.Bookmarks.SetNotes(ctx, whose.user, whose.id, "x"), jobseeker.ErrBookmarkNotFound)
			require.ErrorIs(t, s.Jobseeker.Bookmarks.Delete(ctx, whose.user, whose.id), jobseeker.ErrBookmarkNotFound)
		}
		require.NoError(t, s.Jobseeker.Bookmarks.SetNotes(ctx, b.UserID, b.ID, "other"))
		got, err := s.Jobseeker.Bookmarks.Find(ctx, b.UserID, b.ID)
		require.NoError(t, err)
		require.Equal(t, "other", got.Notes)
		require.NoError(t, s.Jobseeker.Bookmarks.Delete(ctx, b.UserID, b.ID))
		require.ErrorIs(t, s.Jobseeker.Bookmarks.Delete(ctx, b.UserID, b.ID), jobseeker.ErrBookmarkNotFound)
	})

	t.Run("knows which of many listings a user keeps", func(t *testing.T) {
		s, now := start(t)
		user := id()
		a, b := keep(t, s, user, id(), now), keep(t, s, id(), id(), now)
		keep(t, s, user, id(), now)
		got, err := s.Jobseeker.Bookmarks.Among(ctx, user, []string{a.ListingID, b.ListingID, id()})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{a.ListingID: true}, got)
	})

	t.Run("hands out once who is to be told of a deadline", func(t *testing.T) {
		s, now := start(t)
		listing, another := id(), id()
		var want []string
		for range 3 {
			want = append(want, keep(t, s, id(), listing, now).ID)
		}
		keep(t, s, id(), id(), now)
		want = append(want, keep(t, s, id(), another, now).ID)
		var got []string
		for range 3 {
			require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				bs, err := s.Jobseeker.Bookmarks.Untold(ctx, []string{listing, another}, 3)
				require.NoError(t, err)
				var ids []string
				for _, b := range bs {
					ids = append(ids, b.ID)
				}
				got = append(got, ids...)
				return s.Jobseeker.Bookmarks.Told(ctx, ids)
			}))
		}
		slices.Sort(got)
		require.Equal(t, want, got)
	})
}
