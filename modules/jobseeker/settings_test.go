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

// TestSettings_EqualProfile checks that the settings are fields of the profile, and that each
// user gets a number once.
func TestSettings_EqualProfile(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		env.saveSearch(user, "Nurse", false)

		saved, err := env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: env.newListing("Porter")})
		require.NoError(t, err)
		require.NoError(t, env.UpdateNotifications(ctx, user, jobseeker.NotifyInput{Email: new(false)}))
		require.NoError(t, env.UpdateNotifications(ctx, user, jobseeker.NotifyInput{JobAlerts: new(false)}))
		require.NoError(t, env.UpdatePrivacy(ctx, user, new(true)))

		got, err := env.MySettings(ctx, user)
		require.NoError(t, err)

		want := jobseeker.NewProfile(user.UserID)
		want.EmailNotifications = false
		want.JobAlerts = false
		want.ShowProfile = true
		want.Number = 1
		require.Equal(t, want, got.Profile)
		require.Equal(t, []jobseeker.SavedJob{saved}, got.Saved)
		require.Len(t, got.Searches, 1)
		require.EqualValues(t, 1, got.Number)

		again, err := env.MySettings(ctx, user)
		require.NoError(t, err)
		require.Equal(t, got, again)

		other, err := env.MySettings(ctx, newSeeker())
		require.NoError(t, err)
		require.EqualValues(t, 2, other.Number)
		require.True(t, other.EmailNotifications)
		require.False(t, other.ShowProfile, "profiles are hidden by default")

		require.Equal(t, "email", fault.Of(env.UpdateNotifications(ctx, user, jobseeker.NotifyInput{})).Fields[0].Name)
		require.Equal(t, "showProfile", fault.Of(env.UpdatePrivacy(ctx, user, nil)).Fields[0].Name)
		require.ErrorIs(t, env.UpdateNotifications(ctx, auth.Actor{}, jobseeker.NotifyInput{Email: new(true)}), fault.ErrUnauthorized)
		require.ErrorIs(t, env.UpdatePrivacy(ctx, auth.Actor{}, new(true)), fault.ErrUnauthorized)

		_, err = env.MySettings(ctx, auth.Actor{})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestAnalytics_CountsOwnRows checks the numbers of the user, and that the profile is complete
// with a CV: the other nine fields and a document of another type make 90 percent.
func TestAnalytics_CountsOwnRows(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		got, err := env.MyAnalytics(ctx, user)
		require.NoError(t, err)
		require.Zero(t, got)

		env.applied[user.UserID] = []string{env.newListing("Cook"), env.newListing("Cleaner")}
		_, err = env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: env.newListing("Porter")})
		require.NoError(t, err)

		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{
			Bio:               new("x"),
			Phone:             new("123"),
			Location:          new("x"),
			Specialty:         new("x"),
			CurrentRole:       new("x"),
			Experience:        new(jobseeker.Words("x")),
			PreferredLocation: new("x"),
			EmploymentTypes:   &[]string{"bank"},
			SalaryMax:         new(1.0),
		})
		require.NoError(t, err)

		_, err = env.Upload(ctx, user, jobseeker.UploadInput{Type: "other", Content: "x"})
		require.NoError(t, err)

		got, err = env.MyAnalytics(ctx, user)
		require.NoError(t, err)
		require.Equal(t, 90, got.Completion)
		require.Equal(t, 1, got.SavedJobs)
		require.Equal(t, jobseeker.ApplicationCounts{Total: 2, Pending: 1}, got.Applications)

		_, err = env.Upload(ctx, user, uploadInput("x"))
		require.NoError(t, err)

		got, err = env.MyAnalytics(ctx, user)
		require.NoError(t, err)
		require.Equal(t, 100, got.Completion)

		_, err = env.MyAnalytics(ctx, auth.Actor{})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestSettings_AlertsOff_SendsNone checks that a user can turn off all alerts, or only their
// e-mails, and that turning them on again does not send older matches.
func TestSettings_AlertsOff_SendsNone(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		withoutAlerts := newSeeker()
		withoutEmail := newSeeker()

		withAlerts := newSeeker()
		for _, user := range []auth.Actor{withoutAlerts, withoutEmail, withAlerts} {
			env.saveSearch(user, "Nurse", true)
		}

		require.NoError(t, env.UpdateNotifications(ctx, withoutAlerts, jobseeker.NotifyInput{JobAlerts: new(false)}))
		require.NoError(t, env.UpdateNotifications(ctx, withoutEmail, jobseeker.NotifyInput{Email: new(false)}))
		env.publish("Nurse")
		env.advance(25 * time.Hour)
		require.Empty(t, env.notificationTexts(withoutAlerts))
		require.Len(t, env.notificationTexts(withoutEmail), 1)
		require.Len(t, env.notificationTexts(withAlerts), 1)
		require.Len(t, env.takeSentTexts(), 1)

		// Matches that were dropped while alerts were off are not sent later.
		require.NoError(t, env.UpdateNotifications(ctx, withoutAlerts, jobseeker.NotifyInput{JobAlerts: new(true)}))
		require.NoError(t, env.UpdateNotifications(ctx, withoutEmail, jobseeker.NotifyInput{Email: new(true)}))
		env.publish("Another Nurse")
		env.advance(25 * time.Hour)

		mails := env.takeSentTexts()
		require.Len(t, mails, 3)

		for _, text := range mails {
			require.Contains(t, text, "1 new job matches")
		}
	})
}

// TestOnAccountDeleted_DeletesRowsAndFiles checks that all data of a user is deleted, also data
// that a request in progress stores after the first event, which the second event deletes.
func TestOnAccountDeleted_DeletesRowsAndFiles(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		user := newSeeker()

		other := newSeeker()
		for _, by := range []auth.Actor{user, other} {
			_, err := env.Upload(ctx, by, uploadInput("x"))
			require.NoError(t, err)
		}

		require.NoError(t, env.OnAccountDeleted(ctx, event.AccountDeleted{UserID: user.UserID}))
		require.NoError(t, env.OnAccountDeleted(ctx, event.AccountDeleted{UserID: user.UserID}))
		env.tasks.All(t)
		require.Equal(t, 1, env.fileStore.count())

		mine, err := env.MyDocuments(ctx, user, firstPage)
		require.NoError(t, err)
		require.Empty(t, mine.Items)

		// A request that was in progress at the time.
		_, err = env.Upload(ctx, user, uploadInput("late"))
		require.NoError(t, err)

		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{Bio: new("late")})
		require.NoError(t, err)
		require.NoError(t, env.OnAccountDeleted(ctx, event.AccountDeleted{UserID: user.UserID}),
			"the deletion event is handled again later")
		env.tasks.All(t)
		require.Equal(t, 1, env.fileStore.count())

		p, err := env.store.Jobseeker.Profiles.Get(ctx, user.UserID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.NewProfile(user.UserID), p)

		theirs, err := env.MyDocuments(ctx, other, firstPage)
		require.NoError(t, err)
		require.Len(t, theirs.Items, 1)
	})
}
