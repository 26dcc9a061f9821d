package jobseeker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestBookmark_SameListing_IsOne checks that a listing is saved once, whichever of the two APIs
// is called, that a saved listing stays in the list when it is not public any more, and that
// saving and removing are in the activity log.
func TestBookmark_SameListing_IsOne(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		listingID := env.newListing("Staff Nurse")

		saved, err := env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: listingID})
		require.NoError(t, err)
		require.Equal(t, listingID, saved.ListingID)
		require.Equal(t, "Staff Nurse", saved.Title)
		require.Equal(t, "St Brigid's", saved.Company, "the company of every listing in these tests")
		require.Equal(t, env.clock.Now(), saved.SavedAt)

		env.unpublished[listingID] = true // the bookmark remains

		// Both APIs, that of saved jobs and that of bookmarks, know that the listing is saved.
		_, err = env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: strings.ToUpper(listingID)})
		require.ErrorIs(t, err, jobseeker.ErrAlreadySaved)

		_, err = env.Bookmark(ctx, user, jobseeker.SaveJobInput{ListingID: listingID})
		require.ErrorIs(t, err, jobseeker.ErrAlreadyBookmarked)

		// The list has the listing once, marked as no longer public.
		bookmarks, err := env.MyBookmarks(ctx, user, firstPage)
		require.NoError(t, err)

		saved.Public = false
		require.Equal(t, []jobseeker.SavedJob{saved}, bookmarks.Items)

		count, err := env.CountSaved(ctx, user.UserID)
		require.NoError(t, err)
		require.Equal(t, 1, count)

		isSaved, err := env.FindSaved(ctx, user.UserID, []string{listingID, stores.NewID()})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{listingID: true}, isSaved)

		// The user removes the bookmark. The activity log has both actions, the newest first.
		removedID, err := env.RemoveBookmark(ctx, user, strings.ToUpper(saved.ID))
		require.NoError(t, err)
		require.Equal(t, saved.ID, removedID)

		activities, err := env.MyActivity(ctx, user, firstPage)
		require.NoError(t, err)
		require.Len(t, activities.Items, 2)

		removal, saving := activities.Items[0], activities.Items[1]
		require.Equal(t, "bookmark", removal.Type)
		require.Equal(t, "removed", removal.Action)
		require.Equal(t, "Removed Staff Nurse from the saved jobs", removal.Description)
		require.Equal(t, "Saved Staff Nurse", saving.Description)

		const noUser = ""

		isSaved, err = env.FindSaved(ctx, noUser, []string{listingID})
		require.NoError(t, err)
		require.Empty(t, isSaved, "guests cannot save listings")
	})
}

// TestBookmark_NotPublic_NotFound checks that a listing that is not public cannot be saved.
func TestBookmark_NotPublic_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		unpublishedID := env.newListing("Gone")

		env.unpublished[unpublishedID] = true
		for _, id := range []string{unpublishedID, stores.NewID(), "nonsense"} {
			_, err := env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: id})
			require.ErrorIs(t, err, jobseeker.ErrListingNotFound, id)
		}

		_, err := env.SaveJob(ctx, user, jobseeker.SaveJobInput{})
		require.Equal(t, "listingId", fault.Of(err).Fields[0].Name)
	})
}

