package gormdb

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/listings"
)

// feed implements listings.Feed: it lists the listings that have changed since a position.
//
// Every transaction that writes listings also writes their ids to listing_changes, with a number
// (xid) by which readers continue. On Postgres, this is the id of the transaction. Transactions do not
// commit in the order of their ids. A reader that continued after the highest id that it has seen would
// therefore miss transactions that commit late. A position is instead like a snapshot of Postgres: it
// also contains the transactions that were running when the position was read, at most one per
// connection.
//
// In databases without a SnapshotReader, a counter numbers the changes in the order of the commits.
type feed struct{ *DB }

// feedPosition is a listings.FeedPosition. Its zero value precedes all changes.
type feedPosition struct {
	// Store identifies the database and its epoch. A new epoch begins when listings were
	// written without listing_changes; then all indexes are built anew.
	Store string `json:"store"`
	// Next is the first transaction that may not have been returned.
	Next int64 `json:"next"`
	// Running are the transactions before Next that have not been returned.
	Running []int64 `json:"running,omitempty"`
}

// oldest returns the first transaction that may not have been returned.
func (p feedPosition) oldest() int64 { return slices.Min(append([]int64{p.Next}, p.Running...)) }

// afterTransaction returns the position of a reader that continued from p and has been given all
// changes up to the transaction last. now is the snapshot in which the changes were read: transactions
// up to last that were running then are still to be returned.
func (p feedPosition) afterTransaction(last int64, now feedPosition) feedPosition {
	after := feedPosition{Store: p.Store, Next: max(p.Next, last+1)}
	for _, xid := range p.Running {
		if xid > last {
			after.Running = append(after.Running, xid)
		}
	}

	for _, xid := range now.Running {
		if xid <= last {
			after.Running = append(after.Running, xid)
		}
	}

	return after
}

// listingChangeRow is a row of listing_changes.
type listingChangeRow struct {
	Xid       int64 `gorm:"primaryKey;autoIncrement:false"`
	ListingID string
	ChangedAt time.Time
}

// recordListings stores that the transaction has changed listings.
func (db *DB) recordListings(ctx context.Context, ids []string) error {
	db.markListingsWritten(ctx)

	if len(ids) == 0 {
		return nil
	}

	now := db.clock.Now()

	rows := list.Map(ids, func(id string) listingChangeRow { return listingChangeRow{ListingID: id, ChangedAt: now} })
	if _, ok := db.dialect.(SnapshotReader); ok { // the database numbers the rows
		return wrap(db.unprepared(ctx).Clauses(ignoreOnConflict(nil)).Omit("xid").Create(&rows).Error)
	}

	return db.Do(ctx, func(ctx context.Context) error {
		// Reserve as many numbers of the counter as there are rows. The update locks the counter
		// until the commit, so that its numbers have the order of the commits.
		counter := func() *gorm.DB { return db.conn(ctx).Table("listing_feed").Where("1 = 1") }
		if err := counter().Update("last_xid", gorm.Expr("last_xid + ?", len(rows))).Error; err != nil {
			return wrap(err)
		}

		var last int64
		if err := counter().Pluck("last_xid", &last).Error; err != nil {
			return wrap(err)
		}

		first := last - int64(len(rows)) + 1
		for i := range rows {
			rows[i].Xid = first + int64(i)
		}

		return wrap(db.unprepared(ctx).CreateInBatches(&rows, openBatchSize).Error)
	})
}

// newEpoch begins a new epoch in the transaction tx, so that every search index is built anew.
// It is called when listings are written without listing_changes.
func (db *DB) newEpoch(ctx context.Context, tx *sql.Tx) error {
	q := db.writer.Session(&gorm.Session{NewDB: true, Context: ctx})
	q.Statement.ConnPool = tx
	return feed{db}.setEpoch(q)
}

// setEpoch begins a new epoch.
func (d feed) setEpoch(q *gorm.DB) error {
	return wrap(q.Table("listing_feed").Where("1 = 1").Update("epoch", d.newID()).Error)
}

// beginEpoch replaces the initial epoch, which is the same in all new databases, by a unique
// one.
func (d feed) beginEpoch(ctx context.Context) error {
	const initialEpoch = "00000000-0000-0000-0000-000000000000"
	initial := d.conn(ctx).Table("listing_feed").Where("epoch = ?", initialEpoch)

	return wrap(initial.Update("epoch", d.newID()).Error)
}

// nextChange is the expression for the number of the next change.
const nextChange = "(SELECT last_xid + 1 FROM listing_feed)"

// commitOrder implements SnapshotReader for databases that do not. It uses the counter of
// listing_feed, whose numbers have the order of the commits.
type commitOrder struct{}

// Cluster implements SnapshotReader.
func (commitOrder) Cluster() string { return "" }

// Snapshot implements SnapshotReader.
func (commitOrder) Snapshot() string { return nextChange }

// OldestRunning implements SnapshotReader.
func (commitOrder) OldestRunning() string { return nextChange }

// snapshots returns the SnapshotReader of the database.
func (d feed) snapshots() SnapshotReader {
	if r, ok := d.dialect.(SnapshotReader); ok {
		return r
	}

	return commitOrder{}
}

