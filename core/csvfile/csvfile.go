// Package csvfile writes tables as CSV (RFC 4180) that spreadsheets open
// without running what is in them.
package csvfile

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MediaType is what a transport calls such a file.
const MediaType = "text/csv; charset=utf-8"

// Page is some rows of a table as the text of a file. Nothing is made for a
// cell but its text: long tables are as quick as what reads them.
type Page struct {
	text  []byte
	rows  int
	begun bool // the row has a cell
}

// Bytes is the text, good until the next call of Reset.
func (p *Page) Bytes() []byte { return p.text }

// Rows is how many rows were ended.
func (p *Page) Rows() int { return p.rows }

// Reset forgets all rows.
func (p *Page) Reset() { *p = Page{text: p.text[:0]} }

// Row adds a whole row.
func (p *Page) Row(cells []string) {
	for _, cell := range cells {
		p.Text(cell)
	}
	p.End()
}

// End ends a row.
func (p *Page) End() {
	p.text = append(p.text, "\r\n"...)
	p.rows++
	p.begun = false
}

// Text adds a cell, defused.
func (p *Page) Text(cell string) {
	p.begin()
	if !plain(cell) {
		p.quoted(Defused(cell))
		return
	}
	p.text = append(p.text, cell...)
}

// Int adds a cell that is a whole number.
func (p *Page) Int(n int) {
	p.begin()
	p.text = strconv.AppendInt(p.text, int64(n), 10)
}

// Float adds a cell that is a number.
func (p *Page) Float(x float64) {
	p.begin()
	p.text = strconv.AppendFloat(p.text, x, 'f', -1, 64)
}

// Time adds a cell that is a moment.
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
		case '\n': // as every line of the file ends
			p.text = append(p.text, "\r\n"...)
		case '\r':
		default:
			p.text = append(p.text, c)
		}
	}
	p.text = append(p.text, '"')
}

// plain is true of nearly every cell, which is neither defused nor quoted.
func plain(cell string) bool {
	if cell == "" {
		return true
	}
	for i := range len(cell) {
		if c := cell[i]; c <= ',' && (c < ' ' || c == '"' || c == ',') {
			return false
		}
	}
	return harmless(cell[0])
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
