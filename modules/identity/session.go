package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
)

// The lifetimes of tokens and sessions.
const (
	AccessLife      = 15 * time.Minute    // of an access token
	refreshLife     = 7 * 24 * time.Hour  // sliding: each refresh extends it
	sessionLife     = 30 * 24 * time.Hour // absolute
	refreshGrace    = 10 * time.Second    // for a retry after a lost response
	refreshPrefix   = "loc_rt_"
	mailTokenPrefix = "loc_mt_"
	secretChars     = 43 // of a secret after its prefix: 256 bits in base 62
)

// Client is the origin of a request.
type Client struct {
	Address   string
	UserAgent string
	// Device is the token that DeviceToken returned after an earlier sign-in, or empty.
	Device string
}

// Session is one sign-in on one device.
type Session struct {
	ID         string
	UserID     string
	Address    string // the network of the client (audit.Network)
	UserAgent  string
	CreatedAt  time.Time
	LastUsedAt time.Time
	ExpiresAt  time.Time
	EndedAt    time.Time // zero while it is active
	// CookieHash is the hash of the cookie of a browser. Sessions.Create stores it; no method
	// returns it.
	CookieHash string
	// Browser is true for a session with a cookie. Only Sessions.List sets it.
	Browser bool
}

// NewSession returns a new session.
func NewSession(id, userID string, c Client, now time.Time) Session {
	agent := strings.ToValidUTF8(c.UserAgent[:min(len(c.UserAgent), 200)], "") // the limit may cut a character

	return Session{
		ID:         id,
		UserID:     userID,
		Address:    audit.Network(c.Address),
		UserAgent:  agent,
		CreatedAt:  now,
		LastUsedAt: now,
		ExpiresAt:  now.Add(sessionLife),
	}
}

// LiveCutoffs returns the times after which a session must have been used, or else it has
// expired: for sessions of API clients, whose refresh tokens have expired, and for sessions of
// browsers.
func LiveCutoffs(now time.Time) (api, browser time.Time) {
	return now.Add(-refreshLife), now.Add(-browserIdle)
}

// UnusedUntil returns the time at which the session expires unless it is used before.
func (s Session) UnusedUntil() time.Time {
	maxIdle := refreshLife
	if s.Browser {
		maxIdle = browserIdle
	}

	return earlier(s.LastUsedAt.Add(maxIdle), s.ExpiresAt)
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

// Alive reports whether the session has neither ended nor expired.
func (s Session) Alive(now time.Time) bool { return s.EndedAt.IsZero() && now.Before(s.ExpiresAt) }

// RefreshToken is a refresh token of a session. Each refresh replaces it with a new one. Only
// its hash is stored.
type RefreshToken struct {
	Hash      string
	SessionID string
	IssuedAt  time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero until it is used
}

// NewRefreshToken returns the session's next token and its secret for the client.
func (s Session) NewRefreshToken(now time.Time) (RefreshToken, string) {
	secret := auth.NewSecret(refreshPrefix, secretChars)
	expires := earlier(now.Add(refreshLife), s.ExpiresAt)
	return RefreshToken{Hash: auth.HashSecret(secret), SessionID: s.ID, IssuedAt: now, ExpiresAt: expires}, secret
}

// Purpose is the use case for which a mailed token is valid.
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

// MailToken is a secret that was sent by e-mail. Only its hash is stored.
type MailToken struct {
	Hash           string
	UserID         string
	Purpose        Purpose
	OrganizationID string // set for invitations only
	Email          string // the address to which the token was sent
	CreatedAt      time.Time
	ExpiresAt      time.Time
	UsedAt         time.Time
}

// NewMailToken returns a new token and its secret for the mail.
func NewMailToken(userID, email string, p Purpose, now time.Time) (MailToken, string) {
	secret := auth.NewSecret(mailTokenPrefix, secretChars)

	return MailToken{
		Hash:      auth.HashSecret(secret),
		UserID:    userID,
		Purpose:   p,
		Email:     email,
		CreatedAt: now,
		ExpiresAt: now.Add(purposeLife[p]),
	}, secret
}

// Usable reports whether the token is neither used nor expired.
func (t MailToken) Usable(now time.Time) bool { return t.UsedAt.IsZero() && now.Before(t.ExpiresAt) }

// Principal is a session with its user and membership.
type Principal struct {
	Session    Session
	User       User        // without the password hash
	Membership *Membership // the active membership, or nil
}

// Role returns the role of the account in the API.
func (p Principal) Role() auth.Role {
	switch {
	case p.Membership != nil && p.Membership.Founder, p.Membership == nil && p.User.Kind == KindEmployer:
		return auth.Employer
	case p.Membership != nil:
		return auth.EmployerTeam
	}

	return auth.Jobseeker
}

// Actor returns the caller of a request with the session.
func (p Principal) Actor() auth.Actor {
	actor := auth.Actor{
		UserID:      p.User.ID,
		SessionID:   p.Session.ID,
		Role:        p.Role(),
		Seeker:      p.User.Kind == KindJobseeker,
		Moderator:   p.User.IsModerator(),
		ConfirmedAt: p.Session.CreatedAt,
	}
	switch m := p.Membership; {
	case m == nil: // no organization, so no permissions
	case m.SecondFactorMissing:
		actor.EnrollmentRequired = true
	default:
		actor.OrganizationID, actor.Permissions = m.OrganizationID, m.Grants()
	}

	return actor
}
