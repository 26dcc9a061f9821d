package gormdb

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"gorm.io/gorm"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/listings"
)

// listingRepository implements listings.Repository, listings.PublicRepository and
// listings.Loader.
//
// The column open is true if a listing was public when it was last stored. It is not changed at the
// application deadline, after which the listing is no longer public, but only when the listing is stored
// again. So queries for public listings also compare the deadline.
type listingRepository struct{ *DB }

// Create implements listings.Repository. It also records the listings for the feed, from which search
// indexes are updated.
func (d listingRepository) Create(ctx context.Context, created []listings.Listing) error {
	rows := list.Map(created, newListingRow)
	if err := wrap(d.conn(ctx).CreateInBatches(&rows, rowBatchSize).Error); err != nil {
		return err
	}

	return d.recordListings(ctx, listingIDs(created))
}

// savedColumns are the columns that can change after creation, which Update writes.
var savedColumns = []string{
	"version", "title", "description", "company", "department", "contract_type", "employment_type", "specialty", "remote",
	"location", "place_kind", "city", "region", "nation", "country", "lat", "lon",
	"salary_min", "salary_max", "salary_currency", "salary_period",
	"requirements", "benefits", "questions", "meta", "status", "open",
	"application_deadline", "posted_at", "archived_at", "deleted_at", "hidden_at", "updated_at",
}

// Update implements listings.Repository. It locks the rows, compares their versions with those that the
// caller has read, and writes the rows in batches.
func (d listingRepository) Update(ctx context.Context, organizationID string, changed []listings.Listing) error {
	changed = slices.Clone(changed)

	// Rows are locked in the order of ids, so that two batches do not deadlock.
	slices.SortFunc(changed, func(a, b listings.Listing) int { return strings.Compare(a.ID, b.ID) })

	for i := range changed {
		changed[i].Version++
		changed[i].OrganizationID = organizationID
	}

	ids := listingIDs(changed)

	return d.Do(ctx, func(ctx context.Context) error {
		var stored []listingRow

		err := d.locked(ctx).
			Select("id", "version").
			Where("organization_id = ?", organizationID).
			Where(d.dialect.In("id", ids)).
			Order("id").
			Find(&stored).
			Error
		if err != nil {
			return wrap(err)
		}

		isPrevious := func(r listingRow, l listings.Listing) bool { return r.ID == l.ID && r.Version == l.Version-1 }
		if !slices.EqualFunc(stored, changed, isPrevious) {
			return tx.ErrStale
		}

		if err := updateLocked(d.unprepared(ctx), list.Map(changed, newListingRow), "id", savedColumns...); err != nil {
			return err
		}

		return d.recordListings(ctx, ids)
	})
}

// listingIDs returns the ids of the listings, in the same order.
func listingIDs(of []listings.Listing) []string {
	return list.Map(of, func(l listings.Listing) string { return l.ID })
}

// publicCondition is the condition for public listings. Its parameter is the current time.
const publicCondition = "open AND (application_deadline IS NULL OR application_deadline > ?)"

// ListPublic implements listings.PublicRepository. It leaves out listings that cannot be decoded.
func (d listingRepository) ListPublic(ctx context.Context, ids []string, now time.Time) ([]listings.Listing, error) {
	var rows []fullListingRow
	err := d.queryPublic(ctx, ids, now).Find(&rows).Error

	return d.decodeListings(rows), wrap(err)
}

// ListPublicSummaries implements listings.PublicRepository. It reads only the columns of listingRow, which
// has no long texts.
func (d listingRepository) ListPublicSummaries(ctx context.Context, ids []string, now time.Time) ([]listings.Listing, error) {
	return findRows(d.queryPublic(ctx, ids, now), listingRow.listing)
}

// queryPublic returns a query for those of the listings that are public at the time now.
func (d listingRepository) queryPublic(ctx context.Context, ids []string, now time.Time) *gorm.DB {
	return whereIn(d.conn(ctx), "id", ids).Where(publicCondition, now)
}

// ClaimExpired implements listings.Repository. It returns at most n open listings whose deadline has passed,
// and locks them until the end of the transaction. It skips those that another transaction has locked.
func (d listingRepository) ClaimExpired(ctx context.Context, now time.Time, n int) ([]listings.Listing, error) {
	return findFull(d.skipLocked(ctx).
		Where(isTrue("open")+" AND application_deadline IS NOT NULL AND application_deadline <= ?", now).
		Order("application_deadline").
		Limit(n))
}

