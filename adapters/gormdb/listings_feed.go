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

// feed implements listings.Feed, from which search indexes read the listings that have changed since a
// position.
//
// Every transaction that writes listings also writes their ids to the table listing_changes, with a
// number called xid.
//
// On Postgres, this number is the id of the transaction. Transactions do not commit in the order of
// their ids. So the highest id that a reader has seen is not enough as its position: it would miss
// transactions with a lower id that commit later. A position therefore also contains the transactions
// that were running when the position was read, as a snapshot of Postgres does. These are at most one
// per connection.
//
// On SQLite and MariaDB, a counter numbers the changes in the order of the commits, so that no lower
// number commits later. "Transaction" then means one change.
type feed struct{ *DB }

// feedPosition is a listings.FeedPosition. Its zero value precedes all changes.
type feedPosition struct {
	// Store identifies the database and its epoch. A new epoch begins when listings were
	// written without listing_changes; then all indexes are built anew.
	Store string `json:"store"`
	// Next is the first transaction of which the reader has seen nothing. The reader has been
	// given the changes of all transactions before it, except Running.
	Next int64 `json:"next"`
	// Running are the transactions before Next that had not been committed yet.
	Running []int64 `json:"running,omitempty"`
}

// oldest returns the first transaction whose changes the reader has not been given.
func (p feedPosition) oldest() int64 { return slices.Min(append([]int64{p.Next}, p.Running...)) }

