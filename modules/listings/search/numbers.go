package search

import (
	"slices"
	"strconv"
	"strings"
)

// splitNumbers splits tokens such as 5/6 and 8a/8b into one token for each number.
func splitNumbers(tokens []Token) []Token {
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]

		before, after, hasSlash := strings.Cut(t.Word, "/")
		isSeries := hasSlash && digit(before[0]) // F/T is one word

		if !isSeries || t.Word == "24/7" { // a pattern of shifts
			continue
		}

		tokens[i].Word = before
		tokens = slices.Insert(tokens, i+1, Token{Word: after, Surface: after, Gap: "/", Start: t.Start, End: t.End})
	}

	return tokens
}

// series tags ranges of numbered grades: Band 5/6, Bands 5 to 7, CT1-3, ST3+.
func (a *annotator) series(p *phrases, level Level) {
	for i := range p.tokens {
		name, number, next := seriesAt(p.tokens, i)
		if name == "" || a.v.grade(name+number) == nil {
			continue
		}

		a.tagGrade(name+number, level)

		// ST3+ means every higher grade that the vocabulary has.
		numbered := p.tokens[next-1].Word
		if numbered != number && strings.HasSuffix(numbered, "+") {
			const highest = "9"
			a.tagRange(name, number, highest, level)

			continue
		}

		last := number
		for next < len(p.tokens) {
			link, end := linkAt(p.tokens, next)
			if end == next || end > len(p.tokens) {
				break
			}

			to := strings.TrimPrefix(p.tokens[end-1].Word, strings.TrimSpace(name))
			if a.v.grade(name+to) == nil {
				break
			}

			if link == "to" {
				a.tagRange(name, last, to, level)
			}

			a.tagGrade(name+to, level)

			last, next = to, end
		}
	}
}

// seriesAt returns the name of a numbered grade at token i ("band ", "ct"), its
// number and the token after it.
func seriesAt(tokens []Token, i int) (name, number string, next int) {
	w := strings.TrimSuffix(tokens[i].Word, "+")
	if w == "band" || w == "bands" {
		if i+1 < len(tokens) {
			return "band ", tokens[i+1].Word, i + 2
		}

		return "", "", 0
	}

	for _, prefix := range [...]string{"ct", "st", "fy", "f", "imt", "accs", "cst", "pgy", "b"} {
		if rest, ok := strings.CutPrefix(w, prefix); ok && len(rest) == 1 && digit(rest[0]) {
			return prefix, rest, i + 1
		}
	}

	return "", "", 0
}

// linkAt returns how token i continues a series ("to" or "and"), and the index of the token
// after the next number. If token i does not continue a series, the index is i.
func linkAt(tokens []Token, i int) (string, int) {
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

// tagRange tags the grades whose numbers, of one digit, are above from and at most to.
func (a *annotator) tagRange(name, from, to string, level Level) {
	if from == "" || to == "" {
		return
	}

	for n := from[0] + 1; n <= to[0] && n <= '9'; n++ {
		a.tagGrade(name+string(n), level)
	}
}

// tagGrade tags the grade with the name, if the vocabulary has it.
func (a *annotator) tagGrade(text string, level Level) {
	if c := a.v.grade(text); c != nil {
		a.add(c, level)
	}
}

// fullTime is the number of hours per week from which a job is full time.
const fullTime = 35

// hours tags full or part time by hours a week and whole-time equivalents.
func (a *annotator) hours(p *phrases, level Level) {
	if level == InText && a.has(Hours) {
		return // the title or a field states them
	}

	for i := 0; i+1 < len(p.tokens); i++ {
		n, ok := number(p.tokens[i].Word)
		if !ok {
			continue
		}

		var full bool
		switch p.tokens[i+1].Word {
		case "wte", "fte":
			full = n >= 1
		case "hours", "hrs":
			// "37.5 hours per week"; below 5 hours it is not the time of a job.
			if i+3 >= len(p.tokens) || p.tokens[i+3].Word != "week" || n < 5 {
				continue
			}

			full = n >= fullTime
		default:
			continue
		}

		id := "part-time"
		if full {
			id = "full-time"
		}

		a.addID(id, level)
	}
}

// number parses a decimal number below 1000.
func number(s string) (float64, bool) {
	if s == "" || !digit(s[0]) || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}

	n, err := strconv.ParseFloat(s, 64)

	return n, err == nil && n < 1000
}

// maxYears is the longest experience that an advert may require.
const maxYears = 30

// tagYears finds the required experience: "2+ years of ICU experience".
func (a *annotator) tagYears(p *phrases) {
	for i := 0; i+2 < len(p.tokens) && a.years == 0; i++ {
		w := p.tokens[i+1].Word
		if w != "years" && w != "year" && w != "yrs" {
			continue
		}

		n, ok := number(strings.TrimSuffix(p.tokens[i].Word, "+"))
		if !ok || n < 1 || n > maxYears {
			continue
		}

		for _, t := range p.tokens[i+2 : min(i+reach, len(p.tokens))] {
			if t.Word == "experience" || t.Word == "experienced" {
				a.years = int(n)
				break
			}
		}
	}
}