// ListBySelection implements listings.Repository. It returns at most n listings, and locks them.
func (d listingRepository) ListBySelection(
	ctx context.Context,
	organizationID string,
	selection listings.Selection,
	n int,
) ([]listings.Listing, error) {
	q := d.locked(ctx).Where("organization_id = ?", organizationID)
	if selection.IDs != nil {
		q = q.Where("id IN ?", selection.IDs)
	}

	if selection.Open {
		q = q.Where("open")
	}

	q = whereIfSet(q, "company <> ?", selection.NotCompany)

	if before := selection.Before; before != nil {
		q = q.Where(rowsAfter("created_at"), before.CreatedAt, before.ID, before.CreatedAt)
	}

	order := "created_at DESC, id DESC"
	if selection.IDs != nil || selection.Open {
		order = "id" // locking in this order avoids deadlocks of two batches
	}

	return findFull(q.Order(order).Limit(n))
}

// anyStatus is the status with which ownListings selects all listings of an organization.
const anyStatus listings.Status = ""

// List implements listings.Repository.
func (d listingRepository) List(
	ctx context.Context,
	organizationID string,
	status listings.Status,
	request page.Request,
) (page.Result[listings.Listing], error) {
	return d.listOwn(func() *gorm.DB { return d.ownListings(ctx, organizationID, status) }, request)
}

// ListByState implements listings.Repository. Unlike the status, which is a column, the state depends on
// the current time.
func (d listingRepository) ListByState(
	ctx context.Context,
	organizationID string,
	state listings.State,
	now time.Time,
	request page.Request,
) (page.Result[listings.Listing], error) {
	newQuery := func() *gorm.DB { return whereState(d.ownListings(ctx, organizationID, anyStatus), state, now) }
	return d.listOwn(newQuery, request)
}

// whereState adds the condition for listings that are in the state at the time now. It adds none if the
// state is empty.
func whereState(q *gorm.DB, state listings.State, now time.Time) *gorm.DB {
	const isActive = "hidden_at IS NULL AND status = 'active' AND "
	switch state {
	case "":
		return q
	case listings.StateHidden:
		return q.Where("hidden_at IS NOT NULL")
	case listings.StateExpired:
		return q.Where(isActive+"application_deadline <= ?", now)
	case listings.State(listings.Active):
		return q.Where(isActive+"(application_deadline IS NULL OR application_deadline > ?)", now)
	}

	return q.Where("hidden_at IS NULL AND status = ?", state)
}

// listOwn returns a page of the listings of an organization, newest first. newQuery returns a query for
// all listings of the list. It is called twice, because a query of GORM can be used only once: for the
// number of the listings, and for the page.
func (d listingRepository) listOwn(newQuery func() *gorm.DB, request page.Request) (page.Result[listings.Listing], error) {
	var result page.Result[listings.Listing]

	counted, err := countLimited(newQuery())
	if err != nil {
		return result, err
	}

	result.Total, result.TotalIsEstimate = min(counted, page.MaxExact), counted > page.MaxExact

	// Read one row more than the page has. If it exists, there is a next page.
	q := newQuery().Order("created_at DESC, id DESC").Limit(request.Size + 1)
	if request.Cursor != "" {
		previous, err := parseListingCursor(request.Cursor)
		if err != nil {
			return result, err
		}

		// A comparison of rows, unlike an OR, can use an index at any depth of the list.
		q = q.Where(rowsAfter("created_at"), previous.CreatedAt, previous.ID, previous.CreatedAt)
	} else {
		q = q.Offset(request.Offset())
	}

	var rows []listingRow
	if err := q.Find(&rows).Error; err != nil {
		return result, wrap(err)
	}

	if hasNextPage := len(rows) > request.Size; hasNextPage {
		rows = rows[:request.Size]
		last := rows[request.Size-1]
		result.NextCursor = listingCursor{CreatedAt: last.CreatedAt, ID: last.ID}.encode()
	}

	result.Items = list.Map(rows, listingRow.listing)

	return result, nil
}

