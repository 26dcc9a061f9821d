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

// CSVTable is a table that can be written as CSV. Each organization or user, the owner, has its own
// rows.
type CSVTable interface {
	// Columns returns the names of the columns.
	Columns() []string
	// AppendRows adds at most n rows to the page, the newest first. It begins after the cursor,
	// which is "" for the first page. It returns the cursor of the next page, or "" at the end
	// of the table.
	AppendRows(
		ctx context.Context,
		ownerID string,
		filters map[string]string,
		cursor string,
		n int,
		page *csvfile.Page,
	) (next string, err error)
}

// Table is a table of organizations that can be exported in the background. The filters select some of
// its rows, by name.
type Table interface {
	CSVTable
	// Check returns a fault about an invalid filter.
	Check(filters map[string]string) error
	// Count returns the number of the organization's rows that the filters select.
	Count(ctx context.Context, organizationID string, filters map[string]string) (int, error)
}

// Table returns the applications to an organization's listings as a table.
func (s *Service) Table() Table { return applicationTable{s} }

// applicationTable is the table of the applications to an organization's listings.
type applicationTable struct{ *Service }

// Columns returns the names of the columns, in the order in which AppendRows writes the cells.
func (applicationTable) Columns() []string {
	return []string{
		"id",
		"job_id",
		"job_title",
		"applicant_name",
		"applicant_email",
		"status",
		"applied_at",
		"updated_at",
		"interview_at",
		"interview_status",
		"interview_outcome",
	}
}

// Check returns a fault about the first invalid filter.
func (applicationTable) Check(filters map[string]string) error {
	_, err := applicationFilter(filters, inExport)
	return err
}

// inExport is the prefix of the names of filters in faults. The input of an export has the filters in
// its member "filters".
const inExport = "filters."

// applicationFilter parses filters by name, in the order of the names, and returns a fault about the
// first invalid one. The fault has the name of the filter with the prefix before it.
func applicationFilter(filters map[string]string, prefix string) (f ApplicationFilter, err error) {
	invalid := func(name, message string) error { return fault.InvalidField(prefix+name, message) }
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		value := filters[name]
		switch name {
		case "status":
			status := Status(value)
			if !slices.Contains(Statuses, status) {
				return f, ErrInvalidStatus
			}

			f.Statuses = []Status{status}
		case "jobId":
			listingID, isID := id.Canonical(value)
			if !isID {
				return f, invalid(name, "is not the id of a job")
			}

			f.ListingIDs = []string{listingID}
		case "startDate":
			f.AppliedFrom, _, err = parseTime(value)
			if err != nil {
				return f, invalid(name, err.Error())
			}
		case "endDate":
			var isDate bool

			f.AppliedUntil, isDate, err = parseTime(value)
			if err != nil {
				return f, invalid(name, err.Error())
			}

			// AppliedUntil is excluded. An end that is a date includes the whole day.
			if isDate {
				f.AppliedUntil = f.AppliedUntil.AddDate(0, 0, 1)
			}
		default:
			return f, invalid(truncate(name), "is not one of: status, jobId, startDate, endDate")
		}
	}

	return f, nil
}

// parseTime parses a date or a date-time. The time of a date is its midnight in UTC.
func parseTime(text string) (at time.Time, isDate bool, err error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, true, nil
	}

	at, err = time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, false, errors.New("must be a date (2026-11-20) or a date-time (2026-11-20T09:30:00Z)")
	}

	return at.UTC(), false, nil
}

// Count returns the number of applications that the filters select.
func (t applicationTable) Count(ctx context.Context, organizationID string, filters map[string]string) (int, error) {
	filter, err := applicationFilter(filters, inExport)
	if err != nil {
		return 0, err
	}

	counts, err := t.Applications.CountByStatus(ctx, Visibility{OrganizationID: organizationID}, filter)

	return Counts(counts).Total(), err
}

// AppendRows appends a row for each application on the page after the cursor, newest first.
func (t applicationTable) AppendRows(
	ctx context.Context,
	organizationID string,
	filters map[string]string,
	cursor string,
	n int,
	csvPage *csvfile.Page,
) (string, error) {
	filter, err := applicationFilter(filters, inExport)
	if err != nil {
		return "", err
	}

	applications, err := t.Applications.List(ctx, Visibility{OrganizationID: organizationID}, filter, page.After(cursor, n))
	if err != nil {
		return "", err
	}

	views, err := t.receivedViews(ctx, organizationID, applications.Items)
	if err != nil {
		return "", err
	}

	for _, v := range views {
		var interviewAt, interviewStatus, interviewOutcome string // empty without an interview
		if v.Interview != nil {
			interviewAt = formatTimestamp(v.Interview.ScheduledAt)
			interviewStatus = string(v.Interview.Status)
			interviewOutcome = string(v.Interview.Outcome)
		}

		csvPage.Row([]string{
			v.ID,
			v.ListingID,
			v.JobTitle,
			v.Applicant.Name,
			v.Applicant.Email,
			string(v.Status),
			formatTimestamp(v.AppliedAt),
			formatTimestamp(v.ChangedAt),
			interviewAt,
			interviewStatus,
			interviewOutcome,
		})
	}

	return applications.NextCursor, nil
}

