package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/jobseeker"
)

// jobseekerExpiry are the kinds of module jobseeker.
var jobseekerExpiry = map[retention.Kind]expiry{
	jobseeker.NotificationKind: expireBy[notificationRow]("created_at", "id"),
	jobseeker.ActivityKind:     expireBy[activityRow]("at", "user_id", "event_id"),
	jobseeker.MatchKind:        expireBy[matchRow]("matched_at", "search_id", "listing_id"),
	jobseeker.GuestOnboardingKind: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		guests := db.q(ctx).Where("visitor_kind = ? AND touched_at < ?", guestVisitor, before)
		return deleteLimited[onboardingRow](guests, n, "touched_at", "visitor_kind", "visitor")
	},
}

// Notifications implements jobseeker.Notifications.
type Notifications struct{ *DB }

type notificationRow struct {
	ID        string
	UserID    string
	Cause     string
	Type      string
	Message   string
	Read      bool
	CreatedAt time.Time
}

// TableName implements schema.Tabler.
func (notificationRow) TableName() string { return "notifications" }

func (r notificationRow) key() string { return r.ID }

// Create implements jobseeker.Notifications.
func (d Notifications) Create(ctx context.Context, ns ...jobseeker.Notification) error {
	if len(ns) == 0 {
		return nil
	}
	rows := make([]notificationRow, len(ns))
	for i, n := range ns {
		rows[i] = notificationRow{ID: n.ID, UserID: n.UserID, Cause: n.Cause, Type: string(n.Type), Message: n.Message, Read: n.Read, CreatedAt: n.CreatedAt}
	}
	q := d.q(ctx)
	if len(rows) > 1 { // the statement depends on the number of rows
		q = d.unprepared(ctx)
	}
	return wrap(q.Clauses(onConflict([]string{"cause", "user_id"})).Create(&rows).Error)
}

// List implements jobseeker.Notifications.
func (d Notifications) List(ctx context.Context, userID string, r page.Request) (page.Result[jobseeker.Notification], error) {
	rows, out, err := pageOf[notificationRow, jobseeker.Notification](ctx, d.DB, nil, r, "user_id = ? AND deleted_at IS NULL", userID)
	out.Items = make([]jobseeker.Notification, len(rows))
	for i, r := range rows {
		out.Items[i] = jobseeker.Notification{ID: r.ID, UserID: r.UserID, Cause: r.Cause, Type: jobseeker.NotificationType(r.Type), Message: r.Message, Read: r.Read, CreatedAt: r.CreatedAt}
	}
	return out, err
}

// Update implements jobseeker.Notifications.
func (d Notifications) Update(ctx context.Context, userID, id string, u jobseeker.NotificationUpdate) error {
	set := map[string]any{}
	if u.Read != nil {
		set["read"] = *u.Read
	}
	if u.DeletedAt != nil {
		set["deleted_at"], set["message"] = *u.DeletedAt, ""
	}
	q := d.q(ctx).Model(&notificationRow{}).Where("id = ? AND user_id = ? AND deleted_at IS NULL", id, userID)
	if len(set) == 0 {
		var r notificationRow
		return orNotFound(q.Select("id").Take(&r).Error, jobseeker.ErrNotificationNotFound)
	}
	return one(q.Updates(set), jobseeker.ErrNotificationNotFound)
}

// one returns the error of a statement that changes one row, or absent if there is no
// such row.
func one(res *gorm.DB, absent error) error {
	if res.Error == nil && res.RowsAffected == 0 {
		return absent
	}
	return wrap(res.Error)
}

// Activities implements jobseeker.Activities.
type Activities struct{ *DB }

type activityRow struct {
	UserID      string
	EventID     string
	Type        string
	Action      string
	Description string
	At          time.Time
}

// TableName implements schema.Tabler.
func (activityRow) TableName() string { return "activities" }

func (r activityRow) key() string { return r.EventID }

// Create implements jobseeker.Activities.
func (d Activities) Create(ctx context.Context, a jobseeker.Activity) error {
	return d.Do(ctx, func(ctx context.Context) error {
		row := activityRow(a)
		if err := d.q(ctx).Clauses(onConflict([]string{"user_id", "event_id"})).Create(&row).Error; err != nil {
			return wrap(err)
		}
		var excess []string
		err := d.q(ctx).Model(&activityRow{}).Where("user_id = ?", a.UserID).Order("event_id DESC").Offset(jobseeker.MaxActivities).Limit(1).Pluck("event_id", &excess).Error
		if err != nil || len(excess) == 0 {
			return wrap(err)
		}
		return wrap(d.q(ctx).Where("user_id = ? AND event_id <= ?", a.UserID, excess[0]).Delete(&activityRow{}).Error)
	})
}

// List implements jobseeker.Activities.
func (d Activities) List(ctx context.Context, userID string, r page.Request) (page.Result[jobseeker.Activity], error) {
	rows, out, err := listOf[activityRow, jobseeker.Activity](ctx, d.DB, r, list{orderedBy: "event_id",
		where: func(q *gorm.DB) *gorm.DB { return q.Where("user_id = ?", userID) }})
	out.Items = make([]jobseeker.Activity, len(rows))
	for i, r := range rows {
		out.Items[i] = jobseeker.Activity(r)
	}
	return out, err
}
