package search

import (
	"fmt"
	"strings"
)

// Values returns the values of a term, a condition of a query, for display: the names of its concepts and places, its
// pay range, or else its words. Any one of the values satisfies the term.
func (t *Term) Values() (values []string) {
	for _, c := range t.Concepts {
		values = append(values, c.Label)
	}

	for _, p := range t.Places {
		values = append(values, p.Label())
	}

	if t.Pay != nil {
		values = append(values, t.Pay.text())
	}

	isFreeText := len(values) == 0
	if isFreeText {
		values = append(values, strings.Join(t.Words, " "))
		for _, words := range t.Or {
			values = append(values, strings.Join(words, " "))
		}
	}

	return values
}

// text returns the range for display, in whole pounds, euros or dollars: "at least 30000 GBP a year". A minimum or
// maximum of 0 is none. The currency may be empty.
func (p *PayRange) text() string {
	const minorPerMajor = 100 // such as pence per pound

	least, most := p.Min/minorPerMajor, p.Max/minorPerMajor

	var amounts string
	switch {
	case p.Max == 0:
		amounts = fmt.Sprintf("at least %d", least)
	case p.Min == 0:
		amounts = fmt.Sprintf("at most %d", most)
	default:
		amounts = fmt.Sprintf("%d to %d", least, most)
	}

	return strings.TrimSpace(amounts+" "+p.Currency) + " a year"
}
