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
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit/stores"
)

var firstPage = page.Request{Number: 1, Size: 20}

func TestBookmark_SameListing_IsOne(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		in := jobseeker.SaveJobInput{ListingID: d.newListing("Staff Nurse")}
		saved, err := d.SaveJob(ctx, who, in)
		require.NoError(t, err)
		require.Equal(t, []string{in.ListingID, "Staff Nurse", "St Brigid's"}, []string{saved.ListingID, saved.Title, saved.Company})
		require.Equal(t, d.clock.Now(), saved.SavedAt)
		d.unpublished[in.ListingID] = true // it is kept, whatever becomes of it
		_, err = d.SaveJob(ctx, who, jobseeker.SaveJobInput{ListingID: strings.ToUpper(in.ListingID)})
		require.ErrorIs(t, err, jobseeker.ErrAlreadySaved)
		_, err = d.Bookmark(ctx, who, in)
		require.ErrorIs(t, err, jobseeker.ErrAlreadyBookmarked)
		all, err := d.MyBookmarks(ctx, who, firstPage)
		require.NoError(t, err)
		saved.Public = false
		require.Equal(t, []jobseeker.SavedJob{saved}, all.Items)
		n, err := d.SavedCount(ctx, who.UserID)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		got, err := d.SavedAmong(ctx, who.UserID, []string{in.ListingID, stores.NewID()})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{in.ListingID: true}, got)

		removed, err := d.RemoveBookmark(ctx, who, strings.ToUpper(saved.ID))
		require.NoError(t, err)
		require.Equal(t, saved.ID, removed)
		log, err := d.MyActivity(ctx, who, firstPage)
		require.NoError(t, err)
		require.Len(t, log.Items, 2)
		require.Equal(t, []string{"bookmark", "removed", "Removed Staff Nurse from the saved jobs"}, []string{log.Items[0].Type, log.Items[0].Action, log.Items[0].Description})
		require.Equal(t, "Saved Staff Nurse", log.Items[1].Description)
		got, err = d.SavedAmong(ctx, "", []string{in.ListingID})
		require.NoError(t, err)
		require.Empty(t, got, "guests cannot save listings")
	})
}

func TestBookmark_NotPublic_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		gone := d.newListing("Gone")
		d.unpublished[gone] = true
		for _, id := range []string{gone, stores.NewID(), "nonsense"} {
			_, err := d.SaveJob(ctx, who, jobseeker.SaveJobInput{ListingID: id})
			require.ErrorIs(t, err, jobseeker.ErrListingNotFound)
		}
		_, err := d.SaveJob(ctx, who, jobseeker.SaveJobInput{})
		require.Equal(t, "listingId", fault.Of(err).Fields[0].Name)
	})
}

