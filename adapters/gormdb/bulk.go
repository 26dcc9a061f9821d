package gormdb

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"strings"
	"sync"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/modules/listings"
)

// loadBatch is how many listings are written at a time.
const loadBatch = 500

// Load implements listings.Loader. Rows are converted while others are written.
func (d listingRepository) Load(ctx context.Context, all iter.Seq[listings.Listing], done func(int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []fullListingRow, 4)
	var conversion sync.WaitGroup
	conversion.Go(func() {
		defer close(batches)
		batch := make([]fullListingRow, 0, loadBatch)
		send := func() bool {
			select {
			case batches <- batch:
				batch = make([]fullListingRow, 0, loadBatch)
				return true
			case <-ctx.Done():
				return false
			}
		}
		for l := range all {
			if batch = append(batch, newListingRow(l)); len(batch) == loadBatch && !send() {
				return
			}
		}
		if len(batch) > 0 {
			send()
		}
	})
	write := d.loadInserts
	if inserter, ok := d.dialect.(BulkInserter); ok {
		write = func(ctx context.Context, batches <-chan []fullListingRow, done func(int)) error {
			return inserter.BulkInsert(ctx, d.sql, "listings", loadedColumns, valuesOf(batches, done), func(tx *sql.Tx) error { return d.newEpoch(ctx, tx) })
		}
	}
	err := write(ctx, batches, done)
	cancel()
	conversion.Wait()
	return wrap(markUnavailable(d.dialect, err))
}

// valuesOf returns the values of the rows, and calls done after each batch.
func valuesOf(batches <-chan []fullListingRow, done func(int)) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for batch := range batches {
			for i := range batch {
				if !yield(batch[i].values()) {
					return
				}
			}
			done(len(batch))
		}
	}
}

// removeBatch is how many listings one transaction deletes.
const removeBatch = 1_000

// DeleteByOrganizations implements listings.Loader.
func (d listingRepository) DeleteByOrganizations(ctx context.Context, organizationIDs []string) (removed int, err error) {
	for _, organizationID := range organizationIDs {
		for n := removeBatch; n == removeBatch; removed += n {
			err := d.Do(ctx, func(ctx context.Context) error {
				var ids []string
				if err := d.q(ctx).Table("listings").Where("organization_id = ?", organizationID).Limit(removeBatch).Pluck("id", &ids).Error; err != nil {
					return wrap(err)
				}
				n = len(ids)
				if err := d.recordListings(ctx, ids); err != nil {
					return err
				}
				return wrap(cmp.Or(
					d.unprepared(ctx).Exec("DELETE FROM listing_views WHERE ?", d.dialect.In("listing_id", ids)).Error,
					d.unprepared(ctx).Exec("DELETE FROM listings WHERE ?", d.dialect.In("id", ids)).Error))
			})
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// loadedColumns are the columns that Load writes.
var loadedColumns = append([]string{"id", "organization_id", "created_at"}, savedColumns...)

func (r fullListingRow) values() []any {
	s := &r.Short
	return []any{
		s.ID, s.OrganizationID, s.CreatedAt,
		s.Version, s.Title, r.Description, s.Company, s.Department, s.ContractType, s.EmploymentType, s.Specialty, s.Remote,
		s.Location, s.PlaceKind, s.City, s.Region, s.Nation, s.Country, s.Lat, s.Lon,
		s.SalaryMin, s.SalaryMax, s.SalaryCurrency, s.SalaryPeriod,
		string(r.Requirements), string(r.Benefits), string(r.Questions), string(r.Meta), s.Status, s.Open,
		s.ApplicationDeadline, s.PostedAt, s.ArchivedAt, s.DeletedAt, s.HiddenAt, s.UpdatedAt,
	}
}

// loadInserts inserts in several transactions. A listing that an earlier load has
// stored is ignored.
func (d listingRepository) loadInserts(ctx context.Context, batches <-chan []fullListingRow, done func(int)) error {
	for {
		n, err := d.loadTransaction(ctx, batches, done)
		if err != nil || n < transactionBatches {
			return cmp.Or(err, ctx.Err())
		}
	}
}

// transactionBatches is how many batches one transaction inserts. The driver of SQLite
// fails when the write-ahead log of a transaction reaches 2 GB.
const transactionBatches = 40

// loadTransaction inserts at most transactionBatches and returns their number.
func (d listingRepository) loadTransaction(ctx context.Context, batches <-chan []fullListingRow, done func(int)) (n int, err error) {
	pool, err := d.writer.DB()
	if err != nil {
		return 0, err
	}
	ignore, err := d.ignoring("id")
	if err != nil {
		return 0, err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO listings ("+strings.Join(loadedColumns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(loadedColumns)-1)+") "+ignore) //nolint:gosec // of constants
	if err != nil {
		return 0, err
	}
	defer func() { _ = insert.Close() }()
	for batch := range batches {
		for i := range batch {
			if _, err := insert.ExecContext(ctx, batch[i].values()...); err != nil {
				return n, err
			}
		}
		done(len(batch))
		if n++; n == transactionBatches {
			break
		}
	}
	if err := cmp.Or(ctx.Err(), d.newEpoch(ctx, tx)); err != nil {
		return n, err
	}
	return n, tx.Commit()
}

// ignoring returns the end of an INSERT that ignores rows whose key exists.
func (d listingRepository) ignoring(key ...string) (string, error) {
	s := &gorm.Statement{DB: d.gorm, Clauses: map[string]clause.Clause{}}
	if err := s.Parse(&fullListingRow{}); err != nil {
		return "", err
	}
	s.AddClause(onConflict(key))
	s.Build("ON CONFLICT")
	return s.SQL.String(), nil
}
