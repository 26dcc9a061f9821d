package gormdb

import (
	"cmp"
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/jobseeker"
)

// jobseekerExpiry maps the kinds of data of module jobseeker that expire to functions that delete them.
var jobseekerExpiry = map[retention.Kind]expiry{
	jobseeker.NotificationKind: deleteExpiredBy[notificationRow]("created_at", "id"),
	jobseeker.ActivityKind:     deleteExpiredBy[activityRow]("at", "user_id", "event_id"),
	jobseeker.MatchKind:        deleteExpiredBy[searchMatchRow]("matched_at", "search_id", "listing_id"),
	jobseeker.GuestOnboardingKind: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		guests := db.conn(ctx).Where("visitor_kind = ? AND touched_at < ?", guestVisitor, before)
		return deleteLimited[onboardingRow](guests, n, "touched_at", "visitor_kind", "visitor")
	},
}

// notifications implements jobseeker.Notifications.
type notifications struct{ *DB }

// notificationRow is a notification of a user. Its field Cause identifies the event that has led to it.
type notificationRow jobseeker.Notification

// Create implements jobseeker.Notifications. It stores one notification of an event for each user, also if the event is
// delivered twice.
func (d notifications) Create(ctx context.Context, created ...jobseeker.Notification) error {
	q := d.conn(ctx)
	if len(created) > 1 { // the text of the statement depends on the number of rows
		q = d.unprepared(ctx)
	}

	return createRows(
		q.Clauses(ignoreOnConflict([]string{"cause", "user_id"})),
		list.Map(created, func(n jobseeker.Notification) notificationRow { return notificationRow(n) }),
	)
}

// List implements jobseeker.Notifications. It lists the notifications that the user has not deleted, newest
// first.
func (d notifications) List(
	ctx context.Context,
	userID string,
	request page.Request,
) (page.Result[jobseeker.Notification], error) {
	selected := func(q *gorm.DB) *gorm.DB { return q.Where("user_id = ? AND deleted_at IS NULL", userID) }

	return listPage(ctx, d.DB, request, listQuery{where: selected},
		func(r notificationRow) jobseeker.Notification { return jobseeker.Notification(r) })
}

// Update implements jobseeker.Notifications. The row of a notification that the user deletes remains without its
// text, so that the event is not reported again.
func (d notifications) Update(ctx context.Context, userID, id string, update jobseeker.NotificationUpdate) error {
	changes := map[string]any{}
	if update.Read != nil {
		changes["read"] = *update.Read
	}

	if update.DeletedAt != nil {
		changes["deleted_at"], changes["message"] = *update.DeletedAt, ""
	}

	q := d.conn(ctx).Model(&notificationRow{}).Where("id = ? AND user_id = ? AND deleted_at IS NULL", id, userID)

	// An update without changes only checks that the notification exists.
	if len(changes) == 0 {
		_, err := takeRow[notificationRow](q.Select("id"), jobseeker.ErrNotificationNotFound)
		return err
	}

	return requireRow(q.Updates(changes), jobseeker.ErrNotificationNotFound)
}

// activities implements jobseeker.Activities.
type activities struct{ *DB }

// activityRow is an entry in the list of what a jobseeker has done.
type activityRow jobseeker.Activity

// Create implements jobseeker.Activities. It keeps the newest jobseeker.MaxActivities of the user.
func (d activities) Create(ctx context.Context, a jobseeker.Activity) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if err := d.conn(ctx).Clauses(ignoreOnConflict([]string{"user_id", "event_id"})).Create((*activityRow)(&a)).Error; err != nil {
			return wrap(err)
		}

		// Find the newest activity beyond the maximum. It is deleted, and with it all older ones.
		var newestExcess []string // at most one

		err := d.conn(ctx).
			Model(&activityRow{}).
			Where("user_id = ?", a.UserID).
			Order("event_id DESC").
			Offset(jobseeker.MaxActivities).
			Limit(1).
			Pluck("event_id", &newestExcess).
			Error
		if err != nil || len(newestExcess) == 0 {
			return wrap(err)
		}

		excess := d.conn(ctx).Where("user_id = ? AND event_id <= ?", a.UserID, newestExcess[0])

		return wrap(excess.Delete(&activityRow{}).Error)
	})
}

// List implements jobseeker.Activities. It lists the activities of the user, newest first.
func (d activities) List(ctx context.Context, userID string, request page.Request) (page.Result[jobseeker.Activity], error) {
	selected := func(q *gorm.DB) *gorm.DB { return q.Where("user_id = ?", userID) }

	return listPage(ctx, d.DB, request, listQuery{orderedBy: "event_id", where: selected},
		func(r activityRow) jobseeker.Activity { return jobseeker.Activity(r) })
}

// seekerData implements jobseeker.PersonalData.
type seekerData struct{ *DB }

// DeleteByUser implements jobseeker.PersonalData. It does not delete the files of documents, but releases them, so
// that they are deleted from the file store. Notifications that the user has deleted contain no text and remain.
func (d seekerData) DeleteByUser(ctx context.Context, userID string, now time.Time) error {
	return d.Do(ctx, func(ctx context.Context) error {
		byUser := func() *gorm.DB { return d.conn(ctx).Where("user_id = ?", userID) }
		searches := byUser().Model(&savedSearchRow{}).Select("id")

		return cmp.Or(
			wrap(d.conn(ctx).Where("search_id IN (?)", searches).Delete(&searchMatchRow{}).Error),
			wrap(byUser().Model(&documentFileRow{}).Update("free_at", now).Error),
			wrap(byUser().Where("deleted_at IS NULL").Delete(&notificationRow{}).Error),
			wrap(d.conn(ctx).Where("visitor_kind = ? AND visitor = ?", userVisitor, userID).Delete(&onboardingRow{}).Error),
			deleteFrom(byUser(), savedSearchRow{}, bookmarkRow{}, dismissalRow{}, documentRow{}, activityRow{}, seekerRow{}))
	})
}
