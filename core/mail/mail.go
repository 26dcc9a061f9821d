// Package mail is the port through which the service writes to people.
package mail

import "context"

// Message is one e-mail to one person.
type Message struct {
	// ID names the message: the same ID is the same message sent again, which
	// an adapter turns into a stable Message-ID (RFC 5322 §3.6.4).
	ID      string
	To      Address
	ReplyTo Address // zero for none
	Subject string
	// Text is the plain part and always there.
	Text string
}

// Address is a mailbox with an optional display name.
type Address struct {
	Name  string
	Email string
}

// Mailer sends messages.
type Mailer interface {
	// Send hands the message over. An error means that it was not accepted
	// and may be tried again.
	Send(ctx context.Context, m Message) error
}
