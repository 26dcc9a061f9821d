package gormdb

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
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

// Load implements listings.Loader. Analysis and writing go on side by side.
func (d Listings) Load(ctx context.Context, all iter.Seq[listings.Listing], done func(int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan []writtenListingRow, 4)
	words := map[string]struct{}{}
	var failed error
	var analysis sync.WaitGroup
	analysis.Go(func() {
		defer close(batches)
		batch := make([]writtenListingRow, 0, loadBatch)
		send := func() bool {
			select {
			case batches <- batch:
				batch = make([]writtenListingRow, 0, loadBatch)
				return true
			case <-ctx.Done():
				return false
			}
		}
		for l := range all {
			doc := documentOf(&l)
			for w := range doc.words {
				words[w] = struct{}{}
			}
			row, err := d.dialect.listingRow(&l, doc)
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
	analysis.Wait()
	if err != nil || failed != nil {
		return wrap(firstError(failed, err))
	}
	return d.Do(context.WithoutCancel(ctx), func(ctx context.Context) error { return d.words.add(ctx, words) })
}

// removeBatch is how many listings one transaction deletes.
const removeBatch = 1_000

// Remove implements listings.Loader.
func (d Listings) Remove(ctx context.Context, organizationIDs []string) (removed int, err error) {
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
					d.unprepared(ctx).Exec("DELETE FROM listing_views WHERE ?", d.dialect.columnAmong("listing_id", ids)).Error,
					d.unprepared(ctx).Exec("DELETE FROM listings WHERE ?", d.dialect.among(ids)).Error))
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

// loadedColumns is every column but the ones that a dialect fills by itself.
var loadedColumns = append([]string{"id", "organization_id", "created_at"}, savedColumns...)

// insertListing has a place for each of the values.
var insertListing = "INSERT INTO listings (" + strings.Join(loadedColumns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(loadedColumns)-1) + ")" //nolint:gosec // of constants

func (r writtenListingRow) values() []any {
	f, s := &r.Full, &r.Full.Short
	return []any{
		s.ID, s.OrganizationID, s.CreatedAt,
		s.Version, s.Title, f.Description, s.Company, s.Department, s.ContractType, s.EmploymentType, s.Specialty, r.SpecialtyKey, s.Remote,
		s.Location, s.PlaceKind, s.City, s.Region, s.Nation, s.Country, s.Lat, s.Lon,
		s.SalaryMin, s.SalaryMax, s.SalaryCurrency, s.SalaryPeriod, r.SalaryYearMin, r.SalaryYearMax,
		string(f.Requirements), string(f.Benefits), string(f.Questions), string(f.Meta), s.Status, s.Open,
		s.ApplicationDeadline, s.PostedAt, r.PostedWeek, s.ArchivedAt, s.DeletedAt, s.HiddenAt, s.UpdatedAt, r.SearchTitle, r.SearchBody,
	}
}

// loadPostgres copies. The text indexes of a table that was empty are built
// afterwards, which takes a third of the time.
func (d Listings) loadPostgres(ctx context.Context, batches <-chan []writtenListingRow, done func(int)) error {
	conn, err := d.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	exec := func(statements ...string) error {
		for _, s := range statements {
			if _, err := conn.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
	// The statements of a load take as long as they take.
	if err := exec("SET statement_timeout = 0", "SET synchronous_commit = off", "SET maintenance_work_mem = '256MB'", "SET max_parallel_maintenance_workers = 1"); err != nil {
		return err
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "RESET statement_timeout; RESET synchronous_commit; RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")
	}()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var empty bool
	if err := tx.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM listings)").Scan(&empty); err != nil {
		return err
	}
	var rebuild []string
	if empty {
		if rebuild, err = dropTextIndexes(ctx, tx); err != nil {
			return err
		}
	}
	if err := copyRows(ctx, conn, batches, done); err != nil {
		return err
	}
	for _, statement := range rebuild {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if err := newEpoch(ctx, tx, d.newID()); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return exec("ANALYZE listings")
}

// dropTextIndexes takes the GIN indexes away and returns how to make them.
func dropTextIndexes(ctx context.Context, tx *sql.Tx) (rebuild []string, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'listings' AND indexdef LIKE '% USING gin %'")
	if err != nil {
		return nil, err
	}
	var names []string
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return nil, err
		}
		names, rebuild = append(names, name), append(rebuild, definition)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for _, n := range names {
		if _, err := tx.ExecContext(ctx, "DROP INDEX "+n); err != nil {
			return nil, err
		}
	}
	return rebuild, nil
}

// copyRows streams the batches in the text form of COPY.
func copyRows(ctx context.Context, conn *sql.Conn, batches <-chan []writtenListingRow, done func(int)) error {
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
					return // the reader has given up and says why
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

// loadSQLite inserts without the triggers and makes the text index afterwards,
// in the order of posting, which is the order of its rows.
func (d Listings) loadSQLite(ctx context.Context, batches <-chan []writtenListingRow, done func(int)) error {
	pool, err := d.writer.DB()
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var triggers []string
	rows, err := tx.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'listings'")
	if err != nil {
		return err
	}
	var drop []string
	for rows.Next() {
		var name, definition string
		if err := rows.Scan(&name, &definition); err != nil {
			return err
		}
		triggers, drop = append(triggers, definition), append(drop, "DROP TRIGGER "+name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	exec := func(statements ...string) error {
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := exec(drop...); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, insertListing)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	for batch := range batches {
		for i := range batch {
			if _, err := insert.ExecContext(ctx, batch[i].values()...); err != nil {
				return err
			}
		}
		done(len(batch))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := exec(
		"UPDATE listings SET seq = NULL",
		"UPDATE listings SET seq = o.n FROM (SELECT id, row_number() OVER (ORDER BY posted_at, id) AS n FROM listings WHERE posted_at IS NOT NULL) o WHERE o.id = listings.id",
		"DELETE FROM listings_fts",
		"INSERT INTO listings_fts (rowid, title, body) SELECT seq, search_title, search_body FROM listings WHERE open ORDER BY seq",
	); err != nil {
		return err
	}
	if err := exec(triggers...); err != nil {
		return err
	}
	if err := newEpoch(ctx, tx, d.newID()); err != nil {
		return err
	}
	return tx.Commit()
}
