package billing

import (
	"bytes"
	"encoding/json"
)

// The lengths of the numbers of payment cards (ISO/IEC 7812).
const (
	minCardDigits = 13
	maxCardDigits = 19
)

// HoldsCardNumber reports whether the JSON contains what may be the number of a payment
// card: 13 to 19 digits, with spaces and dashes between them or without, that pass the
// Luhn check. It checks the text as it was sent and the decoded strings, since a digit
// can be written as \u0034.
func HoldsCardNumber(body []byte) bool {
	if holdsCard(string(body)) {
		return true
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil {
			return false
		}
		if s, ok := t.(string); ok && holdsCard(s) {
			return true
		}
	}
}

func holdsCard(text string) bool {
	var digits []byte
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits = append(digits, c-'0')
		case (c == ' ' || c == '-') && len(digits) > 0:
			// the number continues
		default:
			if isCard(digits) {
				return true
			}
			digits = digits[:0]
		}
	}
	return isCard(digits)
}

func isCard(digits []byte) bool {
	if len(digits) < minCardDigits || len(digits) > maxCardDigits {
		return false
	}
	sum, double := 0, false
	for i := len(digits) - 1; i >= 0; i-- {
		d := int(digits[i])
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double = sum+d, !double
	}
	return sum%10 == 0
}
