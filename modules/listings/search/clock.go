package search

import "strings"

// clock tags the shift if the title states it as hours of the day: "3p-11:30p", "07:00 – 19:30" or "11-7 shift". The hour
// at which it begins decides what shift it is.
func (a *annotator) clock(p *phrases) {
	for i := 0; i < len(p.tokens); i++ {
		from, isFromExact, next := clockAt(p.tokens, i)

		isRangeBegun := next > 0 && next < len(p.tokens) && isRange(p.tokens[next].Gap)
		if !isRangeBegun {
			continue
		}

		_, isToExact, end := clockAt(p.tokens, next)
		if end == 0 {
			continue
		}

		// Two bare numbers may also be something else, such as "2-10 beds". They count only before the word shift.
		areBareNumbers := !isFromExact && !isToExact
		if areBareNumbers {
			if end == len(p.tokens) || p.tokens[end].Word != "shift" {
				continue
			}

			from = likelyStart(from)
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

// clockAt reads the hour of the day that begins at token i. isExact is true if it has minutes or is marked as a.m. or p.m.,
// so that it is certainly a time. next is the index of the token after it, or 0 if token i is no hour.
func clockAt(tokens []Token, i int) (hour int, isExact bool, next int) {
	word := tokens[i].Word // such as 11, or 11pm
	next = i + 1

	hasMinutes := next < len(tokens) && tokens[next].Gap == ":" && digits(word)
	if hasMinutes { // the next token has the minutes, which do not matter, and perhaps a suffix: the 30pm of 11:30pm
		suffix := strings.TrimLeft(tokens[next].Word, "0123456789")
		word += suffix
		next++
	}

	number := strings.TrimRight(word, "apm")
	if !digits(number) || len(number) > 2 {
		return 0, false, 0
	}

	for _, c := range number {
		hour = hour*10 + int(c-'0')
	}

	suffix := word[len(number):]
	switch suffix {
	case "p", "pm":
		return hour%12 + 12, true, next
	case "a", "am":
		return hour % 12, true, next
	case "":
		return hour, hasMinutes, next
	}

	return 0, false, 0
}

// likelyStart returns the hour of the day, from 0 to 23, at which a shift probably begins that is written without a.m. or
// p.m. The three shifts of a hospital begin at about 7 in the morning, 3 in the afternoon and 11 at night.
func likelyStart(hour int) int {
	isAfternoon := hour < 5
	isNight := 10 <= hour && hour < 12

	if isAfternoon || isNight {
		return hour + 12
	}

	return hour
}

// shiftFrom returns the id of the concept for the shift that begins at an hour of the day.
func shiftFrom(hour int) string {
	switch {
	case hour >= 5 && hour < 12:
		return "days"
	case hour >= 12 && hour < 18:
		return "evenings"
	}

	return "nights"
}
