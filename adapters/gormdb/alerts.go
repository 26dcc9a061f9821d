package gormdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/jobseeker"
)

// SavedSearches implements jobseeker.Searches.
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

// TableName implements schema.Tabler.
func (savedSearchRow) TableName() string { return "saved_searches" }

func searchesOf(rows []savedSearchRow) []jobseeker.Search {
	out := make([]jobseeker.Search, len(rows))
	for i, r := range rows {
		out[i] = jobseeker.Search{ID: r.ID, UserID: r.UserID, Name: r.Name, Resolved: r.Resolved, EmailAlerts: r.EmailAlerts, CreatedAt: r.CreatedAt,
			Terms: jobseeker.Terms{Query: r.Query, Location: r.Location, ContractType: r.ContractType}}
	}
	return out
}

// ListByUser implements jobseeker.Searches.
func (d SavedSearches) ListByUser(ctx context.Context, userID string, n int) ([]jobseeker.Search, error) {
	var rows []savedSearchRow
	err := d.q(ctx).Where("user_id = ?", userID).Order("id DESC").Limit(n).Find(&rows).Error
	return searchesOf(rows), wrap(err)
}

// Replace implements jobseeker.Searches. It writes only what has changed.
func (d SavedSearches) Replace(ctx context.Context, userID string, searches []jobseeker.Search) error {
	return d.Do(ctx, func(ctx context.Context) error {
		var rows []savedSearchRow
		if err := d.q(ctx).Select("id", "email_alerts").Where("user_id = ?", userID).Find(&rows).Error; err != nil {
			return wrap(err)
		}
		before := make(map[string]bool, len(rows)) // EmailAlerts by id
		for _, r := range rows {
			before[r.ID] = r.EmailAlerts
		}
		var created []savedSearchRow
		changed := map[bool][]string{} // ids by the new EmailAlerts
		for _, s := range searches {
			alerts, exists := before[s.ID]
			delete(before, s.ID)
			switch {
			case !exists:
				created = append(created, savedSearchRow{ID: s.ID, UserID: userID, Name: s.Name, Query: s.Query, Resolved: s.Resolved, Location: s.Location,
					ContractType: s.ContractType, EmailAlerts: s.EmailAlerts, CreatedAt: s.CreatedAt})
			case alerts != s.EmailAlerts:
				changed[s.EmailAlerts] = append(changed[s.EmailAlerts], s.ID)
			}
		}
		if err := d.deleteSearches(ctx, userID, slices.Sorted(maps.Keys(before))); err != nil {
			return err
		}
		for alerts, ids := range changed {
			if err := d.updateAlerts(ctx, userID, ids, alerts); err != nil {
				return err
			}
		}
		if len(created) == 0 {
			return nil
		}
		return wrap(d.unprepared(ctx).Create(&created).Error)
	})
}

func (d SavedSearches) deleteSearches(ctx context.Context, userID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return wrap(cmp.Or(
		d.q(ctx).Where("user_id = ? AND ?", userID, d.dialect.In("id", ids)).Delete(&savedSearchRow{}).Error,
		d.q(ctx).Where("?", d.dialect.In("search_id", ids)).Delete(&matchRow{}).Error))
}

func (d SavedSearches) updateAlerts(ctx context.Context, userID string, ids []string, alerts bool) error {
	err := d.q(ctx).Model(&savedSearchRow{}).Where("user_id = ? AND ?", userID, d.dialect.In("id", ids)).Update("email_alerts", alerts).Error
	if err != nil || alerts {
		return wrap(err)
	}
	pending := d.q(ctx).Model(&matchRow{}).Where("user_id = ? AND email AND digest_id IS NULL AND ?", userID, d.dialect.In("search_id", ids))
	return wrap(pending.Update("email", false).Error)
}

// List implements jobseeker.Searches.
func (d SavedSearches) List(ctx context.Context, f jobseeker.SearchFilter, n int) ([]jobseeker.Search, error) {
	q := d.q(ctx)
	if f.AfterID != "" {
		q = q.Where("id > ?", f.AfterID)
	}
	if f.Unresolved {
		q = q.Where("resolved_query = '' AND query <> ''")
	}
	var rows []savedSearchRow
	err := q.Order("id").Limit(n).Find(&rows).Error
	return searchesOf(rows), wrap(err)
}