// TestBookmark_OtherUser_NotFound checks that a bookmark with its notes is private, and that
// notes are trimmed, kept if they are omitted, and have at most 2,000 characters.
func TestBookmark_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		saved, err := env.Bookmark(ctx, user, jobseeker.SaveJobInput{ListingID: env.newListing("Staff Nurse")})
		require.NoError(t, err)

		notes := " call Monday "
		require.NoError(t, env.SetNotes(ctx, user, saved.ID, jobseeker.NoteInput{Notes: &notes}))
		require.NoError(t, env.SetNotes(ctx, user, saved.ID, jobseeker.NoteInput{}), "omitted notes are kept")

		bookmark, err := env.MyBookmark(ctx, user, saved.ID)
		require.NoError(t, err)
		require.Equal(t, "call Monday", bookmark.Notes)

		const maxNotes = 2_000

		long := strings.Repeat("é", maxNotes+1)
		err = env.SetNotes(ctx, user, saved.ID, jobseeker.NoteInput{Notes: &long})
		require.Equal(t, "notes", fault.Of(err).Fields[0].Name)

		// A user with an organization is an employer, and employers have no bookmarks.
		employer := auth.Actor{UserID: user.UserID, OrganizationID: stores.NewID()}

		for name, test := range map[string]struct {
			by      auth.Actor
			id      string
			wantErr error
		}{
			"another user": {by: newSeeker(), id: saved.ID, wantErr: jobseeker.ErrBookmarkNotFound},
			"unknown id":   {by: user, id: stores.NewID(), wantErr: jobseeker.ErrBookmarkNotFound},
			"invalid id":   {by: user, id: "nonsense", wantErr: jobseeker.ErrBookmarkNotFound},
			"employer":     {by: employer, id: saved.ID, wantErr: fault.ErrForbidden},
		} {
			_, err := env.MyBookmark(ctx, test.by, test.id)
			require.ErrorIs(t, err, test.wantErr, name)
			require.ErrorIs(t, env.SetNotes(ctx, test.by, test.id, jobseeker.NoteInput{Notes: &notes}), test.wantErr, name)
			require.ErrorIs(t, env.SetNotes(ctx, test.by, test.id, jobseeker.NoteInput{}), test.wantErr, name)

			_, err = env.RemoveBookmark(ctx, test.by, test.id)
			require.ErrorIs(t, err, test.wantErr, name)
		}

		// Another user has no bookmarks, and a guest is refused.

		none, err := env.MyBookmarks(ctx, newSeeker(), firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)

		_, err = env.MyBookmarks(ctx, guest, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.SaveJob(ctx, guest, jobseeker.SaveJobInput{ListingID: saved.ListingID})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestBookmark_ConcurrentAtLimit_Refused checks that ten concurrent requests use the last five
// places of the limit.
func TestBookmark_ConcurrentAtLimit_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const numRequests, freePlaces = 10, 5

		ctx, user := t.Context(), newSeeker()
		require.NoError(t, env.store.Jobseeker.Tx.Do(ctx, func(ctx context.Context) error {
			for range jobseeker.MaxBookmarks - freePlaces {
				if err := env.store.Jobseeker.Bookmarks.Upsert(ctx, jobseeker.Bookmark{
					ID:        stores.NewID(),
					UserID:    user.UserID,
					ListingID: stores.NewID(),
					SavedAt:   env.clock.Now(),
				}); err != nil {
					return err
				}
			}

			return nil
		}))

		var listingIDs []string
		for range numRequests {
			listingIDs = append(listingIDs, env.newListing("Nurse"))
		}

		var refused atomic.Int32

		var requests sync.WaitGroup
		for _, id := range listingIDs {
			requests.Go(func() {
				_, err := env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: id})
				if errors.Is(err, jobseeker.ErrTooManyBookmarks) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}

		requests.Wait()
		require.EqualValues(t, numRequests-freePlaces, refused.Load())

		count, err := env.CountSaved(ctx, user.UserID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.MaxBookmarks, count)
	})
}

// runPeriodic runs a periodic task of the module.
func (env *testEnv) runPeriodic(kind string) {
	env.t.Helper()

	for _, periodic := range env.Periodic() {
		if periodic.Kind == kind {
			require.NoError(env.t, periodic.Do(env.t.Context()))
			return
		}
	}

	require.Fail(env.t, "no such periodic task", kind)
}

// TestBookmark_ListingCloses_RemindsOnce checks that users are reminded of a saved listing that
// closes within three days, once for each listing, even if it is removed and saved again.
func TestBookmark_ListingCloses_RemindsOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		user, other := newSeeker(), newSeeker()

		// Three days are 72 hours. One listing closes before they end, one afterwards, and one is not public any more.
		closingSoon := env.newListing("Staff\nNurse")
		closingLate := env.newListing("Porter")
		unpublishedID := env.newListing("Gone")
		now := env.clock.Now()
		env.closesAt[closingSoon] = now.Add(70 * time.Hour)
		env.closesAt[closingLate] = now.Add(80 * time.Hour)
		env.closesAt[unpublishedID] = now.Add(time.Hour)

		saveJob := func(by auth.Actor, listing string) (bookmarkID string) {
			saved, err := env.SaveJob(ctx, by, jobseeker.SaveJobInput{ListingID: listing})
			require.NoError(t, err)
			return saved.ID
		}

		bookmarkID := saveJob(user, closingSoon)
		saveJob(user, closingLate)
		saveJob(user, unpublishedID)
		saveJob(other, closingSoon)

		env.unpublished[unpublishedID] = true

		// reminders returns the texts of the user's notifications, all of which must be about deadlines.
		reminders := func(of auth.Actor) (texts []string) {
			notifications, err := env.MyNotifications(ctx, of, firstPage)
			require.NoError(t, err)

			for _, notification := range notifications.Items {
				require.Equal(t, jobseeker.AboutDeadline, notification.Type)

				texts = append(texts, notification.Message)
			}

			return texts
		}

		// The reminder is about the listing that is public and closes soon. A second run repeats nothing. The line
		// break of the title becomes a space.
		want := "Staff Nurse, which you saved, closes on " + env.closesAt[closingSoon].Format("Monday 2 January 2006, 15:04 MST")
		for range 2 {
			env.runPeriodic("jobseeker.deadlines")
			require.Equal(t, []string{want}, reminders(user))
			require.Equal(t, []string{want}, reminders(other))
		}

		// The user removes the listing and saves it again.
		_, err := env.RemoveBookmark(ctx, user, bookmarkID)
		require.NoError(t, err)
		saveJob(user, closingSoon)
		env.runPeriodic("jobseeker.deadlines")
		require.Len(t, reminders(user), 1, "saving a listing again creates no second reminder")

		// Ten hours later, the second listing also closes within three days. Only one of the users has saved it.
		env.clock.Advance(10 * time.Hour)
		env.runPeriodic("jobseeker.deadlines")
		require.Len(t, reminders(user), 2)
		require.Len(t, reminders(other), 1)
	})
}
