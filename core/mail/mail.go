// Package mail is how the service writes to people: the port that sends, and
// the letter, from which every message gets its text and its HTML.
package mail

import (
	"context"
	"errors"
	"time"
)

// Message is one e-mail to one person.
type Message struct {
	// ID names the message: the same ID is the same message sent again, which
	// an adapter turns into a stable Message-ID (RFC 5322 §3.6.4).
	ID      string
	To      Address
	ReplyTo Address // zero for none
	Subject string
	// Text is the plain part and always there; HTML says the same, or is empty.
	Text, HTML string
	// Unsubscribe is a URL that takes the reader off the list with one POST and
	// no questions (RFC 8058), empty for mail that nobody subscribed to.
	Unsubscribe string
	// Invite makes the message an invitation that calendars understand.
	Invite *Invite
}

// Address is a mailbox with an optional display name.
type Address struct {
	Name  string
	Email string
}

// Invite is one appointment as it stands (RFC 5545, RFC 5546). A later one of
// the same UID with a higher Sequence replaces it.
type Invite struct {
	UID      string // the same for all versions; an id, the adapter adds the host
	Sequence int    // from 0, rising with every change
	// Cancelled makes the message a METHOD:CANCEL, otherwise it is a REQUEST.
	Cancelled   bool
	Start, End  time.Time
	Summary     string
	Location    string
	Description string
	Organizer   Address
	Attendee    Address
	// Stamp is when this version was made.
	Stamp time.Time
}

// ErrRefused is an answer that will not change: the address does not exist, or
// the message is not wanted there. Sending it again is a nuisance.
var ErrRefused = errors.New("the mail server refused the message for good")

// Mailer sends messages.
type Mailer interface {
	// Send hands the message over. An error means that it was not accepted
	// and may be tried again, unless it is ErrRefused.
	Send(ctx context.Context, m Message) error
}
