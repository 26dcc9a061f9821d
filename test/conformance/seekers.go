package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/jobseeker"
)

// JobseekerOpener returns an empty storage with the current schema, whose time is that of
// the clock.
type JobseekerOpener = func(t testing.TB, clk clock.Clock) adapters.JobseekerStorage

// Jobseeker checks the storage of modules/jobseeker.
func Jobseeker(t *testing.T, open JobseekerOpener) {
	t.Run("profiles", func(t *testing.T) { Profiles(t, open) })
	t.Run("bookmarks", func(t *testing.T) { Bookmarks(t, open) })
	t.Run("dismissals", func(t *testing.T) { Dismissals(t, open) })
	t.Run("documents", func(t *testing.T) { Documents(t, open) })
	t.Run("document files", func(t *testing.T) { DocumentFiles(t, open) })
	t.Run("notifications", func(t *testing.T) { Notifications(t, open) })
	t.Run("activities", func(t *testing.T) { Activities(t, open) })
	t.Run("onboardings", func(t *testing.T) { Onboardings(t, open) })
	t.Run("saved searches", func(t *testing.T) { SavedSearches(t, open) })
	t.Run("subscribers", func(t *testing.T) { Subscribers(t, open) })
	t.Run("alert queue", func(t *testing.T) { AlertQueue(t, open) })
	t.Run("matches", func(t *testing.T) { Matches(t, open) })
	t.Run("personal data", func(t *testing.T) { SeekerPersonalData(t, open) })
}

// openJobseeker returns an empty storage and a time with microseconds.
func openJobseeker(t *testing.T, open JobseekerOpener) (adapters.JobseekerStorage, time.Time) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := open(t, clk)
	requirePorts(t, storage)

	return storage, clk.Now().Add(1234567 * time.Microsecond)
}

// withProfile runs fn in a transaction that has locked the profile of the user. The transaction
// must succeed.
func withProfile(t testing.TB, storage adapters.JobseekerStorage, userID string, fn func(ctx context.Context) error) {
	t.Helper()
	require.NoError(t, tryWithProfile(storage, userID, fn))
}

// tryWithProfile runs fn in a transaction that has locked the profile of the user, and returns the
// error of the transaction.
func tryWithProfile(storage adapters.JobseekerStorage, userID string, fn func(ctx context.Context) error) error {
	return storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		if _, err := storage.Profiles.Get(ctx, userID); err != nil {
			return err
		}

		return fn(ctx)
	})
}

// checkRetention deletes the rows of the kind that are older than the timestamp before, of which there must be
// three, and requires that calls with a limit of two delete two, one and none of them. It does nothing if the storage
// has no retention.
func checkRetention(t testing.TB, store retention.Store, kind retention.Kind, before time.Time) {
	t.Helper()

	if store == nil {
		return // the port is optional
	}

	for _, want := range []int{2, 1, 0} {
		n, err := store.DeleteBefore(context.Background(), kind, before, 2)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}

// listAllPages reads all pages of a list by cursor and returns the items. It requires the same
// pages by number, and the right total.
func listAllPages[T any](
	t testing.TB, size int, list func(request page.Request) (page.Result[T], error),
) (items []T) {
	t.Helper()

	request := page.Request{Number: 1, Size: size}
	for {
		byCursor, err := list(request)
		require.NoError(t, err)

		byNumber, err := list(page.Request{Number: request.Number, Size: size})
		require.NoError(t, err)
		require.Equal(t, byNumber, byCursor)

		items = append(items, byCursor.Items...)
		require.False(t, byCursor.TotalIsEstimate)

		if byCursor.NextCursor == "" {
			require.Equal(t, len(items), byCursor.Total)
			return items
		}

		require.Len(t, byCursor.Items, size)

		request.Cursor = byCursor.NextCursor
		request.Number++
	}
}

// newNotification returns an unread notification whose cause identifies the event.
func newNotification(user, cause string, at time.Time) jobseeker.Notification {
	return jobseeker.Notification{
		ID:        newID(),
		UserID:    user,
		Cause:     cause,
		Type:      jobseeker.AboutApplication,
		SubjectID: newID(),
		Message:   "Zoë's 100% \"news\"",
		CreatedAt: at,
	}
}

// Notifications checks the port jobseeker.Notifications.
func Notifications(t *testing.T, open JobseekerOpener) {
	suite := notificationSuite{open}
	t.Run("create and list", suite.createAndList)
	t.Run("same cause", suite.sameCause)
	t.Run("same cause, concurrently", suite.sameCauseConcurrently)
	t.Run("rollback", suite.rollback)
	t.Run("pages", suite.pages)
	t.Run("update and delete", suite.updateAndDelete)
	t.Run("retention", suite.retention)
}

// notificationSuite has the subtests of Notifications.
type notificationSuite struct {
	open JobseekerOpener
}

// createAndList checks that a notification is read as it was created. Create without
// notifications does nothing.
func (suite notificationSuite) createAndList(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	notification := newNotification(newID(), newID(), now)
	require.NoError(t, storage.Notifications.Create(context.Background(), notification))
	require.NoError(t, storage.Notifications.Create(context.Background()))

	got, err := storage.Notifications.List(context.Background(), notification.UserID, firstHundred)
	require.NoError(t, err)
	require.Equal(t, page.Result[jobseeker.Notification]{Items: []jobseeker.Notification{notification}, Total: 1}, got)
}

// sameCause checks that a user gets one notification of an event that is delivered more than
// once.
func (suite notificationSuite) sameCause(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, cause := newID(), newID()
	require.NoError(t, storage.Notifications.Create(context.Background(), newNotification(user, cause, now)))
	require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		require.NoError(t, storage.Notifications.Create(ctx, newNotification(user, cause, now)))
		return storage.Notifications.Create(ctx, newNotification(user, newID(), now), newNotification(user, cause, now))
	}))
	require.NoError(t, storage.Notifications.Create(context.Background(), newNotification(newID(), cause, now)))

	got, err := storage.Notifications.List(context.Background(), user, firstHundred)
	require.NoError(t, err)
	require.Equal(t, 2, got.Total)
}

