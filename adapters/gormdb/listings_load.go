package gormdb

import (
	"context"
	"database/sql"
	"iter"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/listings"
)

// loadReportSize is the number of listings after which Load reports its progress.
const loadReportSize = 500

// Load implements listings.Loader. It stores many listings at once. To be fast, it does not record them as changes in
// the feed, from which search indexes are updated. Instead it begins a new epoch of the feed, which makes every search
// index read all listings.
func (d listingRepository) Load(ctx context.Context, all iter.Seq[listings.Listing], done func(int)) error {
	rows := func(yield func([]any) bool) { yieldRows(all, yield, done) }

	var err error
	if inserter, ok := d.dialect.(BulkInserter); ok {
		newEpoch := func(tx *sql.Tx) error { return d.newEpoch(ctx, tx) }
		err = inserter.BulkInsert(ctx, d.pool, "listings", loadedColumns, rows, newEpoch)
	} else {
		err = d.insertRows(ctx, rows)
	}

	return wrap(markUnavailable(d.dialect, err))
}

// yieldRows yields the values of loadedColumns for each listing. It calls done with the number of listings
// since the previous call, after every loadReportSize listings and after the last one.
func yieldRows(all iter.Seq[listings.Listing], yield func([]any) bool, done func(int)) {
	unreported := 0
	for listing := range all {
		if !yield(newListingRow(listing).values()) {
			return
		}

		unreported++
		if unreported == loadReportSize {
			done(unreported)

			unreported = 0
		}
	}

	done(unreported)
}

// deleteBatchSize is the maximum number of listings that one transaction deletes.
const deleteBatchSize = 1_000

// DeleteByOrganizations implements listings.Loader. It deletes the listings in several transactions.
func (d listingRepository) DeleteByOrganizations(ctx context.Context, organizationIDs []string) (deleted int, err error) {
	for _, organizationID := range organizationIDs {
		for isLastBatch := false; !isLastBatch; {
			batchSize, err := d.deleteBatch(ctx, organizationID)
			if err != nil {
				return deleted, err
			}

			deleted += batchSize
			isLastBatch = batchSize < deleteBatchSize
		}
	}

	return deleted, nil
}

// deleteBatch deletes at most deleteBatchSize listings of the organization with everything that refers
// to them, and returns the number of listings.
func (d listingRepository) deleteBatch(ctx context.Context, organizationID string) (deleted int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		var ids []string

		err := d.conn(ctx).Table("listings").
			Where("organization_id = ?", organizationID).
			Limit(deleteBatchSize).
			Pluck("id", &ids).Error
		if err != nil {
			return wrap(err)
		}

		deleted = len(ids)

		// Search indexes must learn that the listings were deleted.
		if err := d.recordListings(ctx, ids); err != nil {
			return err
		}

		for _, table := range []string{"listing_views", "listing_reports", "listing_cases"} {
			err := d.unprepared(ctx).Exec("DELETE FROM "+table+" WHERE ?", d.dialect.In("listing_id", ids)).Error
			if err != nil {
				return wrap(err)
			}
		}

		return wrap(d.unprepared(ctx).Exec("DELETE FROM listings WHERE ?", d.dialect.In("id", ids)).Error)
	})

	return deleted, err
}

// loadedColumns are the columns that Load writes.
var loadedColumns = append([]string{"id", "organization_id", "created_at"}, savedColumns...)

// values returns the values of loadedColumns, in the same order.
func (r fullListingRow) values() []any {
	short := &r.Short

	return []any{
		short.ID, short.OrganizationID, short.CreatedAt,
		short.Version, short.Title, r.Description, short.Company, short.Department,
		short.ContractType, short.EmploymentType, short.Specialty, short.Remote,
		short.Location, string(short.PlaceKind), short.City, short.Region, short.Nation, short.Country, short.Lat, short.Lon,
		short.Salary.Min, short.Salary.Max, short.Salary.Currency, short.Salary.Period,
		string(r.Requirements), string(r.Benefits), string(r.Questions), string(r.Meta), string(short.Status), short.Open,
		short.ApplicationDeadline, short.PostedAt, short.ArchivedAt, short.DeletedAt, short.HiddenAt, short.UpdatedAt,
	}
}

// insertRows inserts the rows in several transactions. It ignores listings that are stored already, so
// that a load that has failed can be repeated.
func (d listingRepository) insertRows(ctx context.Context, rows iter.Seq[[]any]) (err error) {
	next, stop := iter.Pull(rows)
	defer stop()

	for hasMore := true; hasMore && err == nil; {
		hasMore, err = d.insertInTransaction(ctx, next)
	}

	return err
}

// maxTransactionRows is the maximum number of listings that one transaction inserts. The driver
// of SQLite fails when the write-ahead log of a transaction reaches 2 GB.
const maxTransactionRows = 20_000

// insertInTransaction inserts at most maxTransactionRows rows in one transaction, and reports whether
// there may be more. next returns the next row, or false after the last one.
func (d listingRepository) insertInTransaction(ctx context.Context, next func() ([]any, bool)) (hasMore bool, err error) {
	pool, err := d.writer.DB()
	if err != nil {
		return false, err
	}

	statement, err := d.loadStatement()
	if err != nil {
		return false, err
	}

	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}

	defer func() { _ = tx.Rollback() }()

	insert, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return false, err
	}

	defer func() { _ = insert.Close() }()

	hasMore = true
	for inserted := 0; hasMore && inserted < maxTransactionRows; inserted++ {
		var row []any

		row, hasMore = next()
		if hasMore {
			if _, err := insert.ExecContext(ctx, row...); err != nil {
				return false, err
			}
		}
	}

	if err := ctx.Err(); err != nil {
		return false, err
	}

	if err := d.newEpoch(ctx, tx); err != nil {
		return false, err
	}

	return hasMore, tx.Commit()
}

// loadStatement returns the statement that inserts one row, unless a listing with its id exists.
func (d listingRepository) loadStatement() (string, error) {
	ignore, err := d.ignoreClause("id")
	if err != nil {
		return "", err
	}

	columns := strings.Join(loadedColumns, ", ")
	parameters := "?" + strings.Repeat(", ?", len(loadedColumns)-1)

	return "INSERT INTO listings (" + columns + ") VALUES (" + parameters + ") " + ignore, nil
}

// ignoreClause returns the clause of an INSERT that ignores rows whose key exists. GORM builds it,
// because it differs between databases.
func (d listingRepository) ignoreClause(key ...string) (string, error) {
	statement := &gorm.Statement{DB: d.reader, Clauses: map[string]clause.Clause{}}
	if err := statement.Parse(&fullListingRow{}); err != nil {
		return "", err
	}

	statement.AddClause(ignoreOnConflict(key))
	statement.Build("ON CONFLICT")

	return statement.SQL.String(), nil
}
