package search

import (
	"slices"
	"strconv"
	"strings"
)

// A series is several numbered grades of which the name is written once: "Band 5/6", "Bands 5 to 7", "CT1-3". The level
// of a tag is where in the advert its concept is named, such as in the title.

// splitNumbers splits tokens such as 5/6 and 8a/8b into one token for each number.
func splitNumbers(tokens []Token) []Token {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]

		before, after, hasSlash := strings.Cut(t.Word, "/")
		isSeries := hasSlash && digit(before[0]) // F/T is one word

		const aroundTheClock = "24/7" // a pattern of shifts
		if !isSeries || t.Word == aroundTheClock {
			continue
		}

		tokens[i].Word = before
		tokens = slices.Insert(tokens, i+1, Token{Word: after, Surface: after, Gap: "/", Start: t.Start, End: t.End})
	}

	return tokens
}

// tagSeries tags all grades of each series in a text, and single numbered grades.
func (a *annotator) tagSeries(p *phrases, level Level) {
	for i := range p.tokens {
		name, number, next := seriesAt(p.tokens, i)
		if name == "" || a.v.grade(name+number) == nil {
			continue
		}

		a.tagGrade(name+number, level)

		// ST3+ means every higher grade that the vocabulary has.
		asWritten := p.tokens[next-1].Word

		isOpenRange := asWritten != number && strings.HasSuffix(asWritten, "+")
		if isOpenRange {
			const highest = "9"
			a.tagRange(name, number, highest, level)

			continue
		}

		a.continueSeries(p, partialSeries{name: name, last: number, next: next}, level)
	}
}

// partialSeries is a series of grades that has been read to its token before next.
type partialSeries struct {
	name string // of all of its grades, before the number
	last string // the number of the last grade
	next int
}

// continueSeries tags the further grades of a series.
func (a *annotator) continueSeries(p *phrases, s partialSeries, level Level) {
	for s.next < len(p.tokens) {
		link, end := linkAt(p.tokens, s.next)

		isLinked := end > s.next && end <= len(p.tokens)
		if !isLinked {
			return
		}

		// The next grade may repeat the name: ST3/ST4.
		number := strings.TrimPrefix(p.tokens[end-1].Word, strings.TrimSpace(s.name))
		if a.v.grade(s.name+number) == nil {
			return
		}

		if link == "to" {
			a.tagRange(s.name, s.last, number, level)
		}

		a.tagGrade(s.name+number, level)

		s.last, s.next = number, end
	}
}

// seriesAt reads the numbered grade that begins at token i. It returns the name before the number ("band ", "ct"), the
// number, and the index of the token after it. The name is "" if no grade begins there.
func seriesAt(tokens []Token, i int) (name, number string, next int) {
	word := strings.TrimSuffix(tokens[i].Word, "+")
	if word == "band" || word == "bands" { // the number is a word of its own
		if i+1 < len(tokens) {
			return "band ", tokens[i+1].Word, i + 2
		}

		return "", "", 0
	}

	// These names and their number, of one digit, are one word.
	for _, prefix := range [...]string{"ct", "st", "fy", "f", "imt", "accs", "cst", "pgy", "b"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && len(rest) == 1 && digit(rest[0]) {
			return prefix, rest, i + 1
		}
	}

	return "", "", 0
}

// linkAt reports how token i continues a series. link is "to" before the end of a range, and otherwise "and" or "or". end
// is the index of the token after the next number. If token i is a word such as "or", the next number is the token after
// it. If a character such as a slash precedes token i, the next number is token i. In all other cases, the series does
// not continue, and end is i.
func linkAt(tokens []Token, i int) (link string, end int) {
	switch tokens[i].Word {
	case "to", "and", "or":
		return tokens[i].Word, i + 2
	}

	switch gap := strings.TrimSpace(tokens[i].Gap); gap {
	case "-", "–":
		return "to", i + 1
	case "/", "&":
		return "and", i + 1
	}

	return "", i
}

// tagRange tags the grades whose numbers, of one digit, are above the number from and at most the number to.
func (a *annotator) tagRange(name, from, to string, level Level) {
	if from == "" || to == "" {
		return
	}

	for n := from[0] + 1; n <= to[0] && n <= '9'; n++ {
		a.tagGrade(name+string(n), level)
	}
}

// tagGrade tags the grade with the name, such as "band 5", if the vocabulary has it.
func (a *annotator) tagGrade(name string, level Level) {
	if c := a.v.grade(name); c != nil {
		a.add(c, level)
	}
}

const (
	fullTimeHours = 35 // the hours per week from which a job is full time
	minJobHours   = 5  // fewer hours per week are not the time of a job, but for example that of a duty
)

// hours tags full time or part time if the text states hours per week ("37.5 hours per week"), or a whole-time equivalent
// ("0.6 WTE"), which is a share of full time.
func (a *annotator) hours(p *phrases, level Level) {
	if level == InText && a.has(Hours) {
		return // the title or a field states them
	}

	for i := 0; i+1 < len(p.tokens); i++ {
		n, isNumber := number(p.tokens[i].Word)
		if !isNumber {
			continue
		}

		var isFullTime bool
		switch p.tokens[i+1].Word {
		case "wte", "fte":
			isFullTime = n >= 1
		case "hours", "hrs":
			isPerWeek := i+3 < len(p.tokens) && p.tokens[i+3].Word == "week" // after a word such as per
			if !isPerWeek || n < minJobHours {
				continue
			}

			isFullTime = n >= fullTimeHours
		default:
			continue
		}

		id := "part-time"
		if isFullTime {
			id = "full-time"
		}

		a.addID(id, level)
	}
}

// number parses a decimal number below 1000. Larger numbers are no hours, grades or years.
func number(s string) (n float64, ok bool) {
	if s == "" || !digit(s[0]) || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}

	n, err := strconv.ParseFloat(s, 64)

	return n, err == nil && n < 1000
}

// maxYears is the longest experience that an advert may require. More years are for example the age of the company.
const maxYears = 30

// tagYears finds how many years of experience are required: "2+ years of ICU experience". The first such number counts.
func (a *annotator) tagYears(p *phrases) {
	for i := 0; i+2 < len(p.tokens) && a.years == 0; i++ {
		unit := p.tokens[i+1].Word
		if unit != "years" && unit != "year" && unit != "yrs" {
			continue
		}

		n, isNumber := number(strings.TrimSuffix(p.tokens[i].Word, "+"))
		if !isNumber || n < 1 || n > maxYears {
			continue
		}

		// A word for experience must follow soon.
		for _, t := range p.tokens[i+2 : min(i+reach, len(p.tokens))] {
			if t.Word == "experience" || t.Word == "experienced" {
				a.years = int(n)
				break
			}
		}
	}
}
