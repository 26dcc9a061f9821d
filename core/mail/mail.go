// Package mail defines the port that sends e-mail, and Letter, which renders the text and
// HTML parts of a message.
package mail

import (
	"context"
	"errors"
	"time"
)

// Message is an e-mail to one recipient.
type Message struct {
	// ID identifies the message. It stays the same when the message is sent again after a
	// failure. Adapters derive the Message-ID from it (RFC 5322 §3.6.4).
	ID      string
	To      Address
	ReplyTo Address // zero for none
	Subject string
	// Text is the plain text part; it is required. HTML has the same content, or is empty.
	Text, HTML string
	// Unsubscribe is a URL that ends the subscription with one POST (RFC 8058). It is empty
	// for e-mails that are not sent to subscribers.
	Unsubscribe string
	// Invite, if it is set, is attached as an invitation that calendars import.
	Invite *Invite
}

// Address is a mailbox with an optional display name.
type Address struct {
	Name  string
	Email string
}

// Invite is one version of an appointment (RFC 5545, RFC 5546). A later version has the same
// UID and a higher Sequence, and replaces the earlier ones.
type Invite struct {
	UID      string // the id of the appointment; the adapter appends the host name
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

// ErrRefused is returned if the address does not exist or the server rejects the message.
// The error is permanent: the message must not be sent again.
var ErrRefused = errors.New("the mail server refused the message for good")

// Mailer sends messages.
type Mailer interface {
	// Send sends the message. After an error the message may be sent again, unless the
	// error is ErrRefused.
	Send(ctx context.Context, m Message) error
}
