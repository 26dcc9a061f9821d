package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
)

// The lifetimes of sessions of API clients and their tokens.
const (
	// AccessLife is the lifetime of an access token.
	AccessLife = 15 * time.Minute
	// refreshLife is the lifetime of a refresh token. Each refresh returns a new one.
	refreshLife = 7 * 24 * time.Hour
	// sessionLife is the lifetime of a session, which no refresh extends.
	sessionLife = 30 * 24 * time.Hour
	// refreshGrace is the time within which a used refresh token can be used again, by a client that
	// has not received the response.
	refreshGrace = 10 * time.Second
)

// The format of secrets: a prefix that names the kind, and random characters.
const (
	refreshPrefix   = "loc_rt_"
	mailTokenPrefix = "loc_mt_"
	secretChars     = 43 // after the prefix: 256 bits in base 62
)

// maxUserAgent is the maximum number of bytes of a User-Agent that a session stores.
const maxUserAgent = 200

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
	agent := c.UserAgent[:min(len(c.UserAgent), maxUserAgent)]
	agent = strings.ToValidUTF8(agent, "") // the limit may have cut a character

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

// LiveCutoffs returns two times: one for sessions of API clients and one for sessions of browsers. A
// session has expired if it was not used after the time for its kind.
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

// IsAlive reports whether the session has neither ended nor expired.
func (s Session) IsAlive(now time.Time) bool { return s.EndedAt.IsZero() && now.Before(s.ExpiresAt) }

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
func (s Session) NewRefreshToken(now time.Time) (token RefreshToken, secret string) {
	secret = auth.NewSecret(refreshPrefix, secretChars)
	token = RefreshToken{
		Hash:      auth.HashSecret(secret),
		SessionID: s.ID,
		IssuedAt:  now,
		ExpiresAt: earlier(now.Add(refreshLife), s.ExpiresAt),
	}

	return token, secret
}

// Purpose is the use case for which a mailed token is valid.
type Purpose string

// The purposes of mailed tokens.
const (
	ForVerification Purpose = "verify_email"
	ForReset        Purpose = "reset_password"
	ForInvitation   Purpose = "invitation"
)

// purposeLife contains the lifetimes of mailed tokens.
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
	UsedAt         time.Time // zero until it is used or revoked
}

// NewMailToken returns a new token and its secret for the mail.
func NewMailToken(userID, email string, p Purpose, now time.Time) (token MailToken, secret string) {
	secret = auth.NewSecret(mailTokenPrefix, secretChars)
	token = MailToken{
		Hash:      auth.HashSecret(secret),
		UserID:    userID,
		Purpose:   p,
		Email:     email,
		CreatedAt: now,
		ExpiresAt: now.Add(purposeLife[p]),
	}

	return token, secret
}

// IsUsable reports whether the token is neither used nor expired.
func (t MailToken) IsUsable(now time.Time) bool { return t.UsedAt.IsZero() && now.Before(t.ExpiresAt) }

// Principal is a session with its user and membership.
type Principal struct {
	Session    Session
	User       User        // without the password hash
	Membership *Membership // the active membership, or nil
}

// Role returns the role of the account in the API. It is Employer for the founder of an organization,
// and for an employer without an organization.
func (p Principal) Role() auth.Role {
	isMember := p.Membership != nil
	switch {
	case isMember && p.Membership.Founder:
		return auth.Employer
	case isMember:
		return auth.EmployerTeam
	case p.User.Kind == KindEmployer:
		return auth.Employer
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
		ConfirmedAt: p.Session.CreatedAt, // the password was entered at the sign-in
	}

	switch m := p.Membership; {
	case m == nil: // no organization, so no permissions
	case m.SecondFactorMissing: // the organization requires one: no permissions until it is enrolled
		actor.EnrollmentRequired = true
	default:
		actor.OrganizationID, actor.Permissions = m.OrganizationID, m.Grants()
	}

	return actor
}
