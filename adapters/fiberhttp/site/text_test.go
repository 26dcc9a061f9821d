package site

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// maxDescription is the maximum length of the description of a job in bytes.
const maxDescription = 20_000

// repeat repeats a text up to maxDescription.
func repeat(text string) string { return strings.Repeat(text, maxDescription/len(text)) }

// TestMarkdown_ExpensiveText_IsPlain checks that texts for which the parser needs quadratic time
// are shown without formatting. An employer could otherwise make each view of a job slow. HTML
// in such texts is escaped as in all others.
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
		// One column more than maxListIndent, the deepest indentation of a list that is parsed.
		"indentation": strings.Repeat("- - - - - - - - a\n", 2) + strings.Repeat(" ", maxListIndent+1) + "- a",
		// A tab counts as 4 columns.
		"indented tabs": "a\n" + strings.Repeat("\t", maxListIndent/4+1) + "- a",
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
// breaks. The text is not parsed because it has 9 list markers in one line, of which 8 are allowed.
func TestMarkdown_ExpensiveLines_KeepBreaks(t *testing.T) {
	t.Parallel()

	markers := strings.Repeat("1. ", 9)
	html := string(markdown(markers + "a\r\n*b*\n"))
	require.Equal(t, "<p>"+markers+"a<br>\n*b*</p>\n", html)
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

// TestMarkdown_BlankLines_AreOne checks that several blank lines have the same effect as one. markdown removes the
// others before it parses the text, because each blank line in a list costs time.
func TestMarkdown_BlankLines_AreOne(t *testing.T) {
	t.Parallel()

	withOne := markdown("- a\n\nb\n\n- c")
	withSeveral := markdown("- a\n \n\t\n\nb\n\n\n- c")
	require.Equal(t, withOne, withSeveral)
}

// TestMarkdown_LimitedTexts_TakeLinearTime compares the time for texts at or above the limits of the parser with the
// time for an ordinary description of the same length, about a millisecond. A text that takes quadratic time needs far
// more than maxFactor times as long. The test is not parallel, because it measures time.
func TestMarkdown_LimitedTexts_TakeLinearTime(t *testing.T) {
	const maxFactor = 50

	// bestTime returns the shortest of three times, which depends least on other load of the machine.
	bestTime := func(text string) time.Duration {
		best := time.Hour
		for range 3 {
			startedAt := time.Now()

			markdown(text)

			best = min(best, time.Since(startedAt))
		}

		return best
	}

	ordinary := bestTime(repeat("- **Pay:** band 5, *with* supplements\n"))
	for name, text := range map[string]string{
		"emphasis":  repeat(strings.Repeat("*a_b_", 150) + "\n\n"),
		"excess":    repeat("*a_b_"),
		"bullets":   repeat("+ "),
		"blank":     "- - - - - - - - a\n                - - - - - - - - a\n" + repeat("\n"),
		"lists":     repeat("+ + + + + + + + a\n"),
		"deep list": repeat("- - - - - - - - a\n                - - - - - - - - a\n"),
	} {
		require.Less(t, bestTime(text), maxFactor*ordinary, name)
	}
}

// TestDaysLeft_CountsCalendarDays checks that the days until a deadline are counted by dates, not in 24 hours.
func TestDaysLeft_CountsCalendarDays(t *testing.T) {
	t.Parallel()

	evening := time.Date(2026, 11, 24, 22, 0, 0, 0, time.UTC)
	for deadline, want := range map[string]string{
		"2026-11-24T23:59:59Z": "Closes today",
		"2026-11-25T09:00:00Z": "Closes tomorrow",
		"2026-11-25T23:59:59Z": "Closes tomorrow",
		"2026-11-26T00:00:00Z": "Closes in 2 days",
	} {
		deadlineAt, err := time.Parse(time.RFC3339, deadline)
		require.NoError(t, err)
		require.Equal(t, want, daysLeft(deadlineAt, evening), deadline)
	}
}
