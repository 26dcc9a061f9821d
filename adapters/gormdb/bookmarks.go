package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Bookmarks stores the listings that users keep.
type Bookmarks struct{ *DB }

type bookmarkRow struct {
	ID           string
	UserID       string
	ListingID    string
	Notes        string
	SavedAt      time.Time
	DeadlineTold bool
}

// TableName tells GORM the table.
func (bookmarkRow) TableName() string { return "bookmarks" }

func (r bookmarkRow) key() string { return r.ID }

func bookmarksOf(rows []bookmarkRow) []jobseeker.Bookmark {
	out := make([]jobseeker.Bookmark, len(rows))
	for i, r := range rows {
		out[i] = r.bookmark()
	}
	return out
}

func (r bookmarkRow) bookmark() jobseeker.Bookmark {
	return jobseeker.Bookmark{ID: r.ID, UserID: r.UserID, ListingID: r.ListingID, Notes: r.Notes, SavedAt: r.SavedAt}
}

// Add implements jobseeker.Bookmarks.
func (d Bookmarks) Add(ctx context.Context, b jobseeker.Bookmark) (bool, error) {
	res := d.q(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}, {Name: "listing_id"}}, DoNothing: true}).
		Create(&bookmarkRow{ID: b.ID, UserID: b.UserID, ListingID: b.ListingID, Notes: b.Notes, SavedAt: b.SavedAt})
	return res.RowsAffected > 0, wrap(res.Error)
}

// Find implements jobseeker.Bookmarks.
func (d Bookmarks) Find(ctx context.Context, userID, id string) (jobseeker.Bookmark, error) {
	var r bookmarkRow
	err := d.q(ctx).Where("id = ? AND user_id = ?", id, userID).Take(&r).Error
	return r.bookmark(), orNotFound(err, jobseeker.ErrBookmarkNotFound)
}

// Page implements jobseeker.Bookmarks.
func (d Bookmarks) Page(ctx context.Context, userID string, r page.Request) (page.Result[jobseeker.Bookmark], error) {
	rows, out, err := pageOf[bookmarkRow, jobseeker.Bookmark](ctx, d.DB, nil, r, "user_id = ?", userID)
	out.Items = bookmarksOf(rows)
	return out, err
}

// Count implements jobseeker.Bookmarks.
func (d Bookmarks) Count(ctx context.Context, userID string) (n int, err error) {
	err = d.q(ctx).Raw("SELECT COUNT(*) FROM bookmarks WHERE user_id = ?", userID).Scan(&n).Error
	return n, wrap(err)
}

// Among implements jobseeker.Bookmarks.
func (d Bookmarks) Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	var found []string
	err := d.q(ctx).Raw("SELECT listing_id FROM bookmarks WHERE user_id = ? AND ?", userID, d.dialect.In("listing_id", listingIDs)).Scan(&found).Error
	out := make(map[string]bool, len(found))
	for _, id := range found {
		out[id] = true
	}
	return out, wrap(err)
}

// SetNotes implements jobseeker.Bookmarks.
func (d Bookmarks) SetNotes(ctx context.Context, userID, id, notes string) error {
	res := d.q(ctx).Exec("UPDATE bookmarks SET notes = ? WHERE id = ? AND user_id = ?", notes, id, userID)
	return one(res, jobseeker.ErrBookmarkNotFound)
}

// Delete implements jobseeker.Bookmarks.
func (d Bookmarks) Delete(ctx context.Context, userID, id string) error {
	res := d.q(ctx).Exec("DELETE FROM bookmarks WHERE id = ? AND user_id = ?", id, userID)
	return one(res, jobseeker.ErrBookmarkNotFound)
}

// Untold implements jobseeker.Bookmarks.
func (d Bookmarks) Untold(ctx context.Context, listingIDs []string, n int) ([]jobseeker.Bookmark, error) {
	var rows []bookmarkRow
	// In one order, so that two runs do not wait for each other.
	err := d.locked(ctx).Where("? AND NOT deadline_told", d.dialect.In("listing_id", listingIDs)).Order("listing_id, id").Limit(n).Find(&rows).Error
	return bookmarksOf(rows), wrap(err)
}

// Told implements jobseeker.Bookmarks.
func (d Bookmarks) Told(ctx context.Context, ids []string) error {
	return wrap(d.q(ctx).Exec("UPDATE bookmarks SET deadline_told = TRUE WHERE ?", d.dialect.In("id", ids)).Error)
}

// Dismissals stores what users do not want to be recommended.
type Dismissals struct{ *DB }

type dismissalRow struct {
	UserID      string
	ListingID   string
	DismissedAt time.Time
}

// TableName tells GORM the table.
func (dismissalRow) TableName() string { return "dismissals" }

// Add implements jobseeker.Dismissals.
func (d Dismissals) Add(ctx context.Context, userID, listingID string, at time.Time, most int) error {
	err := d.q(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&dismissalRow{UserID: userID, ListingID: listingID, DismissedAt: at}).Error
	if err != nil {
		return wrap(err)
	}
	return wrap(d.q(ctx).Exec(`DELETE FROM dismissals WHERE user_id = ? AND listing_id IN
		(SELECT listing_id FROM dismissals WHERE user_id = ? ORDER BY dismissed_at DESC, listing_id DESC LIMIT 1000 OFFSET ?)`, userID, userID, most).Error)
}

// Among implements jobseeker.Dismissals.
func (d Dismissals) Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	return d.idSet(ctx, "SELECT listing_id FROM dismissals WHERE user_id = ? AND ?", userID, d.dialect.In("listing_id", listingIDs))
}

// Delete implements jobseeker.Dismissals.
func (d Dismissals) Delete(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec("DELETE FROM dismissals WHERE user_id = ?", userID).Error)
}
