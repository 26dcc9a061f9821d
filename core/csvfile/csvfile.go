// Package csvfile writes tables as CSV (RFC 4180) without formulas that spreadsheets
// would execute.
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

// Page contains rows of a table as CSV text. It allocates memory only for the text.
type Page struct {
	text  []byte
	rows  int
	begun bool // whether the row has a cell
}

// Bytes returns the text. It is valid until the next call of Reset.
func (p *Page) Bytes() []byte { return p.text }

// Rows returns the number of complete rows.
func (p *Page) Rows() int { return p.rows }

// Reset deletes all rows.
func (p *Page) Reset() { *p = Page{text: p.text[:0]} }

// Row adds a row.
func (p *Page) Row(cells []string) {
	for _, cell := range cells {
		p.Text(cell)
	}
	p.End()
}

// End ends the row.
func (p *Page) End() {
	p.text = append(p.text, "\r\n"...)
	p.rows++
	p.begun = false
}

// Text adds a cell. It escapes formulas.
func (p *Page) Text(cell string) {
	p.begin()
	if !plain(cell) {
		p.quoted(EscapeFormula(cell))
		return
	}
	p.text = append(p.text, cell...)
}

// Int adds an integer.
func (p *Page) Int(n int) {
	p.begin()
	p.text = strconv.AppendInt(p.text, int64(n), 10)
}

// Float adds a number.
func (p *Page) Float(x float64) {
	p.begin()
	p.text = strconv.AppendFloat(p.text, x, 'f', -1, 64)
}

// Time adds a timestamp.
func (p *Page) Time(t time.Time) {
	p.begin()
	p.text = t.UTC().AppendFormat(p.text, time.RFC3339)
}

func (p *Page) begin() {
	if p.begun {
		p.text = append(p.text, ',')
	}
	p.begun = true
}

func (p *Page) quoted(cell string) {
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
		case '\r':
		default:
			p.text = append(p.text, c)
		}
	}
	p.text = append(p.text, '"')
}

// plain reports whether the cell, like most, needs neither escaping nor quotes.
func plain(cell string) bool {
	for i := range len(cell) {
		if c := cell[i]; c <= ',' && (c < ' ' || c == '"' || c == ',') {
			return false
		}
	}
	return cell == "" || isAlphanumeric(cell[0])
}

// triggers are the first characters of a formula, including the full-width forms of East
// Asian keyboards (OWASP ASVS 5.0, 1.2.10).
const triggers = "=+-@\t\r\n|%＝＋－＠"

// EscapeFormula returns the cell with an apostrophe before it if a spreadsheet would
// execute it as a formula, also after leading spaces, which some programs skip.
// Spreadsheets do not show the apostrophe. Negative numbers are unchanged.
func EscapeFormula(cell string) string {
	if cell == "" || isAlphanumeric(cell[0]) && strings.IndexByte(cell, 0) < 0 {
		return cell
	}
	cell = strings.ReplaceAll(cell, "\x00", "")
	visible := strings.TrimLeftFunc(cell, func(r rune) bool {
		return !strings.ContainsRune(triggers, r) && (unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
	})
	if first := strings.IndexAny(visible, triggers); first != 0 {
		return cell
	}
	if cell[0] == '-' && len(cell) > 1 && strings.Trim(cell[1:], "0123456789.") == "" && strings.Count(cell, ".") <= 1 {
		return cell
	}
	return "'" + cell
}

// isAlphanumeric reports whether c is an ASCII letter or digit, as most first characters are.
func isAlphanumeric(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}
