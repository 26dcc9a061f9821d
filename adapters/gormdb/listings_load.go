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

// Load implements listings.Loader.
func (d listingRepository) Load(ctx context.Context, all iter.Seq[listings.Listing], done func(int)) error {
	// rows yields the values of each listing, and reports the progress.
	rows := func(yield func([]any) bool) {
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

	var err error
	if inserter, ok := d.dialect.(BulkInserter); ok {
		newEpoch := func(tx *sql.Tx) error { return d.newEpoch(ctx, tx) }
		err = inserter.BulkInsert(ctx, d.pool, "listings", loadedColumns, rows, newEpoch)
	} else {
		err = d.loadInserts(ctx, rows)
	}

	return wrap(markUnavailable(d.dialect, err))
}

// deleteBatchSize is the number of listings that one transaction deletes.
const deleteBatchSize = 1_000

// DeleteByOrganizations implements listings.Loader.
func (d listingRepository) DeleteByOrganizations(ctx context.Context, organizationIDs []string) (removed int, err error) {
	for _, organizationID := range organizationIDs {
		for isLastBatch := false; !isLastBatch; {
			n, err := d.deleteBatch(ctx, organizationID)
			if err != nil {
				return removed, err
			}

			removed += n
			isLastBatch = n < deleteBatchSize
		}
	}

	return removed, nil
}

// deleteBatch deletes at most deleteBatchSize listings of the organization with everything that refers
// to them, and returns their number.
func (d listingRepository) deleteBatch(ctx context.Context, organizationID string) (n int, err error) {
	err = d.Do(ctx, func(ctx context.Context) error {
		var ids []string

		err := d.conn(ctx).Table("listings").
			Where("organization_id = ?", organizationID).
			Limit(deleteBatchSize).
			Pluck("id", &ids).Error
		if err != nil {
			return wrap(err)
		}

		n = len(ids)
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

	return n, err
}

// loadedColumns are the columns that Load writes.
var loadedColumns = append([]string{"id", "organization_id", "created_at"}, savedColumns...)

// values returns the values of loadedColumns.
func (r fullListingRow) values() []any {
	s := &r.Short

	return []any{
		s.ID, s.OrganizationID, s.CreatedAt,
		s.Version, s.Title, r.Description, s.Company, s.Department, s.ContractType, s.EmploymentType, s.Specialty, s.Remote,
		s.Location, string(s.PlaceKind), s.City, s.Region, s.Nation, s.Country, s.Lat, s.Lon,
		s.Salary.Min, s.Salary.Max, s.Salary.Currency, s.Salary.Period,
		string(r.Requirements), string(r.Benefits), string(r.Questions), string(r.Meta), string(s.Status), s.Open,
		s.ApplicationDeadline, s.PostedAt, s.ArchivedAt, s.DeletedAt, s.HiddenAt, s.UpdatedAt,
	}
}

// loadInserts inserts the rows in several transactions. It ignores listings that are stored
// already.
func (d listingRepository) loadInserts(ctx context.Context, rows iter.Seq[[]any]) (err error) {
	next, stop := iter.Pull(rows)
	defer stop()

	for more := true; more && err == nil; {
		more, err = d.loadTransaction(ctx, next)
	}

	return err
}

// maxTransactionRows is the maximum number of listings that one transaction inserts. The driver
// of SQLite fails when the write-ahead log of a transaction reaches 2 GB.
const maxTransactionRows = 20_000

// loadTransaction inserts at most maxTransactionRows and reports whether there may be more.
func (d listingRepository) loadTransaction(ctx context.Context, next func() ([]any, bool)) (more bool, err error) {
	pool, err := d.writer.DB()
	if err != nil {
		return false, err
	}

	ignore, err := d.ignoreClause("id")
	if err != nil {
		return false, err
	}

	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}

	defer func() { _ = tx.Rollback() }()

	columns := strings.Join(loadedColumns, ", ")
	values := "?" + strings.Repeat(", ?", len(loadedColumns)-1)
	statement := "INSERT INTO listings (" + columns + ") VALUES (" + values + ") " + ignore //nolint:gosec // of constants

	insert, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return false, err
	}

	defer func() { _ = insert.Close() }()

	more = true
	for n := 0; more && n < maxTransactionRows; n++ {
		var row []any

		row, more = next()
		if more {
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

	return more, tx.Commit()
}

// ignoreClause returns the clause of an INSERT that ignores rows whose key exists.
func (d listingRepository) ignoreClause(key ...string) (string, error) {
	s := &gorm.Statement{DB: d.reader, Clauses: map[string]clause.Clause{}}
	if err := s.Parse(&fullListingRow{}); err != nil {
		return "", err
	}

	s.AddClause(ignoreOnConflict(key))
	s.Build("ON CONFLICT")

	return s.SQL.String(), nil
}
