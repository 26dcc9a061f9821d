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

// result is a job in a list of search results, with the texts that the list shows. A text that is not known is empty.
type result struct {
	listings.Listing
	Path     string // of the page of the job
	Pay      string
	Pattern  string // the working pattern and the contract
	Distance string // from the place of the search
	// Reasons says why a relaxed result, which matches only a part of the search, is among the results.
	Reasons []string
}

// exactResults returns the hits that match the whole search.
func exactResults(hits []listings.Hit) []result {
	var exact []result
	for _, hit := range hits {
		if !hit.Relaxed {
			exact = append(exact, newResult(hit))
		}
	}

	return exact
}

// relaxedResults returns the hits that match only a part of the search.
func relaxedResults(hits []listings.Hit) []result {
	var relaxed []result
	for _, hit := range hits {
		if hit.Relaxed {
			relaxed = append(relaxed, newResult(hit))
		}
	}

	return relaxed
}

func newResult(hit listings.Hit) result {
	job := hit.Listing

	r := result{Listing: job, Path: jobPath(job), Pay: formatPay(job.Salary), Pattern: formatPattern(job)}
	if hit.Miles != nil {
		r.Distance = formatDistance(*hit.Miles)
	}

	if hit.Relaxed {
		r.Reasons = relaxedReasons(hit.Matched)
	}

	return r
}

// relaxedTexts maps the ways in which a relaxed result matches a term of the search to their texts. %s is the kind of the
// term, such as "role".
var relaxedTexts = map[string]string{
	"related": "a related %s",
	"nearby":  "a %s further away",
	"missing": "another %s, or none stated",
	"text":    "the %s only in the text",
}

// relaxedReasons explains why a job is a result although it does not match exactly. A slot is the kind of a term of
// the search, such as its role. Terms that match exactly have no reason.
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

// jobPath returns the path of the public page of a job. The title at its end is for readers: the page is found by the id.
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

	rounded := math.Round(miles*10) / 10 // to one decimal

	return strconv.FormatFloat(rounded, 'f', -1, 64) + " miles away"
}

// currencySymbols maps the currencies that are shown by a symbol. Others are shown by their codes.
var currencySymbols = map[string]string{"GBP": "£", "EUR": "€", "USD": "$"}

// formatPay returns a text such as "£17.50 to £21.30 an hour", empty if the pay is not known.
func formatPay(pay *listings.Salary) string {
	if pay == nil || pay.Min == nil && pay.Max == nil {
		return ""
	}

	perPeriod := " a " + pay.Period
	if pay.Period == "hour" {
		perPeriod = " an hour"
	}

	switch {
	case pay.Min == nil:
		return "Up to " + formatAmount(*pay.Max, pay.Currency) + perPeriod
	case pay.Max == nil || *pay.Min == *pay.Max:
		return formatAmount(*pay.Min, pay.Currency) + perPeriod
	}

	return formatAmount(*pay.Min, pay.Currency) + " to " + formatAmount(*pay.Max, pay.Currency) + perPeriod
}

