package gormdb

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/jobseeker"
)

// SavedSearches stores what users search for and prefer.
type SavedSearches struct{ *DB }

type savedSearchRow struct {
	ID           string
	UserID       string
	Name         string
	Query        string
	Resolved     string `gorm:"column:resolved_query"`
	Location     string
	ContractType string
	EmailAlerts  bool
	CreatedAt    time.Time
}

// TableName tells GORM the table.
func (savedSearchRow) TableName() string { return "saved_searches" }

func searchesOf(rows []savedSearchRow) []jobseeker.Search {
	out := make([]jobseeker.Search, len(rows))
	for i, r := range rows {
		out[i] = jobseeker.Search{ID: r.ID, UserID: r.UserID, Name: r.Name, Resolved: r.Resolved, EmailAlerts: r.EmailAlerts, CreatedAt: r.CreatedAt,
			Terms: jobseeker.Terms{Query: r.Query, Location: r.Location, ContractType: r.ContractType}}
	}
	return out
}

// Add implements jobseeker.Searches.
func (d SavedSearches) Add(ctx context.Context, s jobseeker.Search) error {
	return wrap(d.q(ctx).Create(&savedSearchRow{ID: s.ID, UserID: s.UserID, Name: s.Name, Query: s.Query, Resolved: s.Resolved, Location: s.Location,
		ContractType: s.ContractType, EmailAlerts: s.EmailAlerts, CreatedAt: s.CreatedAt}).Error)
}

// Of implements jobseeker.Searches.
func (d SavedSearches) Of(ctx context.Context, userID string, n int) ([]jobseeker.Search, error) {
	var rows []savedSearchRow
	err := d.q(ctx).Where("user_id = ?", userID).Order("id DESC").Limit(n).Find(&rows).Error
	return searchesOf(rows), wrap(err)
}

// Delete implements jobseeker.Searches.
func (d SavedSearches) Delete(ctx context.Context, userID, id string) error {
	res := d.q(ctx).Exec("DELETE FROM saved_searches WHERE id = ? AND user_id = ?", id, userID)
	if res.Error == nil && res.RowsAffected == 0 {
		return jobseeker.ErrSearchNotFound
	}
	if res.Error != nil {
		return wrap(res.Error)
	}
	return wrap(d.q(ctx).Exec("DELETE FROM search_matches WHERE search_id = ?", id).Error)
}

// EndAlerts implements jobseeker.Searches.
func (d SavedSearches) EndAlerts(ctx context.Context, userID string) error {
	if err := d.q(ctx).Exec("UPDATE saved_searches SET email_alerts = FALSE WHERE user_id = ? AND email_alerts", userID).Error; err != nil {
		return wrap(err)
	}
	return wrap(d.q(ctx).Exec("UPDATE search_matches SET email = FALSE WHERE user_id = ? AND email AND digest_id IS NULL", userID).Error)
}

// After implements jobseeker.Searches.
func (d SavedSearches) After(ctx context.Context, id string, n int) ([]jobseeker.Search, error) {
	q := d.q(ctx)
	if id != "" {
		q = q.Where("id > ?", id)
	}
	var rows []savedSearchRow
	err := q.Order("id").Limit(n).Find(&rows).Error
	return searchesOf(rows), wrap(err)
}

// Unresolved implements jobseeker.Searches.
func (d SavedSearches) Unresolved(ctx context.Context, n int) ([]jobseeker.Search, error) {
	var rows []savedSearchRow
	err := d.q(ctx).Where("resolved_query = '' AND query <> ''").Order("id").Limit(n).Find(&rows).Error
	return searchesOf(rows), wrap(err)
}

// SetResolved implements jobseeker.Searches.
func (d SavedSearches) SetResolved(ctx context.Context, resolved map[string]string) error {
	if len(resolved) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(resolved))
	args := make([]any, 0, 2*len(ids)+1)
	for _, id := range ids {
		args = append(args, id, resolved[id])
	}
	return wrap(d.unprepared(ctx).Exec("UPDATE saved_searches SET resolved_query = CASE id"+strings.Repeat(" WHEN ? THEN ?", len(ids))+" END WHERE ?",
		append(args, d.dialect.In("id", ids))...).Error)
}

// Alerts stores what is between new listings and the users who wait for them.
type Alerts struct{ *DB }

// Collect implements jobseeker.Alerts.
func (d Alerts) Collect(ctx context.Context, listingID string) error {
	return wrap(d.q(ctx).Exec("INSERT INTO alert_listings (listing_id, claimed_until) VALUES (?, ?) ON CONFLICT (listing_id) DO NOTHING",
		listingID, time.Unix(0, 0).UTC()).Error)
}

// Claim implements jobseeker.Alerts.
func (d Alerts) Claim(ctx context.Context, n int, now, until time.Time) (ids []string, err error) {
	err = d.q(ctx).Raw(`UPDATE alert_listings SET claimed_until = ? WHERE listing_id `+
		d.dialect.InQuery(`SELECT listing_id FROM alert_listings WHERE claimed_until <= ? ORDER BY claimed_until, listing_id LIMIT ? `+d.skipLocked())+
		` RETURNING listing_id`, until, now, n).Scan(&ids).Error
	return ids, wrap(err)
}

// Keep implements jobseeker.Alerts.
func (d Alerts) Keep(ctx context.Context, listingIDs []string, until time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE alert_listings SET claimed_until = ? WHERE listing_id IN ?", until, listingIDs).Error)
}

// Done implements jobseeker.Alerts.
func (d Alerts) Done(ctx context.Context, listingIDs []string) error {
	if len(listingIDs) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Exec("DELETE FROM alert_listings WHERE listing_id IN ?", listingIDs).Error)
}

