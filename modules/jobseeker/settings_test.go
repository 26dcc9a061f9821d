package jobseeker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
)

func TestSettings_EqualProfile(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		d.saveSearch(who, "Nurse", false)
		saved, err := d.SaveJob(ctx, who, jobseeker.SaveJobInput{ListingID: d.newListing("Porter")})
		require.NoError(t, err)
		require.NoError(t, d.Notify(ctx, who, jobseeker.NotifyInput{Email: new(false)}))
		require.NoError(t, d.Notify(ctx, who, jobseeker.NotifyInput{JobAlerts: new(false)}))
		require.NoError(t, d.Show(ctx, who, new(true)))
		got, err := d.MySettings(ctx, who)
		require.NoError(t, err)
		want := jobseeker.NewProfile(who.UserID)
		want.EmailNotifications, want.JobAlerts, want.ShowProfile, want.Number = false, false, true, 1
		require.Equal(t, want, got.Profile)
		require.Equal(t, []jobseeker.SavedJob{saved}, got.Saved)
		require.Len(t, got.Searches, 1)
		require.EqualValues(t, 1, got.Number)
		again, err := d.MySettings(ctx, who)
		require.NoError(t, err)
		require.Equal(t, got, again)
		other, err := d.MySettings(ctx, seeker())
		require.NoError(t, err)
		require.EqualValues(t, 2, other.Number)
		require.True(t, other.EmailNotifications)
		require.False(t, other.ShowProfile, "profiles are hidden by default")

		require.Equal(t, "email", fault.Of(d.Notify(ctx, who, jobseeker.NotifyInput{})).Fields[0].Name)
		require.Equal(t, "showProfile", fault.Of(d.Show(ctx, who, nil)).Fields[0].Name)
		require.ErrorIs(t, d.Notify(ctx, auth.Actor{}, jobseeker.NotifyInput{Email: new(true)}), fault.ErrUnauthorized)
		require.ErrorIs(t, d.Show(ctx, auth.Actor{}, new(true)), fault.ErrUnauthorized)
		_, err = d.MySettings(ctx, auth.Actor{})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestAnalytics_CountsOwnRows(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		got, err := d.MyAnalytics(ctx, who)
		require.NoError(t, err)
		require.Zero(t, got)
		d.applied[who.UserID] = []string{d.newListing("Cook"), d.newListing("Cleaner")}
		_, err = d.SaveJob(ctx, who, jobseeker.SaveJobInput{ListingID: d.newListing("Porter")})
		require.NoError(t, err)
		_, err = d.UpdateProfile(ctx, who, jobseeker.ProfileInput{
			Bio: new("x"), Phone: new("123"), Location: new("x"), Specialty: new("x"), CurrentRole: new("x"), Experience: new(jobseeker.Words("x")),
			PreferredLocation: new("x"), EmploymentTypes: &[]string{"bank"}, SalaryMax: new(1.0),
		})
		require.NoError(t, err)
		_, err = d.Upload(ctx, who, jobseeker.UploadInput{Type: "other", Content: "x"})
		require.NoError(t, err)
		got, err = d.MyAnalytics(ctx, who)
		require.NoError(t, err)
		require.Equal(t, 90, got.Completion)
		require.Equal(t, 1, got.SavedJobs)
		require.Equal(t, jobseeker.ApplicationCounts{Total: 2, Pending: 1}, got.Applications)
		_, err = d.Upload(ctx, who, uploadInput("x"))
		require.NoError(t, err)
		got, err = d.MyAnalytics(ctx, who)
		require.NoError(t, err)
		require.Equal(t, 100, got.Completion)
		_, err = d.MyAnalytics(ctx, auth.Actor{})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestSettings_AlertsOff_SendsNone(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, deaf, mailless, eager := t.Context(), seeker(), seeker(), seeker()
		for _, who := range []auth.Actor{deaf, mailless, eager} {
			d.saveSearch(who, "Nurse", true)
		}
		require.NoError(t, d.Notify(ctx, deaf, jobseeker.NotifyInput{JobAlerts: new(false)}))
		require.NoError(t, d.Notify(ctx, mailless, jobseeker.NotifyInput{Email: new(false)}))
		d.publish("Nurse")
		d.advance(25 * time.Hour)
		require.Empty(t, d.notificationTexts(deaf))
		require.Len(t, d.notificationTexts(mailless), 1)
		require.Len(t, d.notificationTexts(eager), 1)
		require.Len(t, d.sentTexts(), 1)

		// Matches that were dropped while alerts were off are not sent later.
		require.NoError(t, d.Notify(ctx, deaf, jobseeker.NotifyInput{JobAlerts: new(true)}))
		require.NoError(t, d.Notify(ctx, mailless, jobseeker.NotifyInput{Email: new(true)}))
		d.publish("Another Nurse")
		d.advance(25 * time.Hour)
		mails := d.sentTexts()
		require.Len(t, mails, 3)
		for _, text := range mails {
			require.Contains(t, text, "1 new job matches")
		}
	})
}

func TestOnAccountDeleted_DeletesRowsAndFiles(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who, other := t.Context(), seeker(), seeker()
		for _, by := range []auth.Actor{who, other} {
			_, err := d.Upload(ctx, by, uploadInput("x"))
			require.NoError(t, err)
		}
		require.NoError(t, d.OnAccountDeleted(ctx, event.AccountDeleted{UserID: who.UserID}))
		require.NoError(t, d.OnAccountDeleted(ctx, event.AccountDeleted{UserID: who.UserID}))
		d.work.All(t)
		require.Equal(t, 1, d.files.count())
		mine, err := d.MyDocuments(ctx, who, firstPage)
		require.NoError(t, err)
		require.Empty(t, mine.Items)

		// A request that was in progress at the time.
		_, err = d.Upload(ctx, who, uploadInput("late"))
		require.NoError(t, err)
		_, err = d.UpdateProfile(ctx, who, jobseeker.ProfileInput{Bio: new("late")})
		require.NoError(t, err)
		require.NoError(t, d.OnAccountDeleted(ctx, event.AccountDeleted{UserID: who.UserID}), "the deletion event is handled again later")
		d.work.All(t)
		require.Equal(t, 1, d.files.count())
		p, err := d.store.Jobseeker.Profiles.Get(ctx, who.UserID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.NewProfile(who.UserID), p)
		theirs, err := d.MyDocuments(ctx, other, firstPage)
		require.NoError(t, err)
		require.Len(t, theirs.Items, 1)
	})
}
