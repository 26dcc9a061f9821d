package site

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/locumhq/locum/modules/listings"
)

// result is a job in a list.
type result struct {
	listings.Listing
	Path     string
	Pay      string
	Pattern  string
	Distance string
	Reasons  []string
}

// results returns the hits that are relaxed, or those that are not.
func (s *Site) results(hits []listings.Hit, relaxed bool) []result {
	var out []result
	for _, h := range hits {
		if h.Relaxed != relaxed {
			continue
		}
		r := result{Listing: h.Listing, Path: jobPath(h.Listing), Pay: payOf(h.Listing.Salary), Pattern: patternOf(h.Listing)}
		if h.Miles != nil {
			r.Distance = distance(*h.Miles)
		}
		if relaxed {
			r.Reasons = reasons(h.Matched)
		}
		out = append(out, r)
	}
	return out
}

// reasonTexts describe how a relaxed result satisfies a part of the search.
var reasonTexts = map[string]string{"related": "a related %s", "nearby": "a %s further away", "missing": "no information about the %s", "text": "the %s only in the text"}

func reasons(matched []listings.Matched) []string {
	var out []string
	for _, m := range matched {
		if text := reasonTexts[string(m.How)]; text != "" {
			out = append(out, fmt.Sprintf(text, strings.ToLower(cmp.Or(slotLabels[m.Slot], m.Slot))))
		}
	}
	return out
}

func jobPath(l listings.Listing) string {
	if name := slug(l.Title); name != "" {
		return "/jobs/" + l.ID + "/" + name
	}
	return "/jobs/" + l.ID
}

// distance returns a distance in words.
func distance(miles float64) string {
	if miles < 1 {
		return "less than a mile away"
	}
	return strconv.FormatFloat(math.Round(miles*10)/10, 'f', -1, 64) + " miles away"
}

var symbols = map[string]string{"GBP": "£", "EUR": "€", "USD": "$"}

// payOf returns pay in words, such as £17.50 to £21.30 an hour.
func payOf(s *listings.Salary) string {
	if s == nil || s.Min == nil && s.Max == nil {
		return ""
	}
	per := " a " + s.Period
	if s.Period == "hour" {
		per = " an hour"
	}
	switch {
	case s.Min == nil:
		return "Up to " + amount(*s.Max, s.Currency) + per
	case s.Max == nil || *s.Min == *s.Max:
		return amount(*s.Min, s.Currency) + per
	}
	return amount(*s.Min, s.Currency) + " to " + amount(*s.Max, s.Currency) + per
}

// amount returns an amount in minor units with separators, and with its fraction unless that
// is zero.
func amount(minor int64, currency string) string {
	digits := strconv.FormatInt(minor/100, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if rest := minor % 100; rest != 0 {
		digits += fmt.Sprintf(".%02d", rest)
	}
	if symbol := symbols[currency]; symbol != "" {
		return symbol + digits
	}
	return currency + " " + digits
}

// valueTexts are the words for values of fields.
var valueTexts = map[string]string{
	"permanent": "Permanent", "temporary": "Temporary", "contract": "Fixed-term contract", "full-time": "Full time", "part-time": "Part time", "bank": "Bank", "per-diem": "Per diem", "flexible": "Flexible",
}

func patternOf(l listings.Listing) string {
	var out []string
	for _, v := range []string{l.EmploymentType, l.ContractType} {
		if v != "" {
			out = append(out, cmp.Or(valueTexts[v], v))
		}
	}
	return strings.Join(out, ", ")
}

func factsOf(l listings.Listing) []fact {
	location := l.Location
	switch {
	case l.Remote && location != "":
		location += " or remote"
	case l.Remote:
		location = "Remote"
	}
	all := []fact{
		{"Location", location}, {"Pay", payOf(l.Salary)}, {"Contract", valueTexts[l.ContractType]}, {"Working pattern", valueTexts[l.EmploymentType]},
		{"Specialty", l.Specialty}, {"Department", l.Department},
	}
	if l.PostedAt != nil {
		all = append(all, fact{"Posted", date(*l.PostedAt)})
	}
	if l.Deadline != nil {
		all = append(all, fact{"Closing date", date(*l.Deadline)})
	}
	var out []fact
	for _, f := range all {
		if f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

func date(t time.Time) string { return t.UTC().Format("2 January 2006") }

// daysLeft returns the time until the deadline in words.
func daysLeft(deadline, now time.Time) string {
	switch days := int(deadline.Sub(now).Hours() / 24); days {
	case 0:
		return "Closes today"
	case 1:
		return "Closes tomorrow"
	default:
		return fmt.Sprintf("Closes in %d days", days)
	}
}

// descriptions are written in a subset of Markdown: paragraphs, headings, lists and
// emphasis. Other syntax is text: no links, images, code and HTML of employers.
var descriptionParser = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100), util.Prioritized(parser.NewThematicBreakParser(), 200), util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400), util.Prioritized(parser.NewATXHeadingParser(), 600), util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(util.Prioritized(parser.NewEmphasisParser(), 500)),
)), goldmark.WithRendererOptions(html.WithHardWraps()))

// markdown renders the description of a job. Headings begin below that of the page.
func markdown(text string) template.HTML {
	var b bytes.Buffer
	if err := descriptionParser.Convert([]byte(bullets.Replace(text)), &b); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(text) + "</p>") //nolint:gosec // escaped
	}
	return template.HTML(headings.Replace(b.String())) //nolint:gosec // the parser knows no HTML and escapes text
}

// bullets are characters with which texts of other systems begin the items of lists.
var bullets = strings.NewReplacer("\r\n", "\n", "\n• ", "\n- ", "\n· ", "\n- ", "\n– ", "\n- ")

// headings lowers the headings of descriptions by two levels, at most to the lowest.
var headings = strings.NewReplacer("<h1>", "<h3>", "</h1>", "</h3>", "<h2>", "<h3>", "</h2>", "</h3>", "<h3>", "<h4>", "</h3>", "</h4>",
	"<h4>", "<h5>", "</h4>", "</h5>", "<h5>", "<h6>", "</h5>", "</h6>")
