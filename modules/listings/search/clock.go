package search

import "strings"

// clock tags the shift that the title states as hours of the day: 3p-11:30p,
// 07:00 – 19:30, or 11-7 shift.
func (a *annotator) clock(p *phrases) {
	for i := 0; i < len(p.tokens); i++ {
		from, exact, next := clockAt(p.tokens, i)
		if next == 0 || next == len(p.tokens) || !isRange(p.tokens[next].Gap) {
			continue
		}

		_, exactTo, end := clockAt(p.tokens, next)
		if end == 0 {
			continue
		}

		if !exact && !exactTo {
			if end == len(p.tokens) || p.tokens[end].Word != "shift" {
				continue // two numbers such as "2-10 beds"
			}

			from = afternoon(from)
		}

		a.addID(shiftFrom(from), InTitle)

		i = end - 1
	}
}

// isRange reports whether the text between two hours makes them a range.
func isRange(gap string) bool {
	gap = strings.TrimSpace(gap)
	return gap == "-" || gap == "–"
}

// clockAt returns the hour at token i, whether it is written as a time of day
// and the token after it, which is 0 if there is no hour.
func clockAt(tokens []Token, i int) (hour int, exact bool, next int) {
	w := tokens[i].Word
	next = i + 1

	minutes := next < len(tokens) && tokens[next].Gap == ":" && digits(w)
	if minutes {
		suffix := strings.TrimLeft(tokens[next].Word, "0123456789")
		w += suffix
		next++
	}

	n := strings.TrimRight(w, "apm")
	if !digits(n) || len(n) > 2 {
		return 0, false, 0
	}

	for _, c := range n {
		hour = hour*10 + int(c-'0')
	}

	switch w[len(n):] {
	case "p", "pm":
		hour = hour%12 + 12
	case "a", "am":
		hour %= 12
	case "":
		return hour, minutes, next
	default:
		return 0, false, 0
	}

	return hour, true, next
}

// afternoon returns the hour of the day at which a shift begins that is written
// without a.m. or p.m.: the three shifts of a hospital begin at about 7, 3 and 11.
func afternoon(hour int) int {
	if hour < 5 || hour >= 10 && hour < 12 {
		return hour + 12
	}

	return hour
}

// shiftFrom returns the id of the shift that begins at an hour.
func shiftFrom(hour int) string {
	switch {
	case hour >= 5 && hour < 12:
		return "days"
	case hour >= 12 && hour < 18:
		return "evenings"
	}

	return "nights"
}
