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
		in := jobseeker.SaveJobInput{ListingID: env.newListing("Staff Nurse")}
		saved, err := env.SaveJob(ctx, user, in)
		require.NoError(t, err)
		require.Equal(
			t,
			[]string{in.ListingID, "Staff Nurse", "St Brigid's"},
			[]string{saved.ListingID, saved.Title, saved.Company},
		)
		require.Equal(t, env.clock.Now(), saved.SavedAt)

		env.unpublished[in.ListingID] = true // the bookmark remains
		// Both APIs, that of saved jobs and that of bookmarks, know that the listing is saved.
		_, err = env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: strings.ToUpper(in.ListingID)})
		require.ErrorIs(t, err, jobseeker.ErrAlreadySaved)

		_, err = env.Bookmark(ctx, user, in)
		require.ErrorIs(t, err, jobseeker.ErrAlreadyBookmarked)

		all, err := env.MyBookmarks(ctx, user, firstPage)
		require.NoError(t, err)

		// The list has the listing once, marked as no longer public.
		saved.Public = false
		require.Equal(t, []jobseeker.SavedJob{saved}, all.Items)

		n, err := env.CountSaved(ctx, user.UserID)
		require.NoError(t, err)
		require.Equal(t, 1, n)

		got, err := env.FilterSaved(ctx, user.UserID, []string{in.ListingID, stores.NewID()})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{in.ListingID: true}, got)

		removed, err := env.RemoveBookmark(ctx, user, strings.ToUpper(saved.ID))
		require.NoError(t, err)
		require.Equal(t, saved.ID, removed)

		log, err := env.MyActivity(ctx, user, firstPage)
		require.NoError(t, err)
		require.Len(t, log.Items, 2)
		require.Equal(t, []string{"bookmark", "removed", "Removed Staff Nurse from the saved jobs"},
			[]string{log.Items[0].Type, log.Items[0].Action, log.Items[0].Description})
		require.Equal(t, "Saved Staff Nurse", log.Items[1].Description)

		got, err = env.FilterSaved(ctx, "", []string{in.ListingID})
		require.NoError(t, err)
		require.Empty(t, got, "guests cannot save listings")
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
			require.ErrorIs(t, err, jobseeker.ErrListingNotFound)
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
		// Omitted notes are kept.
		require.NoError(t, env.SetNotes(ctx, user, saved.ID, jobseeker.NoteInput{}))

		got, err := env.MyBookmark(ctx, user, saved.ID)
		require.NoError(t, err)
		require.Equal(t, "call Monday", got.Notes)

		long := strings.Repeat("é", 2_001)
		require.Equal(t, "notes", fault.Of(env.SetNotes(ctx, user, saved.ID, jobseeker.NoteInput{Notes: &long})).Fields[0].Name)

		for _, c := range []struct {
			by   auth.Actor
			id   string
			want error
		}{
			{by: newSeeker(), id: saved.ID, want: jobseeker.ErrBookmarkNotFound},
			{by: user, id: stores.NewID(), want: jobseeker.ErrBookmarkNotFound},
			{by: user, id: "nonsense", want: jobseeker.ErrBookmarkNotFound},
			{
				// A user with an organization is an employer, and employers have no bookmarks.
				by:   auth.Actor{UserID: user.UserID, OrganizationID: stores.NewID()},
				id:   saved.ID,
				want: fault.ErrForbidden,
			},
		} {
			_, err := env.MyBookmark(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
			require.ErrorIs(t, env.SetNotes(ctx, c.by, c.id, jobseeker.NoteInput{Notes: &notes}), c.want)
			require.ErrorIs(t, env.SetNotes(ctx, c.by, c.id, jobseeker.NoteInput{}), c.want)

			_, err = env.RemoveBookmark(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
		}

		none, err := env.MyBookmarks(ctx, newSeeker(), firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)

		_, err = env.MyBookmarks(ctx, auth.Actor{}, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.SaveJob(ctx, auth.Actor{}, jobseeker.SaveJobInput{ListingID: saved.ListingID})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestBookmark_ConcurrentAtLimit_Refused checks that ten concurrent requests use the last five
// places of the limit.
func TestBookmark_ConcurrentAtLimit_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		require.NoError(t, env.store.Jobseeker.Tx.Do(ctx, func(ctx context.Context) error {
			// Five places are left for the ten requests.
			for range jobseeker.MaxBookmarks - 5 {
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
		for range 10 {
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
		require.EqualValues(t, 5, refused.Load())

		n, err := env.CountSaved(ctx, user.UserID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.MaxBookmarks, n)
	})
}

// runPeriodic runs a periodic task of the module.
func (env *testEnv) runPeriodic(kind string) {
	env.t.Helper()

	for _, p := range env.Periodic() {
		if p.Kind == kind {
			require.NoError(env.t, p.Do(env.t.Context()))
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
		user := newSeeker()
		other := newSeeker()
		closingSoon := env.newListing("Staff\nNurse")
		closingLate := env.newListing("Porter")
		unpublishedID := env.newListing("Gone")
		now := env.clock.Now()
		env.closesAt[closingSoon] = now.Add(70 * time.Hour) // within three days
		env.closesAt[closingLate] = now.Add(80 * time.Hour)
		env.closesAt[unpublishedID] = now.Add(time.Hour)

		saveJob := func(by auth.Actor, listing string) string {
			b, err := env.SaveJob(ctx, by, jobseeker.SaveJobInput{ListingID: listing})
			require.NoError(t, err)
			return b.ID
		}

		id := saveJob(user, closingSoon)
		saveJob(user, closingLate)
		saveJob(user, unpublishedID)
		saveJob(other, closingSoon)

		env.unpublished[unpublishedID] = true
		messages := func(by auth.Actor) (out []string) {
			all, err := env.MyNotifications(ctx, by, firstPage)
			require.NoError(t, err)

			for _, n := range all.Items {
				require.Equal(t, jobseeker.AboutDeadline, n.Type)

				out = append(out, n.Message)
			}

			return out
		}

		// The reminder is about the listing that is public and closes soon. A second run repeats nothing. The line
		// break of the title becomes a space.
		want := "Staff Nurse, which you saved, closes on " + env.closesAt[closingSoon].Format("Monday 2 January 2006, 15:04 MST")
		for range 2 {
			env.runPeriodic("jobseeker.deadlines")
			require.Equal(t, []string{want}, messages(user))
			require.Equal(t, []string{want}, messages(other))
		}

		_, err := env.RemoveBookmark(ctx, user, id)
		require.NoError(t, err)
		saveJob(user, closingSoon)
		env.runPeriodic("jobseeker.deadlines")
		require.Len(t, messages(user), 1, "saving a listing again creates no second reminder")
		// The second listing now closes within three days too.
		env.clock.Advance(10 * time.Hour)
		env.runPeriodic("jobseeker.deadlines")
		require.Len(t, messages(user), 2)
		require.Len(t, messages(other), 1)
	})
}
