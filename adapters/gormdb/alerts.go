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

// savedSearchRow is a search that a jobseeker, or a subscriber without an account, has saved. New listings
// are compared with it.
type savedSearchRow struct {
	ID     string
	UserID string // of the jobseeker or the subscriber
	Name   string
	jobseeker.Terms
	// Resolved is the query in the form in which listings are compared with it. It is empty until
	// it has been computed.
	Resolved    string `gorm:"column:resolved_query"`
	EmailAlerts bool   // new matches are sent by e-mail
	CreatedAt   time.Time
}

func (r savedSearchRow) search() jobseeker.Search { return jobseeker.Search(r) }

// ListByUser implements jobseeker.Searches. It returns the newest n searches of the user.
func (d savedSearches) ListByUser(ctx context.Context, userID string, n int) ([]jobseeker.Search, error) {
	return findRows(d.conn(ctx).Where("user_id = ?", userID).Order("id DESC").Limit(n), savedSearchRow.search)
}

// Replace implements jobseeker.Searches. Afterwards the user has exactly the given searches. Of a search
// that is stored already, only EmailAlerts can change.
func (d savedSearches) Replace(ctx context.Context, userID string, searches []jobseeker.Search) error {
	return d.Do(ctx, func(ctx context.Context) error {
		var rows []savedSearchRow
		if err := d.conn(ctx).Select("id", "email_alerts").Where("user_id = ?", userID).Find(&rows).Error; err != nil {
			return wrap(err)
		}

		// Compare the searches with the stored ones. Those that remain in storedAlerts are deleted.
		storedAlerts := list.ToMap(rows, func(r savedSearchRow) (id string, emailAlerts bool) { return r.ID, r.EmailAlerts })

		var created []savedSearchRow
		var enabled, disabled []string // the ids of the searches whose EmailAlerts changes

		for _, search := range searches {
			hadAlerts, isStored := storedAlerts[search.ID]
			delete(storedAlerts, search.ID)

			switch {
			case !isStored:
				search.UserID = userID
				created = append(created, savedSearchRow(search))
			case !hadAlerts && search.EmailAlerts:
				enabled = append(enabled, search.ID)
			case hadAlerts && !search.EmailAlerts:
				disabled = append(disabled, search.ID)
			}
		}

		if err := d.deleteSearches(ctx, userID, slices.Sorted(maps.Keys(storedAlerts))); err != nil {
			return err
		}

		if err := d.enableAlerts(ctx, userID, enabled); err != nil {
			return err
		}

		if err := d.disableAlerts(ctx, userID, disabled); err != nil {
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

	searches := whereIn(d.conn(ctx).Where("user_id = ?", userID), "id", ids)
	if err := searches.Delete(&savedSearchRow{}).Error; err != nil {
		return wrap(err)
	}

	return wrap(whereIn(d.conn(ctx), "search_id", ids).Delete(&searchMatchRow{}).Error)
}

// enableAlerts turns the e-mail alerts of searches of the user on.
func (d savedSearches) enableAlerts(ctx context.Context, userID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	searches := whereIn(d.conn(ctx).Model(&savedSearchRow{}).Where("user_id = ?", userID), "id", ids)

	return wrap(searches.Update("email_alerts", true).Error)
}

// disableAlerts turns the e-mail alerts of searches of the user off, also for their pending matches.
func (d savedSearches) disableAlerts(ctx context.Context, userID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}

	searches := whereIn(d.conn(ctx).Model(&savedSearchRow{}).Where("user_id = ?", userID), "id", ids)
	if err := searches.Update("email_alerts", false).Error; err != nil {
		return wrap(err)
	}

	pending := d.conn(ctx).Model(&searchMatchRow{}).Where("user_id = ? AND email AND digest_id IS NULL", userID)

	return wrap(whereIn(pending, "search_id", ids).Update("email", false).Error)
}

// List implements jobseeker.Searches. It lists the searches of all users in the order of ids.
func (d savedSearches) List(ctx context.Context, f jobseeker.SearchFilter, n int) ([]jobseeker.Search, error) {
	q := whereIfSet(d.conn(ctx), "id > ?", f.AfterID)
	if f.Unresolved {
		q = q.Where("resolved_query = '' AND query <> ''")
	}

	return findRows(q.Order("id").Limit(n), savedSearchRow.search)
}

// UpdateResolved implements jobseeker.Searches. resolvedByID maps the ids of searches to their resolved
// queries.
func (d savedSearches) UpdateResolved(ctx context.Context, resolvedByID map[string]string) error {
	if len(resolvedByID) == 0 {
		return nil
	}

	ids := slices.Sorted(maps.Keys(resolvedByID))
	resolvedOfRow := caseExpr("id", ids, func(i int) any { return resolvedByID[ids[i]] })

	return wrap(whereIn(d.unprepared(ctx).Model(&savedSearchRow{}), "id", ids).Update("resolved_query", resolvedOfRow).Error)
}

// subscribers implements jobseeker.Subscribers.
type subscribers struct{ *DB }

// alertSubscriberRow is a person without an account who gets e-mails about new jobs.
type alertSubscriberRow struct {
	ID        string
	Email     string
	Mailbox   string // Email in a form in which different spellings of the address are equal; unique
	CreatedAt time.Time
}

// GetOrCreate implements jobseeker.Subscribers. It returns the subscriber with the mailbox of the given
// one, which it stores if there is none.
func (d subscribers) GetOrCreate(
	ctx context.Context,
	subscriber jobseeker.Subscriber,
) (stored jobseeker.Subscriber, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		row := alertSubscriberRow(subscriber)
		if err := createIfAbsent(d.conn(ctx), &row, "mailbox").Error; err != nil {
			return wrap(err)
		}

		// Read the row, which may be an older one. If another transaction has deleted it meanwhile,
		// begin again.
		row, err := takeRow[alertSubscriberRow](d.conn(ctx).Where("mailbox = ?", subscriber.Mailbox), errStale)
		stored = jobseeker.Subscriber(row)

		return err
	})

	return stored, err
}

