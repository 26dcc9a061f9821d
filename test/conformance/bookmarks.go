package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Bookmarks checks the port jobseeker.Bookmarks.
func Bookmarks(t *testing.T, open JobseekerOpener) {
	suite := bookmarkSuite{open: open}
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
	require.NoError(t, suite.upsert(storage, bookmark))

	return bookmark
}

// list returns the user's bookmarks that match the filter.
func (suite bookmarkSuite) list(
	t *testing.T, storage adapters.JobseekerStorage, user string, filter jobseeker.BookmarkFilter,
) []jobseeker.Bookmark {
	t.Helper()

	found, err := storage.Bookmarks.List(context.Background(), user, filter, firstHundred)
	require.NoError(t, err)
	require.Equal(t, len(found.Items), found.Total)

	return found.Items
}

// upsert stores the bookmark in a transaction that has locked the profile of its user, and returns the error of
// the transaction.
func (suite bookmarkSuite) upsert(storage adapters.JobseekerStorage, bookmark jobseeker.Bookmark) error {
	return tryWithProfile(storage, bookmark.UserID,
		func(ctx context.Context) error { return storage.Bookmarks.Upsert(ctx, bookmark) })
}

// onePerListing checks that a user cannot have two bookmarks of a listing. A bookmark of another user does not prevent
// one.
func (suite bookmarkSuite) onePerListing(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, listing := newID(), newID()
	bookmark := suite.create(t, storage, user, listing, now)

	second := jobseeker.Bookmark{ID: newID(), UserID: user, ListingID: listing, SavedAt: now}
	require.Error(t, suite.upsert(storage, second))
	require.Equal(t, []jobseeker.Bookmark{bookmark}, suite.list(t, storage, user, jobseeker.BookmarkFilter{}))

	suite.create(t, storage, newID(), listing, now)
	require.Len(t, suite.list(t, storage, user, jobseeker.BookmarkFilter{}), 1)
}

// onePerListingConcurrently checks that twenty concurrent transactions create one bookmark. Each
// of them locks the profile, looks for a bookmark of the listing and creates it if there is none.
func (suite bookmarkSuite) onePerListingConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, listing := newID(), newID()
	ofListing := jobseeker.BookmarkFilter{ListingIDs: []string{listing}}
	created := countConcurrent(t, 20, func(int) (isCreatedHere bool, err error) {
		err = tryWithProfile(storage, user, func(ctx context.Context) error {
			isCreatedHere = false // the transaction may be repeated

			found, err := storage.Bookmarks.List(ctx, user, ofListing, firstHundred)
			if err != nil || found.Total > 0 {
				return err
			}

			isCreatedHere = true

			return storage.Bookmarks.Upsert(ctx,
				jobseeker.Bookmark{ID: newID(), UserID: user, ListingID: listing, SavedAt: now})
		})

		return isCreatedHere, err
	})
	require.Equal(t, 1, created)
}

// pages checks that the pages contain all bookmarks of the user, newest first.
func (suite bookmarkSuite) pages(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()

	var oldestFirst []jobseeker.Bookmark
	for range 5 {
		oldestFirst = append(oldestFirst, suite.create(t, storage, user, newID(), now))
	}

	suite.create(t, storage, newID(), newID(), now) // of another user

	const pageSize = 2
	listed := listAllPages(t, pageSize, func(request page.Request) (page.Result[jobseeker.Bookmark], error) {
		return storage.Bookmarks.List(context.Background(), user, jobseeker.BookmarkFilter{}, request)
	})

	slices.Reverse(listed)
	require.Equal(t, oldestFirst, listed)
}

// otherOwner checks that a bookmark can be neither read, replaced nor deleted with the id of
// another user.
func (suite bookmarkSuite) otherOwner(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	bookmark := suite.create(t, storage, newID(), newID(), now)

	stolen := bookmark
	stolen.UserID, stolen.Notes = newID(), "x"
	require.Error(t, suite.upsert(storage, stolen))

	// The id of the user or of the bookmark is another one.
	for _, other := range []struct{ user, id string }{
		{user: newID(), id: bookmark.ID},
		{user: bookmark.UserID, id: newID()},
	} {
		require.Empty(t, suite.list(t, storage, other.user, jobseeker.BookmarkFilter{ID: other.id}))
		require.ErrorIs(t, storage.Bookmarks.Delete(context.Background(), other.user, other.id),
			jobseeker.ErrBookmarkNotFound)
	}

	require.Equal(t, []jobseeker.Bookmark{bookmark},
		suite.list(t, storage, bookmark.UserID, jobseeker.BookmarkFilter{ID: bookmark.ID}))
}

