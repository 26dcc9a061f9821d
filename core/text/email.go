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

// Maximum lengths in octets (RFC 5321 §4.5.3.1, RFC 1035 §2.3.4).
const (
	maxEmail     = 254
	maxLocalPart = 64
	maxLabel     = 63
)

// ParseEmail parses a bare e-mail address (addr-spec of RFC 5322) and returns the address
// with its domain in lower case. It refuses addresses in DeletedDomain.
func ParseEmail(s string) (email string, ok bool) {
	parsed, err := mail.ParseAddress(s)

	isBare := err == nil && parsed.Name == "" && parsed.Address == s // no display name, quotes or comments
	if !isBare || len(s) > maxEmail || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		return "", false
	}

	// The local part is what is before the last @. RFC 5322 permits quoted local parts, which few
	// servers accept.
	at := strings.LastIndexByte(s, '@')

	local, domain := s[:at], strings.ToLower(s[at+1:])
	if len(local) > maxLocalPart || strings.ContainsAny(local, "\" ") || strings.ContainsFunc(local, lowersToASCII) {
		return "", false
	}

	if !isHostName(domain) || domain == DeletedDomain {
		return "", false
	}

	return local + "@" + domain, true
}

// lowersToASCII reports whether a letter that is not ASCII has an ASCII letter as its
// lower case, such as the Kelvin sign (k). Two different addresses with such letters
// would be equal in lower case.
func lowersToASCII(r rune) bool {
	return r > unicode.MaxASCII && unicode.ToLower(r) <= unicode.MaxASCII
}

// isHostName reports whether s is a domain name with at least two labels, in any script
// (RFC 5890).
func isHostName(s string) bool {
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}

		for _, r := range label {
			if r != '-' && !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Nd) {
				return false
			}
		}
	}

	return len(labels) > 1
}
