package gormdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/modules/jobseeker"
)

// savedSearches implements jobseeker.Searches.
type savedSearches struct{ *DB }

type savedSearchRow struct {
	ID     string
	UserID string
	Name   string
	jobseeker.Terms
	Resolved    string `gorm:"column:resolved_query"`
	EmailAlerts bool
	CreatedAt   time.Time
}

func (r savedSearchRow) search() jobseeker.Search { return jobseeker.Search(r) }

// ListByUser implements jobseeker.Searches.
func (d savedSearches) ListByUser(ctx context.Context, userID string, n int) ([]jobseeker.Search, error) {
	return findRows(d.conn(ctx).Where("user_id = ?", userID).Order("id DESC").Limit(n), savedSearchRow.search)
}

// Replace implements jobseeker.Searches. It writes only what has changed.
func (d savedSearches) Replace(ctx context.Context, userID string, searches []jobseeker.Search) error {
	return d.Do(ctx, func(ctx context.Context) error {
		var rows []savedSearchRow
		if err := d.conn(ctx).Select("id", "email_alerts").Where("user_id = ?", userID).Find(&rows).Error; err != nil {
			return wrap(err)
		}

		before := list.ToMap(rows, func(r savedSearchRow) (id string, emailAlerts bool) { return r.ID, r.EmailAlerts })
		var created []savedSearchRow

		var alertsOn, alertsOff []string // the ids of the searches whose EmailAlerts changes
		for _, s := range searches {
			alerts, exists := before[s.ID] // what remains in before at the end is deleted
			delete(before, s.ID)

			switch {
			case !exists:
				s.UserID = userID
				created = append(created, savedSearchRow(s))
			case !alerts && s.EmailAlerts:
				alertsOn = append(alertsOn, s.ID)
			case alerts && !s.EmailAlerts:
				alertsOff = append(alertsOff, s.ID)
			}
		}

		if err := d.deleteSearches(ctx, userID, slices.Sorted(maps.Keys(before))); err != nil {
			return err
		}

		if err := d.updateAlerts(ctx, userID, alertsOn, true); err != nil {
			return err
		}

		if err := d.updateAlerts(ctx, userID, alertsOff, false); err != nil {
			return err
		}

		return createRows(d.unprepared(ctx), created)
	})
}

// deleteSearches deletes searches of the user with their matches.
func (d savedSearches) deleteSearches(ctx context.Context, userID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	return wrap(cmp.Or(
		whereIn(d.conn(ctx).Where("user_id = ?", userID), "id", ids).Delete(&savedSearchRow{}).Error,
		whereIn(d.conn(ctx), "search_id", ids).Delete(&searchMatchRow{}).Error))
}

// updateAlerts turns the e-mail alerts of searches of the user on or off.
func (d savedSearches) updateAlerts(ctx context.Context, userID string, ids []string, alerts bool) error {
	if len(ids) == 0 {
		return nil
	}

	err := whereIn(d.conn(ctx).Model(&savedSearchRow{}).Where("user_id = ?", userID), "id", ids).Update("email_alerts", alerts).Error
	if err != nil || alerts {
		return wrap(err)
	}

	// Matches that are not in a digest yet are not sent any more.
	pending := whereIn(d.conn(ctx).Model(&searchMatchRow{}).Where("user_id = ? AND email AND digest_id IS NULL", userID), "search_id", ids)

	return wrap(pending.Update("email", false).Error)
}

// List implements jobseeker.Searches.
func (d savedSearches) List(ctx context.Context, f jobseeker.SearchFilter, n int) ([]jobseeker.Search, error) {
	q := whereIfSet(d.conn(ctx), "id > ?", f.AfterID)
	if f.Unresolved {
		q = q.Where("resolved_query = '' AND query <> ''")
	}

	return findRows(q.Order("id").Limit(n), savedSearchRow.search)
}

// UpdateResolved implements jobseeker.Searches.
func (d savedSearches) UpdateResolved(ctx context.Context, resolved map[string]string) error {
	if len(resolved) == 0 {
		return nil
	}

	ids := slices.Sorted(maps.Keys(resolved))
	query := caseExpr("id", ids, func(i int) any { return resolved[ids[i]] })

	return wrap(whereIn(d.unprepared(ctx).Model(&savedSearchRow{}), "id", ids).Update("resolved_query", query).Error)
}

