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

// TestNotifications_Decision_SentOnce checks that a decision of the employer creates one
// notification and one entry in the activity log, although its event is handled twice.
func TestNotifications_Decision_SentOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, listing := newSeeker(), env.newListing("Staff Nurse")

		// statusChanged returns the event of a decision of the employer, a minute after the event before.
		statusChanged := func(newStatus string) event.Event {
			env.clock.Advance(time.Minute)

			return event.ApplicationStatusChanged{
				ApplicationID: stores.NewID(),
				JobID:         listing,
				CandidateID:   user.UserID,
				ActorID:       stores.NewID(),
				Status:        newStatus,
				ChangedAt:     env.clock.Now(),
			}
		}

		env.recordAndHandle(
			event.ApplicationSubmitted{
				ApplicationID: stores.NewID(),
				JobID:         listing,
				CandidateID:   user.UserID,
				Status:        "pending",
				SubmittedAt:   env.clock.Now(),
			},
		)
		require.Empty(t, env.notificationTexts(user), "the user's own actions create no notification")

		// Two subscribers of the test handle each of these events: delivery is at least
		// once.
		env.recordAndHandle(statusChanged("review"))
		env.recordAndHandle(statusChanged("accepted"))
		require.Equal(t, []string{
			"application: Your application for Staff Nurse has been accepted",
			"application: Your application for Staff Nurse is under review",
		}, env.notificationTexts(user))
		require.Equal(t, []string{
			"application status-changed: Your application for Staff Nurse has been accepted",
			"application status-changed: Your application for Staff Nurse is under review",
			"application applied: Applied for Staff Nurse",
		}, env.activityTexts(user))
		require.Empty(t, env.notificationTexts(newSeeker()), "another user")
	})
}

// TestNotifications_OwnWithdrawal_NotSent checks that a user's own withdrawal is in the
// activity log only.
func TestNotifications_OwnWithdrawal_NotSent(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.recordAndHandle(
			event.ApplicationStatusChanged{
				ApplicationID:  stores.NewID(),
				JobID:          env.newListing("Midwife"),
				CandidateID:    user.UserID,
				ActorID:        user.UserID,
				Status:         "withdrawn",
				PreviousStatus: "review",
				ChangedAt:      env.clock.Now(),
			},
		)
		require.Empty(t, env.notificationTexts(user))
		require.Equal(t, []string{"application withdrew: Withdrew the application for Midwife"}, env.activityTexts(user))
	})
}

// TestNotifications_InterviewsAndMessages_Sent checks the texts about interviews, whose times
// are in UTC, and about a message for a listing that does not exist any more.
func TestNotifications_InterviewsAndMessages_Sent(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, listing := newSeeker(), env.newListing("Paramedic")

		const anHour = 3600 // seconds

		britishSummerTime := time.FixedZone("BST", anHour)
		at := time.Date(2026, 4, 1, 9, 5, 0, 0, britishSummerTime) // 08:05 UTC

		for _, change := range []string{"scheduled", "moved", "cancelled"} {
			env.recordAndHandle(
				event.InterviewChanged{
					ApplicationID: stores.NewID(),
					JobID:         listing,
					CandidateID:   user.UserID,
					Change:        change,
					ScheduledAt:   at,
					ChangedAt:     env.clock.Now(),
				},
			)
		}

		env.recordAndHandle(
			event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: stores.NewID(), CandidateID: user.UserID},
		)
		require.Equal(t, []string{
			"message: The employer sent you a message about your application for a listing that is gone",
			"interview: Your interview for Paramedic on Wednesday 1 April 2026, 08:05 UTC has been cancelled",
			"interview: Your interview for Paramedic has changed: it is on Wednesday 1 April 2026, 08:05 UTC",
			"interview: You are invited to an interview for Paramedic on Wednesday 1 April 2026, 08:05 UTC",
		}, env.notificationTexts(user))
		require.Len(t, env.activityTexts(user), 3, "the interviews are in the activity log, and the message is not")
	})
}

// TestNotifications_OtherUser_NotFound checks that a notification can be marked and deleted by
// its user only.
func TestNotifications_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		user, stranger := newSeeker(), newSeeker()
		withoutRole := auth.Actor{UserID: user.UserID}

		env.recordAndHandle(
			event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: env.newListing("GP"), CandidateID: user.UserID},
		)

		notifications, err := env.MyNotifications(ctx, user, firstPage)
		require.NoError(t, err)

		notification := notifications.Items[0]
		require.False(t, notification.Read)

		// Mark the notification, without a change and as read.
		for _, input := range []jobseeker.MarkInput{{}, {Read: new(true)}} {
			mark := func(by auth.Actor, id string) error { return env.MarkNotification(ctx, by, id, input) }

			require.ErrorIs(t, mark(stranger, notification.ID), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, mark(user, "nonsense"), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, mark(withoutRole, notification.ID), fault.ErrForbidden)
			require.NoError(t, mark(user, notification.ID))
		}

		// Delete the notification.
		id := notification.ID
		require.ErrorIs(t, env.DeleteNotification(ctx, stranger, id), jobseeker.ErrNotificationNotFound)
		require.ErrorIs(t, env.DeleteNotification(ctx, guest, id), fault.ErrUnauthorized)
		require.NoError(t, env.DeleteNotification(ctx, user, id))
		require.Empty(t, env.notificationTexts(user))

		// Guests have no lists, and cursors that no page has returned are refused.
		_, err = env.MyNotifications(ctx, guest, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.MyActivity(ctx, guest, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		unknownCursor := page.Request{Number: 1, Size: 1, Cursor: "x"}

		_, err = env.MyNotifications(ctx, user, unknownCursor)
		require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)

		_, err = env.MyActivity(ctx, user, unknownCursor)
		require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
	})
}

// TestNotifications_AfterHalfAYear_Deleted checks that notifications and activities are deleted
// after 180 days.
func TestNotifications_AfterHalfAYear_Deleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		changeStatus := func() {
			env.recordAndHandle(
				event.ApplicationStatusChanged{
					ApplicationID: stores.NewID(),
					JobID:         env.newListing("Porter"),
					CandidateID:   user.UserID,
					ActorID:       stores.NewID(),
					Status:        "review",
					ChangedAt:     env.clock.Now(),
				},
			)
		}

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