// storeID returns the expression for feedPosition.Store. It contains the id of the database
// cluster, because transaction ids must not be compared with those of a restored copy.
func (d feed) storeID() string {
	if cluster := d.snapshots().Cluster(); cluster != "" {
		return "(SELECT CONCAT(epoch, '/', " + cluster + ") FROM listing_feed)"
	}

	return "(SELECT epoch FROM listing_feed)"
}

// parseSnapshot returns the position of a reader that has been given everything that is visible
// in the snapshot. See SnapshotReader for its format, xmin:xmax:running or xmin alone.
func parseSnapshot(store, snapshot string) (p feedPosition, err error) {
	next, rest, hasRunning := strings.Cut(snapshot, ":")

	var running string
	if hasRunning {
		next, running, _ = strings.Cut(rest, ":")
	}

	p.Store = store

	p.Next, err = strconv.ParseInt(next, 10, 64)
	for _, text := range strings.FieldsFunc(running, func(r rune) bool { return r == ',' }) {
		xid, parseErr := strconv.ParseInt(text, 10, 64)
		err = cmp.Or(err, parseErr)
		p.Running = append(p.Running, xid)
	}

	return p, err
}

// openBatchSize is the number of rows that one statement of the feed reads or writes.
const openBatchSize = 1_000

// ReadOpen implements listings.Feed. It reads the position first, so that changes during the reading
// are also returned after the position.
func (d feed) ReadOpen(ctx context.Context, fn func(*listings.Listing) error) (listings.FeedPosition, error) {
	var store, snapshot string

	err := d.unprepared(ctx).Raw("SELECT "+d.storeID()+", "+d.snapshots().Snapshot()).Row().Scan(&store, &snapshot)
	if err != nil {
		return "", wrap(markUnavailable(d.dialect, err))
	}

	position, err := parseSnapshot(store, snapshot)
	if err != nil {
		return "", err
	}

	var last *fullListingRow // the last row of the previous batch
	for {
		q := d.unprepared(ctx).Where(isTrue("open")).Order("posted_at DESC, id DESC").Limit(openBatchSize)
		if last != nil {
			q = q.Where(rowsAfter("posted_at"), last.Short.PostedAt, last.Short.ID, last.Short.PostedAt)
		}

		var rows []fullListingRow
		if err := q.Find(&rows).Error; err != nil {
			return "", wrap(err)
		}

		open := d.decodeListings(rows)
		for i := range open {
			if err := fn(&open[i]); err != nil {
				return "", err
			}
		}

		if len(rows) < openBatchSize {
			return position.encode(), nil
		}

		last = &rows[len(rows)-1]
	}
}

// decodeListings returns the listings of the rows. It logs and leaves out rows that cannot be
// decoded.
func (d *DB) decodeListings(rows []fullListingRow) []listings.Listing {
	decoded := make([]listings.Listing, 0, len(rows))
	for i := range rows {
		listing, err := rows[i].listing()
		if err != nil {
			d.log.Error("listing cannot be decoded and is left out", "listing", rows[i].Short.ID, "error", err)
			continue
		}

		decoded = append(decoded, listing)
	}

	return decoded
}

// encode returns the position as JSON.
func (p feedPosition) encode() listings.FeedPosition {
	text, _ := json.Marshal(p) //nolint:errchkjson // text and numbers
	return listings.FeedPosition(text)
}

// ListSince implements listings.Feed.
func (d feed) ListSince(ctx context.Context, position listings.FeedPosition, n int) (listings.FeedBatch, error) {
	var from feedPosition
	if err := json.Unmarshal([]byte(position), &from); err != nil {
		return listings.FeedBatch{}, listings.ErrFeedPosition
	}

	changes, next, more, err := d.changesSince(ctx, from, n)
	if err != nil {
		return listings.FeedBatch{}, err
	}

	if len(changes) > 0 {
		d.noteListingsChanged()
	}

	ids := list.Map(changes, func(c listingChangeRow) string { return c.ListingID })
	slices.Sort(ids)

	ids = slices.Compact(ids)

	batch := listings.FeedBatch{Position: next.encode(), More: more}
	for chunk := range slices.Chunk(ids, openBatchSize) {
		var rows []fullListingRow
		if err := whereIn(d.unprepared(ctx), "id", chunk).Find(&rows).Error; err != nil {
			return batch, wrap(err)
		}

		batch.Listings = append(batch.Listings, d.decodeListings(rows)...)
		batch.Deleted = append(batch.Deleted, missingIDs(chunk, rows)...)
	}

	return batch, nil
}

// missingIDs returns the ids that have no row.
func missingIDs(ids []string, found []fullListingRow) []string {
	exists := list.ToMap(found, func(r fullListingRow) (string, bool) { return r.Short.ID, true })
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return exists[id] })
}

