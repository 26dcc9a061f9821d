package hiring

import (
	"bytes"
	"context"
	"io"
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
	f := &tableFile{}
	var err error
	if f.w, err = newTableWriter(&f.buf, table, by.OrganizationID, in.given()); err != nil {
		return Download{}, err
	}
	if f.more, err = f.w.next(ctx); err != nil {
		return Download{}, err
	}
	// The file is read after the request's own time.
	f.ctx, f.end = context.WithCancel(context.WithoutCancel(ctx))
	return Download{Name: exportName(kind, s.Clock.Now()), Size: -1, Body: f}, nil
}

// pageWithin is how long the store may take for a page of a file that somebody
// is waiting for.
const pageWithin = 15 * time.Second

// tableFile is a table as somebody reads it: one page is in memory at a time.
type tableFile struct {
	ctx  context.Context //nolint:containedctx // a reader has no other place for it
	end  context.CancelFunc
	w    *tableWriter
	buf  bytes.Buffer
	more bool
}

// Read implements io.Reader.
func (f *tableFile) Read(p []byte) (int, error) {
	for f.buf.Len() == 0 {
		if !f.more {
			return 0, io.EOF
		}
		ctx, done := context.WithTimeout(f.ctx, pageWithin)
		more, err := f.w.next(ctx)
		done()
		if err != nil {
			return 0, err
		}
		f.more = more
	}
	return f.buf.Read(p)
}

// Close implements io.Closer.
func (f *tableFile) Close() error {
	f.end()
	return nil
}