// GetByIDs implements jobseeker.Subscribers.
func (d subscribers) GetByIDs(ctx context.Context, ids []string) (map[string]jobseeker.Subscriber, error) {
	subscribersByID := map[string]jobseeker.Subscriber{}
	for chunk := range slices.Chunk(ids, matchBatchSize) {
		var rows []alertSubscriberRow
		if err := whereIn(d.conn(ctx), "id", chunk).Find(&rows).Error; err != nil {
			return nil, wrap(err)
		}

		for _, row := range rows {
			subscribersByID[row.ID] = jobseeker.Subscriber(row)
		}
	}

	return subscribersByID, nil
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

// alertListingRow is a listing that has still to be compared with the saved searches.
type alertListingRow struct{ ListingID string }

// Add implements jobseeker.AlertQueue.
func (d alertQueue) Add(ctx context.Context, listingID string) error {
	row := alertListingRow{ListingID: listingID}
	return wrap(d.conn(ctx).Clauses(ignoreOnConflict([]string{"listing_id"})).Create(&row).Error)
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

// searchMatchRow is a match: a listing that satisfies a saved search. The user gets it in a digest, an
// e-mail with the new matches of the user's searches. While the column digest_id is NULL, the match is
// pending: it belongs to no digest yet.
type searchMatchRow struct {
	SearchID   string
	ListingID  string
	UserID     string
	At         time.Time `gorm:"column:matched_at"`
	Email      bool      // the match is sent in a digest
	SearchName string    `gorm:"->"` // read by ListByDigest from the saved search
}

func (r searchMatchRow) match() jobseeker.Match { return jobseeker.Match(r) }

// matchBatchSize is the maximum number of rows per statement.
const matchBatchSize = 1_000

// Create implements jobseeker.Matches. It leaves out matches that are stored already, and those of users
// who have turned job alerts off. It returns the matches that it has created.
func (d matches) Create(ctx context.Context, found []jobseeker.Match) (created []jobseeker.Match, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		created = nil // the transaction may run again

		optedOut, err := d.listOptedOut(ctx, found)
		if err != nil {
			return err
		}

		var rows []searchMatchRow
		for _, m := range found {
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

// listOptedOut returns the set of the users with matches who have turned job alerts off.
func (d matches) listOptedOut(ctx context.Context, found []jobseeker.Match) (map[string]bool, error) {
	optedOut := map[string]bool{}

	users := list.Distinct(found, func(m jobseeker.Match) string { return m.UserID })
	for chunk := range slices.Chunk(users, matchBatchSize) {
		withoutAlerts := whereIn(d.conn(ctx).Model(&profileRow{}).Where("NOT job_alerts"), "user_id", chunk)

		var ids []string
		if err := withoutAlerts.Pluck("user_id", &ids).Error; err != nil {
			return nil, wrap(err)
		}

		for _, id := range ids {
			optedOut[id] = true
		}
	}

	return optedOut, nil
}

// markPending records that the users of matches with Email get a digest. It creates the row of a user
// that has none yet.
func (d matches) markPending(ctx context.Context, created []jobseeker.Match) error {
	rowsByUser := map[string]seekerRow{}
	for _, m := range created {
		if m.Email {
			// The values are those of a new row. An existing row gets only DigestWaiting.
			rowsByUser[m.UserID] = seekerRow{UserID: m.UserID, EmploymentTypes: "[]", DigestAfter: m.At, DigestWaiting: true}
		}
	}

	// A fixed order avoids deadlocks between two callers.
	rows := slices.SortedFunc(maps.Values(rowsByUser), func(a, b seekerRow) int { return cmp.Compare(a.UserID, b.UserID) })
	for chunk := range slices.Chunk(rows, matchBatchSize) {
		update := updateOnConflict([]string{"user_id"}, "digest_waiting")
		if err := d.unprepared(ctx).Clauses(update).Create(&chunk).Error; err != nil {
			return wrap(err)
		}
	}

	return nil
}

// AssignDigests implements jobseeker.Matches. It claims users whose digest is due, at most one for each of
// the digestIDs, and assigns all pending matches of a user to one digest. It returns the digests that
// contain matches. Their users get the next digest not before the time next.
//
// claimed is the number of claimed users. It tells the caller whether there may be more, also if all
// digests are empty.
func (d matches) AssignDigests(
	ctx context.Context,
	digestIDs []string,
	now, next time.Time,
) (digests []jobseeker.Digest, claimed int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		digests, claimed = nil, 0 // the transaction may run again

		// Claim users whose digest is due. Users that another process has claimed are locked.
		var users []string
		err := d.skipLocked(ctx).
			Model(&seekerRow{}).
			Where(isTrue("digest_waiting")+" AND digest_after <= ?", now).
			Order("digest_after").
			Limit(len(digestIDs)).
			Pluck("user_id", &users).
			Error

		claimed = len(users)
		if err != nil || claimed == 0 {
			return wrap(err)
		}

		// Assign the pending matches of users[i] to digestIDs[i].
		digestOfUser := caseExpr("user_id", users, func(i int) any { return d.dialect.Typed(digestIDs[i], "uuid") })

		pending := d.unprepared(ctx).
			Model(&searchMatchRow{}).
			Where("? AND email AND digest_id IS NULL", d.dialect.In("user_id", users))
		if err := pending.Update("digest_id", digestOfUser).Error; err != nil {
			return wrap(err)
		}

		// Find out which digests contain matches. Pending matches may have been deleted since their
		// user was marked.
		var filled []string

		err = d.conn(ctx).
			Model(&searchMatchRow{}).
			Where("?", d.dialect.In("digest_id", digestIDs[:claimed])).
			Distinct().
			Pluck("digest_id", &filled).
			Error
		if err != nil {
			return wrap(err)
		}

		var mailedUsers, otherUsers []string // with and without matches
		for i, user := range users {
			if slices.Contains(filled, digestIDs[i]) {
				mailedUsers = append(mailedUsers, user)
				digests = append(digests, jobseeker.Digest{ID: digestIDs[i], UserID: user})
			} else {
				otherUsers = append(otherUsers, user)
			}
		}

		// None of the users waits for a digest any more.
		mailed := whereIn(d.conn(ctx).Model(&seekerRow{}), "user_id", mailedUsers)
		if err := mailed.Updates(map[string]any{"digest_waiting": false, "digest_after": next}).Error; err != nil {
			return wrap(err)
		}

		others := whereIn(d.conn(ctx).Model(&seekerRow{}), "user_id", otherUsers)

		return wrap(others.Update("digest_waiting", false).Error)
	})

	return digests, claimed, err
}

// ListByDigest implements jobseeker.Matches. It returns at most n matches of the user's digest, without
// those of searches whose e-mail alerts are off.
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
