package jobseeker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit/stores"
)

// statusChanged returns the event of a decision of the employer about an application of the user.
func (env *testEnv) statusChanged(user auth.Actor, listing, newStatus string) event.Event {
	return event.ApplicationStatusChanged{
		ApplicationID: stores.NewID(),
		JobID:         listing,
		CandidateID:   user.UserID,
		ActorID:       stores.NewID(), // a member of the employer
		Status:        newStatus,
		ChangedAt:     env.clock.Now(),
	}
}

// TestNotifications_OwnApplication_NotSent checks that a user's own application is in the activity log
// only.
func TestNotifications_OwnApplication_NotSent(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.recordAndHandle(event.ApplicationSubmitted{
			ApplicationID: stores.NewID(),
			JobID:         env.newListing("Staff Nurse"),
			CandidateID:   user.UserID,
			Status:        "pending",
			SubmittedAt:   env.clock.Now(),
		})
		require.Empty(t, env.notificationTexts(user))
		require.Equal(t, []string{"application applied: Applied for Staff Nurse"}, env.activityTexts(user))
	})
}

// TestNotifications_Decision_SentOnce checks that a decision of the employer creates one notification and
// one entry in the activity log, although two subscribers of testEnv handle its event: delivery is at least
// once.
func TestNotifications_Decision_SentOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, listing := newSeeker(), env.newListing("Staff Nurse")

		for _, decision := range []string{"review", "accepted"} {
			env.clock.Advance(time.Minute)
			env.recordAndHandle(env.statusChanged(user, listing, decision))
		}

		require.Equal(t, []string{
			"application: Your application for Staff Nurse has been accepted",
			"application: Your application for Staff Nurse is under review",
		}, env.notificationTexts(user), "the newest first")
		require.Equal(t, []string{
			"application status-changed: Your application for Staff Nurse has been accepted",
			"application status-changed: Your application for Staff Nurse is under review",
		}, env.activityTexts(user), "the newest first")
		require.Empty(t, env.notificationTexts(newSeeker()), "another user")
	})
}

// TestNotifications_OwnWithdrawal_NotSent checks that a user's own withdrawal is in the
// activity log only.
func TestNotifications_OwnWithdrawal_NotSent(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.recordAndHandle(event.ApplicationStatusChanged{
			ApplicationID:  stores.NewID(),
			JobID:          env.newListing("Midwife"),
			CandidateID:    user.UserID,
			ActorID:        user.UserID,
			Status:         "withdrawn",
			PreviousStatus: "review",
			ChangedAt:      env.clock.Now(),
		})
		require.Empty(t, env.notificationTexts(user))
		require.Equal(t, []string{"application withdrew: Withdrew the application for Midwife"}, env.activityTexts(user))
	})
}

// TestNotifications_Interview_TimeIsInUTC checks the texts about an interview that is scheduled, moved and
// cancelled. Its time is in UTC. Each is also in the activity log.
func TestNotifications_Interview_TimeIsInUTC(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, listing := newSeeker(), env.newListing("Paramedic")

		const anHour = 3600 // seconds

		britishSummerTime := time.FixedZone("BST", anHour)
		at := time.Date(2026, 4, 1, 9, 5, 0, 0, britishSummerTime) // 08:05 UTC

		for _, change := range []string{"scheduled", "moved", "cancelled"} {
			env.recordAndHandle(event.InterviewChanged{
				ApplicationID: stores.NewID(),
				JobID:         listing,
				CandidateID:   user.UserID,
				Change:        change,
				ScheduledAt:   at,
				ChangedAt:     env.clock.Now(),
			})
		}

		require.Equal(t, []string{
			"interview: Your interview for Paramedic on Wednesday 1 April 2026, 08:05 UTC has been cancelled",
			"interview: Your interview for Paramedic has changed: it is on Wednesday 1 April 2026, 08:05 UTC",
			"interview: You are invited to an interview for Paramedic on Wednesday 1 April 2026, 08:05 UTC",
		}, env.notificationTexts(user), "the newest first")
		require.Len(t, env.activityTexts(user), 3)
	})
}