// formatTimestamp formats a time in a CSV file.
func formatTimestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// maxExported is the maximum number of applications in one JSON response. CSV files
// have no limit.
const maxExported = page.MaxExact

// ExportOwn returns the caller's applications that are not withdrawn, newest first. It returns a fault
// if there are more than maxExported.
func (s *Service) ExportOwn(ctx context.Context, by auth.Actor) ([]View, error) {
	if err := by.RequireSeeker(); err != nil {
		return nil, err
	}

	var exported []View
	for cursor := ""; ; {
		views, nextCursor, err := s.listOwn(ctx, by.UserID, cursor, rowsPerPage)
		if err != nil {
			return nil, err
		}

		exported = append(exported, views...)
		if nextCursor == "" {
			return exported, nil
		}

		if len(exported) >= maxExported {
			return nil, fault.InvalidField("format", fmt.Sprintf("must be csv for more than %d applications", maxExported))
		}

		cursor = nextCursor
	}
}

// ExportOwnTable returns the caller's applications that are not withdrawn as a CSV file. The
// file is written while it is read.
func (s *Service) ExportOwnTable(ctx context.Context, by auth.Actor) (Download, error) {
	if err := by.RequireSeeker(); err != nil {
		return Download{}, err
	}

	var noFilters map[string]string

	return s.stream(ctx, "my-applications", ownTable{s}, by.UserID, noFilters)
}

// listOwn returns a page of the applicant's applications, and the cursor of the next page.
func (s *Service) listOwn(ctx context.Context, applicantID, cursor string, n int) (views []View, next string, err error) {
	applications, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After(cursor, n))
	if err != nil {
		return nil, "", err
	}

	views, err = s.withListings(ctx, applications.Items)

	return views, applications.NextCursor, err
}

// ownTable is the table of an applicant's applications.
type ownTable struct{ *Service }

// Columns returns the names of the columns, in the order in which AppendRows writes the cells.
func (ownTable) Columns() []string {
	return []string{"id", "listing_id", "job_title", "company", "status", "applied_at"}
}

// AppendRows appends a row for each application on the page after the cursor, newest first. The table
// has no filters.
func (t ownTable) AppendRows(
	ctx context.Context,
	applicantID string,
	_ map[string]string,
	cursor string,
	n int,
	csvPage *csvfile.Page,
) (string, error) {
	views, next, err := t.listOwn(ctx, applicantID, cursor, n)
	if err != nil {
		return "", err
	}

	for _, v := range views {
		csvPage.Row([]string{v.ID, v.ListingID, v.JobTitle, v.Company, string(v.ApplicantStatus()), formatTimestamp(v.AppliedAt)})
	}

	return next, nil
}

// tablePages writes a table as pages of CSV. A page has at most rowsPerPage rows.
type tablePages struct {
	table   CSVTable
	ownerID string // of the organization or user
	filters map[string]string
	cursor  string // of the next page, or "" before the first one
	rows    int    // written so far, without the names of the columns
}

// next writes the next page of the table into csvPage, and reports whether another page
// follows. The first page begins with the names of the columns.
func (t *tablePages) next(ctx context.Context, csvPage *csvfile.Page) (hasNext bool, err error) {
	csvPage.Reset()

	isFirst := t.cursor == ""
	if isFirst {
		csvPage.Row(t.table.Columns())
	}

	headerRows := csvPage.Rows() // the names of the columns do not count as a row
	cursor, err := t.table.AppendRows(ctx, t.ownerID, t.filters, t.cursor, rowsPerPage, csvPage)
	t.cursor = cursor
	t.rows += csvPage.Rows() - headerRows

	return cursor != "", err
}

// ExportNow returns a table of the caller's organization as a CSV file. The file is written
// while the caller reads it. ExportNow itself reads the first page of the table, so that it can
// return most errors. A later error ends the file early and is returned by the Read method of the
// body.
func (s *ExportService) ExportNow(ctx context.Context, by auth.Actor, kind string, in ExportFilters) (Download, error) {
	if err := by.Require(requiredPermission(kind)); err != nil {
		return Download{}, err
	}

	table, exists := s.Tables[kind]
	if !exists {
		return Download{}, ErrExportNotFound
	}

	filters := in.byName()
	if err := table.Check(filters); err != nil {
		return Download{}, err
	}

	download, err := s.stream(ctx, kind, table, by.OrganizationID, filters)
	if err != nil {
		return Download{}, err
	}

	const noObject = "" // ExportNow stores no export

	entry := audit.By(by, audit.ExportDownloaded, noObject).With(kind)
	if err := s.Audit.Record(ctx, entry); err != nil {
		return Download{}, errors.Join(err, download.Body.Close())
	}

	return download, nil
}

