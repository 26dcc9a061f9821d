package site

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/locumhq/locum/modules/listings"
)

// result is a job in a list of search results.
type result struct {
	listings.Listing
	Path     string
	Pay      string
	Pattern  string
	Distance string
	Reasons  []string
}

// results returns either the relaxed hits, which match only a part of the search, or the
// exact hits.
func (s *Site) results(hits []listings.Hit, relaxed bool) []result {
	var selected []result
	for _, h := range hits {
		if h.Relaxed != relaxed {
			continue
		}

		r := result{Listing: h.Listing, Path: jobPath(h.Listing), Pay: formatPay(h.Listing.Salary), Pattern: formatPattern(h.Listing)}
		if h.Miles != nil {
			r.Distance = formatDistance(*h.Miles)
		}

		if relaxed {
			r.Reasons = relaxedReasons(h.Matched)
		}

		selected = append(selected, r)
	}

	return selected
}

// relaxedTexts describe how a relaxed result satisfies a part of the search.
var relaxedTexts = map[string]string{
	"related": "a related %s",
	"nearby":  "a %s further away",
	"missing": "another %s, or none stated",
	"text":    "the %s only in the text",
}

// relaxedReasons explains why a job is a result although it does not match exactly. A slot is the kind of a term of
// the search, such as its role.
func relaxedReasons(matched []listings.Matched) []string {
	var reasons []string
	for _, m := range matched {
		if text := relaxedTexts[string(m.How)]; text != "" {
			slotLabel := strings.ToLower(cmp.Or(slotLabels[m.Slot], m.Slot))
			reasons = append(reasons, fmt.Sprintf(text, slotLabel))
		}
	}

	return reasons
}

// jobPath returns the path of the public page of a job.
func jobPath(l listings.Listing) string {
	if name := slugify(l.Title); name != "" {
		return "/jobs/" + l.ID + "/" + name
	}

	return "/jobs/" + l.ID
}

// formatDistance returns a text such as "3.2 miles away".
func formatDistance(miles float64) string {
	if miles < 1 {
		return "less than a mile away"
	}

	return strconv.FormatFloat(math.Round(miles*10)/10, 'f', -1, 64) + " miles away"
}

var currencySymbols = map[string]string{"GBP": "£", "EUR": "€", "USD": "$"}

// formatPay returns a text such as "£17.50 to £21.30 an hour", empty if the pay is not known.
func formatPay(s *listings.Salary) string {
	if s == nil || s.Min == nil && s.Max == nil {
		return ""
	}

	per := " a " + s.Period
	if s.Period == "hour" {
		per = " an hour"
	}

	switch {
	case s.Min == nil:
		return "Up to " + formatAmount(*s.Max, s.Currency) + per
	case s.Max == nil || *s.Min == *s.Max:
		return formatAmount(*s.Min, s.Currency) + per
	}

	return formatAmount(*s.Min, s.Currency) + " to " + formatAmount(*s.Max, s.Currency) + per
}

// formatAmount formats an amount in minor units, such as £36,000 for 3600000. Pence are shown
// unless they are zero.
func formatAmount(minor int64, currency string) string {
	digits := strconv.FormatInt(minor/100, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}

	if pence := minor % 100; pence != 0 {
		digits += fmt.Sprintf(".%02d", pence)
	}

	if symbol := currencySymbols[currency]; symbol != "" {
		return symbol + digits
	}

	return currency + " " + digits
}

// valueTexts maps contract and employment types to their texts.
var valueTexts = map[string]string{
	"permanent": "Permanent",
	"temporary": "Temporary",
	"contract":  "Fixed-term contract",
	"full-time": "Full time",
	"part-time": "Part time",
	"bank":      "Bank",
	"per-diem":  "Per diem",
	"flexible":  "Flexible",
}

// formatPattern returns the working pattern in words, with the contract.
func formatPattern(l listings.Listing) string {
	var texts []string
	for _, v := range []string{l.EmploymentType, l.ContractType} {
		if v != "" {
			texts = append(texts, cmp.Or(valueTexts[v], v))
		}
	}

	return strings.Join(texts, ", ")
}

// jobFacts returns the properties of a job that are known.
func jobFacts(listing listings.Listing) []fact {
	location := listing.Location
	switch {
	case listing.Remote && location != "":
		location += " or remote"
	case listing.Remote:
		location = "Remote"
	}

	facts := []fact{
		{"Location", location},
		{"Pay", formatPay(listing.Salary)},
		{"Contract", valueTexts[listing.ContractType]},
		{"Working pattern", valueTexts[listing.EmploymentType]},
		{"Specialty", listing.Specialty},
		{"Department", listing.Department},
	}
	if listing.PostedAt != nil {
		facts = append(facts, fact{"Posted", formatDate(*listing.PostedAt)})
	}

	if listing.Deadline != nil {
		facts = append(facts, fact{"Closing date", formatDate(*listing.Deadline)})
	}

	var out []fact
	for _, f := range facts {
		if f.Text != "" {
			out = append(out, f)
		}
	}

	return out
}

