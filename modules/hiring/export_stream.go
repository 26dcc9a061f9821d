package hiring

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
)

// tableWriter writes a table as CSV, page after page.
type tableWriter struct {
	table          Table
	organizationID string
	filters        map[string]string
	cursor         string
	rows           int // so far
	out            *csvfile.Writer
}

func newTableWriter(w io.Writer, t Table, organizationID string, filters map[string]string) (*tableWriter, error) {
	out, err := csvfile.New(w, t.Columns())
	return &tableWriter{table: t, organizationID: organizationID, filters: filters, out: out}, err
}

// next writes one page and reports whether there is another.
func (t *tableWriter) next(ctx context.Context) (bool, error) {
	rows, cursor, err := t.table.Rows(ctx, t.organizationID, t.filters, t.cursor, exportRows)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if err := t.out.Row(row); err != nil {
			return false, err
		}
	}
	t.cursor, t.rows = cursor, t.rows+len(rows)
	return cursor != "", t.out.Flush()
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
	return s.stream(ctx, kind, table, by.OrganizationID, in.given())
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
	var first bytes.Buffer
	w, err := newTableWriter(&first, table, owner, filters)
	if err != nil {
		return Download{}, err
	}
	more, err := w.next(ctx)
	if err != nil {
		return Download{}, err
	}
	// The file is read after the request's own time.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &tableFile{pages: make(chan tablePage), end: sync.OnceFunc(func() { cancel(); s.streams.end(owner) })}
	f.page.Write(first.Bytes())
	go f.fill(ctx, w, &first, more)
	return Download{Name: exportName(kind, s.Clock.Now()), Size: -1, Body: f}, nil
}

// pageWithin is how long the store may take for a page of a file that somebody
// is waiting for.
const pageWithin = 15 * time.Second

// tableFile is a table as somebody reads it. While one page is read the next is
// made; there is no third.
type tableFile struct {
	pages chan tablePage
	page  bytes.Buffer
	end   func()
}

type tablePage struct {
	text []byte
	err  error // io.EOF after the last
}

// fill makes pages until there are no more or nobody wants them.
func (f *tableFile) fill(ctx context.Context, w *tableWriter, out *bytes.Buffer, more bool) {
	defer close(f.pages)
	defer func() {
		if p := recover(); p != nil { // it must not end the process: the reader hears of it
			select {
			case f.pages <- tablePage{err: fmt.Errorf("panic: %v", p)}:
			case <-ctx.Done():
			}
		}
	}()
	for {
		p := tablePage{err: io.EOF}
		if more {
			out.Reset()
			within, done := context.WithTimeout(ctx, pageWithin)
			more, p.err = w.next(within)
			done()
			p.text = bytes.Clone(out.Bytes())
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
	for f.page.Len() == 0 {
		p, open := <-f.pages
		if !open {
			return 0, io.EOF
		}
		if p.err != nil {
			return 0, p.err
		}
		f.page.Write(p.text)
	}
	return f.page.Read(b)
}

// Close implements io.Closer.
func (f *tableFile) Close() error {
	f.end()
	return nil
}
