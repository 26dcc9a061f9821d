package hiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
)

// Rows are the rows of an organization or user that can be exported.
type Rows interface {
	Columns() []string
	// Rows adds at most n rows after the cursor ("" for the first) to the page,
	// newest first, and returns the next cursor, which is "" at the end.
	Rows(ctx context.Context, ownerID string, filters map[string]string, cursor string, n int, page *csvfile.Page) (next string, err error)
}

// Table is a table of an organization that can be exported in the background.
type Table interface {
	Rows
	// Check validates the filters.
	Check(filters map[string]string) error
	Count(ctx context.Context, organizationID string, filters map[string]string) (int, error)
}

// Table returns the applications to an organization's listings as a table.
func (s *Service) Table() Table { return applicationTable{s} }

// applicationTable is the table of the applications to an organization's listings.
type applicationTable struct{ *Service }

// Columns implements Table.
func (applicationTable) Columns() []string {
	return []string{"id", "job_id", "job_title", "applicant_name", "applicant_email", "status", "applied_at", "updated_at", "interview_at", "interview_status", "interview_outcome"}
}

// Check implements Table.
func (applicationTable) Check(filters map[string]string) error {
	_, err := applicationFilter(filters, "filters.")
	return err
}

// applicationFilter decodes filters. prefix precedes their names in faults.
func applicationFilter(filters map[string]string, prefix string) (f ApplicationFilter, err error) {
	invalid := func(name, message string) error { return fault.InvalidField(prefix+name, message) }
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		value := filters[name]
		switch name {
		case "status":
			if f.Statuses = []Status{Status(value)}; !slices.Contains(Statuses, f.Statuses[0]) {
				return f, ErrInvalidStatus
			}
		case "jobId":
			listingID, ok := id.Canonical(value)
			if !ok {
				return f, invalid(name, "is not the id of a job")
			}
			f.ListingIDs = []string{listingID}
		case "startDate":
			if f.AppliedFrom, err = parseTime(value, 0); err != nil {
				return f, invalid(name, err.Error())
			}
		case "endDate":
			if f.AppliedUntil, err = parseTime(value, 24*time.Hour); err != nil {
				return f, invalid(name, err.Error())
			}
		default:
			return f, invalid(clip(name), "is not one of: status, jobId, startDate, endDate")
		}
	}
	return f, nil
}

// parseTime parses a date-time, or a date, to which it adds more.
func parseTime(s string, more time.Duration) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day.Add(more), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return at, errors.New("must be a date (2026-11-20) or a date-time (2026-11-20T09:30:00Z)")
	}
	return at.UTC(), nil
}

// Count implements Table.
func (t applicationTable) Count(ctx context.Context, organizationID string, filters map[string]string) (int, error) {
	f, err := applicationFilter(filters, "filters.")
	if err != nil {
		return 0, err
	}
	counts, err := t.Applications.CountByStatus(ctx, Visibility{OrganizationID: organizationID}, f)
	return Counts(counts).Total(), err
}

// Rows implements Table.
func (t applicationTable) Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int, out *csvfile.Page) (string, error) {
	f, err := applicationFilter(filters, "filters.")
	if err != nil {
		return "", err
	}
	found, err := t.Applications.List(ctx, Visibility{OrganizationID: organizationID}, f, page.After(cursor, n))
	if err != nil {
		return "", err
	}
	views, err := t.receivedViews(ctx, organizationID, found.Items)
	if err != nil {
		return "", err
	}
	for _, v := range views {
		row := []string{v.ID, v.ListingID, v.JobTitle, v.Applicant.Name, v.Applicant.Email, string(v.Status), stamp(v.AppliedAt), stamp(v.ChangedAt), "", "", ""}
		if v.Interview != nil {
			copy(row[8:], []string{stamp(v.Interview.ScheduledAt), string(v.Interview.Status), string(v.Interview.Outcome)})
		}
		out.Row(row)
	}
	return found.NextCursor, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// mostExported is the maximum number of applications in one JSON response. CSV files
// have no limit.
const mostExported = page.MaxExact

// ExportOwn returns the caller's applications that are not withdrawn, newest first.
func (s *Service) ExportOwn(ctx context.Context, by auth.Actor) ([]View, error) {
	if err := by.RequireSeeker(); err != nil {
		return nil, err
	}
	var all []View
	for cursor := ""; ; {
		found, next, err := s.own(ctx, by.UserID, cursor, exportRows)
		if err != nil {
			return nil, err
		}
		if all = append(all, found...); next == "" {
			return all, nil
		}
		if len(all) >= mostExported {
			return nil, fault.InvalidField("format", fmt.Sprintf("must be csv for more than %d applications", mostExported))
		}
		cursor = next
	}
}

// ExportOwnTable returns the same as a file that is written while it is read.
func (s *Service) ExportOwnTable(ctx context.Context, by auth.Actor) (Download, error) {
	if err := by.RequireSeeker(); err != nil {
		return Download{}, err
	}
	return s.stream(ctx, "my-applications", ownTable{s}, by.UserID, nil)
}

// own returns a page of the applicant's applications.
func (s *Service) own(ctx context.Context, applicantID, cursor string, n int) ([]View, string, error) {
	found, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After(cursor, n))
	if err != nil {
		return nil, "", err
	}
	views, err := s.titled(ctx, found.Items)
	return views, found.NextCursor, err
}

