package csvfile

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATableIsReadBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w, err := New(&out, []string{"id", "text"})
	require.NoError(t, err)
	rows := [][]string{{"1", "Zoë, \"the\" nurse"}, {"2", "two\nlines"}, {"", " space "}, {"3", "-12.5"}}
	for _, row := range rows {
		require.NoError(t, w.Row(row))
	}
	require.NoError(t, w.Flush())
	require.True(t, strings.HasPrefix(out.String(), "id,text\r\n"))
	got, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	require.Equal(t, append([][]string{{"id", "text"}}, rows...), got)
}

func TestNoCellIsAFormula(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "-", "-1.2.3", "|x", "%x", "\x00=1", " =1", "\u00a0\u200b=1", " \t=1", "＝1", "＠SUM(A1)", " -1"} {
		require.True(t, strings.HasPrefix(Defused(cell), "'"), "%q", cell)
	}
	for _, cell := range []string{"", "nurse", "1", "-1", "-0.5", "'quoted", " a=1", "a@b.org", "Zoë – née"} {
		require.Equal(t, cell, Defused(cell))
	}
}