// UpdateResolved implements jobseeker.Searches.
func (d SavedSearches) UpdateResolved(ctx context.Context, resolved map[string]string) error {
	if len(resolved) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(resolved))
	args := make([]any, 0, 2*len(ids))
	for _, id := range ids {
		args = append(args, id, resolved[id])
	}
	query := gorm.Expr("CASE id"+strings.Repeat(" WHEN ? THEN ?", len(ids))+" END", args...)
	return wrap(d.unprepared(ctx).Model(&savedSearchRow{}).Where("?", d.dialect.In("id", ids)).Update("resolved_query", query).Error)
}

// AlertQueue implements jobseeker.AlertQueue.
type AlertQueue struct{ *DB }

type alertListingRow struct {
	ListingID string
}

// TableName implements schema.Tabler.
func (alertListingRow) TableName() string { return "alert_listings" }

// Add implements jobseeker.AlertQueue.
func (d AlertQueue) Add(ctx context.Context, listingID string) error {
	return wrap(d.q(ctx).Clauses(onConflict([]string{"listing_id"})).Create(&alertListingRow{listingID}).Error)
}

// List implements jobseeker.AlertQueue.
func (d AlertQueue) List(ctx context.Context, n int) (ids []string, err error) {
	err = d.q(ctx).Model(&alertListingRow{}).Order("listing_id").Limit(n).Pluck("listing_id", &ids).Error
	return ids, wrap(err)
}

// Delete implements jobseeker.AlertQueue.
func (d AlertQueue) Delete(ctx context.Context, listingIDs []string) error {
	if len(listingIDs) == 0 {
		return nil
	}
	return wrap(d.q(ctx).Where("?", d.dialect.In("listing_id", listingIDs)).Delete(&alertListingRow{}).Error)
}

// Matches implements jobseeker.Matches.
type Matches struct{ *DB }

type matchRow struct {
	SearchID  string
	ListingID string
	UserID    string
	MatchedAt time.Time
	Email     bool
}

// TableName implements schema.Tabler.
func (matchRow) TableName() string { return "search_matches" }

func (r matchRow) match() jobseeker.Match {
	return jobseeker.Match{SearchID: r.SearchID, ListingID: r.ListingID, UserID: r.UserID, At: r.MatchedAt, Email: r.Email}
}

// matchesAtOnce is the maximum number of rows per statement.
const matchesAtOnce = 1_000

// Create implements jobseeker.Matches.
func (d Matches) Create(ctx context.Context, ms []jobseeker.Match) (created []jobseeker.Match, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		created = nil
		optedOut, err := d.listOptedOut(ctx, ms)
		if err != nil {
			return err
		}
		var rows []matchRow
		for _, m := range ms {
			if !optedOut[m.UserID] {
				rows = append(rows, matchRow{SearchID: m.SearchID, ListingID: m.ListingID, UserID: m.UserID, MatchedAt: m.At, Email: m.Email})
			}
		}
		// A fixed order avoids deadlocks between two callers.
		slices.SortFunc(rows, func(a, b matchRow) int {
			return cmp.Or(cmp.Compare(a.SearchID, b.SearchID), cmp.Compare(a.ListingID, b.ListingID))
		})
		for chunk := range slices.Chunk(rows, matchesAtOnce) {
			inserted, err := insertNew(d.unprepared(ctx), chunk, "search_id", "listing_id")
			if err != nil {
				return err
			}
			for _, r := range inserted {
				created = append(created, r.match())
			}
		}
		return d.markPending(ctx, created)
	})
	return created, err
}

// listOptedOut returns those of the users who have turned job alerts off.
func (d Matches) listOptedOut(ctx context.Context, ms []jobseeker.Match) (map[string]bool, error) {
	users, out := map[string]bool{}, map[string]bool{}
	for _, m := range ms {
		users[m.UserID] = true
	}
	for chunk := range slices.Chunk(slices.Sorted(maps.Keys(users)), matchesAtOnce) {
		var found []string
		err := d.q(ctx).Model(&profileRow{}).Where("? AND NOT job_alerts", d.dialect.In("user_id", chunk)).Pluck("user_id", &found).Error
		if err != nil {
			return nil, wrap(err)
		}
		for _, id := range found {
			out[id] = true
		}
	}
	return out, nil
}

