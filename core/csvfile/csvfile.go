// Package csvfile writes tables as CSV (RFC 4180). It escapes texts that spreadsheets would
// execute as formulas.
package csvfile

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MediaType is the media type of CSV files.
const MediaType = "text/csv; charset=utf-8"

// Page contains rows of a table as CSV text. A caller adds the cells of a row with Text,
// Int, Float and Time, and then calls End. A Page can be reused after Reset, which keeps
// its memory.
type Page struct {
	text    []byte
	rows    int
	hasCell bool // whether the current row has a cell
}

// Bytes returns the text. The slice is valid until the next call of Reset.
func (p *Page) Bytes() []byte { return p.text }

// Rows returns the number of complete rows.
func (p *Page) Rows() int { return p.rows }

// Reset deletes all rows.
func (p *Page) Reset() { *p = Page{text: p.text[:0]} }

// Row adds a row of texts.
func (p *Page) Row(cells []string) {
	for _, cell := range cells {
		p.Text(cell)
	}

	p.End()
}

// End ends the current row.
func (p *Page) End() {
	p.text = append(p.text, "\r\n"...)
	p.rows++
	p.hasCell = false
}

// Text adds a text and escapes it if it is a formula.
func (p *Page) Text(cell string) {
	p.beginCell()

	if !isPlain(cell) {
		p.appendQuoted(EscapeFormula(cell))
		return
	}

	p.text = append(p.text, cell...)
}

// Int adds an integer.
func (p *Page) Int(n int) {
	p.beginCell()

	p.text = strconv.AppendInt(p.text, int64(n), 10)
}

// Float adds a number.
func (p *Page) Float(x float64) {
	p.beginCell()

	p.text = strconv.AppendFloat(p.text, x, 'f', -1, 64)
}

// Time adds a timestamp.
func (p *Page) Time(t time.Time) {
	p.beginCell()

	p.text = t.UTC().AppendFormat(p.text, time.RFC3339)
}

// beginCell appends the comma between two cells of a row.
func (p *Page) beginCell() {
	if p.hasCell {
		p.text = append(p.text, ',')
	}

	p.hasCell = true
}

// appendQuoted appends a text, in quotation marks if the text needs them.
func (p *Page) appendQuoted(cell string) {
	first, _ := utf8.DecodeRuneInString(cell)
	if !strings.ContainsAny(cell, ",\"\r\n") && !unicode.IsSpace(first) {
		p.text = append(p.text, cell...)
		return
	}

	p.text = append(p.text, '"')
	for i := range len(cell) {
		switch c := cell[i]; c {
		case '"':
			p.text = append(p.text, `""`...)
		case '\n': // every line of the file ends with CR LF
			p.text = append(p.text, "\r\n"...)
		case '\r': // omitted: the line feed after it adds one, and alone it is no line end of CSV
		default:
			p.text = append(p.text, c)
		}
	}

	p.text = append(p.text, '"')
}

// isPlain reports whether the cell needs neither escaping nor quotes. It is a fast check that is true for
// most cells. It may be false for other cells that need neither.
func isPlain(cell string) bool {
	for i := range len(cell) {
		// The comma is the greatest of the characters to find. For letters and digits, which are
		// greater, only one comparison is made.
		if c := cell[i]; c <= ',' && (c < ' ' || c == '"' || c == ',') {
			return false
		}
	}

	return cell == "" || isAlphanumeric(cell[0]) // no formula begins with a letter or digit
}

// triggers are the characters with which a formula can begin, including the full-width
// forms of East Asian keyboards (OWASP ASVS 5.0, 1.2.10).
const triggers = "=+-@\t\r\n|%＝＋－＠"

// EscapeFormula returns the cell, with an apostrophe before it if a spreadsheet would
// execute the cell as a formula. Spreadsheets do not show the apostrophe. Leading spaces do
// not prevent the escaping, because some programs skip them. Negative numbers are returned
// unchanged.
func EscapeFormula(cell string) string {
	if cell == "" || isAlphanumeric(cell[0]) && strings.IndexByte(cell, 0) < 0 {
		return cell
	}

	cell = strings.ReplaceAll(cell, "\x00", "") // which some programs skip

	// Spreadsheets may skip spaces and invisible characters before a formula.
	isSkipped := func(r rune) bool {
		isTrigger := strings.ContainsRune(triggers, r) // such as a tab, which is a space, too
		return !isTrigger && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
	}
	visible := strings.TrimLeftFunc(cell, isSkipped)

	canBeginFormula := strings.IndexAny(visible, triggers) == 0
	if !canBeginFormula || isNegativeNumber(cell) {
		return cell
	}

	return "'" + cell
}

// isNegativeNumber reports whether the cell is a minus sign with digits and at most one point.
func isNegativeNumber(cell string) bool {
	digits, hasMinus := strings.CutPrefix(cell, "-")
	return hasMinus && digits != "" && strings.Trim(digits, "0123456789.") == "" && strings.Count(digits, ".") <= 1
}

// isAlphanumeric reports whether c is an ASCII letter or digit.
func isAlphanumeric(c byte) bool {
	lower := c | 0x20 // the bit in which the cases of ASCII letters differ
	return 'a' <= lower && lower <= 'z' || '0' <= c && c <= '9'
}