// subscribers implements jobseeker.Subscribers.
type subscribers struct{ *DB }

type alertSubscriberRow struct {
	ID        string
	Email     string
	Mailbox   string
	CreatedAt time.Time
}

// GetOrCreate implements jobseeker.Subscribers.
func (d subscribers) GetOrCreate(ctx context.Context, s jobseeker.Subscriber) (stored jobseeker.Subscriber, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		row := alertSubscriberRow(s)
		if err := createIfAbsent(d.conn(ctx), &row, "mailbox").Error; err != nil {
			return wrap(err)
		}

		row, err := takeRow[alertSubscriberRow](d.conn(ctx).Where("mailbox = ?", s.Mailbox), errStale)
		stored = jobseeker.Subscriber(row)

		return err
	})

	return stored, err
}

// GetByIDs implements jobseeker.Subscribers.
func (d subscribers) GetByIDs(ctx context.Context, ids []string) (map[string]jobseeker.Subscriber, error) {
	found := map[string]jobseeker.Subscriber{}
	for chunk := range slices.Chunk(ids, matchBatchSize) {
		var rows []alertSubscriberRow
		if err := whereIn(d.conn(ctx), "id", chunk).Find(&rows).Error; err != nil {
			return nil, wrap(err)
		}

		for _, row := range rows {
			found[row.ID] = jobseeker.Subscriber(row)
		}
	}

	return found, nil
}

// Delete implements jobseeker.Subscribers.
func (d subscribers) Delete(ctx context.Context, id string) error {
	return d.Do(ctx, func(ctx context.Context) error {
		deleted := d.conn(ctx).Where("id = ?", id).Delete(&alertSubscriberRow{})
		if deleted.Error != nil || deleted.RowsAffected == 0 {
			return wrap(deleted.Error)
		}

		return seekerData(d).DeleteByUser(ctx, id, d.clock.Now())
	})
}

// alertQueue implements jobseeker.AlertQueue.
type alertQueue struct{ *DB }

type alertListingRow struct{ ListingID string }

// Add implements jobseeker.AlertQueue.
func (d alertQueue) Add(ctx context.Context, listingID string) error {
	return wrap(d.conn(ctx).Clauses(ignoreOnConflict([]string{"listing_id"})).Create(&alertListingRow{listingID}).Error)
}

// List implements jobseeker.AlertQueue.
func (d alertQueue) List(ctx context.Context, n int) (ids []string, err error) {
	err = d.conn(ctx).Model(&alertListingRow{}).Order("listing_id").Limit(n).Pluck("listing_id", &ids).Error
	return ids, wrap(err)
}

// Delete implements jobseeker.AlertQueue.
func (d alertQueue) Delete(ctx context.Context, listingIDs []string) error {
	if len(listingIDs) == 0 {
		return nil
	}

	return wrap(whereIn(d.conn(ctx), "listing_id", listingIDs).Delete(&alertListingRow{}).Error)
}

// matches implements jobseeker.Matches.
type matches struct{ *DB }

type searchMatchRow struct {
	SearchID   string
	ListingID  string
	UserID     string
	At         time.Time `gorm:"column:matched_at"`
	Email      bool
	SearchName string `gorm:"->"` // of the join of ListByDigest
}

func (r searchMatchRow) match() jobseeker.Match { return jobseeker.Match(r) }

// matchBatchSize is the maximum number of rows per statement.
const matchBatchSize = 1_000

// Create implements jobseeker.Matches.
func (d matches) Create(ctx context.Context, ms []jobseeker.Match) (created []jobseeker.Match, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		created = nil

		optedOut, err := d.listOptedOut(ctx, ms)
		if err != nil {
			return err
		}

		var rows []searchMatchRow
		for _, m := range ms {
			if !optedOut[m.UserID] {
				rows = append(rows, searchMatchRow(m))
			}
		}

		// A fixed order avoids deadlocks between two callers.
		slices.SortFunc(rows, func(a, b searchMatchRow) int {
			return cmp.Or(cmp.Compare(a.SearchID, b.SearchID), cmp.Compare(a.ListingID, b.ListingID))
		})

		for chunk := range slices.Chunk(rows, matchBatchSize) {
			inserted, err := insertIfAbsent(d.unprepared(ctx), chunk, "search_id", "listing_id")
			if err != nil {
				return err
			}

			created = append(created, list.Map(inserted, searchMatchRow.match)...)
		}

		return d.markPending(ctx, created)
	})

	return created, err
}

