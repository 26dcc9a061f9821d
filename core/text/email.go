package text

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DeletedDomain is the domain of the addresses of deleted accounts. It never receives
// mail (RFC 2606).
const DeletedDomain = "deleted.invalid"

// ParseEmail parses a bare address (addr-spec of RFC 5322, at most the 254 octets of
// RFC 5321) and returns it with its domain in lower case. Addresses in DeletedDomain are
// not valid.
func ParseEmail(s string) (email string, ok bool) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s || len(s) > 254 || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		return "", false // also an address that is only valid after unquoting
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], strings.ToLower(s[at+1:])
	if len(local) > 64 || strings.ContainsAny(local, "\" ") || !isHostName(domain) || domain == DeletedDomain || strings.ContainsFunc(local, hasASCIILower) {
		return "", false
	}
	return local + "@" + domain, true
}

// hasASCIILower reports whether the letter is not ASCII but its lower case is, so that
// different addresses would be equal in lower case.
func hasASCIILower(r rune) bool {
	return r > unicode.MaxASCII && unicode.ToLower(r) <= unicode.MaxASCII
}

// isHostName reports whether mail can be routed to the name: labels with at least one
// dot between them, in any script (RFC 5890).
func isHostName(s string) bool {
	labels := strings.Split(s, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' {
			return false
		}
		for _, r := range l {
			if r != '-' && !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd) {
				return false
			}
		}
	}
	return len(labels) > 1
}
