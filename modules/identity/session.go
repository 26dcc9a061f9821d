package identity

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
)

// The lives of what proves a sign-in.
const (
	AccessLife      = 15 * time.Minute
	refreshLife     = 7 * 24 * time.Hour  // sliding: each refresh starts it anew
	sessionLife     = 30 * 24 * time.Hour // absolute
	refreshGrace    = 10 * time.Second    // a lost answer may be asked for again
	refreshPrefix   = "loc_rt_"
	mailTokenPrefix = "loc_mt_"
	secretChars     = 43 // 256 bits
)

// Client is where a call comes from.
type Client struct {
	Address   string
	UserAgent string
	// Device is what DeviceToken returned after an earlier sign-in, or empty.
	Device string
}

// Session is one sign-in on one device.
type Session struct {
	ID         string
	UserID     string
	Address    string // the network that it was opened from, not the host
	UserAgent  string
	CreatedAt  time.Time
	LastUsedAt time.Time
	ExpiresAt  time.Time
	EndedAt    time.Time // zero while it lives
	// Browser is set by ListLive for a session whose client holds a cookie.
	Browser bool
}

// NewSession starts a session.
func NewSession(id, userID string, c Client, now time.Time) Session {
	agent := strings.ToValidUTF8(c.UserAgent, "")
	for len(agent) > 200 {
		_, n := utf8.DecodeLastRuneInString(agent)
		agent = agent[:len(agent)-n]
	}
	return Session{ID: id, UserID: userID, Address: network(c.Address), UserAgent: agent, CreatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(sessionLife)}
}

// LiveCutoffs are the last uses before which a session without a new one has
// expired: of API clients, whose refresh tokens have, and of browsers.
func LiveCutoffs(now time.Time) (api, browser time.Time) {
	return now.Add(-refreshLife), now.Add(-browserIdle)
}

// UnusedUntil returns when the session expires unless it is used before.
func (s Session) UnusedUntil() time.Time {
	idle := refreshLife
	if s.Browser {
		idle = browserIdle
	}
	if end := s.LastUsedAt.Add(idle); end.Before(s.ExpiresAt) {
		return end
	}
	return s.ExpiresAt
}

// Alive reports whether the session still proves a sign-in.
func (s Session) Alive(now time.Time) bool { return s.EndedAt.IsZero() && now.Before(s.ExpiresAt) }

// RefreshToken is one link of a session's chain. Only its hash is stored.
type RefreshToken struct {
	Hash      string
	SessionID string
	IssuedAt  time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero until it was spent
}

// NewRefreshToken mints the session's next token and returns what the client
// keeps.
func (s Session) NewRefreshToken(now time.Time) (RefreshToken, string) {
	secret := auth.NewSecret(refreshPrefix, secretChars)
	expires := now.Add(refreshLife)
	if expires.After(s.ExpiresAt) {
		expires = s.ExpiresAt
	}
	return RefreshToken{Hash: auth.HashSecret(secret), SessionID: s.ID, IssuedAt: now, ExpiresAt: expires}, secret
}

// Purpose is the one thing that a mailed token is good for.
type Purpose string

// The purposes of mailed tokens.
const (
	ForVerification Purpose = "verify_email"
	ForReset        Purpose = "reset_password"
	ForInvitation   Purpose = "invitation"
)

var purposeLife = map[Purpose]time.Duration{
	ForVerification: 24 * time.Hour,
	ForReset:        30 * time.Minute,
	ForInvitation:   invitationLife,
}

// MailToken is a secret that was sent to a person's address.
type MailToken struct {
	Hash           string
	UserID         string
	Purpose        Purpose
	OrganizationID string // of an invitation
	Email          string // the address that it proves
	CreatedAt      time.Time
	ExpiresAt      time.Time
	UsedAt         time.Time
}

// NewMailToken mints a token and returns what stands in the mail.
func NewMailToken(userID, email string, p Purpose, now time.Time) (MailToken, string) {
	secret := auth.NewSecret(mailTokenPrefix, secretChars)
	return MailToken{Hash: auth.HashSecret(secret), UserID: userID, Purpose: p, Email: email, CreatedAt: now, ExpiresAt: now.Add(purposeLife[p])}, secret
}

// Usable reports whether the token can still be spent.
func (t MailToken) Usable(now time.Time) bool { return t.UsedAt.IsZero() && now.Before(t.ExpiresAt) }

// network is the part of an address that one subscriber usually holds: /24 of
// IPv4, /64 of IPv6.
func network(address string) string { return prefix(address, 24, 64) }

// Principal is a session with whom it belongs to, as the database knows them
// at this moment.
type Principal struct {
	Session    Session
	User       User        // without the password's verifier
	Membership *Membership // the active one, nil without
}

// Role is what the account is shown as.
func (p Principal) Role() auth.Role {
	switch {
	case p.Membership != nil && p.Membership.Founder, p.Membership == nil && p.User.Kind == KindEmployer:
		return auth.Employer
	case p.Membership != nil:
		return auth.EmployerTeam
	}
	return auth.Jobseeker
}

// Actor is the caller that the session stands for.
func (p Principal) Actor() auth.Actor {
	a := auth.Actor{UserID: p.User.ID, SessionID: p.Session.ID, Role: p.Role(), Seeker: p.User.Kind == KindJobseeker, ConfirmedAt: p.Session.CreatedAt}
	switch m := p.Membership; {
	case m == nil:
	case m.SecondFactorMissing:
		a.EnrollmentRequired = true
	default:
		a.OrganizationID, a.Permissions = m.OrganizationID, m.Grants()
	}
	return a
}
