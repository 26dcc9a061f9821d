package site

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// repeat repeats a text up to 20,000 bytes, the maximum of a description.
func repeat(text string) string { return strings.Repeat(text, 20_000/len(text)) }

// TestMarkdown_ExpensiveText_IsPlain checks that texts for which the parser needs quadratic time
// are shown without formatting: an employer could otherwise make each view of a job slow. HTML
// in them is escaped all the same.
func TestMarkdown_ExpensiveText_IsPlain(t *testing.T) {
	t.Parallel()

	for name, text := range map[string]string{
		"emphasis":         repeat("*a_b_"),
		"lines":            repeat("*a_b_\n"),
		"empty items":      repeat("*a_b_\n- \n"),
		"items at margins": repeat("*a_b_\n       - a\n"),
		"bullets":          repeat("+ "),
		"tabs":             repeat("+\t"),
		"numbers":          repeat("1. "),
		"mixed":            repeat("1) - "),
		// A column more than maxListIndent.
		"indentation":   strings.Repeat("- - - - - - - - a\n", 2) + strings.Repeat(" ", 17) + "- a",
		"indented tabs": "a\n" + strings.Repeat("\t", 5) + "- a", // a tab counts as 4 columns: 20 of 16
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			html := string(markdown(text + "\n\n<b> & **two**"))
			require.NotRegexp(t, "<(em|strong|ul|ol|li)>", html)
			require.Contains(t, html, "</p>\n<p>&lt;b&gt; &amp; **two**</p>")
		})
	}
}

// TestMarkdown_ExpensiveLines_KeepBreaks checks that a text that is not parsed keeps its line
// breaks. Its 9 list markers are one too many to parse.
func TestMarkdown_ExpensiveLines_KeepBreaks(t *testing.T) {
	t.Parallel()
	require.Equal(t, "<p>1. 1. 1. 1. 1. 1. 1. 1. 1. a<br>\n*b*</p>\n", string(markdown("1. 1. 1. 1. 1. 1. 1. 1. 1. a\r\n*b*\n")))
}

// TestMarkdown_OrdinaryText_IsFormatted checks that long and nested texts as employers write
// them are parsed, and that thematic breaks of many dashes or stars do not count as lists.
func TestMarkdown_OrdinaryText_IsFormatted(t *testing.T) {
	t.Parallel()

	for name, text := range map[string]string{
		"emphasis":       "We *care*. **Apply** now.",
		"many bullets":   repeat("- **Pay:** band 5, *with* supplements\n"),
		"paragraphs":     repeat("A *ward* for **older** people.\n\n"),
		"nested":         "*a*\n- a\n  - b\n    - c\n      1. d\n",
		"dashes":         "*a*\n\n- - - - - - - - - - - - -\n\n* * * * * * * * * * * *\n",
		"lines of stars": "*a*\n\n" + repeat("****************************************\n"),
		"blank lines":    "*a*" + repeat("\n") + "- a" + repeat(" \n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Regexp(t, "<(em|strong)>", string(markdown(text)))
		})
	}
}

// TestMarkdown_BlankLines_AreOne checks that several blank lines have the same effect as one.
// They are removed before the text is parsed, because each costs time in an open list.
func TestMarkdown_BlankLines_AreOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, markdown("- a\n\nb\n\n- c"), markdown("- a\n \n\t\n\nb\n\n\n- c"))
}

// TestMarkdown_LimitedTexts_TakeLinearTime compares texts at or above the limits with the
// ordinary text of a job of the same length, which is rendered in about a millisecond. The test
// is not parallel, because it measures time; the best of three runs counts.
func TestMarkdown_LimitedTexts_TakeLinearTime(t *testing.T) {
	render := func(text string) time.Duration {
		best := time.Hour
		for range 3 {
			startedAt := time.Now()

			markdown(text)

			best = min(best, time.Since(startedAt))
		}

		return best
	}

	ordinary := render(repeat("- **Pay:** band 5, *with* supplements\n"))
	for name, text := range map[string]string{
		"emphasis":  repeat(strings.Repeat("*a_b_", 150) + "\n\n"),
		"excess":    repeat("*a_b_"),
		"bullets":   repeat("+ "),
		"blank":     "- - - - - - - - a\n                - - - - - - - - a\n" + repeat("\n"),
		"lists":     repeat("+ + + + + + + + a\n"),
		"deep list": repeat("- - - - - - - - a\n                - - - - - - - - a\n"),
	} {
		require.Less(t, render(text), 50*ordinary, name)
	}
}

func TestDaysLeft_CountsCalendarDays(t *testing.T) {
	t.Parallel()

	evening := time.Date(2026, 11, 24, 22, 0, 0, 0, time.UTC)
	for deadline, want := range map[string]string{
		"2026-11-24T23:59:59Z": "Closes today",
		"2026-11-25T09:00:00Z": "Closes tomorrow",
		"2026-11-25T23:59:59Z": "Closes tomorrow",
		"2026-11-26T00:00:00Z": "Closes in 2 days",
	} {
		at, err := time.Parse(time.RFC3339, deadline)
		require.NoError(t, err)
		require.Equal(t, want, daysLeft(at, evening), deadline)
	}
}
