package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// bookmarks implements jobseeker.Bookmarks.
type bookmarks struct{ *DB }

// bookmarkRow is a listing that a jobseeker has saved.
type bookmarkRow struct {
	jobseeker.Bookmark
	// DeadlineTold is true if the user has been reminded of the deadline.
	DeadlineTold bool
}

func (r bookmarkRow) bookmark() jobseeker.Bookmark { return r.Bookmark }

// Upsert implements jobseeker.Bookmarks. Of an existing bookmark, only the notes change.
func (d bookmarks) Upsert(ctx context.Context, b jobseeker.Bookmark) error {
	updated := d.conn(ctx).Model(&bookmarkRow{}).Where("id = ? AND user_id = ?", b.ID, b.UserID).Update("notes", b.Notes)
	if updated.Error != nil || updated.RowsAffected > 0 {
		return wrap(updated.Error)
	}

	return wrap(d.conn(ctx).Create(&bookmarkRow{Bookmark: b}).Error)
}

// List implements jobseeker.Bookmarks. It lists the bookmarks of the user, newest first.
func (d bookmarks) List(
	ctx context.Context,
	userID string,
	f jobseeker.BookmarkFilter,
	request page.Request,
) (page.Result[jobseeker.Bookmark], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = q.Where("user_id = ?", userID)
		q = whereEqual(q, "id", f.ID)

		return whereInIfSet(q, "listing_id", f.ListingIDs)
	}

	return listPage(ctx, d.DB, request, listQuery{where: selected}, bookmarkRow.bookmark)
}

// Delete implements jobseeker.Bookmarks.
func (d bookmarks) Delete(ctx context.Context, userID, id string) error {
	deleted := d.conn(ctx).Where("id = ? AND user_id = ?", id, userID).Delete(&bookmarkRow{})
	return requireRow(deleted, jobseeker.ErrBookmarkNotFound)
}

// ClaimReminders implements jobseeker.Bookmarks. It returns at most n bookmarks of the listings whose users have not
// been reminded of the deadline, and records that they have.
func (d bookmarks) ClaimReminders(ctx context.Context, listingIDs []string, n int) (claimed []jobseeker.Bookmark, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		// A fixed order avoids deadlocks between two callers.
		pending := whereIn(d.locked(ctx).Where("NOT deadline_told"), "listing_id", listingIDs).Order("listing_id, id").Limit(n)

		claimed, err = findRows(pending, bookmarkRow.bookmark)
		if err != nil || len(claimed) == 0 {
			return err
		}

		ids := list.Map(claimed, func(b jobseeker.Bookmark) string { return b.ID })

		return wrap(whereIn(d.conn(ctx).Model(&bookmarkRow{}), "id", ids).Update("deadline_told", true).Error)
	})

	return claimed, err
}

// dismissals implements jobseeker.Dismissals.
type dismissals struct{ *DB }

// dismissalRow is a recommended listing that a jobseeker does not want to see again.
type dismissalRow struct {
	UserID      string
	ListingID   string
	DismissedAt time.Time
}

// Create implements jobseeker.Dismissals. It keeps the newest dismissals of the user, up to the limit.
func (d dismissals) Create(ctx context.Context, userID, listingID string, at time.Time, limit int) error {
	err := d.conn(ctx).
		Clauses(ignoreOnConflict([]string{"user_id", "listing_id"})).
		Create(&dismissalRow{UserID: userID, ListingID: listingID, DismissedAt: at}).
		Error
	if err != nil {
		return wrap(err)
	}

	// Delete what is beyond the limit, which is usually at most one row. MariaDB and SQLite accept an
	// offset only together with a limit.
	const maxDeleted = 1_000
	var excess []string // the ids of the listings

	err = d.conn(ctx).
		Model(&dismissalRow{}).
		Where("user_id = ?", userID).
		Order("dismissed_at DESC, listing_id DESC").
		Offset(limit).
		Limit(maxDeleted).
		Pluck("listing_id", &excess).
		Error
	if err != nil || len(excess) == 0 {
		return wrap(err)
	}

	return wrap(whereIn(d.conn(ctx).Where("user_id = ?", userID), "listing_id", excess).Delete(&dismissalRow{}).Error)
}

// ListByListings implements jobseeker.Dismissals. It returns those of the listings that the user has
// dismissed.
func (d dismissals) ListByListings(ctx context.Context, userID string, listingIDs []string) (dismissed []string, err error) {
	ofUser := d.conn(ctx).Model(&dismissalRow{}).Where("user_id = ?", userID)
	err = whereIn(ofUser, "listing_id", listingIDs).Pluck("listing_id", &dismissed).Error

	return dismissed, wrap(err)
}
