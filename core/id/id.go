// Package id holds what the service asks of identifiers: they are UUIDs
// (RFC 9562), made in version 7 so that they sort by creation.
package id

import "strings"

// Source makes a new UUIDv7 in its canonical lower-case form.
type Source func() string

// Valid reports whether s is a UUID in the canonical 8-4-4-4-12 form, in lower
// or upper case. Anything else names nothing, which callers answer as absence.
func Valid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}

// Canonical is the one spelling under which the id is kept; false for what is
// not an id.
func Canonical(s string) (string, bool) {
	if !Valid(s) {
		return "", false
	}
	return strings.ToLower(s), true
}