func TestBookmark_OtherUser_NotFound(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		saved, err := d.Bookmark(ctx, who, jobseeker.SaveJobInput{ListingID: d.newListing("Staff Nurse")})
		require.NoError(t, err)
		notes := " call Monday "
		require.NoError(t, d.Note(ctx, who, saved.ID, jobseeker.NoteInput{Notes: &notes}))
		require.NoError(t, d.Note(ctx, who, saved.ID, jobseeker.NoteInput{}))
		got, err := d.MyBookmark(ctx, who, saved.ID)
		require.NoError(t, err)
		require.Equal(t, "call Monday", got.Notes)
		long := strings.Repeat("é", 2_001)
		require.Equal(t, "notes", fault.Of(d.Note(ctx, who, saved.ID, jobseeker.NoteInput{Notes: &long})).Fields[0].Name)

		for _, c := range []struct {
			by   auth.Actor
			id   string
			want error
		}{
			{seeker(), saved.ID, jobseeker.ErrBookmarkNotFound}, {who, stores.NewID(), jobseeker.ErrBookmarkNotFound}, {who, "nonsense", jobseeker.ErrBookmarkNotFound},
			{auth.Actor{UserID: who.UserID, OrganizationID: stores.NewID()}, saved.ID, fault.ErrForbidden},
		} {
			_, err := d.MyBookmark(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
			require.ErrorIs(t, d.Note(ctx, c.by, c.id, jobseeker.NoteInput{Notes: &notes}), c.want)
			require.ErrorIs(t, d.Note(ctx, c.by, c.id, jobseeker.NoteInput{}), c.want)
			_, err = d.RemoveBookmark(ctx, c.by, c.id)
			require.ErrorIs(t, err, c.want)
		}
		none, err := d.MyBookmarks(ctx, seeker(), firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)
		_, err = d.MyBookmarks(ctx, auth.Actor{}, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		_, err = d.SaveJob(ctx, auth.Actor{}, jobseeker.SaveJobInput{ListingID: saved.ListingID})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestBookmark_ConcurrentAtLimit_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		require.NoError(t, d.store.Jobseeker.Tx.Do(ctx, func(ctx context.Context) error {
			for range jobseeker.MaxBookmarks - 5 {
				if err := d.store.Jobseeker.Bookmarks.Upsert(ctx, jobseeker.Bookmark{ID: stores.NewID(), UserID: who.UserID, ListingID: stores.NewID(), SavedAt: d.clock.Now()}); err != nil {
					return err
				}
			}
			return nil
		}))
		var posts []string
		for range 10 {
			posts = append(posts, d.newListing("Nurse"))
		}
		var refused atomic.Int32
		var all10 sync.WaitGroup
		for _, id := range posts {
			all10.Go(func() {
				_, err := d.SaveJob(ctx, who, jobseeker.SaveJobInput{ListingID: id})
				if errors.Is(err, jobseeker.ErrTooManyBookmarks) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all10.Wait()
		require.EqualValues(t, 5, refused.Load())
		n, err := d.SavedCount(ctx, who.UserID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.MaxBookmarks, n)
	})
}

// runPeriodic runs a periodic task of the module.
func (d *testEnv) runPeriodic(kind string) {
	d.t.Helper()
	for _, p := range d.Periodic() {
		if p.Kind == kind {
			require.NoError(d.t, p.Do(d.t.Context()))
			return
		}
	}
	require.Fail(d.t, "no such period", kind)
}

func TestBookmark_ListingCloses_RemindsOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who, other := t.Context(), seeker(), seeker()
		soon, late, gone := d.newListing("Staff\nNurse"), d.newListing("Porter"), d.newListing("Gone")
		d.closesAt[soon], d.closesAt[late], d.closesAt[gone] = d.clock.Now().Add(70*time.Hour), d.clock.Now().Add(80*time.Hour), d.clock.Now().Add(time.Hour)
		keep := func(by auth.Actor, listing string) string {
			b, err := d.SaveJob(ctx, by, jobseeker.SaveJobInput{ListingID: listing})
			require.NoError(t, err)
			return b.ID
		}
		id := keep(who, soon)
		keep(who, late)
		keep(who, gone)
		keep(other, soon)
		d.unpublished[gone] = true
		messages := func(by auth.Actor) (out []string) {
			all, err := d.MyNotifications(ctx, by, firstPage)
			require.NoError(t, err)
			for _, n := range all.Items {
				require.Equal(t, jobseeker.AboutDeadline, n.Type)
				out = append(out, n.Message)
			}
			return out
		}
		want := "Staff Nurse, which you saved, closes on " + d.closesAt[soon].Format("Monday 2 January 2006, 15:04 MST")
		for range 2 {
			d.runPeriodic("jobseeker.deadlines")
			require.Equal(t, []string{want}, messages(who))
			require.Equal(t, []string{want}, messages(other))
		}
		_, err := d.RemoveBookmark(ctx, who, id)
		require.NoError(t, err)
		keep(who, soon)
		d.runPeriodic("jobseeker.deadlines")
		require.Len(t, messages(who), 1, "saving a listing again records no activity")
		d.clock.Advance(10 * time.Hour)
		d.runPeriodic("jobseeker.deadlines")
		require.Len(t, messages(who), 2)
		require.Len(t, messages(other), 1)
	})
}
