package search

import (
	"regexp"
	"strconv"
	"strings"
)

// findQuantities reads the amounts of money and the distance in the run.
func (r *run) findQuantities(text string) {
	r.findPay(text)
	r.findDistance(text)
}

// distancePattern matches how near a place must be: "within 20 miles of",
// "30 km from", "10 mile radius".
var distancePattern = regexp.MustCompile(
	`(?i)\b(?:within\s+)?(?:an?\s+)?(\d{1,3})[\s-]*(miles?|mi|kms?|kilomet(?:er|re)s?)\b(?:\s+radius)?(?:\s+away)?`,
)

const (
	milesPerKilometer = .621371

	// MaxRadius is the longest distance from a place, in miles.
	MaxRadius = 500.0
)

// findDistance reads how near the places must be.
func (r *run) findDistance(text string) {
	m := distancePattern.FindStringSubmatchIndex(text)
	if m == nil {
		return
	}

	n, err := strconv.ParseFloat(text[m[2]:m[3]], 64)
	if err != nil || n == 0 {
		return
	}

	if strings.ContainsAny(text[m[4]:m[4]+1], "kK") {
		n *= milesPerKilometer
	}

	r.out.Radius = min(n, MaxRadius)
	if start, end := r.tokensIn(m[0], m[1]); start < end && !r.overlapsReserved(start, end) {
		r.reserved[start] = candidate{start: start, end: end, cost: costForm, drop: true}
	}
}

// distanceUnits are the words that end a distance, before "of" and a place.
var distanceUnits = wordSet("mile miles mi km kms radius")

// quantity reads a number of days, which does not mean day shifts, of programmed
// activities, and a share of full time that is written in one word: "4 days", "10
// PAs", "0.6wte".
func (r *run) quantity(i int) (candidate, bool) {
	t := r.tokens[i]
	switch {
	case i+1 < len(r.tokens) && (isSmallNumber(t.Word) || numberWords[t.Word]) && counted[r.tokens[i+1].Word]:
		return candidate{start: i, end: i + 2, cost: costForm, drop: true}, true
	case sharePattern.MatchString(t.Word):
		if c := r.Vocabulary.byID["part-time"]; c != nil {
			return candidate{start: i, end: i + 1, cost: costForm, term: Term{Slot: SlotHours, Concepts: []*Concept{c}}}, true
		}
	}

	return candidate{}, false
}

var (
	numberWords = wordSet("one two three four five six seven")
	counted     = wordSet("day days pa pas")
)

// sharePattern matches what follows the point of a share of full time.
var sharePattern = regexp.MustCompile(`^\d+[wf]te$`)

// timePattern matches a time of day.
var timePattern = regexp.MustCompile(`^\d{1,2}[ap]m?$`)