// markPending stores that the users of the matches with Email have a pending digest.
func (d Matches) markPending(ctx context.Context, ms []jobseeker.Match) error {
	users := map[string]seekerRow{}
	for _, m := range ms {
		if m.Email {
			users[m.UserID] = seekerRow{UserID: m.UserID, EmploymentTypes: "[]", DigestAfter: m.At, DigestWaiting: true}
		}
	}
	rows := slices.SortedFunc(maps.Values(users), func(a, b seekerRow) int { return cmp.Compare(a.UserID, b.UserID) })
	for chunk := range slices.Chunk(rows, matchesAtOnce) {
		update := clause.OnConflict{Columns: columnsOf([]string{"user_id"}), DoUpdates: clause.AssignmentColumns([]string{"digest_waiting"})}
		if err := d.unprepared(ctx).Clauses(update).Create(&chunk).Error; err != nil {
			return wrap(err)
		}
	}
	return nil
}

// AssignDigests implements jobseeker.Matches.
func (d Matches) AssignDigests(ctx context.Context, digestIDs []string, now, next time.Time) (digests []jobseeker.Digest, n int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		digests, n = nil, 0
		var users []string
		err := d.skipLocked(ctx).Model(&seekerRow{}).Where(isTrue("digest_waiting")+" AND digest_after <= ?", now).Order("digest_after").Limit(len(digestIDs)).Pluck("user_id", &users).Error
		if n = len(users); err != nil || n == 0 {
			return wrap(err)
		}
		args := make([]any, 0, 2*n)
		for i, user := range users {
			args = append(args, user, d.dialect.Typed(digestIDs[i], "uuid"))
		}
		digest := gorm.Expr("CASE user_id"+strings.Repeat(" WHEN ? THEN ?", n)+" END", args...)
		pending := d.unprepared(ctx).Model(&matchRow{}).Where("? AND email AND digest_id IS NULL", d.dialect.In("user_id", users))
		if err := pending.Update("digest_id", digest).Error; err != nil {
			return wrap(err)
		}
		var filled []string
		err = d.q(ctx).Model(&matchRow{}).Where("?", d.dialect.In("digest_id", digestIDs[:n])).Distinct().Pluck("digest_id", &filled).Error
		if err != nil {
			return wrap(err)
		}
		var mailed, others []string
		for i, user := range users {
			if slices.Contains(filled, digestIDs[i]) {
				mailed, digests = append(mailed, user), append(digests, jobseeker.Digest{ID: digestIDs[i], UserID: user})
			} else {
				others = append(others, user)
			}
		}
		return wrap(cmp.Or(
			d.q(ctx).Model(&seekerRow{}).Where("?", d.dialect.In("user_id", mailed)).Updates(map[string]any{"digest_waiting": false, "digest_after": next}).Error,
			d.q(ctx).Model(&seekerRow{}).Where("?", d.dialect.In("user_id", others)).Update("digest_waiting", false).Error))
	})
	return digests, n, err
}

// ListByDigest implements jobseeker.Matches.
func (d Matches) ListByDigest(ctx context.Context, userID, digestID string, n int) ([]jobseeker.Match, error) {
	var rows []struct {
		Match matchRow `gorm:"embedded"`
		Name  string
	}
	err := d.q(ctx).Table("search_matches AS m").Select("m.search_id, m.listing_id, m.user_id, m.matched_at, m.email, s.name").
		Joins("JOIN saved_searches AS s ON s.id = m.search_id").
		Where("m.digest_id = ? AND m.user_id = ? AND s.email_alerts", digestID, userID).Order("m.listing_id DESC").Limit(n).Scan(&rows).Error
	out := make([]jobseeker.Match, len(rows))
	for i, r := range rows {
		out[i] = r.Match.match()
		out[i].SearchName = r.Name
	}
	return out, wrap(err)
}