// ownTable is the table of an applicant's applications.
type ownTable struct{ *Service }

// Columns implements Rows.
func (ownTable) Columns() []string {
	return []string{"id", "listing_id", "job_title", "company", "status", "applied_at"}
}

// Rows implements Rows.
func (t ownTable) Rows(ctx context.Context, applicantID string, _ map[string]string, cursor string, n int, out *csvfile.Page) (string, error) {
	found, next, err := t.own(ctx, applicantID, cursor, n)
	for _, a := range found {
		out.Row([]string{a.ID, a.ListingID, a.JobTitle, a.Company, string(a.Shown()), stamp(a.AppliedAt)})
	}
	return next, err
}

// tablePages writes a table as pages of CSV.
type tablePages struct {
	table          Rows
	organizationID string
	filters        map[string]string
	cursor         string
	rows           int // so far
}

// next replaces the content of page by the next one and reports whether there is
// another. The first page begins with the names of the columns.
func (t *tablePages) next(ctx context.Context, page *csvfile.Page) (bool, error) {
	page.Reset()
	if t.cursor == "" {
		page.Row(t.table.Columns())
	}
	header := page.Rows()
	cursor, err := t.table.Rows(ctx, t.organizationID, t.filters, t.cursor, exportRows, page)
	t.cursor, t.rows = cursor, t.rows+page.Rows()-header
	return cursor != "", err
}

// ExportNow returns a table of the caller's organization as a file that is written while
// it is read. The first page is read before ExportNow returns, so that most errors are
// returned by it. A later error ends the file early and is returned by Read.
func (s *ExportService) ExportNow(ctx context.Context, by auth.Actor, kind string, in ExportFilters) (Download, error) {
	if err := by.Require(requiredPermission(kind)); err != nil {
		return Download{}, err
	}
	table, ok := s.Tables[kind]
	if !ok {
		return Download{}, ErrExportNotFound
	}
	if err := table.Check(in.filters()); err != nil {
		return Download{}, err
	}
	d, err := s.stream(ctx, kind, table, by.OrganizationID, in.filters())
	if err != nil {
		return Download{}, err
	}
	if err := s.Audit.Record(ctx, audit.By(by, audit.ExportDownloaded, "").With(kind)); err != nil {
		return Download{}, errors.Join(err, d.Body.Close())
	}
	return d, nil
}

// streamsAtOnce is the maximum number of open files of one owner in a process, because a
// slow reader keeps a few pages of each in memory.
const streamsAtOnce = 5

// streams counts the open files by owner.
type streams struct {
	mu sync.Mutex
	of map[string]int
}

func (c *streams) begin(owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	if c.of[owner] >= streamsAtOnce {
		return false
	}
	c.of[owner]++
	return true
}

func (c *streams) end(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[owner]--; c.of[owner] <= 0 {
		delete(c.of, owner)
	}
}

// stream returns the owner's table as a file.
func (s *ExportService) stream(ctx context.Context, kind string, table Rows, owner string, filters map[string]string) (d Download, err error) {
	if !s.streams.begin(owner) {
		return Download{}, ErrExportsUnderWay
	}
	defer func() {
		if err != nil {
			s.streams.end(owner)
		}
	}()
	// It contains what the caller has written before.
	ctx = tx.AllowStale(ctx, 0)
	first := new(csvfile.Page)
	pages := &tablePages{table: table, organizationID: owner, filters: filters}
	more, err := pages.next(ctx, first)
	if err != nil {
		return Download{}, err
	}
	// The file is read after the timeout of the request.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &tableFile{pages: make(chan tablePage), rest: first.Bytes(), end: sync.OnceFunc(func() { cancel(); s.streams.end(owner) })}
	go f.fill(ctx, pages, first, more)
	return Download{Name: exportName(kind, s.Clock.Now()), Size: -1, Body: f}, nil
}

// pageWithin is the timeout for reading a page from the storage.
const pageWithin = 15 * time.Second

// tableFile reads a table. While the client reads one page, the next is prepared; there
// are never more than two.
type tableFile struct {
	pages chan tablePage
	rest  []byte // of the page that is read
	end   func()
}

type tablePage struct {
	text []byte
	err  error // io.EOF after the last
}

// fill prepares pages until the end of the table or until ctx is cancelled. A reader that
// receives a page has finished the previous one, so two buffers alternate.
func (f *tableFile) fill(ctx context.Context, pages *tablePages, read *csvfile.Page, more bool) {
	defer close(f.pages)
	defer func() {
		if p := recover(); p != nil { // it must not end the process; the reader gets an error
			select {
			case f.pages <- tablePage{err: fmt.Errorf("panic: %v", p)}:
			case <-ctx.Done():
			}
		}
	}()
	for page := new(csvfile.Page); ; page, read = read, page {
		p := tablePage{err: io.EOF}
		if more {
			within, done := context.WithTimeout(ctx, pageWithin)
			more, p.err = pages.next(within, page)
			done()
			p.text = page.Bytes()
		}
		select {
		case f.pages <- p:
		case <-ctx.Done():
			return
		}
		if p.err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (f *tableFile) Read(b []byte) (int, error) {
	for len(f.rest) == 0 {
		p, open := <-f.pages
		if !open {
			return 0, io.EOF
		}
		if p.err != nil {
			return 0, p.err
		}
		f.rest = p.text
	}
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *tableFile) Close() error {
	f.end()
	return nil
}
