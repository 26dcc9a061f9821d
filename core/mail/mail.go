// Package mail defines the port that sends e-mail, and the letter, from which the text
// and HTML parts of every message are rendered.
package mail

import (
	"context"
	"errors"
	"time"
)

// Message is an e-mail to one recipient.
type Message struct {
	// ID identifies the message. A message that is sent again has the same ID, from which
	// an adapter derives a stable Message-ID (RFC 5322 §3.6.4).
	ID      string
	To      Address
	ReplyTo Address // zero for none
	Subject string
	// Text is the plain part and is required. HTML has the same content, or is empty.
	Text, HTML string
	// Unsubscribe is a URL that ends the subscription with one POST (RFC 8058), empty for
	// mail without a subscription.
	Unsubscribe string
	// Invite makes the message an invitation that calendars import.
	Invite *Invite
}

// Address is a mailbox with an optional display name.
type Address struct {
	Name  string
	Email string
}

// Invite is a version of an appointment (RFC 5545, RFC 5546). A version with the same UID
// and a higher Sequence replaces it.
type Invite struct {
	UID      string // the same for all versions; an id, to which the adapter adds the host
	Sequence int    // from 0, incremented with every change
	// Cancelled makes the message a METHOD:CANCEL instead of a REQUEST.
	Cancelled   bool
	Start, End  time.Time
	Summary     string
	Location    string
	Description string
	Organizer   Address
	Attendee    Address
	// Stamp is the time at which this version was created.
	Stamp time.Time
}

// ErrRefused is a permanent error: the address does not exist, or the server rejects the
// message. A message must not be sent again after it.
var ErrRefused = errors.New("the mail server refused the message for good")

// Mailer sends messages.
type Mailer interface {
	// Send sends the message. After an error the message may be sent again, unless the
	// error is ErrRefused.
	Send(ctx context.Context, m Message) error
}