// listOptedOut returns the set of users of the matches who have turned job alerts off.
func (d matches) listOptedOut(ctx context.Context, ms []jobseeker.Match) (map[string]bool, error) {
	out := map[string]bool{}

	users := list.Distinct(ms, func(m jobseeker.Match) string { return m.UserID })
	for chunk := range slices.Chunk(users, matchBatchSize) {
		var found []string

		err := whereIn(d.conn(ctx).Model(&profileRow{}).Where("NOT job_alerts"), "user_id", chunk).Pluck("user_id", &found).Error
		if err != nil {
			return nil, wrap(err)
		}

		for _, id := range found {
			out[id] = true
		}
	}

	return out, nil
}

// markPending records that the users of matches with Email have a pending digest.
func (d matches) markPending(ctx context.Context, ms []jobseeker.Match) error {
	users := map[string]seekerRow{}
	for _, m := range ms {
		if m.Email {
			users[m.UserID] = seekerRow{UserID: m.UserID, EmploymentTypes: "[]", DigestAfter: m.At, DigestWaiting: true}
		}
	}

	rows := slices.SortedFunc(maps.Values(users), func(a, b seekerRow) int { return cmp.Compare(a.UserID, b.UserID) })
	for chunk := range slices.Chunk(rows, matchBatchSize) {
		update := updateOnConflict([]string{"user_id"}, "digest_waiting")
		if err := d.unprepared(ctx).Clauses(update).Create(&chunk).Error; err != nil {
			return wrap(err)
		}
	}

	return nil
}

// AssignDigests implements jobseeker.Matches.
func (d matches) AssignDigests(
	ctx context.Context,
	digestIDs []string,
	now, next time.Time,
) (digests []jobseeker.Digest, n int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		digests, n = nil, 0
		var users []string
		err := d.skipLocked(ctx).
			Model(&seekerRow{}).
			Where(isTrue("digest_waiting")+" AND digest_after <= ?", now).
			Order("digest_after").
			Limit(len(digestIDs)).
			Pluck("user_id", &users).
			Error

		// n tells the caller whether there may be more users, also if their digests are empty.
		n = len(users)
		if err != nil || n == 0 {
			return wrap(err)
		}

		digest := caseExpr("user_id", users, func(i int) any { return d.dialect.Typed(digestIDs[i], "uuid") })

		pending := d.unprepared(ctx).Model(&searchMatchRow{}).Where("? AND email AND digest_id IS NULL", d.dialect.In("user_id", users))
		if err := pending.Update("digest_id", digest).Error; err != nil {
			return wrap(err)
		}

		var filled []string

		err = d.conn(ctx).
			Model(&searchMatchRow{}).
			Where("?", d.dialect.In("digest_id", digestIDs[:n])).
			Distinct().
			Pluck("digest_id", &filled).
			Error
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
			whereIn(
				d.conn(ctx).Model(&seekerRow{}),
				"user_id",
				mailed,
			).Updates(map[string]any{"digest_waiting": false, "digest_after": next}).
				Error,
			whereIn(d.conn(ctx).Model(&seekerRow{}), "user_id", others).Update("digest_waiting", false).Error,
		))
	})

	return digests, n, err
}

// ListByDigest implements jobseeker.Matches.
func (d matches) ListByDigest(ctx context.Context, userID, digestID string, n int) ([]jobseeker.Match, error) {
	return findRows(
		d.conn(ctx).
			Table("search_matches AS m").
			Select("m.search_id, m.listing_id, m.user_id, m.matched_at, m.email, s.name AS search_name").
			Joins("JOIN saved_searches AS s ON s.id = m.search_id").
			Where("m.digest_id = ? AND m.user_id = ? AND s.email_alerts", digestID, userID).
			Order("m.listing_id DESC").
			Limit(n),
		searchMatchRow.match,
	)
}