// Export implements listings.Repository. It returns at most n listings after the cursor, and the cursor of
// the next ones, which is empty if there are none. It bypasses GORM, because exports have many rows.
func (d listingRepository) Export(
	ctx context.Context,
	organizationID string,
	status listings.Status,
	cursor string,
	n int,
) (exported []listings.Exported, next string, err error) {
	where, args := "organization_id = ?", []any{organizationID}
	if status != "" {
		where += " AND status = ?"
		args = append(args, string(status))
	}

	if cursor != "" {
		previous, err := parseListingCursor(cursor)
		if err != nil {
			return nil, "", err
		}

		where += " AND " + rowsAfter("created_at")
		args = append(args, previous.CreatedAt, previous.ID, previous.CreatedAt)
	}

	query := `SELECT id, title, department, company, location, contract_type, status, salary_min, salary_max, salary_currency,
		posted_at, application_deadline, updated_at, created_at,
		COALESCE((SELECT views FROM listing_views WHERE listing_id = listings.id), 0)
		FROM listings WHERE ` + where + " ORDER BY created_at DESC, id DESC LIMIT ?"

	// Each row is scanned into these variables, in the order of the columns of the query.
	var (
		row                listings.Exported
		minimum, maximum   pgtype.Int8 // of the salary
		postedAt, deadline pgtype.Timestamptz
		last               listingCursor // of the last row
	)
	columns := []any{
		&row.ID, &row.Title, &row.Department, &row.Company, &row.Location, &row.ContractType, (*string)(&row.Status),
		&minimum, &maximum, &row.Currency, &postedAt, &deadline, &row.UpdatedAt, &last.CreatedAt,
		&row.Views,
	}
	addRow := func(r Rows) error {
		if err := r.Scan(columns...); err != nil {
			return err
		}

		row.SalaryMin, row.SalaryMax = valueOrNil(minimum.Int64, minimum.Valid), valueOrNil(maximum.Int64, maximum.Valid)
		row.PostedAt, row.Deadline = valueOrNil(postedAt.Time, postedAt.Valid), valueOrNil(deadline.Time, deadline.Valid)
		exported = append(exported, row)

		return nil
	}

	exported = make([]listings.Exported, 0, n)
	reset := func() { exported = exported[:0] } // if a replica has failed

	err = d.streamFromReplica(ctx, query, append(args, n), reset, addRow)

	mayHaveMore := len(exported) == n
	if mayHaveMore && err == nil {
		last.ID = exported[n-1].ID
		next = last.encode()
	}

	return exported, next, err
}

// valueOrNil returns the value of a column, or nil if the column is NULL.
func valueOrNil[T any](value T, isValid bool) *T {
	if !isValid {
		return nil
	}

	return &value
}

// CountByStatus implements listings.Repository.
func (d listingRepository) CountByStatus(ctx context.Context, organizationID string) (map[listings.Status]int, error) {
	own := d.ownListings(ctx, organizationID, anyStatus)
	return scanCounts[listings.Status](own.Select("status AS name, count(*) AS n").Group("status"))
}

// CountByState implements listings.Repository. The states are those of whereState.
func (d listingRepository) CountByState(ctx context.Context, organizationID string, now time.Time) (map[listings.State]int, error) {
	const state = "CASE WHEN hidden_at IS NOT NULL THEN 'hidden' " +
		"WHEN status = 'active' AND application_deadline <= ? THEN 'expired' ELSE status END"
	own := d.ownListings(ctx, organizationID, anyStatus)

	return scanCounts[listings.State](own.Select(state+" AS name, count(*) AS n", now).Group("name"))
}

// scanCounts maps the names that a query returns to their counts. The query has the columns name and n.
func scanCounts[K ~string](q *gorm.DB) (map[K]int, error) {
	var rows []struct {
		Name K
		N    int
	}
	if err := q.Scan(&rows).Error; err != nil {
		return nil, wrap(err)
	}

	counts := make(map[K]int, len(rows))
	for _, r := range rows {
		counts[r.Name] = r.N
	}

	return counts, nil
}

// ownListings returns a query for the listings of the organization with the status, or for all of its
// listings with anyStatus.
func (d listingRepository) ownListings(ctx context.Context, organizationID string, status listings.Status) *gorm.DB {
	return whereEqual(d.conn(ctx).Model(&listingRow{}).Where("organization_id = ?", organizationID), "status", status)
}

// briefRow contains the columns of a listings.Brief. Public is read from the column open, and findBriefs
// then considers the deadline.
type briefRow struct {
	ID             string
	OrganizationID string
	Title          string
	Company        string
	Location       string
	Public         bool      `gorm:"column:open"`
	Deadline       time.Time `gorm:"column:application_deadline"`
}

