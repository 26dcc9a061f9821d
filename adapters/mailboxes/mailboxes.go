// Package mailboxes recognizes e-mail addresses that name the same mailbox.
package mailboxes

import (
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Keys implements identity.Mailboxes.
type Keys struct{}

// Key returns the address in Unicode normalization form C and lower case, with an
// internationalized domain in Unicode (RFC 5891, UTS #46), independent of how it was
// written. A domain that IDNA does not allow is unchanged.
func (Keys) Key(email string) string {
	email = norm.NFC.String(strings.ToLower(norm.NFC.String(email)))

	at := strings.LastIndexByte(email, '@')
	if domain, err := idna.Lookup.ToUnicode(email[at+1:]); err == nil {
		return email[:at+1] + domain
	}

	return email
}
