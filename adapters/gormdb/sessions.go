package gormdb

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// Sessions stores sign-ins and their refresh tokens.
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

// TableName tells GORM the table.
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

// TableName tells GORM the table.
func (refreshTokenRow) TableName() string { return "refresh_tokens" }

// Open implements identity.Sessions.
func (d Sessions) Open(ctx context.Context, s identity.Session, t identity.RefreshToken) error {
	r := newSessionRow(s)
	if err := d.q(ctx).Create(&r).Error; err != nil {
		return wrap(err)
	}
	return d.AddRefresh(ctx, t)
}

// AddRefresh implements identity.Sessions.
func (d Sessions) AddRefresh(ctx context.Context, t identity.RefreshToken) error {
	r := refreshTokenRow{Hash: t.Hash, SessionID: t.SessionID, IssuedAt: t.IssuedAt, ExpiresAt: t.ExpiresAt, UsedAt: nilIfZero(t.UsedAt)}
	return wrap(d.q(ctx).Create(&r).Error)
}

// Principal implements identity.Sessions. It runs on every signed-in request:
// primary keys and the one-row index of active memberships, nothing else.
func (d Sessions) Principal(ctx context.Context, sessionID string) (identity.Principal, error) {
	return d.principal(ctx, "s.id = ?", sessionID)
}

