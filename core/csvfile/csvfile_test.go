package csvfile

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPage_Table_ReadsBackUnchanged checks that a CSV reader returns the cells that were added, whatever
// commas, quotes and line ends they contain. It also checks that a page can be reused, and how numbers and timestamps
// are written.
func TestPage_Table_ReadsBackUnchanged(t *testing.T) {
	t.Parallel()

	rows := [][]string{
		{"id", "text"},
		{"1", "Zoë, \"the\" nurse"},
		{"2", "two\nlines"},
		{"", " space "},
		{"3", "-12.5"},
		{"4", "'=1"},
		{"\\.", "Æble"}, // a backslash and a point end the data for some databases
	}

	var page Page
	for _, row := range rows {
		page.Row(row)
	}

	require.Equal(t, len(rows), page.Rows())
	require.True(t, strings.HasPrefix(string(page.Bytes()), "id,text\r\n"), "cells without special characters are not quoted")
	require.Equal(t, rows, parsePage(t, &page))

	// Use the page again, for a row with a cell of each other type. The timestamp is written in UTC, without its
	// nanoseconds.
	page.Reset()
	require.Zero(t, page.Rows())

	oneHourAheadOfUTC := time.FixedZone("", 60*60)

	page.Int(-3)
	page.Float(31000.5)
	page.Time(time.Date(2026, 3, 1, 9, 30, 0, 999, oneHourAheadOfUTC))
	page.Text("")
	page.End()
	require.Equal(t, "-3,31000.5,2026-03-01T08:30:00Z,\r\n", string(page.Bytes()))
}

// parsePage returns the rows that a CSV reader finds in the page.
func parsePage(t *testing.T, page *Page) [][]string {
	t.Helper()

	rows, err := csv.NewReader(bytes.NewReader(page.Bytes())).ReadAll()
	require.NoError(t, err)

	return rows
}

// FuzzCells checks that every text is read back as one cell and is not a formula.
func FuzzCells(f *testing.F) {
	for _, cell := range []string{
		"nurse", "a,b", "a\"b", "\"", "a\r\nb", "a\x00=1", ",=1", " \"=1", "-1", "\t=1", "Zoë",
		"＝1", "", "\xff",
	} {
		f.Add(cell)
	}

	f.Fuzz(func(t *testing.T, cell string) {
		// A second cell shows where the first one ends.
		var page Page
		page.Row([]string{cell, "end"})

		// Line ends are CR LF in the file and line feeds in the reader; a carriage return alone is dropped.
		want := strings.ReplaceAll(strings.ReplaceAll(EscapeFormula(cell), "\r\n", "\n"), "\r", "")
		require.Equal(t, [][]string{{want, "end"}}, parsePage(t, &page))
	})
}

// TestEscapeFormula_Formula_GetsApostrophe checks the protection against CSV injection: a cell that a
// spreadsheet would execute, also after spaces or invisible characters and with full-width signs, gets
// an apostrophe. Negative numbers and texts that only contain such a character remain as they are.
func TestEscapeFormula_Formula_GetsApostrophe(t *testing.T) {
	t.Parallel()

	for _, cell := range []string{
		"=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "-",
		"-1.2.3", "|x", "%x", "\x00=1", " =1", "\u00a0\u200b=1", " \t=1", "＝1", "＠SUM(A1)", " -1",
	} {
		require.True(t, strings.HasPrefix(EscapeFormula(cell), "'"), "%q", cell)
	}

	for _, cell := range []string{"", "nurse", "1", "-1", "-0.5", "'quoted", " a=1", "a@b.org", "Zoë – née"} {
		require.Equal(t, cell, EscapeFormula(cell))
	}
}