// formatAmount formats an amount in minor units, a hundredth of the currency: £36,000 for 3600000. Pence are shown
// unless they are zero.
func formatAmount(minor int64, currency string) string {
	const minorPerMajor = 100

	digits := strconv.FormatInt(minor/minorPerMajor, 10)

	const groupSize = 3 // digits between two commas
	for comma := len(digits) - groupSize; comma > 0; comma -= groupSize {
		digits = digits[:comma] + "," + digits[comma:]
	}

	if pence := minor % minorPerMajor; pence != 0 {
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

// formatPattern returns the working pattern and the contract in words, such as "Full time, Permanent". It leaves out what
// is not stated.
func formatPattern(job listings.Listing) string {
	var texts []string
	for _, value := range []string{job.EmploymentType, job.ContractType} {
		if value != "" {
			texts = append(texts, cmp.Or(valueTexts[value], value))
		}
	}

	return strings.Join(texts, ", ")
}

// jobFacts returns the labelled properties of a job in the order of its page. It leaves out those that are not stated.
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

	var stated []fact
	for _, f := range facts {
		if f.Text != "" {
			stated = append(stated, f)
		}
	}

	return stated
}

func formatDate(t time.Time) string { return t.UTC().Format("2 January 2006") }

// daysLeft describes the number of calendar days in UTC until the deadline.
func daysLeft(deadline, now time.Time) string {
	const day = 24 * time.Hour

	lastDay, today := deadline.UTC().Truncate(day), now.UTC().Truncate(day)
	switch days := int(lastDay.Sub(today) / day); days {
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
// parsed, so that employers cannot add them to pages. The numbers are the priorities that these
// parsers have in goldmark's default parser: lower ones are tried first.
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
	text = normalizeBullets.Replace(text)

	text = blankLines.ReplaceAllLiteralString(text, "\n\n")
	if isExpensive(text) {
		return plainParagraphs(text)
	}

	var rendered bytes.Buffer
	if err := descriptionParser.Convert([]byte(text), &rendered); err != nil {
		return plainParagraphs(text)
	}

	return template.HTML(lowerHeadings.Replace(rendered.String())) //nolint:gosec // the parser escapes HTML in the text
}

// blankLines matches the end of a line and two or more blank lines after it. markdown replaces them by one blank
// line, which has the same meaning. This saves time, because the parser takes a step for each blank line and open
// list.
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
// markers of emphasis in a paragraph and for nested lists. At these limits, a description of the
// maximum length, 20,000 characters, takes at most 10 ms.
const (
	maxEmphasis    = 500 // runs of * or _ in a paragraph
	maxListMarkers = 8   // at the start of a line: "- - a" is a list in an item of a list
	maxListIndent  = 16  // columns before a list marker
)

// listLine matches the start of a line. The first group is the indentation. The second group has the list markers
// after it: hyphens, stars, plus signs, or numbers such as "1." and "1)". Both groups can be empty.
var listLine = regexp.MustCompile(`^([ \t]*)((?:(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$))*)`)

// isExpensive reports whether a text exceeds the limits of the texts that markdown parses.
func isExpensive(text string) bool {
	emphasisRuns := 0 // in the current paragraph
	for line := range strings.SplitSeq(text, "\n") {
		start := listLine.FindStringSubmatch(line)
		indentation, markers := start[1], start[2]
		content := strings.TrimSpace(line[len(start[0]):]) // after the markers

		const tabColumns = 4

		indent := len(indentation) + (tabColumns-1)*strings.Count(indentation, "\t")

		// A blank line ends the paragraph before it, and so does an item of a list that has a bullet, content, and an
		// indentation below four columns. Other markers may be text of the paragraph.
		isBlank := strings.Trim(line, " \t") == ""
		hasBullet := markers != "" && strings.ContainsAny(markers[:1], "-*+")

		isNewItem := hasBullet && content != "" && indent < 4
		if isBlank || isNewItem {
			emphasisRuns = 0
		}

		emphasisRuns += countEmphasis(line)
		if emphasisRuns > maxEmphasis {
			return true
		}

		// A line of only hyphens or only stars looks like nested lists without content, but is a horizontal rule.
		isThematicBreak := content == "" && (strings.Trim(markers, "- \t") == "" || strings.Trim(markers, "* \t") == "")
		hasManyMarkers := len(strings.Fields(markers)) > maxListMarkers

		isIndentedItem := markers != "" && indent > maxListIndent
		if (hasManyMarkers || isIndentedItem) && !isThematicBreak {
			return true
		}
	}

	return false
}

// countEmphasis returns the number of runs of * or _ in a line: 2 for "**a_".
func countEmphasis(line string) int {
	runs, previous := 0, rune(0)
	for _, char := range line {
		if (char == '*' || char == '_') && char != previous {
			runs++
		}

		previous = char
	}

	return runs
}

// normalizeBullets replaces the bullet characters with which other systems begin list items by the hyphens of Markdown,
// and CRLF by LF.
var normalizeBullets = strings.NewReplacer("\r\n", "\n", "\n• ", "\n- ", "\n· ", "\n- ", "\n– ", "\n- ")

// lowerHeadings lowers h1 by two levels and the other headings by one, because h1 and h2
// belong to the page. A Replacer does not replace its own output, so that each heading is lowered once.
var lowerHeadings = strings.NewReplacer("<h1>", "<h3>", "</h1>", "</h3>", "<h2>", "<h3>", "</h2>", "</h3>",
	"<h3>", "<h4>", "</h3>", "</h4>", "<h4>", "<h5>", "</h4>", "</h5>", "<h5>", "<h6>", "</h5>", "</h6>")