// maxStreams is the maximum number of files that one owner (an organization or user) can read
// concurrently from a process. Each open file has two pages in memory, for as long as a slow client
// reads it.
const maxStreams = 5

// streams counts the open files by the id of their owner.
type streams struct {
	mu          sync.Mutex
	openByOwner map[string]int
}

// acquire counts another open file of the owner. It returns false, and counts nothing, if the owner
// has maxStreams open files.
func (c *streams) acquire(owner string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.openByOwner == nil {
		c.openByOwner = map[string]int{}
	}

	if c.openByOwner[owner] >= maxStreams {
		return false
	}

	c.openByOwner[owner]++

	return true
}

// release removes one open file of the owner from the count.
func (c *streams) release(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.openByOwner[owner]--
	if c.openByOwner[owner] <= 0 {
		delete(c.openByOwner, owner)
	}
}

// stream returns a table of the owner as a CSV file that is written while it is read. It returns
// ErrTooManyExports if the owner has maxStreams open files. The kind is a part of the file's name.
func (s *ExportService) stream(
	ctx context.Context,
	kind string,
	table CSVTable,
	owner string,
	filters map[string]string,
) (d Download, err error) {
	if !s.streams.acquire(owner) {
		return Download{}, ErrTooManyExports
	}

	defer func() {
		if err != nil {
			s.streams.release(owner)
		}
	}()

	// Read the first page. A replica of the database may provide it, but only one that has
	// everything that the caller has written before.
	const maxStaleness = 0
	ctx = tx.AllowStale(ctx, maxStaleness)

	first := new(csvfile.Page)
	pages := &tablePages{table: table, ownerID: owner, filters: filters}

	hasNext, err := pages.next(ctx, first)
	if err != nil {
		return Download{}, err
	}

	// Prepare the other pages in the background, until the file is closed. The client may read the
	// file for longer than the timeout of the request.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))

	file := &tableFile{
		pages:  make(chan tablePage),
		unread: first.Bytes(),
		onClose: sync.OnceFunc(func() {
			cancel()
			s.streams.release(owner)
		}),
	}
	go file.prepare(ctx, pages, first, hasNext)

	return Download{Name: exportName(kind, s.Clock.Now()), Size: unknownSize, Body: file}, nil
}

// pageTimeout is the timeout for reading a page from the storage.
const pageTimeout = 15 * time.Second

// tableFile is a file that is written while it is read: a goroutine prepares the next page
// while the client reads the current one.
type tableFile struct {
	pages   chan tablePage
	unread  []byte // the rest of the current page
	onClose func() // may be called more than once
}

// tablePage is the next part of a file, or the error that ends it.
type tablePage struct {
	text []byte
	err  error // io.EOF after the last page
}

// prepare sends the pages after the first one to f.pages, until the end of the table or until ctx is
// cancelled. The page current is the first page, which the reader has already.
//
// Two buffers alternate. The reader receives the page in next only when it has finished the page in
// current. Then the buffer of current is free for the page after next.
func (f *tableFile) prepare(ctx context.Context, pages *tablePages, current *csvfile.Page, hasNext bool) {
	defer close(f.pages)

	// After a panic, the reader gets an error, and the process continues.
	defer func() {
		if reason := recover(); reason != nil {
			select {
			case f.pages <- tablePage{err: fmt.Errorf("panic: %v", reason)}:
			case <-ctx.Done():
			}
		}
	}()

	next := new(csvfile.Page)
	for {
		part := tablePage{err: io.EOF}
		if hasNext {
			pageCtx, cancel := context.WithTimeout(ctx, pageTimeout)
			hasNext, part.err = pages.next(pageCtx, next)

			cancel()

			part.text = next.Bytes()
		}

		select {
		case f.pages <- part:
		case <-ctx.Done():
			return
		}

		if part.err != nil {
			return
		}

		next, current = current, next
	}
}

// Read reads from the current page. At its end, it waits for the next page.
func (f *tableFile) Read(b []byte) (int, error) {
	for len(f.unread) == 0 {
		part, isOpen := <-f.pages
		if !isOpen {
			return 0, io.EOF
		}

		if part.err != nil {
			return 0, part.err
		}

		f.unread = part.text
	}

	n := copy(b, f.unread)
	f.unread = f.unread[n:]

	return n, nil
}

// Close ends the preparation of pages. A second call does nothing.
func (f *tableFile) Close() error {
	f.onClose()
	return nil
}
