package search

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The numbers of hours, days, weeks and months that are paid in a full-time year, as in package listings.
const (
	hoursInYear    = 1_950
	hoursInYearUSD = 2_080 // in the United States
	daysInYear     = 260
	weeksInYear    = 52
	monthsInYear   = 12
)

// The amounts that decide what an amount can mean.
const (
	maxHourly = 200   // an amount without a period is below this one if it is paid by the hour
	maxDaily  = 2_000 // and otherwise below this one if it is paid by the day
	minYearly = 1_000 // the lowest amount that is paid by the year
)

// payPattern matches an amount of money, or two, and the period: "£20 an hour",
// "35k-40k", "$90,000 per year", "60ph". Its groups are numbered below.
var payPattern = regexp.MustCompile(`(?i)` +
	`([£$€])?\s?(\d[\d,]*(?:\.\d+)?)\s?(k)?(?:p([hdwa])\b|\b)` + // the first amount, perhaps with a short period
	`(?:\s?(?:-|–|to)\s?[£$€]?\s?(\d[\d,]*(?:\.\d+)?)\s?(k)?\b)?` + // the second amount
	`(?:\s?\+)?` + // the plus of "£20+"
	`(?:(?:\s*/\s?|\s*\bper\s+|\s*\ban?\s+|\s*p[./]?)(hour|hr|h|day|d|week|wk|w|month|year|annum|yr|a)\b)?`, // the period
)

// The groups of payPattern. Groups that are not in a text are empty.
const (
	groupCurrency      = iota + 1 // the sign
	groupLow                      // the first amount
	groupLowThousands             // k
	groupShortPeriod              // the h of 60ph
	groupHigh                     // the second amount
	groupHighThousands            // k
	groupPeriod                   // such as hour
)

// payMarker matches the words before an amount. Its group, groupMaximum, has the words that make the amount a maximum.
var payMarker = regexp.MustCompile(
	`(?i)\b(?:over|above|from|at least|min|minimum|more than|salary|paying|(up to|under|below|max|maximum|less than))\s*$`,
)

const groupMaximum = 1

// currencies maps the signs of currencies to their codes.
var currencies = map[string]string{"£": "GBP", "$": "USD", "€": "EUR"}

// findPay reads the amounts of money in a run, the plain words of a query, which are in the text. It reserves the words of
// the amounts, so that they have no other meaning.
func (r *run) findPay(text string) {
	for _, offsets := range payPattern.FindAllStringSubmatchIndex(text, -1) {
		low := offsets[2*groupLow]

		// A number inside of a word, such as the 2 of F2 (a doctor's grade), is no amount.
		isWithinWord := low > 0 && isAlphanumeric(text[low-1])
		if isWithinWord {
			continue
		}

		m := payMatch{text: text, offsets: offsets, marker: payMarker.FindStringSubmatchIndex(text[:offsets[0]])}

		pay, isMoney := m.payRange()
		if !isMoney {
			continue
		}

		start, end := r.tokensIn(m.start(), m.end())
		if start == end {
			continue // no token begins in it
		}

		r.reserved[start] = candidate{start: start, end: end, cost: costForm, term: Term{Slot: SlotPay, Pay: pay}}
	}
}

// payMatch is a match of payPattern in a text.
type payMatch struct {
	text    string
	offsets []int // the start and the end of the match, and then those of each group, which are -1 for an empty group
	marker  []int // the same of payMarker: a word such as "over" directly before the amount; nil for none
}

// group returns the text of a group, or "".
func (m payMatch) group(number int) string {
	start, end := m.offsets[2*number], m.offsets[2*number+1]
	if start < 0 {
		return ""
	}

	return m.text[start:end]
}

// start returns the offset of the marker, or else of the amount.
func (m payMatch) start() int {
	if m.marker != nil {
		return m.marker[0]
	}

	return m.offsets[0]
}

// end returns the offset after the match.
func (m payMatch) end() int { return m.offsets[1] }

// payRange returns the pay for a year that the match states. isMoney is false if it is another number.
func (m payMatch) payRange() (pay *PayRange, isMoney bool) {
	// A number is an amount of money only if something marks it as one: a word such as "over" before it, a currency, a
	// period such as "per hour", or a k for thousands.
	currency := currencies[m.group(groupCurrency)]
	period := m.group(groupShortPeriod) + m.group(groupPeriod)
	hasThousands := m.group(groupLowThousands)+m.group(groupHighThousands) != ""

	isMarked := m.marker != nil || currency != "" || period != "" || hasThousands
	if !isMarked {
		return nil, false
	}

	low, ok := amount(m.group(groupLow), m.group(groupLowThousands))
	isByYear := period == "a" || period == "year"

	// A low number without a currency is no yearly pay, even before a word or letter that means a year: "10 pa" are
	// programmed activities (units of a doctor's work), and "1 year" is experience.
	isTooLow := isByYear && currency == "" && low < minYearly
	if !ok || isTooLow {
		return nil, false
	}

	high := 0.0 // no maximum
	if m.group(groupHigh) != "" {
		high, ok = amount(m.group(groupHigh), m.group(groupHighThousands))
		if !ok || high < low {
			return nil, false // no range
		}
	}

	isMaximum := m.marker != nil && m.marker[2*groupMaximum] >= 0 // "up to £20"
	if isMaximum && high == 0 {
		low, high = 0, low
	}

	factor := periodsInYear(period, currency, max(low, high))

	return &PayRange{Min: minorUnits(low * factor), Max: minorUnits(high * factor), Currency: currency}, true
}

// isAlphanumeric reports whether the byte is an ASCII letter or digit.
func isAlphanumeric(c byte) bool {
	return c < utf8.RuneSelf && wordBytes[c]
}

// minorUnits converts major units, such as pounds, to minor units, such as pence.
func minorUnits(amount float64) int64 { return int64(math.Round(amount * 100)) }

// amount parses an amount in major units. thousands is "k" for thousands, or empty. ok is false if it is not
// positive or far too high.
func amount(digits, thousands string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
	if thousands != "" {
		n *= 1_000
	}

	return n, err == nil && n > 0 && n < 1e9
}

// periodsInYear returns how many periods, such as hours, are paid in a year. Without a period, the amount decides whether it
// is paid by the hour, by the day or by the year.
func periodsInYear(period, currency string, amount float64) float64 {
	const once = 1 // the amount is paid by the year

	hours := float64(hoursInYear)
	if currency == "USD" {
		hours = hoursInYearUSD
	}

	switch strings.ToLower(period) {
	case "hour", "hr", "h":
		return hours
	case "day", "d":
		return daysInYear
	case "week", "wk", "w":
		return weeksInYear
	case "month":
		return monthsInYear
	case "":
		switch {
		case amount < maxHourly:
			return hours
		case amount < maxDaily:
			return daysInYear
		}
	}

	return once
}

// tokensIn returns the tokens that begin between two offsets of the text: from start to end, exclusive.
func (r *run) tokensIn(from, to int) (start, end int) {
	for start < len(r.tokens) && r.tokens[start].Start < from {
		start++
	}

	for end = start; end < len(r.tokens) && r.tokens[end].Start < to; end++ { // to the first token behind
	}

	return start, end
}