func (db *DB) principal(ctx context.Context, where, value string) (identity.Principal, error) {
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
	err := db.q(ctx).Raw(`SELECT s.id, s.user_id, s.address, s.user_agent, s.created_at, s.last_used_at, s.expires_at, s.ended_at,
			u.email, u.name, u.kind, u.status, u.registered, u.email_verified_at, u.created_at AS user_created_at,
			m.organization_id, m.role, m.permissions, m.founder, (o.id IS NOT NULL AND f.user_id IS NULL) AS unenrolled
		FROM sessions s
		JOIN users u ON u.id = s.user_id AND u.status = 'active' AND u.locked_at IS NULL
		LEFT JOIN memberships m ON m.user_id = s.user_id AND m.status = 'active'
		LEFT JOIN organizations o ON o.id = m.organization_id AND o.require_second_factor
		LEFT JOIN second_factors f ON f.user_id = s.user_id AND f.confirmed_at IS NOT NULL
		WHERE `+where, value).Scan(&r).Error
	if err != nil {
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

// ListLive implements identity.Sessions.
func (d Sessions) ListLive(ctx context.Context, userID string, now time.Time, r page.Request) (page.Result[identity.Session], error) {
	const browser = "EXISTS (SELECT 1 FROM browser_sessions b WHERE b.session_id = sessions.id)"
	api, idle := identity.LiveCutoffs(now)
	rows, out, err := pageOf[sessionRow, identity.Session](ctx, d.DB, nil, r,
		"user_id = ? AND ended_at IS NULL AND expires_at > ? AND (last_used_at > ? OR last_used_at > ? AND NOT "+browser+")", userID, now, idle, api)
	if err != nil || len(rows) == 0 {
		return out, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	browsers, err := d.idSet(ctx, "SELECT session_id FROM browser_sessions WHERE session_id IN ?", ids)
	out.Items = make([]identity.Session, len(rows))
	for i, row := range rows {
		out.Items[i] = row.session()
		out.Items[i].Browser = browsers[row.ID]
	}
	return out, err
}

// Use implements identity.Sessions.
func (d Sessions) Use(ctx context.Context, sessionID string, at time.Time) (bool, error) {
	res := d.q(ctx).Exec(`UPDATE sessions SET last_used_at = ? WHERE id = ? AND ended_at IS NULL AND expires_at > ?`, at, sessionID, at)
	return res.RowsAffected == 1, wrap(res.Error)
}

// Hold implements identity.Sessions.
func (d Sessions) Hold(ctx context.Context, userID, sessionID string) (bool, error) {
	query := "SELECT status FROM users WHERE id = ?"
	if d.pg() && d.current(ctx) != nil {
		query += " FOR SHARE"
	}
	var status string
	if err := d.q(ctx).Raw(query, userID).Scan(&status).Error; err != nil || status != string(identity.UserActive) {
		return false, wrap(err)
	}
	if sessionID == "" {
		return true, nil
	}
	// A statement of its own: it sees what was committed while the first waited.
	var active bool
	err := d.q(ctx).Raw("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ? AND user_id = ? AND ended_at IS NULL)", sessionID, userID).Scan(&active).Error
	return active, wrap(err)
}

// End implements identity.Sessions.
func (d Sessions) End(ctx context.Context, userID, sessionID string, at time.Time) error {
	return wrap(d.q(ctx).Exec(`UPDATE sessions SET ended_at = ? WHERE id = ? AND user_id = ? AND ended_at IS NULL`, at, sessionID, userID).Error)
}

// EndAll implements identity.Sessions.
func (d Sessions) EndAll(ctx context.Context, userID, except string, at time.Time) error {
	q := d.q(ctx).Model(&sessionRow{}).Where("user_id = ? AND ended_at IS NULL", userID)
	if except != "" {
		q = q.Where("id <> ?", except)
	}
	return wrap(q.Update("ended_at", at).Error)
}

// Remove implements identity.Sessions. The tokens go with their sessions.
func (d Sessions) Remove(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec(`DELETE FROM sessions WHERE user_id = ?`, userID).Error)
}

// FindRefresh implements identity.Sessions.
func (d Sessions) FindRefresh(ctx context.Context, hash string) (identity.RefreshToken, error) {
	var r refreshTokenRow
	err := d.q(ctx).Where("hash = ?", hash).Take(&r).Error
	return identity.RefreshToken{Hash: r.Hash, SessionID: r.SessionID, IssuedAt: r.IssuedAt, ExpiresAt: r.ExpiresAt, UsedAt: orZero(r.UsedAt)},
		orNotFound(err, identity.ErrSessionNotFound)
}

// SpendRefresh implements identity.Sessions.
func (d Sessions) SpendRefresh(ctx context.Context, hash string, at time.Time) (bool, error) {
	res := d.q(ctx).Exec(`UPDATE refresh_tokens SET used_at = ? WHERE hash = ? AND used_at IS NULL`, at, hash)
	return res.RowsAffected == 1, wrap(res.Error)
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

// TableName tells GORM the table.
func (mailTokenRow) TableName() string { return "user_tokens" }

// Add implements identity.MailTokens.
func (d MailTokens) Add(ctx context.Context, t identity.MailToken) error {
	query := `INSERT INTO user_tokens (hash, user_id, purpose, organization_id, email, created_at, expires_at, used_at)
		SELECT ?, id, ?, ?, ?, ?, ?, ? FROM users WHERE id = ? AND status <> 'deleted'`
	args := []any{t.Hash, string(t.Purpose), nilIfZero(t.OrganizationID), t.Email, t.CreatedAt, t.ExpiresAt, nilIfZero(t.UsedAt), t.UserID}
	if d.pg() {
		// The casts are for a SELECT, which does not know where its values go; the
		// lock makes a deletion that is under way be seen.
		query = `INSERT INTO user_tokens (hash, user_id, purpose, organization_id, email, created_at, expires_at, used_at)
			SELECT ?, id, ?, ?::uuid, ?, ?::timestamptz, ?::timestamptz, ?::timestamptz FROM users WHERE id = ? AND status <> 'deleted' FOR SHARE`
	}
	res := d.q(ctx).Exec(query, args...)
	if res.Error == nil && res.RowsAffected == 0 {
		return identity.ErrUserNotFound
	}
	return wrap(res.Error)
}

// Remove implements identity.MailTokens.
func (d MailTokens) Remove(ctx context.Context, userID string) error {
	return wrap(d.q(ctx).Exec(`DELETE FROM user_tokens WHERE user_id = ?`, userID).Error)
}

// Find implements identity.MailTokens.
func (d MailTokens) Find(ctx context.Context, hash string, p identity.Purpose) (identity.MailToken, error) {
	var r mailTokenRow
	err := d.q(ctx).Where("hash = ? AND purpose = ?", hash, string(p)).Take(&r).Error
	return identity.MailToken{
		Hash: r.Hash, UserID: r.UserID, Purpose: p, OrganizationID: orZero(r.OrganizationID), Email: r.Email,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, UsedAt: orZero(r.UsedAt),
	}, orNotFound(err, identity.ErrTokenNotFound)
}

// Spend implements identity.MailTokens.
func (d MailTokens) Spend(ctx context.Context, userID, hash string, at time.Time) (bool, error) {
	res := d.q(ctx).Exec(`UPDATE user_tokens SET used_at = ? WHERE hash = ? AND user_id = ? AND used_at IS NULL`, at, hash, userID)
	return res.RowsAffected == 1, wrap(res.Error)
}

// SpendAll implements identity.MailTokens.
func (d MailTokens) SpendAll(ctx context.Context, userID string, p identity.Purpose, organizationID string, at time.Time) error {
	q := d.q(ctx).Model(&mailTokenRow{}).Where("user_id = ? AND purpose = ? AND used_at IS NULL", userID, string(p))
	if organizationID != "" {
		q = q.Where("organization_id = ?", organizationID)
	}
	return wrap(q.Update("used_at", at).Error)
}

// Forget implements identity.Sessions.
func (d Sessions) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	total := 0
	for _, statement := range []string{
		"DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at < ? ORDER BY expires_at LIMIT ?)",
		"DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM refresh_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ?)",
	} {
		res := d.q(ctx).Exec(statement, before, n)
		if res.Error != nil {
			return total, wrap(res.Error)
		}
		total += int(res.RowsAffected)
	}
	return total, nil
}

// Forget implements identity.MailTokens.
func (d MailTokens) Forget(ctx context.Context, before time.Time, n int) (int, error) {
	res := d.q(ctx).Exec("DELETE FROM user_tokens WHERE hash IN (SELECT hash FROM user_tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ?)", before, n)
	return int(res.RowsAffected), wrap(res.Error)
}
