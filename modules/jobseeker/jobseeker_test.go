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
		changed := func(to string) event.Event {
			env.clock.Advance(time.Minute)

			return event.ApplicationStatusChanged{
				ApplicationID: stores.NewID(),
				JobID:         listing,
				CandidateID:   user.UserID,
				ActorID:       stores.NewID(),
				Status:        to,
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
		env.recordAndHandle(changed("review"))
		env.recordAndHandle(changed("accepted"))
		require.Equal(t, []string{
			"application: Your application for Staff Nurse has been accepted",
			"application: Your application for Staff Nurse is under review",
		}, env.notificationTexts(user))
		require.Equal(t, []string{
			"application status-changed: Your application for Staff Nurse has been accepted",
			"application status-changed: Your application for Staff Nurse is under review",
			"application applied: Applied for Staff Nurse",
		}, env.activityTexts(user))
		require.Empty(t, env.notificationTexts(newSeeker()))
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

		at := time.Date(2026, 4, 1, 9, 5, 0, 0, time.FixedZone("BST", 3600))
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
		require.Len(t, env.activityTexts(user), 3) // messages are not in the activity log
	})
}

// TestNotifications_OtherUser_NotFound checks that a notification can be marked and deleted by
// its user only.
func TestNotifications_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		user := newSeeker()
		stranger := newSeeker()

		env.recordAndHandle(
			event.ApplicantContacted{ApplicationID: stores.NewID(), JobID: env.newListing("GP"), CandidateID: user.UserID},
		)

		r, err := env.MyNotifications(ctx, user, firstPage)
		require.NoError(t, err)

		id, yes := r.Items[0].ID, true
		require.False(t, r.Items[0].Read)

		for _, in := range []jobseeker.MarkInput{{}, {Read: &yes}} {
			require.ErrorIs(t, env.MarkNotification(ctx, stranger, id, in), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, env.MarkNotification(ctx, user, "nonsense", in), jobseeker.ErrNotificationNotFound)
			require.ErrorIs(t, env.MarkNotification(ctx, auth.Actor{UserID: user.UserID}, id, in), fault.ErrForbidden)
			require.NoError(t, env.MarkNotification(ctx, user, id, in))
		}

		require.ErrorIs(t, env.DeleteNotification(ctx, stranger, id), jobseeker.ErrNotificationNotFound)
		require.ErrorIs(t, env.DeleteNotification(ctx, auth.Actor{}, id), fault.ErrUnauthorized)
		require.NoError(t, env.DeleteNotification(ctx, user, id))
		require.Empty(t, env.notificationTexts(user))

		_, err = env.MyNotifications(ctx, auth.Actor{}, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.MyActivity(ctx, auth.Actor{}, firstPage)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		for _, list := range []func() error{
			func() error {
				_, err := env.MyNotifications(ctx, user, page.Request{Number: 1, Size: 1, Cursor: "x"})
				return err
			},
			func() error {
				_, err := env.MyActivity(ctx, user, page.Request{Number: 1, Size: 1, Cursor: "x"})
				return err
			},
		} {
			require.Equal(t, "cursor", fault.Of(list()).Fields[0].Name)
		}
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

		changeStatus()
		env.clock.Advance(179 * 24 * time.Hour)
		changeStatus()
		env.runPeriodic("jobseeker.forget")
		require.Len(t, env.notificationTexts(user), 2)
		env.clock.Advance(2 * 24 * time.Hour)
		env.runPeriodic("jobseeker.forget")
		require.Len(t, env.notificationTexts(user), 1)
		require.Len(t, env.activityTexts(user), 1)
	})
}
