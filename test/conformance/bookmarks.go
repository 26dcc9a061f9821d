package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Bookmarks checks the port jobseeker.Bookmarks.
func Bookmarks(t *testing.T, open JobseekerOpener) {
	suite := bookmarkSuite{open}
	t.Run("one per listing", suite.onePerListing)
	t.Run("one per listing, concurrently", suite.onePerListingConcurrently)
	t.Run("pages", suite.pages)
	t.Run("other owner", suite.otherOwner)
	t.Run("update and delete", suite.updateAndDelete)
	t.Run("filter by listings", suite.filterByListings)
	t.Run("reminders", suite.reminders)
	t.Run("reminders, concurrently and rolled back", suite.remindersConcurrentlyAndRolledBack)
}

// bookmarkSuite has the subtests of Bookmarks.
type bookmarkSuite struct {
	open JobseekerOpener
}

// create stores a bookmark of the listing.
func (suite bookmarkSuite) create(
	t *testing.T, storage adapters.JobseekerStorage, user, listing string, now time.Time,
) jobseeker.Bookmark {
	t.Helper()

	bookmark := jobseeker.Bookmark{ID: newID(), UserID: user, ListingID: listing, Notes: "Zoë's \"100%\"", SavedAt: now}
	withProfile(t, storage, user, func(ctx context.Context) error { return storage.Bookmarks.Upsert(ctx, bookmark) })

	return bookmark
}

// list returns the user's bookmarks that match the filter.
func (suite bookmarkSuite) list(
	t *testing.T, storage adapters.JobseekerStorage, user string, filter jobseeker.BookmarkFilter,
) []jobseeker.Bookmark {
	t.Helper()

	got, err := storage.Bookmarks.List(context.Background(), user, filter, firstHundred)
	require.NoError(t, err)
	require.Equal(t, len(got.Items), got.Total)

	return got.Items
}

// onePerListing checks that a user cannot have two bookmarks of a listing, while other users
// can have theirs.
func (suite bookmarkSuite) onePerListing(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, listing := newID(), newID()
	bookmark := suite.create(t, storage, user, listing, now)
	require.Error(t, tryWithProfile(storage, user, func(ctx context.Context) error {
		return storage.Bookmarks.Upsert(ctx,
			jobseeker.Bookmark{ID: newID(), UserID: user, ListingID: listing, SavedAt: now})
	}))
	require.Equal(t, []jobseeker.Bookmark{bookmark}, suite.list(t, storage, user, jobseeker.BookmarkFilter{}))
	suite.create(t, storage, newID(), listing, now)
	require.Len(t, suite.list(t, storage, user, jobseeker.BookmarkFilter{}), 1)
}

// onePerListingConcurrently checks that transactions that lock the profile, look for a bookmark
// and create it, create one.
func (suite bookmarkSuite) onePerListingConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, listing := newID(), newID()
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (bool, error) {
		created := false
		err := tryWithProfile(storage, user, func(ctx context.Context) error {
			found, err := storage.Bookmarks.List(ctx, user, jobseeker.BookmarkFilter{ListingIDs: []string{listing}},
				firstHundred)
			if err != nil || found.Total > 0 {
				return err
			}

			created = true

			return storage.Bookmarks.Upsert(ctx,
				jobseeker.Bookmark{ID: newID(), UserID: user, ListingID: listing, SavedAt: now})
		})

		return created, err
	}))
}

// pages checks that pages of two contain all bookmarks of the user, newest first.
func (suite bookmarkSuite) pages(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()

	var want []jobseeker.Bookmark
	for range 5 {
		want = append([]jobseeker.Bookmark{suite.create(t, storage, user, newID(), now)}, want...)
	}

	suite.create(t, storage, newID(), newID(), now)
	require.Equal(t, want, listAllPages(t, 2, func(r page.Request) (page.Result[jobseeker.Bookmark], error) {
		return storage.Bookmarks.List(context.Background(), user, jobseeker.BookmarkFilter{}, r)
	}))
}

