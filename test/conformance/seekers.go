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

	return storage, clk.Now().Add(unroundedDelay)
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

// listAllPages reads all pages of a list by cursor and returns their items. It requires that each page is the same when
// it is requested by its number, that all pages but the last are full, and that the total is the number of items.
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
		require.Equal(t, byNumber, byCursor, "page %d", request.Number)

		items = append(items, byCursor.Items...)
		require.False(t, byCursor.TotalIsEstimate, "the total of a short list is exact")

		if byCursor.NextCursor == "" {
			require.Equal(t, len(items), byCursor.Total)
			return items
		}

		require.Len(t, byCursor.Items, size)

		request.Cursor = byCursor.NextCursor
		request.Number++
	}
}

// newNotification returns an unread notification. Its cause identifies the event that the user is notified of.
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

// createAndList checks that a notification is listed as it was created. A call of Create without notifications does
// nothing.
func (suite notificationSuite) createAndList(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	notification := newNotification(newID(), newID(), now)
	require.NoError(t, storage.Notifications.Create(context.Background(), notification))
	require.NoError(t, storage.Notifications.Create(context.Background()))

	got, err := storage.Notifications.List(context.Background(), notification.UserID, firstHundred)
	require.NoError(t, err)
	require.Equal(t, page.Result[jobseeker.Notification]{Items: []jobseeker.Notification{notification}, Total: 1}, got)
}

// sameCause checks that a user gets one notification of each event, although an event may be delivered more than once.
// A repeated notification is no error, also in a transaction and together with a new one.
func (suite notificationSuite) sameCause(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	user, cause, otherCause := newID(), newID(), newID()
	require.NoError(t, storage.Notifications.Create(context.Background(), newNotification(user, cause, now)))
	require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		require.NoError(t, storage.Notifications.Create(ctx, newNotification(user, cause, now)), "repeated alone")
		return storage.Notifications.Create(ctx, newNotification(user, otherCause, now), newNotification(user, cause, now))
	}))

	// Another user may be notified of the same event.
	require.NoError(t, storage.Notifications.Create(context.Background(), newNotification(newID(), cause, now)))

	got, err := storage.Notifications.List(context.Background(), user, firstHundred)
	require.NoError(t, err)
	require.Equal(t, 2, got.Total, "the two causes")
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

// rollback checks that a transaction that fails after the creation of a notification stores none.
func (suite notificationSuite) rollback(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	notification, errRollback := newNotification(newID(), newID(), now), errors.New("roll back")
	require.ErrorIs(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		require.NoError(t, storage.Notifications.Create(ctx, notification))
		return errRollback
	}), errRollback)

	// An update, here one that changes nothing, finds the notification if it is stored.
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

// updateAndDelete checks that users can mark their own notifications as read and unread, and can delete them. A deleted
// notification is not created again by a second delivery of its event.
func (suite notificationSuite) updateAndDelete(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)
	notification := newNotification(newID(), newID(), now)
	require.NoError(t, storage.Notifications.Create(context.Background(), notification))

	// No update, not even an empty one, is possible with the id of another user or of another notification.
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

// retention checks that old notifications are deleted, also the row of one that the user has deleted. Five notifications
// are an hour apart, of which three are from before the bound.
func (suite notificationSuite) retention(t *testing.T) {
	storage, now := openJobseeker(t, suite.open)

	user := newID()
	for hours := range 5 {
		notification := newNotification(user, newID(), now.Add(time.Duration(hours)*time.Hour))
		require.NoError(t, storage.Notifications.Create(context.Background(), notification))

		if hours == 0 { // the user deletes the oldest one
			require.NoError(t, storage.Notifications.Update(context.Background(), user, notification.ID,
				jobseeker.NotificationUpdate{DeletedAt: &now}))
		}
	}

	checkRetention(t, storage.Retention, jobseeker.NotificationKind, now.Add(3*time.Hour))

	got, err := storage.Notifications.List(context.Background(), user, firstHundred)
	require.NoError(t, err)

	if storage.Retention != nil { // the port is optional
		require.Equal(t, 2, got.Total, "the notifications from the bound on")
	}
}

// Activities checks the port jobseeker.Activities. The activities of a user are a log, such as of searches that the user
// has saved. Each is caused by an event.
func Activities(t *testing.T, open JobseekerOpener) {
	open = withPort(open, "Activities", func(s adapters.JobseekerStorage) any { return s.Activities })
	ctx := context.Background()

	// Pages contain one activity for each event, although each event is delivered twice.
	t.Run("pages, same event", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		user := newID()

		// The list is in the order of the ids of events, the latest first. The times of the activities are in the
		// reverse order, so that a list in the order of times would be noticed.
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

		// The same event may also be an activity of another user.
		latestEvent := want[0].EventID
		require.NoError(t,
			storage.Activities.Create(ctx, jobseeker.Activity{UserID: newID(), EventID: latestEvent, At: now}))

		listed := listAllPages(t, 3, func(request page.Request) (page.Result[jobseeker.Activity], error) {
			return storage.Activities.List(ctx, user, request)
		})
		require.Equal(t, want, listed)
	})

	// Of a user with too many activities, the oldest ones are deleted. An old event that is delivered again does not
	// replace a newer one. Activities of other users stay.
	t.Run("limit per user", func(t *testing.T) {
		const overLimit = 2 // the number of activities that are deleted

		storage, now := openJobseeker(t, open)
		busy, otherID := newID(), newID()
		events := newIDs(jobseeker.MaxActivities + overLimit)

		require.NoError(t,
			storage.Activities.Create(ctx, jobseeker.Activity{UserID: otherID, EventID: newID(), At: now}))

		// One transaction is faster than one for each activity.
		require.NoError(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
			for _, event := range events {
				if err := storage.Activities.Create(ctx, jobseeker.Activity{UserID: busy, EventID: event, At: now}); err != nil {
					return err
				}
			}

			return nil
		}))

		// The first event is delivered again, after its activity was deleted.
		require.NoError(t,
			storage.Activities.Create(ctx, jobseeker.Activity{UserID: busy, EventID: events[0], At: now}))

		for user, want := range map[string]int{busy: jobseeker.MaxActivities, otherID: 1} {
			got, err := storage.Activities.List(ctx, user, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			require.Equal(t, want, got.Total)
		}

		// On pages of one, the last page has the oldest activity that is stored.
		last, err := storage.Activities.List(ctx, busy, page.Request{Number: jobseeker.MaxActivities, Size: 1})
		require.NoError(t, err)
		require.Equal(t, events[overLimit], last.Items[0].EventID)
	})

	// Of five activities, an hour apart, three are from before the bound.
	t.Run("retention", func(t *testing.T) {
		storage, now := openJobseeker(t, open)

		user := newID()
		for hours := range 5 {
			require.NoError(t, storage.Activities.Create(ctx, jobseeker.Activity{
				UserID:  user,
				EventID: newID(),
				At:      now.Add(time.Duration(hours) * time.Hour),
			}))
		}

		checkRetention(t, storage.Retention, jobseeker.ActivityKind, now.Add(3*time.Hour))

		got, err := storage.Activities.List(ctx, user, firstHundred)
		require.NoError(t, err)

		if storage.Retention != nil { // the port is optional
			require.Equal(t, 2, got.Total, "the activities from the bound on")
		}
	})
}
