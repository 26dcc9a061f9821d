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
		noUser := auth.Actor{}

		// The user saves a search and a listing, turns off e-mails and alerts, and shows the profile to employers.
		env.saveSearch(user, "Nurse", withoutEmails)

		saved, err := env.SaveJob(ctx, user, jobseeker.SaveJobInput{ListingID: env.newListing("Porter")})
		require.NoError(t, err)
		require.NoError(t, env.UpdateNotifications(ctx, user, jobseeker.NotifyInput{Email: new(false)}))
		require.NoError(t, env.UpdateNotifications(ctx, user, jobseeker.NotifyInput{JobAlerts: new(false)}))
		require.NoError(t, env.UpdatePrivacy(ctx, user, new(true)))

		// The settings are these fields of the profile. The first user has the number 1.
		want := jobseeker.NewProfile(user.UserID)
		want.EmailNotifications = false
		want.JobAlerts = false
		want.ShowProfile = true
		want.Number = 1

		settings, err := env.MySettings(ctx, user)
		require.NoError(t, err)
		require.Equal(t, want, settings.Profile)
		require.Equal(t, []jobseeker.SavedJob{saved}, settings.Saved)
		require.Len(t, settings.Searches, 1)

		settingsAgain, err := env.MySettings(ctx, user)
		require.NoError(t, err)
		require.Equal(t, settings, settingsAgain, "the user keeps the number")

		// The next user has the number 2 and the default settings.
		ofOther, err := env.MySettings(ctx, newSeeker())
		require.NoError(t, err)
		require.EqualValues(t, 2, ofOther.Number)
		require.True(t, ofOther.EmailNotifications)
		require.False(t, ofOther.ShowProfile, "profiles are hidden by default")

		// A change without a value is refused, and so are guests.
		require.Equal(t, "email", fault.Of(env.UpdateNotifications(ctx, user, jobseeker.NotifyInput{})).Fields[0].Name)
		require.Equal(t, "showProfile", fault.Of(env.UpdatePrivacy(ctx, user, nil)).Fields[0].Name)
		require.ErrorIs(t, env.UpdateNotifications(ctx, noUser, jobseeker.NotifyInput{Email: new(true)}), fault.ErrUnauthorized)
		require.ErrorIs(t, env.UpdatePrivacy(ctx, noUser, new(true)), fault.ErrUnauthorized)

		_, err = env.MySettings(ctx, noUser)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestAnalytics_CountsOwnRows checks the numbers of the user, among them the completion of the profile in percent.
// Each of nine fields counts 10 percent, and so does a CV. A document of another type does not count.
func TestAnalytics_CountsOwnRows(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		analytics, err := env.MyAnalytics(ctx, user)
		require.NoError(t, err)
		require.Zero(t, analytics)

		// The user applies for two listings, saves one, fills the nine fields and uploads a document.
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

		analytics, err = env.MyAnalytics(ctx, user)
		require.NoError(t, err)
		require.Equal(t, 90, analytics.Completion)
		require.Equal(t, 1, analytics.SavedJobs)
		require.Equal(t, jobseeker.ApplicationCounts{Total: 2, Pending: 1}, analytics.Applications)

		// A CV completes the profile.
		_, err = env.Upload(ctx, user, uploadInput("x"))
		require.NoError(t, err)

		analytics, err = env.MyAnalytics(ctx, user)
		require.NoError(t, err)
		require.Equal(t, 100, analytics.Completion)

		_, err = env.MyAnalytics(ctx, auth.Actor{})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestSettings_AlertsOff_SendsNone checks that a user can turn off all alerts, or only their
// e-mails, and that turning them on again does not send older matches.
func TestSettings_AlertsOff_SendsNone(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const untilNextDigest = 25 * time.Hour // digests are sent at most once a day

		ctx := t.Context()
		withoutAlerts, withoutEmail, withAlerts := newSeeker(), newSeeker(), newSeeker()

		for _, user := range []auth.Actor{withoutAlerts, withoutEmail, withAlerts} {
			env.saveSearch(user, "Nurse", withEmails)
		}

		// Of the three users, one turns off all alerts, and one the e-mails.
		require.NoError(t, env.UpdateNotifications(ctx, withoutAlerts, jobseeker.NotifyInput{JobAlerts: new(false)}))
		require.NoError(t, env.UpdateNotifications(ctx, withoutEmail, jobseeker.NotifyInput{Email: new(false)}))
		env.publish("Nurse")
		env.advance(untilNextDigest)
		require.Empty(t, env.notificationTexts(withoutAlerts))
		require.Len(t, env.notificationTexts(withoutEmail), 1)
		require.Len(t, env.notificationTexts(withAlerts), 1)
		require.Len(t, env.takeSentTexts(), 1, "only withAlerts gets an e-mail")

		// Both turn them on again. Matches that were dropped while alerts were off are not sent later: the e-mail of
		// each of the three users has only the second listing.
		require.NoError(t, env.UpdateNotifications(ctx, withoutAlerts, jobseeker.NotifyInput{JobAlerts: new(true)}))
		require.NoError(t, env.UpdateNotifications(ctx, withoutEmail, jobseeker.NotifyInput{Email: new(true)}))
		env.publish("Another Nurse")
		env.advance(untilNextDigest)

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
		const filesOfOther = 1

		ctx := t.Context()
		user, other := newSeeker(), newSeeker()
		deleted := event.AccountDeleted{UserID: user.UserID}

		for _, by := range []auth.Actor{user, other} {
			_, err := env.Upload(ctx, by, uploadInput("x"))
			require.NoError(t, err)
		}

		// The event may be delivered twice.
		require.NoError(t, env.OnAccountDeleted(ctx, deleted))
		require.NoError(t, env.OnAccountDeleted(ctx, deleted))
		env.tasks.All(t)
		require.Equal(t, filesOfOther, env.fileStore.count())

		mine, err := env.MyDocuments(ctx, user, firstPage)
		require.NoError(t, err)
		require.Empty(t, mine.Items)

		// Requests that were in progress at the time store a document and a profile.
		_, err = env.Upload(ctx, user, uploadInput("late"))
		require.NoError(t, err)

		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{Bio: new("late")})
		require.NoError(t, err)
		require.NoError(t, env.OnAccountDeleted(ctx, deleted), "the deletion event is handled again later")
		env.tasks.All(t)
		require.Equal(t, filesOfOther, env.fileStore.count())

		profile, err := env.store.Jobseeker.Profiles.Get(ctx, user.UserID)
		require.NoError(t, err)
		require.Equal(t, jobseeker.NewProfile(user.UserID), profile, "an empty profile")

		theirs, err := env.MyDocuments(ctx, other, firstPage)
		require.NoError(t, err)
		require.Len(t, theirs.Items, 1)
	})
}