// otherOwner checks that a bookmark can be neither read, replaced nor deleted with the id of
// another user.
func (suite bookmarkSuite) otherOwner(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	bookmark := suite.create(t, storage, newID(), newID(), now)
	stolen := bookmark
	stolen.UserID, stolen.Notes = newID(), "x"
	require.Error(t, tryWithProfile(storage, stolen.UserID,
		func(ctx context.Context) error { return storage.Bookmarks.Upsert(ctx, stolen) }))

	for _, other := range []struct{ user, id string }{{newID(), bookmark.ID}, {bookmark.UserID, newID()}} {
		require.Empty(t, suite.list(t, storage, other.user, jobseeker.BookmarkFilter{ID: other.id}))
		require.ErrorIs(t, storage.Bookmarks.Delete(context.Background(), other.user, other.id),
			jobseeker.ErrBookmarkNotFound)
	}

	require.Equal(t, []jobseeker.Bookmark{bookmark},
		suite.list(t, storage, bookmark.UserID, jobseeker.BookmarkFilter{ID: bookmark.ID}))
}

// updateAndDelete checks that an update replaces the notes, also with the same or no text, and
// that only the first deletion finds the bookmark.
func (suite bookmarkSuite) updateAndDelete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	bookmark := suite.create(t, storage, newID(), newID(), now)
	for _, notes := range []string{"other", "other", ""} {
		bookmark.Notes = notes
		withProfile(t, storage, bookmark.UserID,
			func(ctx context.Context) error { return storage.Bookmarks.Upsert(ctx, bookmark) })
		require.Equal(t, []jobseeker.Bookmark{bookmark},
			suite.list(t, storage, bookmark.UserID, jobseeker.BookmarkFilter{}))
	}

	require.NoError(t, storage.Bookmarks.Delete(context.Background(), bookmark.UserID, bookmark.ID))
	require.ErrorIs(t, storage.Bookmarks.Delete(context.Background(), bookmark.UserID, bookmark.ID),
		jobseeker.ErrBookmarkNotFound)
}

// filterByListings checks that a filter selects the caller's bookmarks of the listings only,
// and that all its conditions must match.
func (suite bookmarkSuite) filterByListings(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	own, foreign := suite.create(t, storage, user, newID(), now), suite.create(t, storage, newID(), newID(), now)
	suite.create(t, storage, user, newID(), now)
	require.Equal(t, []jobseeker.Bookmark{own},
		suite.list(t, storage, user,
			jobseeker.BookmarkFilter{ListingIDs: []string{own.ListingID, foreign.ListingID, newID()}}))
	require.Empty(t, suite.list(t, storage, user, jobseeker.BookmarkFilter{ID: own.ID, ListingIDs: []string{newID()}}))
}

// reminders checks that ClaimReminders returns each bookmark of the listings once, at most
// three at a time.
func (suite bookmarkSuite) reminders(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	listing, otherListing := newID(), newID()

	var want []string
	for range 3 {
		want = append(want, suite.create(t, storage, newID(), listing, now).ID)
	}

	suite.create(t, storage, newID(), newID(), now)

	want = append(want, suite.create(t, storage, newID(), otherListing, now).ID)

	var got []string
	for _, count := range []int{3, 1, 0} {
		require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			claimed, err := storage.Bookmarks.ClaimReminders(ctx, []string{listing, otherListing}, 3)
			require.NoError(t, err)
			require.Len(t, claimed, count)

			for _, bookmark := range claimed {
				got = append(got, bookmark.ID)
			}

			return nil
		}))
	}

	slices.Sort(got)
	require.Equal(t, want, got)
}

// remindersConcurrentlyAndRolledBack checks that a rolled back claim has no effect, and that
// concurrent callers do not claim the same bookmark.
func (suite bookmarkSuite) remindersConcurrentlyAndRolledBack(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	listing := newID()
	for range 12 {
		suite.create(t, storage, newID(), listing, now)
	}

	require.Error(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		claimed, err := storage.Bookmarks.ClaimReminders(ctx, []string{listing}, 100)
		require.NoError(t, err)
		require.Len(t, claimed, 12)

		return context.Canceled
	}))

	claims := make([][]jobseeker.Bookmark, 13)
	runConcurrently(t, 12, func(i int) error {
		return storage.Tx.Do(context.Background(), func(ctx context.Context) (err error) {
			claims[i], err = storage.Bookmarks.ClaimReminders(ctx, []string{listing}, 2)
			return err
		})
	})

	var err error
	claims[12], err = storage.Bookmarks.ClaimReminders(context.Background(), []string{listing}, 100)
	require.NoError(t, err)

	seenIDs := map[string]bool{}
	for _, bookmark := range slices.Concat(claims...) {
		require.False(t, seenIDs[bookmark.ID])

		seenIDs[bookmark.ID] = true
	}

	require.Len(t, seenIDs, 12)
}
