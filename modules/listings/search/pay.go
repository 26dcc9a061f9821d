package search

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The numbers of periods in a full-time year, as in package listings.
const (
	hoursGBP, hoursUSD = 1_950, 2_080
	daysYear           = 260
	weeksYear          = 52
	monthsYear         = 12
	minYearly          = 1_000 // the lowest amount that is paid by the year
)

// payPattern matches an amount of money, or two, and the period: "£20 an hour",
// "35k-40k", "$90,000 per year", "60ph". Its groups are numbered below.
var payPattern = regexp.MustCompile(
	`(?i)([£$€])?\s?(\d[\d,]*(?:\.\d+)?)\s?(k)?(?:p([hdwa])\b|\b)(?:\s?(?:-|–|to)\s?[£$€]?\s?(\d[\d,]*(?:\.\d+)?)\s?(k)?\b)?(?:\s?\+)?(?:(?:\s*/\s?|\s*\bper\s+|\s*\ban?\s+|\s*p[./]?)(hour|hr|h|day|d|week|wk|w|month|year|annum|yr|a)\b)?`,
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

// payMarker matches the words before an amount. Its group matches if the amount is a maximum.
var payMarker = regexp.MustCompile(
	`(?i)\b(?:over|above|from|at least|min|minimum|more than|salary|paying|(up to|under|below|max|maximum|less than))\s*$`,
)

// currencies maps the signs of currencies to their codes.
var currencies = map[string]string{"£": "GBP", "$": "USD", "€": "EUR"}

// findPay reads the amounts of money in the run, whose words are reserved: they have no other meaning.
func (r *run) findPay(text string) {
	for _, m := range payPattern.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}

			return text[m[2*i]:m[2*i+1]]
		}

		if start := m[2*groupLow]; start > 0 && isAlphanumeric(text[start-1]) {
			continue // the 2 of F2
		}

		currency := currencies[group(groupCurrency)]
		period := group(groupShortPeriod) + group(groupPeriod)
		marker := payMarker.FindStringSubmatchIndex(text[:m[0]]) // a word such as "over" before the amount

		isMoney := marker != nil || currency != "" || period != "" || group(groupLowThousands)+group(groupHighThousands) != ""
		if !isMoney {
			continue // some other number
		}

		low, ok := amount(group(groupLow), group(groupLowThousands))
		isByYear := period == "a" || period == "year"

		// 10 PAs are programmed activities, and 1 year is experience.
		isTooLow := isByYear && currency == "" && low < minYearly
		if !ok || isTooLow {
			continue
		}

		high := 0.0 // no maximum
		if group(groupHigh) != "" {
			high, ok = amount(group(groupHigh), group(groupHighThousands))
			if !ok || high < low {
				continue // no range
			}
		}

		from := m[0]
		if marker != nil {
			from = marker[0]

			isMaximum := marker[2] >= 0 // "up to £20"
			if isMaximum && high == 0 {
				low, high = 0, low
			}
		}

		start, end := r.tokensIn(from, m[1])
		if start == end {
			continue // no token begins in it
		}

		factor := perYear(period, currency, max(low, high))
		r.reserved[start] = candidate{start: start, end: end, cost: costForm, term: Term{
			Slot: SlotPay,
			Pay:  &PayRange{Min: minorUnits(low * factor), Max: minorUnits(high * factor), Currency: currency},
		}}
	}
}

// isAlphanumeric reports whether the byte is an ASCII letter or digit.
func isAlphanumeric(c byte) bool {
	return c < utf8.RuneSelf && wordBytes[c]
}

// minorUnits converts major units to minor units.
func minorUnits(amount float64) int64 { return int64(math.Round(amount * 100)) }

// amount parses an amount in major units. thousands is "k" or empty.
func amount(digits, thousands string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
	if thousands != "" {
		n *= 1_000
	}

	return n, err == nil && n > 0 && n < 1e9
}

// perYear returns the number of periods in a year. Without a period, it takes an amount below 200
// for hourly pay and one below 2,000 for daily pay.
func perYear(period, currency string, amount float64) float64 {
	hours := float64(hoursGBP)
	if currency == "USD" {
		hours = hoursUSD
	}

	switch strings.ToLower(period) {
	case "hour", "hr", "h":
		return hours
	case "day", "d":
		return daysYear
	case "week", "wk", "w":
		return weeksYear
	case "month":
		return monthsYear
	case "":
		switch {
		case amount < 200:
			return hours
		case amount < 2_000:
			return daysYear
		}
	}

	return 1
}

// tokensIn returns the tokens between two offsets.
func (r *run) tokensIn(from, to int) (start, end int) {
	for start < len(r.tokens) && r.tokens[start].Start < from {
		start++
	}

	for end = start; end < len(r.tokens) && r.tokens[end].Start < to; end++ { // to the first token behind
	}

	return start, end
}
