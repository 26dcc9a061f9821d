package gormdb

import (
	"bufio"
	"context"
	"database/sql"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/locumhq/locum/modules/listings"
)

// loadBatch is how many listings are written at a time.
const loadBatch = 500

// Load implements listings.Loader. Rows are converted while others are written.
func (d Listings) Load(ctx context.Context, all iter.Seq[listings.Listing], done func(int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []fullListingRow, 4)
	var failed error
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
			row, err := newListingRow(&l)
			if err != nil {
				failed = err
				return
			}
			if batch = append(batch, row); len(batch) == loadBatch && !send() {
				return
			}
		}
		if len(batch) > 0 {
			send()
		}
	})
	write := d.loadSQLite
	if d.pg() {
		write = d.loadPostgres
	}
	err := write(ctx, batches, done)
	cancel()
	conversion.Wait()
	return wrap(markUnavailable(d.dialect, firstError(failed, err)))
}

// removeBatch is how many listings one transaction deletes.
const removeBatch = 1_000

// DeleteByOrganizations implements listings.Loader.
func (d Listings) DeleteByOrganizations(ctx context.Context, organizationIDs []string) (removed int, err error) {
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
				return wrap(firstError(
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

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// loadedColumns are the columns that Load writes.
var loadedColumns = append([]string{"id", "organization_id", "created_at"}, savedColumns...)

// insertListing inserts a listing unless an earlier load has stored it.
var insertListing = "INSERT INTO listings (" + strings.Join(loadedColumns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(loadedColumns)-1) + ") ON CONFLICT (id) DO NOTHING" //nolint:gosec // of constants

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

// loadPostgres uses COPY.
func (d Listings) loadPostgres(ctx context.Context, batches <-chan []fullListingRow, done func(int)) error {
	conn, err := d.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	// A load has no time limit.
	if _, err := tx.ExecContext(ctx, "SELECT set_config('statement_timeout', '0', true), set_config('synchronous_commit', 'off', true)"); err != nil {
		return err
	}
	if err := copyRows(ctx, conn, batches, done); err != nil {
		return err
	}
	if err := newEpoch(ctx, tx, d.newID()); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "ANALYZE listings")
	return err
}

// copyRows streams the batches in the text form of COPY.
func copyRows(ctx context.Context, conn *sql.Conn, batches <-chan []fullListingRow, done func(int)) error {
	pr, pw := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(pw, 1<<20)
		var b []byte
		for batch := range batches {
			for i := range batch {
				b = b[:0]
				for n, v := range batch[i].values() {
					if n > 0 {
						b = append(b, '\t')
					}
					b = copyValue(b, v)
				}
				if _, err := w.Write(append(b, '\n')); err != nil {
					return // the reader has failed and returns its error
				}
			}
			done(len(batch))
		}
		_ = pw.CloseWithError(w.Flush())
	}()
	return conn.Raw(func(driverConn any) error {
		pg := driverConn.(*stdlib.Conn).Conn().PgConn()
		_, err := pg.CopyFrom(ctx, pr, "COPY listings ("+strings.Join(loadedColumns, ", ")+") FROM STDIN")
		_ = pr.CloseWithError(err)
		return err
	})
}

var copyEscapes = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

func copyValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(b, copyEscapes.Replace(v)...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case time.Time:
		return v.AppendFormat(b, time.RFC3339Nano)
	case *int64:
		if v != nil {
			return strconv.AppendInt(b, *v, 10)
		}
	case *float64:
		if v != nil {
			return strconv.AppendFloat(b, *v, 'g', -1, 64)
		}
	case *time.Time:
		if v != nil {
			return v.AppendFormat(b, time.RFC3339Nano)
		}
	}
	return append(b, '\\', 'N')
}

// loadSQLite inserts in several transactions.
func (d Listings) loadSQLite(ctx context.Context, batches <-chan []fullListingRow, done func(int)) error {
	for {
		n, err := d.loadTransaction(ctx, batches, done)
		if err != nil || n < transactionBatches {
			return firstError(err, ctx.Err())
		}
	}
}

// transactionBatches is how many batches one transaction of SQLite inserts. The
// driver fails when the write-ahead log of a transaction reaches 2 GB.
const transactionBatches = 40

// loadTransaction inserts at most transactionBatches and returns their number.
func (d Listings) loadTransaction(ctx context.Context, batches <-chan []fullListingRow, done func(int)) (n int, err error) {
	pool, err := d.writer.DB()
	if err != nil {
		return 0, err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	insert, err := tx.PrepareContext(ctx, insertListing)
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
	if err := firstError(ctx.Err(), newEpoch(ctx, tx, d.newID())); err != nil {
		return n, err
	}
	return n, tx.Commit()
}
