// Package csvfile writes tables as CSV (RFC 4180) that spreadsheets open
// without running what is in them.
package csvfile

import (
	"encoding/csv"
	"io"
	"strings"
	"unicode"
)

// MediaType is what a transport calls such a file.
const MediaType = "text/csv; charset=utf-8"

// Writer writes rows as they come.
type Writer struct {
	csv  *csv.Writer
	safe []string
}

// New writes the header row and returns a writer for those below it.
func New(w io.Writer, columns []string) (*Writer, error) {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return &Writer{csv: c}, c.Write(columns)
}

// Row writes one row. The cells are buffered until Flush.
func (w *Writer) Row(cells []string) error {
	w.safe = w.safe[:0]
	for _, cell := range cells {
		w.safe = append(w.safe, Defused(cell))
	}
	return w.csv.Write(w.safe)
}

// Flush writes what is buffered.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// triggers begin what a spreadsheet runs, also in the wide forms of East Asian
// keyboards (OWASP ASVS 5.0, 1.2.10).
const triggers = "=+-@\t\r\n|%＝＋－＠"

// Defused is a cell that no spreadsheet takes for a formula: one that would be,
// if need be behind spaces that some programs skip, gets an apostrophe before
// it, which programs hide. A plain negative number stays as it is.
func Defused(cell string) string {
	if cell == "" || harmless(cell[0]) && strings.IndexByte(cell, 0) < 0 {
		return cell
	}
	cell = strings.ReplaceAll(cell, "\x00", "")
	inked := strings.TrimLeftFunc(cell, func(r rune) bool {
		return !strings.ContainsRune(triggers, r) && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
	})
	if first := strings.IndexAny(inked, triggers); first != 0 {
		return cell
	}
	if cell[0] == '-' && len(cell) > 1 && strings.Trim(cell[1:], "0123456789.") == "" && strings.Count(cell, ".") <= 1 {
		return cell
	}
	return "'" + cell
}

// harmless is how nearly every cell begins.
func harmless(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
