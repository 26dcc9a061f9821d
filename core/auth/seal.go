package auth

import "time"

// Purpose is the purpose of a signed link. A token is valid for one purpose only.
type Purpose string

// The purposes.
const (
	// ForDownload downloads one export.
	ForDownload Purpose = "download"
	// ForUnsubscribe ends the digests of one user, who need not sign in.
	ForUnsubscribe Purpose = "unsubscribe"
	// ForAlert confirms an alert about new jobs for an address without an account.
	ForAlert Purpose = "alert"
	// ForAlertsEnd ends all alerts of an address without an account.
	ForAlertsEnd Purpose = "alerts-end"
	// ForDevice identifies a device on which the account has signed in before.
	ForDevice Purpose = "device"
	// ForOptOut ends the invitations to an e-mail address, whose owner need not sign in.
	ForOptOut Purpose = "opt-out"
	// ForEmailUndo restores the previous e-mail address of an account.
	ForEmailUndo Purpose = "undo-email-change"
)

// Sealer creates signed tokens for links. A token contains its subject and expiry, so the
// service stores nothing.
type Sealer interface {
	// Seal returns a token for the subject, an id, that is valid until the given time.
	Seal(p Purpose, subject string, until time.Time) (string, error)
	// Unseal returns the subject of a token. It returns fault.ErrUnauthorized for a token
	// that is forged, has another purpose, or has expired.
	Unseal(p Purpose, token string) (subject string, err error)
}