// afterTransaction returns the next position of a reader. The reader continued from p and has been given all changes
// up to the transaction last that were visible in the snapshot now.
func (p feedPosition) afterTransaction(last int64, now feedPosition) feedPosition {
	after := feedPosition{Store: p.Store, Next: max(p.Next, last+1)}

	// Transactions that were running at p were read only up to last. The later ones remain to be read.
	for _, xid := range p.Running {
		if xid > last {
			after.Running = append(after.Running, xid)
		}
	}

	// Transactions up to last that are running now were not visible. They remain to be read, too.
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

// recordListings stores that the transaction has changed the listings with the ids.
func (db *DB) recordListings(ctx context.Context, ids []string) error {
	db.markListingsWritten(ctx)

	if len(ids) == 0 {
		return nil
	}

	now := db.clock.Now()
	rows := list.Map(ids, func(id string) listingChangeRow { return listingChangeRow{ListingID: id, ChangedAt: now} })

	// A dialect that is a SnapshotReader, such as Postgres, numbers the rows itself, by the transaction. If a
	// transaction changes a listing a second time, the row exists already, and the conflict is ignored.
	if _, numbersRows := db.dialect.(SnapshotReader); numbersRows {
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

// setEpoch begins a new epoch. The table listing_feed has one row, and GORM refuses an update without a
// condition.
func (d feed) setEpoch(q *gorm.DB) error {
	return wrap(q.Table("listing_feed").Where("1 = 1").Update("epoch", d.newID()).Error)
}

// beginEpoch replaces the initial epoch, which is the same in all new databases, by a unique
// one. It does nothing if this has been done.
func (d feed) beginEpoch(ctx context.Context) error {
	const initialEpoch = "00000000-0000-0000-0000-000000000000"
	initial := d.conn(ctx).Table("listing_feed").Where("epoch = ?", initialEpoch)

	return wrap(initial.Update("epoch", d.newID()).Error)
}

// nextChange is the SQL expression for the number of the next change, if a counter numbers the changes.
const nextChange = "(SELECT last_xid + 1 FROM listing_feed)"

// commitOrder implements SnapshotReader for databases whose dialect does not. It uses the counter of
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
// in the snapshot. The snapshot has the form xmin:xmax:running, in which running lists the transactions
// before xmax that are not visible, or the form xmin if all transactions before it are visible.
func parseSnapshot(store, snapshot string) (position feedPosition, err error) {
	xmin, rest, isLongForm := strings.Cut(snapshot, ":")

	next, running := xmin, ""
	if isLongForm {
		next, running, _ = strings.Cut(rest, ":")
	}

	position.Store = store
	position.Next, err = strconv.ParseInt(next, 10, 64)

	isComma := func(r rune) bool { return r == ',' }
	for _, text := range strings.FieldsFunc(running, isComma) { // none for an empty text
		xid, parseErr := strconv.ParseInt(text, 10, 64)
		err = cmp.Or(err, parseErr)
		position.Running = append(position.Running, xid)
	}

	return position, err
}

// openBatchSize is the number of rows that one statement of the feed reads or writes.
const openBatchSize = 1_000

// ReadOpen implements listings.Feed. It reads the position before the listings. So listings that change while
// ReadOpen reads are returned by ListSince from this position.
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

		if isLastBatch := len(rows) < openBatchSize; isLastBatch {
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

// ListSince implements listings.Feed. It reads about n changes after the position, and then the listings
// that have changed, in their present state.
func (d feed) ListSince(ctx context.Context, position listings.FeedPosition, n int) (listings.FeedBatch, error) {
	var from feedPosition
	if err := json.Unmarshal([]byte(position), &from); err != nil {
		return listings.FeedBatch{}, listings.ErrFeedPosition
	}

	changes, next, hasMore, err := d.changesSince(ctx, from, n)
	if err != nil {
		return listings.FeedBatch{}, err
	}

	// The search index of this process will contain the changes. Reads from replicas must contain them, too, or
	// they could lack listings that a search has found.
	if len(changes) > 0 {
		d.noteListingsChanged()
	}

	// Sorted, so that the listings of a batch are read and returned in a fixed order.
	ids := list.Distinct(changes, func(c listingChangeRow) string { return c.ListingID })
	slices.Sort(ids)

	batch := listings.FeedBatch{Position: next.encode(), More: hasMore}
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

// changesSince returns changes after the position from, the position next after them, and whether there
// may be more. It returns whole transactions: as many as have at most n changes together, or the first one
// alone if it has more.
func (d feed) changesSince(
	ctx context.Context,
	from feedPosition,
	n int,
) (changes []listingChangeRow, next feedPosition, hasMore bool, err error) {
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
	isAhead := from.Next > now.Next           // the database was restored from a backup

	if isOfAnotherStore || isTooOld || isAhead {
		return nil, next, false, listings.ErrFeedPosition
	}

	if isComplete := len(changes) < n; isComplete { // everything in the snapshot was read
		return changes, now, false, nil
	}

	if changes, err = d.wholeTransactions(ctx, changes); err != nil {
		return nil, next, false, err
	}

	if len(changes) == 0 { // deleted since readChanges has read them
		return nil, next, false, listings.ErrFeedPosition
	}

	last := changes[len(changes)-1].Xid

	return changes, from.afterTransaction(last, now), true, nil
}

// feedState is the state of the feed, read in the same snapshot as the changes.
type feedState struct {
	Store    string // see feedPosition.Store
	Snapshot string // see SnapshotReader
	Purged   int64  // the last transaction whose changes were deleted
}

// readChanges reads at most n changes in the order of their transactions, and the state of the feed.
// A single statement reads both, so that they are of the same snapshot. Each of its rows contains the
// state and one change. If there is no change, it returns one row whose xid is NULL.
func (d feed) readChanges(ctx context.Context, from feedPosition, n int) (state feedState, changes []listingChangeRow, err error) {
	after := "SELECT xid, listing_id FROM listing_changes WHERE xid >= ?"
	if len(from.Running) > 0 {
		running := list.Map(from.Running, func(xid int64) string { return strconv.FormatInt(xid, 10) })
		after = "SELECT xid, listing_id FROM listing_changes WHERE xid IN (" + strings.Join(running, ", ") + ") UNION ALL " + after
	}

	query := fmt.Sprintf(`SELECT s.store, s.snapshot, s.purged, c.xid, c.listing_id
		FROM (SELECT %s AS store, %s AS snapshot, (SELECT purged_xid FROM listing_feed) AS purged) s
		LEFT JOIN (SELECT xid, listing_id FROM (%s) r ORDER BY xid, listing_id LIMIT ?) c ON 1 = 1
		ORDER BY c.xid`, d.storeID(), d.snapshots().Snapshot(), after)
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

// wholeTransactions removes the changes of the last transaction, which the limit of the statement may
// have cut off. If there is only one transaction, it reads all changes of this transaction instead.
func (d feed) wholeTransactions(ctx context.Context, changes []listingChangeRow) ([]listingChangeRow, error) {
	first, last := changes[0].Xid, changes[len(changes)-1].Xid
	if first != last {
		return slices.DeleteFunc(changes, func(c listingChangeRow) bool { return c.Xid == last }), nil
	}

	var whole []listingChangeRow
	err := d.unprepared(ctx).Raw("SELECT xid, listing_id FROM listing_changes WHERE xid = ?", last).Scan(&whole).Error

	return whole, wrap(err)
}

// Reset implements listings.Feed. Positions of an earlier epoch are not valid.
func (d feed) Reset(ctx context.Context) error {
	return d.setEpoch(d.conn(ctx))
}

// listingsExpiry maps the kinds of data of module listings that expire to functions that delete them.
var listingsExpiry = map[retention.Kind]expiry{
	listings.ReportKind: deleteExpiredBy[listingReportRow]("created_at", "id"),
	listings.FeedChanges: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return feed{db}.deleteChangesBefore(ctx, before, n)
	},
	listings.Visits: func(ctx context.Context, db *DB, before time.Time, n int) (int, error) {
		return views{db}.deleteVisitsBefore(ctx, before.Format(time.DateOnly), n)
	},
}

// deleteChangesBefore deletes about n of the changes from before the given time, the oldest first. It stores the last
// transaction whose changes it has deleted as purged_xid: older positions are refused. It keeps the changes from the
// oldest running transaction on, so that positions that still wait for this transaction remain valid.
func (d feed) deleteChangesBefore(ctx context.Context, before time.Time, n int) (deleted int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		oldest := "SELECT xid, changed_at FROM listing_changes WHERE xid < " + d.snapshots().OldestRunning() + " ORDER BY xid LIMIT ?"

		var last *int64 // the last transaction to delete, nil if there is none

		err := d.unprepared(ctx).
			Raw("SELECT max(xid) FROM ("+oldest+") oldest WHERE changed_at < ?", n, before).
			Scan(&last).
			Error
		if err != nil || last == nil {
			return wrap(err)
		}

		deletion := d.unprepared(ctx).Exec("DELETE FROM listing_changes WHERE xid <= ? AND changed_at < ?", *last, before)
		if deletion.Error != nil {
			return wrap(deletion.Error)
		}

		deleted = int(deletion.RowsAffected)

		return wrap(d.unprepared(ctx).Exec("UPDATE listing_feed SET purged_xid = ?", *last).Error)
	})

	return deleted, err
}