// updateAndDelete checks that an update replaces the notes, even with the same text or with none. After its deletion,
// the bookmark is not found.
func (suite bookmarkSuite) updateAndDelete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	bookmark := suite.create(t, storage, newID(), newID(), now)

	for _, notes := range []string{"other", "other", ""} {
		bookmark.Notes = notes
		require.NoError(t, suite.upsert(storage, bookmark))
		require.Equal(t, []jobseeker.Bookmark{bookmark},
			suite.list(t, storage, bookmark.UserID, jobseeker.BookmarkFilter{}))
	}

	require.NoError(t, storage.Bookmarks.Delete(context.Background(), bookmark.UserID, bookmark.ID))
	require.ErrorIs(t, storage.Bookmarks.Delete(context.Background(), bookmark.UserID, bookmark.ID),
		jobseeker.ErrBookmarkNotFound)
}

// filterByListings checks that a filter by listings finds the user's bookmarks of these listings, and neither those of
// other listings nor those of other users. All conditions of a filter must match.
func (suite bookmarkSuite) filterByListings(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()
	own := suite.create(t, storage, user, newID(), now)
	foreign := suite.create(t, storage, newID(), newID(), now)
	suite.create(t, storage, user, newID(), now) // of another listing

	ofListings := jobseeker.BookmarkFilter{ListingIDs: []string{own.ListingID, foreign.ListingID, newID()}}
	require.Equal(t, []jobseeker.Bookmark{own}, suite.list(t, storage, user, ofListings))

	ofOtherListing := jobseeker.BookmarkFilter{ID: own.ID, ListingIDs: []string{newID()}}
	require.Empty(t, suite.list(t, storage, user, ofOtherListing))
}

// reminders checks ClaimReminders, with which users are reminded of bookmarks when the listings are about to close. It
// returns each bookmark of the given listings once, at most as many per call as the limit says.
func (suite bookmarkSuite) reminders(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	listing, otherListing := newID(), newID()

	var want []string
	for range 3 {
		want = append(want, suite.create(t, storage, newID(), listing, now).ID)
	}

	suite.create(t, storage, newID(), newID(), now) // a listing without reminders

	want = append(want, suite.create(t, storage, newID(), otherListing, now).ID)

	// Of four bookmarks, calls with a limit of three return three, one and none.
	const limit = 3

	var reminded []string
	for _, wantCount := range []int{3, 1, 0} {
		require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			claimed, err := storage.Bookmarks.ClaimReminders(ctx, []string{listing, otherListing}, limit)
			require.NoError(t, err)
			require.Len(t, claimed, wantCount)

			for _, bookmark := range claimed {
				reminded = append(reminded, bookmark.ID)
			}

			return nil
		}))
	}

	slices.Sort(reminded) // ids are in the order of their creation, like those in want
	require.Equal(t, want, reminded)
}

// remindersConcurrentlyAndRolledBack checks that a claim of a transaction that is rolled back has no effect, and that
// no two of twelve concurrent callers claim the same bookmark. There are twelve bookmarks, and each caller asks for two.
func (suite bookmarkSuite) remindersConcurrentlyAndRolledBack(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	const callers, bookmarks = 12, 12

	listing := newID()
	for range bookmarks {
		suite.create(t, storage, newID(), listing, now)
	}

	// The claim of all bookmarks is rolled back.
	require.Error(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		claimed, err := storage.Bookmarks.ClaimReminders(ctx, []string{listing}, 100)
		require.NoError(t, err)
		require.Len(t, claimed, bookmarks)

		return context.Canceled
	}))

	// So the concurrent callers can claim them.
	claims := make([][]jobseeker.Bookmark, callers)
	runConcurrently(t, callers, func(i int) error {
		return storage.Tx.Do(context.Background(), func(ctx context.Context) (err error) {
			claims[i], err = storage.Bookmarks.ClaimReminders(ctx, []string{listing}, 2)
			return err
		})
	})

	// A caller may get fewer than it asks for. So a last call claims the bookmarks that remain.
	rest, err := storage.Bookmarks.ClaimReminders(context.Background(), []string{listing}, 100)
	require.NoError(t, err)

	claimed := append(slices.Concat(claims...), rest...)
	requireEachOnce(t, bookmarks, list.Map(claimed, func(bookmark jobseeker.Bookmark) string { return bookmark.ID }))
}