// TableName implements schema.Tabler.
func (briefRow) TableName() string { return "listings" }

// findBriefs returns the listings that q selects, as they are at the time now.
func findBriefs(q *gorm.DB, now time.Time) ([]listings.Brief, error) {
	return findRows(q, func(r briefRow) listings.Brief {
		r.Public = r.Public && (r.Deadline.IsZero() || r.Deadline.After(now))
		return listings.Brief(r)
	})
}

// ListBriefs implements listings.PublicRepository.
func (d listingRepository) ListBriefs(ctx context.Context, ids []string, now time.Time) ([]listings.Brief, error) {
	return findBriefs(whereIn(d.conn(ctx), "id", ids), now)
}

// ListClosing implements listings.PublicRepository. It lists at most n public listings in the order of
// their deadlines and ids. The deadlines are later than from and at most until. fromID, unless it is
// empty, continues a list after the listing with this id and the deadline from: listings with the same
// deadline and a higher id are included.
func (d listingRepository) ListClosing(
	ctx context.Context,
	from time.Time,
	fromID string,
	until time.Time,
	n int,
) ([]listings.Brief, error) {
	q := d.conn(ctx).Where(isTrue("open")+" AND application_deadline IS NOT NULL AND application_deadline <= ?", until)
	if fromID == "" {
		q = q.Where("application_deadline > ?", from)
	} else {
		q = q.Where("application_deadline >= ? AND (application_deadline > ? OR id > ?)", from, from, fromID)
	}

	return findBriefs(q.Order("application_deadline, id").Limit(n), from)
}

// GetPosted implements listings.PublicRepository. A posted listing is or was public.
func (d listingRepository) GetPosted(ctx context.Context, id string) (listings.Listing, error) {
	found, err := findFull(d.conn(ctx).Where("id = ? AND posted_at IS NOT NULL", id).Limit(1))
	return list.First(found, err, listings.ErrNotFound)
}

// openRow contains the columns of a listings.OpenListing.
type openRow struct {
	PostedAt  time.Time
	ID        string
	Title     string
	UpdatedAt time.Time
}

// TableName implements schema.Tabler.
func (openRow) TableName() string { return "listings" }

// ListOpen implements listings.PublicRepository. It lists the listings after the position in the order of their
// publication.
func (d listingRepository) ListOpen(ctx context.Context, after listings.OpenPosition, skip, n int) ([]listings.OpenListing, error) {
	q := d.conn(ctx).Where(isTrue("open"))
	if after.ID != "" {
		q = q.Where("posted_at >= ? AND (posted_at > ? OR id > ?)", after.PostedAt, after.PostedAt, after.ID)
	}

	return findRows(q.Order("posted_at, id").Offset(skip).Limit(n), func(r openRow) listings.OpenListing {
		return listings.OpenListing{
			OpenPosition: listings.OpenPosition{PostedAt: r.PostedAt, ID: r.ID},
			Title:        r.Title,
			UpdatedAt:    r.UpdatedAt,
		}
	})
}

// errCursor is the error of a cursor that was forged or belongs to another list.
var errCursor = fault.InvalidField("cursor", "is not one that this list gave out")

// listingCursor is the position of a listing in the list of its organization. A client that has read a
// page gets the position of its last listing, and sends it to get the next page.
type listingCursor struct {
	CreatedAt time.Time `json:"CreatedAt"`
	ID        string    `json:"ID"`
}

// cursorPrefix is the beginning of a decoded cursor. It makes cursors of other lists invalid.
const cursorPrefix = "own."

// encode returns the cursor for clients.
func (c listingCursor) encode() string {
	raw, _ := json.Marshal(c) //nolint:errchkjson // a time of a row
	return base64.RawURLEncoding.EncodeToString(append([]byte(cursorPrefix), raw...))
}

// parseListingCursor decodes a cursor. Because clients can forge cursors, it also rejects
// values that a database would refuse.
func parseListingCursor(cursor string) (c listingCursor, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)

	text, isOfThisList := bytes.CutPrefix(raw, []byte(cursorPrefix))
	if err != nil || !isOfThisList || json.Unmarshal(text, &c) != nil {
		return c, errCursor
	}

	isStorableTime := c.CreatedAt.Year() >= 1900 && c.CreatedAt.Year() <= 9000
	if !id.Valid(c.ID) || !isStorableTime {
		return c, errCursor
	}

	return c, nil
}
