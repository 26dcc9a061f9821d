package search

import (
	"fmt"
	"strings"
)

// Values returns the values of the term, for display. Any of them satisfies it.
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

	if len(values) == 0 {
		values = append(values, strings.Join(t.Words, " "))
		for _, words := range t.Or {
			values = append(values, strings.Join(words, " "))
		}
	}

	return values
}

// text returns the range in major units: "at least 30000 GBP a year".
func (p *PayRange) text() string {
	const minor = 100

	text := fmt.Sprintf("at least %d", p.Min/minor)
	switch {
	case p.Max > 0 && p.Min > 0:
		text = fmt.Sprintf("%d to %d", p.Min/minor, p.Max/minor)
	case p.Max > 0:
		text = fmt.Sprintf("at most %d", p.Max/minor)
	}

	return strings.TrimSpace(text+" "+p.Currency) + " a year"
}