func formatDate(t time.Time) string { return t.UTC().Format("2 January 2006") }

// daysLeft describes the days until the deadline, by the calendar in UTC.
func daysLeft(deadline, now time.Time) string {
	const day = 24 * time.Hour
	switch days := int(deadline.UTC().Truncate(day).Sub(now.UTC().Truncate(day)) / day); days {
	case 0:
		return "Closes today"
	case 1:
		return "Closes tomorrow"
	default:
		return fmt.Sprintf("Closes in %d days", days)
	}
}

// descriptionParser parses the descriptions of jobs, which are written in a subset of
// Markdown: paragraphs, headings, lists and emphasis. Links, images, code and HTML are not
// parsed, so that employers cannot add them to pages.
var descriptionParser = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(util.Prioritized(parser.NewEmphasisParser(), 500)),
)), goldmark.WithRendererOptions(html.WithHardWraps()))

// markdown renders the description of a job as HTML. Its headings are below the h2 "About
// the job". If parsing the text would take long, or fails, it returns plain paragraphs.
func markdown(text string) template.HTML {
	text = blankLines.ReplaceAllLiteralString(normalizeBullets.Replace(text), "\n\n")
	if isExpensive(text) {
		return plainParagraphs(text)
	}

	var b bytes.Buffer
	if err := descriptionParser.Convert([]byte(text), &b); err != nil {
		return plainParagraphs(text)
	}

	return template.HTML(lowerHeadings.Replace(b.String())) //nolint:gosec // the parser escapes HTML in the text
}

// blankLines matches several blank lines, each of which costs the parser a step for every
// open list. One has the same effect.
var blankLines = regexp.MustCompile(`\n(?:[ \t]*\n){2,}`)

// plainParagraphs renders a text as paragraphs without formatting.
func plainParagraphs(text string) template.HTML {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		if paragraph != "" {
			b.WriteString("<p>" + strings.ReplaceAll(template.HTMLEscapeString(paragraph), "\n", "<br>\n") + "</p>\n")
		}
	}

	return template.HTML(b.String()) //nolint:gosec // escaped
}

// The limits of the texts that markdown parses. The parser takes quadratic time for the
// markers of emphasis in a paragraph and for nested lists. At these limits, 20,000 characters
// take at most 10 ms.
const (
	maxEmphasis    = 500 // runs of * or _ in a paragraph
	maxListMarkers = 8   // at the start of a line, each of which opens a list in the previous one
	maxListIndent  = 16  // columns before a list marker
)

// listLine matches the indentation of a line and the list markers after it.
var listLine = regexp.MustCompile(`^([ \t]*)((?:(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$))*)`)

// isExpensive reports whether a text exceeds the limits of markdown.
func isExpensive(text string) bool {
	runs := 0 // of the paragraph
	for line := range strings.SplitSeq(text, "\n") {
		m := listLine.FindStringSubmatch(line)
		indent := len(m[1]) + 3*strings.Count(m[1], "\t") // a tab counts as four columns
		markers := m[2]
		content := strings.TrimSpace(line[len(m[0]):])

		isBullet := markers != "" && strings.ContainsAny(markers[:1], "-*+") && content != "" && indent < 4
		if isBullet || strings.Trim(line, " \t") == "" {
			runs = 0 // a blank line or a new item of a list ends the paragraph before it
		}

		runs += countEmphasis(line)
		if runs > maxEmphasis {
			return true
		}

		isThematicBreak := content == "" && (strings.Trim(markers, "- \t") == "" || strings.Trim(markers, "* \t") == "")

		isNested := len(strings.Fields(markers)) > maxListMarkers || markers != "" && indent > maxListIndent
		if isNested && !isThematicBreak {
			return true
		}
	}

	return false
}

// countEmphasis returns the number of runs of * or _ in a line.
func countEmphasis(line string) int {
	runs, previous := 0, rune(0)
	for _, c := range line {
		if (c == '*' || c == '_') && c != previous {
			runs++
		}

		previous = c
	}

	return runs
}

// normalizeBullets replaces the bullet characters that other systems use for list items by
// the hyphens of Markdown.
var normalizeBullets = strings.NewReplacer("\r\n", "\n", "\n• ", "\n- ", "\n· ", "\n- ", "\n– ", "\n- ")

// lowerHeadings lowers h1 by two levels and the other headings by one, because h1 and h2
// belong to the page.
var lowerHeadings = strings.NewReplacer("<h1>", "<h3>", "</h1>", "</h3>", "<h2>", "<h3>", "</h2>", "</h3>",
	"<h3>", "<h4>", "</h3>", "</h4>", "<h4>", "<h5>", "</h4>", "</h5>", "<h5>", "<h6>", "</h5>", "</h6>")
