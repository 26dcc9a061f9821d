package hiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/tx"
)

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
