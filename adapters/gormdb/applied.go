package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm/clause"
)

// AppliedLately implements hiring.Applications.
func (d Applications) AppliedLately(ctx context.Context, applicantID string, n int) (ids []string, err error) {
	err = d.q(ctx).Raw("SELECT listing_id FROM applications WHERE applicant_id = ? AND withdrawn_at IS NULL ORDER BY id DESC LIMIT ?", applicantID, n).Scan(&ids).Error
	return ids, wrap(err)
}

// AppliedAmong implements hiring.Applications.
func (d Applications) AppliedAmong(ctx context.Context, applicantID string, listingIDs []string) (map[string]bool, error) {
	return d.idSet(ctx, "SELECT listing_id FROM applications WHERE ? AND applicant_id = ?", d.dialect.columnAmong("listing_id", listingIDs), applicantID)
}

// idSet are the ids that a query finds.
func (db *DB) idSet(ctx context.Context, query string, args ...any) (map[string]bool, error) {
	var found []string
	err := db.q(ctx).Raw(query, args...).Scan(&found).Error
	out := make(map[string]bool, len(found))
	for _, id := range found {
		out[id] = true
	}
	return out, wrap(err)
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
	return d.idSet(ctx, "SELECT listing_id FROM dismissals WHERE user_id = ? AND ?", userID, d.dialect.columnAmong("listing_id", listingIDs))
}

// Delete implements jobseeker.Dismissals.
func (d Dismissals) Delete(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec("DELETE FROM dismissals WHERE user_id = ?", userID).Error)
}
