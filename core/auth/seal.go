package auth

import "time"

// Purpose is the purpose of a signed link. A token is valid for one purpose only.
type Purpose string

// The purposes.
const (
	// ForDownload opens one export until the link expires.
	ForDownload Purpose = "download"
	// ForUnsubscribe ends the digests of one user, without signing in.
	ForUnsubscribe Purpose = "unsubscribe"
	// ForAlert confirms an alert about new jobs for an address without an account.
	ForAlert Purpose = "alert"
	// ForAlertsEnd ends all alerts of an address without an account.
	ForAlertsEnd Purpose = "alerts-end"
	// ForDevice marks a device on which an account has signed in.
	ForDevice Purpose = "device"
	// ForOptOut ends the invitations to an address, without signing in.
	ForOptOut Purpose = "opt-out"
	// ForEmailUndo restores the e-mail address that an account had before.
	ForEmailUndo Purpose = "undo-email-change"
)

// Sealer creates signed tokens for links. A token contains its subject and expiry and
// cannot be forged; nothing is stored.
type Sealer interface {
	// Seal returns a token for the subject, an id, that is valid until the given time.
	Seal(p Purpose, subject string, until time.Time) (string, error)
	// Unseal returns the subject of a token. It returns fault.ErrUnauthorized for a token
	// that is forged, has another purpose, or has expired.
	Unseal(p Purpose, token string) (subject string, err error)
}
