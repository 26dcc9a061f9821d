// Package id validates and creates identifiers: UUIDs (RFC 9562) of version 7, which sort
// by creation time.
package id

import "strings"

// Source returns a new UUIDv7 in its canonical lower-case form.
type Source func() string

// Valid reports whether s is a UUID in the canonical 8-4-4-4-12 form, in lower or upper
// case. Callers treat any other text as an unknown id.
func Valid(s string) bool {
	const length = len("01234567-89ab-7cde-8f01-23456789abcd")
	if len(s) != length {
		return false
	}

	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23: // between two groups
			if c != '-' {
				return false
			}
		default:
			isHex := '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
			if !isHex {
				return false
			}
		}
	}

	return true
}

// Canonical returns the form in which the id is stored, and false if s is not an id.
func Canonical(s string) (canonical string, isID bool) {
	if !Valid(s) {
		return "", false
	}

	return strings.ToLower(s), true
}
