package auth

import "time"

// Purpose is what a sealed link is for. A token of one purpose is nothing for
// another.
type Purpose string

// The purposes.
const (
	// ForDownload opens one export until the link expires.
	ForDownload Purpose = "download"
	// ForUnsubscribe ends the digests of one user, without signing in.
	ForUnsubscribe Purpose = "unsubscribe"
	// ForDevice marks a device on which an account has signed in.
	ForDevice Purpose = "device"
	// ForOptOut ends the invitations to an address, without signing in.
	ForOptOut Purpose = "opt-out"
	// ForEmailUndo restores the e-mail address that an account had before.
	ForEmailUndo Purpose = "undo-email-change"
)

// Sealer makes tokens that stand in links: they say what they open and until
// when, in a form that only this service can make, and nothing is stored.
type Sealer interface {
	// Seal makes a token for the subject, an id, that works until the moment.
	Seal(p Purpose, subject string, until time.Time) (string, error)
	// Unseal returns the subject. A token that is not ours, is for another
	// purpose, or has expired is fault.ErrUnauthorized.
	Unseal(p Purpose, token string) (subject string, err error)
}
