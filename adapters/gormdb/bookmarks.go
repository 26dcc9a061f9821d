package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Bookmarks implements jobseeker.Bookmarks.
type Bookmarks struct{ *DB }

type bookmarkRow struct {
	ID        string
	UserID    string
	ListingID string
	Notes     string
	SavedAt   time.Time
	// DeadlineTold is true if the user has been reminded of the deadline.
	DeadlineTold bool
}

// TableName implements schema.Tabler.
func (bookmarkRow) TableName() string { return "bookmarks" }

func (r bookmarkRow) key() string { return r.ID }

func bookmarksOf(rows []bookmarkRow) []jobseeker.Bookmark {
	out := make([]jobseeker.Bookmark, len(rows))
	for i, r := range rows {
		out[i] = jobseeker.Bookmark{ID: r.ID, UserID: r.UserID, ListingID: r.ListingID, Notes: r.Notes, SavedAt: r.SavedAt}
	}
	return out
}

// Upsert implements jobseeker.Bookmarks.
func (d Bookmarks) Upsert(ctx context.Context, b jobseeker.Bookmark) error {
	res := d.q(ctx).Model(&bookmarkRow{}).Where("id = ? AND user_id = ?", b.ID, b.UserID).Update("notes", b.Notes)
	if res.Error != nil || res.RowsAffected > 0 {
		return wrap(res.Error)
	}
	return wrap(d.q(ctx).Create(&bookmarkRow{ID: b.ID, UserID: b.UserID, ListingID: b.ListingID, Notes: b.Notes, SavedAt: b.SavedAt}).Error)
}

// List implements jobseeker.Bookmarks.
func (d Bookmarks) List(ctx context.Context, userID string, f jobseeker.BookmarkFilter, r page.Request) (page.Result[jobseeker.Bookmark], error) {
	rows, out, err := listOf[bookmarkRow, jobseeker.Bookmark](ctx, d.DB, r, list{where: func(q *gorm.DB) *gorm.DB {
		q = q.Where("user_id = ?", userID)
		if f.ID != "" {
			q = q.Where("id = ?", f.ID)
		}
		if len(f.ListingIDs) > 0 {
			q = q.Where("?", d.dialect.In("listing_id", f.ListingIDs))
		}
		return q
	}})
	out.Items = bookmarksOf(rows)
	return out, err
}

// Delete implements jobseeker.Bookmarks.
func (d Bookmarks) Delete(ctx context.Context, userID, id string) error {
	return one(d.q(ctx).Where("id = ? AND user_id = ?", id, userID).Delete(&bookmarkRow{}), jobseeker.ErrBookmarkNotFound)
}

// ClaimReminders implements jobseeker.Bookmarks.
func (d Bookmarks) ClaimReminders(ctx context.Context, listingIDs []string, n int) (claimed []jobseeker.Bookmark, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		var rows []bookmarkRow
		// A fixed order avoids deadlocks between two callers.
		err := d.locked(ctx).Where("? AND NOT deadline_told", d.dialect.In("listing_id", listingIDs)).Order("listing_id, id").Limit(n).Find(&rows).Error
		if claimed = bookmarksOf(rows); err != nil || len(rows) == 0 {
			return wrap(err)
		}
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
		}
		return wrap(d.q(ctx).Model(&bookmarkRow{}).Where("?", d.dialect.In("id", ids)).Update("deadline_told", true).Error)
	})
	return claimed, err
}

// Dismissals implements jobseeker.Dismissals.
type Dismissals struct{ *DB }

type dismissalRow struct {
	UserID      string
	ListingID   string
	DismissedAt time.Time
}

// TableName implements schema.Tabler.
func (dismissalRow) TableName() string { return "dismissals" }

// Create implements jobseeker.Dismissals.
func (d Dismissals) Create(ctx context.Context, userID, listingID string, at time.Time, limit int) error {
	err := d.q(ctx).Clauses(onConflict([]string{"user_id", "listing_id"})).Create(&dismissalRow{UserID: userID, ListingID: listingID, DismissedAt: at}).Error
	if err != nil {
		return wrap(err)
	}
	var excess []string
	err = d.q(ctx).Model(&dismissalRow{}).Where("user_id = ?", userID).Order("dismissed_at DESC, listing_id DESC").Offset(limit).Limit(1_000).Pluck("listing_id", &excess).Error
	if err != nil || len(excess) == 0 {
		return wrap(err)
	}
	return wrap(d.q(ctx).Where("user_id = ? AND ?", userID, d.dialect.In("listing_id", excess)).Delete(&dismissalRow{}).Error)
}

// ListByListings implements jobseeker.Dismissals.
func (d Dismissals) ListByListings(ctx context.Context, userID string, listingIDs []string) (dismissed []string, err error) {
	err = d.q(ctx).Model(&dismissalRow{}).Where("user_id = ? AND ?", userID, d.dialect.In("listing_id", listingIDs)).Pluck("listing_id", &dismissed).Error
	return dismissed, wrap(err)
}
