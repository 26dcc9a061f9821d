// Package id validates and creates identifiers: UUIDs (RFC 9562) of version 7, which sort
// by creation time.
package id

import "strings"

// Source returns a new UUIDv7 in its canonical lower-case form.
type Source func() string

// Valid reports whether s is a UUID in the canonical 8-4-4-4-12 form, in lower or upper
// case. Callers treat any other text as an unknown id.
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

// Canonical returns the form in which the id is stored, and false if s is not an id.
func Canonical(s string) (string, bool) {
	if !Valid(s) {
		return "", false
	}

	return strings.ToLower(s), true
}