// changesSince returns the changes of complete transactions, and the position after them. It
// returns at most n changes, or all changes of the first transaction if it has more.
func (d feed) changesSince(
	ctx context.Context,
	from feedPosition,
	n int,
) (changes []listingChangeRow, next feedPosition, more bool, err error) {
	state, changes, err := d.readChanges(ctx, from, n)
	if err != nil {
		return nil, next, false, err
	}

	now, err := parseSnapshot(state.Store, state.Snapshot)
	if err != nil {
		return nil, next, false, err
	}

	isOfAnotherStore := now.Store != from.Store
	isTooOld := state.Purged >= from.oldest() // changes after the position were deleted

	isAhead := from.Next > now.Next // the database was restored from a backup
	if isOfAnotherStore || isTooOld || isAhead {
		return nil, next, false, listings.ErrFeedPosition
	}

	more = len(changes) == n
	if !more {
		return changes, now, false, nil
	}

	if changes, err = d.wholeTransactions(ctx, changes); err != nil {
		return nil, next, false, err
	}

	if len(changes) == 0 { // deleted since the statement above
		return nil, next, false, listings.ErrFeedPosition
	}

	return changes, from.afterTransaction(changes[len(changes)-1].Xid, now), true, nil
}

// feedState is the state of the feed, read in the same snapshot as the changes.
type feedState struct {
	Store    string // see feedPosition.Store
	Snapshot string // see SnapshotReader
	Purged   int64  // the last transaction whose changes were deleted
}

// readChanges reads at most n changes in the order of their transactions, with the state of the feed.
// A single statement reads both from the same snapshot; its row has a NULL xid if there is no change.
func (d feed) readChanges(ctx context.Context, from feedPosition, n int) (state feedState, changes []listingChangeRow, err error) {
	rows := "SELECT xid, listing_id FROM listing_changes WHERE xid >= ?"
	if len(from.Running) > 0 {
		running := list.Map(from.Running, func(xid int64) string { return strconv.FormatInt(xid, 10) })
		rows = "SELECT xid, listing_id FROM listing_changes WHERE xid IN (" + strings.Join(running, ", ") + ") UNION ALL " + rows
	}

	query := fmt.Sprintf(`SELECT s.store, s.snapshot, s.purged, c.xid, c.listing_id
		FROM (SELECT %s AS store, %s AS snapshot, (SELECT purged_xid FROM listing_feed) AS purged) s
		LEFT JOIN (SELECT xid, listing_id FROM (%s) r ORDER BY xid, listing_id LIMIT ?) c ON 1 = 1
		ORDER BY c.xid`, d.storeID(), d.snapshots().Snapshot(), rows)
	err = d.streamRows(ctx, query, []any{from.Next, n}, func(rows Rows) error {
		var xid *int64
		var listingID *string

		err := rows.Scan(&state.Store, &state.Snapshot, &state.Purged, &xid, &listingID)
		if xid != nil && listingID != nil {
			changes = append(changes, listingChangeRow{Xid: *xid, ListingID: *listingID})
		}

		return err
	})

	return state, changes, err
}

// wholeTransactions removes the changes of the last transaction, which may be incomplete. If
// there is only one transaction, it returns all changes of this transaction.
func (d feed) wholeTransactions(ctx context.Context, changes []listingChangeRow) ([]listingChangeRow, error) {
	last := changes[len(changes)-1].Xid
	if first := changes[0].Xid; first != last {
		return slices.DeleteFunc(changes, func(c listingChangeRow) bool { return c.Xid == last }), nil
	}

	var whole []listingChangeRow
	err := d.unprepared(ctx).Raw("SELECT xid, listing_id FROM listing_changes WHERE xid = ?", last).Scan(&whole).Error

	return whole, wrap(err)
}

// Reset implements listings.Feed.
func (d feed) Reset(ctx context.Context) error {
	return d.setEpoch(d.conn(ctx))
}

// listingsExpiry contains the kinds of expiring rows of module listings.
var listingsExpiry = map[retention.Kind]expiry{
	listings.ReportKind: deleteExpiredBy[listingReportRow]("created_at", "id"),
	listings.FeedChanges: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return feed{db}.deleteChangesBefore(ctx, before, n)
	},
	listings.Visits: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return views{db}.deleteVisitsBefore(ctx, before.Format(time.DateOnly), n)
	},
}

// deleteChangesBefore deletes about n of the changes from before the given time, the oldest
// first. It does not delete changes after the oldest running transaction.
func (d feed) deleteChangesBefore(ctx context.Context, before time.Time, n int) (deleted int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		var last *int64 // the last transaction to delete

		oldest := "SELECT xid, changed_at FROM listing_changes WHERE xid < " + d.snapshots().OldestRunning() + " ORDER BY xid LIMIT ?"

		err := d.unprepared(ctx).
			Raw("SELECT max(xid) FROM ("+oldest+") oldest WHERE changed_at < ?", n, before).
			Scan(&last).
			Error
		if err != nil || last == nil {
			return wrap(err)
		}

		removed := d.unprepared(ctx).Exec("DELETE FROM listing_changes WHERE xid <= ? AND changed_at < ?", *last, before)
		if removed.Error != nil {
			return wrap(removed.Error)
		}

		deleted = int(removed.RowsAffected)

		return wrap(d.unprepared(ctx).Exec("UPDATE listing_feed SET purged_xid = ?", *last).Error)
	})

	return deleted, err
}