// TestNotifications_MessageForDeletedListing_Sent checks the text about a message of an employer for a
// listing that does not exist any more. Messages are not in the activity log.
func TestNotifications_MessageForDeletedListing_Sent(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, deletedListing := newSeeker(), stores.NewID()
		env.recordAndHandle(
			event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: deletedListing, CandidateID: user.UserID},
		)
		require.Equal(t,
			[]string{"message: The employer sent you a message about your application for a listing that is gone"},
			env.notificationTexts(user))
		require.Empty(t, env.activityTexts(user))
	})
}

// newNotification creates a notification of the user and returns its id.
func (env *testEnv) newNotification(user auth.Actor) string {
	env.t.Helper()
	env.recordAndHandle(
		event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: env.newListing("GP"), CandidateID: user.UserID},
	)

	notifications, err := env.MyNotifications(env.t.Context(), user, firstPage)
	require.NoError(env.t, err)

	notification := notifications.Items[0]
	require.False(env.t, notification.Read)

	return notification.ID
}

// TestMarkNotification_OtherUser_NotFound checks that a notification can be marked by its user only. An
// input without a mark changes nothing, and is refused like one that marks the notification as read.
func TestMarkNotification_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, stranger := newSeeker(), newSeeker()
		withoutRole := auth.Actor{UserID: user.UserID}
		id := env.newNotification(user)

		for _, input := range []jobseeker.MarkInput{{}, {Read: new(true)}} {
			mark := func(by auth.Actor, id string) error { return env.MarkNotification(t.Context(), by, id, input) }

			require.ErrorIs(t, mark(stranger, id), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, mark(user, "nonsense"), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, mark(withoutRole, id), fault.ErrForbidden)
			require.NoError(t, mark(user, id))
		}
	})
}

// TestDeleteNotification_OtherUser_NotFound checks that a notification can be deleted by its user only.
func TestDeleteNotification_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, stranger := newSeeker(), newSeeker()
		id := env.newNotification(user)
		require.ErrorIs(t, env.DeleteNotification(t.Context(), stranger, id), jobseeker.ErrNotificationNotFound)
		require.ErrorIs(t, env.DeleteNotification(t.Context(), guest, id), fault.ErrUnauthorized)
		require.NoError(t, env.DeleteNotification(t.Context(), user, id))
		require.Empty(t, env.notificationTexts(user))
	})
}

// TestMyNotificationsAndActivity_GuestOrUnknownCursor_Refused checks that guests have no lists of
// notifications and activities, and that a cursor that no page has returned is refused.
func TestMyNotificationsAndActivity_GuestOrUnknownCursor_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		_, err := env.MyNotifications(t.Context(), guest, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.MyActivity(t.Context(), guest, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		unknownCursor := page.Request{Number: 1, Size: 1, Cursor: "x"}

		_, err = env.MyNotifications(t.Context(), user, unknownCursor)
		require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)

		_, err = env.MyActivity(t.Context(), user, unknownCursor)
		require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
	})
}

// TestNotifications_AfterHalfAYear_Deleted checks that a periodic task deletes notifications and activities
// after 180 days.
func TestNotifications_AfterHalfAYear_Deleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		changeStatus := func() { env.recordAndHandle(env.statusChanged(user, env.newListing("Porter"), "review")) }

		const day = 24 * time.Hour

		// After 179 days, both notifications exist.
		changeStatus()
		env.clock.Advance(179 * day)
		changeStatus()
		env.runPeriodic("jobseeker.forget")
		require.Len(t, env.notificationTexts(user), 2)

		// After 181 days, the first one is deleted.
		env.clock.Advance(2 * day)
		env.runPeriodic("jobseeker.forget")
		require.Len(t, env.notificationTexts(user), 1)
		require.Len(t, env.activityTexts(user), 1)
	})
}
