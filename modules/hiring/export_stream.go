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
)

// tablePages makes a table as CSV, page after page.
type tablePages struct {
	table          Table
	organizationID string
	filters        map[string]string
	cursor         string
	rows           int // so far
}

// next makes what is in the page the next one and reports whether there is
// another. The columns' names are above the first.
func (t *tablePages) next(ctx context.Context, page *csvfile.Page) (bool, error) {
	page.Reset()
	if t.cursor == "" {
		page.Row(t.table.Columns())
	}
	above := page.Rows()
	cursor, err := t.table.Rows(ctx, t.organizationID, t.filters, t.cursor, exportRows, page)
	t.cursor, t.rows = cursor, t.rows+page.Rows()-above
	return cursor != "", err
}

// ExportNow is a table of the caller's organization as a file that is written
// while it is read. Its first page is read before the answer, so that what is
// wrong is known by then. Later a fault ends the file in the middle, with the
// error.
func (s *Service) ExportNow(ctx context.Context, by auth.Actor, kind string, in ExportFilters) (Download, error) {
	if err := mayExport(by, kind); err != nil {
		return Download{}, err
	}
	table, known := s.table(kind)
	if !known {
		return Download{}, ErrExportNotFound
	}
	if err := table.Check(in.given()); err != nil {
		return Download{}, err
	}
	d, err := s.stream(ctx, kind, table, by.OrganizationID, in.given())
	if err != nil {
		return Download{}, err
	}
	if err := s.Audit.Record(ctx, audit.By(by, audit.ExportDownloaded, "").With(kind)); err != nil {
		return Download{}, errors.Join(err, d.Body.Close())
	}
	return d, nil
}

// streamsAtOnce is how many files of one owner may be under way in a process:
// whoever reads slowly holds a few pages of each in memory.
const streamsAtOnce = 5

// streams counts the files that are under way, by owner.
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

// stream is the owner's table as a file.
func (s *Service) stream(ctx context.Context, kind string, table Table, owner string, filters map[string]string) (d Download, err error) {
	if !s.streams.begin(owner) {
		return Download{}, ErrExportsUnderWay
	}
	defer func() {
		if err != nil {
			s.streams.end(owner)
		}
	}()
	first := new(csvfile.Page)
	pages := &tablePages{table: table, organizationID: owner, filters: filters}
	more, err := pages.next(ctx, first)
	if err != nil {
		return Download{}, err
	}
	// The file is read after the request's own time.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &tableFile{pages: make(chan tablePage), rest: first.Bytes(), end: sync.OnceFunc(func() { cancel(); s.streams.end(owner) })}
	go f.fill(ctx, pages, first, more)
	return Download{Name: exportName(kind, s.Clock.Now()), Size: -1, Body: f}, nil
}

// pageWithin is how long the store may take for a page of a file that somebody
// is waiting for.
const pageWithin = 15 * time.Second

// tableFile is a table as somebody reads it. While one page is read the next is
// made; there is no third.
type tableFile struct {
	pages chan tablePage
	rest  []byte // of the page that is read
	end   func()
}

type tablePage struct {
	text []byte
	err  error // io.EOF after the last
}

// fill makes pages until there are no more or nobody wants them. Whoever takes
// one has read the one before it, so two take turns.
func (f *tableFile) fill(ctx context.Context, pages *tablePages, read *csvfile.Page, more bool) {
	defer close(f.pages)
	defer func() {
		if p := recover(); p != nil { // it must not end the process: the reader hears of it
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