type matchRow struct {
	SearchID  string
	ListingID string
	UserID    string
	MatchedAt time.Time
	Email     bool
}

// TableName tells GORM the table.
func (matchRow) TableName() string { return "search_matches" }

// matchesAtOnce is how many matches one statement stores.
const matchesAtOnce = 1_000

// AddMatches implements jobseeker.Alerts.
func (d Alerts) AddMatches(ctx context.Context, ms []jobseeker.Match) ([]jobseeker.Match, error) {
	rows := make([]matchRow, len(ms))
	for i, m := range ms {
		rows[i] = matchRow{SearchID: m.SearchID, ListingID: m.ListingID, UserID: m.UserID, MatchedAt: m.At, Email: m.Email}
	}
	// In one order, so that two runs do not wait for each other.
	slices.SortFunc(rows, func(a, b matchRow) int {
		if c := strings.Compare(a.SearchID, b.SearchID); c != 0 {
			return c
		}
		return strings.Compare(a.ListingID, b.ListingID)
	})
	var out []jobseeker.Match
	for chunk := range slices.Chunk(rows, matchesAtOnce) {
		var b strings.Builder
		b.WriteString("INSERT INTO search_matches (search_id, listing_id, user_id, matched_at, email) VALUES ")
		args := make([]any, 0, 5*len(chunk))
		for i, r := range chunk {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("(?,?,?,?,?)")
			args = append(args, r.SearchID, r.ListingID, r.UserID, r.MatchedAt, r.Email)
		}
		b.WriteString(" ON CONFLICT (search_id, listing_id) DO NOTHING RETURNING search_id, listing_id, user_id, matched_at, email")
		var fresh []matchRow
		if err := d.unprepared(ctx).Raw(b.String(), args...).Scan(&fresh).Error; err != nil {
			return nil, wrap(err)
		}
		for _, r := range fresh {
			out = append(out, jobseeker.Match{SearchID: r.SearchID, ListingID: r.ListingID, UserID: r.UserID, At: r.MatchedAt, Email: r.Email})
		}
	}
	return out, nil
}

// expectantRow is the part of a seeker that alerts know.
type expectantRow struct {
	UserID            string
	PreferredLocation string
	EmploymentTypes   string
	DigestAfter       time.Time
	DigestWaiting     bool
}

// TableName tells GORM the table.
func (expectantRow) TableName() string { return "seekers" }

// Expect implements jobseeker.Alerts.
func (d Alerts) Expect(ctx context.Context, userIDs []string, now time.Time) error {
	for chunk := range slices.Chunk(slices.Sorted(slices.Values(userIDs)), matchesAtOnce) {
		rows := make([]expectantRow, len(chunk))
		for i, id := range chunk {
			rows[i] = expectantRow{UserID: id, EmploymentTypes: "[]", DigestAfter: now, DigestWaiting: true}
		}
		err := d.unprepared(ctx).Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "user_id"}}, DoUpdates: clause.AssignmentColumns([]string{"digest_waiting"})}).Create(&rows).Error
		if err != nil {
			return wrap(err)
		}
	}
	return nil
}

// Due implements jobseeker.Alerts.
func (d Alerts) Due(ctx context.Context, now time.Time, n int) (ids []string, err error) {
	q := d.q(ctx).Table("seekers").Select("user_id").Where("digest_waiting AND digest_after <= ?", now).Order("digest_after").Limit(n)
	if d.pg() {
		q = q.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked})
	}
	err = q.Scan(&ids).Error
	return ids, wrap(err)
}

// Bundle implements jobseeker.Alerts.
func (d Alerts) Bundle(ctx context.Context, userID, digestID string, next time.Time) (int, error) {
	res := d.q(ctx).Exec("UPDATE search_matches SET digest_id = ? WHERE user_id = ? AND email AND digest_id IS NULL", digestID, userID)
	if res.Error != nil {
		return 0, wrap(res.Error)
	}
	n := int(res.RowsAffected)
	if n == 0 {
		return 0, wrap(d.q(ctx).Exec("UPDATE seekers SET digest_waiting = FALSE WHERE user_id = ?", userID).Error)
	}
	return n, wrap(d.q(ctx).Exec("UPDATE seekers SET digest_waiting = FALSE, digest_after = ? WHERE user_id = ?", next, userID).Error)
}

// Digest implements jobseeker.Alerts.
func (d Alerts) Digest(ctx context.Context, userID, digestID string, n int) ([]jobseeker.Match, error) {
	var rows []struct {
		Match matchRow `gorm:"embedded"`
		Name  string
	}
	err := d.q(ctx).Raw(`SELECT m.search_id, m.listing_id, m.user_id, m.matched_at, m.email, s.name
		FROM search_matches m JOIN saved_searches s ON s.id = m.search_id
		WHERE m.digest_id = ? AND m.user_id = ? AND s.email_alerts ORDER BY m.listing_id DESC LIMIT ?`, digestID, userID, n).Scan(&rows).Error
	out := make([]jobseeker.Match, len(rows))
	for i, r := range rows {
		out[i] = jobseeker.Match{SearchID: r.Match.SearchID, ListingID: r.Match.ListingID, UserID: r.Match.UserID, At: r.Match.MatchedAt, Email: r.Match.Email, SearchName: r.Name}
	}
	return out, wrap(err)
}

// Forget implements jobseeker.Alerts.
func (d Alerts) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM search_matches WHERE (search_id, listing_id) IN (SELECT search_id, listing_id FROM search_matches WHERE matched_at < ? ORDER BY matched_at LIMIT ?)", before, n)
	return int(res.RowsAffected), wrap(res.Error)
}
