package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Notifications stores what users are told.
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

// TableName tells GORM the table.
func (notificationRow) TableName() string { return "notifications" }

// Add implements jobseeker.Notifications.
func (d Notifications) Add(ctx context.Context, ns ...jobseeker.Notification) error {
	if len(ns) == 0 {
		return nil
	}
	rows := make([]notificationRow, len(ns))
	for i, n := range ns {
		rows[i] = notificationRow{ID: n.ID, UserID: n.UserID, Cause: n.Cause, Type: string(n.Type), Message: n.Message, Read: n.Read, CreatedAt: n.CreatedAt}
	}
	q := d.q(ctx)
	if len(rows) > 1 { // a shape for each number
		q = d.unprepared(ctx)
	}
	return wrap(q.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "cause"}, {Name: "user_id"}}, DoNothing: true}).Create(&rows).Error)
}

// Page implements jobseeker.Notifications.
func (d Notifications) Page(ctx context.Context, userID string, r page.Request) (out page.Result[jobseeker.Notification], err error) {
	const mine = "user_id = ? AND deleted_at IS NULL"
	var rows []notificationRow
	if err := pageByID(d.q(ctx).Where(mine, userID), "id", r).Find(&rows).Error; err != nil {
		return out, wrap(err)
	}
	if out.Total, out.TotalIsEstimate, err = d.countCapped(ctx, "notifications WHERE "+mine, userID); err != nil {
		return out, err
	}
	if len(rows) > r.Size {
		rows = rows[:r.Size]
		out.NextCursor = rows[r.Size-1].ID
	}
	out.Items = make([]jobseeker.Notification, len(rows))
	for i, r := range rows {
		out.Items[i] = jobseeker.Notification{ID: r.ID, UserID: r.UserID, Cause: r.Cause, Type: jobseeker.NotificationType(r.Type), Message: r.Message, Read: r.Read, CreatedAt: r.CreatedAt}
	}
	return out, nil
}

// SetRead implements jobseeker.Notifications.
func (d Notifications) SetRead(ctx context.Context, userID, id string, read bool) error {
	return there(d.q(ctx).Exec("UPDATE notifications SET read = ? WHERE id = ? AND user_id = ? AND deleted_at IS NULL", read, id, userID))
}

// Has implements jobseeker.Notifications.
func (d Notifications) Has(ctx context.Context, userID, id string) error {
	var r notificationRow
	return orNotFound(d.q(ctx).Where("id = ? AND user_id = ? AND deleted_at IS NULL", id, userID).Take(&r).Error, jobseeker.ErrNotificationNotFound)
}

// Delete implements jobseeker.Notifications.
func (d Notifications) Delete(ctx context.Context, userID, id string, at time.Time) error {
	return there(d.q(ctx).Exec("UPDATE notifications SET deleted_at = ?, message = '' WHERE id = ? AND user_id = ? AND deleted_at IS NULL", at, id, userID))
}

func there(res *gorm.DB) error { return one(res, jobseeker.ErrNotificationNotFound) }

// one checks the outcome of a statement that is about one row.
func one(res *gorm.DB, absent error) error {
	if res.Error == nil && res.RowsAffected == 0 {
		return absent
	}
	return wrap(res.Error)
}

// Forget implements jobseeker.Notifications.
func (d Notifications) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE created_at < ? ORDER BY created_at LIMIT ?)", before, n)
	return int(res.RowsAffected), wrap(res.Error)
}

// Activities stores what users did.
type Activities struct{ *DB }

type activityRow struct {
	UserID      string
	EventID     string
	Type        string
	Action      string
	Description string
	At          time.Time
}

// TableName tells GORM the table.
func (activityRow) TableName() string { return "activities" }

// Add implements jobseeker.Activities.
func (d Activities) Add(ctx context.Context, a jobseeker.Activity) error {
	return d.Do(ctx, func(ctx context.Context) error {
		row := activityRow(a)
		err := d.q(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}, {Name: "event_id"}}, DoNothing: true}).Create(&row).Error
		if err != nil {
			return wrap(err)
		}
		return wrap(d.q(ctx).Exec(`DELETE FROM activities WHERE user_id = ? AND event_id <= (
			SELECT event_id FROM activities WHERE user_id = ? ORDER BY event_id DESC LIMIT 1 OFFSET ?)`, a.UserID, a.UserID, jobseeker.MostActivities).Error)
	})
}

// Page implements jobseeker.Activities.
func (d Activities) Page(ctx context.Context, userID string, r page.Request) (out page.Result[jobseeker.Activity], err error) {
	var rows []activityRow
	if err := pageByID(d.q(ctx).Where("user_id = ?", userID), "event_id", r).Find(&rows).Error; err != nil {
		return out, wrap(err)
	}
	if out.Total, out.TotalIsEstimate, err = d.countCapped(ctx, "activities WHERE user_id = ?", userID); err != nil {
		return out, err
	}
	if len(rows) > r.Size {
		rows = rows[:r.Size]
		out.NextCursor = rows[r.Size-1].EventID
	}
	out.Items = make([]jobseeker.Activity, len(rows))
	for i, r := range rows {
		out.Items[i] = jobseeker.Activity(r)
	}
	return out, nil
}

// Forget implements jobseeker.Activities.
func (d Activities) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM activities WHERE (user_id, event_id) IN (SELECT user_id, event_id FROM activities WHERE at < ? ORDER BY at LIMIT ?)", before, n)
	return int(res.RowsAffected), wrap(res.Error)
}

// pageByID asks for one row more than the page has, the largest id first. The
// column is a constant.
func pageByID(q *gorm.DB, column string, r page.Request) *gorm.DB {
	q = q.Order(column + " DESC").Limit(r.Size + 1)
	if r.Cursor != "" {
		return q.Where(column+" < ?", r.Cursor)
	}
	return q.Offset(r.Offset())
}

// countCapped counts rows as far as totals are exact. The source is a constant.
func (db *DB) countCapped(ctx context.Context, from string, args ...any) (n int, estimate bool, err error) {
	err = db.q(ctx).Raw(`SELECT COUNT(*) FROM (SELECT 1 FROM `+from+` LIMIT ?) AS counted`, append(args, page.MaxExact+1)...).Scan(&n).Error
	if n > page.MaxExact {
		return page.MaxExact, true, wrap(err)
	}
	return n, false, wrap(err)
}
