package gormdb

import (
	"context"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// Sessions stores sign-ins with their refresh tokens and cookies.
type Sessions struct{ *DB }

type sessionRow struct {
	ID         string
	UserID     string
	Address    string
	UserAgent  string
	CreatedAt  time.Time
	LastUsedAt time.Time
	ExpiresAt  time.Time
	EndedAt    *time.Time
}

// TableName implements schema.Tabler.
func (sessionRow) TableName() string { return "sessions" }

func (r sessionRow) key() string { return r.ID }

func newSessionRow(s identity.Session) sessionRow {
	return sessionRow{
		ID: s.ID, UserID: s.UserID, Address: s.Address, UserAgent: s.UserAgent,
		CreatedAt: s.CreatedAt, LastUsedAt: s.LastUsedAt, ExpiresAt: s.ExpiresAt, EndedAt: nilIfZero(s.EndedAt),
	}
}

func (r sessionRow) session() identity.Session {
	return identity.Session{
		ID: r.ID, UserID: r.UserID, Address: r.Address, UserAgent: r.UserAgent,
		CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt, ExpiresAt: r.ExpiresAt, EndedAt: orZero(r.EndedAt),
	}
}

type refreshTokenRow struct {
	Hash      string
	SessionID string
	IssuedAt  time.Time
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// TableName implements schema.Tabler.
func (refreshTokenRow) TableName() string { return "refresh_tokens" }

type browserSessionRow struct {
	Hash      string
	SessionID string
}

// TableName implements schema.Tabler.
func (browserSessionRow) TableName() string { return "browser_sessions" }

// Create implements identity.Sessions.
func (d Sessions) Create(ctx context.Context, s identity.Session, tokens ...identity.RefreshToken) error {
	return d.Do(ctx, func(ctx context.Context) error {
		r := newSessionRow(s)
		if err := d.q(ctx).Create(&r).Error; err != nil {
			return wrap(err)
		}
		if s.CookieHash != "" {
			if err := d.q(ctx).Create(&browserSessionRow{Hash: s.CookieHash, SessionID: s.ID}).Error; err != nil {
				return wrap(err)
			}
		}
		return d.upsertRefreshTokens(ctx, s.ID, tokens)
	})
}

// upsertRefreshTokens stores new tokens of a session and UsedAt of existing ones.
func (d Sessions) upsertRefreshTokens(ctx context.Context, sessionID string, tokens []identity.RefreshToken) error {
	if len(tokens) == 0 {
		return nil
	}
	rows := make([]refreshTokenRow, len(tokens))
	for i, t := range tokens {
		rows[i] = refreshTokenRow{Hash: t.Hash, SessionID: sessionID, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, UsedAt: nilIfZero(t.UsedAt)}
	}
	update := clause.OnConflict{Columns: columnsOf([]string{"hash"}), DoUpdates: clause.AssignmentColumns([]string{"used_at"})}
	return wrap(d.q(ctx).Clauses(update).Create(&rows).Error)
}

// principalColumns and the joins of GetPrincipal read a session with its user, active
// membership and second factor.
const principalColumns = `s.id, s.user_id, s.address, s.user_agent, s.created_at, s.last_used_at, s.expires_at, s.ended_at,
	u.email, u.name, u.kind, u.status, u.registered, u.email_verified_at, u.created_at AS user_created_at,
	m.organization_id, m.role, m.permissions, m.founder, (o.id IS NOT NULL AND f.user_id IS NULL) AS unenrolled`

// GetPrincipal implements identity.Sessions. It runs for every signed-in request: a
// constant statement that uses primary keys and the index of active memberships.
func (d Sessions) GetPrincipal(ctx context.Context, k identity.SessionKey) (identity.Principal, error) {
	q := d.q(ctx).Table("sessions AS s").Select(principalColumns).
		Joins("JOIN users u ON u.id = s.user_id AND u.status = 'active' AND u.locked_at IS NULL").
		Joins("LEFT JOIN memberships m ON m.user_id = s.user_id AND m.status = 'active'").
		Joins("LEFT JOIN organizations o ON o.id = m.organization_id AND o.require_second_factor").
		Joins("LEFT JOIN second_factors f ON f.user_id = s.user_id AND f.confirmed_at IS NOT NULL")
	if k.CookieHash != "" {
		q = q.Where("s.id = (SELECT session_id FROM browser_sessions WHERE hash = ?)", k.CookieHash)
	} else {
		q = q.Where("s.id = ?", k.ID)
	}
	var r struct {
		Session         sessionRow `gorm:"embedded"`
		Email           string
		Name            string
		Kind            string
		Status          string
		Registered      bool
		EmailVerifiedAt *time.Time
		UserCreatedAt   time.Time
		OrganizationID  *string
		Role            *string
		Permissions     *string
		Founder         *bool
		Unenrolled      bool
	}
	if err := q.Scan(&r).Error; err != nil {
		return identity.Principal{}, wrap(err)
	}
	if r.Session.ID == "" {
		return identity.Principal{}, identity.ErrSessionNotFound
	}
	p := identity.Principal{Session: r.Session.session(), User: identity.User{
		ID: r.Session.UserID, Email: r.Email, Name: r.Name, Kind: identity.Kind(r.Kind), Status: identity.UserStatus(r.Status), Registered: r.Registered,
		EmailVerifiedAt: orZero(r.EmailVerifiedAt), CreatedAt: r.UserCreatedAt,
	}}
	if r.OrganizationID != nil {
		p.Membership = &identity.Membership{
			OrganizationID: *r.OrganizationID, UserID: r.Session.UserID, Role: identity.OrgRole(orZero(r.Role)),
			Permissions: permissionsOf(orZero(r.Permissions)), Founder: orZero(r.Founder), Status: identity.MemberActive, SecondFactorMissing: r.Unenrolled,
		}
	}
	return p, nil
}

// List implements identity.Sessions.
func (d Sessions) List(ctx context.Context, userID string, now time.Time, r page.Request) (page.Result[identity.Session], error) {
	const isBrowser = "EXISTS (SELECT 1 FROM browser_sessions b WHERE b.session_id = sessions.id)"
	api, browser := identity.LiveCutoffs(now)
	rows, out, err := pageOf[sessionRow, identity.Session](ctx, d.DB, nil, r,
		"user_id = ? AND ended_at IS NULL AND expires_at > ? AND (last_used_at > ? OR last_used_at > ? AND NOT "+isBrowser+")", userID, now, browser, api)
	if err != nil || len(rows) == 0 {
		return out, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	var browsers []string
	err = d.q(ctx).Model(&browserSessionRow{}).Where("?", d.dialect.In("session_id", ids)).Pluck("session_id", &browsers).Error
	out.Items = make([]identity.Session, len(rows))
	for i, row := range rows {
		out.Items[i] = row.session()
		out.Items[i].Browser = slices.Contains(browsers, row.ID)
	}
	return out, wrap(err)
}

// Update implements identity.Sessions.
func (d Sessions) Update(ctx context.Context, s identity.Session, tokens ...identity.RefreshToken) error {
	return d.Do(ctx, func(ctx context.Context) error {
		active := func(q *gorm.DB) *gorm.DB {
			return q.Model(&sessionRow{}).Where("id = ? AND user_id = ? AND ended_at IS NULL", s.ID, s.UserID)
		}
		res := active(d.q(ctx)).Updates(map[string]any{"last_used_at": s.LastUsedAt, "ended_at": nilIfZero(s.EndedAt)})
		if res.Error != nil {
			return wrap(res.Error)
		}
		if res.RowsAffected == 0 {
			// Some databases do not count a row that already has the values.
			var r sessionRow
			if err := active(d.locked(ctx)).Select("id").Take(&r).Error; err != nil {
				return orNotFound(err, identity.ErrSessionNotFound)
			}
		}
		return d.upsertRefreshTokens(ctx, s.ID, tokens)
	})
}

// EndByUsers implements identity.Sessions.
func (d Sessions) EndByUsers(ctx context.Context, userIDs []string, except string, at time.Time) error {
	q := d.q(ctx).Model(&sessionRow{}).Where("? AND ended_at IS NULL", d.dialect.In("user_id", userIDs))
	if except != "" {
		q = q.Where("id <> ?", except)
	}
	return wrap(q.Update("ended_at", at).Error)
}

// GetRefreshToken implements identity.Sessions.
func (d Sessions) GetRefreshToken(ctx context.Context, hash string) (identity.RefreshToken, error) {
	var r refreshTokenRow
	err := d.q(ctx).Where("hash = ?", hash).Take(&r).Error
	return identity.RefreshToken{Hash: r.Hash, SessionID: r.SessionID, IssuedAt: r.IssuedAt, ExpiresAt: r.ExpiresAt, UsedAt: orZero(r.UsedAt)},
		orNotFound(err, identity.ErrSessionNotFound)
}

// MailTokens stores the secrets that were sent by mail.
type MailTokens struct{ *DB }

type mailTokenRow struct {
	Hash           string
	UserID         string
	Purpose        string
	OrganizationID *string
	Email          string
	CreatedAt      time.Time
	ExpiresAt      time.Time
	UsedAt         *time.Time
}

// TableName implements schema.Tabler.
func (mailTokenRow) TableName() string { return "user_tokens" }

// Create implements identity.MailTokens. The lock of the user makes a concurrent
// deletion visible.
func (d MailTokens) Create(ctx context.Context, t identity.MailToken) error {
	return d.Do(ctx, func(ctx context.Context) error {
		if _, err := Users(d).GetForUpdate(ctx, t.UserID); err != nil {
			return err
		}
		return wrap(d.q(ctx).Create(&mailTokenRow{
			Hash: t.Hash, UserID: t.UserID, Purpose: string(t.Purpose), OrganizationID: nilIfZero(t.OrganizationID), Email: t.Email,
			CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, UsedAt: nilIfZero(t.UsedAt),
		}).Error)
	})
}

// Get implements identity.MailTokens.
func (d MailTokens) Get(ctx context.Context, hash string, p identity.Purpose) (identity.MailToken, error) {
	var r mailTokenRow
	err := d.q(ctx).Where("hash = ? AND purpose = ?", hash, string(p)).Take(&r).Error
	return identity.MailToken{
		Hash: r.Hash, UserID: r.UserID, Purpose: p, OrganizationID: orZero(r.OrganizationID), Email: r.Email,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, UsedAt: orZero(r.UsedAt),
	}, orNotFound(err, identity.ErrTokenNotFound)
}

// MarkUsed implements identity.MailTokens.
func (d MailTokens) MarkUsed(ctx context.Context, userID string, f identity.MailTokenFilter, at time.Time) (int, error) {
	q := d.q(ctx).Model(&mailTokenRow{}).Where("user_id = ? AND used_at IS NULL", userID)
	for _, c := range []struct{ column, value string }{{"hash", f.Hash}, {"purpose", string(f.Purpose)}, {"organization_id", f.OrganizationID}} {
		if c.value != "" {
			q = q.Where(c.column+" = ?", c.value)
		}
	}
	res := q.Update("used_at", at)
	return int(res.RowsAffected), wrap(res.Error)
}