// sameCauseConcurrently checks that twenty concurrent notifications with the same cause are
// stored once.
func (suite notificationSuite) sameCauseConcurrently(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, cause := newID(), newID()
	runConcurrently(t, 20, func(int) error {
		return storage.Notifications.Create(context.Background(), newNotification(user, cause, now))
	})

	got, err := storage.Notifications.List(context.Background(), user, firstHundred)
	require.NoError(t, err)
	require.Equal(t, 1, got.Total)
}

// rollback checks that a transaction that fails stores no notification.
func (suite notificationSuite) rollback(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	notification, errFailed := newNotification(newID(), newID(), now), errors.New("boom")
	require.ErrorIs(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		require.NoError(t, storage.Notifications.Create(ctx, notification))
		return errFailed
	}), errFailed)
	require.ErrorIs(t,
		storage.Notifications.Update(context.Background(), notification.UserID, notification.ID, jobseeker.NotificationUpdate{}),
		jobseeker.ErrNotificationNotFound)
}

// pages checks that pages of two contain all notifications of the user, newest first.
func (suite notificationSuite) pages(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user := newID()

	var want []jobseeker.Notification
	for range 5 {
		notification := newNotification(user, newID(), now)
		want = append([]jobseeker.Notification{notification}, want...)
		require.NoError(t, storage.Notifications.Create(context.Background(), notification))
	}

	listed := listAllPages(t, 2, func(request page.Request) (page.Result[jobseeker.Notification], error) {
		return storage.Notifications.List(context.Background(), user, request)
	})
	require.Equal(t, want, listed)
}

// updateAndDelete checks that a deleted notification is not created again by a second delivery
// of its event.
func (suite notificationSuite) updateAndDelete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	notification := newNotification(newID(), newID(), now)
	require.NoError(t, storage.Notifications.Create(context.Background(), notification))

	// No update is possible with the id of another user or notification.
	updates := []jobseeker.NotificationUpdate{{}, {Read: new(true)}, {DeletedAt: &now}}
	for _, update := range updates {
		require.ErrorIs(t, storage.Notifications.Update(context.Background(), newID(), notification.ID, update),
			jobseeker.ErrNotificationNotFound)
		require.ErrorIs(t, storage.Notifications.Update(context.Background(), notification.UserID, newID(), update),
			jobseeker.ErrNotificationNotFound)
	}

	// The user marks the notification as read and as unread.
	for _, update := range []struct {
		read     *bool // nil changes nothing
		wantRead bool
	}{
		{read: nil, wantRead: false},
		{read: new(true), wantRead: true},
		{read: new(true), wantRead: true},
		{read: nil, wantRead: true},
		{read: new(false), wantRead: false},
	} {
		require.NoError(t, storage.Notifications.Update(context.Background(), notification.UserID, notification.ID,
			jobseeker.NotificationUpdate{Read: update.read}))

		got, err := storage.Notifications.List(context.Background(), notification.UserID, firstHundred)
		require.NoError(t, err)
		require.Equal(t, update.wantRead, got.Items[0].Read)
	}

	// The user deletes the notification, which then can be neither updated nor created again.
	require.NoError(t, storage.Notifications.Update(context.Background(), notification.UserID, notification.ID,
		jobseeker.NotificationUpdate{DeletedAt: &now}))

	for _, update := range updates {
		require.ErrorIs(t, storage.Notifications.Update(context.Background(), notification.UserID, notification.ID, update),
			jobseeker.ErrNotificationNotFound)
	}

	require.NoError(t,
		storage.Notifications.Create(context.Background(), newNotification(notification.UserID, notification.Cause, now)),
		"second delivery of the event")

	got, err := storage.Notifications.List(context.Background(), notification.UserID, firstHundred)
	require.NoError(t, err)
	require.Empty(t, got.Items)
	require.Zero(t, got.Total)
}

