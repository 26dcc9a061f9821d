package search

import (
	"regexp"
	"strconv"
)

// A run is a sequence of plain words of a query. A candidate is a possible reading of neighbouring words of a run. This
// file reads quantities. The words of amounts of money and of the distance are reserved: they have no other reading.

// findQuantities reads the amounts of money and the distance in the run, whose words are in the text.
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

// findDistance reads how near the places must be, and reserves the words of the distance. They become no condition of
// their own: the distance belongs to the condition for the place.
func (r *run) findDistance(text string) {
	match := distancePattern.FindStringSubmatchIndex(text)
	if match == nil {
		return
	}

	number, unit := text[match[2]:match[3]], text[match[4]:match[5]]

	miles, err := strconv.ParseFloat(number, 64)
	if err != nil || miles == 0 {
		return
	}

	if isKilometers := unit[0] == 'k' || unit[0] == 'K'; isKilometers {
		miles *= milesPerKilometer
	}

	r.out.Radius = min(miles, MaxRadius)
	if start, end := r.tokensIn(match[0], match[1]); start < end && !r.overlapsReserved(start, end) {
		r.reserved[start] = candidate{start: start, end: end, cost: costForm, drop: true}
	}
}

// distanceUnits are the words that end a distance, before "of" and a place.
var distanceUnits = wordSet("mile miles mi km kms radius")

// quantity reads the quantity that begins at token i, of one of two kinds:
//
//   - A number of days or of programmed activities, such as "4 days" or "10 PAs". It is no condition. Without this
//     reading, the word days would mean day shifts.
//   - A share of full time in one word, such as "0.6wte" (whole-time equivalent). It means part time.
func (r *run) quantity(i int) (candidate, bool) {
	word := r.tokens[i].Word
	isNumber := isSmallNumber(word) || numberWords[word]

	isCount := isNumber && i+1 < len(r.tokens) && counted[r.tokens[i+1].Word]
	if isCount {
		return candidate{start: i, end: i + 2, cost: costForm, drop: true}, true
	}

	if partTime := r.Vocabulary.byID["part-time"]; partTime != nil && sharePattern.MatchString(word) {
		term := Term{Slot: SlotHours, Concepts: []*Concept{partTime}}
		return candidate{start: i, end: i + 1, cost: costForm, term: term}, true
	}

	return candidate{}, false
}

var (
	numberWords = wordSet("one two three four five six seven")
	counted     = wordSet("day days pa pas") // what is counted; pa is short for programmed activity
)

// sharePattern matches a share of full time as a token has it, which is without "0.": 6wte.
var sharePattern = regexp.MustCompile(`^\d+[wf]te$`)

// timePattern matches a time of day.
var timePattern = regexp.MustCompile(`^\d{1,2}[ap]m?$`)