// retention checks that old notifications are deleted, also those that the user has deleted.
func (suite notificationSuite) retention(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	user := newID()
	for i := range 5 {
		notification := newNotification(user, newID(), now.Add(time.Duration(i)*time.Hour))
		require.NoError(t, storage.Notifications.Create(context.Background(), notification))

		if i == 0 {
			require.NoError(t, storage.Notifications.Update(context.Background(), user, notification.ID,
				jobseeker.NotificationUpdate{DeletedAt: &now}))
		}
	}

	checkRetention(t, storage.Retention, jobseeker.NotificationKind, now.Add(3*time.Hour))

	got, err := storage.Notifications.List(context.Background(), user, firstHundred)
	require.NoError(t, err)

	if storage.Retention != nil {
		require.Equal(t, 2, got.Total)
	}
}

// Activities checks the port jobseeker.Activities.
func Activities(t *testing.T, open JobseekerOpener) {
	open = withPort(open, "Activities", func(s adapters.JobseekerStorage) any { return s.Activities })
	ctx := context.Background()

	t.Run("pages, same event", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user := newID()

		// The list is in the order of the ids of events, the latest first, whatever the times of the activities.
		var want []jobseeker.Activity
		for i := range 5 {
			activity := jobseeker.Activity{
				UserID:      user,
				EventID:     newID(),
				Type:        "application",
				Action:      "applied",
				Description: fmt.Sprint("é% ", i),
				At:          now.Add(-time.Duration(i) * time.Hour),
			}
			want = append([]jobseeker.Activity{activity}, want...)
		}

		// Each event is delivered twice, the latest first.
		for range 2 {
			for _, activity := range want {
				require.NoError(t, storage.Activities.Create(ctx, activity))
			}
		}

		require.NoError(t,
			storage.Activities.Create(ctx, jobseeker.Activity{UserID: newID(), EventID: want[0].EventID, At: now}),
			"of another user")

		listed := listAllPages(t, 3, func(request page.Request) (page.Result[jobseeker.Activity], error) {
			return storage.Activities.List(ctx, user, request)
		})
		require.Equal(t, want, listed)
	})

	// The oldest activities over the limit are deleted, and an old event that is delivered
	// again does not replace a newer one.
	t.Run("limit per user", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		busy, otherID := newID(), newID()
		var events []string

		require.NoError(t,
			storage.Activities.Create(ctx, jobseeker.Activity{UserID: otherID, EventID: newID(), At: now}))
		require.NoError(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
			events = nil
			for range jobseeker.MaxActivities + 2 {
				events = append(events, newID())
				if err := storage.Activities.Create(ctx, jobseeker.Activity{
					UserID:  busy,
					EventID: events[len(events)-1],
					At:      now,
				}); err != nil {
					return err
				}
			}

			return nil
		}))
		require.NoError(t,
			storage.Activities.Create(ctx, jobseeker.Activity{UserID: busy, EventID: events[0], At: now}),
			"delivered again, older than the others")

		for user, want := range map[string]int{busy: jobseeker.MaxActivities, otherID: 1} {
			got, err := storage.Activities.List(ctx, user, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			require.Equal(t, want, got.Total)
		}

		last, err := storage.Activities.List(ctx, busy, page.Request{Number: jobseeker.MaxActivities, Size: 1})
		require.NoError(t, err)
		require.Equal(t, events[2], last.Items[0].EventID)
	})

	t.Run("retention", func(t *testing.T) {
		storage, now := openJobseeker(t, open)

		user := newID()
		for i := range 5 {
			require.NoError(
				t,
				storage.Activities.Create(ctx, jobseeker.Activity{
					UserID:  user,
					EventID: newID(),
					At:      now.Add(time.Duration(i) * time.Hour),
				}),
			)
		}

		checkRetention(t, storage.Retention, jobseeker.ActivityKind, now.Add(3*time.Hour))

		got, err := storage.Activities.List(ctx, user, page.Request{Number: 1, Size: 9})
		require.NoError(t, err)

		if storage.Retention != nil {
			require.Equal(t, 2, got.Total)
		}
	})
}
